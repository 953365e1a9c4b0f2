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

from .certainty import spread, weight_of_usual

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
    pixels and the standard deviation of its logarithm, by how far the parts of the picture are apart; the root of the
    mean weighted squared residual in pixels.
    """

    poses: NDArray[np.float64]
    inverse_depths: tuple[NDArray[np.float64], ...]
    focal: float
    focal_sigma: float
    residual: float


@dataclass(frozen=True)
class Plan:
    """How to solve.

    Poses before `fixed` stay; `scales` of the Cauchy weights in pixels, one after the other, with `iterations` each and
    `last_iterations` at the end; `poses_from` and `focal_from` are the iterations from which the others and the focal
    length move, None for never. Where `usual` is given the focal length is drawn to it a little: see certainty.py.
    """

    fixed: int
    scales: Sequence[float]
    iterations: int = 4
    last_iterations: int = 12
    poses_from: int = 0
    focal_from: int | None = None
    usual: float | None = None


def adjust(
    observations: Sequence[Observations],
    poses: NDArray[np.float64],
    inverse_depths: Sequence[NDArray[np.float64]],
    focal: float,
    plan: Plan,
    size: tuple[int, int],
) -> Solution:
    """The poses, inverse depths and focal length that explain the observations best; the inputs are where it starts.

    `size` is the picture's (width, height). Where nothing observes an inverse depth it stays.
    """
    state = _State(np.array(poses), [np.array(values) for values in inverse_depths], float(np.log(focal)))
    damping, done, sigma = 1e-4, 0, float("inf")
    cost, draw = np.inf, _Draw(1.0, 0.0)
    for scale in plan.scales:
        cost = _cost(observations, state, scale)
        draw = _Draw(plan.usual, weight_of_usual(cost, len(poses))) if plan.usual else _Draw(1.0, 0.0)
        cost += draw.cost(state)
        for _ in range(plan.iterations if scale > plan.scales[-1] else plan.last_iterations):
            system = _System(observations, state, scale, draw)
            free = _free(len(poses), plan, done)
            done += 1
            before = cost
            for _ in range(5):
                tried = _moved(state, system.step(state, free, damping))
                value = _cost(observations, tried, scale) + draw.cost(tried)
                if value < cost:
                    state, cost, damping = tried, value, max(damping / 5, 1e-9)
                    break
                damping *= 8
            if before - cost < 1e-4 * before and done > max(plan.poses_from, plan.focal_from or 0):
                break
    count = sum(float(group.weights.sum()) for group in observations)
    residual = float(np.sqrt(cost / count)) if count and np.isfinite(cost) else 0.0
    if plan.focal_from is not None and count:
        free = _free(len(poses), plan, done)[:-1]
        sigma = _focal_sigma(observations, state, plan.scales[-1], draw, free, size)
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
class _Draw:
    """What draws the focal length to a usual one."""

    usual: float
    weight: float

    def apart(self, state: _State) -> float:
        return state.log_focal - float(np.log(self.usual))

    def cost(self, state: _State) -> float:
        return self.weight * self.apart(state) ** 2


@dataclass(frozen=True)
class _Step:
    """A change of a state: twists (n, 6) of the poses, of every inverse depth, and of the focal length's logarithm."""

    poses: NDArray[np.float64]
    inverse_depths: list[NDArray[np.float64]]
    log_focal: float


def _moved(state: _State, step: _Step, share: float = 1.0) -> _State:
    """The state after a share of a step."""
    poses = np.stack([exponential(share * change) @ pose for change, pose in zip(step.poses, state.poses, strict=True)])
    depths = []
    for values, change in zip(state.inverse_depths, step.inverse_depths, strict=True):
        largest = 100 * max(float(np.median(values)), _FARTHEST) if len(values) else 1.0
        depths.append(np.clip(values + share * change, _FARTHEST * largest / 100, largest))
    return _State(poses, depths, state.log_focal + share * step.log_focal)


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

    def __init__(self, observations: Sequence[Observations], state: _State, scale: float, draw: _Draw) -> None:
        self.size = 6 * len(state.poses) + 1
        self.normal = np.zeros((self.size, self.size))
        self.gradient = np.zeros(self.size)
        self.depths: list[tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]] = []
        for group, inverse_depth in zip(observations, state.inverse_depths, strict=True):
            self._add(group, state, inverse_depth, scale)
        self.normal[-1, -1] += draw.weight
        self.gradient[-1] -= draw.weight * draw.apart(state)

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

    def step(self, state: _State, free: NDArray[np.intp], damping: float) -> _Step:
        """One damped step of the parameters `free` and all inverse depths."""
        reduced, gradient, diagonals = self._reduced(damping)
        change = np.zeros(self.size)
        if len(free):
            part = reduced[np.ix_(free, free)]
            part = part + damping * np.diag(np.diag(self.normal)[free]) + 1e-6 * np.eye(len(free))
            change[free] = np.linalg.solve(part, gradient[free])
        change[-1] = np.clip(change[-1], -0.2, 0.2)
        change[:-1] = np.clip(change[:-1], -0.5, 0.5)
        depths = [
            (own - change[columns] @ coupling) / diagonal
            for (columns, coupling, _, own), diagonal in zip(self.depths, diagonals, strict=True)
        ]
        return _Step(change[:-1].reshape(-1, 6), depths, float(change[-1]))

    def valley(self, free: NDArray[np.intp]) -> _Step:
        """How the poses `free` and all inverse depths go along where the logarithm of the focal length grows by 1."""
        reduced, _, diagonals = self._reduced(1e-9)
        change = np.zeros(self.size)
        change[-1] = 1
        part = reduced[np.ix_(free, free)] + 1e-6 * np.eye(len(free))
        change[free] = -np.linalg.solve(part, reduced[free, -1]) if len(free) else 0
        depths = [
            -(change[columns] @ coupling) / diagonal
            for (columns, coupling, _, _), diagonal in zip(self.depths, diagonals, strict=True)
        ]
        return _Step(change[:-1].reshape(-1, 6), depths, 1.0)

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


def _focal_sigma(
    observations: Sequence[Observations], state: _State, scale: float, draw: _Draw, free: NDArray[np.intp],
    size: tuple[int, int],
) -> float:  # fmt: skip
    """Standard deviation of the logarithm of the focal length, everything else going along with it."""
    step = 1e-5
    moved = _moved(state, _System(observations, state, scale, draw).valley(free), step)
    pulls, information = [], draw.weight
    for group, here, there in zip(observations, state.inverse_depths, moved.inverse_depths, strict=True):
        seen, shifted = _project(group, state, here), _project(group, moved, there)
        x, y = (
            (before - after) / step
            for before, after in ((seen.residual_x, shifted.residual_x), (seen.residual_y, shifted.residual_y))
        )
        weights = group.weights / (1 + (seen.residual_x**2 + seen.residual_y**2) / scale**2)
        pulls.append((weights * (x * seen.residual_x + y * seen.residual_y)).sum(axis=0))
        information += float((weights * (x * x + y * y)).sum())
    return spread([group.points for group in observations], pulls, information, size)


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
