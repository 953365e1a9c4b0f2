# SPDX-License-Identifier: GPL-3.0-or-later
"""The Reference panel's buttons."""

from __future__ import annotations

from typing import Any

import bpy

from ...timeline import match_timeline
from ..base import Action, idle
from . import read


class MATCHCUT_OT_read_reference(Action, bpy.types.Operator):
    """Read Reference."""

    bl_idname = "matchcut.read_reference"
    bl_label = "Read Reference"
    bl_description = "Read the size, rate and number of frames of the reference"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """A reference is picked and nothing runs."""
        return bool(context.scene.matchcut.reference.path) and idle()

    def _act(self, context: Any) -> Any:
        return read.read_reference(context.scene)


class MATCHCUT_OT_match_timeline(Action, bpy.types.Operator):
    """Match Timeline."""

    bl_idname = "matchcut.match_timeline"
    bl_label = "Match Timeline"
    bl_description = "Give the scene the resolution, frame rate and length of the reference"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """The reference has been read."""
        return bool(context.scene.matchcut.reference.known)

    def _act(self, context: Any) -> None:
        changes = match_timeline(context.scene, context.scene.matchcut.reference.timeline())
        self.report({"INFO"}, "; ".join(changes) or "The scene is on the reference's timeline already")


CLASSES = (
    MATCHCUT_OT_read_reference,
    MATCHCUT_OT_match_timeline,
)
