# SPDX-License-Identifier: GPL-3.0-or-later
"""Regions of a frame, and each one's own pose by Gauss–Newton from the camera's; all regions in one array operation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ..clustering import cluster
from ..poses import Pose
from .points import NEAR, Flags, Floats, Points, finite_rows, project
from .settings import RobustSettings

HUBER = 1.345
LARGEST_STEP_DEG = 5.0
LARGEST_TURN_DEG = 45.0
UPPER = np.triu_indices(6)
Labels = NDArray[np.intp]


@dataclass(frozen=True)
class Regions:
    """How the picture is divided: depth bands between `borders`, each divided into cells where `numbers` says so.

    `numbers` (bands, rows, columns) holds the region's number from 0, or −1 where there are too few tracks.
    """

    borders: Floats
    numbers: Labels
    size: tuple[int, int]
    """(width, height)."""
    count: int

    def of(self, places: Floats, depth: NDArray[np.floating]) -> Labels:
        """The region (n,) of pixel coordinates (n, 2) with their depths (n,); −1 for none."""
        bands, rows, columns = self.numbers.shape
        band = np.searchsorted(self.borders, depth, side="right")
        row = np.clip(((places[:, 1] + 0.5) * rows / self.size[1]).astype(np.intp), 0, rows - 1)
        column = np.clip(((places[:, 0] + 0.5) * columns / self.size[0]).astype(np.intp), 0, columns - 1)
        number: Labels = np.where(depth > 0, self.numbers[np.clip(band, 0, bands - 1), row, column], -1)
        return number

    def map_of(self, depth: NDArray[np.float32], step: int = 1) -> Labels:
        """The region of every `step`-th pixel of every `step`-th row; −1 for none."""
        height, width = depth.shape
        rows, columns = np.mgrid[0:height:step, 0:width:step]
        places = np.stack([columns.ravel(), rows.ravel()], axis=1).astype(np.float64)
        return self.of(places, depth[::step, ::step].ravel()).reshape(rows.shape)


def divide(found: Points, size: tuple[int, int], settings: RobustSettings) -> Regions:
    """Depth bands by k-means of the logarithm of the points' depths, divided into cells of the picture.

    A cell of a band with enough tracks is a region; what is left of the band is one more, where that has enough.
    """
    depth = found.points[:, 2]
    labels = cluster(np.log(depth).astype(np.float32), settings.bands)
    bands = int(labels.max(initial=0)) + 1
    edges = [(depth[labels == band].max(), depth[labels == band + 1].min()) for band in range(bands - 1)]
    borders = np.array([math.sqrt(below * above) for below, above in edges])
    cells = np.arange(bands * settings.rows * settings.columns).reshape(bands, settings.rows, settings.columns)
    inner = Regions(borders, cells, size, cells.size).of(found.previous, depth)
    counts = np.bincount(inner, minlength=cells.size).reshape(cells.shape)
    enough = counts >= settings.minimum_tracks
    left = np.where(enough, 0, counts).sum(axis=(1, 2)) >= settings.minimum_tracks
    numbers = np.full(cells.shape, -1, dtype=np.intp)
    numbers[enough] = np.arange(enough.sum())
    rest = int(enough.sum()) + np.cumsum(left) - 1
    numbers = np.where(~enough & left[:, None, None], rest[:, None, None], numbers)
    return Regions(borders, numbers, size, int(enough.sum() + left.sum()))


@dataclass(frozen=True)
class LocalPoses:
    """Each region's pose as a correction of the camera's, for r regions.

    `rotation` (r, 3, 3) and `translation` (r, 3) map the previous camera's points to the current one, `covariance`
    (r, 6, 6) is that of translation (in median static depths) and rotation (radians); `valid` (r,).
    """

    rotation: Floats
    translation: Floats
    covariance: Floats
    information: Floats
    """(r, 6, 6) of one px² noise, without weights and without the prior."""
    counts: Labels
    valid: Flags

    def move(self, points: Floats, labels: Labels) -> Floats:
        """Points (n, 3) moved by the poses of their regions `labels` (n,), none of them −1."""
        moved: Floats = np.einsum("nij,nj->ni", self.rotation[labels], points) + self.translation[labels]
        return moved


def local_poses(
    found: Points,
    labels: Labels,
    count: int,
    intrinsics: Floats,
    motion: Pose,
    unit: float,
    noise_px: float,
    settings: RobustSettings,
) -> LocalPoses:
    """Poses of the `count` regions whose points have `labels` (n,) (−1: none), from the camera's own `motion` on.

    Gauss–Newton with Huber weights of `noise_px` and a weak prior about the camera's pose; a region is valid with
    enough points, most of them in front of the camera, and a pose that did not run away.
    """
    order = np.argsort(labels, kind="stable")
    order = order[labels[order] >= 0]
    label, points, target = labels[order], found.points[order], found.current[order]
    counts = np.bincount(label, minlength=count)
    present = np.flatnonzero(counts)
    starts = (np.cumsum(counts) - counts)[present]

    def gathered(values: Floats) -> Floats:
        """Sums over the regions (…, count) of values (…, n)."""
        total = np.zeros((*values.shape[:-1], count))
        if len(present):
            total[..., present] = np.add.reduceat(values, starts, axis=-1)
        return total

    def symmetric(jacobian: Floats, weights: Floats) -> Floats:
        """Jᵀ W J (count, 6, 6)."""
        weighted = jacobian * weights
        sums = gathered(np.stack([(jacobian[:, i] * weighted[:, j]).sum(axis=0) for i, j in zip(*UPPER, strict=True)]))
        full = np.zeros((count, 6, 6))
        full[:, UPPER[0], UPPER[1]] = full[:, UPPER[1], UPPER[0]] = sums.T
        return full

    prior = np.diag(
        [(noise_px / settings.prior_translation) ** 2] * 3
        + [(noise_px / math.radians(settings.prior_rotation_deg)) ** 2] * 3
    )
    rotation: Floats = np.tile(motion.rotation, (count, 1, 1))
    translation: Floats = np.tile(motion.translation, (count, 1))
    deviation: Floats = np.zeros((count, 6))
    step: Floats = np.zeros((count, 6))
    normal = gram = np.zeros((count, 6, 6))
    for _ in range(settings.iterations):
        moved = np.einsum("nij,nj->ni", rotation[label], points) + translation[label]
        jacobian, places = _jacobian(moved, intrinsics, unit)
        front = finite_rows(places)
        misses = np.where(front[:, None], target - places, 0.0).T
        weights = np.where(front, huber(misses, noise_px), 0.0)
        gram, normal = symmetric(jacobian, front.astype(np.float64)), symmetric(jacobian, weights) + prior
        gradient = gathered((jacobian * (misses * weights)[:, None]).sum(axis=0)).T - deviation @ prior
        step = np.asarray(np.linalg.solve(normal, gradient[..., None])[..., 0], dtype=np.float64)
        turn = np.linalg.norm(step[:, 3:], axis=1)
        step *= (math.radians(LARGEST_STEP_DEG) / np.maximum(turn, math.radians(LARGEST_STEP_DEG)))[:, None]
        change = Rotation.from_rotvec(step[:, 3:]).as_matrix()
        rotation = change @ rotation
        translation = np.einsum("rij,rj->ri", change, translation) + step[:, :3] * unit
        deviation = np.asarray(deviation + step, dtype=np.float64)
    moved = np.einsum("nij,nj->ni", rotation[label], points) + translation[label]
    in_front = gathered((moved[:, 2] > NEAR * unit).astype(np.float64))
    valid = (counts >= settings.minimum_tracks) & (in_front >= settings.minimum_in_front * counts)
    valid &= np.linalg.norm(deviation[:, 3:], axis=1) < math.radians(LARGEST_TURN_DEG)
    valid &= np.linalg.norm(step, axis=1) <= 0.2 * np.linalg.norm(deviation, axis=1) + 1e-3
    covariance = np.asarray(np.linalg.inv(normal) * noise_px**2, dtype=np.float64)
    return LocalPoses(rotation, translation, covariance, gram, counts, valid)


def whole_pose(
    found: Points, motion: Pose, intrinsics: Floats, noise_px: float, unit: float, settings: RobustSettings
) -> LocalPoses:
    """The pose that fits all points (n, 3) at once, as that of a single region with all of them in it."""
    labels = np.zeros(len(found.points), dtype=np.intp)
    return local_poses(found, labels, 1, intrinsics, motion, unit, noise_px, settings)


def turned_only(points: Floats, target: Floats, intrinsics: Floats, noise_px: float, unit: float) -> Floats:
    """Where (n, 2) the rotation that fits `target` (n, 2) best puts points (n, 3); Huber weights, three steps."""
    rotation = np.eye(3)
    for _ in range(3):
        moved = points @ rotation.T
        jacobian, places = _jacobian(moved, intrinsics, unit)
        known = finite_rows(places) & finite_rows(target)
        turn, misses = jacobian[:, 3:, known], (target - places)[known].T
        weights = huber(misses, noise_px)
        normal = _products(turn, turn, weights) + 1e-9 * np.eye(3)
        gradient = _products(turn, misses[:, None], weights)[:, 0]
        rotation = Rotation.from_rotvec(np.linalg.solve(normal, gradient)).as_matrix() @ rotation
    return project(points @ rotation.T, intrinsics, NEAR * unit)


def focal_information(
    found: Points, intrinsics: Floats, motion: Pose, unit: float, noise_px: float, parts: Labels, count: int
) -> Floats:
    """(2, count): information on the logarithm of the focal length, and the pull on it, of each part of the picture.

    `parts` (n,) are the points' parts. The pair's own pose is free as well. The sum of the pulls over that of the
    information is the correction that the tracks ask for; sums over pairs that of several of them.
    """
    moved = found.points @ motion.rotation.T + motion.translation
    pose, places = _jacobian(moved, intrinsics, unit)
    known = finite_rows(places)
    pose, places = pose[:, :, known], places[known]
    misses = (found.current[known] - places).T
    # a focal f(1 + ε) moves the picture outwards, and makes the points that it was taken from narrower by as much
    narrower = (found.points[known] * (-1.0, -1.0, 0.0)) @ motion.rotation.T / unit
    focal = (places - intrinsics[:2, 2]).T + (pose[:, :3] * narrower.T).sum(axis=1)
    weights = huber(misses, noise_px)
    normal = _products(pose, pose, weights) + 1e-9 * np.eye(6)
    solved = np.linalg.solve(normal, _products(pose, focal[:, None], weights)[:, 0])
    alone = focal - np.einsum("pkn,k->pn", pose, solved)
    return np.stack(
        [
            np.bincount(parts[known], weights=weights * (alone * value).sum(axis=0), minlength=count)
            for value in (alone, misses)
        ]
    )


def huber(misses: Floats, noise_px: float) -> Floats:
    """Weights (n,) of misses (2, n)."""
    lengths: Floats = np.hypot(misses[0], misses[1])
    return 1 / np.maximum(1, lengths / (HUBER * noise_px))


def _products(left: Floats, right: Floats, weights: Floats) -> Floats:
    """Σ wₙ lᵀr (i, j) of (2, i, n) and (2, j, n)."""
    total: Floats = sum(left[axis] * weights @ right[axis].T for axis in (0, 1))
    return total


def _jacobian(moved: Floats, intrinsics: Floats, unit: float) -> tuple[Floats, Floats]:
    """d(pixel) / d(translation in units, rotation) (2, 6, n) at points (n, 3) of the camera, and their pixels (n, 2).

    It is 0 for points that cannot be projected.
    """
    places = project(moved, intrinsics, NEAR * unit)
    front = np.isfinite(places[:, 0])
    z = np.where(front, moved[:, 2], 1.0)
    x, y = moved[:, 0] / z, moved[:, 1] / z
    scale = front * unit / z
    x, y = np.where(front, x, 0.0), np.where(front, y, 0.0)
    zero, one = np.zeros(len(z)), front.astype(np.float64)
    across = np.stack([scale, zero, -x * scale, -x * y, one + x**2, -y])
    down = np.stack([zero, scale, -y * scale, -(one + y**2), x * y, x])
    (fx, skew), (_, fy) = intrinsics[:2, :2]
    return np.stack([fx * across + skew * down, fy * down]), places
