# SPDX-License-Identifier: GPL-3.0-or-later
"""What is drawn over the camera view: lines and points with what they miss by, horizon, axes and shapes of known size.

In other 3D views the places of the points in the scene are shown while points are picked.
"""

from __future__ import annotations

from math import hypot
from typing import Any, Final

import bpy
import numpy as np

from ....evaluator.camera.core.pinhole import Array, Pinhole
from ....evaluator.camera.core.shapes import outline
from ....evaluator.protocol.errors import BadInputError
from . import mode, paint
from .finding import solution_of
from .handles import Handle
from .paint import Colour
from .scene_points import to_region
from .shots import frame_of, match_of, picture_size, shown_view
from .solve import Solution, seen_by
from .view import CameraView, Pair, pixel_of, region_of_pixel

WHITE: Final = (1.0, 1.0, 1.0, 0.95)
GREY: Final = (0.8, 0.8, 0.8, 0.7)
POINT: Final = (1.0, 0.8, 0.2, 1.0)
LENGTH: Final = (0.95, 0.45, 0.95, 1.0)
SHAPE: Final = (0.55, 0.9, 1.0, 0.95)
HORIZON: Final = (1.0, 0.75, 0.35, 0.9)
BAD: Final = (1.0, 0.35, 0.3, 1.0)
FAR: Final = 6.0
"""Half diagonals of the picture beyond which nothing is drawn."""
LOUPE: Final = 70.0
ZOOM: Final = 4

_handle: Any = None


class _Canvas:
    """One region that is drawn."""

    def __init__(self, context: Any, view: CameraView | None) -> None:
        self.context, self.view = context, view
        self.scene = context.scene
        self.size = picture_size(self.scene)
        self.scale = float(context.preferences.system.ui_scale)
        self.font = 11.0 * self.scale
        self.now = mode.current()
        theme = context.preferences.themes[0].user_interface
        self.axes: dict[str, Colour] = {
            letter: (*getattr(theme, f"axis_{letter.lower()}"), 1.0) for letter in "XYZ"
        } | {"HORIZON": HORIZON}  # fmt: skip

    @property
    def region(self) -> tuple[int, int]:
        return self.context.region.width, self.context.region.height

    def of_pixels(self, pixels: Array) -> list[Pair]:
        """Pixels (n, 2) of the picture in the region."""
        assert self.view is not None
        return [region_of_pixel(self.view, (float(x), float(y)), self.size) for x, y in pixels]

    def holds(self, handle: Handle) -> bool:
        """Whether a handle lies under the mouse, or is dragged."""
        return self.now is not None and handle in (self.now.hover, self.now.dragged)


def draw() -> None:
    """Called by Blender after everything else in a 3D view was drawn."""
    context = bpy.context
    scene, space = context.scene, context.space_data
    if scene is None or getattr(scene, "matchcut", None) is None:
        return
    now, match = mode.current(), match_of(scene)
    if match is None or not (now is not None or (scene.matchcut.match_camera.show and space.overlay.show_overlays)):
        return
    view = shown_view(scene, space, context.region)
    canvas = _Canvas(context, view)
    if view is None:
        if now is not None and now.kind == "POINTS":
            _scene_places(canvas, match)
        return
    if match.frame != frame_of(scene):
        return  # it was drawn on another frame's picture, and the camera may have moved
    solution = solution_of(scene, match)
    _solved(canvas, match, solution)
    _shapes(canvas, match, solution)
    if match.mode == "LINES":
        _lines(canvas, match, solution)
    else:
        _points(canvas, match, solution)
        _scene_places(canvas, match)
    if match.principal == "GIVEN":
        _dot(canvas, Handle("match", 0, "principal_place"), match.principal_place, WHITE, "Principal Point")
    if now is not None and now.dragged is not None and now.region == context.region.as_pointer():
        _loupe(canvas, now.cursor)


# --- lines ------------------------------------------------------------------------------------------------------------


