# SPDX-License-Identifier: GPL-3.0-or-later
"""A camera from points whose places in the world and in the picture are known.

Starts come from triples of the points at several focal lengths (three_points.py); the best are refined by the
reprojection error of all points. Minima that fit nearly as well as the best are told: a plane seen from afar has two.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...protocol.errors import BadInputError
from .fit import Fit, names, weak_focal
from .least_squares import Slices, Solved, covariance_of, minimising, used_sigma, whole
from .lines import FOCAL_RANGE, Principal
from .pinhole import (
    Array,
    Pinhole,
    check_numbers,
    check_positive,
    check_size,
    cross_matrix,
    half_diagonal,
    nearest_rotation,
    picture_centre,
    rotation_of,
)
from .three_points import poses_of_three

FOCAL_STARTS: Final = tuple(float(focal) for focal in np.geomspace(0.2, 40, 16))
"""In half diagonals of the picture."""
TRIPLES, REFINED = 4, 7
AMBIGUOUS: Final = 9.0
"""Another minimum is told where its sum of squared residuals over σ² is above the best's by less than this: 3 σ."""
FLAT: Final = 1e-6
"""Points are planar, or on a line, where they extend by less than this share of their size."""


class State(NamedTuple):
    """A camera while it is refined; lengths of the picture in pixels."""

    rotation: Array
    centre: Array
    focal: float
    principal: Array


def retracted(state: State, change: Array, unit: tuple[float, float], free: tuple[bool, bool]) -> State:
    """A state moved by (rotation 3, centre 3 in world units of `unit[0]`, log focal?, principal 2 in `unit[1]` px?)."""
    focal, principal = state.focal, state.principal
    if free[0]:
        focal *= float(np.exp(np.clip(change[6], -1, 1)))
    if free[1]:
        principal = principal + change[-2:] * unit[1]
    return State(rotation_of(change[:3]) @ state.rotation, state.centre + change[3:6] * unit[0], focal, principal)


def reprojection(
    state: State, points: Array, pixels: Array, unit: tuple[float, float], free: tuple[bool, bool]
) -> tuple[Array, Array]:
    """Residuals (2n,) in pixels, found − picked, and their Jacobian (2n, 6…9) by the steps of `retracted`.

    A point that is not in front of the camera makes all of them infinite.
    """
    seen = (points - state.centre) @ state.rotation.T
    z = seen[:, 2]
    count = 6 + free[0] + 2 * free[1]
    if not (z > 1e-9 * np.abs(seen).max()).all():
        return np.full(2 * len(points), np.inf), np.zeros((2 * len(points), count))
    flat = seen[:, :2] / z[:, None]
    jacobian = np.zeros((len(points), 2, count))
    by_seen = np.zeros((len(points), 2, 3))
    by_seen[:, 0, 0] = by_seen[:, 1, 1] = state.focal / z
    by_seen[:, :, 2] = -state.focal * flat / z[:, None]
    jacobian[:, :, :3] = -by_seen @ cross_matrix(seen)
    jacobian[:, :, 3:6] = -by_seen @ state.rotation * unit[0]
    if free[0]:
        jacobian[:, :, 6] = state.focal * flat
    if free[1]:
        jacobian[:, 0, -2] = jacobian[:, 1, -1] = unit[1]
    residuals = state.focal * flat + state.principal - pixels
    return residuals.ravel(), jacobian.reshape(-1, count)


@dataclass(frozen=True, eq=False)
class PointsFit:
    """The best camera, and others that the points cannot tell from it, best first."""

    best: Fit
    others: tuple[Fit, ...]


