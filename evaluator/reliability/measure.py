# SPDX-License-Identifier: GPL-3.0-or-later
"""Repeats, a second judge, controls and known ratings, out of what `judge run` left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..checklist.records import DIMENSIONS, Setting
from ..judge.records import RATING_VALUES
from ..scoring.aggregate import score_tally
from ..scoring.bootstrap import interval
from ..scoring.items import CATEGORIES
from ..tables.board import RunKey, RunValues
from ..tables.results import BenchmarkItems, JudgeResults
from .records import Accord, Control, Figure, Group, Repeats
from .statistics import (
    Floats,
    cohen_kappa,
    coincidences,
    confusions,
    fleiss_kappa,
    fleiss_sums,
    label_counts,
    ordinal_alpha,
)

LABELS: Final = 3
GROUPS: Final[tuple[Group, ...]] = ("all", *DIMENSIONS)
UNDEFINED: Final = "nothing to compare, or only one rating ever occurs"
Runs = Mapping[RunKey, RunValues]
Statistic = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Labels:
    """Ratings of items side by side: `labels` (items, raters) 0 … 2, −1 where there is none.

    `video` and `category` (items,) are indices.
    """

    labels: NDArray[np.int64]
    video: NDArray[np.int64]
    category: NDArray[np.int64]

    def of(self, group: Group) -> Labels:
        """Those of one dimension."""
        if group == "all":
            return self
        wanted = np.isin(self.category, [CATEGORIES.index(name) for name in DIMENSIONS[group]])
        return Labels(self.labels[wanted], self.video[wanted], self.category[wanted])


def side_by_side(checks: BenchmarkItems, raters: Sequence[Runs], keys: Sequence[RunKey]) -> Labels:
    """The items of `keys`, each rated by every one of `raters`; a run that one of them lacks has no ratings there."""
    columns, videos, categories = [], [], []
    board = checks.board({}, samples=1)
    for key in keys:
        items = checks.items[key.setting]
        nothing = np.full(len(items), np.nan)
        values = np.column_stack([runs[key].values if key in runs else nothing for runs in raters])
        columns.append(np.where(np.isnan(values), -1, np.nan_to_num(values) * 2).astype(np.int64))
        videos.append(board.video_of[key.setting][items.clip])
        categories.append(items.category)
    if not columns:
        nothing_rated = np.empty((0, len(raters)), np.int64)
        return Labels(nothing_rated, np.empty(0, np.int64), np.empty(0, np.int64))
    return Labels(np.concatenate(columns), np.concatenate(videos), np.concatenate(categories))


def accords(labels: Labels, draws: Floats) -> dict[Group, Accord]:
    """Agreement of the first two raters, for all items and for each dimension."""
    return {group: _accord(labels.of(group), draws) for group in GROUPS}


def _accord(labels: Labels, draws: Floats) -> Accord:
    first, second = labels.labels[:, 0], labels.labels[:, 1]
    confusion = _per_video(confusions(first, second, LABELS), labels.video, draws)
    coincidence = _per_video(coincidences(label_counts(labels.labels[:, :2], LABELS)), labels.video, draws)
    whole = confusion.sum(axis=0)
    return Accord(
        items=int(whole.sum()),
        items_expected=int(((first >= 0) | (second >= 0)).sum()),
        same=_figure(_same, confusion, draws),
        kappa=_figure(cohen_kappa, confusion, draws),
        alpha=_figure(ordinal_alpha, coincidence, draws),
        confusion=[[int(count) for count in row] for row in whole],
    )


def repeats(checks: BenchmarkItems, ratings: JudgeResults, draws: Floats) -> Repeats | None:
    """How a judge agrees with itself; None where nothing was rated more than once."""
    if len(ratings.runs) < 2:
        return None
    runs = [ratings.runs[number] for number in sorted(ratings.runs)]
    keys = [key for key in runs[0] if all(key in one for one in runs)]
    labels = side_by_side(checks, runs, keys)
    if not len(labels.labels):
        return None
    always = (labels.labels >= 0).all(axis=1)
    whole = Labels(labels.labels[always], labels.video[always], labels.category[always])
    counts = label_counts(whole.labels, LABELS)
    boards = [checks.board(one, samples=1) for one in [*runs, _majorities(checks, runs, keys)]]
    return Repeats(
        times=len(runs),
        items=int(always.sum()),
        items_expected=int((labels.labels >= 0).any(axis=1).sum()),
        flip_rate=_flip_rate(whole, draws),
        no_majority=int((2 * counts.max(axis=1) <= len(runs)).sum()) if len(counts) else 0,
        kappa=_figure(fleiss_kappa, _per_video(fleiss_sums(counts), whole.video, draws), draws),
        alpha=_figure(ordinal_alpha, _per_video(coincidences(counts), whole.video, draws), draws),
        flip_rates={dimension: _flip_rate(whole.of(dimension), draws) for dimension in DIMENSIONS},
        overall={
            f"{key.configuration}, {key.setting}": [board.cell([(1.0, key, "overall")]).value for board in boards]
            for key in keys
        },
    )


def item_rows(checks: BenchmarkItems, ratings: JudgeResults) -> Iterator[list[str]]:
    """Heading, and for each item its ratings in the order of the repeats and the one of more than half of them.

    What was not rated, and what has no majority, is empty.
    """
    runs = [ratings.runs[number] for number in sorted(ratings.runs)]
    times = [f"rating_{number}" for number in sorted(ratings.runs)]
    yield ["configuration", "setting", "video", "clip", "check", "category", *times, "majority"]
    names = [*RATING_VALUES, ""]  # the last one, which −1 counts from the end, is for what there is not
    for key in dict.fromkeys(key for one in runs for key in one):
        items = checks.items[key.setting]
        labels = side_by_side(checks, runs, [key]).labels
        majorities = majority_labels(labels)
        for (video, clip), numbers in items.numbers.items():
            for check, item in numbers.items():
                given = [names[label] for label in labels[item]]
                place = [key.configuration, key.setting, video, clip, check, CATEGORIES[items.category[item]]]
                yield [*place, *given, names[majorities[item]]]


def majority_labels(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The label (items,) that more than half of all raters (items, raters) gave; −1 where there is none."""
    counts = label_counts(labels, LABELS)
    found: NDArray[np.int64] = np.where(2 * counts.max(axis=1) > labels.shape[1], counts.argmax(axis=1), -1)
    return found


