# SPDX-License-Identifier: GPL-3.0-or-later
"""The Reference panel: the video to rebuild, its shots, and how much of it is rebuilt."""

from __future__ import annotations

from fractions import Fraction
from pathlib import PurePath
from typing import Any

import bpy
from bpy.app.translations import pgettext_iface as translated

from ... import jobs
from ...timeline import off_timeline
from ..base import SidebarPanel
from ..layout import paragraph, text_lines
from ..progress import running_job
from ..words import sentence
from . import background, conform, events, operators, picture, properties, read, shots, watch

__all__ = ["CLASSES", "register", "unregister"]

PICTURE = 0.42
"""Share of the width that the picture takes."""
SCALE = 4.6
"""Of the picture, in heights of a button."""
ROWS = 5
"""Of the list of shots, at most, before it scrolls."""


class MATCHCUT_PT_reference(SidebarPanel, bpy.types.Panel):
    """The video to rebuild."""

    bl_label = "Reference"
    bl_order = 10

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.aligned()
        scene = context.scene
        reference = scene.matchcut.reference
        job = jobs.running()
        if jobs.evaluator().problem and job is None:
            text = translated(
                "The evaluator, which reads, renders and scores, is not ready: see the last panel of this tab."
            )
            paragraph(layout, context, text, "ERROR")
        layout.prop(reference, "path", text="Video")
        if not reference.path:
            paragraph(layout, context, translated("Pick the video to rebuild, or drop it on the 3D view."), "INFO")
        elif job is not None and job.title in (read.READING, conform.CONFORMING):
            _begun(layout, context, reference)
            running_job(layout, context, job)
        elif not reference.read:
            layout.operator("matchcut.read_reference", icon="FILE_REFRESH")
        else:
            _facts(layout, context, reference)
            _state(layout, context, reference)
            _warnings(layout, context, reference)
        _timeline(layout, context, scene)
        if reference.path:
            _camera(layout, context, scene)


class MATCHCUT_PT_shots(SidebarPanel, bpy.types.Panel):
    """The reference's shots, and a camera for each."""

    bl_label = "Shots"
    bl_parent_id = "MATCHCUT_PT_reference"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """They are known."""
        reference = context.scene.matchcut.reference
        return bool(reference.read) and len(reference.shots) > 0

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.layout
        reference = context.scene.matchcut.reference
        rows = max(2, min(ROWS, len(reference.shots)))
        layout.template_list("MATCHCUT_UL_shots", "", reference, "shots", reference, "shot", rows=rows, maxrows=rows)
        layout.operator("matchcut.make_shot_cameras", icon="OUTLINER_OB_CAMERA")


class MATCHCUT_UL_shots(bpy.types.UIList):
    """Number, frames in the scene and camera of each shot."""

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: int, active_data: Any, active: str, index: int
    ) -> None:
        """Called by Blender."""
        scene = context.scene
        marker = shots.shot_marker(scene, item.first)
        row = layout.row()
        row.label(text=f"{index + 1}", icon="VIEW_CAMERA" if marker is not None else "SEQUENCE")
        frames = row.row()
        frames.alignment = "RIGHT"
        start = scene.frame_start
        frames.label(text=f"{start + item.first} – {start + item.last}")


class MATCHCUT_PT_setting(SidebarPanel, bpy.types.Panel):
    """How much of the reference is rebuilt."""

    bl_label = "Setting"
    bl_order = 15

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.layout
        state = context.scene.matchcut
        layout.row().prop(state, "setting", expand=True)
        meaning = state.bl_rna.properties["setting"].enum_items[state.setting].description
        paragraph(layout, context, translated(meaning))


def _begun(layout: Any, context: Any, reference: Any) -> None:
    """What is known of a file while it is read."""
    heard = read.heard_of(reference)
    if heard is not None:
        digest, (width, height) = heard
        _beside_picture(layout, context, digest, [f"{width} × {height}"])