def fit_points(
    size: tuple[int, int],
    points: ArrayLike,
    pixels: ArrayLike,
    *,
    focal: float | None = None,
    principal: Principal = None,
    sigma_px: float = 1.0,
    near: Pinhole | None = None,
) -> PointsFit:
    """The camera of a picture of `size` (width, height) that sees world `points` (n, 3) at `pixels` (n, 2).

    With a known `focal` length (pixels) three points are enough, though they fit up to four cameras; else four do,
    and six in general position tell one camera. A `free` principal point takes six, not in one plane. `sigma_px` is
    how well points are picked. `near` is a camera to start from, as while a point is dragged: no other one is looked
    for, which takes a tenth of the time. Raises BadInputError, in one line with the reason, where they tell no camera.
    """
    return whole(fitting_points(size, points, pixels, focal=focal, principal=principal, sigma_px=sigma_px, near=near))


def fitting_points(
    size: tuple[int, int],
    points: ArrayLike,
    pixels: ArrayLike,
    *,
    focal: float | None = None,
    principal: Principal = None,
    sigma_px: float = 1.0,
    near: Pinhole | None = None,
) -> Slices[PointsFit]:
    """`fit_points`, letting go every millisecond or so: for a window that has to answer meanwhile."""
    check_size(size)
    check_positive("sigma_px", sigma_px)
    world, picked = check_numbers("points", points, 3), check_numbers("pixels", pixels, 2)
    free = (focal is None, principal == "free")
    shift, unit = _check_points(world, picked, *free)
    diagonal = half_diagonal(size)
    middle = np.array(picture_centre(size) if principal in (None, "free") else principal, dtype=np.float64)
    check_numbers("principal", [middle], 2)
    local = (world - shift) / unit  # about 1 in size, so that one tolerance suits every scene
    focals = [check_positive("focal", focal)] if focal is not None else [start * diagonal for start in FOCAL_STARTS]
    units = (1.0, diagonal)

    def errors(state: State) -> tuple[Array, Array]:
        return reprojection(state, local, picked, units, free)

    def held(state: State) -> tuple[Array, Array]:  # the principal point stays while the rest comes near
        return reprojection(state, local, picked, units, (free[0], False))

    found = []
    if near is None:
        starts = yield from _starts(local, picked, focals, middle)
    else:
        starts = [_state(near, shift, unit, focal, middle)]
    for start in starts:
        solved = yield from minimising(
            held, lambda state, change: retracted(state, change, units, (free[0], False)), start
        )
        if free[1]:
            solved = yield from minimising(
                errors, lambda state, change: retracted(state, change, units, free), solved.state
            )
        found.append(solved)
    found = _distinct([solved for solved in found if np.isfinite(solved.cost)], 1e-6 * sigma_px**2)
    if not found:
        raise BadInputError(
            "no camera has all of these points in front of it near their places in the picture; check which point is "
            "which, and that the world is right-handed"
        )
    told = _told(found, _Back(size, shift, unit, diagonal, free, sigma_px), len(world), _is_flat(world))
    wrong = yield from _wrong_pick(found[0], local, picked, units, free, sigma_px)
    return replace(told, best=replace(told.best, notes=(*told.best.notes, *wrong)))


@dataclass(frozen=True)
class _Back:
    """From the coordinates of the solution to the caller's."""

    size: tuple[int, int]
    shift: Array
    unit: float
    diagonal: float
    free: tuple[bool, bool]
    sigma: float

    def fit(self, solved: Solved[State], sigma: float) -> tuple[Fit, float]:
        """The fit, and how well it is determined: see covariance_of."""
        state = solved.state
        covariance, share = covariance_of(solved.jacobian, sigma)
        scale = [1.0] * 3 + [self.unit] * 3 + [state.focal] * self.free[0] + [self.diagonal] * 2 * self.free[1]
        covariance = covariance * np.outer(scale, scale)
        order = [0, 1, 2, *range(6, len(scale)), 3, 4, 5]
        camera = Pinhole(
            self.size, state.focal, (float(state.principal[0]), float(state.principal[1])),
            nearest_rotation(state.rotation), state.centre * self.unit + self.shift,
        )  # fmt: skip
        parameters = names(*self.free, centre=True)
        return Fit(
            camera, True, solved.residuals.reshape(-1, 2), parameters, covariance[np.ix_(order, order)], sigma
        ), share


