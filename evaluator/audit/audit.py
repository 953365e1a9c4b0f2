# SPDX-License-Identifier: GPL-3.0-or-later
"""Audits a scene: a child Blender lists what it holds, and its pictures are compared with the reference's frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from ..environment.blender import Blender, blend_sha256
from ..media.probe import probe
from ..media.records import VideoInfo
from ..protocol.messages import Reporter
from ..protocol.scratch import scratch_folder
from .candidates import Candidate, UnreadableError, read_candidates
from .child import find_in_scene
from .match import ReferenceFrames
from .reasons import WHY
from .records import AuditFinding, AuditReport, FrameMatch, Severity, passes

SEVERITIES: Final[tuple[Severity, ...]] = ("forbidden", "suspicious", "note")
MOST_COMPARED: Final = 300
"""Pictures of one scene that are compared."""


def audit(scene: Path, reference: Path, *, blender: Blender, reporter: Reporter) -> AuditReport:
    """Look through `scene` for what the protocol forbids in a reconstruction of `reference`.

    The scene is opened by a child without running its scripts and is not changed. Raises BadInputError for a scene or
    reference that cannot be read, OperationalError where the child fails.
    """
    digest = blend_sha256(scene)
    reporter.status(f"reading {reference.name}")
    info = probe(reference)
    reporter.status(f"looking through {scene.name} with Blender {blender.version}")
    with scratch_folder("audit") as folder:
        found = find_in_scene(scene, folder, blender, info.timeline.frames)
        comparison = _Comparison(info, reporter)
        findings = [told for entry in found["findings"] if (told := comparison.finding(entry)) is not None]
    findings.sort(key=lambda item: (SEVERITIES.index(item.severity), not item.matches, item.kind, item.type, item.name))
    return AuditReport(
        scene=scene.name,
        scene_sha256=digest,
        rendered_scene=found["scene"],
        reference=reference.name,
        reference_sha256=info.sha256,
        reference_frames=info.timeline.frames,
        blender=found["blender"],
        passed=passes(findings),
        findings=findings,
        notes=[*found["notes"], *comparison.notes()],
        pictures_compared=comparison.compared,
    )


class _Comparison:
    """Compares pictures with the reference, whose frames are read when the first picture comes."""

    def __init__(self, info: VideoInfo, reporter: Reporter) -> None:
        self._info, self._reporter = info, reporter
        self._frames: ReferenceFrames | None = None
        self.compared = 0
        self._left_out = 0

    def finding(self, entry: dict[str, Any]) -> AuditFinding | None:
        """One entry of the child's list as it is told; None where it is told only with a match and has none."""
        matches: list[FrameMatch] = []
        unread: list[str] = []
        for picture in entry["pictures"]:
            try:
                matches += [match for each in read_candidates(picture) if (match := self._match(each)) is not None]
            except UnreadableError as error:
                unread.append(f"{picture['name']}: {error}" if picture["name"] else str(error))
        if entry["only_if_matched"] and not matches:
            return None
        severity = entry["matched_severity"] if matches and entry["matched_severity"] else entry["severity"]
        what = entry["what"]
        if unread:
            what += f"; not compared: {unread[0]}" + (f" and {len(unread) - 1} more" if len(unread) > 1 else "")
        return AuditFinding(
            severity=severity, kind=entry["kind"], type=entry["type"], name=entry["name"], what=what,
            where=entry["where"], why=WHY[entry["kind"]], matches=_best(matches),
        )  # fmt: skip

    def _match(self, candidate: Candidate) -> FrameMatch | None:
        if self.compared >= MOST_COMPARED:
            self._left_out += 1
            return None
        if self._frames is None:
            self._frames = ReferenceFrames(self._info, self._reporter)
        self.compared += 1
        return self._frames.match(candidate.image, candidate.name)

    def notes(self) -> list[str]:
        """What was left out."""
        if not self._left_out:
            return []
        return [f"{self._left_out} pictures were not compared with the reference: {MOST_COMPARED} are"]


def _best(matches: list[FrameMatch]) -> list[FrameMatch]:
    """For each picture its best match: whole before part, then by score."""
    best: dict[str, FrameMatch] = {}
    for match in matches:
        known = best.get(match.picture)
        if known is None or (match.how == "whole", match.score) > (known.how == "whole", known.score):
            best[match.picture] = match
    return list(best.values())
