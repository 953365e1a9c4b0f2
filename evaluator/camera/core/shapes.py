# SPDX-License-Identifier: GPL-3.0-or-later
"""Outlines of things whose size everybody knows, as a camera sees them: a wrong focal length shows at once."""

from __future__ import annotations

from itertools import pairwise
from typing import Final, Literal

import numpy as np

from ...protocol.errors import BadInputError
from .pinhole import Array, Pinhole, check_numbers, check_positive
from .place import on_ground

Kind = Literal["box", "person"]
NEAR: Final = 1e-3
"""Share of the distance to the shape's foot, or of its size, nearer than which nothing of it is drawn."""
PERSON: Final = np.array(
    # half of a standing person's outline as (across, up) in parts of the height, from the head down to between the feet
    [
        (0.0, 1.0), (0.035, 0.99), (0.05, 0.95), (0.045, 0.9), (0.03, 0.87), (0.035, 0.845), (0.11, 0.82),
        (0.135, 0.78), (0.15, 0.63), (0.155, 0.48), (0.125, 0.47), (0.115, 0.6), (0.1, 0.72), (0.085, 0.6),
        (0.1, 0.5), (0.095, 0.28), (0.07, 0.05), (0.09, 0.0), (0.02, 0.0), (0.02, 0.25), (0.005, 0.46), (0.0, 0.47),
    ]
)  # fmt: skip


def outline(
    camera: Pinhole, pixel: tuple[float, float], kind: Kind, size: tuple[float, float, float], heading: float = 0.0
) -> list[Array]:
    """Polylines (n, 2) in pixels of a shape that stands on the ground (z = 0) at a pixel of the picture.

    `size` is (width, depth, height) in the world's unit; a person takes its height alone and faces the camera. A box
    stands with the middle of its foot there, its width turned by `heading` radians from +x towards +y. Only what is in
    front of the camera is in the polylines; there may be none. Raises BadInputError above the horizon.
    """
    foot = on_ground(camera, check_numbers("pixel", [pixel], 2)[0])
    for value in size if kind == "box" else size[2:]:
        check_positive("size", value)
    if kind == "box":
        lines = _box(size, heading)
    elif kind == "person":
        lines = [_person(camera, foot, size[2])]
    else:
        raise BadInputError(f"shape {kind!r}: has to be box or person")
    near = NEAR * max(float(np.linalg.norm(foot - camera.centre)), *size)
    return [camera.to_pixels(part) for line in lines for part in _in_front(camera.in_camera(line + foot), near)]


def _box(size: tuple[float, float, float], heading: float) -> list[Array]:
    """Its foot, its top and its four edges between them."""
    width, depth, height = size
    cos, sin = float(np.cos(heading)), float(np.sin(heading))
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]) * (width / 2, depth / 2)
    flat = corners @ np.array([[cos, sin], [-sin, cos]])
    foot = np.column_stack([flat, np.zeros(5)])
    top = foot + np.array([0, 0, height])
    return [foot, top, *(np.array([foot[index], top[index]]) for index in range(4))]


def _person(camera: Pinhole, foot: Array, height: float) -> Array:
    """A flat figure that is turned to the camera, as one closed line."""
    away = foot - camera.centre
    across = np.array([away[1], -away[0], 0.0])
    length = float(np.linalg.norm(across))
    across = across / length if length > 1e-12 else np.array([1.0, 0, 0])
    both = np.vstack([PERSON, (PERSON * (-1, 1))[::-1]]) * height
    result: Array = both[:, :1] * across + both[:, 1:] * np.array([0, 0, 1.0])
    return result


def _in_front(line: Array, near: float) -> list[Array]:
    """The parts of a polyline (n, 3) in the camera's axes that lie farther than `near`, cut off there."""
    parts: list[list[Array]] = [[]]
    for a, b in pairwise(line):
        if a[2] < near and b[2] < near:
            continue
        if a[2] < near or b[2] < near:
            cut = a + (b - a) * ((near - a[2]) / (b[2] - a[2]))
            cut[2] = near
            if a[2] < near:
                parts.append([cut, b])
            else:
                parts[-1] = [*(parts[-1] or [a]), cut]
                parts.append([])
            continue
        parts[-1] = [*(parts[-1] or [a]), b]
    return [np.array(part) for part in parts if part]
