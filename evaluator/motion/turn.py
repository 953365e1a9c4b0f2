# SPDX-License-Identifier: GPL-3.0-or-later
"""A camera that turns and zooms where it stands: what explains a picture without any parallax.

Points are (n, 2) float64 pixels from the principal point. A point x of a picture with focal length f is seen at
f eᵍ π(R (x/f, 1)) in one that is turned by R and zoomed by eᵍ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from ..sgc.classical.certainty import COLUMNS, ROWS, part_of

Array = NDArray[np.float64]
Matches = tuple[Array, Array]

WIDEST, NARROWEST, CANDIDATES = 0.4, 8.0, 25
"""Focal lengths that are tried, over the picture's longer side: 103° to 7° across."""
USUAL: Final = 0.85
"""Over the longer side, where nothing tells it: 61° across."""
WORST_SIGMA: Final = 0.3
"""Of the logarithm of a focal length: beyond, it is not known."""

_ITERATIONS = 12
_LEAST_SCALE = 0.3  # pixels of the Cauchy weights
_INDEPENDENT = 0.1  # share of the points whose flow errs for itself: that of neighbours errs alike


@dataclass(frozen=True)
class Turn:
    """How a camera turned (3, 3) and zoomed (logarithm), and how far each point is from that (n,) in pixels."""

    rotation: Array
    log_zoom: float
    distances: Array


def fit_turn(matches: Matches, focal: float, *, zooms: bool = True) -> Turn:
    """The turn, and where it `zooms` the zoom, that explains most of the points, robustly; at least 3 points."""
    first, second = matches
    rays = np.column_stack([first / focal, np.ones(len(first))])
    rotation, log_zoom, scale = np.eye(3), 0.0, 4.0
    for step in range(_ITERATIONS):
        u, v = _projected(rays, rotation)
        length = focal * np.exp(log_zoom)
        residual = second - length * np.column_stack([u, v])
        weight = 1 / (1 + (residual**2).sum(axis=1) / scale**2)
        columns = [np.stack([-u * v, -1 - v * v], 1), np.stack([1 + u * u, u * v], 1), np.stack([-v, u], 1)]
        columns += [np.stack([u, v], 1)] if zooms else []
        jacobian = length * np.stack(columns, axis=2)
        weighted = jacobian * weight[:, None, None]
        normal = np.einsum("nab,nac->bc", weighted, jacobian) + 1e-6 * np.eye(len(columns))
        change = np.linalg.solve(normal, np.einsum("nab,na->b", weighted, residual))
        rotation = np.asarray(cv2.Rodrigues(change[:3])[0], np.float64) @ rotation
        log_zoom += float(np.clip(change[3], -0.3, 0.3)) if zooms else 0.0
        if np.abs(change).max() < 1e-7 and step > 4:
            break
        scale = max(_LEAST_SCALE, scale / 2)
    u, v = _projected(rays, rotation)
    seen = focal * np.exp(log_zoom) * np.column_stack([u, v])
    return Turn(rotation, log_zoom, np.linalg.norm(second - seen, axis=1))


def _projected(rays: Array, rotation: Array) -> tuple[Array, Array]:
    turned = rays @ rotation.T
    z = np.maximum(turned[:, 2], 0.05)
    return turned[:, 0] / z, turned[:, 1] / z


@dataclass(frozen=True)
class TurnFocal:
    """The focal length in pixels under which turns explain some pairs best, and the sigma of its logarithm."""

    length: float
    sigma: float
    """inf where it is not bounded."""


def focal_of_turns(pairs: Sequence[Matches], size: tuple[int, int], *, zooms: bool) -> TurnFocal:
    """Search the focal length that all pairs share, in a picture of `size` (width, height).

    Its sigma is that of the likelihood and, beside it, how far the length changes where one part of the picture after
    the other is left out (the jackknife): what is no pure turn is seldom so everywhere.
    """
    candidates = max(size) * np.geomspace(WIDEST, NARROWEST, CANDIDATES)
    distances = [[fit_turn(pair, focal, zooms=zooms).distances for pair in pairs] for focal in candidates]
    noise = max(0.05, float(np.median(np.concatenate(distances[_best(distances)]))))
    parts = np.concatenate([part_of(first, size) for first, _ in pairs])
    costs = np.array([
        np.bincount(parts, np.log1p((np.concatenate(of_pairs) / (2 * noise)) ** 2), ROWS * COLUMNS)
        for of_pairs in distances
    ])  # fmt: skip
    whole = costs.sum(axis=1)
    best = int(whole.argmin())
    # of the same likelihood within one standard deviation, were each point independent
    excess = 4 * (whole - whole[best]) * _INDEPENDENT
    low, high = _crossing(excess, best, -1), _crossing(excess, best, 1)
    if low is None or high is None:
        return TurnFocal(float(candidates[best]), float("inf"))
    step = float(np.log(candidates[1] / candidates[0]))
    without = np.array([_minimum(whole - part) for part in costs.T if part.any()])
    apart = float(np.sqrt((len(without) - 1) * without.var()))
    place = _minimum(whole)
    return TurnFocal(float(candidates[0] * np.exp(step * place)), step * float(np.hypot((low + high) / 2, apart)))


def _minimum(costs: Array) -> float:
    """Where the costs of the candidates are least, in steps from the first: that of a parabola."""
    best = int(costs.argmin())
    if not 0 < best < len(costs) - 1:
        return float(best)
    before, here, after = costs[best - 1 : best + 2]
    bend = before - 2 * here + after
    return best + (float(np.clip(0.5 * (before - after) / bend, -0.5, 0.5)) if bend > 0 else 0.0)


def _best(distances: Sequence[Sequence[Array]]) -> int:
    return int(np.argmin([float(np.median(np.concatenate(list(of_pairs)))) for of_pairs in distances]))


def _crossing(excess: Array, best: int, way: int) -> float | None:
    """Steps from the best candidate to where the excess passes 1, None where it never does."""
    place = best
    while 0 <= place + way < len(excess):
        inner, outer = excess[place], excess[place + way]
        if outer >= 1:
            return abs(place - best) + float((1 - inner) / max(outer - inner, 1e-12))
        place += way
    return None
