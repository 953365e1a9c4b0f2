# SPDX-License-Identifier: GPL-3.0-or-later
"""The path of a camera through one shot from known points seen in its frames: one focal length, a pose a frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from ..protocol.errors import BadInputError
from .core.least_squares import minimise, used_sigma
from .core.lines import FOCAL_RANGE
from .core.pinhole import (
    Array,
    Pinhole,
    check_numbers,
    check_positive,
    check_size,
    cross_matrix,
    half_diagonal,
    nearest_rotation,
    picture_centre,
    vector_of,
)
from .core.points import State, fit_points, reprojection, retracted

TRIED_FRAMES: Final = 5
"""How many frames a focal length is tried on before all are solved."""


class Seen(NamedTuple):
    """The points of one frame: world (n, 3) and pixels (n, 2)."""

    frame: int
    points: Array
    pixels: Array


@dataclass(frozen=True, eq=False)
class PathFit:
    """A shot's cameras. The lists go with `frames`."""

    frames: tuple[int, ...]
    cameras: tuple[Pinhole, ...]
    residuals: tuple[Array, ...]
    """(n, 2) in pixels, found − picked."""
    rotation_sigmas: tuple[Array, ...]
    """(3,) radians about the camera's own axes."""
    centre_sigmas: tuple[Array, ...]
    """(3,) in the world's unit."""
    focal_sigma: float | None
    """In pixels; None where the focal length was given."""
    sigma_px: float
    skipped: tuple[tuple[int, str], ...]
    """Frames without a camera, each with its reason."""

    @property
    def rms_px(self) -> float:
        """Root of the mean squared distance in pixels."""
        together = np.vstack(self.residuals)
        return float(np.sqrt((together**2).sum(axis=1).mean()))


def fit_path(
    size: tuple[int, int],
    seen: Sequence[Seen],
    *,
    focal: float | None = None,
    principal: tuple[float, float] | None = None,
    smooth_px: float | None = None,
    sigma_px: float = 1.0,
) -> PathFit:
    """The cameras of the frames of one shot, all with one focal length (pixels), which is sought unless given.

    A frame takes 3 points at least; one that leaves its pose open is skipped with its reason. With `smooth_px`, a
    change of the motion by that many pixels a frame from one frame to the next counts as 1 σ: small values smooth.
    Raises BadInputError where no frame tells a camera.
    """
    check_size(size)
    check_positive("sigma_px", sigma_px)
    if smooth_px is not None:
        check_positive("smooth_px", smooth_px)
    seen = [
        Seen(entry.frame, check_numbers("points", entry.points, 3), check_numbers("pixels", entry.pixels, 2))
        for entry in seen
    ]
    if any(b.frame <= a.frame for a, b in pairwise(seen)):
        raise BadInputError("frames have to be in order, and each given once")
    if not seen:
        raise BadInputError("there are no frames; pick points in one at least")
    options: dict[str, Any] = {"principal": principal, "sigma_px": sigma_px}
    first = check_positive("focal", focal) if focal is not None else _focal(size, seen, options)
    used, candidates, skipped = _poses(size, seen, first, options)
    if not used:
        raise BadInputError(f"no frame tells a camera; frame {skipped[0][0]}: {skipped[0][1]}")
    problem = _Problem(used, _chain(candidates), size, principal, focal is None, smooth_px, sigma_px)
    return problem.solve(tuple(skipped))


def _focal(size: tuple[int, int], seen: list[Seen], options: dict[str, Any]) -> float:
    """The start of the focal length: that of the frame which knows it best, out of some across the shot."""
    rich = [entry for entry in seen if len(entry.points) >= 4]
    if not rich:
        raise BadInputError("no frame has four points, which an unknown focal length takes; give it, or pick more")
    found, reason = [], ""
    for index in sorted(set(np.linspace(0, len(rich) - 1, TRIED_FRAMES).astype(int).tolist())):
        try:
            fit = fit_points(size, rich[index].points, rich[index].pixels, **options).best
        except BadInputError as error:
            reason = reason or f"frame {rich[index].frame}: {error}"
            continue
        found.append((fit.sigmas["focal"] / fit.camera.focal, fit.camera.focal))
    if not found:
        raise BadInputError(f"no frame tells a camera; {reason}")
    return min(found)[1]


def _poses(
    size: tuple[int, int], seen: list[Seen], focal: float, options: dict[str, Any]
) -> tuple[list[Seen], list[list[Pinhole]], list[tuple[int, str]]]:
    """Frames with a pose, the cameras that each of them allows, and the other frames with their reasons."""
    used, candidates, skipped = [], [], []
    for entry in seen:
        try:
            found = fit_points(size, entry.points, entry.pixels, focal=focal, **options)
        except BadInputError as error:
            skipped.append((entry.frame, str(error)))
            continue
        used.append(entry)
        candidates.append([fit.camera for fit in (found.best, *found.others)])
    return used, candidates, skipped


