# SPDX-License-Identifier: GPL-3.0-or-later
"""How well a bundle adjustment knows its focal length, and what to believe where it hardly does.

Least squares believe in many small residuals that are independent. Those of flow are not: what is wrong with one part
of a picture is wrong in all its frames. So the spread is taken over parts of the picture: how far apart the focal
lengths are that each of them asks for (the cluster-robust variance of Liang and Zeger, 1986).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

ROWS: Final = 3
COLUMNS: Final = 4
"""Parts of the picture."""
USUAL_SPREAD: Final = 0.35
"""Standard deviation of the logarithm of focal lengths about the usual one (focal.py)."""


def spread(
    places: Sequence[NDArray[np.float64]],
    pulls: Sequence[NDArray[np.float64]],
    information: float,
    size: tuple[int, int],
) -> float:
    """Standard deviation of a parameter; inf where nothing observes it.

    `places` (m, 2) are samples in pixels from the middle of a picture of `size` (width, height), `pulls` (m,) the sums
    of weight times residual times derivative of each, which add up to 0; `information` is that of the parameter.
    """
    if information <= 0:
        return float("inf")
    sums = np.zeros(ROWS * COLUMNS)
    for place, pull in zip(places, pulls, strict=True):
        sums += np.bincount(part_of(place, size), weights=pull, minlength=len(sums))
    return float(np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1))) / information


def part_of(places: NDArray[np.float64], size: tuple[int, int]) -> NDArray[np.intp]:
    """The part of the picture (m,) that places (m, 2), in pixels from its middle, lie in."""
    column = np.clip(((places[:, 0] / size[0] + 0.5) * COLUMNS).astype(np.intp), 0, COLUMNS - 1)
    row = np.clip(((places[:, 1] / size[1] + 0.5) * ROWS).astype(np.intp), 0, ROWS - 1)
    return np.asarray(row * COLUMNS + column, np.intp)


def weight_of_usual(cost: float, frames: int) -> float:
    """What the squared distance of the logarithm of the focal length from the usual one weighs beside a `cost`.

    Of n independent residuals of unknown spread the likelihood is cost^(−n/2). They count as one for every part of
    every frame, however many they are: a focal length that hardly explains more is no reason to leave what is usual.
    """
    return cost / (ROWS * COLUMNS * frames * USUAL_SPREAD**2)