def controls(checks: BenchmarkItems, ratings: JudgeResults, configuration: str) -> list[Control]:
    """Scores of a control configuration under each setting in which it was judged."""
    found = []
    for key, run in ratings.runs.get(0, {}).items():
        if key.configuration == configuration:
            items = checks.items[key.setting]
            scores = score_tally(items.tally(run.values), key.setting, run.judged, run.reasons)
            found.append(
                Control(
                    configuration=configuration,
                    setting=key.setting,
                    overall=scores.overall,
                    dimensions=scores.dimensions,
                )
            )
    return found


def known_runs(checks: BenchmarkItems, known: Mapping[Setting, Mapping[str, Mapping[str, float]]]) -> Runs:
    """Right ratings, by setting, clip and check, as if a judge had given them to one configuration.

    Raises ValueError where a clip's id is not that of exactly one clip of the benchmark.
    """
    runs = {}
    for setting, clips in known.items():
        items = checks.items[setting]
        rated = []
        for name, values in clips.items():
            keys = [key for key in items.clips if key[1] == name]
            if len(keys) != 1:
                raise ValueError(f"{len(keys)} clips of the benchmark are called {name!r}")
            rated.append((keys[0], values))
        runs[RunKey("", setting)] = RunValues(items.values(rated), len(rated), {})
    return runs


def _majorities(checks: BenchmarkItems, runs: Sequence[Runs], keys: Sequence[RunKey]) -> Runs:
    found = {}
    for key in keys:
        labels = majority_labels(side_by_side(checks, runs, [key]).labels)
        values = np.where(labels >= 0, labels / 2, np.nan)
        clips = len(np.unique(checks.items[key.setting].clip[labels >= 0]))
        found[key] = RunValues(values, clips, {})
    return found


def _flip_rate(labels: Labels, draws: Floats) -> Figure:
    if not len(labels.labels):
        return Figure(value=None, reason=UNDEFINED)
    flipped = (labels.labels != labels.labels[:, :1]).any(axis=1)
    sums = np.column_stack([flipped, np.ones(len(flipped))]).astype(np.float64)
    return _figure(_share, _per_video(sums, labels.video, draws), draws)


def _share(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        share: Floats = sums[..., 0] / sums[..., 1]
    return share


def _same(confusion: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        share: Floats = np.trace(confusion, axis1=-2, axis2=-1) / confusion.sum(axis=(-2, -1))
    return share


def _per_video(sums: Floats, video: NDArray[np.int64], draws: Floats) -> Floats:
    """Sums (videos, …) of those of the items (items, …)."""
    found = np.zeros((draws.shape[1], *sums.shape[1:]))
    np.add.at(found, video, sums)
    return found


def _figure(statistic: Statistic, per_video: Floats, draws: Floats) -> Figure:
    value = float(statistic(per_video.sum(axis=0)))
    if np.isnan(value):
        return Figure(value=None, reason=UNDEFINED)
    bounds = interval(statistic(np.tensordot(draws, per_video, axes=1))) if draws.shape[1] > 1 else None
    low, high = bounds if bounds is not None else (None, None)
    return Figure(value=value, low=low, high=high)