def _chain(candidates: list[list[Pinhole]]) -> list[Pinhole]:
    """One camera a frame, so that the path turns least: a plane's mirrored pose jumps (Viterbi)."""
    costs, back = [0.0] * len(candidates[0]), []
    for before, after in pairwise(candidates):
        steps = [[cost + _turn(a, b) for cost, a in zip(costs, before, strict=True)] for b in after]
        back.append([int(np.argmin(row)) for row in steps])
        costs = [min(row) for row in steps]
    at = int(np.argmin(costs))
    path = [at]
    for row in reversed(back):
        at = row[at]
        path.append(at)
    return [cameras[index] for cameras, index in zip(candidates, reversed(path), strict=True)]


def _turn(a: Pinhole, b: Pinhole) -> float:
    return float(np.linalg.norm(vector_of(nearest_rotation(a.rotation @ b.rotation.T))))


def _sparse_step(jacobian: Any, residuals: NDArray[np.float64], damping: float) -> NDArray[np.float64]:
    normal = (jacobian.T @ jacobian).tocsc()
    normal = normal + sparse.diags(damping * np.maximum(normal.diagonal(), 1e-9), format="csc")
    result: NDArray[np.float64] = splu(normal).solve(-(jacobian.T @ residuals))
    return result


@dataclass(frozen=True)
class _Path:
    poses: tuple[tuple[Array, Array], ...]
    focal: float


