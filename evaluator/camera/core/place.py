# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a camera of known orientation stands: from the world's origin in the picture, and a length that is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ...protocol.errors import BadInputError
from .fit import CENTRE, Fit
from .least_squares import numeric_jacobian
from .pinhole import Array, Pinhole, check_numbers, check_positive, rotation_of
from .vanishing import AXES

ASSUMED_DISTANCE = 10.0
"""From the camera to the origin, where no length is known."""
NO_LENGTH = f"the origin is taken to be {ASSUMED_DISTANCE:g} units away: no length is known"


@dataclass(frozen=True)
class Length:
    """A known length between two points of the picture.

    It starts on the ground (z = 0) and runs along an axis of the world, or to another point on the ground.
    """

    start: tuple[float, float]
    """x, y in pixels."""
    end: tuple[float, float]
    along: Literal["x", "y", "z", "ground"]
    length: float
    """In units of the world."""


def place(fit: Fit, origin: tuple[float, float], length: Length | None = None) -> Fit:
    """The fit with its camera so that the world's origin is seen at `origin` (pixels) and `length` has its size.

    The covariance gains the centre's; it heeds that origin and ends are picked as well as the lines. Without a length
    the distance is assumed. Raises BadInputError where the origin or the length tell nothing.
    """
    pixel = check_numbers("origin", [origin], 2)[0]
    picks = [pixel]
    if length is not None:
        if length.along not in (*AXES, "ground"):
            raise BadInputError(f"length along {length.along!r}: has to be x, y, z or ground")
        check_positive("length", length.length)
        picks += list(check_numbers("length", [length.start, length.end], 2))
        if np.hypot(*(picks[2] - picks[1])) < 1e-3:
            raise BadInputError("length: its ends are at the same place in the picture; draw it longer")
    drawn = np.array(picks)
    centre, miss = _centre(fit.camera, drawn, length)
    count = len(fit.parameters)

    def moved(change: Array) -> Array:
        return _centre(_changed(fit, change[:count]), drawn + change[count:].reshape(-1, 2), length)[0]

    scales = np.concatenate([_scales(fit), np.ones(drawn.size)])
    jacobian = numeric_jacobian(lambda change: moved(change * scales), count + drawn.size) / scales
    known = np.zeros((count + drawn.size,) * 2)
    known[:count, :count] = fit.covariance
    known[count:, count:] = np.eye(drawn.size) * fit.sigma_px**2
    to = np.vstack([np.eye(count, count + drawn.size), jacobian])
    notes = list(fit.notes)
    if centre[2] < 0:
        notes.append("The camera stands below the ground: the origin lies above the horizon")
    if miss > 3 * fit.sigma_px:
        along = "" if length is None else length.along
        notes.append(f"The end of the length lies {miss:.1f} px off the direction of {along} from its start")
    return replace(
        fit,
        camera=replace(fit.camera, centre=centre),
        placed=True,
        parameters=(*fit.parameters, *CENTRE),
        covariance=to @ known @ to.T,
        assumed=fit.assumed if length is not None else (*fit.assumed, NO_LENGTH),
        notes=tuple(notes),
    )


def _scales(fit: Fit) -> Array:
    """What a step of 1 means for each parameter: a radian, or a focal length."""
    return np.array([1.0 if name.startswith("rotation") else fit.camera.focal for name in fit.parameters])


def _changed(fit: Fit, change: Array) -> Pinhole:
    """The camera with its parameters changed."""
    values = dict(zip(fit.parameters, change.tolist(), strict=True))
    camera = fit.camera
    return replace(
        camera,
        rotation=rotation_of(change[:3]) @ camera.rotation,
        focal=camera.focal + values.get("focal", 0.0),
        principal=(
            camera.principal[0] + values.get("principal_x", 0.0),
            camera.principal[1] + values.get("principal_y", 0.0),
        ),
    )


def _centre(camera: Pinhole, picks: Array, length: Length | None) -> tuple[Array, float]:
    """The centre (3,), and how far the end lies off its direction in pixels."""
    ray = camera.rays(picks[:1])[0]
    centre = -camera.rotation.T @ (ray / np.linalg.norm(ray))  # at a distance of 1
    if length is None:
        return centre * ASSUMED_DISTANCE, 0.0
    unit = replace(camera, centre=centre)
    start = np.zeros(3) if np.hypot(*(picks[1] - picks[0])) < 1e-9 else on_ground(unit, picks[1])
    if length.along == "ground":
        found, miss = float(np.linalg.norm(on_ground(unit, picks[2]) - start)), 0.0
    else:
        found, miss = _along(unit, start, AXES.index(length.along), picks[2])
    if found < 1e-9:
        raise BadInputError("length: it is seen end on, which tells no scale; draw one across the picture")
    return centre * (length.length / found), miss


def on_ground(camera: Pinhole, pixel: Array, height: float = 0.0) -> Array:
    """The point (3,) of the plane z = `height` that is seen at a pixel (2,). Raises BadInputError where none is."""
    direction = camera.rotation.T @ camera.rays(pixel)[0]
    away = height - float(camera.centre[2])
    if abs(away) <= 1e-6 * float(np.linalg.norm(camera.centre)):
        raise BadInputError("the camera lies on the ground, which it sees as its horizon; check origin and lines")
    # nearly level: the point would lie farther than anything that a picture shows
    if abs(direction[2]) <= 1e-9 * np.linalg.norm(direction) or away / direction[2] <= 0:
        x, y = pixel
        raise BadInputError(f"pixel ({x:g}, {y:g}) is not below the horizon: no ground is seen there; pick another")
    result: Array = camera.centre + direction * (away / direction[2])
    return result


def _along(camera: Pinhole, start: Array, axis: int, pixel: Array) -> tuple[float, float]:
    """How far from `start` along an axis the point lies that is seen nearest to a pixel; and how near, in pixels."""
    base = camera.intrinsics @ camera.in_camera(start[None])[0]
    ahead = camera.intrinsics @ camera.rotation[:, axis]
    line = np.cross(base, ahead)
    slope = float(np.hypot(line[0], line[1]))
    if slope <= 1e-12 * float(np.linalg.norm(base) * np.linalg.norm(ahead)):
        raise BadInputError("length: it is seen end on, which tells no scale; draw one across the picture")
    miss = float(line @ (*pixel, 1.0)) / slope
    foot = pixel - miss * line[:2] / slope
    # (base + s ahead) ∥ (foot, 1): both coordinates at once, as one of them may say nothing
    across = base[:2] - base[2] * foot
    towards = ahead[:2] - ahead[2] * foot
    square = float(towards @ towards)
    if square <= 0:
        raise BadInputError("length: its end lies at infinity along its axis; draw it shorter")
    s = -float(across @ towards) / square
    if base[2] + s * ahead[2] <= 0:
        raise BadInputError("length: its end lies beyond the vanishing point of its axis; draw it shorter")
    return abs(s), abs(miss)
