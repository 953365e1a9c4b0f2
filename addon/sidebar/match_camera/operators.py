# SPDX-License-Identifier: GPL-3.0-or-later
"""The Match Camera panel's buttons besides those that edit."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import EnumProperty

from ..base import Action, idle
from ..words import sentence
from . import apply, motion
from .properties import AXIS_ITEMS, SHAPE_ITEMS, SHAPE_SIZES
from .shots import camera_of, frame_of, match_of, new_match


class MATCHCUT_OT_add_camera(Action, bpy.types.Operator):
    """Add Camera."""

    bl_idname = "matchcut.add_camera"
    bl_label = "Add Camera"
    bl_description = "Add a camera at eye level, looking along Y, and make it the scene's"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """The shot has none."""
        return camera_of(context.scene) is None

    def _act(self, context: Any) -> None:
        apply.add_camera(context.scene)


class MATCHCUT_OT_view_camera(Action, bpy.types.Operator):
    """View Camera."""

    bl_idname = "matchcut.view_camera"
    bl_label = "View Camera"
    bl_description = "Look through the shot's camera, over whose picture lines and points are drawn"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """In a 3D view."""
        return context.area is not None and context.area.type == "VIEW_3D" and camera_of(context.scene) is not None

    def _act(self, context: Any) -> None:
        context.space_data.use_local_camera = False
        context.space_data.region_3d.view_perspective = "CAMERA"


class MATCHCUT_OT_match_frame(Action, bpy.types.Operator):
    """Go to Frame."""

    bl_idname = "matchcut.match_frame"
    bl_label = "Go to Frame"
    bl_description = "Go to the frame whose picture was drawn on"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """Something was drawn for this shot."""
        return match_of(context.scene) is not None

    def _act(self, context: Any) -> None:
        context.scene.frame_set(context.scene.frame_start + match_of(context.scene).frame)


class MATCHCUT_OT_match_again(Action, bpy.types.Operator):
    """Match This Frame Too."""

    bl_idname = "matchcut.match_again"
    bl_label = "Match This Frame Too"
    bl_description = "Begin anew at this frame of the shot; what was drawn on the other one stays"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """Another frame of the shot was drawn on."""
        match = match_of(context.scene)
        return match is not None and match.frame != frame_of(context.scene)

    def _act(self, context: Any) -> None:
        mode = match_of(context.scene).mode
        new_match(context.scene).mode = mode


class MATCHCUT_OT_clear_match(Action, bpy.types.Operator):
    """Clear."""

    bl_idname = "matchcut.clear_match"
    bl_label = "Clear"
    bl_description = "Remove all lines, points and shapes that were drawn on this frame; the camera stays as it is"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is something."""
        return match_of(context.scene) is not None

    def _act(self, context: Any) -> None:
        matches, match = context.scene.matchcut.match_camera.matches, match_of(context.scene)
        matches.remove(next(index for index, one in enumerate(matches) if one == match))
        apply.redraw()


class MATCHCUT_OT_apply_match(Action, bpy.types.Operator):
    """Apply to Camera."""

    bl_idname = "matchcut.apply_match"
    bl_label = "Apply to Camera"
    bl_description = (
        "Give the shot's camera the lens, shift, rotation and location that were found; an animated one gets a keyframe"
    )
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """Something was drawn."""
        return match_of(context.scene) is not None and camera_of(context.scene) is not None

    def _act(self, context: Any) -> None:
        for note in apply.apply(context.scene):
            self.report({"INFO"}, sentence(note))


class MATCHCUT_OT_set_line_axis(Action, bpy.types.Operator):
    """Set Axis."""

    bl_idname = "matchcut.set_line_axis"
    bl_label = "Set Axis"
    bl_description = "What the chosen line runs along, and the next one that is drawn"
    bl_options = {"REGISTER", "UNDO", "INTERNAL"}
    axis: EnumProperty(  # type: ignore[valid-type]
        name="Axis",
        description="What the line runs along",
        items=AXIS_ITEMS,
    )

    def _act(self, context: Any) -> None:
        match = match_of(context.scene)
        context.scene.matchcut.match_camera.axis = self.axis
        if match is not None and 0 <= match.active_line < len(match.lines):
            match.lines[match.active_line].axis = self.axis