class _Problem:
    """All frames at once. Unknowns: rotation and centre of each frame, then the logarithm of the focal length."""

    def __init__(
        self,
        seen: list[Seen],
        cameras: list[Pinhole],
        size: tuple[int, int],
        principal: tuple[float, float] | None,
        free: bool,
        smooth_px: float | None,
        sigma_px: float,
    ) -> None:
        together = np.vstack([entry.points for entry in seen])
        self.shift = together.mean(axis=0)
        self.unit = float(np.sqrt(((together - self.shift) ** 2).sum(axis=1).mean()))
        self.seen, self.size, self.free, self.sigma = seen, size, free, sigma_px
        self.principal = np.array(picture_centre(size) if principal is None else principal)
        self.local = [(entry.points - self.shift) / self.unit for entry in seen]
        poses = tuple((camera.rotation, (camera.centre - self.shift) / self.unit) for camera in cameras)
        self.start = _Path(poses, cameras[0].focal)
        self.triples = [
            index
            for index in range(1, len(seen) - 1)
            if seen[index + 1].frame - seen[index].frame == seen[index].frame - seen[index - 1].frame == 1
        ]
        distances = [
            np.linalg.norm(centre - local.mean(axis=0)) for (_, centre), local in zip(poses, self.local, strict=True)
        ]
        # pixels that a turn by a radian, or a way of one unit, moves the picture by, over what counts as 1 σ
        self.smooth = None if smooth_px is None else cameras[0].focal * sigma_px / smooth_px
        self.distance = float(np.median(distances))

    @property
    def unknowns(self) -> int:
        return 6 * len(self.seen) + self.free

    def __call__(self, path: _Path) -> tuple[Array, Any]:
        residuals: list[Array] = []
        entries: list[tuple[NDArray[np.intp], NDArray[np.intp], Array]] = []
        at = 0
        for index, (entry, local, (rotation, centre)) in enumerate(zip(self.seen, self.local, path.poses, strict=True)):
            state = State(rotation, centre, path.focal, self.principal)
            errors, jacobian = reprojection(state, local, entry.pixels, (1.0, 1.0), (self.free, False))
            where = [*range(6 * index, 6 * index + 6), *([self.unknowns - 1] if self.free else [])]
            grid = np.meshgrid(np.arange(at, at + len(errors)), where, indexing="ij")
            residuals.append(errors)
            entries.append((grid[0].ravel(), grid[1].ravel(), jacobian.ravel()))
            at += len(errors)
        if self.smooth is not None:
            for index in self.triples:
                errors, blocks = self._change(path, index)
                for offset, block in enumerate(blocks):
                    start = 6 * (index - 1 + offset)
                    grid = np.meshgrid(np.arange(at, at + 6), np.arange(start, start + 6), indexing="ij")
                    entries.append((grid[0].ravel(), grid[1].ravel(), block.ravel()))
                residuals.append(errors)
                at += 6
        rows, columns, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
        return np.concatenate(residuals), sparse.csr_matrix((values, (rows, columns)), shape=(at, self.unknowns))

    def _change(self, path: _Path, index: int) -> tuple[Array, list[Array]]:
        """How the motion changes at a frame (6,) in σ-pixels, and its derivatives by three poses (6, 6) each."""
        assert self.smooth is not None
        (Ra, ca), (Rb, cb), (Rc, cc) = path.poses[index - 1 : index + 2]
        before, after = Rb @ Ra.T, Rc @ Rb.T
        first, second = vector_of(before), vector_of(after)
        left, right = _inverse_left(first), _inverse_left(second)
        turn = np.hstack([second - first, (cc - 2 * cb + ca) / self.distance]) * self.smooth
        blocks = [np.zeros((6, 6)) for _ in range(3)]
        blocks[0][:3, :3] = left @ before
        blocks[1][:3, :3] = -right @ after - left
        blocks[2][:3, :3] = right
        for block, factor in zip(blocks, (1.0, -2.0, 1.0), strict=True):
            block[3:, 3:] = np.eye(3) * factor / self.distance
            block *= self.smooth
        return turn, blocks

    def move(self, path: _Path, change: Array) -> _Path:
        moved = []
        for index, (rotation, centre) in enumerate(path.poses):
            state = State(rotation, centre, path.focal, self.principal)
            state = retracted(state, change[6 * index : 6 * index + 6], (1.0, 1.0), (False, False))
            moved.append((state.rotation, state.centre))
        factor = float(np.exp(np.clip(change[-1], -1, 1))) if self.free else 1.0
        return _Path(tuple(moved), path.focal * factor)

    def solve(self, skipped: tuple[tuple[int, str], ...]) -> PathFit:
        solved = minimise(self, self.move, self.start, step=_sparse_step)
        path = solved.state
        count = sum(entry.pixels.size for entry in self.seen)
        # smoothing takes most of the poses' freedom; how much of it is left, nobody counts
        unknowns = self.unknowns if self.smooth is None else 0
        sigma = used_sigma(solved.residuals[:count], unknowns, self.sigma)
        if not FOCAL_RANGE[0] < path.focal / half_diagonal(self.size) < FOCAL_RANGE[1]:
            raise BadInputError("the points leave the focal length open: they are flat, or far away; give it")
        variances, focal = self._variances(solved.jacobian, sigma)
        cameras, residuals, at = [], [], 0
        for entry, (rotation, centre) in zip(self.seen, path.poses, strict=True):
            cameras.append(
                Pinhole(
                    self.size, path.focal, (float(self.principal[0]), float(self.principal[1])),
                    nearest_rotation(rotation), centre * self.unit + self.shift,
                )
            )  # fmt: skip
            residuals.append(solved.residuals[at : at + entry.pixels.size].reshape(-1, 2))
            at += entry.pixels.size
        return PathFit(
            tuple(entry.frame for entry in self.seen),
            tuple(cameras),
            tuple(residuals),
            tuple(np.sqrt(block[:3]) for block in variances),
            tuple(np.sqrt(block[3:]) * self.unit for block in variances),
            path.focal * float(np.sqrt(focal)) if focal is not None else None,
            sigma,
            skipped,
        )

    def _variances(self, jacobian: Any, sigma: float) -> tuple[list[Array], float | None]:
        """The variances (6,) of every frame's pose, and that of the logarithm of the focal length."""
        scale = np.sqrt(np.asarray(jacobian.power(2).sum(axis=0)).ravel())
        if not (scale > 0).all():
            raise BadInputError("the points leave a frame's camera undetermined; pick more")
        normal = jacobian @ sparse.diags(1 / scale)
        try:
            factors = splu((normal.T @ normal).tocsc())
        except RuntimeError as error:  # exactly singular
            raise BadInputError("the points leave the focal length or a camera open; give it, or pick more") from error
        if float(np.abs(factors.U.diagonal()).min()) < 1e-14:
            raise BadInputError("the points leave the focal length or a camera open; give it, or pick more")

        def diagonal(start: int, stop: int) -> Array:
            columns = np.zeros((self.unknowns, stop - start))
            columns[np.arange(start, stop), np.arange(stop - start)] = 1
            found = factors.solve(columns)[start:stop].diagonal()
            result: Array = np.maximum(found, 0) * sigma**2 / scale[start:stop] ** 2
            return result

        poses = [diagonal(6 * index, 6 * index + 6) for index in range(len(self.seen))]
        return poses, float(diagonal(self.unknowns - 1, self.unknowns)[0]) if self.free else None


def _inverse_left(vector: Array) -> Array:
    """The derivative (3, 3) of the logarithm of a rotation by a small turn put in front of it."""
    angle = float(np.linalg.norm(vector))
    K = cross_matrix(vector)
    if angle < 1e-4:
        return np.eye(3) - K / 2 + K @ K / 12
    half = angle / 2
    factor = (1 - half / float(np.tan(half))) / angle**2
    result: Array = np.eye(3) - K / 2 + factor * (K @ K)
    return result
