# SPDX-License-Identifier: GPL-3.0-or-later
"""Relative pose of two frames from corresponding points: random sampling, then a robust least-squares fit.

Points are (n, 2) float64 pixels from the principal point, so that only a focal length is needed; a pose takes points of
the first camera to the second: x₂ = R x₁ + t with |t| = 1. Sampson distance and parameters
as in Hartley and Zisserman, Multiple View Geometry, 11.4.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from ..poses import Pose
from .sampling import MINIMUM_POINTS, planar_poses, sampled_pose

CAUCHY_SCALE = 0.15
"""Pixels: about the noise of a flow that passed its checks."""
INLIER = 0.5
"""Pixels of Sampson distance up to which a point follows a pose."""

_ITERATIONS = 15


@dataclass(frozen=True)
class TwoView:
    """A relative pose, the share of the points that follow it, and the mean truncated Sampson distance in pixels."""

    pose: Pose
    rigid_share: float
    cost: float


def relative_pose(
    first: NDArray[np.float64], second: NDArray[np.float64], focal: float, guesses: Sequence[Pose] = ()
) -> TwoView | None:
    """Pose between two views of the same `focal` length; None where no motion is found.

    With `guesses` no random sampling is done: the fit starts from each of them, and the best one is kept. Without, it
    starts from a sampled pose and from those of the plane that most points lie on: what is nearly flat has two poses
    that explain it almost alike, and sampling finds either.
    """
    if len(first) < MINIMUM_POINTS:
        return None
    starts = [*guesses]
    if not starts:
        sampled = sampled_pose(first, second, focal)
        starts = [*planar_poses(first, second, focal), *([] if sampled is None else [sampled])]
    fits = [_fitted(first / focal, second / focal, focal, start) for start in starts]
    return min(fits, key=lambda fit: fit.cost, default=None)


def _fitted(first: NDArray[np.float64], second: NDArray[np.float64], focal: float, start: Pose) -> TwoView:
    pose = _refined(first, second, start, CAUCHY_SCALE / focal)
    distance = np.abs(_sampson(first, second, pose)) * focal
    return TwoView(pose, float(np.mean(distance < INLIER)), float(np.minimum(distance, 2 * INLIER).mean()))


def rotation_only(first: NDArray[np.float64], second: NDArray[np.float64], focal: float) -> Pose:
    """The rotation that explains most of the motion, robustly; its translation is 0."""
    rays = np.column_stack([first / focal, np.ones(len(first))])
    rotation = np.eye(3)
    scale = 4.0
    for step in range(_ITERATIONS):
        turned = rays @ rotation.T
        u, v = turned[:, 0] / turned[:, 2], turned[:, 1] / turned[:, 2]
        residual = second - focal * np.column_stack([u, v])
        weight = 1 / (1 + (residual**2).sum(axis=1) / scale**2)
        jacobian = focal * np.stack(
            [np.stack([-u * v, 1 + u * u, -v], axis=1), np.stack([-1 - v * v, u * v, u], axis=1)], axis=1
        )
        weighted = jacobian * weight[:, None, None]
        normal = np.einsum("nab,nac->bc", weighted, jacobian) + 1e-9 * np.eye(3)
        vector = np.linalg.solve(normal, np.einsum("nab,na->b", weighted, residual))
        rotation = _exponential(vector) @ rotation
        if np.abs(vector).max() < 1e-6 and step > 2:
            break
        scale = max(0.5, scale / 2)
    return Pose(rotation, np.zeros(3))


def parallax(first: NDArray[np.float64], second: NDArray[np.float64], focal: float) -> float:
    """Median distance in pixels between the second points and what the best rotation makes of the first."""
    if not len(first):
        return 0.0
    turned = np.column_stack([first / focal, np.ones(len(first))]) @ rotation_only(first, second, focal).rotation.T
    return float(np.median(np.linalg.norm(second - focal * turned[:, :2] / turned[:, 2:], axis=1)))


def _sampson(first: NDArray[np.float64], second: NDArray[np.float64], pose: Pose) -> NDArray[np.float64]:
    """Signed Sampson distances (n,) of normalised points (n, 2)."""
    x, y, z = pose.translation
    essential = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) @ pose.rotation
    line = first @ essential[:, :2].T + essential[:, 2]
    back = second @ essential[:2, :2] + essential[2, :2]
    value = second[:, 0] * line[:, 0] + second[:, 1] * line[:, 1] + line[:, 2]
    gradient = line[:, 0] ** 2 + line[:, 1] ** 2 + back[:, 0] ** 2 + back[:, 1] ** 2
    distance: NDArray[np.float64] = value / np.sqrt(np.maximum(gradient, 1e-24))
    return distance


def _refined(first: NDArray[np.float64], second: NDArray[np.float64], pose: Pose, scale: float) -> Pose:
    """Levenberg-Marquardt over rotation (3) and direction of translation (2) on Cauchy-weighted Sampson distances."""
    step, damping = 1e-7, 1e-3
    residual = _sampson(first, second, pose)
    cost = float(np.log1p((residual / scale) ** 2).sum())
    for _ in range(_ITERATIONS):
        across = _across(pose.translation)
        moved = (_moved(pose, across, step * direction) for direction in np.eye(5))
        jacobian = np.stack([(_sampson(first, second, other) - residual) / step for other in moved], axis=1)
        weighted = jacobian / (1 + (residual / scale) ** 2)[:, None]
        normal, gradient = weighted.T @ jacobian, weighted.T @ residual
        before = cost
        for _ in range(6):
            damped = normal + damping * np.diag(np.diag(normal)) + 1e-18 * np.eye(5)
            candidate = _moved(pose, across, np.asarray(np.linalg.solve(damped, -gradient), np.float64))
            tried = _sampson(first, second, candidate)
            value = float(np.log1p((tried / scale) ** 2).sum())
            if value < cost:
                pose, residual, cost, damping = candidate, tried, value, damping / 5
                break
            damping *= 6
        if before - cost < 1e-4 * before:
            break
    return pose


def _moved(pose: Pose, across: NDArray[np.float64], change: NDArray[np.float64]) -> Pose:
    """A pose turned by the first three numbers, its direction of translation moved on the sphere by the other two."""
    translation = pose.translation + change[3:] @ across
    return Pose(_exponential(change[:3]) @ pose.rotation, translation / np.linalg.norm(translation))


def _across(direction: NDArray[np.float64]) -> NDArray[np.float64]:
    """Two unit vectors (2, 3) at right angles to a direction and to each other."""
    first = np.cross(direction, np.eye(3)[np.abs(direction).argmin()])
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(direction, first)])


def _exponential(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    rotation, _ = cv2.Rodrigues(np.asarray(vector, np.float64))
    return np.asarray(rotation, np.float64)
