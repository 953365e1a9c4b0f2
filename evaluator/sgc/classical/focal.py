# SPDX-License-Identifier: GPL-3.0-or-later
"""The focal length that nothing tells: the one under which pairs of frames fit the motion of a camera best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .flow import Workers
from .two_view import parallax, relative_pose

Matches = tuple[NDArray[np.float64], NDArray[np.float64]]

NARROWEST, WIDEST, CANDIDATES = 3.0, 0.4, 13
"""Focal lengths tried, over the longer side: 19° to 103° across."""
USUAL = 0.85
"""Over the longer side, where nothing tells it: 61° across."""
_POINTS = 400


@dataclass(frozen=True)
class Focal:
    """A first focal length in pixels, and the median parallax in pixels that no rotation explains under any."""

    length: float
    parallax: float


def search(pairs: Sequence[Matches], side: int, threads: Workers) -> Focal:
    """Search over the pairs of a clip; `side` is the longer one of the picture. The usual one where no pair tells."""
    thinned = [
        (first[:: max(1, len(first) // _POINTS)], second[:: max(1, len(first) // _POINTS)]) for first, second in pairs
    ]
    thinned = [pair for pair in thinned if len(pair[0]) >= 8]
    candidates = side * np.geomspace(WIDEST, NARROWEST, CANDIDATES)
    if not thinned:
        return Focal(side * USUAL, 0.0)

    def rotations(length: float) -> float:
        return float(np.median([parallax(*pair, length) for pair in thinned]))

    apart = np.array(threads.map(rotations, candidates[::3]))

    def motions(length: float) -> float:
        found = [relative_pose(*pair, length) for pair in thinned]
        return float(np.mean([view.cost if view else 1.0 for view in found]))

    costs = np.array(threads.map(motions, candidates))
    return Focal(_minimum(candidates, costs), float(apart.min()))


def by_rotation(pairs: Sequence[Matches], side: int, threads: Workers) -> float:
    """The focal length under which rotations alone explain the pairs best."""
    candidates = side * np.geomspace(WIDEST, NARROWEST, CANDIDATES)

    def apart(length: float) -> float:
        return float(np.median([parallax(*pair, length) for pair in pairs]))

    return _minimum(candidates, np.array(threads.map(apart, candidates)))


def _minimum(candidates: NDArray[np.float64], costs: NDArray[np.float64]) -> float:
    """Where a parabola through the least cost and its neighbours, over the logarithm, has its minimum."""
    best = int(costs.argmin())
    if best in (0, len(costs) - 1):
        return float(candidates[best])
    before, here, after = costs[best - 1 : best + 2]
    bend = before - 2 * here + after
    shift = 0.5 * (before - after) / bend if bend > 0 else 0.0
    ratio = candidates[1] / candidates[0]
    return float(candidates[best] * ratio ** np.clip(shift, -0.5, 0.5))
