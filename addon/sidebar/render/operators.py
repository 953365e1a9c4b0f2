# SPDX-License-Identifier: GPL-3.0-or-later
"""The Render panel's buttons."""

from __future__ import annotations

from typing import Any

import bpy

from ..base import Action, idle
from ..paths import absolute, there
from . import run


class MATCHCUT_OT_render(Action, bpy.types.Operator):
    """Render."""

    bl_idname = "matchcut.render"
    bl_label = "Render"
    bl_description = "Render a copy of the scene on the reference's timeline, in another process"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """A reference is picked and nothing runs."""
        return bool(context.scene.matchcut.reference.path) and idle()

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
        return bool(run.unfinished_render(context.scene)) and idle()

    def _act(self, context: Any) -> Any:
        return run.resume_render(context.scene)


class MATCHCUT_OT_play_render(Action, bpy.types.Operator):
    """Play Render."""

    bl_idname = "matchcut.play_render"
    bl_label = "Play Render"
    bl_description = "Play the last rendered video in the system's player"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """All frames have been rendered."""
        if context.scene.matchcut.render.folder and not context.scene.matchcut.render.video:
            cls.poll_message_set("A part of the frames makes no video; open its folder")
        return bool(context.scene.matchcut.render.video)

    def _act(self, context: Any) -> None:
        video = there(absolute(context.scene.matchcut.render.video), "video")
        bpy.ops.wm.path_open(filepath=str(video))


class MATCHCUT_OT_open_render_folder(Action, bpy.types.Operator):
    """Open Render Folder."""

    bl_idname = "matchcut.open_render_folder"
    bl_label = "Open Render Folder"
    bl_description = "Show the files of the last render: pictures, video, passes and log"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """The scene has been rendered."""
        return bool(context.scene.matchcut.render.folder)

    def _act(self, context: Any) -> None:
        folder = absolute(context.scene.matchcut.render.folder)
        there(folder / "job.json", "render")
        bpy.ops.wm.path_open(filepath=str(folder))


CLASSES = (
    MATCHCUT_OT_render,
    MATCHCUT_OT_resume_render,
    MATCHCUT_OT_play_render,
    MATCHCUT_OT_open_render_folder,
)
