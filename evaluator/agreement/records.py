# SPDX-License-Identifier: GPL-3.0-or-later
"""A study of whether people prefer what the judge prefers, as it lies on disk (paper, appendix D).

STUDY/study.json         Study: every comparison, with the names that raters do not see
STUDY/votes/RATER.json   Votes: what one rater chose
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from ..checklist.records import Dimension, Identifier, Setting
from ..records import Record

STUDY_FORMAT: Final = "matchcut-agreement-study/1"
VOTES_FORMAT: Final = "matchcut-agreement-votes/1"
AGREEMENT_FORMAT: Final = "matchcut-agreement/1"
STUDY_FILE: Final = "study.json"

Choice = Literal["a", "tie", "b", "issue"]
CHOICES: Final[tuple[Choice, ...]] = ("a", "tie", "b", "issue")
Preference = Literal["a", "tie", "b"]


class Task(Record):
    """One comparison: which of two reconstructions of a clip is nearer to the reference in one dimension."""

    id: Identifier
    dimension: Dimension
    setting: Setting
    video: Identifier
    clip: Identifier
    a: Identifier
    """The configuration that is shown as A."""
    b: Identifier


class Study(Record):
    """All comparisons of a study. The same pair of reconstructions in two dimensions are two tasks."""

    format: Literal["matchcut-agreement-study/1"] = STUDY_FORMAT
    benchmark: str
    """Name and version."""
    seed: int
    configurations: list[Identifier]
    tasks: list[Task]


class Vote(Record):
    """What a rater chose. `issue` is a task that cannot be rated, with an explanation."""

    task: Identifier
    choice: Choice
    explanation: Annotated[str, Field(max_length=1000)] = ""


class Votes(Record):
    """All votes of one rater; a later vote on a task takes the place of the earlier one."""

    format: Literal["matchcut-agreement-votes/1"] = VOTES_FORMAT
    rater: Identifier
    study: str
    """Content key of the study's tasks: votes are never counted for other tasks of the same names."""
    votes: list[Vote]


class WinRate(Record):
    """How often one configuration is preferred, 0–100, ties as half, settings (and dimensions) weighing the same.

    Both rates are of the same tasks. None where there is no valid task, overall where a dimension has none.
    """

    configuration: str
    human: float | None
    automatic: float | None
    tasks: int


class VideoWinRate(WinRate):
    """The same within one video, over all its tasks."""

    video: str


class Correlation(Record):
    """Over points; None where there are fewer than three, or all are the same on one side."""

    points: int
    spearman: float | None
    pearson: float | None


class VideoAgreement(Record):
    """How many tasks of a video have the same label from people and judge."""

    video: str
    tasks: int
    same: int


class Agreement(Record):
    """What `matchcut agreement score` finds."""

    format: Literal["matchcut-agreement/1"] = AGREEMENT_FORMAT
    benchmark: str
    judge: str
    raters: list[str]
    tasks: int
    valid: dict[Dimension, int]
    """Tasks that count, of each dimension."""
    excluded: dict[str, int]
    """Number of tasks that do not count, by reason."""
    win_rates: dict[Literal["overall"] | Dimension, list[WinRate]]
    correlations: dict[Literal["overall"] | Dimension, Correlation]
    """Over configurations."""
    by_video: list[VideoWinRate]
    by_video_correlation: Correlation
    """Over configurations within videos."""
    videos: list[VideoAgreement]
    raters_alpha: float | None
    """Krippendorff's alpha of the raters among themselves, A < tie < B."""
