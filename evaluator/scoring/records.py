# SPDX-License-Identifier: GPL-3.0-or-later
"""Scores with their coverage."""

from __future__ import annotations

from typing import Literal

from ..checklist.records import Category, Dimension, Setting
from ..records import Record


class Score(Record):
    """A score on the 0–100 scale beside its coverage; None with a reason where nothing was scored."""

    value: float | None
    clips_scored: int
    clips_expected: int
    checks_scored: int
    checks_expected: int
    reason: str = ""


class ChecklistScore(Record):
    """The paper's scores (appendix C.3) of one reconstruction under one setting."""

    setting: Setting
    state: Literal["judged", "partly_judged", "not_judged"]
    reason: str = ""
    """Why nothing, or not everything, was judged."""
    overall: Score
    dimensions: dict[Dimension, Score]
    categories: dict[Category, Score]
