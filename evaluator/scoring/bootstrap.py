# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a score would move with other videos: a bootstrap that draws whole videos, since their clips are alike.

One set of draws serves every configuration and setting of a table, so that differences are paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..checklist.records import DIMENSIONS
from ..protocol.errors import BadInputError
from .items import ANY, Tally

SAMPLES: Final = 2000
LEVEL: Final = 0.95
SEED: Final = 0
MOST_MISSING: Final = 0.05
"""Share of draws that may leave a score without any clip; above it there is no interval."""


def check_samples(samples: int) -> None:
    """Raise BadInputError where the number of draws is of no use."""
    if not 100 <= samples <= 100_000:
        raise BadInputError(f"--samples {samples}: give a number from 100 to 100000")


def draw_videos(videos: int, *, samples: int = SAMPLES, seed: int = SEED) -> NDArray[np.float64]:
    """How often each video is drawn, (samples, videos): each row draws `videos` of them with replacement."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(videos, np.full(videos, 1 / videos), size=samples).astype(np.float64)


def replicates(tally: Tally, video_of: NDArray[np.int64], draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Every score once per draw, (samples, measures + 1), 0–100, the last column the overall score; NaN without clips.

    `video_of` (clips,) is the index of each clip's video among the columns of `draws`.
    """
    means = tally.means[:, :ANY]
    there = ~np.isnan(means)
    totals = np.zeros((draws.shape[1], ANY))
    counts = np.zeros_like(totals)
    np.add.at(totals, video_of, np.where(there, means, 0.0))
    np.add.at(counts, video_of, there.astype(np.float64))
    total, count = draws @ totals, draws @ counts
    scores = 100 * np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return np.column_stack([scores, scores[:, : len(DIMENSIONS)].mean(axis=1)])


def interval(values: NDArray[np.float64], level: float = LEVEL) -> tuple[float, float] | None:
    """Percentile interval of replicates (samples,); None where too many of the draws have no score."""
    found = values[~np.isnan(values)]
    if len(found) < (1 - MOST_MISSING) * len(values) or not len(found):
        return None
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def video_indices(clips: Sequence[tuple[str, str]], videos: Sequence[str]) -> NDArray[np.int64]:
    """Index among `videos` of the video of each (video, clip)."""
    number = {name: index for index, name in enumerate(videos)}
    return np.array([number[video] for video, _ in clips], np.int64)
