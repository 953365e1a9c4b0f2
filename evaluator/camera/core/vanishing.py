# SPDX-License-Identifier: GPL-3.0-or-later
"""Vanishing points of drawn lines: where lines that are parallel in space meet in the picture.

The error of a line is how far its ends lie off the line from its middle to the vanishing point (Tardif, ICCV 2009).
Coordinates here are normalised: 0 at the principal point or the picture's middle, 1 at half of its diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...protocol.errors import BadInputError
from .pinhole import Array, check_numbers

AXES: Final = ("x", "y", "z")
INFINITY: Final = 1e-7
"""A vanishing point farther off than the inverse of this, in half diagonals, is at infinity."""


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines of the picture that run along one axis of the world."""

    axis: str
    """`x`, `y` or `z`; `+x` or `-x` (…) says that they recede from the viewer in that direction."""
    segments: Array
    """(n, 4): x, y of one end and of the other in pixels; at least two, not on one line."""

    @property
    def letter(self) -> str:
        """The axis without its sign."""
        return self.axis[-1]

    @property
    def signs(self) -> tuple[int, ...]:
        """The signs with which the lines may recede along the axis."""
        return {"+": (1,), "-": (-1,)}.get(self.axis[0], (1, -1))


def checked(sets: Sequence[Lines]) -> list[Lines]:
    """The sets as arrays of numbers. Raises BadInputError for an axis that is none or taken, and too few lines."""
    result: list[Lines] = []
    for entry in sets:
        if entry.axis.lstrip("+-") not in AXES or len(entry.axis) > 2:
            raise BadInputError(f"axis {entry.axis!r}: has to be x, y or z, or one of them with a sign")
        if entry.letter in [other.letter for other in result]:
            raise BadInputError(f"axis {entry.letter} is given twice; put its lines into one set")
        segments = check_numbers(f"lines of {entry.axis}", entry.segments, 4)
        if len(segments) < 2:
            raise BadInputError(f"lines of {entry.axis}: {len(segments)} line; a vanishing point takes two at least")
        if (np.hypot(*(segments[:, 2:] - segments[:, :2]).T) < 1e-3).any():
            raise BadInputError(f"lines of {entry.axis}: a line has no length; draw it longer")
        result.append(Lines(entry.axis, segments))
    return result


def normalised(segments: Array, centre: tuple[float, float], unit: float) -> tuple[Array, Array]:
    """Middles and first ends (n, 3), homogeneous, of segments (n, 4) in pixels."""
    ends = (segments.reshape(-1, 2, 2) - centre) / unit
    ones = np.ones((len(segments), 1))
    return np.hstack([ends.mean(axis=1), ones]), np.hstack([ends[:, 0], ones])


def errors(point: Array, middles: Array, ends: Array) -> Array:
    """Signed distances (n,) of the ends from the lines through the middles and a vanishing point (3,)."""
    lines = np.cross(middles, point)
    length = np.maximum(np.hypot(lines[:, 0], lines[:, 1]), 1e-12 * np.linalg.norm(point))
    result: Array = (lines * ends).sum(axis=1) / length
    return result


def vanishing_point(lines: Lines, middles: Array, ends: Array) -> Array:
    """The unit vector (3,) of the point that a set's lines run through. Raises BadInputError where all are one line."""
    rows = np.cross(middles, ends)
    weights = 1 / np.hypot(*(ends - middles)[:, :2].T)
    for _ in range(8):
        _, values, right = np.linalg.svd(rows * weights[:, None])
        if values[1] <= 1e-9 * values[0]:
            raise BadInputError(f"lines of {lines.axis}: all lie on one line; draw another one beside it")
        point: Array = right[2]
        through = np.cross(middles, point)
        weights = 1 / np.maximum(np.hypot(through[:, 0], through[:, 1]), 1e-9)
    return point


def is_at_infinity(point: Array) -> bool:
    """Whether the lines that meet in a point (3,) are parallel in the picture."""
    return bool(abs(point[2]) <= INFINITY * np.hypot(point[0], point[1]))


def focal_of_two(a: Lines, b: Lines, points: Sequence[Array]) -> float:
    """Focal length from the vanishing points of two perpendicular directions; the principal point is 0.

    (x₁ x₂ + y₁ y₂) + f² w₁ w₂ = 0. Raises BadInputError where there is none.
    """
    for lines, point in zip((a, b), points, strict=True):
        if is_at_infinity(point):
            raise BadInputError(
                f"lines of {lines.axis} are parallel in the picture: their vanishing point lies at infinity, and "
                "any focal length fits; give the focal length, or choose lines that converge"
            )
    first, second = (point / point[2] for point in points)
    if np.hypot(*(first - second)[:2]) <= INFINITY * max(1.0, np.hypot(*first[:2])):
        raise BadInputError(f"lines of {a.axis} and {b.axis} meet in the same point; they have to run along two axes")
    square = -float(first[:2] @ second[:2])
    if square <= 0:
        raise BadInputError(
            f"focal length is imaginary: the vanishing points of {a.axis} and {b.axis} lie on one side of the "
            "principal point; the lines do not belong to two perpendicular directions, or hardly converge: draw them "
            "anew, or give the focal length"
        )
    return float(np.sqrt(square))


