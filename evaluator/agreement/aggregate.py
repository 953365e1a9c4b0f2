# SPDX-License-Identifier: GPL-3.0-or-later
"""From votes and scores to win rates and their correlation (paper, appendix D)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import fsum
from typing import Final, Literal

import numpy as np

from ..checklist.records import DIMENSIONS, SETTINGS, Dimension
from ..protocol.errors import BadInputError
from ..protocol.files import content_key
from ..reliability.statistics import coincidences, label_counts, ordinal_alpha
from .records import (
    Agreement,
    Choice,
    Correlation,
    Preference,
    Study,
    Task,
    VideoAgreement,
    VideoWinRate,
    Votes,
    WinRate,
)

RATERS: Final = 3
_POINTS: Final[dict[Preference, float]] = {"a": 1.0, "tie": 0.5, "b": 0.0}
Labels = Mapping[str, Preference]
"""The label of each valid task."""


def study_key(study: Study) -> str:
    """Content key of the tasks."""
    return content_key([task.model_dump(mode="json") for task in study.tasks])


def majority(choices: Sequence[Choice], raters: int = RATERS) -> tuple[Preference | None, str]:
    """The label that more than half of `raters` chose, or None with the reason why the task does not count.

    One issue report takes a task out, and so does a split.
    """
    if "issue" in choices:
        return None, "issue reported"
    if len(choices) < raters:
        return None, "too few votes"
    choice, count = Counter(choices).most_common(1)[0]
    if 2 * count <= len(choices) or choice == "issue":
        return None, "no majority"
    return choice, ""


def aggregate(
    study: Study,
    votes: Sequence[Votes],
    automatic: Mapping[str, tuple[float | None, float | None]],
    *,
    judge: str,
    raters: int = RATERS,
) -> Agreement:
    """Compare people and judge on the same tasks.

    `automatic` gives for each task the scores of A and B in its dimension, clip and setting. A task that lacks one does
    not count, on either side. Raises BadInputError where votes are of another study or a rater comes twice.
    """
    choices = _choices(study, votes)
    human: dict[str, Preference] = {}
    machine: dict[str, Preference] = {}
    excluded: Counter[str] = Counter()
    for task in study.tasks:
        label, reason = majority(choices[task.id], raters)
        a, b = automatic.get(task.id, (None, None))
        if label is None:
            excluded[reason] += 1
        elif a is None or b is None:
            excluded["no automatic score"] += 1
        else:
            human[task.id] = label
            machine[task.id] = "a" if a > b else "b" if b > a else "tie"
    valid = [task for task in study.tasks if task.id in human]
    names: tuple[Literal["overall"] | Dimension, ...] = ("overall", *DIMENSIONS)
    rates = {name: [_win_rate(one, name, valid, human, machine) for one in study.configurations] for name in names}
    by_video = _by_video(study, valid, human, machine)
    same = Counter(task.video for task in valid if human[task.id] == machine[task.id])
    asked = Counter(task.video for task in valid)
    return Agreement(
        benchmark=study.benchmark,
        judge=judge,
        raters=sorted(one.rater for one in votes),
        tasks=len(study.tasks),
        valid={dimension: sum(task.dimension == dimension for task in valid) for dimension in DIMENSIONS},
        excluded=dict(sorted(excluded.items())),
        win_rates=rates,
        correlations={name: correlation(found) for name, found in rates.items()},
        by_video=by_video,
        by_video_correlation=correlation(by_video),
        videos=[VideoAgreement(video=name, tasks=asked[name], same=same[name]) for name in sorted(asked)],
        raters_alpha=_raters_alpha(choices, len(votes)),
    )


def correlation(rates: Sequence[WinRate]) -> Correlation:
    """Spearman and Pearson correlation of human and automatic win rates."""
    from scipy import stats

    points = [(one.human, one.automatic) for one in rates if one.human is not None and one.automatic is not None]
    if len(points) < 3 or any(len(set(side)) == 1 for side in zip(*points, strict=True)):
        return Correlation(points=len(points), spearman=None, pearson=None)
    human, machine = np.array(points).T
    return Correlation(
        points=len(points),
        spearman=float(stats.spearmanr(human, machine).statistic),
        pearson=float(stats.pearsonr(human, machine).statistic),
    )


def _choices(study: Study, votes: Sequence[Votes]) -> dict[str, list[Choice]]:
    """The choices of every task, one for each rater who voted on it."""
    key, found = study_key(study), {task.id: list[Choice]() for task in study.tasks}
    seen: set[str] = set()
    for one in votes:
        if one.study != key:
            raise BadInputError(
                f"the votes of {one.rater!r} are of another study; put each study into a folder of its own"
            )
        if one.rater in seen:
            raise BadInputError(f"there are two files of votes by {one.rater!r}; keep one of them")
        seen.add(one.rater)
        for task, choice in {vote.task: vote.choice for vote in one.votes}.items():
            if task in found:
                found[task].append(choice)
    return found


def _win_rate(
    name: str,
    dimension: Literal["overall"] | Dimension,
    tasks: Collection[Task],
    human: Labels,
    machine: Labels,
) -> WinRate:
    """Mean over the settings that have a task, then over the dimensions, all of which need one."""
    means: list[tuple[float, float]] = []
    count = 0
    wanted = tuple(DIMENSIONS) if dimension == "overall" else (dimension,)
    for one in wanted:
        per_setting = []
        for setting in SETTINGS:
            points = [
                (_points(name, task, human), _points(name, task, machine))
                for task in tasks
                if (task.dimension, task.setting) == (one, setting) and name in (task.a, task.b)
            ]
            count += len(points)
            if points:
                per_setting.append(_mean(points))
        if per_setting:
            means.append(_mean(per_setting))
    if len(means) < len(wanted):
        return WinRate(configuration=name, human=None, automatic=None, tasks=count)
    mean = _mean(means)
    return WinRate(configuration=name, human=100 * mean[0], automatic=100 * mean[1], tasks=count)


def _by_video(study: Study, tasks: Collection[Task], human: Labels, machine: Labels) -> list[VideoWinRate]:
    rates = []
    for video in sorted({task.video for task in tasks}):
        for name in study.configurations:
            points = [
                (_points(name, task, human), _points(name, task, machine))
                for task in tasks
                if task.video == video and name in (task.a, task.b)
            ]
            if points:
                mean = _mean(points)
                rates.append(
                    VideoWinRate(
                        configuration=name, video=video, human=100 * mean[0], automatic=100 * mean[1], tasks=len(points)
                    )
                )
    return rates


def _points(name: str, task: Task, labels: Labels) -> float:
    points = _POINTS[labels[task.id]]
    return points if name == task.a else 1 - points


def _mean(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return fsum(p[0] for p in points) / len(points), fsum(p[1] for p in points) / len(points)


def _raters_alpha(choices: Mapping[str, Sequence[Choice]], raters: int) -> float | None:
    order = {"a": 0, "tie": 1, "b": 2, "issue": -1}
    rows = [[order[choice] for choice in found] + [-1] * (raters - len(found)) for found in choices.values()]
    if raters < 2 or not rows:
        return None
    alpha = float(ordinal_alpha(coincidences(label_counts(np.array(rows, np.int64), 3)).sum(axis=0)))
    return None if np.isnan(alpha) else alpha
