# SPDX-License-Identifier: GPL-3.0-or-later
"""The five components of one pair of frames (SGC, section 3.4), as the authors' code computes them.

NaN stands for a component that the authors' code leaves undefined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from .poses import MINIMUM_DEPTH, Pose

_BLOCK_ROWS = 16
"""Rows that are warped at once: few enough that the arrays between stay in the processor's cache."""


def angular_distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Angle between two rotations (3, 3) in degrees; infinite where one is none (its determinant is not 1 ± 0.01)."""
    if abs(np.linalg.det(first) - 1) > 1e-2 or abs(np.linalg.det(second) - 1) > 1e-2:
        return math.inf
    cosine = (np.trace(first.T @ second) - 1) / 2
    return math.degrees(math.acos(min(max(cosine, -1.0), 1.0)))


def local_consistency(poses: Sequence[Pose]) -> tuple[float, float]:
    """Spread of the regions' poses about their mean: rotation in deg² (equation 3), translation in units² (equation 4).

    The mean rotation is the exponential of the mean rotation vector. A single region gives (0, 0), none (NaN, NaN).
    """
    if not poses:
        return math.nan, math.nan
    if len(poses) < 2:
        return 0.0, 0.0
    rotations = np.stack([pose.rotation for pose in poses])
    mean_rotation = Rotation.from_rotvec(Rotation.from_matrix(rotations).as_rotvec().mean(axis=0)).as_matrix()
    squares = [angular_distance(rotation, mean_rotation) ** 2 for rotation in rotations]
    translations = np.stack([pose.translation for pose in poses])
    offsets = translations - translations.mean(axis=0)
    return _mean([square for square in squares if math.isfinite(square)]), _mean((offsets**2).sum(axis=1))


def global_consistency(poses: Sequence[Pose], reference: Pose, *, keep_small: bool = False) -> tuple[float, float]:
    """Spread of the regions' poses about the global one: rotation in deg² (equation 5), translation in units² (6).

    The squared angles are trimmed (`trim_outliers`) before their mean is taken, the squared distances are not.
    """
    squares = [angular_distance(pose.rotation, reference.rotation) ** 2 for pose in poses]
    kept = trim_outliers(np.array([square for square in squares if math.isfinite(square)]), keep_small=keep_small)
    distances = [float(((pose.translation - reference.translation) ** 2).sum()) for pose in poses]
    return _mean(kept), _mean(distances)


def trim_outliers(
    values: NDArray[np.float64], coverage: float = 98.0, *, keep_small: bool = False
) -> NDArray[np.float64]:
    """The `values` (n,) between q1 − k·IQR and q3 + k·IQR; k makes the upper bound their `coverage` percentile.

    It always drops the largest value. With one or two values, or where the quartiles are equal, it drops everything:
    the global rotational variance of such a pair is undefined. With `keep_small` it then drops nothing.
    """
    if values.size == 0:
        return values
    untrimmed = values if keep_small else values[:0]
    q1, q3, upper_percentile = np.percentile(values, [25, 75, coverage])
    spread = q3 - q1
    if spread == 0:
        return untrimmed
    k = (upper_percentile - q3) / spread
    kept: NDArray[np.float64] = values[(values >= q1 - k * spread) & (values <= q3 + k * spread)]
    return kept if kept.size else untrimmed


def depth_consistency(
    previous_depth: NDArray[np.float32],
    depth: NDArray[np.float32],
    static: NDArray[np.bool_],
    previous_intrinsics: NDArray[np.float64],
    intrinsics: NDArray[np.float64],
    motion: Pose,
    *,
    nearest: bool = False,
) -> float:
    """Mean |difference|, in depth units, of the previous depth carried into the current frame and the current depth.

    Over static pixels of the current frame where both are valid (equation 7); NaN where there is none. `nearest`: see
    `warp_depth`.
    """
    warped = warp_depth(previous_depth, depth.shape, previous_intrinsics, intrinsics, motion, nearest=nearest)
    valid = (warped > MINIMUM_DEPTH) & (depth > MINIMUM_DEPTH) & static
    return _mean(np.abs(warped[valid] - depth[valid]))


def warp_depth(
    depth: NDArray[np.float32],
    shape: tuple[int, ...],
    intrinsics: NDArray[np.float64],
    target_intrinsics: NDArray[np.float64],
    motion: Pose,
    *,
    nearest: bool = False,
) -> NDArray[np.float32]:
    """Depth (H, W) seen from the moved camera as `shape`, 0 where nothing lands: every pixel goes to its nearest pixel.

    Where several land on one pixel the farthest stays, as in the authors' code (see docs/sgc.md), or the `nearest`.
    """
    projection = target_intrinsics @ motion.rotation @ np.linalg.inv(intrinsics)
    shift = target_intrinsics @ motion.translation
    height, width = shape
    warped = np.full(height * width, np.inf if nearest else 0.0, dtype=np.float32)
    columns = np.arange(depth.shape[1], dtype=np.float64)
    along_row = projection[:, :1] * columns + projection[:, 2:]
    for first in range(0, len(depth), _BLOCK_ROWS):
        block = depth[first : first + _BLOCK_ROWS]
        rows = np.arange(first, first + len(block), dtype=np.float64)[:, None]
        u, v, z = ((along_row[axis] + projection[axis, 1] * rows) * block + shift[axis] for axis in range(3))
        seen = (block > MINIMUM_DEPTH) & (z > MINIMUM_DEPTH)
        np.copyto(z, 1.0, where=~seen)
        for pixel in (u, v):
            pixel /= z
            np.rint(pixel, out=pixel)
        seen &= (u >= 0) & (u < width) & (v >= 0) & (v < height)
        landing = (v * width + u)[seen].astype(np.intp)
        (np.minimum if nearest else np.maximum).at(warped, landing, z[seen].astype(np.float32))
    if nearest:
        warped[np.isinf(warped)] = 0
    return warped.reshape(shape)


def _mean(values: NDArray[np.floating] | Sequence[float]) -> float:
    return float(np.mean(values, dtype=np.float64)) if len(values) else math.nan
