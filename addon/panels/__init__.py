# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar tab, in the order of the work. Drawing reads properties and the job's state: no file, no network."""

from fractions import Fraction
from itertools import groupby
from pathlib import PurePath
from typing import Any

import bpy

from .. import jobs, workflow
from .layout import fact, paragraph

ICONS = {"good": "CHECKMARK", "bad": "ERROR", "unscored": "QUESTION", "plain": "BLANK1"}


class SidebarPanel:
    """Where every panel of ours lies."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Matchcut"

    def aligned(self) -> Any:
        """The panel's layout with labels on the left, as Blender's own panels have them."""
        layout: Any = self.layout  # type: ignore[attr-defined]
        layout.use_property_split = True
        layout.use_property_decorate = False
        return layout


class MATCHCUT_PT_reference(SidebarPanel, bpy.types.Panel):
    """The video to rebuild."""

    bl_label = "Reference"

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.aligned()
        reference = context.scene.matchcut.reference
        layout.prop(reference, "path", text="Video")
        if not reference.path:
            paragraph(layout, context, "Pick the video to rebuild.", "INFO")
        elif not reference.known:
            layout.operator("matchcut.read_reference", icon="FILE_REFRESH")
        else:
            facts = layout.column(align=True)
            fact(facts, context, "Size", f"{reference.width} × {reference.height}")
            fact(facts, context, "Rate", f"{rate_text(reference.rate)} fps")
            fact(facts, context, "Frames", length_text(reference.frames, reference.rate))
            for warning in reference.warnings:
                paragraph(layout, context, warning.text, "ERROR")
        row = layout.row(align=True)
        row.operator("matchcut.match_timeline", icon="TIME")
        if reference.known:
            row.operator("matchcut.read_reference", text="", icon="FILE_REFRESH")


class MATCHCUT_PT_setting(SidebarPanel, bpy.types.Panel):
    """How much of the reference is rebuilt."""

    bl_label = "Setting"

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.layout
        layout.row().prop(context.scene.matchcut, "setting", expand=True)


class MATCHCUT_PT_render(SidebarPanel, bpy.types.Panel):
    """The scene on the reference's timeline."""

    bl_label = "Render"

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.aligned()
        state = context.scene.matchcut
        layout.prop(state.render, "frames")
        layout.prop(state.render, "scale", slider=True)
        row = layout.row(heading="Limit Samples")
        row.prop(state, "use_samples", text="")
        value = row.row()
        value.active = state.use_samples
        value.prop(state, "samples", text="")
        layout.prop(state, "output", placeholder="//matchcut")
        job = jobs.running()
        if job is not None and job.title == workflow.RENDERING:
            running_job(layout, context, job)
        else:
            layout.operator("matchcut.render", icon="RENDER_ANIMATION")
        unfinished = workflow.unfinished_render(context.scene)
        if unfinished and job is None:
            layout.operator("matchcut.resume_render", text=f"Resume {unfinished}", icon="FILE_REFRESH")
        if state.render.folder:
            row = layout.row(align=True)
            row.label(text=PurePath(state.render.folder).name, icon="CHECKMARK")
            row.operator("matchcut.play_render", text="Play", icon="PLAY")
            row.operator("matchcut.open_render_folder", text="", icon="FILE_FOLDER")


class MATCHCUT_PT_render_options(SidebarPanel, bpy.types.Panel):
    """What seldom changes from render to render."""

    bl_label = "Options"
    bl_parent_id = "MATCHCUT_PT_render"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.aligned()
        render = context.scene.matchcut.render
        engine = render.engine if render.engine != "SCENE" else context.scene.render.engine
        layout.prop(render, "engine")
        device = layout.row()
        device.active = engine == "CYCLES"
        device.prop(render, "device")
        layout.prop(render, "view_transform", placeholder="As Scene")
        layout.prop(render, "workers")
        layout.prop(render, "passes")


