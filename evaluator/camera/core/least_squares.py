# SPDX-License-Identifier: GPL-3.0-or-later
"""Levenberg-Marquardt for small problems on a curved space, and the covariance of what it finds.

Blender's Python has numpy and no scipy, and the same fit has to come out in both.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from .pinhole import Array

State = TypeVar("State")
Found = TypeVar("Found")
Step = Callable[[Any, Array, float], Array]
Slices = Generator[None, None, Found]
"""A computation that lets go between pieces of about a millisecond, and returns what it found."""


def whole(slices: Slices[Found]) -> Found:
    """A computation in one piece."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            found: Found = end.value
            return found


@dataclass(frozen=True)
class Solved(Generic[State]):
    """A minimum: the state, its residuals (m,) and their Jacobian (m, n) by the steps that `retract` takes."""

    state: State
    residuals: Array
    jacobian: Any

    @property
    def cost(self) -> float:
        """Sum of squared residuals."""
        return float(self.residuals @ self.residuals)


def dense_step(jacobian: Array, residuals: Array, damping: float) -> Array:
    """The damped step (n,) of a dense Jacobian."""
    scale = np.sqrt(damping * np.maximum((jacobian**2).sum(axis=0), 1e-12))
    stacked = np.vstack([jacobian, np.diag(scale)])
    # least squares of the stacked rows keeps twice the digits of the normal equations
    result: Array = np.linalg.lstsq(stacked, -np.concatenate([residuals, np.zeros(len(scale))]), rcond=None)[0]
    return result


def minimise(
    function: Callable[[State], tuple[Array, Any]],
    retract: Callable[[State, Array], State],
    state: State,
    *,
    step: Step = dense_step,
    iterations: int = 60,
) -> Solved[State]:
    """Minimise the sum of squares of `function(state)` → (residuals, Jacobian) by steps `retract(state, step)`.

    Residuals that are not finite count as infinitely bad: `function` marks a forbidden state so.
    """
    return whole(minimising(function, retract, state, step=step, iterations=iterations))


def minimising(
    function: Callable[[State], tuple[Array, Any]],
    retract: Callable[[State, Array], State],
    state: State,
    *,
    step: Step = dense_step,
    iterations: int = 60,
) -> Slices[Solved[State]]:
    """`minimise`, letting go before each of its steps."""
    residuals, jacobian = function(state)
    cost, damping = float(residuals @ residuals), 1e-4
    for _ in range(iterations):
        yield
        change = step(jacobian, residuals, damping)
        left = residuals + jacobian @ change
        if cost - float(left @ left) <= 1e-13 * cost:  # not even the linear model promises more
            break
        trial = retract(state, change)
        trial_residuals, trial_jacobian = function(trial)
        trial_cost = float(trial_residuals @ trial_residuals)
        if trial_cost < cost:
            gain = cost - trial_cost
            state, residuals, jacobian, cost = trial, trial_residuals, trial_jacobian, trial_cost
            damping = max(damping / 10, 1e-12)
            if gain <= 1e-14 * cost or cost < 1e-24 * len(residuals):
                break
        else:
            damping *= 8
            if damping > 1e8:
                break
    return Solved(state, residuals, jacobian)


def numeric_jacobian(function: Callable[[Array], Array], count: int, step: float = 1e-6) -> Array:
    """Central differences (m, count) of `function` about zero."""
    columns = []
    for index in range(count):
        change = np.zeros(count)
        change[index] = step
        columns.append((function(change) - function(-change)) / (2 * step))
    return np.column_stack(columns)


def covariance_of(jacobian: Array, sigma: float) -> tuple[Array, float]:
    """(JᵀJ)⁻¹ σ² (n, n), and how well it is determined: the least singular value over the largest, columns scaled."""
    scale = np.sqrt((jacobian**2).sum(axis=0))
    if not (scale > 0).all():
        return np.full((jacobian.shape[1],) * 2, np.inf), 0.0
    _, values, right = np.linalg.svd(jacobian / scale, full_matrices=False)
    share = float(values[-1] / values[0])
    if share < 1e-12 or len(values) < jacobian.shape[1]:
        return np.full((jacobian.shape[1],) * 2, np.inf), 0.0
    half = (right.T / values) / scale[:, None] * sigma
    return half @ half.T, share


def used_sigma(residuals: Array, unknowns: int, sigma: float) -> float:
    """The standard deviation of a pixel coordinate: the one given, or that of the residuals where they say more.

    Residuals are in pixels; with fewer than 3 to spare they say too little.
    """
    spare = len(residuals) - unknowns
    if spare < 3:
        return sigma
    return max(sigma, float(np.sqrt(residuals @ residuals / spare)))
