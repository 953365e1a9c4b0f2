# SPDX-License-Identifier: GPL-3.0-or-later
"""What an edit did: a score against the one before it. No bpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .record import Check, Figure, Score

_ORDER = {"unsatisfied": 0, "partially_satisfied": 1, "fully_satisfied": 2}
NOTICED = 0.05
"""A change of a score below this is none on a panel with one decimal."""


@dataclass(frozen=True)
class FigureChange:
    """A score before and after; `after - before` where both are known."""

    figure: Figure
    before: float | None

    @property
    def by(self) -> float | None:
        """By how much it is higher now; None where one of the two is unknown."""
        if self.figure.value is None or self.before is None:
            return None
        return self.figure.value - self.before


@dataclass(frozen=True)
class CheckChange:
    """A check that is rated otherwise than before."""

    check: Check
    before: str


@dataclass(frozen=True)
class Change:
    """A score against an earlier one of the same setting and reference."""

    since: Score
    figures: tuple[FigureChange, ...]
    """Overall, the dimensions, the categories, where at least one of the two has a value."""
    sgc: float | None
    """By how much SGC is higher, which is worse; None where the two cannot be compared."""
    satisfied: tuple[CheckChange, ...]
    """Fully satisfied now, and not before."""
    failing: tuple[CheckChange, ...]
    """Fully satisfied before, and not now."""
    better: tuple[CheckChange, ...]
    """From unsatisfied to partially."""
    worse: tuple[CheckChange, ...]
    same_checks: bool
    """Whether the same checks were judged both times: else the scores are not of the same things."""

    @property
    def by(self) -> dict[str, float]:
        """By name of the figure, by how much it is higher; those of which both are known."""
        return {one.figure.name: one.by for one in self.figures if one.by is not None}


def before(score: Score, history: Sequence[Score]) -> Score | None:
    """The last score of the same setting and reference that was made before `score`."""
    earlier = [
        other
        for other in history
        if other.setting == score.setting
        and other.reference_sha256 == score.reference_sha256
        and other.folder != score.folder
        and order(other) < order(score)
    ]
    return max(earlier, key=order, default=None)


def order(score: Score) -> tuple[float, str]:
    """Sorts scores by when they were made."""
    return score.seconds, score.folder.name


def change(score: Score, since: Score) -> Change:
    """What is different of `score` against the earlier one."""
    values = {figure.name: figure.value for figure in since.figures}
    figures = [FigureChange(figure, values.get(figure.name)) for figure in score.figures]
    old = {check.key: check for check in since.checks if check.rating}
    now = {check.key: check for check in score.checks if check.rating}
    both = [
        CheckChange(check, old[key].rating)
        for key, check in now.items()
        if key in old and old[key].statement == check.statement and old[key].rating != check.rating
    ]
    full = "fully_satisfied"
    return Change(
        since=since,
        figures=tuple(one for one in figures if one.figure.value is not None or one.before is not None),
        sgc=_sgc(score, since),
        satisfied=tuple(one for one in both if one.check.rating == full),
        failing=tuple(one for one in both if one.before == full),
        better=tuple(one for one in both if _ORDER[one.before] < _ORDER[one.check.rating] < _ORDER[full]),
        worse=tuple(one for one in both if full != one.before and _ORDER[one.before] > _ORDER[one.check.rating]),
        same_checks={(key, one.statement) for key, one in old.items()}
        == {(k, one.statement) for k, one in now.items()},
    )


def signed(value: float, digits: int = 1) -> str:
    """`+4.2`, `−0.3` with a minus of the height of the plus, `±0` where it rounds to nothing."""
    text = f"{value:+.{digits}f}"
    return "±0" if not text.strip("+-0.") else text.replace("-", "−")


def _sgc(score: Score, since: Score) -> float | None:
    ours, theirs = score.sgc, since.sgc
    if ours.score is None or theirs.score is None:
        return None
    return ours.score - theirs.score if (ours.mode, ours.estimator) == (theirs.mode, theirs.estimator) else None