class MATCHCUT_PT_score(SidebarPanel, bpy.types.Panel):
    """The one button."""

    bl_label = "Score"

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.aligned()
        state = context.scene.matchcut
        layout.prop(state, "checklist", placeholder="None")
        judge = layout.row()
        judge.active = bool(state.checklist)
        judge.prop(state, "judge", placeholder="As in Preferences")
        row = layout.row()
        row.scale_y = 1.4
        row.operator("matchcut.score", icon="CHECKBOX_HLT")


class MATCHCUT_PT_progress(SidebarPanel, bpy.types.Panel):
    """What runs, or how it ended where that was not well."""

    bl_label = "Progress"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is something to tell."""
        job = jobs.last()
        elsewhere = job is not None and job.state == "running" and job.title == workflow.RENDERING
        return job is not None and not elsewhere and (job.state != "done" or bool(job.warnings))

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.layout
        job = jobs.last()
        if job is None:
            return
        if job.state == "running":
            running_job(layout, context, job)
        elif job.state == "cancelled":
            layout.label(text=f"{job.title}: cancelled", icon="CANCEL")
        elif job.state == "failed":
            layout.label(text=f"{job.title} failed", icon="ERROR")
            paragraph(layout, context, sentence(job.error))
            layout.operator("matchcut.copy_details", icon="COPYDOWN")
        for warning in job.warnings:
            paragraph(layout, context, sentence(warning), "ERROR")


class MATCHCUT_PT_results(SidebarPanel, bpy.types.Panel):
    """The last score."""

    bl_label = "Results"

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.layout
        results = context.scene.matchcut.results
        if not results.folder:
            paragraph(layout, context, "Not scored yet.", "INFO")
            return
        for section, lines in groupby(results.lines, lambda line: line.section):
            column = layout.column(align=True)
            column.label(text=section)
            for line in lines:
                fact(column, context, line.label, line.text, ICONS.get(line.verdict, "NONE"))
        layout.operator("matchcut.open_report", icon="URL")


class MATCHCUT_PT_evaluator(SidebarPanel, bpy.types.Panel):
    """The environment that measures and judges."""

    bl_label = "Evaluator"

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.layout
        evaluator = jobs.evaluator()
        if not evaluator.problem:
            paragraph(layout, context, f"Ready, from {evaluator.source}.", "CHECKMARK")
            return
        paragraph(layout, context, sentence(evaluator.problem), "ERROR")
        if not bpy.app.online_access:
            paragraph(
                layout, context, "Installing needs Allow Online Access in Preferences > System > Network.", "INFO"
            )
        layout.operator("matchcut.install_evaluator", icon="IMPORT")


def running_job(layout: Any, context: Any, job: jobs.Job) -> None:
    """How far a job is, what it does, and Cancel."""
    count = f" {job.done} / {job.total}" if job.total else ""
    stage = f"{job.stage.replace('_', ' ').capitalize()}{count}" if job.stage else "Working"
    column = layout.column()
    column.label(text=job.title)
    column.progress(factor=job.fraction, text=stage)
    if job.text:
        paragraph(column, context, sentence(job.text))
    column.operator("matchcut.cancel", icon="CANCEL")


def sentence(text: str) -> str:
    """A line of the evaluator's as a panel shows it: with a capital, unless it begins with a path."""
    return text if "/" in text.partition(" ")[0] else f"{text[:1].upper()}{text[1:]}"


def rate_text(rate: str) -> str:
    """`24000/1001` as `23.976`, `25/1` as `25`."""
    return f"{float(Fraction(rate)):.3f}".rstrip("0").rstrip(".")


def length_text(frames: int, rate: str) -> str:
    """A number of frames with its length in seconds, `72 (3.00 s)`."""
    return f"{frames} ({float(frames / Fraction(rate)):.2f} s)"


CLASSES = (
    MATCHCUT_PT_reference,
    MATCHCUT_PT_setting,
    MATCHCUT_PT_render,
    MATCHCUT_PT_render_options,
    MATCHCUT_PT_score,
    MATCHCUT_PT_progress,
    MATCHCUT_PT_results,
    MATCHCUT_PT_evaluator,
)
