# SPDX-License-Identifier: GPL-3.0-or-later
"""The noise floors that come with the program: `evaluator/sgc/floor_*.json`, made by `matchcut sgc floor`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from .records import NoiseFloor

FOLDER: Final = Path(__file__).resolve().parents[1]


def shipped_floor(estimator: str) -> NoiseFloor | None:
    """The floor that was measured for the stack that `Geometry.estimator` names; None where there is none."""
    return next((floor for floor in _shipped() if same_stack(floor.estimator, estimator)), None)


def same_stack(first: str, second: str) -> bool:
    """Whether two texts of `Geometry.estimator` name the same estimator in the same version; settings may differ."""
    return stack_of(first) == stack_of(second)


def stack_of(estimator: str) -> str:
    """Name and version of an estimator, without its settings and what was done to its geometry."""
    return estimator.replace(",", " ").replace("(", " ").split()[0] if estimator.strip() else ""


@cache
def _shipped() -> tuple[NoiseFloor, ...]:
    return tuple(NoiseFloor.read(path) for path in sorted(FOLDER.glob("floor_*.json")))
