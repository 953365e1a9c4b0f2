# SPDX-License-Identifier: GPL-3.0-or-later
"""results.json: everything that is known of one reconstruction of one reference."""

from __future__ import annotations

from typing import Final, Literal

from .checklist.records import Clip, Setting
from .judge.records import Judgment, OperationalFailure
from .media.records import TimelineCheck, VideoInfo
from .records import Record
from .scoring.records import ChecklistScore
from .sgc.records import SgcResult
from .shots.records import ShotCheck

RESULTS_FORMAT: Final = "matchcut-results/1"


class Provenance(Record):
    """What produced a result. No date and no machine's path: the same input gives the same bytes."""

    matchcut: str
    python: str
    packages: dict[str, str]
    blender: str | None
    engine: str | None
    device: str | None
    samples: int | None
    seed: int


class Unscored(Record):
    """Stands in the place of a result that could not be had."""

    unscored: Literal[True] = True
    reason: str


class Results(Record):
    """The whole outcome of `matchcut score`."""

    format: Literal["matchcut-results/1"] = RESULTS_FORMAT
    reference: VideoInfo
    reconstruction: VideoInfo
    setting: Setting
    timeline: TimelineCheck
    shots: ShotCheck
    sgc: SgcResult | Unscored
    checklist: ChecklistScore | Unscored
    clips: list[Clip] = []
    judgments: list[Judgment] = []
    operational_failures: list[OperationalFailure] = []
    provenance: Provenance
