# SPDX-License-Identifier: GPL-3.0-or-later
"""All scores of one judge on a benchmark, and means and differences of them with paired intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from ..checklist.records import DIMENSIONS, Category, Dimension, Setting
from ..scoring.aggregate import score_tally
from ..scoring.bootstrap import interval, replicates
from ..scoring.items import MEASURES, Items
from ..scoring.records import Score
from .records import Cell

Measure = Literal["overall"] | Dimension | Category
OVERALL: Final = "overall"
_COLUMN: Final[dict[str, int]] = {name: index for index, name in enumerate((*MEASURES, OVERALL))}


@dataclass(frozen=True)
class RunKey:
    """Whose reconstructions, under which setting."""

    configuration: str
    setting: Setting


@dataclass(frozen=True)
class RunValues:
    """The ratings of one run: values (items,) of the setting's items, NaN where there is none, and why not."""

    values: NDArray[np.float64]
    judged: int
    """Clips with ratings."""
    reasons: Mapping[str, int]
    """Number of clips without ratings, by reason."""


Term = tuple[float, RunKey, Measure]
"""A score with its weight in a sum."""


class Board:
    """Scores of every configuration and setting, made when they are asked for.

    `video_of` (clips,) of a setting's items are columns of `draws` (samples, videos), which are the same for all runs,
    so that the interval of a difference is paired.
    """

    def __init__(
        self,
        items: Mapping[Setting, Items],
        runs: Mapping[RunKey, RunValues],
        video_of: Mapping[Setting, NDArray[np.int64]],
        draws: NDArray[np.float64],
        *,
        disqualified: Collection[str] = (),
    ) -> None:
        """`disqualified` are configurations that no mean over configurations counts."""
        self.items, self.runs, self.video_of, self.draws = items, runs, video_of, draws
        self.disqualified = frozenset(disqualified)
        self._of = lru_cache(maxsize=None)(self._scored)

    @property
    def configurations(self) -> list[str]:
        """In the order of their names."""
        return sorted({key.configuration for key in self.runs})

    def settings(self) -> list[Setting]:
        """Those in which anything was run, in the usual order."""
        return [setting for setting in self.items if any(key.setting == setting for key in self.runs)]

    def expects(self, setting: Setting, measure: Measure) -> bool:
        """Whether any check of the setting counts in a measure."""
        measures = DIMENSIONS if measure == OVERALL else (measure,)
        return all(self.items[setting].asks(name) for name in measures)

    def cell(self, terms: Sequence[Term]) -> Cell:
        """The weighted sum of scores; without a value where one of them has none."""
        parts = [(weight, self._of(key)[0][measure], measure) for weight, key, measure in terms]
        missing = [
            f"{key.configuration}, {key.setting}, {measure}: {score.reason}"
            for (_, score, measure), (_, key, _) in zip(parts, terms, strict=True)
            if score.value is None
        ]
        coverage = {
            name: sum(getattr(score, name) for _, score, _ in parts)
            for name in ("clips_scored", "clips_expected", "checks_scored", "checks_expected")
        }
        if missing or not parts:
            alone = parts[0][1].reason if len(parts) == 1 else "; ".join(missing) or "nothing was run"
            return Cell(value=None, reason=alone, **coverage)
        value = fsum(weight * score.value for weight, score, _ in parts if score.value is not None)
        drawn = sum(weight * self._of(key)[1][:, _COLUMN[measure]] for weight, key, measure in terms)
        # with one video every draw is the same
        bounds = interval(np.asarray(drawn)) if self.draws.shape[1] > 1 else None
        low, high = bounds if bounds is not None else (None, None)
        reason = "; ".join(dict.fromkeys(score.reason for _, score, _ in parts if score.reason))
        return Cell(value=value, reason=reason, low=low, high=high, **coverage)

    def mean(self, runs: Sequence[RunKey], parts: Sequence[tuple[float, Measure]]) -> Cell:
        """The mean over runs, each weighing the same, of a weighted sum of scores.

        Runs without a value are left out, and the reason says how many.
        """
        whole = [
            key for key in runs if key in self.runs and self.cell([(w, key, m) for w, m in parts]).value is not None
        ]
        known = [key for key in runs if key in self.runs]
        share = 1 / len(whole) if whole else 1.0
        cell = self.cell([(weight * share, key, measure) for key in whole or known for weight, measure in parts])
        left_out = len(runs) - len(whole)
        note = f"the mean of {len(whole)} of {len(runs)}" if left_out and whole else ""
        return cell.model_copy(update={"reason": "; ".join(part for part in (note, cell.reason) if part)})

    def paired(self, first: str, second: str) -> Board:
        """The same of two configurations, with only those items that have a value in both of them."""
        runs: dict[RunKey, RunValues] = {}
        for setting in self.items:
            keys = [RunKey(first, setting), RunKey(second, setting)]
            if all(key in self.runs for key in keys):
                one, other = (self.runs[key].values for key in keys)
                both = ~np.isnan(one) & ~np.isnan(other)
                clips = len(set(self.items[setting].clip[both].tolist()))
                unpaired = len(self.items[setting].clips) - clips
                reasons = Counter({"not rated for both": unpaired}) if unpaired else Counter[str]()
                for key in keys:
                    runs[key] = RunValues(np.where(both, self.runs[key].values, np.nan), clips, reasons)
        return Board(self.items, runs, self.video_of, self.draws, disqualified=self.disqualified)

    def _scored(self, key: RunKey) -> tuple[dict[str, Score], NDArray[np.float64]]:
        """Every score of one run, and its replicates (samples, measures + 1)."""
        run, items = self.runs[key], self.items[key.setting]
        tally = items.tally(run.values)
        scores = score_tally(tally, key.setting, run.judged, run.reasons)
        named: dict[str, Score] = {OVERALL: scores.overall}
        named |= {str(name): score for name, score in scores.dimensions.items()}
        named |= {str(name): score for name, score in scores.categories.items()}
        return named, replicates(tally, self.video_of[key.setting], self.draws)
