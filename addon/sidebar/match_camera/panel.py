# SPDX-License-Identifier: GPL-3.0-or-later
"""The Match Camera panel: what is drawn, what was found from it and how well, and the buttons."""

from __future__ import annotations

from math import atan, degrees
from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent
from bpy.app.translations import pgettext_iface as translated
from bpy.app.translations import pgettext_n

from ....evaluator.camera.core.blender import lens_of
from ....evaluator.camera.core.fit import UNDETERMINED
from ..base import SidebarPanel
from ..layout import fact, paragraph
from ..words import sentence
from . import apply, editing, finding, lists, mode, operators, overlay, parts, properties
from .shots import camera_of, differs, frame_of, match_of, picture_size, shot_at, shots_of
from .solve import Solution, sensor_of

NOT_DETERMINED = pgettext_n("not determined")
"""Instead of a figure whose standard deviation is as large as itself."""
MOST_TURN = 45.0
"""Degrees of standard deviation below which a rotation means anything."""


class MATCHCUT_PT_match_camera(SidebarPanel, bpy.types.Panel):
    """The camera of the shot that is shown."""

    bl_label = "Match Camera"
    bl_order = 20

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout, scene = self.aligned(), context.scene
        camera, frame = camera_of(scene), frame_of(scene)
        if camera is None:
            paragraph(layout, context, "This shot has no camera.", "INFO")
            layout.operator("matchcut.add_camera", icon="CAMERA_DATA")
            return
        shots, shot = shots_of(scene), shot_at(scene, frame)
        facts = layout.column(align=True)
        number = (
            translated("{number} of {count}, ").format(number=shot.number, count=len(shots)) if len(shots) > 1 else ""
        )
        start = scene.frame_start  # frames as the timeline counts them
        span = translated("frames {first} to {last}").format(first=start + shot.first, last=start + shot.last)
        fact(facts, context, "Shot", sentence(f"{number}{span}"))
        fact(facts, context, "Camera", camera.name)
        _hints(layout, context)
        _modes(layout, context)
        match = match_of(scene)
        if match is None:
            hint = "Draw two or more lines along each of two axes, or pick six points whose places are known."
            paragraph(layout, context, hint, "INFO")
            return
        _drawn(layout, context, match)
        _found(layout, context, match, camera)


def _hints(layout: Any, context: Any) -> None:
    """What keeps lines from lying on the reference's picture."""
    scene, space = context.scene, context.space_data
    reference = scene.matchcut.reference
    if not reference.path:
        paragraph(layout, context, "Pick the reference: its picture lies under the lines.", "INFO")
    elif differs(scene):
        text = "The scene's picture has another shape than the reference's; use Match Timeline."
        paragraph(layout, context, text, "ERROR")
    if space.region_3d is None or space.region_3d.view_perspective != "CAMERA":
        layout.operator("matchcut.view_camera", icon="VIEW_CAMERA")


def _modes(layout: Any, context: Any) -> None:
    """The buttons that begin and end drawing."""
    now, settings = mode.current(), context.scene.matchcut.match_camera
    row = layout.row(align=True)
    row.scale_y = 1.2
    for kind, idname, icon in (
        ("LINES", "matchcut.edit_lines", "ORIENTATION_GLOBAL"),
        ("POINTS", "matchcut.pick_points", "SNAP_VERTEX"),
    ):
        if now is not None and now.kind == kind:
            row.operator(idname, text="Done", icon="CHECKMARK", depress=True)
        else:
            row.operator(idname, icon=icon)
    row.prop(settings, "show", text="", icon="HIDE_OFF" if settings.show else "HIDE_ON")
    if now is not None and now.kind == "LINES":
        axes = layout.row(align=True)
        axes.use_property_split = False
        axes.prop(settings, "axis", expand=True)
    if now is not None and now.kind == "POINTS":
        waits = mode.waiting_point(match_of(context.scene)) is not None
        step = "Now click the same place in the scene." if waits else "Click a point in the picture."
        paragraph(layout, context, step, "RESTRICT_SELECT_OFF")


def _drawn(layout: Any, context: Any, match: Any) -> None:
    """What was drawn, as a list."""
    if match.frame != frame_of(context.scene):
        frame = context.scene.frame_start + match.frame
        text = translated("Drawn on frame {frame} of this shot.").format(frame=frame)
        paragraph(layout, context, text, "INFO")
        row = layout.row(align=True)
        row.operator("matchcut.match_frame", icon="FRAME_NEXT")
        row.operator("matchcut.match_again", text="Match This Too", icon="ADD")
    layout.row().prop(match, "mode", expand=True)
    row = layout.row()
    if match.mode == "LINES":
        row.template_list("MATCHCUT_UL_match_lines", "", match, "lines", match, "active_line", rows=3)
        side = row.column(align=True)
        side.operator_menu_enum("matchcut.set_line_axis", "axis", text="", icon="DOWNARROW_HLT")
        side.operator("matchcut.remove_line", text="", icon="REMOVE")
        side.operator("matchcut.clear_match", text="", icon="TRASH")
        counts = [f"{axis} {sum(line.axis == axis for line in match.lines)}" for axis in "XYZ"]
        fact(layout, context, "Lines", " · ".join(counts))
    else:
        row.template_list("MATCHCUT_UL_match_points", "", match, "points", match, "active_point", rows=3)
        side = row.column(align=True)
        side.operator("matchcut.repick_point", text="", icon="EYEDROPPER")
        side.operator("matchcut.remove_point", text="", icon="REMOVE")
        side.operator("matchcut.clear_match", text="", icon="TRASH")
        if 0 <= match.active_point < len(match.points) and match.points[match.active_point].has_world:
            layout.prop(match.points[match.active_point], "world")
    layout.row().prop(match, "focal", expand=True)
    if match.focal == "GIVEN":
        layout.prop(match, "lens")


