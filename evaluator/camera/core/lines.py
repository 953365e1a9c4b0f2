# SPDX-License-Identifier: GPL-3.0-or-later
"""A camera's focal length, principal point and orientation from lines along the axes of the world, and a horizon.

Caprile and Torre, "Using vanishing points for camera calibration", IJCV 1990, gives the start; the camera is the one
whose own vanishing points miss the drawn lines least, all sets at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...protocol.errors import BadInputError
from . import vanishing
from .fit import Fit, joined, names, weak_focal
from .least_squares import Slices, covariance_of, minimising, numeric_jacobian, used_sigma, whole
from .pinhole import (
    Array,
    Pinhole,
    check_numbers,
    check_positive,
    check_size,
    half_diagonal,
    nearest_rotation,
    picture_centre,
    rotation_of,
)
from .vanishing import AXES, Lines

Principal = tuple[float, float] | Literal["free"] | None
"""A principal point in pixels, `free`, or None for the picture's middle."""
ASSUMED_WEIGHT = 1e3
"""Weight of what is assumed against pixels of lines: it holds, and a fit that it contradicts is none."""
FOCAL_RANGE = (0.02, 500.0)
"""Of focal lengths in half diagonals: beyond, no drawn line tells one from the next."""


@dataclass(frozen=True)
class _State:
    rotation: Array
    focal: float
    """In half diagonals, as all lengths here."""
    principal: Array
    """(2,) off the given or middle one."""


@dataclass(frozen=True)
class _Problem:
    """The drawn lines in normalised coordinates."""

    sets: list[Lines]
    drawn: list[tuple[Array, Array]]
    horizon: Array | None
    """(2, 3)."""
    assumed: tuple[str, ...]
    free: tuple[bool, bool]
    """Whether the focal length and the principal point are unknown."""
    unit: float

    @property
    def unknowns(self) -> int:
        return 3 + self.free[0] + 2 * self.free[1]

    def move(self, state: _State, change: Array) -> _State:
        focal, principal = state.focal, state.principal
        if self.free[0]:
            focal *= float(np.exp(np.clip(change[3], -1, 1)))
        if self.free[1]:
            principal = principal + change[-2:]
        return _State(rotation_of(change[:3]) @ state.rotation, focal, principal)

    def errors(self, state: _State) -> Array:
        """Errors of all lines and of the horizon's two points, then those of what is assumed.

        In pixels, as if of one coordinate: that of a line is the mean of what its two ends are off, so times √2.
        """
        K = np.array([[state.focal, 0, state.principal[0]], [0, state.focal, state.principal[1]], [0, 0, 1.0]])
        parts = [
            np.sqrt(2) * vanishing.errors(K @ state.rotation[:, AXES.index(lines.letter)], *drawn)
            for lines, drawn in zip(self.sets, self.drawn, strict=True)
        ]
        if self.horizon is not None:
            line = np.linalg.solve(K.T, state.rotation[:, 2])
            parts.append(self.horizon @ line / max(float(np.hypot(line[0], line[1])), 1e-12))
        parts.append(ASSUMED_WEIGHT * _of_assumed(state.rotation, self.assumed))
        result: Array = np.concatenate(parts) * self.unit
        return result

    def __call__(self, state: _State) -> tuple[Array, Array]:
        jacobian = numeric_jacobian(lambda change: self.errors(self.move(state, change)), self.unknowns)
        return self.errors(state), jacobian


LEVEL = "the camera is held level: nothing tells its roll"
HEADING = "the camera looks along +y: nothing tells its heading"
UPRIGHT_HEADING = "the camera's right is along +x: nothing tells its heading"


def _of_assumed(rotation: Array, assumed: tuple[str, ...]) -> Array:
    """What has to be 0 for the assumptions to hold."""
    values = {LEVEL: rotation[0, 2], HEADING: rotation[2, 0], UPRIGHT_HEADING: rotation[0, 1]}
    return np.array([values[text] for text in assumed])


def fit_lines(
    size: tuple[int, int],
    sets: Sequence[Lines],
    *,
    horizon: Any = None,
    focal: float | None = None,
    principal: Principal = None,
    sigma_px: float = 1.0,
) -> Fit:
    """The camera of a picture of `size` (width, height) in which the lines of `sets` run along axes of the world.

    Two sets give focal length and orientation; three also the principal point, where it is `free`; one, or a `horizon`
    alone (x, y of two of its points), gives the orientation with a known `focal` (pixels). Vertical lines and a
    horizon give the focal length. z is up: of the cameras that fit, the one that stands upright is taken, and of those
    the one that sees the sets recede along + in their order. `sigma_px` is how well a line's ends are drawn.
    The fit is not placed. `residuals` are (lines, 2): how far either end lies off, then one row of the horizon.
    Raises BadInputError, in one line with the reason, where the lines tell no camera.
    """
    return whole(fitting_lines(size, sets, horizon=horizon, focal=focal, principal=principal, sigma_px=sigma_px))


