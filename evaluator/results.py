# SPDX-License-Identifier: GPL-3.0-or-later
"""results.json: everything that is known of one reconstruction of one reference."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from .audit.records import AuditReport
from .checklist.records import Clip, Setting
from .judge.records import Judgment, OperationalFailure
from .media.records import TimelineCheck, VideoInfo
from .records import Record
from .scoring.records import ChecklistScore
from .sgc.records import SgcResult
from .sgc.robust.records import RobustResult
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


Sgc = Annotated[SgcResult | RobustResult, Field(discriminator="mode")]
"""SGC in one of its two modes."""


class Results(Record):
    """The whole outcome of `matchcut score`."""

    format: Literal["matchcut-results/1"] = RESULTS_FORMAT
    reference: VideoInfo
    reconstruction: VideoInfo
    setting: Setting
    timeline: TimelineCheck
    shots: ShotCheck
    sgc: Sgc | Unscored
    """Of the reconstruction: by the scene's own passes where a scene was given, else estimated from the video."""
    sgc_frames: Literal["reference", "reconstruction"] = "reference"
    """On whose timeline the frames of `sgc` count."""
    reference_sgc: Sgc | Unscored | None = None
    """Of the reference, by the same estimator; None where it was not measured."""
    audit: AuditReport | Unscored | None = None
    """What a scene holds that it may not; None where a video alone was scored."""
    checklist: ChecklistScore | Unscored
    clips: list[Clip] = []
    judgments: list[Judgment] = []
    operational_failures: list[OperationalFailure] = []
    provenance: Provenance
