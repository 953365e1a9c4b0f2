# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a judge can be trusted: with itself, with another judge, with what is known."""

from __future__ import annotations

from typing import Final, Literal

from ..checklist.records import Dimension, Setting
from ..records import Record
from ..scoring.records import Score

RELIABILITY_FORMAT: Final = "matchcut-reliability/1"

Group = Literal["all"] | Dimension


class Figure(Record):
    """A number with its interval (95 %, bootstrap by video); None with a reason where it is not defined."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""


class Accord(Record):
    """How two sets of ratings of the same items agree."""

    items: int
    """Rated in both."""
    items_expected: int
    """Rated in either."""
    same: Figure
    """Share of equal ratings. High by itself where one rating is frequent: see kappa and alpha."""
    kappa: Figure
    """Cohen's kappa."""
    alpha: Figure
    """Krippendorff's alpha, ordinal."""
    confusion: list[list[int]]
    """Rows the first, columns the second: unsatisfied, partially satisfied, fully satisfied."""


class Repeats(Record):
    """The same evidence rated several times by one judge."""

    times: int
    items: int
    """Rated every time."""
    items_expected: int
    """Rated at least once."""
    flip_rate: Figure
    """Share of items whose ratings are not all the same."""
    no_majority: int
    """Items of which no rating was given by more than half."""
    kappa: Figure
    """Fleiss' kappa."""
    alpha: Figure
    flip_rates: dict[Dimension, Figure]
    overall: dict[str, list[float | None]]
    """`CONFIGURATION, SETTING` → overall score each time, and at the end that of the majorities."""


class Control(Record):
    """Scores of a reconstruction whose right scores are known: the reference itself, or a foreign video."""

    configuration: str
    setting: Setting
    overall: Score
    dimensions: dict[Dimension, Score]


class Known(Record):
    """Ratings against the right ones of a sample."""

    configuration: str
    accords: dict[Group, Accord]
    """Rows of a confusion are the right ratings; `same` is the accuracy."""


class Second(Record):
    """Another judge on the same evidence."""

    judge: str
    accords: dict[Group, Accord]


class Reliability(Record):
    """What `matchcut judge reliability` finds; `missing` gives the reason for a part that is None or empty."""

    format: Literal["matchcut-reliability/1"] = RELIABILITY_FORMAT
    benchmark: str
    judge: str
    own_configurations: list[str]
    """Contestants that are the judge's own model."""
    repeats: Repeats | None
    second: Second | None
    ceiling: list[Control]
    floor: list[Control]
    known: Known | None
    missing: list[str]