def _lines(canvas: _Canvas, match: Any, solution: Solution) -> None:
    view, scale = canvas.view, canvas.scale
    assert view is not None
    for index, line in enumerate(match.lines):
        ends = [view.region_of(tuple(line.start)), view.region_of(tuple(line.end))]
        colour = canvas.axes[line.axis]
        if solution.fit is not None and line.axis != "HORIZON":
            _towards(canvas, solution.fit.camera, line, ends, colour)
        chosen = index == match.active_line
        width = 3.0 if canvas.holds(Handle("line", index, "both")) else 2.2 if chosen else 1.6
        paint.outlined([ends], colour, width * scale)
        for part, end in zip(("start", "end"), ends, strict=True):
            if canvas.now is not None and canvas.now.dragged != Handle("line", index, part):
                held = canvas.holds(Handle("line", index, part))
                paint.ring(end, (7.0 if held else 5.0) * scale, WHITE if held else colour, 1.5 * scale)
        missed = solution.residuals[index] if index < len(solution.residuals) else None
        if missed is not None and (chosen or canvas.now is not None):
            middle = (ends[0][0] + ends[1][0]) / 2 + 6 * scale, (ends[0][1] + ends[1][1]) / 2 + 6 * scale
            paint.words(f"{missed:.1f} px", middle, colour, canvas.font)
    _dot(canvas, Handle("match", 0, "origin"), match.origin, WHITE, "Origin")
    if match.scale == "LENGTH":
        places = [view.region_of(tuple(place)) for place in (match.length_start, match.length_end)]
        paint.outlined([places], LENGTH, 1.6 * scale)
        for name, place in (("length_start", match.length_start), ("length_end", match.length_end)):
            _dot(canvas, Handle("match", 0, name), place, LENGTH, "Ground" if name == "length_start" else "")


def _towards(canvas: _Canvas, camera: Pinhole, line: Any, ends: list[Pair], colour: Colour) -> None:
    """A faint line from the middle of a drawn one to where the found camera has it vanish."""
    point = camera.intrinsics @ camera.rotation[:, "XYZ".index(line.axis)]
    middle = np.mean([pixel_of(tuple(line.start), canvas.size), pixel_of(tuple(line.end), canvas.size)], axis=0)
    way = point[:2] - point[2] * middle  # towards it, also where it lies at infinity
    length = float(np.hypot(*way))
    if length < 1e-9:
        return
    whole = FAR * float(np.hypot(*canvas.size)) / 2
    away = min(whole, length / abs(point[2])) if abs(point[2]) > 1e-12 else whole
    goal = middle + way / length * away * (1.0 if point[2] >= 0 else -1.0)
    (end,) = canvas.of_pixels(goal[None])
    start = min(ends, key=lambda one: hypot(one[0] - end[0], one[1] - end[1]))
    paint.strips([[start, end]], (*colour[:3], 0.35), canvas.scale)


def _dot(canvas: _Canvas, handle: Handle, place: Any, colour: Colour, name: str) -> None:
    """A handle that is one place."""
    assert canvas.view is not None
    if canvas.now is None:
        return
    at, held = canvas.view.region_of(tuple(place)), canvas.holds(handle)
    if canvas.now.dragged == handle:  # the loupe shows what lies under it
        return
    paint.cross(at, (11.0 if held else 8.0) * canvas.scale, colour, 1.4 * canvas.scale, gap=2.0 * canvas.scale)
    paint.ring(at, (7.0 if held else 5.0) * canvas.scale, colour, 1.2 * canvas.scale)
    if name:
        paint.words(name, (at[0] + 10 * canvas.scale, at[1] - 14 * canvas.scale), colour, canvas.font)


# --- points -----------------------------------------------------------------------------------------------------------


def _points(canvas: _Canvas, match: Any, solution: Solution) -> None:
    view, scale = canvas.view, canvas.scale
    assert view is not None
    for index, point in enumerate(match.points):
        at = view.region_of(tuple(point.place))
        waits = not point.has_world
        chosen = index == match.active_point
        colour: Colour = WHITE if canvas.holds(Handle("point", index, "place")) else GREY if waits else POINT
        if canvas.now is None or canvas.now.dragged != Handle("point", index, "place"):
            paint.cross(at, (12 if chosen else 9) * scale, colour, (1.8 if chosen else 1.3) * scale, gap=3 * scale)
        text = f"{index + 1}"
        if solution.fit is not None and point.has_world:
            (found,) = solution.fit.camera.project(np.array([tuple(point.world)]))
            if np.isfinite(found).all():
                (goal,) = canvas.of_pixels(found[None])
                paint.strips([[at, goal]], BAD, 1.5 * scale)
                paint.ring(goal, 3.5 * scale, BAD, 1.2 * scale)
            missed = solution.residuals[index] if index < len(solution.residuals) else None
            text += "" if missed is None else f"  {missed:.1f} px"
        paint.words(text, (at[0] + 12 * scale, at[1] + 8 * scale), colour, canvas.font)


