# SPDX-License-Identifier: GPL-3.0-or-later
"""The Compare panel's buttons, which are commands for the keyboard as well."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.app.translations import pgettext_iface
from bpy.props import BoolProperty

from . import feeds, follow
from .properties import MODE_ITEMS


class MATCHCUT_OT_compare(bpy.types.Operator):
    """Show or hide the reference over the view."""

    bl_idname = "matchcut.compare"
    bl_label = "Show Compare"
    bl_description = "Lay the reference over the 3D view, or take it off again"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is a reference."""
        return _has_reference(cls, context)

    def execute(self, context: Any) -> set[str]:
        """Called by Blender."""
        compare = context.scene.matchcut.compare
        compare.show = not compare.show
        return {"FINISHED"}


class MATCHCUT_OT_compare_mode(bpy.types.Operator):
    """The next way of comparing."""

    bl_idname = "matchcut.compare_mode"
    bl_label = "Next Compare Mode"
    bl_description = "Go through wipe, onion skin, side by side, difference and flicker"
    bl_options = {"REGISTER", "UNDO"}

    backwards: BoolProperty(  # type: ignore[valid-type]
        name="Backwards",
        description="Go to the mode before",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is a reference."""
        return _has_reference(cls, context)

    def execute(self, context: Any) -> set[str]:
        """Called by Blender."""
        compare = context.scene.matchcut.compare
        modes = [item[0] for item in MODE_ITEMS]
        if compare.show:
            compare.mode = modes[(modes.index(compare.mode) + (-1 if self.backwards else 1)) % len(modes)]
        compare.show = True
        self.report({"INFO"}, pgettext_iface(MODE_ITEMS[modes.index(compare.mode)][1]))
        return {"FINISHED"}


class MATCHCUT_OT_compare_source(bpy.types.Operator):
    """Compare with the view, or with the last render."""

    bl_idname = "matchcut.compare_source"
    bl_label = "Swap Viewport and Render"
    bl_description = "Compare the reference with the last render instead of the 3D view, or the other way round"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is a render."""
        if not context.scene.matchcut.render.video:
            cls.poll_message_set("Nothing has been rendered yet")
            return False
        return _has_reference(cls, context)

    def execute(self, context: Any) -> set[str]:
        """Called by Blender."""
        compare = context.scene.matchcut.compare
        compare.source = "VIEWPORT" if compare.source == "RENDER" else "RENDER"
        compare.show = True
        return {"FINISHED"}


class MATCHCUT_OT_compare_again(bpy.types.Operator):
    """Decode what could not be decoded."""

    bl_idname = "matchcut.compare_again"
    bl_label = "Try Again"
    bl_description = "Look for the video again, and decode its frames"

    def execute(self, context: Any) -> set[str]:
        """Called by Blender."""
        feeds.close_all()
        follow.wake()
        follow.redraw()
        return {"FINISHED"}


def _has_reference(cls: Any, context: Any) -> bool:
    if context.scene is None or not context.scene.matchcut.reference.path:
        cls.poll_message_set("Pick a reference first")
        return False
    return True


CLASSES = (MATCHCUT_OT_compare, MATCHCUT_OT_compare_mode, MATCHCUT_OT_compare_source, MATCHCUT_OT_compare_again)
