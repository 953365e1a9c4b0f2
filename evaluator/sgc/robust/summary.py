# SPDX-License-Identifier: GPL-3.0-or-later
"""From pairs to a video: medians, upper tails, intervals, and a score on the estimator's own scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .points import Floats
from .records import ROBUST_COMPONENTS, ComponentSummary, NoiseFloor, RobustComponent, RobustPair
from .settings import RobustSettings

BLOCK = 5
"""Consecutive pairs are alike, so that they are drawn in blocks."""
MEANS: Final[tuple[RobustComponent, ...]] = ("invalid_share", "focal_error")
"""Components whose level is the plain mean over the pairs: a pair that could not be measured raises the first however
few there are, and of the second a shot has a few values alone, one for each of its sub-windows."""
DEFAULT_SCALE: dict[RobustComponent, float] = {
    "divergence_px": 1.0,
    "depth_log_error": 0.1,
    "unexplained_share": 0.5,
    "invalid_share": 0.5,
    "focal_error": 0.2,
}
"""For an estimator that nobody calibrated: what a plainly visible distortion measures."""


def table_of(pairs: Sequence[RobustPair]) -> Floats:
    """(pairs, components) of values, NaN for None."""
    rows = [[getattr(pair, name) for name in ROBUST_COMPONENTS] for pair in pairs]
    return np.array(rows, dtype=np.float64).reshape(len(pairs), len(ROBUST_COMPONENTS))


def levels(table: Floats) -> Floats:
    """(components,) the level of each over the last axis but one of (…, pairs, components); NaN where no pair has it.

    The mean of the median and the 90th percentile, so that neither the usual pair nor the bad ones are lost; of MEANS
    the plain mean.
    """
    ordered = np.sort(table, axis=-2)  # NaN last
    counts = (~np.isnan(table)).sum(axis=-2)
    level: Floats = (_quantile(ordered, counts, 0.5) + _quantile(ordered, counts, 0.9)) / 2
    for name in MEANS:
        place = ROBUST_COMPONENTS.index(name)
        level[..., place] = np.nansum(table[..., place], axis=-1) / np.maximum(1, counts[..., place])
    return np.where(counts > 0, level, np.nan)


def _quantile(ordered: Floats, counts: NDArray[np.intp], share: float) -> Floats:
    """The quantile (…, components) of the first `counts` of ascending values (…, pairs, components), interpolated."""
    # numpy's own, which ignores NaN, goes through a table column by column
    place = share * np.maximum(counts - 1, 0)
    below = np.floor(place).astype(np.intp)
    above = np.minimum(below + 1, np.maximum(counts - 1, 0))
    low, high = (np.take_along_axis(ordered, index[..., None, :], axis=-2)[..., 0, :] for index in (below, above))
    value: Floats = low + (place - below) * (high - low)
    return value


def score_of(level: Floats, scale: Mapping[RobustComponent, float]) -> Floats:
    """Quadratic mean of 1 − exp(−level / scale) over the components: in [0, 1), (…,) of (…, components).

    Quadratic, since a corruption shows in some components and not in others: that one is blind to it does not speak
    for the scene. One that is not known counts like the worst that is, so that nothing is gained by what cannot be
    measured any more.
    """
    parts = 1 - np.exp(-level / np.array([scale[name] for name in ROBUST_COMPONENTS]))
    worst = np.max(np.where(np.isnan(parts), 0.0, parts), axis=-1, keepdims=True)
    score: Floats = np.sqrt((np.where(np.isnan(parts), worst, parts) ** 2).mean(axis=-1))
    return score


def score_of_floor(floor: NoiseFloor, level: Floats) -> float:
    """The score of the floor's own levels, of the components that `level` has, so that both are of the same ones."""
    zero = np.array([floor.zero[name] for name in ROBUST_COMPONENTS])
    return float(score_of(np.where(np.isnan(level), np.nan, zero), floor.scale))


def drawn(pairs: int, settings: RobustSettings) -> NDArray[np.intp]:
    """(bootstrap, pairs) indices of pairs, drawn with repetition in blocks of consecutive ones; the same every time."""
    block = min(BLOCK, max(1, pairs // 2))
    count = -(-pairs // block)
    starts = np.random.default_rng(settings.seed).integers(0, pairs - block + 1, (settings.bootstrap, count))
    return (starts[..., None] + np.arange(block)).reshape(settings.bootstrap, -1)[:, :pairs].astype(np.intp)


def interval(values: Floats) -> tuple[float, float] | None:
    """The 95 % interval of bootstrap `values`, NaN ignored; None where nothing is known."""
    known = values[~np.isnan(values)]
    return None if len(known) == 0 else (float(np.percentile(known, 2.5)), float(np.percentile(known, 97.5)))


def summaries(table: Floats, settings: RobustSettings) -> dict[RobustComponent, ComponentSummary | None]:
    """Each component over the pairs that have it, with the interval of its median; None where none has it."""
    found: dict[RobustComponent, ComponentSummary | None] = {}
    for name, column in zip(ROBUST_COMPONENTS, table.T, strict=True):
        values = column[~np.isnan(column)]
        if not len(values):
            found[name] = None
            continue
        median, p90 = (float(value) for value in np.percentile(values, [50, 90]))
        ends = interval(np.median(values[drawn(len(values), settings)], axis=1)) if len(values) > 1 else None
        low, high = ends if ends is not None else (None, None)
        found[name] = ComponentSummary(median=median, p90=p90, low=low, high=high, pairs=len(values))
    return found
