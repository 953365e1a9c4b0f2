# SPDX-License-Identifier: GPL-3.0-or-later
"""Camera motion between two frames: the global one from the estimated poses, a local one from each depth region."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from .records import Tracks

MINIMUM_DEPTH = 1e-5
"""A depth at or below it is invalid (authors' code)."""
LARGEST = 1e30
"""Nothing of a camera is larger, so that sums of squares and their products stay numbers."""


@dataclass(frozen=True)
class Pose:
    """Takes points from the previous camera to the current one: x_i = R x_{i−1} + t, with R (3, 3) and t (3,)."""

    rotation: NDArray[np.float64]
    translation: NDArray[np.float64]


@dataclass(frozen=True)
class PnpSettings:
    """How a region's pose is estimated; the values are those of SGC (appendix C.3, table 3) and of its code."""

    minimum_points: int = 4
    iterations: int = 100
    reprojection_error: float = 8.0
    confidence: float = 0.99
    minimum_inlier_share: float = 0.3
    reject_mirrored: bool = False
    """Drop a pose that turns by more than 90°, which no camera does from one frame to the next."""


def within_measure(camera: NDArray[np.float64]) -> bool:
    """Whether all of a camera's matrix (of any shape) is finite and not absurdly large."""
    return bool((np.abs(camera) <= LARGEST).all())  # not so for NaN either


def relative_pose(previous_world_to_camera: NDArray[np.float64], world_to_camera: NDArray[np.float64]) -> Pose:
    """Motion of the camera between two world-to-camera matrices (4, 4), with its rotation made orthonormal."""
    before, after = _orthonormal(previous_world_to_camera[:3, :3]), _orthonormal(world_to_camera[:3, :3])
    rotation = after @ before.T
    translation = world_to_camera[:3, 3] - rotation @ previous_world_to_camera[:3, 3]
    return Pose(_orthonormal(rotation), translation)


def back_project(
    points: NDArray[np.float32], depth: NDArray[np.float32], intrinsics: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Points (m, 3) in the camera's axes under pixel coordinates (n, 2), and which of the n had a valid depth.

    The depth is that of the pixel at the truncated coordinates, clipped to the image, as in the authors' code.
    """
    z = depth[pixel_index(points, depth.shape)].astype(np.float64)
    valid = z > MINIMUM_DEPTH
    x = (points[:, 0] - intrinsics[0, 2]) * z / intrinsics[0, 0]
    y = (points[:, 1] - intrinsics[1, 2]) * z / intrinsics[1, 1]
    return np.stack([x, y, z], axis=1)[valid], valid


def pixel_index(points: NDArray[np.float32], shape: tuple[int, ...]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Row and column of pixel coordinates (n, 2), truncated and clipped to an image of `shape` (H, W)."""
    # clipped before the conversion too, so that a coordinate beyond the integers cannot wrap around
    columns = np.clip(points[:, 0], 0, shape[1] - 1).astype(np.intp)
    rows = np.clip(points[:, 1], 0, shape[0] - 1).astype(np.intp)
    return rows, columns


def local_poses(
    tracks: Tracks,
    previous_depth: NDArray[np.float32],
    previous_intrinsics: NDArray[np.float64],
    intrinsics: NDArray[np.float64],
    regions: NDArray[np.int32],
    settings: PnpSettings,
    guess: Pose | None = None,
) -> list[Pose]:
    """Poses of the depth regions (H, W; 1 … n, 0 = none) of the current frame that were accepted, by region number.

    A track belongs to the region under its current position; its point in space comes from the previous frame's depth,
    unmasked. A pose is accepted where RANSAC succeeds with enough inliers. Source: SGC, algorithm 1, lines 12 to 14;
    as in the authors' code, the final refinement starts from nothing, unless a `guess` is given, and mirrored solutions
    are accepted, unless the settings reject them.
    """
    previous, current = tracks.previous.astype(np.float32), tracks.current.astype(np.float32)
    points, valid = back_project(previous, previous_depth, previous_intrinsics)
    current = current[valid]
    numbers = regions[pixel_index(current, regions.shape)]
    poses = (
        _region_pose(points[numbers == number], current[numbers == number], intrinsics, settings, guess)
        for number in range(1, int(regions.max(initial=0)) + 1)
    )
    return [pose for pose in poses if pose is not None]


def _region_pose(
    points: NDArray[np.float64],
    pixels: NDArray[np.float32],
    intrinsics: NDArray[np.float64],
    settings: PnpSettings,
    guess: Pose | None,
) -> Pose | None:
    """Pose of one region from points (n, 3) of the previous camera and their pixels (n, 2) in the current frame."""
    if len(points) < settings.minimum_points:
        return None
    start: dict[str, Any] = {}
    if guess is not None:
        vector, _ = cv2.Rodrigues(guess.rotation)
        start = {"rvec": vector, "tvec": guess.translation.reshape(3, 1).copy(), "useExtrinsicGuess": True}
    try:
        # OpenCV seeds RANSAC's random numbers afresh in every call: the same points give the same pose
        success, vector, translation, inliers = cv2.solvePnPRansac(
            points.astype(np.float32).reshape(-1, 1, 3),
            pixels.reshape(-1, 1, 2),
            intrinsics,
            None,
            iterationsCount=settings.iterations,
            reprojectionError=settings.reprojection_error,
            confidence=settings.confidence,
            flags=cv2.SOLVEPNP_ITERATIVE,
            **start,
        )
    except cv2.error:
        return None  # points so degenerate that OpenCV refuses them; the authors' code drops the region too
    needed = max(settings.minimum_points, int(settings.minimum_inlier_share * len(points)))
    if not success or inliers is None or len(inliers) < needed:
        return None
    if not (np.isfinite(vector).all() and np.isfinite(translation).all()):
        return None
    rotation, _ = cv2.Rodrigues(vector)
    if settings.reject_mirrored and np.trace(rotation) < 1:  # an angle above 90°
        return None
    return Pose(rotation, translation.ravel())


def _orthonormal(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rotation nearest to a (3, 3) matrix."""
    left, _, right = np.linalg.svd(matrix)
    if np.linalg.det(left @ right) < 0:
        right[-1] *= -1
    rotation: NDArray[np.float64] = left @ right
    return rotation
