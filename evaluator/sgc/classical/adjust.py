# SPDX-License-Identifier: GPL-3.0-or-later
"""Bundle adjustment on flow: poses, inverse depths of the samples of every frame, and one focal length.

A sample of frame i with inverse depth ρ lies at x/ρ, and is seen in frame j at f π(R x + ρ t); the residual is the
distance in pixels to where flow says it is. Cauchy weights, Levenberg-Marquardt, and the inverse depths eliminated by
the Schur complement, as in Teed and Deng, DROID-SLAM, NeurIPS 2021. A pose changes by T ← exp(δ) T with
δ = (translation, rotation).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

_NEAREST = 0.05  # of the depth in the first frame: a point that comes closer than this share is held there
_FARTHEST = 1e-4


@dataclass(frozen=True)
class Observations:
    """The samples of one frame in other frames.

    `points` (m, 2) and `seen` (k, m, 2) in pixels from the principal point, `weights` (k, m) with 0 for what is not
    used, `source` and `targets` (k,) positions among the poses.
    """

    source: int
    targets: tuple[int, ...]
    points: NDArray[np.float64]
    seen: NDArray[np.float64]
    weights: NDArray[np.float64]


@dataclass(frozen=True)
class Solution:
    """What explains the observations best.

    `poses` (n, 4, 4) world to camera; `inverse_depths`, one array (m,) for each Observations; the focal length in
    pixels and the standard deviation of its logarithm; the root of the mean weighted squared residual in pixels.
    """

    poses: NDArray[np.float64]
    inverse_depths: tuple[NDArray[np.float64], ...]
    focal: float
    focal_sigma: float
    residual: float


@dataclass(frozen=True)
class Plan:
    """How to solve.

    Poses before `fixed` stay; `scales` of the Cauchy weights in pixels, one after the other, with `iterations` each;
    `poses_from` and `focal_from` are the iterations from which the others and the focal length move, None for never.
    """

    fixed: int
    scales: Sequence[float]
    iterations: int = 4
    poses_from: int = 0
    focal_from: int | None = None


def adjust(
    observations: Sequence[Observations],
    poses: NDArray[np.float64],
    inverse_depths: Sequence[NDArray[np.float64]],
    focal: float,
    plan: Plan,
) -> Solution:
    """The poses, inverse depths and focal length that explain the observations best; the inputs are where it starts.

    Each of the plan's scales gets up to `iterations` steps. Where nothing observes an inverse depth it stays.
    """
    state = _State(np.array(poses), [np.array(values) for values in inverse_depths], float(np.log(focal)))
    damping, done, sigma = 1e-4, 0, float("inf")
    cost = np.inf
    for scale in plan.scales:
        cost = _cost(observations, state, scale)
        for _ in range(plan.iterations):
            system = _System(observations, state, scale)
            free = _free(len(poses), plan, done)
            done += 1
            before = cost
            for _ in range(5):
                tried = system.step(state, free, damping)
                value = _cost(observations, tried, scale)
                if value < cost:
                    state, cost, damping = tried, value, max(damping / 5, 1e-9)
                    break
                damping *= 8
            if before - cost < 1e-4 * before and done > max(plan.poses_from, plan.focal_from or 0):
                break
    count = sum(float(group.weights.sum()) for group in observations)
    residual = float(np.sqrt(cost / count)) if count and np.isfinite(cost) else 0.0
    if plan.focal_from is not None and count:
        sigma = _System(observations, state, plan.scales[-1]).focal_sigma(_free(len(poses), plan, done)) * residual
    return Solution(state.poses, tuple(state.inverse_depths), float(np.exp(state.log_focal)), sigma, residual)


def _free(count: int, plan: Plan, done: int) -> NDArray[np.intp]:
    """Which of the 6 n + 1 parameters move in an iteration."""
    poses = np.arange(6 * plan.fixed, 6 * count) if done >= plan.poses_from else np.arange(0)
    focal = [6 * count] if plan.focal_from is not None and done >= plan.focal_from else []
    return np.concatenate([poses, focal]).astype(np.intp)


@dataclass
class _State:
    poses: NDArray[np.float64]
    inverse_depths: list[NDArray[np.float64]]
    log_focal: float


@dataclass(frozen=True)
class _Projected:
    """Samples of one frame in its targets: all (k, m) but `rotations` (k, 3, 3), `translations` (k, 3), `rays`."""

    rotations: NDArray[np.float64]
    translations: NDArray[np.float64]
    u: NDArray[np.float64]
    v: NDArray[np.float64]
    inverse_z: NDArray[np.float64]
    residual_x: NDArray[np.float64]
    residual_y: NDArray[np.float64]


def _project(group: Observations, state: _State, inverse_depth: NDArray[np.float64]) -> _Projected:
    focal = np.exp(state.log_focal)
    motion = state.poses[list(group.targets)] @ inverse(state.poses[group.source])
    rotations, translations = motion[:, :3, :3], motion[:, :3, 3]
    x, y = group.points.T / focal
    turned = [
        rotations[:, axis, 0, None] * x
        + rotations[:, axis, 1, None] * y
        + rotations[:, axis, 2, None]
        + translations[:, axis, None] * inverse_depth
        for axis in range(3)
    ]
    inverse_z = 1 / np.maximum(turned[2], _NEAREST)
    u, v = turned[0] * inverse_z, turned[1] * inverse_z
    residual_x, residual_y = group.seen[..., 0] - focal * u, group.seen[..., 1] - focal * v
    return _Projected(rotations, translations, u, v, inverse_z, residual_x, residual_y)


def _cost(observations: Sequence[Observations], state: _State, scale: float) -> float:
    total = 0.0
    for group, inverse_depth in zip(observations, state.inverse_depths, strict=True):
        seen = _project(group, state, inverse_depth)
        squared = (seen.residual_x**2 + seen.residual_y**2) / scale**2
        total += scale**2 * float((group.weights * np.log1p(squared)).sum())
    return total


class _System:
    """The normal equations at a state, the inverse depths not yet eliminated."""

    def __init__(self, observations: Sequence[Observations], state: _State, scale: float) -> None:
        self.size = 6 * len(state.poses) + 1
        self.normal = np.zeros((self.size, self.size))
        self.gradient = np.zeros(self.size)
        self.depths: list[tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]] = []
        for group, inverse_depth in zip(observations, state.inverse_depths, strict=True):
            self._add(group, state, inverse_depth, scale)

    def _add(self, group: Observations, state: _State, inverse_depth: NDArray[np.float64], scale: float) -> None:
        focal = np.exp(state.log_focal)
        seen = _project(group, state, inverse_depth)
        u, v, over = seen.u, seen.v, focal * seen.inverse_z
        root = np.sqrt(group.weights / (1 + (seen.residual_x**2 + seen.residual_y**2) / scale**2))
        count, samples = u.shape
        x, y = group.points.T / focal
        rows = np.empty((count, 8, 2, samples))  # 6 of the motion, the focal length, and the residual
        near = over * inverse_depth
        rows[:, 0, 0], rows[:, 0, 1] = near, 0
        rows[:, 1, 0], rows[:, 1, 1] = 0, near
        rows[:, 2, 0], rows[:, 2, 1] = -near * u, -near * v
        rows[:, 3, 0], rows[:, 3, 1] = -focal * u * v, -focal * (1 + v * v)
        rows[:, 4, 0], rows[:, 4, 1] = focal * (1 + u * u), focal * u * v
        rows[:, 5, 0], rows[:, 5, 1] = -focal * v, focal * u
        turn = seen.rotations
        away = [-(turn[:, axis, 0, None] * x + turn[:, axis, 1, None] * y) for axis in range(3)]
        rows[:, 6, 0] = focal * u + over * (away[0] - u * away[2])
        rows[:, 6, 1] = focal * v + over * (away[1] - v * away[2])
        rows[:, 7, 0], rows[:, 7, 1] = seen.residual_x, seen.residual_y
        depth = np.empty((count, 2, samples))
        shift = seen.translations
        depth[:, 0] = over * (shift[:, 0, None] - u * shift[:, 2, None])
        depth[:, 1] = over * (shift[:, 1, None] - v * shift[:, 2, None])
        rows *= root[:, None, None]
        depth *= root[:, None]
        flat = rows.reshape(count, 8, 2 * samples)
        products = flat @ flat.transpose(0, 2, 1)
        coupled = (rows * depth[:, None]).sum(axis=2)  # (k, 8, m)
        own = (depth**2).sum(axis=(0, 1))

        columns = np.concatenate(
            [np.arange(6 * frame, 6 * frame + 6) for frame in (group.source, *group.targets)] + [[self.size - 1]]
        ).astype(np.intp)
        coupling = np.zeros((len(columns), samples))
        last = self.size - 1
        source = slice(6 * group.source, 6 * group.source + 6)
        for index, target in enumerate(group.targets):
            back = -_adjoint(seen.rotations[index], seen.translations[index])
            there = slice(6 * target, 6 * target + 6)
            inner = products[index, :6, :6]
            self.normal[there, there] += inner
            self.normal[source, source] += back.T @ inner @ back
            self.normal[there, source] += inner @ back
            self.normal[source, there] += (inner @ back).T
            with_focal = products[index, :6, 6]
            for rows_of, value in ((there, with_focal), (source, back.T @ with_focal)):
                self.normal[rows_of, last] += value
                self.normal[last, rows_of] += value
            self.normal[last, last] += products[index, 6, 6]
            self.gradient[there] += products[index, :6, 7]
            self.gradient[source] += back.T @ products[index, :6, 7]
            self.gradient[last] += products[index, 6, 7]
            coupling[6 + 6 * index : 12 + 6 * index] = coupled[index, :6]
            coupling[:6] += back.T @ coupled[index, :6]
            coupling[-1] += coupled[index, 6]
        self.depths.append((columns, coupling, own, coupled[:, 7].sum(axis=0)))

    def step(self, state: _State, free: NDArray[np.intp], damping: float) -> _State:
        """The state after one damped step of the parameters `free` and all inverse depths."""
        reduced, gradient, diagonals = self._reduced(damping)
        change = np.zeros(self.size)
        if len(free):
            part = reduced[np.ix_(free, free)]
            part = part + damping * np.diag(np.diag(self.normal)[free]) + 1e-6 * np.eye(len(free))
            change[free] = np.linalg.solve(part, gradient[free])
        change[-1] = np.clip(change[-1], -0.2, 0.2)
        change[:-1] = np.clip(change[:-1], -0.5, 0.5)
        poses = np.stack(
            [exponential(change[6 * index : 6 * index + 6]) @ pose for index, pose in enumerate(state.poses)]
        )
        depths = []
        for values, (columns, coupling, _, own), diagonal in zip(
            state.inverse_depths, self.depths, diagonals, strict=True
        ):
            moved = values + (own - change[columns] @ coupling) / diagonal
            largest = 100 * max(float(np.median(values)), _FARTHEST) if len(values) else 1.0
            depths.append(np.clip(moved, _FARTHEST * largest / 100, largest))
        return _State(poses, depths, state.log_focal + float(change[-1]))

    def focal_sigma(self, free: NDArray[np.intp]) -> float:
        """Standard deviation of the logarithm of the focal length for residuals of 1 pixel; inf where unobserved."""
        reduced, _, _ = self._reduced(0.0)
        part = reduced[np.ix_(free, free)] + 1e-6 * np.eye(len(free))
        unit = np.zeros(len(free))
        unit[-1] = 1
        variance = float(np.linalg.solve(part, unit)[-1])
        return float(np.sqrt(variance)) if variance > 0 and np.isfinite(variance) else float("inf")

    def _reduced(self, damping: float) -> tuple[NDArray[np.float64], NDArray[np.float64], list[NDArray[np.float64]]]:
        """The Schur complement of the inverse depths, its right side, and their damped diagonals."""
        reduced, gradient = self.normal.copy(), self.gradient.copy()
        diagonals = []
        for columns, coupling, own, right in self.depths:
            diagonal = own * (1 + damping) + 1e-4 * max(float(own.mean()) if len(own) else 0.0, 1e-9)
            scaled = coupling / diagonal
            # not by BLAS, whose threads cost more than they give here, and take from the other processes
            reduced[np.ix_(columns, columns)] -= np.einsum("im,jm->ij", scaled, coupling)
            gradient[columns] -= scaled @ right
            diagonals.append(diagonal)
        return reduced, gradient, diagonals


def inverse(pose: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse of a rigid motion (4, 4)."""
    found = np.eye(4)
    found[:3, :3] = pose[:3, :3].T
    found[:3, 3] = -pose[:3, :3].T @ pose[:3, 3]
    return found


def exponential(change: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rigid motion (4, 4) of a twist (translation, rotation)."""
    vector = change[3:]
    angle = float(np.linalg.norm(vector))
    rotation, _ = cv2.Rodrigues(vector)
    cross = np.array([[0, -vector[2], vector[1]], [vector[2], 0, -vector[0]], [-vector[1], vector[0], 0]])
    if angle < 1e-6:
        first, second = 0.5, 1 / 6
    else:
        first, second = (1 - np.cos(angle)) / angle**2, (angle - np.sin(angle)) / angle**3
    motion = np.eye(4)
    motion[:3, :3] = rotation
    motion[:3, 3] = (np.eye(3) + first * cross + second * cross @ cross) @ change[:3]
    return motion


def _adjoint(rotation: NDArray[np.float64], translation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ad of a rigid motion for twists (translation, rotation): G exp(δ) = exp(Ad δ) G."""
    x, y, z = translation
    found = np.zeros((6, 6))
    found[:3, :3] = found[3:, 3:] = rotation
    found[:3, 3:] = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) @ rotation
    return found
