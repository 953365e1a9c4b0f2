# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of the leaderboard's first table: who comes first, with all scores and what a task cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..checklist.records import Setting
from ..tables.board import Board, RunKey
from ..tables.make import SCORES, over_settings
from ..tables.records import Cell
from .breakdown import Point, Spent


@dataclass(frozen=True)
class Standing:
    """One line. `rank` is None for a configuration without a score and for a disqualified one."""

    rank: int | None
    configuration: str
    cells: list[Cell]
    """In the order of SCORES."""
    spent: Spent
    is_disqualified: bool


def standings(board: Board, points: Sequence[Point], setting: Setting | None) -> list[Standing]:
    """The best overall score first; equal scores share a rank; what has no rank comes last."""
    ranked = sorted(
        (one.score.value for one in points if one.score.value is not None and not one.is_disqualified), reverse=True
    )
    lines = []
    for one in points:
        counts = one.score.value is not None and not one.is_disqualified
        cells = [
            over_settings(board, one.configuration, [(1.0, measure)])
            if setting is None
            else board.cell([(1.0, RunKey(one.configuration, setting), measure)])
            for measure in SCORES
        ]
        rank = 1 + sum(value > one.score.value for value in ranked) if counts and one.score.value is not None else None
        lines.append(Standing(rank, one.configuration, cells, one.spent, one.is_disqualified))
    return sorted(lines, key=lambda line: (line.rank is None, line.rank or 0, line.configuration))