def _told(found: list[Solved[State]], back: _Back, count: int, flat: bool) -> PointsFit:
    """The best of the minima and those that are as good, with what has to be said."""
    best = found[0]
    sigma = used_sigma(best.residuals, best.jacobian.shape[1], back.sigma)
    fit, share = back.fit(best, sigma)
    focal = best.state.focal / back.diagonal
    if share < 1e-8 or (back.free[0] and not FOCAL_RANGE[0] < focal < FOCAL_RANGE[1]):
        reason = "the points lie in a plane that is parallel to the picture, or too far away for their size"
        if not back.free[0]:
            reason = "the points lie on a line, or on a critical surface of the camera"
        remedy = "give the focal length" if back.free[0] else "pick another point"
        raise BadInputError(f"the points leave the camera undetermined: {reason}; {remedy}")
    others = [entry for entry in found[1:] if entry.cost - best.cost < AMBIGUOUS * sigma**2]
    notes = [f"{note[0].upper()}{note[1:]}" for note in weak_focal(fit.sigmas, fit.camera.focal)]
    if others:
        kind = "more points tell them apart"
        if flat and count > 3:
            kind = "a plane has a mirrored one; a point outside of it tells them apart"
        notes.append(f"{len(others)} other camera(s) fit the points as well within 3 σ ({kind}); compare them")
    return PointsFit(replace(fit, notes=tuple(notes)), tuple(back.fit(entry, sigma)[0] for entry in others))


def _wrong_pick(
    best: Solved[State],
    local: Array,
    pixels: Array,
    units: tuple[float, float],
    free: tuple[bool, bool],
    sigma: float,
) -> Slices[list[str]]:
    """A note on the one point without which all others fit, where there is such a one."""
    count = len(local)
    rms = float(np.sqrt(best.cost / count))
    if 2 * (count - 1) < best.jacobian.shape[1] + 3 or rms < 3 * sigma:
        return []
    left = []
    distances = (best.residuals.reshape(-1, 2) ** 2).sum(axis=1)
    for index in np.argsort(-distances)[:4].tolist():
        rest = np.arange(count) != index

        def errors(state: State, rest: NDArray[np.bool_] = rest) -> tuple[Array, Array]:
            return reprojection(state, local[rest], pixels[rest], units, free)

        solved = yield from minimising(errors, lambda state, change: retracted(state, change, units, free), best.state)
        left.append((float(np.sqrt(solved.cost / (count - 1))), index))
    without, index = min(left)
    if without > rms / 4:
        return []
    return [f"Point {index} is probably wrong: without it the others fit to {without:.2f} px; pick it anew"]


def _check_points(world: Array, pixels: Array, free_focal: bool, free_principal: bool) -> tuple[Array, float]:
    """The middle of the points and their size. Raises BadInputError where they can tell no camera."""
    if len(world) != len(pixels):
        raise BadInputError(f"{len(world)} points and {len(pixels)} pixels; give one of each")
    needed = 6 if free_principal else 4 if free_focal else 3
    if len(world) < needed:
        what = "focal length and principal point" if free_principal else "focal length" if free_focal else "camera"
        raise BadInputError(f"{len(world)} points; an unknown {what} takes {needed} at least: pick more")
    for label, values in (("points", world), ("pixels", pixels)):
        _, counts = np.unique(values, axis=0, return_counts=True)
        if counts.max() > 1:
            raise BadInputError(f"{label}: two of them are at the same place; remove one")
    shift = world.mean(axis=0)
    unit = float(np.sqrt(((world - shift) ** 2).sum(axis=1).mean()))
    extents = np.linalg.svd((world - shift) / unit, compute_uv=False)
    if extents[1] <= FLAT * extents[0]:
        raise BadInputError("the points lie on one line in the world; pick one beside it")
    across = np.linalg.svd(pixels - pixels.mean(axis=0), compute_uv=False)
    if across[1] <= FLAT * across[0]:
        raise BadInputError("the points lie on one line in the picture; pick one beside it")
    if free_principal and _is_flat(world):
        raise BadInputError("the points lie in one plane, which tells no principal point; give it, or pick one outside")
    return shift, unit


