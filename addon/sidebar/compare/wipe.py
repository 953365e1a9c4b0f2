# SPDX-License-Identifier: GPL-3.0-or-later
"""The wipe's line can be dragged: a gizmo, which leaves navigation and everything else in the view alone."""

from __future__ import annotations

from typing import Any, Final

import bpy

from .draw import lit_in, rect_in
from .marks import HANDLE, handle_of
from .placement import Rect

REACH: Final = 5
"""Pixels at resolution scale 1 from the line within which it is caught."""


def _seen(context: Any) -> tuple[Rect, Rect] | None:
    """The picture's rectangle, and the part of it that lies in the region; None where there is no line."""
    rect = rect_in(context)
    if rect is None:
        return None
    return rect, rect.within(Rect(0, 0, context.region.width, context.region.height))


def is_near(location: Any, line: float, span: Rect, scale: float) -> bool:
    """Whether a place in the region is on the line or on its handle."""
    x, y = location
    if not span.y <= y <= span.top:
        return False
    middle = handle_of(line, span)
    on_handle = (x - middle[0]) ** 2 + (y - middle[1]) ** 2 <= (HANDLE * scale) ** 2
    return bool(on_handle or abs(x - line) <= REACH * scale)


class MATCHCUT_GT_wipe(bpy.types.Gizmo):
    """The line that the reference ends at."""

    bl_idname = "MATCHCUT_GT_wipe"

    def setup(self) -> None:
        """Called by Blender."""
        self.before = 0.5

    def test_select(self, context: Any, location: Any) -> int:
        """0 where the mouse is on the line, -1 elsewhere."""
        found = _seen(context)
        if found is None:
            return -1
        rect, span = found
        line = rect.x + context.scene.matchcut.compare.wipe * rect.width
        return 0 if is_near(location, line, span, context.preferences.system.ui_scale) else -1

    def draw(self, context: Any) -> None:
        """The line is drawn with the pictures, which come after gizmos; here it is told to light up."""
        if self.is_highlight or self.is_modal:
            lit_in.add(context.region.as_pointer())

    def invoke(self, context: Any, event: Any) -> set[str]:
        """The drag begins."""
        self.before = context.scene.matchcut.compare.wipe
        context.window.cursor_modal_set("MOVE_X")
        return {"RUNNING_MODAL"}

    def modal(self, context: Any, event: Any, tweak: Any) -> set[str]:
        """The line follows the mouse."""
        found = _seen(context)
        if found is not None:
            rect, span = found
            x = min(max(event.mouse_region_x, span.x), span.right)
            context.scene.matchcut.compare.wipe = (x - rect.x) / rect.width
        return {"RUNNING_MODAL"}

    def exit(self, context: Any, cancel: bool) -> None:
        """The drag ends: one step of undo, or the line is back where it was."""
        context.window.cursor_modal_restore()
        if cancel:
            context.scene.matchcut.compare.wipe = self.before
        elif context.scene.matchcut.compare.wipe != self.before:
            bpy.ops.ed.undo_push(message="Move Wipe")


class MATCHCUT_GGT_wipe(bpy.types.GizmoGroup):
    """Holds the wipe's line in every 3D view."""

    bl_idname = "MATCHCUT_GGT_wipe"
    bl_label = "Wipe"
    bl_space_type = "VIEW_3D"
    bl_region_type = "WINDOW"
    bl_options = {"PERSISTENT", "SCALE"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """Only while there is a wipe."""
        compare = context.scene.matchcut.compare
        return bool(compare.show and compare.mode == "WIPE" and context.region_data is not None)

    def setup(self, context: Any) -> None:
        """Called by Blender."""
        gizmo = self.gizmos.new(MATCHCUT_GT_wipe.bl_idname)
        gizmo.use_draw_modal = True


CLASSES = (MATCHCUT_GT_wipe, MATCHCUT_GGT_wipe)
