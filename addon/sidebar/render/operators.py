# SPDX-License-Identifier: GPL-3.0-or-later
"""The Render panel's buttons."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import IntProperty

from ..base import Action, idle
from ..paths import absolute, there
from . import run
from .listing import read_render


class MATCHCUT_OT_render(Action, bpy.types.Operator):
    """Render."""

    bl_idname = "matchcut.render"
    bl_label = "Render"
    bl_description = "Render a copy of the scene on the reference's timeline, in another process; Blender stays free"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """A reference is picked and nothing runs."""
        if not context.scene.matchcut.reference.path:
            cls.poll_message_set("Pick a reference first")
            return False
        return idle(cls)

    def _act(self, context: Any) -> Any:
        return run.render(context.scene)


class MATCHCUT_OT_resume_render(Action, bpy.types.Operator):
    """Resume Render."""

    bl_idname = "matchcut.resume_render"
    bl_label = "Resume Render"
    bl_description = "Render what is missing of the last render, from the copy of the scene that it was started with"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """A render was cancelled or failed, and nothing runs."""
        if not run.unfinished_render(context.scene):
            cls.poll_message_set("The last render came to its end")
            return False
        return idle(cls)

    def _act(self, context: Any) -> Any:
        return run.resume_render(context.scene)


class _OfRow:
    """A button of a row in the list of renders, the chosen one where none is named."""

    @staticmethod
    def row(operator: Any, context: Any) -> Any:
        """The row; None where there is none."""
        render = context.scene.matchcut.render
        number = operator.row if operator.row >= 0 else render.active
        return render.renders[number] if 0 <= number < len(render.renders) else None


class MATCHCUT_OT_play_render(Action, bpy.types.Operator):
    """Play Render."""

    bl_idname = "matchcut.play_render"
    bl_label = "Play Render"
    bl_description = "Play the rendered video in the system's player"

    row: IntProperty(name="Row", description="Of the list of renders; -1 for the chosen one", default=-1)  # type: ignore[valid-type]

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is a render."""
        if not context.scene.matchcut.render.renders:
            cls.poll_message_set("Nothing has been rendered yet")
        return bool(context.scene.matchcut.render.renders)

    def _act(self, context: Any) -> None:
        row = _OfRow.row(self, context)
        found = read_render(absolute(row.folder)) if row is not None else None
        video = found.video if found is not None else None  # one that is resumed has another by now
        video = video or (absolute(row.video) if row is not None and row.video else None)
        bpy.ops.wm.path_open(filepath=str(there(video, "video")))


class MATCHCUT_OT_open_render_folder(Action, bpy.types.Operator):
    """Open Render Folder."""

    bl_idname = "matchcut.open_render_folder"
    bl_label = "Open Render Folder"
    bl_description = "Show the files of the render: pictures, video, passes and log"

    row: IntProperty(name="Row", description="Of the list of renders; -1 for the chosen one", default=-1)  # type: ignore[valid-type]

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is a render."""
        if not context.scene.matchcut.render.renders:
            cls.poll_message_set("Nothing has been rendered yet")
        return bool(context.scene.matchcut.render.renders)

    def _act(self, context: Any) -> None:
        row = _OfRow.row(self, context)
        folder = absolute(row.folder) if row is not None else None
        there(folder / "job.json" if folder is not None else None, "render")
        bpy.ops.wm.path_open(filepath=str(folder))


class MATCHCUT_OT_find_renders(Action, bpy.types.Operator):
    """Find Renders."""

    bl_idname = "matchcut.find_renders"
    bl_label = "Find Renders"
    bl_description = "List the renders in the output folder again"

    def _act(self, context: Any) -> None:
        run.find_renders(context.scene)


CLASSES = (
    MATCHCUT_OT_render,
    MATCHCUT_OT_resume_render,
    MATCHCUT_OT_play_render,
    MATCHCUT_OT_open_render_folder,
    MATCHCUT_OT_find_renders,
)