def _is_flat(world: Array) -> bool:
    extents = np.linalg.svd(world - world.mean(axis=0), compute_uv=False)
    return len(world) < 4 or bool(extents[2] <= FLAT * extents[0])


def _starts(local: Array, pixels: Array, focals: list[float], middle: Array) -> Slices[list[State]]:
    """The most promising cameras, best first; all of them see the points in front."""
    scored = []
    triples = _triples(local, pixels)
    for focal in focals:
        rays = np.column_stack([(pixels - middle) / focal, np.ones(len(pixels))])
        rays /= np.linalg.norm(rays, axis=1)[:, None]
        for triple in triples:
            yield
            for rotation, centre in poses_of_three(local[triple], rays[triple]):
                state = State(rotation, centre, focal, middle)
                cost = _cost(state, local, pixels)
                if np.isfinite(cost):
                    scored.append((cost, state))
    scored.sort(key=lambda entry: entry[0])
    chosen: list[State] = []
    for _, state in scored:  # those that are alike would end in the same minimum
        yield
        if all(_apart(state, other) > 0.05 for other in chosen):
            chosen.append(state)
        if len(chosen) == REFINED:
            break
    return chosen


def _state(camera: Pinhole, shift: Array, unit: float, focal: float | None, middle: Array) -> State:
    """A camera of the caller's world as a state."""
    return State(camera.rotation, (camera.centre - shift) / unit, focal or camera.focal, middle)


def _cost(state: State, local: Array, pixels: Array) -> float:
    seen = (local - state.centre) @ state.rotation.T
    if not (seen[:, 2] > 0).all():
        return np.inf
    return float(((state.focal * seen[:, :2] / seen[:, 2:] + state.principal - pixels) ** 2).sum())


def _triples(local: Array, pixels: Array) -> list[list[int]]:
    """Triples that are large in the world and in the picture, the best first and different ones after it."""
    few = np.argsort(-np.linalg.norm(local, axis=1))[:9]  # the ones farthest from the middle
    triples = np.array(list(itertools.combinations(few.tolist(), 3)))
    a, b, c = (local[triples[:, index]] for index in range(3))
    p, q, r = (pixels[triples[:, index]] for index in range(3))
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    seen = np.abs((q - p)[:, 0] * (r - p)[:, 1] - (q - p)[:, 1] * (r - p)[:, 0])
    ranked: list[list[int]] = triples[np.argsort(-areas * seen, kind="stable")].tolist()
    chosen = [ranked[0]]
    for triple in ranked[1:]:
        if len(chosen) < TRIPLES and all(len(set(triple) & set(other)) < 3 - (len(local) > 4) for other in chosen):
            chosen.append(triple)
    return chosen


def _apart(a: State, b: State) -> float:
    """How different two cameras are: angle, way relative to the distance, log focal, whichever is largest."""
    angle = float(np.arccos(np.clip((np.trace(a.rotation @ b.rotation.T) - 1) / 2, -1, 1)))
    way = float(np.linalg.norm(a.centre - b.centre)) / (1e-12 + float(np.linalg.norm(a.centre)))
    return max(angle, way, abs(float(np.log(a.focal / b.focal))))


def _distinct(found: list[Solved[State]], same: float) -> list[Solved[State]]:
    """Minima without those that are another one again, the best first; upright ones first where costs are the same."""
    kept: list[Solved[State]] = []
    for solved in sorted(found, key=lambda entry: entry.cost):
        if all(_apart(solved.state, other.state) > 1e-3 for other in kept):
            kept.append(solved)
    as_good = [entry for entry in kept if entry.cost <= kept[0].cost + same]
    as_good.sort(key=lambda entry: float(entry.state.rotation[1, 2]))  # the picture's down against the world's up
    return as_good + kept[len(as_good) :]
