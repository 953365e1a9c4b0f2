# SPDX-License-Identifier: GPL-3.0-or-later
"""The sub-panels of Match Camera: origin and scale, principal point, scale shapes, measured motion."""

from __future__ import annotations

from typing import Any

import bpy

from ... import jobs
from ..base import SidebarPanel
from ..layout import fact, paragraph
from ..progress import running_job
from ..words import sentence
from . import motion
from .shots import camera_of, match_of


class _MatchPart(SidebarPanel):
    """A sub-panel of Match Camera."""

    bl_parent_id = "MATCHCUT_PT_match_camera"
    bl_options = {"DEFAULT_CLOSED"}


class MATCHCUT_PT_match_scale(_MatchPart, bpy.types.Panel):
    """Where the world is, and how large."""

    bl_label = "Origin and Scale"
    bl_order = 21

    @classmethod
    def poll(cls, context: Any) -> bool:
        """Lines are drawn: points tell the place themselves."""
        match = match_of(context.scene)
        return match is not None and match.mode == "LINES"

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout, match = self.aligned(), match_of(context.scene)
        if match is None:
            return
        paragraph(layout, context, "Drag the origin in the picture while lines are edited.", "INFO")
        layout.prop(match, "turned")
        layout.prop(match, "scale")
        if match.scale == "HEIGHT":
            layout.prop(match, "height")
        elif match.scale == "LENGTH":
            layout.prop(match, "length")
            layout.prop(match, "length_along")


class MATCHCUT_PT_match_principal(_MatchPart, bpy.types.Panel):
    """Where the optical axis meets the picture."""

    bl_label = "Principal Point"
    bl_order = 22

    @classmethod
    def poll(cls, context: Any) -> bool:
        """Something is drawn."""
        return match_of(context.scene) is not None

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout, match = self.aligned(), match_of(context.scene)
        if match is None:
            return
        layout.row().prop(match, "principal", expand=True)
        if match.principal == "GIVEN":
            layout.prop(match, "principal_place")
        elif match.principal == "FREE":
            needs = "Takes lines of all three axes, or six points that do not lie in one plane."
            paragraph(layout, context, needs, "INFO")


class MATCHCUT_PT_match_shapes(_MatchPart, bpy.types.Panel):
    """Things of known size, to judge the focal length by."""

    bl_label = "Scale Shapes"
    bl_order = 23

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is a camera that sees them."""
        return camera_of(context.scene) is not None

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout, match = self.aligned(), match_of(context.scene)
        row = layout.row()
        if match is not None and len(match.shapes):
            row.template_list("MATCHCUT_UL_match_shapes", "", match, "shapes", match, "active_shape", rows=2)
            side = row.column(align=True)
            side.operator_menu_enum("matchcut.add_scale_shape", "kind", text="", icon="ADD")
            side.operator("matchcut.remove_scale_shape", text="", icon="REMOVE")
            if 0 <= match.active_shape < len(match.shapes):
                shape = match.shapes[match.active_shape]
                layout.prop(shape, "size")
                if shape.kind != "PERSON":
                    layout.prop(shape, "heading")
        else:
            row.operator_menu_enum("matchcut.add_scale_shape", "kind", text="Add Scale Shape", icon="USER")
        paragraph(
            layout,
            context,
            "Drag their feet while lines or points are edited. A person who fits in front and is too large in the back "
            "tells of a wrong focal length.",
        )


class MATCHCUT_PT_match_motion(_MatchPart, bpy.types.Panel):
    """The measured path of the shot's camera."""

    bl_label = "Measured Motion"
    bl_order = 24

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is a camera."""
        return camera_of(context.scene) is not None

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout, scene = self.aligned(), context.scene
        layout.prop(scene.matchcut.match_camera, "distance")
        layout.row().prop(scene.matchcut.match_camera, "keys", expand=True)
        job = jobs.running()
        if job is not None and job.title == motion.TITLE:
            running_job(layout, context, job)
        else:
            layout.operator("matchcut.use_measured_motion", icon="CON_FOLLOWPATH")
        measured = motion.measured_of(scene)
        if measured is not None:
            fact(layout, context, "Measured", sentence(measured.kind))
            for line in measured.unknown.splitlines():
                paragraph(layout, context, sentence(line, scene.frame_start), "INFO")


CLASSES = (
    MATCHCUT_PT_match_scale,
    MATCHCUT_PT_match_principal,
    MATCHCUT_PT_match_shapes,
    MATCHCUT_PT_match_motion,
)
