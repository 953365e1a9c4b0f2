# SPDX-License-Identifier: GPL-3.0-or-later
"""How far two pictures' colours are apart, in CIE 1976 L*a*b* (D65), and how much brighter one is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from .grey import grey, is_black

CELLS: Final = 16
"""Along the longer side: colours are compared by the means of cells, so that a small shift does not count."""
_QUANTILES: Final = np.linspace(0.005, 0.995, 100)

Values = NDArray[np.float32]


@dataclass(frozen=True)
class ColourDifference:
    """Distances in L*a*b*, where 2 is just seen; None with a `reason` where there is nothing to compare.

    `difference` is the mean distance of the cells; `lightness`, `red` (against green) and `yellow` (against blue) say
    how the mean of ours differs; `histogram` is the distance of the distributions, wherever in the picture the colours
    are; `exposure` is the ratio of the mean linear luminances, ours to the reference's.
    """

    difference: float | None
    lightness: float | None
    red: float | None
    yellow: float | None
    histogram: float | None
    exposure: float | None
    reason: str = ""


def unknown_colour(reason: str) -> ColourDifference:
    """No figure, and why."""
    return ColourDifference(None, None, None, None, None, None, reason)


def measure_colour(reference: NDArray[np.uint8], ours: NDArray[np.uint8]) -> ColourDifference:
    """The differences of `ours` against `reference`, (h, w, 3) uint8 RGB (sRGB) of one size."""
    if is_black(grey(reference)):
        return unknown_colour("the reference is black")
    given, made = _lab(reference), _lab(ours)
    apart = _cells(made) - _cells(given)
    light, red, yellow = (float(value) for value in (made - given).mean(axis=(0, 1)))
    spread = [
        float(np.abs(np.quantile(made[..., axis], _QUANTILES) - np.quantile(given[..., axis], _QUANTILES)).mean())
        for axis in range(3)
    ]
    dark = is_black(grey(ours))
    return ColourDifference(
        float(np.linalg.norm(apart, axis=-1).mean()), light, red, yellow, float(np.linalg.norm(spread)),
        None if dark else _luminance(ours) / _luminance(reference),
        "ours is black, so it has no exposure" if dark else "",
    )  # fmt: skip


def _lab(picture: NDArray[np.uint8]) -> Values:
    return np.asarray(cv2.cvtColor(picture.astype(np.float32) / 255, cv2.COLOR_RGB2Lab), np.float32)


def _cells(values: Values) -> Values:
    height, width = values.shape[:2]
    scale = CELLS / max(height, width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(cv2.resize(values, size, interpolation=cv2.INTER_AREA), np.float32)


def _luminance(picture: NDArray[np.uint8]) -> float:
    value = picture.astype(np.float32) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    return float((linear @ np.array([0.2126, 0.7152, 0.0722], np.float32)).mean())
