# SPDX-License-Identifier: GPL-3.0-or-later
"""The Score panel: the one button, its stages while it runs; and what runs or went wrong elsewhere."""

from __future__ import annotations

from typing import Any, Final

import bpy
from bpy.app.handlers import persistent
from bpy.app.translations import pgettext_iface as translated

from ... import jobs
from ..base import SidebarPanel
from ..evaluator import environment
from ..layout import paragraph, text_lines
from ..match_camera import motion
from ..paths import goes_with_blender
from ..progress import running_job
from ..reference import conform, read
from ..render import run as render
from ..words import sentence
from . import operators, properties, run
from .tell import stage_text

ICONS: Final = {
    "waiting": "RADIOBUT_OFF",
    "running": "RADIOBUT_ON",
    "done": "CHECKMARK",
    "reused": "CHECKMARK",
    "skipped": "REMOVE",
}
STAGE_TEXT: Final = 0.64
"""Share of the width that the text of a stage has."""
OF_PREFERENCES: Final = ("judge", "no key", "online access", "budget")
"""Words by which it is known that a problem is one of the preferences."""


class MATCHCUT_PT_score(SidebarPanel, bpy.types.Panel):
    """The one button."""

    bl_label = "Score"
    bl_order = 50

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.aligned()
        state = context.scene.matchcut
        job, waiting = jobs.running(), run.waiting()
        layout.prop(state, "checklist", placeholder="None")
        judge = layout.row()
        judge.active = bool(state.checklist)
        judge.prop(state, "judge", placeholder="As in Preferences")
        if job is not None and job.title == run.SCORING:
            _stages(layout, context)
            running_job(layout, context, job, title=False)
        elif waiting is not None:
            layout.label(text="Looking at What There Is to Do", icon="SORTTIME")
            layout.operator("matchcut.cancel", icon="CANCEL")
        else:
            if state.reference.path and goes_with_blender(context.scene):
                paragraph(layout, context, render.NOT_SAVED, "ERROR")
            row = layout.row()
            row.scale_y = 1.4
            row.operator("matchcut.score", icon="CHECKBOX_HLT")
            _left(layout, context)
        if run.problem(context.scene):
            _problem(layout, context, run.problem(context.scene))


def _left(layout: Any, context: Any) -> None:
    """A score that did not come to its end."""
    name = run.unfinished_score(context.scene)
    if name and jobs.running() is None:
        text = translated("Resume {folder}").format(folder=name)
        layout.operator("matchcut.resume_score", text=text, icon="FILE_REFRESH", translate=False)


def _stages(layout: Any, context: Any) -> None:
    column = layout.column(align=True)
    for stage, stands in run.course().rows():
        split = column.split(factor=1 - STAGE_TEXT)
        split.active = stands not in ("waiting", "skipped")
        split.label(text=stage.label, icon=ICONS[stands])
        lines = split.column(align=True)
        for line in text_lines(context, stage_text(stage), STAGE_TEXT):
            lines.label(text=line, translate=False)


def _problem(layout: Any, context: Any, text: str) -> None:
    paragraph(layout, context, sentence(text), "ERROR")
    if any(word in text.lower() for word in OF_PREFERENCES):
        layout.operator("matchcut.open_preferences", icon="PREFERENCES")


class MATCHCUT_PT_score_options(SidebarPanel, bpy.types.Panel):
    """What seldom changes from score to score."""

    bl_label = "Options"
    bl_parent_id = "MATCHCUT_PT_score"
    bl_options = {"DEFAULT_CLOSED"}

    def draw_header(self, context: Any) -> None:
        """Sub-panels have no icon of their own."""

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.aligned()
        state = context.scene.matchcut
        layout.prop(state.score, "sgc")
        budget = layout.row()
        budget.active = bool(state.checklist) and not run.is_here(run.judge_of(context.scene))
        budget.prop(state.score, "budget", text="Budget ($)")
        paragraph(layout, context, translated("Rendered as Final in the Render panel."), "INFO")


class MATCHCUT_PT_progress(SidebarPanel, bpy.types.Panel):
    """What runs and no other panel shows, or how it ended where that was not well."""

    bl_label = "Progress"
    bl_order = 55

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is something to tell."""
        job = jobs.last()
        shown_there = (render.RENDERING, run.SCORING, read.READING, conform.CONFORMING, motion.TITLE)
        elsewhere = job is not None and job.state == "running" and job.title in shown_there
        elsewhere = elsewhere or (job is not None and job.title in (environment.INSTALLING, environment.REMOVING))
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
            layout.label(text=translated("{what}: cancelled").format(what=translated(job.title)), icon="CANCEL")
        elif job.state == "failed":
            layout.label(text=translated("{what} failed").format(what=translated(job.title)), icon="ERROR")
            paragraph(layout, context, sentence(job.error, context.scene.frame_start))
            layout.operator("matchcut.copy_details", icon="COPYDOWN")
        for warning in job.warnings:
            paragraph(layout, context, sentence(warning, context.scene.frame_start), "ERROR")
        told = [job.error, *(text for text in job.warnings if text.startswith("judge"))]
        if job.title == run.SCORING and any(word in text.lower() for text in told for word in OF_PREFERENCES):
            layout.operator("matchcut.open_preferences", icon="PREFERENCES")


CLASSES = (
    *properties.CLASSES,
    *operators.CLASSES,
    MATCHCUT_PT_score,
    MATCHCUT_PT_score_options,
    MATCHCUT_PT_progress,
)


@persistent  # type: ignore[untyped-decorator]
def _loaded(*_: Any) -> None:
    run.forget()
    if bpy.app.background:
        return
    for scene in bpy.data.scenes:
        if scene.matchcut.reference.path:
            run.find_unfinished(scene)


def register() -> None:
    """Listen for files being opened."""
    bpy.app.handlers.load_post.append(_loaded)


def unregister() -> None:
    """Listen no longer."""
    if _loaded in bpy.app.handlers.load_post:  # other code may have emptied the list
        bpy.app.handlers.load_post.remove(_loaded)
    if bpy.app.timers.is_registered(operators._ask):
        bpy.app.timers.unregister(operators._ask)
    run.forget()
