# SPDX-License-Identifier: GPL-3.0-or-later
"""From what was drawn to a camera, within milliseconds: the evaluator's own functions, which need numpy alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import pi
from typing import Any, Final

import numpy as np

from ....evaluator.camera.core.blender import BlenderCamera, Sensor, focal_of, from_blender, to_blender
from ....evaluator.camera.core.fit import Fit
from ....evaluator.camera.core.least_squares import Slices, whole
from ....evaluator.camera.core.lines import Principal, fitting_lines
from ....evaluator.camera.core.pinhole import Pinhole, rotation_of
from ....evaluator.camera.core.place import NO_LENGTH, Length, place
from ....evaluator.camera.core.points import fitting_points
from ....evaluator.camera.core.vanishing import Lines
from ....evaluator.protocol.errors import BadInputError
from .shots import camera_of, picture_size
from .view import Pair, pixel_of

LEAST_LINE: Final = 2.0
"""Pixels below which a line is none yet."""
NOTHING_DRAWN: Final = "draw two or more lines along each of two axes"
AROUND: Final = rotation_of(np.array([0.0, 0.0, pi]))

Four = tuple[float, float, float, float]
Three = tuple[float, float, float]


@dataclass(frozen=True)
class Asked:
    """All that a camera is found from, in pixels of a picture of `size`."""

    size: tuple[int, int]
    lines: tuple[tuple[str, Four], ...] | None
    """Axis (X, Y, Z or HORIZON) and ends of every line; None where points are asked."""
    points: tuple[tuple[Three, Pair] | None, ...] = ()
    """Where a point is in the scene and in the picture; None for one that is not picked in both."""
    focal: float | None = None
    principal: Principal = None
    turned: bool = False
    origin: Pair = (0.0, 0.0)
    height: float | None = None
    length: Length | None = None


@dataclass(frozen=True, eq=False)
class Solution:
    """A camera, or why there is none."""

    fit: Fit | None = None
    problem: str = ""
    """Why there is no camera, or no position: one line."""
    residuals: tuple[float | None, ...] = ()
    """In pixels, of every line or point; None for those that do not count yet."""
    others: int = 0
    """Cameras that fit the points as well."""
    waiting: tuple[str, ...] = ()
    """What is drawn and does not count yet, and why."""

    @property
    def placed(self) -> bool:
        """Whether there is a camera with a position."""
        return self.fit is not None and self.fit.placed


def asked_of(scene: Any, match: Any) -> Asked:
    """What a match asks for."""
    size = picture_size(scene)
    sensor = sensor_of(camera_of(scene, match.frame))
    focal = focal_of(match.lens, size, sensor) if match.focal == "GIVEN" else None
    principal: Principal = None
    if match.principal == "FREE":
        principal = "free"
    elif match.principal == "GIVEN":
        principal = pixel_of(match.principal_place, size)
    if match.mode == "POINTS":
        points = tuple((tuple(one.world), pixel_of(one.place, size)) if one.has_world else None for one in match.points)
        return Asked(size, None, points, focal, principal)
    lines = tuple((one.axis, (*pixel_of(one.start, size), *pixel_of(one.end, size))) for one in match.lines)
    length = None
    if match.scale == "LENGTH":
        ends = pixel_of(match.length_start, size), pixel_of(match.length_end, size)
        length = Length(*ends, match.length_along, match.length)
    height = match.height if match.scale == "HEIGHT" else None
    return Asked(size, lines, (), focal, principal, match.turned, pixel_of(match.origin, size), height, length)


def sensor_of(camera: Any) -> Sensor:
    """The sensor of a camera object, or Blender's usual one."""
    if camera is None:
        return Sensor()
    data = camera.data
    return Sensor(data.sensor_fit, data.sensor_width, data.sensor_height)


def solve(asked: Asked, near: Pinhole | None = None) -> Solution:
    """The camera that was asked for; `near` is one to start from, and no other is looked for."""
    return whole(solving(asked, near))


def solving(asked: Asked, near: Pinhole | None = None) -> Slices[Solution]:
    """`solve`, letting go every millisecond or so."""
    if asked.lines is not None:
        return (yield from _of_lines(asked, asked.lines))
    return (yield from _of_points(asked, near))


def _of_lines(asked: Asked, lines: tuple[tuple[str, Four], ...]) -> Slices[Solution]:
    sets, horizon, rows, waiting = _sets(lines)
    try:
        fit = yield from fitting_lines(asked.size, sets, horizon=horizon, focal=asked.focal, principal=asked.principal)
    except BadInputError as error:
        nothing: tuple[float | None, ...] = (None,) * len(lines)
        if not sets and horizon is None:
            return Solution(None, "", nothing, 0, (NOTHING_DRAWN, *waiting))
        if len(sets) < 2:  # it is not finished yet, and no fault
            return Solution(None, "", nothing, 0, (str(error), *waiting))
        return Solution(None, str(error), nothing, 0, waiting)
    residuals: list[float | None] = [None] * len(lines)
    for row, index in enumerate(rows):
        residuals[index] = float(np.abs(fit.residuals[row]).max())
    if asked.turned:
        fit = replace(fit, camera=replace(fit.camera, rotation=fit.camera.rotation @ AROUND))
    try:
        return Solution(_placed(fit, asked), "", tuple(residuals), 0, waiting)
    except BadInputError as error:
        return Solution(fit, str(error), tuple(residuals), 0, waiting)


