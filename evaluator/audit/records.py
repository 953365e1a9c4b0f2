# SPDX-License-Identifier: GPL-3.0-or-later
"""What an audit found in a scene."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import model_validator

from ..records import Record
from .rerender_records import RerenderReport

Severity = Literal["forbidden", "suspicious", "note"]


class FrameMatch(Record):
    """A picture of the scene that shows a frame of the reference."""

    picture: str = ""
    """Which picture of a sequence, of tiles or of several frames; empty where there is one only."""
    frame: int
    """Of the reference, from 0; neighbours that look alike may match as well."""
    how: Literal["whole", "part"]
    """All of the frame is seen, or a part of the picture and a part of the frame are the same."""
    score: float
    """whole: the lower of both correlations, at most 1; part: the share of matched features that agree."""


class AuditFinding(Record):
    """One thing in the scene that is forbidden, that a person should look at, or that is told."""

    severity: Severity
    kind: str
    """A key of `reasons.WHY`."""
    type: str
    """Of the datablock, as people call it: `image`, `movie clip`, `mesh`."""
    name: str
    what: str
    where: list[str] = []
    """Places of use, the ones that count first."""
    why: str
    matches: list[FrameMatch] = []


class AuditReport(Record):
    """All findings of one scene, the gravest first. The same files give the same bytes with the same Blender."""

    format: Literal["matchcut-audit/1"] = "matchcut-audit/1"
    scene: str
    """File name of the .blend."""
    scene_sha256: str
    rendered_scene: str
    """The scene within the file that was taken as the one that renders."""
    reference: str
    reference_sha256: str
    reference_frames: int
    blender: str
    passed: bool
    """Whether nothing forbidden was found, and no frame that was rendered again differs from the video."""
    findings: list[AuditFinding]
    notes: list[str] = []
    """What could not be looked at or was left out."""
    pictures_compared: int
    """Pictures of the scene that were compared with the reference's frames."""
    rerender: RerenderReport | None = None
    """None where no frame was asked to be rendered again."""

    @model_validator(mode="after")
    def _verdict_agrees(self) -> Self:
        if self.passed != passes(self.findings, self.rerender):
            raise ValueError("passed contradicts the findings")
        return self


def passes(findings: Iterable[AuditFinding], rerender: RerenderReport | None = None) -> bool:
    """Whether nothing forbidden is among the findings, and no frame that was rendered again differs from the video."""
    differs = rerender is not None and rerender.verdict == "differ"
    return not differs and not any(finding.severity == "forbidden" for finding in findings)