def fitting_lines(
    size: tuple[int, int],
    sets: Sequence[Lines],
    *,
    horizon: Any = None,
    focal: float | None = None,
    principal: Principal = None,
    sigma_px: float = 1.0,
) -> Slices[Fit]:
    """`fit_lines`, letting go every millisecond or so: for a window that has to answer meanwhile."""
    check_size(size)
    check_positive("sigma_px", sigma_px)
    if focal is not None:
        check_positive("focal", focal)
    sets, unit = vanishing.checked(sets), half_diagonal(size)
    middle = picture_centre(size)
    if principal not in (None, "free"):
        x, y = check_numbers("principal", [principal], 2)[0]
        middle = (float(x), float(y))
    drawn = [vanishing.normalised(lines.segments, middle, unit) for lines in sets]
    points = [vanishing.vanishing_point(lines, *ends) for lines, ends in zip(sets, drawn, strict=True)]
    line, ends = (None, None) if horizon is None else vanishing.horizon_through(horizon, middle, unit)
    start, assumed = _start(sets, points, line, None if focal is None else focal / unit, principal == "free")
    problem = _Problem(sets, drawn, ends, assumed, (focal is None, principal == "free"), unit)
    solved = yield from minimising(problem, problem.move, start)
    return _answer(size, problem, solved.state, solved.jacobian, middle, sigma_px)


def _answer(
    size: tuple[int, int], problem: _Problem, state: _State, jacobian: Array, middle: tuple[float, float], sigma: float
) -> Fit:
    unit, free = problem.unit, problem.free
    if free[0] and not FOCAL_RANGE[0] < state.focal < FOCAL_RANGE[1]:
        raise BadInputError(
            f"focal length {state.focal * unit:.3g} px is out of all bounds: the lines of a set hardly converge; give "
            "the focal length, or choose lines that converge"
        )
    errors = problem.errors(state)
    misses = errors[: len(errors) - len(problem.assumed)]
    lines = len(misses) - (0 if problem.horizon is None else 2)
    residuals = np.abs(misses[:lines, None]).repeat(2, axis=1) / np.sqrt(2)
    if problem.horizon is not None:
        residuals = np.vstack([residuals, np.abs(misses[lines:])])
    used = used_sigma(misses, problem.unknowns - len(problem.assumed), sigma)
    covariance, share = covariance_of(jacobian, used)
    if share < 1e-9:
        raise BadInputError("the lines leave the camera undetermined; give the focal length, or draw other lines")
    scale = np.concatenate([np.ones(3), [state.focal * unit] * free[0], [unit] * 2 * free[1]])
    camera = Pinhole(
        size,
        state.focal * unit,
        (middle[0] + float(state.principal[0]) * unit, middle[1] + float(state.principal[1]) * unit),
        nearest_rotation(state.rotation),
        np.zeros(3),
    )
    fit = Fit(
        camera, False, residuals, names(*free, centre=False), covariance * np.outer(scale, scale), used, problem.assumed
    )
    notes = [f"{note[0].upper()}{note[1:]}" for note in weak_focal(fit.sigmas, camera.focal)]
    return Fit(**{**fit.__dict__, "notes": tuple(notes)})


def _start(
    sets: list[Lines], points: list[Array], horizon: Array | None, focal: float | None, free: bool
) -> tuple[_State, tuple[str, ...]]:
    """A camera near the one that is sought, and what is assumed of it."""
    principal = np.zeros(2)
    if free:
        if len(sets) < 3:
            raise BadInputError("a free principal point takes lines of all three axes; give it, or draw the third set")
        principal = vanishing.orthocentre(sets, points)
        points = [point - point[2] * np.array([*principal, 0]) for point in points]
    if focal is None:
        focal = _focal(sets, points, horizon)
    directions = [point / (focal, focal, 1) for point in points]
    directions = [direction / np.linalg.norm(direction) for direction in directions]
    if horizon is None and not sets:
        raise BadInputError("there are no lines; draw two or more along an axis of the world")
    if len(sets) > 1:
        return _State(_signed(sets, directions), focal, principal), ()
    return _of_one(sets, directions, horizon, focal)


