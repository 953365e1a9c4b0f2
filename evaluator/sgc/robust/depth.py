# SPDX-License-Identifier: GPL-3.0-or-later
"""The depth term: surfaces carried into the next frame against the depth that is there, hidden ones left out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..poses import Pose
from ..records import PairGeometry
from .points import NEAR, Floats, pixels, project, rays, sample_depth
from .settings import RobustSettings

MOST_POINTS = 60_000
LARGEST_ERROR = 1.0
"""A surface whose depth is off by a factor of e or more counts as that: edges shall not decide a mean."""


@dataclass(frozen=True)
class DepthErrors:
    """|log(z_warped / z)| (n,) of points at (n, 2) pixel coordinates of the previous frame."""

    places: NDArray[np.intp]
    errors: Floats


def depth_errors(
    pair: PairGeometry,
    previous_depth: NDArray[np.float32],
    depth: NDArray[np.float32],
    motion: Pose,
    unit: float,
    settings: RobustSettings,
) -> DepthErrors:
    """Errors of a grid of static surface points of the previous frame that the current one has to show.

    A point is left out where it leaves the picture, where another one lands on its pixel that is nearer (it is hidden),
    where it lands on sky's, a moving thing's or no depth, or on an edge of depth, and where an estimator says that it
    does not know the depth. What should be seen and is not at its depth counts, whichever of the two is nearer.
    """
    height, width = depth.shape
    step = max(1, math.ceil(math.sqrt(height * width / MOST_POINTS)))
    rows, columns = (grid.ravel() for grid in np.mgrid[0:height:step, 0:width:step])
    usable = (previous_depth[rows, columns] > 0) & ~pair.previous.moving[rows, columns]
    usable &= sample_depth(previous_depth, np.stack([columns, rows], axis=1).astype(np.float64), settings.edge) > 0
    if pair.previous.depth_sigma is not None:
        usable &= pair.previous.depth_sigma[rows, columns] < settings.maximum_depth_sigma
    # everything lands, what cannot be compared too: it may hide
    lands = previous_depth[rows, columns] > 0
    rows, columns, usable = rows[lands], columns[lands], usable[lands]
    z = previous_depth[rows, columns].astype(np.float64)
    start = np.stack([columns, rows], axis=1)
    moved = (
        rays(start.astype(np.float64), pair.previous.intrinsics) * z[:, None]
    ) @ motion.rotation.T + motion.translation
    end = project(moved, pair.current.intrinsics, NEAR * unit)
    row, column, inside = pixels(end, depth.shape)
    nearest = np.full((-(-height // step), -(-width // step)), np.inf)
    cell = (row // step, column // step)
    np.minimum.at(nearest, (cell[0][inside], cell[1][inside]), moved[inside, 2])
    seen = inside & usable & (moved[:, 2] <= nearest[cell] * (1 + settings.occlusion))
    seen &= ~(pair.current.moving[row, column] | pair.current.sky[row, column])
    if pair.current.depth_sigma is not None:
        seen &= pair.current.depth_sigma[row, column] < settings.maximum_depth_sigma
    end[~inside] = -1
    there = sample_depth(depth, end, settings.edge)
    seen &= there > 0
    errors = np.abs(np.log(moved[seen, 2] / there[seen]))
    return DepthErrors(start[seen], np.minimum(errors, LARGEST_ERROR))
