# SPDX-License-Identifier: GPL-3.0-or-later
"""Inverse depth from flow to frames with known poses, in closed form, with its standard deviation.

A pixel x of inverse depth ρ is seen at q = π(R x + ρ t). Both rows of q (R x + ρ t)_z = (R x + ρ t)_{x,y} are linear in
ρ; divided by the depth there they are the reprojection error. Weights are found again after each solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_NEAREST = 0.05
_ROUNDS = 3


@dataclass(frozen=True)
class View:
    """Another frame: `motion` (4, 4) from this camera to it, `seen` (n, 2) normalised coordinates, `weights` (n,)."""

    motion: NDArray[np.float64]
    seen: NDArray[np.float32]
    weights: NDArray[np.float32]
    later: bool = True


@dataclass(frozen=True)
class InverseDepth:
    """All (n,), in normalised coordinates.

    The inverse depth, which may be negative where it is not determined; `information`, whose inverse root is its
    standard deviation for an error of 1; the mean residuals towards earlier and later frames, nan where there is none.
    """

    values: NDArray[np.float32]
    information: NDArray[np.float32]
    earlier: NDArray[np.float32]
    later: NDArray[np.float32]


def inverse_depth(rays: NDArray[np.float32], views: Sequence[View], scale: float) -> InverseDepth:
    """Inverse depth along rays (n, 2), normalised coordinates; `scale` is that of the Cauchy weights, normalised."""
    count = len(rays)
    x, y = np.ascontiguousarray(rays[:, 0]), np.ascontiguousarray(rays[:, 1])
    lines = [_line(x, y, view) for view in views]
    values = np.zeros(count, np.float32)
    information = np.zeros(count, np.float32)
    for turn in range(_ROUNDS):
        top, information = np.zeros(count, np.float32), np.zeros(count, np.float32)
        for line, view in zip(lines, views, strict=True):
            z = np.maximum(line.z + values * line.dz, np.float32(_NEAREST))
            weight = view.weights / (z * z)
            if turn:
                weight /= 1 + line.squared(values) / (z * z * np.float32(scale**2))
            top += weight * line.slope_by_offset
            information += weight * line.slope_squared
        values = (top / np.maximum(information, np.float32(1e-12))).astype(np.float32)
    sums = {later: [np.zeros(count, np.float32), np.zeros(count, np.float32)] for later in (False, True)}
    for line, view in zip(lines, views, strict=True):
        z = np.maximum(line.z + values * line.dz, np.float32(_NEAREST))
        used = view.weights > 0
        sums[view.later][0] += np.where(used, np.sqrt(line.squared(values)) / z, 0)
        sums[view.later][1] += used
    with np.errstate(invalid="ignore", divide="ignore"):
        earlier, later = (total / number for total, number in (sums[False], sums[True]))
    return InverseDepth(values, information, earlier, later)


@dataclass(frozen=True)
class _Line:
    """Reprojection of one view: slope · ρ = offset in two rows, and the depth there, z + ρ dz."""

    slope_squared: NDArray[np.float32]
    slope_by_offset: NDArray[np.float32]
    offset_squared: NDArray[np.float32]
    z: NDArray[np.float32]
    dz: np.float32

    def squared(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Squared length of slope · ρ − offset."""
        length = (self.slope_squared * values - 2 * self.slope_by_offset) * values + self.offset_squared
        return np.asarray(np.maximum(length, 0), np.float32)


def _line(x: NDArray[np.float32], y: NDArray[np.float32], view: View) -> _Line:
    turn, shift = view.motion[:3, :3].astype(np.float32), view.motion[:3, 3].astype(np.float32)
    seen_x, seen_y = np.ascontiguousarray(view.seen[:, 0]), np.ascontiguousarray(view.seen[:, 1])
    z = turn[2, 0] * x + turn[2, 1] * y + turn[2, 2]
    slope_x, slope_y = shift[0] - seen_x * shift[2], shift[1] - seen_y * shift[2]
    offset_x = seen_x * z - (turn[0, 0] * x + turn[0, 1] * y + turn[0, 2])
    offset_y = seen_y * z - (turn[1, 0] * x + turn[1, 1] * y + turn[1, 2])
    return _Line(
        slope_x * slope_x + slope_y * slope_y,
        slope_x * offset_x + slope_y * offset_y,
        offset_x * offset_x + offset_y * offset_y,
        z,
        shift[2],
    )
