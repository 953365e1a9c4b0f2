# SPDX-License-Identifier: GPL-3.0-or-later
"""The Reference panel's buttons, and what happens to a video that is dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
from bpy.props import BoolProperty, StringProperty

from ...timeline import match_timeline
from ..base import Action, idle
from . import background, conform, read, shots

VIDEOS = (".mp4", ".mov", ".m4v", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".mts", ".ts", ".ogv", ".gif")


class MATCHCUT_OT_pick_reference(Action, bpy.types.Operator):
    """Pick Reference."""

    bl_idname = "matchcut.pick_reference"
    bl_label = "Pick Reference"
    bl_description = (
        "Choose the video to rebuild; where it is the one that was read, moved, nothing has to be read again"
    )
    bl_options = {"REGISTER", "UNDO"}

    filepath: StringProperty(subtype="FILE_PATH", options={"SKIP_SAVE", "HIDDEN"})  # type: ignore[valid-type]
    filter_movie: BoolProperty(default=True, options={"HIDDEN", "SKIP_SAVE"})  # type: ignore[valid-type]
    filter_folder: BoolProperty(default=True, options={"HIDDEN", "SKIP_SAVE"})  # type: ignore[valid-type]

    def invoke(self, context: Any, event: Any) -> set[str]:
        """Called by Blender: a file that was dropped is taken, else the file browser opens."""
        if self.filepath:
            return self.execute(context)
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def _act(self, context: Any) -> None:
        read.pick(context.scene, Path(bpy.path.abspath(self.filepath)))


class MATCHCUT_OT_read_reference(Action, bpy.types.Operator):
    """Read Reference."""

    bl_idname = "matchcut.read_reference"
    bl_label = "Read Reference"
    bl_description = "Read the size, rate, frames and shots of the reference; it is decoded once, in another process"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """A reference is picked and nothing runs."""
        return _picked(cls, context) and idle(cls)

    def _act(self, context: Any) -> Any:
        return read.read_reference(context.scene)


class MATCHCUT_OT_conform_reference(Action, bpy.types.Operator):
    """Conform."""

    bl_idname = "matchcut.conform_reference"
    bl_label = "Conform"
    bl_description = (
        "Write a copy of the reference at a constant rate, upright, with square pixels and an even size, and take it as"
        " the reference; the original stays as it is"
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        """A reference is picked and nothing runs."""
        return _picked(cls, context) and idle(cls)

    def _act(self, context: Any) -> Any:
        return conform.conform_reference(context.scene)


class MATCHCUT_OT_use_original(Action, bpy.types.Operator):
    """Use Original."""

    bl_idname = "matchcut.use_original"
    bl_label = "Use Original"
    bl_description = "Take the video that was conformed as the reference again, as it is; the copy stays"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """The reference was conformed."""
        if not conform.is_conformed(context.scene.matchcut.reference):
            cls.poll_message_set("The reference was not conformed")
            return False
        return True

    def _act(self, context: Any) -> None:
        conform.use_original(context.scene)


class MATCHCUT_OT_match_timeline(Action, bpy.types.Operator):
    """Match Timeline."""

    bl_idname = "matchcut.match_timeline"
    bl_label = "Match Timeline"
    bl_description = "Give the scene the resolution, frame rate and length of the reference; its first frame stays"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """The reference has been read."""
        return _known(cls, context)

    def _act(self, context: Any) -> None:
        changes = match_timeline(context.scene, context.scene.matchcut.reference.timeline())
        self.report({"INFO"}, "; ".join(changes) or "The scene is on the reference's timeline already")


class MATCHCUT_OT_show_in_camera(Action, bpy.types.Operator):
    """Show in Camera."""

    bl_idname = "matchcut.show_in_camera"
    bl_label = "Show in Camera"
    bl_description = (
        "Show the reference in the view of every camera of the scene, its first frame at the scene's first frame; press"
        " again to hide it"
    )
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """A reference is picked, and there is a camera."""
        if not _picked(cls, context):
            return False
        if not background.cameras(context.scene):
            cls.poll_message_set("There is no camera in the scene")
            return False
        return True

    def _act(self, context: Any) -> None:
        shown = background.shown(context.scene)
        if shown is not None and background.is_current(context.scene, shown):
            background.hide(context.scene)
        else:
            background.show(context.scene)


class MATCHCUT_OT_make_shot_cameras(Action, bpy.types.Operator):
    """Make Shot Cameras."""

    bl_idname = "matchcut.make_shot_cameras"
    bl_label = "Make Shot Cameras"
    bl_description = (
        "Give each shot a camera where the active one stands, bound by a marker at the shot's first frame; cameras that"
        " are there already stay"
    )
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """The shots are known."""
        return _known(cls, context)

    def _act(self, context: Any) -> None:
        changes = shots.make_cameras(context.scene)
        self.report({"INFO"}, "; ".join(changes) or "Each shot has its camera already")


class MATCHCUT_FH_reference(bpy.types.FileHandler):
    """A video that is dropped on the 3D view or its sidebar."""

    bl_idname = "MATCHCUT_FH_reference"
    bl_label = "Matchcut Reference"
    bl_import_operator = "matchcut.pick_reference"
    bl_file_extensions = ";".join(VIDEOS)

    @classmethod
    def poll_drop(cls, context: Any) -> bool:
        """Over the 3D view."""
        return context.area is not None and context.area.type == "VIEW_3D"


def _picked(cls: Any, context: Any) -> bool:
    if not context.scene.matchcut.reference.path:
        cls.poll_message_set("No reference is picked")
        return False
    return True


def _known(cls: Any, context: Any) -> bool:
    reference = context.scene.matchcut.reference
    if not _picked(cls, context):
        return False
    if not reference.read:
        cls.poll_message_set("The reference has not been read yet")
    elif reference.state == "changed":
        cls.poll_message_set("The reference is not the file any more that was read")
    return bool(reference.read) and reference.state != "changed"


CLASSES = (
    MATCHCUT_OT_pick_reference,
    MATCHCUT_OT_read_reference,
    MATCHCUT_OT_conform_reference,
    MATCHCUT_OT_use_original,
    MATCHCUT_OT_match_timeline,
    MATCHCUT_OT_show_in_camera,
    MATCHCUT_OT_make_shot_cameras,
    MATCHCUT_FH_reference,
)
