# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame rate that a list of timestamps lies on, as an exact fraction; a header counts only where they agree."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

_WHOLE = (*range(1, 121), 144, 150, 200, 240, 250, 300, 480, 500, 600, 960, 1000)
STANDARD_RATES: tuple[Fraction, ...] = (
    *(Fraction(rate) for rate in _WHOLE),
    *(Fraction(1000 * rate, 1001) for rate in (12, 15, 24, 30, 48, 60, 120, 240)),
)
"""Rates that videos are made at: among those that the timestamps allow, these come first."""

LARGEST_JITTER = Fraction(1, 4)
"""Of a frame's length: timestamps that stray further from a grid are of no constant rate."""
LARGEST_GAPS = Fraction(1, 4)
"""Of the grid's places: where more are empty, the frames count as of variable rate."""
MOST_BREAKS = Fraction(1, 10)
"""Of the frames: where no more than these follow a jump of any length, forward or back, the frames between the jumps
lie on a grid each."""


@dataclass(frozen=True)
class RateFit:
    """The rate of a list of timestamps.

    `constant` means that frame f starts at start + f / rate to within a tick. `steps` (n − 1,) counts the places of
    the grid from each frame to the next, 1 without a hole, 0 where the time stands or runs backwards; it is empty where
    there is no grid.
    """

    rate: Fraction
    source: Literal["timestamps", "average_rate", "container"]
    constant: bool
    steps: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    jitter_seconds: float = 0.0
    """Largest distance of a timestamp from the grid, 0 where rounding to ticks explains it."""


def fit_rate(
    timestamps: NDArray[np.int64], time_base: Fraction, *, last_duration: int = 0, declared: Fraction | None = None
) -> RateFit:
    """Find the rate of `timestamps` (n,), in ticks of `time_base` seconds, in display order.

    A muxer rounds each timestamp to a tick, so the frame length p (in ticks) of a constant rate fulfils
    |t_i − t_0 − k_i p| ≤ 1 for every frame i at place k_i of the grid. Among the rates that do, an even spacing comes
    first, then the standard rates, then the container's `declared` one, then the simplest fraction. Timestamps that
    fit within a quarter of a frame only get the rate of that grid and count as not constant, and so do those that are
    interrupted by a few jumps, as in recordings put one behind another; others get the average, n / duration, with
    `last_duration` ticks for the last frame.
    """
    count = len(timestamps)
    if count < 2:
        return RateFit(declared or _single_frame_rate(last_duration, time_base), "container", constant=True)
    gaps = np.diff(timestamps)
    usable = gaps[gaps > 0]
    if len(usable) == 0:
        return RateFit(declared or Fraction(25), "container", constant=False)
    typical = float(np.median(usable))
    steps = np.where(gaps > 0, np.maximum(1, np.rint(gaps / typical)), 0).astype(np.int64)
    steady = steps == 1
    forward = len(usable) == len(gaps)
    if forward and int((steps - 1).sum()) <= LARGEST_GAPS * int(steps.sum()):
        fit = _fit_grid(timestamps, steps, np.ones_like(steady), time_base, declared)
        if fit is not None:
            return fit
    if (~steady).any() and int((~steady).sum()) <= MOST_BREAKS * count:
        fit = _fit_grid(timestamps, steps, steady, time_base, declared)
        if fit is not None:
            return fit
    last = last_duration if 0 < last_duration <= 10 * typical else round(typical)
    ticks = int(timestamps.max() - timestamps.min()) + max(1, last)
    return RateFit(count / (ticks * time_base), "average_rate", constant=False)


def _fit_grid(
    timestamps: NDArray[np.int64],
    steps: NDArray[np.int64],
    joined: NDArray[np.bool_],
    time_base: Fraction,
    declared: Fraction | None,
) -> RateFit | None:
    """The rate at which every frame lies on the grid of the first frame of its stretch; None where there is none.

    `joined` (n − 1,) says for each frame but the first whether it belongs to the stretch of the frame before.
    """
    places = np.concatenate([[0], np.cumsum(steps)])
    starts = np.concatenate([[0], np.where(joined, 0, np.arange(1, len(timestamps)))])
    starts = np.maximum.accumulate(starts)
    inside = np.flatnonzero(starts != np.arange(len(timestamps)))
    elapsed = (timestamps - timestamps[starts])[inside]
    places = (places - places[starts])[inside]
    gaps = np.diff(timestamps)[joined]
    jittery = float(LARGEST_JITTER) * float(np.median(gaps))
    for tolerance in (min(1.0, jittery), jittery):
        bounds = _period_bounds(elapsed, places, tolerance)
        if bounds is not None:
            rate = _choose(gaps, steps[joined], bounds, time_base, declared)
            period = float(1 / (rate * time_base))
            on_grid = tolerance <= 1.0
            jitter = 0.0 if on_grid else float(np.abs(elapsed - places * period).max()) * float(time_base)
            return RateFit(rate, "timestamps", on_grid and bool((steps == 1).all()), steps, jitter)
    return None


def simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """The fraction with the smallest denominator in [low, high], 0 < low ≤ high (Stern–Brocot tree)."""
    whole = -(-low.numerator // low.denominator)
    if whole <= high:
        return Fraction(whole)
    floor = low.numerator // low.denominator
    return floor + 1 / simplest_between(1 / (high - floor), 1 / (low - floor))


def _single_frame_rate(duration: int, time_base: Fraction) -> Fraction:
    return 1 / (duration * time_base) if duration > 0 else Fraction(25)


def _period_bounds(
    elapsed: NDArray[np.int64], places: NDArray[np.int64], tolerance: float
) -> tuple[Fraction, Fraction] | None:
    """Smallest and largest frame length in ticks with which each timestamp is within `tolerance` ticks of its place."""
    lowest = int(np.argmax((elapsed - tolerance) / places))
    highest = int(np.argmin((elapsed + tolerance) / places))
    slack = Fraction(tolerance)
    low = (int(elapsed[lowest]) - slack) / int(places[lowest])
    high = (int(elapsed[highest]) + slack) / int(places[highest])
    return (max(low, Fraction(1, 1000)), high) if low <= high else None


def _choose(
    gaps: NDArray[np.int64],
    steps: NDArray[np.int64],
    bounds: tuple[Fraction, Fraction],
    time_base: Fraction,
    declared: Fraction | None,
) -> Fraction:
    lowest, highest = 1 / (bounds[1] * time_base), 1 / (bounds[0] * time_base)
    declared_fits = declared is not None and lowest <= declared <= highest
    if len(gaps) > 1 and (gaps * steps[0] == gaps[0] * steps).all():
        return 1 / (Fraction(int(gaps[0]), int(steps[0])) * time_base)
    if len(gaps) == 1 and declared == 1 / (Fraction(int(gaps[0]), int(steps[0])) * time_base):
        return declared  # a single gap proves no even spacing, but both say the same to the tick
    standard = [rate for rate in STANDARD_RATES if lowest <= rate <= highest]
    if declared is not None and declared_fits and (declared in standard or not standard):
        return declared
    if standard:
        middle = 1 / (sum(bounds) / 2 * time_base)
        return min(standard, key=lambda rate: abs(rate - middle))
    return simplest_between(lowest, highest)