def _facts(layout: Any, context: Any, reference: Any) -> None:
    lines = [
        f"{reference.width} × {reference.height}",
        f"{rate_text(reference.rate)} fps",
        translated("{} frames").format(reference.frames),
        f"{float(reference.frames / Fraction(reference.rate)):.2f} s",
    ]
    if len(reference.shots):
        lines.append(translated("{} shots").format(len(reference.shots)) if len(reference.shots) > 1 else "1 shot")
    _beside_picture(layout, context, watch.digest_in(reference.read_mark), lines)


def _beside_picture(layout: Any, context: Any, digest: str, lines: list[str]) -> None:
    """The first frame on the left, lines of text on the right; the lines alone where there is no picture."""
    icon = picture.icon(digest)
    share = 1.0
    if icon:
        split = layout.split(factor=PICTURE)
        split.template_icon(icon_value=icon, scale=SCALE)
        layout, share = split, 1 - PICTURE
    column = layout.column(align=True)
    for line in lines:
        for part in text_lines(context, line, share):
            column.label(text=part)


def _state(layout: Any, context: Any, reference: Any) -> None:
    """What became of the file since it was read."""
    name = PurePath(reference.path).name
    if reference.state == "missing":
        paragraph(layout, context, translated("{} is not there any more.").format(name), "ERROR", alert=True)
        layout.operator("matchcut.pick_reference", text="Find", icon="VIEWZOOM")
    elif reference.state == "changed":
        paragraph(layout, context, translated("{} is another video than was read.").format(name), "ERROR", alert=True)
        layout.operator("matchcut.read_reference", text="Read Again", icon="FILE_REFRESH")


def _warnings(layout: Any, context: Any, reference: Any) -> None:
    """What is odd about the video, with Conform below what it mends."""
    for warning in reference.warnings:
        if warning.section != "conform":
            paragraph(layout, context, sentence(warning.text, context.scene.frame_start), "ERROR")
    mended = [warning for warning in reference.warnings if warning.section == "conform"]
    if mended:
        column = layout.column()
        for warning in mended:
            paragraph(column, context, sentence(warning.text, context.scene.frame_start), "ERROR")
        column.operator("matchcut.conform_reference", icon="MODIFIER")
    if conform.is_conformed(reference):
        text = translated("Conformed from {}").format(PurePath(reference.original).name)
        paragraph(layout, context, text, "CHECKMARK")
        layout.operator("matchcut.use_original", icon="LOOP_BACK")


def _timeline(layout: Any, context: Any, scene: Any) -> None:
    """Where the scene is not on the reference's timeline, and the button that brings it there."""
    reference = scene.matchcut.reference
    column = layout.column()
    if reference.known:
        problems = off_timeline(scene, reference.timeline())
        for problem in problems:
            paragraph(column, context, sentence(problem), "ERROR")
        if not problems:
            paragraph(column, context, translated("On the reference's timeline"), "CHECKMARK")
    row = column.row(align=True)
    row.operator("matchcut.match_timeline", icon="TIME")
    if reference.known:
        row.operator("matchcut.read_reference", text="", icon="FILE_REFRESH")


def _camera(layout: Any, context: Any, scene: Any) -> None:
    """The reference in the camera view."""
    reference = scene.matchcut.reference
    shown = background.shown(scene)
    current = shown is not None and background.is_current(scene, shown)
    column = layout.column()
    column.operator("matchcut.show_in_camera", icon="CAMERA_DATA", depress=current)
    if shown is None:
        return
    if not current:
        paragraph(column, context, translated("The camera shows another video or start; press to update."), "ERROR")
    if reference.misplaced:
        text = "Blender's player shows other frames of this video than are scored; conform it first."
        paragraph(column, context, translated(text), "ERROR", alert=True)
    column.prop(reference, "opacity", slider=True)
    column.prop(reference, "in_front")


def rate_text(rate: str) -> str:
    """`24000/1001` as `23.976`, `25/1` as `25`."""
    return f"{float(Fraction(rate)):.3f}".rstrip("0").rstrip(".")


CLASSES = (
    *properties.CLASSES,
    *operators.CLASSES,
    MATCHCUT_UL_shots,
    MATCHCUT_PT_reference,
    MATCHCUT_PT_shots,
    MATCHCUT_PT_setting,
)
register, unregister = events.register, events.unregister
