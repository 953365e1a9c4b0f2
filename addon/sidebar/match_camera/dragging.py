# SPDX-License-Identifier: GPL-3.0-or-later
"""The 3D view under the mouse, and what happens to a handle from its press to its release."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot
from typing import Any, Final

import bpy

from . import apply, finding
from .handles import Handle, choose, places_of, put, remove
from .mode import Mode
from .shots import match_of, shown_view
from .view import CameraView, Pair

PRECISE: Final = 0.1
LEAST_DRAG: Final = 4.0
"""Pixels at resolution scale 1 below which a press and release is a click, which draws no line."""
OVER_VIEW: Final = ("UI", "TOOLS", "HEADER", "TOOL_HEADER", "ASSET_SHELF", "ASSET_SHELF_HEADER", "HUD")


class Target:
    """The 3D view that the mouse is over."""

    def __init__(self, scene: Any, area: Any, region: Any, point: Pair) -> None:
        self.area, self.region, self.point = area, region, point
        self.region_3d = region.data
        self.view: CameraView | None = shown_view(scene, area.spaces.active, region)


def target_of(context: Any, event: Any) -> Target | None:
    """The 3D view under the mouse; None over panels, headers and other editors."""
    for area in context.window.screen.areas if context.window is not None else ():
        if area.type != "VIEW_3D":
            continue
        over = [
            region for region in area.regions
            if region.x <= event.mouse_x < region.x + region.width
            and region.y <= event.mouse_y < region.y + region.height
        ]  # fmt: skip
        if any(region.type in OVER_VIEW and region.width > 1 for region in over):
            return None
        for region in over:
            if region.type == "WINDOW":
                # the middle of the pixel that the mouse is in
                point = event.mouse_x - region.x + 0.5, event.mouse_y - region.y + 0.5
                return Target(context.scene, area, region, point)
    return None


@dataclass(eq=False)
class Drag:
    """A handle that is dragged, and what it takes to put it back."""

    handle: Handle
    places: list[Pair]
    """Of the handle as they were."""
    camera: dict[str, Any]
    """The shot's camera as it was."""
    made: bool
    """Whether what is dragged was made by this press."""
    region: int
    """The address of the region in which it began: the region itself may be gone."""
    at: list[Pair]
    """The handle's places in that region."""
    mouse: Pair
    way: float = 0.0
    """Pixels that it was dragged in all."""

    def move(self, context: Any, event: Any, now: Mode, match: Any) -> None:
        """Follow the mouse."""
        found = self._region(context)
        if found is None:
            return
        region, view = found
        mouse = event.mouse_x - region.x + 0.5, event.mouse_y - region.y + 0.5
        factor = PRECISE if event.shift else 1.0
        step = (mouse[0] - self.mouse[0]) * factor, (mouse[1] - self.mouse[1]) * factor
        self.mouse = mouse
        if step == (0.0, 0.0):
            return
        self.way += hypot(*step)
        self.at = [(x + step[0], y + step[1]) for x, y in self.at]
        put(match, self.handle, [view.place_of(point) for point in self.at])
        now.cursor = self.at[-1]
        apply.changed(context.scene)

    def _region(self, context: Any) -> tuple[Any, CameraView] | None:
        """The region in which the drag began, and its view; None where that is gone."""
        for area in context.window.screen.areas:
            for region in area.regions if area.type == "VIEW_3D" else ():
                if region.as_pointer() == self.region:
                    view = shown_view(context.scene, area.spaces.active, region)
                    return None if view is None else (region, view)
        return None

    def drop(self, now: Mode, match: Any) -> str:
        """The button is let go; the name of the step of undo that this is, empty where nothing has changed."""
        kind = self.handle.kind
        now.dragged = now.places = None
        finding.end_near()
        if self.made and kind == "line" and self.way < LEAST_DRAG * bpy.context.preferences.system.ui_scale:
            remove(match, self.handle)
            return ""
        if not self.made and self.way == 0:
            return ""
        names = {
            "line": "Draw Line" if self.made else "Move Line",
            "point": "Pick Point" if self.made else "Move Point",
        }
        return names.get(kind, f"Move {self.handle.what.replace('_', ' ').title()}")

    def cancel(self, now: Mode, match: Any) -> None:
        """Put everything back."""
        now.dragged = now.hover = None
        finding.end_near()
        if self.made:
            remove(match, self.handle)
        else:
            put(match, self.handle, self.places)
        apply.restore(self.camera)
        apply.redraw()


def begin(context: Any, now: Mode, target: Target, handle: Handle, *, made: bool) -> Drag | None:
    """Begin to drag a handle in a camera view."""
    scene, view = context.scene, target.view
    match = match_of(scene)
    if view is None:
        return None
    places, region = places_of(match, handle), target.region.as_pointer()
    at = [view.region_of(place) for place in places]
    drag = Drag(handle, places, apply.snapshot(scene), made, region, at, target.point)
    now.dragged = now.hover = handle
    now.cursor, now.region = at[-1], region
    finding.begin_near(scene, match)
    choose(match, handle)
    apply.redraw()
    return drag


def push(name: str) -> None:
    """One step of undo."""
    if bpy.context.preferences.edit.use_global_undo:
        bpy.ops.ed.undo_push(message=name)