class MATCHCUT_OT_remove_line(Action, bpy.types.Operator):
    """Remove Line."""

    bl_idname = "matchcut.remove_line"
    bl_label = "Remove Line"
    bl_description = "Remove the chosen line"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is one."""
        return _has(context, "lines")

    def _act(self, context: Any) -> None:
        _remove(context, "lines", "active_line")


class MATCHCUT_OT_remove_point(Action, bpy.types.Operator):
    """Remove Point."""

    bl_idname = "matchcut.remove_point"
    bl_label = "Remove Point"
    bl_description = "Remove the chosen pair of points"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is one."""
        return _has(context, "points")

    def _act(self, context: Any) -> None:
        _remove(context, "points", "active_point")


class MATCHCUT_OT_repick_point(Action, bpy.types.Operator):
    """Pick in Scene Again."""

    bl_idname = "matchcut.repick_point"
    bl_label = "Pick in Scene Again"
    bl_description = "Forget where the chosen point is in the scene, and pick it there anew"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is one."""
        return _has(context, "points")

    def _act(self, context: Any) -> None:
        match = match_of(context.scene)
        match.points[match.active_point].has_world = False
        apply.changed(context.scene)


class MATCHCUT_OT_add_shape(Action, bpy.types.Operator):
    """Add Scale Shape."""

    bl_idname = "matchcut.add_scale_shape"
    bl_label = "Add Scale Shape"
    bl_description = (
        "Draw the outline of a thing of known size as the camera sees it: a wrong focal length shows at once"
    )
    bl_options = {"REGISTER", "UNDO"}
    kind: EnumProperty(name="Shape", description="The thing whose outline is drawn", items=SHAPE_ITEMS)  # type: ignore[valid-type]

    def _act(self, context: Any) -> None:
        scene = context.scene
        match = match_of(scene) or new_match(scene)
        shape = match.shapes.add()
        unit = scene.unit_settings.scale_length or 1.0
        shape.kind, shape.size = self.kind, [side / unit for side in SHAPE_SIZES[self.kind]]
        shape.place = (0.5, min(0.95, match.origin[1] + 0.05 * (len(match.shapes) - 1)))
        match.active_shape = len(match.shapes) - 1
        apply.redraw()


class MATCHCUT_OT_remove_shape(Action, bpy.types.Operator):
    """Remove Scale Shape."""

    bl_idname = "matchcut.remove_scale_shape"
    bl_label = "Remove Scale Shape"
    bl_description = "Remove the chosen shape"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is one."""
        return _has(context, "shapes")

    def _act(self, context: Any) -> None:
        _remove(context, "shapes", "active_shape")


class MATCHCUT_OT_use_measured_motion(Action, bpy.types.Operator):
    """Use Measured Motion."""

    bl_idname = "matchcut.use_measured_motion"
    bl_label = "Use Measured Motion"
    bl_description = (
        "Measure how the reference's camera moves in this shot, in another process, and lay it down as keyframes of "
        "the shot's camera to start from; those on its frames are replaced"
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is a reference and a camera, and nothing runs."""
        if not context.scene.matchcut.reference.path:
            cls.poll_message_set("Pick the reference first")
            return False
        if camera_of(context.scene) is None:
            cls.poll_message_set("This shot has no camera; use Add Camera")
            return False
        return idle(cls)

    def _act(self, context: Any) -> Any:
        return motion.use_measured_motion(context.scene)


def _has(context: Any, name: str) -> bool:
    match = match_of(context.scene)
    return match is not None and len(getattr(match, name)) > 0


def _remove(context: Any, name: str, active: str) -> None:
    match = match_of(context.scene)
    items, index = getattr(match, name), getattr(match, active)
    if 0 <= index < len(items):
        items.remove(index)
        setattr(match, active, max(0, min(index, len(items) - 1)))
        apply.changed(context.scene)


CLASSES = (
    MATCHCUT_OT_add_camera,
    MATCHCUT_OT_view_camera,
    MATCHCUT_OT_match_frame,
    MATCHCUT_OT_match_again,
    MATCHCUT_OT_clear_match,
    MATCHCUT_OT_apply_match,
    MATCHCUT_OT_set_line_axis,
    MATCHCUT_OT_remove_line,
    MATCHCUT_OT_remove_point,
    MATCHCUT_OT_repick_point,
    MATCHCUT_OT_add_shape,
    MATCHCUT_OT_remove_shape,
    MATCHCUT_OT_use_measured_motion,
)