def focal_of_three(sets: Sequence[Lines], points: Sequence[Array]) -> float:
    """Focal length from three vanishing points, the principal point being 0: the equations of all pairs at once.

    Raises BadInputError where there is none.
    """
    finite = [index for index in range(3) if not is_at_infinity(points[index])]
    if len(finite) < 2:
        names = " and ".join(sets[index].axis for index in range(3) if index not in finite)
        raise BadInputError(
            f"lines of {names} are parallel in the picture: any focal length fits; give the focal length, or choose "
            "lines that converge"
        )
    if len(finite) == 2:
        i, j = finite
        return focal_of_two(sets[i], sets[j], [points[i], points[j]])
    pairs = [(points[i], points[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    near = np.array([p[:2] @ q[:2] for p, q in pairs])
    far = np.array([p[2] * q[2] for p, q in pairs])
    square = -float(near @ far) / float(far @ far)
    if square <= 0:
        raise BadInputError(
            "focal length is imaginary: the three vanishing points do not lie around the principal point; the lines do "
            "not belong to perpendicular directions, or the picture is cropped: free the principal point, or give the "
            "focal length"
        )
    return float(np.sqrt(square))


def orthocentre(sets: Sequence[Lines], points: Sequence[Array]) -> Array:
    """The principal point (2,) that three vanishing points have: where the heights of their triangle meet.

    Raises BadInputError where they are no triangle, or one whose focal length is imaginary.
    """
    for lines, point in zip(sets, points, strict=True):
        if is_at_infinity(point):
            raise BadInputError(
                f"lines of {lines.axis} are parallel in the picture: their vanishing point lies at infinity, which "
                "says too little about the principal point; take the picture's middle, or give it"
            )
    a, b, c = (point[:2] / point[2] for point in points)
    sides = np.array([b - a, c - a])
    lengths = np.linalg.norm([b - a, c - b, a - c], axis=1)
    area = abs(float(np.linalg.det(sides)))
    if area <= 1e-9 * float(lengths.max()) ** 2:
        raise BadInputError(
            "the three vanishing points lie on one line; lines along three perpendicular directions never do: check "
            "which lines belong to which axis"
        )
    # (p − a)·(b − c) = 0, (p − b)·(a − c) = 0
    matrix = np.array([b - c, a - c])
    point = np.linalg.solve(matrix, np.array([a @ (b - c), b @ (a - c)]))
    if (a - point) @ (b - point) >= 0:
        raise BadInputError(
            "focal length is imaginary: the triangle of the three vanishing points has an obtuse angle; the lines do "
            "not belong to perpendicular directions: check which lines belong to which axis"
        )
    result: Array = point
    return result


def focal_of_horizon(point: Array, horizon: Array) -> float:
    """Focal length from the vanishing point (3,) of the vertical and the horizon (3,); the principal point is 0.

    The horizon is the vertical's polar: K⁻¹ v ∥ Kᵀ h. Raises BadInputError where there is none.
    """
    a, b, c = horizon
    x, y, w = point
    if is_at_infinity(point) or abs(c) <= INFINITY * np.hypot(a, b):
        raise BadInputError(
            "the camera looks level: the vertical lines are parallel in the picture, or the horizon runs through its "
            "middle, and any focal length fits; give the focal length"
        )
    square = float(c * (x * a + y * b) / (w * (a * a + b * b)))
    if square <= 0:
        raise BadInputError(
            "focal length is imaginary: the horizon and the point in which the vertical lines meet lie on one side of "
            "the principal point; check them, or give the focal length"
        )
    return float(np.sqrt(square))


def horizon_through(ends: Any, centre: tuple[float, float], unit: float) -> tuple[Array, Array]:
    """The line (3,) with a unit normal through two points in pixels (4 numbers), and the points (2, 3), normalised.

    Raises BadInputError where the two are one.
    """
    points = check_numbers("horizon", [ends], 4).reshape(-1, 2)
    if len(points) != 2 or np.hypot(*(points[1] - points[0])) < 1e-3:
        raise BadInputError("horizon: has to be drawn between two different points")
    both = np.column_stack([(points - centre) / unit, np.ones(2)])
    line = np.cross(both[0], both[1])
    return line / np.hypot(line[0], line[1]), both
