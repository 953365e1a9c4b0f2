# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks of a result as rows for a reader: each with its rating or none, failing first."""

from __future__ import annotations

from dataclasses import dataclass

from ..checklist.records import DIMENSIONS, Category, Clip, Dimension, Setting
from ..judge.records import Rating
from ..results import Results
from .text import RATING_LABELS

DIMENSION_OF: dict[Category, Dimension] = {
    category: dimension for dimension, categories in DIMENSIONS.items() for category in categories
}
_RANK = {rating: rank for rank, rating in enumerate(RATING_LABELS)}


@dataclass(frozen=True)
class CheckRow:
    """One check under the setting of the result. `first` and `last` are frames of the reference, both included."""

    clip: str
    check: str
    dimension: Dimension
    category: Category
    settings: list[Setting]
    statement: str
    subjects: list[str]
    """Names of the entities, not their ids."""
    rating: Rating | None
    """None where the check was not judged."""
    first: int
    last: int
    seconds: str
    local: str
    """The same frames counted in the clip, as statements name them."""
    evidence: list[int]
    """Frames of the reference on which the statement can be seen; may be empty."""

    @property
    def key(self) -> str:
        """Names the check within the result."""
        return f"{self.clip}/{self.check}"


def check_rows(results: Results) -> list[CheckRow]:
    """All checks that apply under the result's setting, unsatisfied first, then in order of time."""
    ratings = {
        (judgment.clip, item.check): item.rating
        for judgment in results.judgments
        if judgment.setting == results.setting
        for item in judgment.ratings
    }
    rows = [row for clip in results.clips for row in _rows_of(clip, results, ratings)]
    return sorted(rows, key=lambda row: (_RANK[row.rating], row.first, row.last, row.key))


def _rows_of(clip: Clip, results: Results, ratings: dict[tuple[str, str], Rating]) -> list[CheckRow]:
    names = {entity.id: entity.name for entity in clip.entities}
    rows = []
    for check in clip.applicable(results.setting):
        first, last = clip.frame_offset + check.start, clip.frame_offset + check.end
        start, end = results.reference.timeline.interval(first, last)
        rows.append(
            CheckRow(
                clip=clip.id,
                check=check.id,
                dimension=DIMENSION_OF[check.category],
                category=check.category,
                settings=check.settings,
                statement=check.statement,
                subjects=[names.get(subject, subject) for subject in check.subjects],
                rating=ratings.get((clip.id, check.id)),
                first=first,
                last=last,
                seconds=f"{float(start):.2f} s" if first == last else f"{float(start):.2f}–{float(end):.2f} s",
                local=str(check.start) if first == last else f"{check.start}–{check.end}",
                evidence=[clip.frame_offset + frame for frame in sorted(check.evidence_frames)],
            )
        )
    return rows
