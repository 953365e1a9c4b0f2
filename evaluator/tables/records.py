# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of a benchmark's scores, as they are written and rendered."""

from __future__ import annotations

from typing import Final, Literal

from ..records import Record
from ..scoring.records import Score

TABLE_FORMAT: Final = "matchcut-table/1"
KINDS: Final = ("scores", "categories", "gaps", "ablation")

Kind = Literal["scores", "categories", "gaps", "ablation", "kinds"]
"""`kinds` is made by bench table alone."""


class Cell(Score):
    """A score, a mean of scores, or a difference, with its coverage and its interval.

    `low` and `high` bound it (bootstrap by video); None where there are too few videos. A mean's or difference's
    coverage is the sum of those of its parts.
    """

    low: float | None = None
    high: float | None = None


class Row(Record):
    """One line: a configuration, or the mean over configurations, with a cell for each column."""

    name: str
    cells: list[Cell]
    is_judge: bool = False
    """The configuration is the judge's own model."""
    is_disqualified: bool = False
    """The audit found something forbidden in what it handed in: its scores stand, and no mean counts them."""


class Block(Record):
    """Lines that belong together: those of one setting."""

    title: str
    columns: list[str]
    rows: list[Row]
    note: str = ""


class Bootstrap(Record):
    """How the intervals were made: whole videos are drawn with replacement."""

    samples: int
    seed: int
    level: float
    videos: int


class Table(Record):
    """What `matchcut table` prints; `--format json` is this record."""

    format: Literal["matchcut-table/1"] = TABLE_FORMAT
    kind: Kind
    title: str
    benchmark: str
    """Name and version."""
    judge: str
    bootstrap: Bootstrap
    blocks: list[Block]
    notes: list[str]