def _scene_places(canvas: _Canvas, match: Any) -> None:
    """Where the points are in the scene as this view shows it, and what is under the mouse."""
    now, scale = canvas.now, canvas.scale
    if now is None or now.kind != "POINTS":
        return
    matrix = canvas.context.region_data.perspective_matrix
    known = [(index, tuple(point.world)) for index, point in enumerate(match.points) if point.has_world]
    if known and canvas.view is None:
        seen = to_region(np.array([world for _, world in known]), matrix, canvas.region)
        for (index, _), at in zip(known, seen, strict=True):
            if np.isfinite(at).all():
                paint.disc((float(at[0]), float(at[1])), 4 * scale, POINT)
                paint.words(f"{index + 1}", (float(at[0]) + 7 * scale, float(at[1]) + 5 * scale), POINT, canvas.font)
    under = now.place
    if under is not None and now.places is not None and now.region == canvas.context.region.as_pointer():
        (at,) = to_region(now.places.world[under : under + 1], matrix, canvas.region)
        if np.isfinite(at).all():
            place = float(at[0]), float(at[1])
            paint.ring(place, 7 * scale, WHITE, 1.6 * scale)
            paint.words(now.places.name_of(under), (place[0] + 11 * scale, place[1] + 9 * scale), WHITE, canvas.font)


# --- what was found ---------------------------------------------------------------------------------------------------


def _solved(canvas: _Canvas, match: Any, solution: Solution) -> None:
    """The horizon and the axes at the origin."""
    if solution.fit is None:
        return
    camera = solution.fit.camera
    _horizon(canvas, camera)
    if not solution.placed:
        return
    reach = 0.12 * float(np.linalg.norm(camera.centre))
    for index, letter in enumerate("XYZ"):
        tip = np.zeros(3)
        tip[index] = reach
        pixels = camera.project(np.array([np.zeros(3), tip]))
        if np.isfinite(pixels).all() and np.abs(pixels).max() < FAR * max(canvas.size):
            start, end = canvas.of_pixels(pixels)
            paint.outlined([[start, end]], canvas.axes[letter], 2.4 * canvas.scale)
            paint.words(letter, (end[0] + 4 * canvas.scale, end[1]), canvas.axes[letter], canvas.font)


def _horizon(canvas: _Canvas, camera: Pinhole) -> None:
    a, b, c = np.linalg.solve(camera.intrinsics.T, camera.rotation[:, 2])
    square = a * a + b * b
    if square < 1e-18:
        return
    middle = np.array(camera.principal)
    foot = middle - np.array([a, b]) * (a * middle[0] + b * middle[1] + c) / square
    along = np.array([b, -a]) / np.sqrt(square)
    reach = 1.5 * float(np.hypot(*canvas.size))
    if float(np.hypot(*(foot - middle))) > FAR * reach:
        return
    start, end = canvas.of_pixels(np.array([foot - reach * along, foot + reach * along]))
    paint.dashed(start, end, HORIZON, 1.4 * canvas.scale, 7 * canvas.scale)


def _shapes(canvas: _Canvas, match: Any, solution: Solution) -> None:
    """Outlines of people and things, as the camera sees them where they stand."""
    camera = seen_by(canvas.scene, match, solution)
    for index, shape in enumerate(match.shapes):
        handle = Handle("shape", index, "place")
        colour: Colour = WHITE if canvas.holds(handle) else SHAPE
        try:
            lines = [] if camera is None else outline(
                camera, pixel_of(tuple(shape.place), canvas.size), "person" if shape.kind == "PERSON" else "box",
                tuple(shape.size), float(shape.heading),
            )  # fmt: skip
        except BadInputError:  # above the horizon there is no ground to stand on
            lines, colour = [], BAD
        near = FAR * max(canvas.size)
        shown = [canvas.of_pixels(line) for line in lines if np.isfinite(line).all() and np.abs(line).max() < near]
        paint.outlined(shown, colour, (2.2 if index == match.active_shape else 1.5) * canvas.scale)
        _dot(canvas, handle, shape.place, colour, "No Ground Here" if colour == BAD else "")


def _loupe(canvas: _Canvas, at: Pair) -> None:
    """What is under the end that is dragged, enlarged beside it."""
    radius, width, height = LOUPE * canvas.scale, *canvas.region
    left = at[0] > width / 2
    where = at[0] + (-1 if left else 1) * 2 * radius, min(max(at[1] + 1.4 * radius, radius), height - 2 * radius)
    paint.loupe(at, where, (width, height), radius, ZOOM)
    paint.cross(at, 14 * canvas.scale, WHITE, 1.0 * canvas.scale, gap=4 * canvas.scale)


def register() -> None:
    """Draw over every 3D view of a window."""
    global _handle  # noqa: PLW0603
    if not bpy.app.background:
        _handle = bpy.types.SpaceView3D.draw_handler_add(draw, (), "WINDOW", "POST_PIXEL")


def unregister() -> None:
    """Draw no more."""
    global _handle  # noqa: PLW0603
    if _handle is not None:
        bpy.types.SpaceView3D.draw_handler_remove(_handle, "WINDOW")
        _handle = None