def _focal(sets: list[Lines], points: list[Array], horizon: Array | None) -> float:
    if len(sets) == 3:
        return vanishing.focal_of_three(sets, points)
    if len(sets) == 2:
        return vanishing.focal_of_two(sets[0], sets[1], points)
    if len(sets) == 1 and sets[0].letter == "z" and horizon is not None:
        return vanishing.focal_of_horizon(points[0], horizon)
    had = [*(f"lines of {lines.axis}" for lines in sets), *(["a horizon"] if horizon is not None else [])]
    leave = "leave" if sets else "leaves"
    raise BadInputError(
        f"{joined(had or ['nothing'])} alone {leave} the focal length open; give it, or lines of a second axis"
    )


def _receding(direction: Array) -> Array:
    """A direction or its opposite, whichever leads away from the camera; at infinity to the right, or down."""
    if abs(direction[2]) > 1e-9:
        return direction if direction[2] > 0 else -direction
    lead = direction[0] if abs(direction[0]) > 1e-9 else direction[1]
    return direction if lead > 0 else -direction


def _signed(sets: list[Lines], directions: list[Array]) -> Array:
    """The rotation that has the axes of `sets` at `directions` (unit, camera's axes), signs chosen as promised."""
    found = []
    away = [_receding(direction) for direction in directions]
    for signs in itertools.product(*(lines.signs for lines in sets)):
        columns = np.zeros((3, 3))
        for lines, direction, sign in zip(sets, away, signs, strict=True):
            columns[:, AXES.index(lines.letter)] = sign * direction
        if len(sets) == 2:
            (missing,) = (index for index in range(3) if AXES[index] not in [lines.letter for lines in sets])
            columns[:, missing] = np.cross(columns[:, (missing + 1) % 3], columns[:, (missing + 2) % 3])
        if np.linalg.det(columns) > 0:
            found.append((columns[1, 2] > 1e-9, [sign < 0 for sign in signs], columns))
    if not found:
        raise BadInputError("the three axes as they recede are left-handed; leave out a sign, or turn one round")
    rotation = nearest_rotation(min(found, key=lambda entry: entry[:2])[2])
    return rotation


def _of_one(
    sets: list[Lines], directions: list[Array], horizon: Array | None, focal: float
) -> tuple[_State, tuple[str, ...]]:
    """The start from one set, or a horizon alone, or both."""
    up: Array | None = None
    if horizon is not None:
        up = np.array([focal * horizon[0], focal * horizon[1], horizon[2]])
    assumed: tuple[str, ...] = ()
    if sets and sets[0].letter == "z":
        up = _receding(directions[0])
        if len(sets[0].signs) == 1:
            return _heading(up * sets[0].signs[0], focal)
    if up is not None and not (sets and sets[0].letter != "z"):
        return _heading(-up if up[1] > -1e-9 else up, focal)
    axis = AXES.index(sets[0].letter)
    forward = sets[0].signs[0] * _receding(directions[0])
    if up is None:
        up, assumed = np.cross(forward, (1.0, 0, 0)), (LEVEL,)
        if np.linalg.norm(up) < 1e-9:  # it runs along the picture's rows: any level camera sees it so
            raise BadInputError(
                f"lines of {sets[0].axis} run level through the picture and never meet, which leaves the camera's "
                "tilt open; draw lines of a second axis"
            )
    up = up - (up @ forward) * forward
    if np.linalg.norm(up) < 1e-6:
        raise BadInputError(f"the horizon does not run near the point in which the lines of {sets[0].axis} meet")
    up *= (-1.0 if up[1] > 0 else 1.0) / np.linalg.norm(up)
    columns = np.zeros((3, 3))
    columns[:, axis], columns[:, 2] = forward, up
    columns[:, 1 - axis] = np.cross(up, forward) if axis == 0 else np.cross(forward, up)
    return _State(nearest_rotation(columns), focal, np.zeros(2)), assumed


def _heading(up: Array, focal: float) -> tuple[_State, tuple[str, ...]]:
    """A camera with the world's up at `up` (camera's axes), and a heading that is assumed."""
    up = up / np.linalg.norm(up)
    z, x = np.array([0, 0, 1.0]), np.array([1.0, 0, 0])
    if abs(up[0]) < 0.7:
        right = x - (x @ up) * up  # R[0, 1] = 0: the camera's x has no part along y
        right /= np.linalg.norm(right)
        return _State(nearest_rotation(np.column_stack([right, np.cross(up, right), up])), focal, np.zeros(2)), (
            UPRIGHT_HEADING,
        )
    ahead = z - (z @ up) * up
    ahead /= np.linalg.norm(ahead)
    return _State(nearest_rotation(np.column_stack([np.cross(ahead, up), ahead, up])), focal, np.zeros(2)), (HEADING,)
