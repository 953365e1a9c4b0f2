# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks of one setting as arrays, and the means of their values within each clip (paper, appendix C.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..checklist.records import DIMENSIONS, Category, Clip, Dimension, Setting

ClipKey = tuple[str, str]  # video, clip

CATEGORIES: Final[tuple[Category, ...]] = tuple(name for names in DIMENSIONS.values() for name in names)
MEASURES: Final[tuple[Dimension | Category, ...]] = (*DIMENSIONS, *CATEGORIES)
"""What is averaged within a clip, in the order of a tally's columns; one more column holds the checks of any kind."""
ANY: Final = len(MEASURES)


def _counts_in() -> NDArray[np.float64]:
    """(categories, measures + 1): the columns that a category's checks count in."""
    columns = [{dimension, *names} for dimension, names in DIMENSIONS.items()] + [{name} for name in CATEGORIES]
    rows = [[category in column for column in columns] + [True] for category in CATEGORIES]
    return np.array(rows, np.float64)


_COUNTS_IN: Final = _counts_in()


@dataclass(frozen=True)
class Tally:
    """Values averaged within each clip; arrays (clips, measures + 1) in the order of MEASURES, the last for any check.

    `expected` and `rated` count checks; `means` holds 0 … 1, NaN where no check of the kind was rated.
    """

    expected: NDArray[np.float64]
    rated: NDArray[np.float64]
    means: NDArray[np.float64]


@dataclass(frozen=True)
class Items:
    """The checks that apply under one setting, numbered through; `clip` and `category` (items,) are indices."""

    setting: Setting
    clips: tuple[ClipKey, ...]
    """The clips that have a check under the setting."""
    numbers: Mapping[ClipKey, Mapping[str, int]]
    """Number of each check of each clip, in the order of the file."""
    clip: NDArray[np.int64]
    category: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.clip)

    def asks(self, measure: Dimension | Category) -> bool:
        """Whether any check counts in a measure."""
        return bool(_COUNTS_IN[np.unique(self.category), MEASURES.index(measure)].any())

    def values(self, rated: Iterable[tuple[ClipKey, Mapping[str, float]]]) -> NDArray[np.float64]:
        """Values (items,) out of those of some clips' checks; NaN where there is none. What was not asked is left."""
        values = np.full(len(self), np.nan)
        for key, ratings in rated:
            for check, number in self.numbers[key].items():
                if check in ratings:
                    values[number] = ratings[check]
        return values

    def tally(self, values: NDArray[np.float64]) -> Tally:
        """Means within each clip of `values` (items,); NaN is not rated."""
        place = self.clip * len(CATEGORIES) + self.category
        rated = ~np.isnan(values)

        def per_clip(weights: NDArray[np.float64]) -> NDArray[np.float64]:
            cells = np.bincount(place, weights, minlength=len(self.clips) * len(CATEGORIES))
            return cells.reshape(len(self.clips), len(CATEGORIES)) @ _COUNTS_IN

        count, total = per_clip(rated.astype(np.float64)), per_clip(np.where(rated, values, 0.0))
        # sums of halves are exact, so neither the order of the checks nor that of the clips changes a digit
        means = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
        return Tally(per_clip(np.ones(len(self))), count, means)


def items_of(clips: Sequence[Clip], setting: Setting) -> Items:
    """Number the checks of `clips` that apply under `setting`."""
    numbers: dict[ClipKey, dict[str, int]] = {}
    clip_of: list[int] = []
    category_of: list[int] = []
    for clip in clips:
        checks = clip.applicable(setting)
        if checks:
            first = len(clip_of)
            clip_of += [len(numbers)] * len(checks)
            category_of += [CATEGORIES.index(check.category) for check in checks]
            numbers[clip.video, clip.id] = {check.id: first + index for index, check in enumerate(checks)}
    return Items(setting, tuple(numbers), numbers, np.array(clip_of, np.int64), np.array(category_of, np.int64))