def _sets(lines: tuple[tuple[str, Four], ...]) -> tuple[list[Lines], Four | None, list[int], tuple[str, ...]]:
    """Sets of lines and the horizon; to which line every row of the residuals belongs; and what does not count yet."""
    drawn = [
        (index, axis, ends)
        for index, (axis, ends) in enumerate(lines)
        if np.hypot(ends[2] - ends[0], ends[3] - ends[1]) >= LEAST_LINE
    ]
    sets, rows, waiting = [], list[int](), list[str]()
    for axis in "XYZ":
        own = [(index, ends) for index, which, ends in drawn if which == axis]
        if len(own) > 1:
            sets.append(Lines(axis.lower(), np.array([ends for _, ends in own])))
            rows += [index for index, _ in own]
        elif own:
            waiting.append(f"one line along {axis} does not count yet; draw another one")
    horizons = [(index, ends) for index, which, ends in drawn if which == "HORIZON"]
    if horizons:
        rows.append(horizons[0][0])
    if len(horizons) > 1:
        waiting.append("there is more than one horizon; the first one counts")
    return sets, horizons[0][1] if horizons else None, rows, tuple(waiting)


def _placed(fit: Fit, asked: Asked) -> Fit:
    """The fit with its position. Raises BadInputError."""
    found = place(fit, asked.origin, asked.length)
    return found if asked.height is None else at_height(found, asked.height)


def at_height(fit: Fit, height: float) -> Fit:
    """A placed fit whose camera is at a known height above the ground. Raises BadInputError where it is below it."""
    centre = fit.camera.centre
    if centre[2] <= 1e-6 * float(np.linalg.norm(centre)):
        raise BadInputError("the origin lies above the horizon, so the camera is not above the ground; drag it down")
    to = np.eye(len(fit.parameters))
    to[-3:, -3:] = (np.eye(3) - np.outer(centre / centre[2], (0, 0, 1))) * (height / centre[2])
    return replace(
        fit,
        camera=replace(fit.camera, centre=centre * (height / centre[2])),
        covariance=to @ fit.covariance @ to.T,
        assumed=tuple(text for text in fit.assumed if text != NO_LENGTH),
    )


def _of_points(asked: Asked, near: Pinhole | None) -> Slices[Solution]:
    used = [(index, point) for index, point in enumerate(asked.points) if point is not None]
    waiting = () if len(used) == len(asked.points) else ("points that are not picked in the scene do not count yet",)
    residuals: list[float | None] = [None] * len(asked.points)
    needed = 6 if asked.principal == "free" else 4 if asked.focal is None else 3
    if len(used) < needed:
        more = f"{len(used)} of at least {needed} points are picked; six that do not lie in one plane tell most"
        return Solution(None, "", tuple(residuals), 0, (more, *waiting))
    try:
        found = yield from fitting_points(
            asked.size,
            np.array([world for _, (world, _) in used]).reshape(-1, 3),
            np.array([pixel for _, (_, pixel) in used]).reshape(-1, 2),
            focal=asked.focal,
            principal=asked.principal,
            near=near,
        )
    except BadInputError as error:
        return Solution(None, str(error), tuple(residuals), 0, waiting)
    for (index, _), (x, y) in zip(used, found.best.residuals, strict=True):
        residuals[index] = float(np.hypot(x, y))
    return Solution(found.best, "", tuple(residuals), len(found.others), waiting)


# --- Blender's own camera ---------------------------------------------------------------------------------------------


def blender_of(solution: Solution, camera: Any) -> BlenderCamera:
    """A solution for a camera object's sensor. Raises BadInputError where there is none, or Blender takes none such."""
    if solution.fit is None:
        raise BadInputError(f"no camera was found yet: {solution.problem or '; '.join(solution.waiting)}")
    return to_blender(solution.fit.camera, sensor_of(camera))


def pinhole_of(camera: Any, size: tuple[int, int]) -> Pinhole:
    """A camera object as it stands."""
    data = camera.data
    written = BlenderCamera(
        data.lens, data.shift_x, data.shift_y, sensor_of(camera), np.array(camera.matrix_world.normalized(), np.float64)
    )
    return from_blender(written, size)


def seen_by(scene: Any, match: Any, solution: Solution) -> Pinhole | None:
    """The camera that shapes and horizon are drawn for: the one that was found, else the shot's own."""
    if solution.fit is not None and solution.placed:
        return solution.fit.camera
    camera = camera_of(scene, match.frame)
    return None if camera is None or camera.data.type != "PERSP" else pinhole_of(camera, picture_size(scene))
