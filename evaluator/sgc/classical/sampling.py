# SPDX-License-Identifier: GPL-3.0-or-later
"""A first relative pose by random sampling: PoseLib's or COLMAP's where one of them is installed, else OpenCV's.

Points are (n, 2) float64 pixels from the principal point, as in two_view.py, which refines what is found here. All
three are repeatable: the first two by the seed given here, OpenCV as it seeds its random numbers afresh in every call.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from ..poses import Pose

THRESHOLD: Final = 0.5
"""Pixels of epipolar error up to which a point may follow a pose."""
CONFIDENCE: Final = 0.999
MINIMUM_POINTS: Final = 8

_FARTHEST = 1e5  # baselines; OpenCV takes what is beyond 50 for infinitely far, and then knows no side
_SEED = 0
_EXTRAS = ("poselib", "pycolmap")


@cache
def extra() -> str:
    """The installed extra that samples, as `poselib 2.0.5`; empty where none is, and OpenCV does."""
    for name in _EXTRAS:
        try:
            __import__(name)
            return f"{name} {version(name)}"
        except (ImportError, PackageNotFoundError):
            continue
    return ""


def sampled_pose(first: NDArray[np.float64], second: NDArray[np.float64], focal: float) -> Pose | None:
    """The pose most points follow; None where none is found, or where fewer than MINIMUM_POINTS follow it."""
    sample = {"poselib": _by_poselib, "pycolmap": _by_pycolmap}.get(extra().split(" ")[0], _by_opencv)
    found = sample(first, second, focal)
    if found is None:
        return None
    count, rotation, translation = found
    length = float(np.linalg.norm(translation))
    if count < MINIMUM_POINTS or not np.isfinite(rotation).all() or not np.isfinite(length) or length == 0:
        return None
    return Pose(np.asarray(rotation, np.float64), np.asarray(translation, np.float64).ravel() / length)


def planar_poses(first: NDArray[np.float64], second: NDArray[np.float64], focal: float) -> list[Pose]:
    """The poses, two at most, that the plane which most points lie on allows, all of its points being in front.

    Ma et al., An Invitation to 3-D Vision, 5.3; none where no plane is found, or where it does not tell a translation.
    """
    camera = np.diag([focal, focal, 1.0])
    try:
        plane, mask = cv2.findHomography(first, second, cv2.USAC_MAGSAC, 2 * THRESHOLD, confidence=CONFIDENCE)
        if plane is None or plane.shape != (3, 3) or not np.isfinite(plane).all():
            return []
        _, rotations, translations, normals = cv2.decomposeHomographyMat(plane, camera)
    except cv2.error:
        return []
    rays = np.column_stack([first / focal, np.ones(len(first))])[mask.ravel() > 0]
    poses = []
    for rotation, translation, normal in zip(rotations, translations, normals, strict=True):
        length = float(np.linalg.norm(translation))
        in_front = float((rays @ normal.ravel() > 0).mean()) if len(rays) else 0.0
        if in_front > 0.5 and np.isfinite(rotation).all() and np.isfinite(length) and length > 0:
            poses.append(Pose(np.asarray(rotation, np.float64), np.asarray(translation, np.float64).ravel() / length))
    return poses


Found = tuple[int, NDArray[np.float64], NDArray[np.float64]] | None
"""How many points follow it, rotation (3, 3) and translation (3) of a pose."""


def _by_opencv(first: NDArray[np.float64], second: NDArray[np.float64], focal: float) -> Found:
    """MAGSAC++ on essential matrices (Barath et al., CVPR 2020)."""
    camera = np.diag([focal, focal, 1.0])
    try:
        essential, mask = cv2.findEssentialMat(
            first, second, camera, method=cv2.USAC_MAGSAC, prob=CONFIDENCE, threshold=THRESHOLD
        )
        if essential is None or essential.shape != (3, 3) or not np.isfinite(essential).all():
            return None
        count, rotation, translation, *_ = cv2.recoverPose(
            essential, first, second, camera, distanceThresh=_FARTHEST, mask=mask.copy()
        )
    except cv2.error:
        return None  # points so degenerate that OpenCV refuses them
    return int(count), np.asarray(rotation, np.float64), np.asarray(translation, np.float64)


def _by_poselib(first: NDArray[np.float64], second: NDArray[np.float64], focal: float) -> Found:
    """LO-RANSAC over five points, and a bundle adjustment of the inliers (Larsson, PoseLib)."""
    import poselib

    side = int(2 * max(np.abs(first).max(), np.abs(second).max())) + 1
    camera = {"model": "SIMPLE_PINHOLE", "width": side, "height": side, "params": [focal, 0.0, 0.0]}
    options = {"max_epipolar_error": THRESHOLD, "success_prob": CONFIDENCE, "seed": _SEED}
    pose, report = poselib.estimate_relative_pose(first, second, camera, camera, options, {})
    return int(report["num_inliers"]), np.asarray(pose.R, np.float64), np.asarray(pose.t, np.float64)


def _by_pycolmap(first: NDArray[np.float64], second: NDArray[np.float64], focal: float) -> Found:
    """LO-RANSAC on essential matrices (Schönberger and Frahm, CVPR 2016)."""
    import pycolmap

    side = int(2 * max(np.abs(first).max(), np.abs(second).max())) + 1
    camera = pycolmap.Camera(model="SIMPLE_PINHOLE", width=side, height=side, params=[focal, 0.0, 0.0])
    options = pycolmap.RANSACOptions()
    options.max_error, options.confidence, options.random_seed = THRESHOLD, CONFIDENCE, _SEED
    report = pycolmap.estimate_essential_matrix(first, second, camera, camera, options)
    if report is None:
        return None
    motion = report["cam2_from_cam1"].matrix()
    return int(report["num_inliers"]), np.asarray(motion[:, :3]), np.asarray(motion[:, 3])