def _found(layout: Any, context: Any, match: Any, camera: Any) -> None:
    """The camera that was found, how well it is known, and what is done with it."""
    scene = context.scene
    solution = finding.solution_of(scene, match)
    if solution.fit is not None:
        column = layout.column(align=True)
        for label, text in found_rows(solution, sensor_of(camera), picture_size(scene)):
            fact(column, context, label, text)
    if solution.problem:
        paragraph(layout, context, sentence(solution.problem), "ERROR")
    for text in solution.waiting:
        paragraph(layout, context, sentence(text), "INFO")
    if solution.fit is not None:
        for text in solution.fit.assumed:
            paragraph(layout, context, translated("Assumed: {text}.").format(text=text), "INFO")
        for text in solution.fit.notes:
            paragraph(layout, context, text, "INFO")
    settings = scene.matchcut.match_camera
    row = layout.row()
    row.scale_y = 1.4
    row.enabled = solution.fit is not None
    row.operator("matchcut.apply_match", icon="CAMERA_DATA")
    layout.prop(settings, "live")
    if settings.live and apply.is_animated(camera):
        text = "The camera is animated, so it does not follow; Apply sets a keyframe."
        paragraph(layout, context, text, "INFO")


def found_rows(solution: Solution, sensor: Any, size: tuple[int, int]) -> list[tuple[str, str]]:
    """What was found, as labels and texts; ± is one standard deviation."""
    fit = solution.fit
    if fit is None:
        return []
    focal, sigmas = fit.camera.focal, fit.sigmas
    lens = lens_of(focal, size, sensor)
    doubt = sigmas.get("focal", 0.0) / focal
    error = f" ± {_rough(lens * doubt)}" if "focal" in sigmas else ""
    angles = " × ".join(f"{2 * degrees(atan(side / 2 / focal)):.1f}°" for side in size)
    turn = degrees(float(np.sqrt(sum(sigmas[f"rotation_{axis}"] ** 2 for axis in "xyz"))))
    rows = [("Lens", f"{lens:.2f} mm{error}"), ("Field of View", angles)]
    if not doubt < UNDETERMINED:
        rows = [(label, NOT_DETERMINED) for label, _ in rows]
    rows.append(("Rotation", f"± {_rough(turn)}°" if turn < MOST_TURN else NOT_DETERMINED))
    if fit.placed:
        away = float(np.sqrt(sum(sigmas[f"centre_{axis}"] ** 2 for axis in "xyz")))
        place = ", ".join(f"{value:.2f}" for value in fit.camera.centre)
        rows.append(
            ("Position", f"{place} ± {_rough(away)}" if away < np.linalg.norm(fit.camera.centre) else NOT_DETERMINED)
        )
    if "principal_x" in sigmas:
        x, y = fit.camera.principal
        rows.append(
            ("Principal Point", f"{x:.0f}, {y:.0f} ± {_rough(max(sigmas['principal_x'], sigmas['principal_y']))} px")
        )
    rows.append(("Left Over", f"{fit.rms_px:.2f} px"))
    return rows


def _rough(number: float) -> str:
    """A standard deviation: its two leading digits, never with an exponent above."""
    return f"{number:.2g}" if number < 99.5 else f"{number:.0f}"


CLASSES = (
    *properties.CLASSES,
    *operators.CLASSES,
    *editing.CLASSES,
    *lists.CLASSES,
    MATCHCUT_PT_match_camera,
    *parts.CLASSES,
)


@persistent  # type: ignore[untyped-decorator]
def _loaded(*_: Any) -> None:
    mode.end()
    finding.forget()


def register() -> None:
    """Draw over camera views, and edit nothing that another file has taken away."""
    bpy.app.handlers.load_post.append(_loaded)
    finding.register(apply.found)
    overlay.register()


def unregister() -> None:
    """End what is edited, and draw no more."""
    mode.end()
    finding.unregister()
    overlay.unregister()
    if _loaded in bpy.app.handlers.load_post:  # other code may have emptied the list
        bpy.app.handlers.load_post.remove(_loaded)
