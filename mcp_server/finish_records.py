# SPDX-License-Identifier: GPL-3.0-or-later
"""What the finishing tools answer, and how the commands' documents become its lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pydantic import ConfigDict

from .records import Answer, shown
from .running import RunningCommand, State

MOST_LINES: Final = 40
MOST_CHARACTERS: Final = 700
"""Of one line: a stranger's file may hold long names."""


class TimelineAnswer(Answer):
    """`checked` says of what; `passed` is null while it runs."""

    model_config = ConfigDict(json_schema_extra=shown("passed", "faults"))

    passed: bool | None
    checked: str
    faults: list[str] = []
    agrees: list[str] = []
    note: str = ""


class AuditAnswer(Answer):
    """`report` is the file with all findings; `passed` is null while it runs."""

    model_config = ConfigDict(json_schema_extra=shown("passed", "findings"))

    passed: bool | None
    findings: list[str] = []
    counts: dict[str, int] = {}
    report: str = ""
    note: str = ""


class SubmitAnswer(Answer):
    """`passed` is null while it runs."""

    model_config = ConfigDict(json_schema_extra=shown("passed", "folder", "faults"))

    passed: bool | None
    folder: str
    faults: list[str] = []
    warnings: list[str] = []
    files: dict[str, str] = {}
    note: str = ""


class ScoreAnswer(Answer):
    """Scores are 0 to 100, SGC is 0 at best; null with a reason is unscored."""

    model_config = ConfigDict(json_schema_extra=shown("state", "scores", "sgc", "failing"))

    state: State
    scores: list[dict[str, Any]] = []
    sgc: dict[str, Any] = {}
    failing: list[dict[str, Any]] = []
    failing_total: int = 0
    checklist: str = ""
    timeline: list[str] = []
    cuts: str = ""
    not_judged: dict[str, int] = {}
    sent: str = ""
    report: str = ""
    note: str = ""


_TODO: Final = {
    "image_texture": "replace it by procedural nodes, or model what it shows",
    "world_image": "use a sky texture, a colour or a gradient for the world",
    "compositor_image": "remove it from the compositor",
    "geometry_image": "give the geometry its shape and colour by procedural nodes",
    "movie_clip": "remove it from what renders",
    "sequencer_picture": "remove the strip, or turn the sequencer off for the render",
    "coloured_geometry": "remove the stored colours, and shade by procedural nodes",
    "traced_drawing": "remove it, and model what it shows",
    "mosaic": "remove it, and model what it shows",
    "library": "remove what is linked, and model it in this scene",
    "volume": "remove it, or make the volume by procedural nodes",
    "cache_file": "remove the cache, and model and animate in this scene",
    "import_node": "remove the node, and model in this scene",
}


def check_answer(data: dict[str, Any], checked: str, note: str) -> TimelineAnswer:
    """Of the document of `matchcut check`."""
    timeline, shots = data["timeline"], data["shots"]
    faults, agrees = [], []
    for item in timeline["comparisons"]:
        if item["agrees"]:
            agrees.append(f"{item['name']} {item['reference']}")
        else:
            faults.append(f"{item['name']}: is {item['reconstruction']}; the reference's is {item['reference']}")
    offset = timeline["offset_frames"]
    if offset is None:
        agrees.append(f"a shift in time is not decided by the pictures: {timeline['offset_reason']}")
    elif offset:
        faults.append(f"shift: {abs(offset)} frames {'late' if offset > 0 else 'early'}")
    faults += [f"{fault['kind']}: {fault['detail']}" for fault in timeline["faults"]]
    for what, matches in (("cut", shots["matches"]), ("fade", shots["fade_matches"])):
        found = [match for match in matches if match["verdict"] == "found"]
        agrees += [f"{len(found)} {what}{'s' if len(found) > 1 else ''} in place"] if found else []
        faults += [_match(what, match) for match in matches if match["verdict"] != "found"]
    if not shots["matches"] and not shots["fade_matches"]:
        agrees.append("no cut in either")
    return TimelineAnswer(passed=data["passed"], checked=checked, faults=bounded(faults), agrees=agrees, note=note)


def _match(what: str, match: dict[str, Any]) -> str:
    given, own = (_places(match[side]) for side in ("reference", "reconstruction"))
    if given is None:
        return f"{what}: there is one at {own}, and the reference has none there"
    if own is None:
        return f"{what}: the reference's at {given} is missing"
    return f"{what}: {match['verdict']}, at {own}; the reference's is at {given}"


def _places(place: Any) -> str | None:
    """A cut's frame, or a fade's frames."""
    if place is None:
        return None
    return f"frames {place['first']} to {place['last']}" if isinstance(place, dict) else f"frame {place}"


def audit_answer(data: dict[str, Any], report: Path) -> AuditAnswer:
    """Of a `matchcut-audit/1`."""
    findings = data["findings"]
    counts = {
        severity: sum(one["severity"] == severity for one in findings)
        for severity in ("forbidden", "suspicious", "note")
    }
    lines = [_finding(one) for one in findings if one["severity"] != "note"]
    lines += [f"note: {one['type']} {one['name']!r}: {one['what']}" for one in findings if one["severity"] == "note"]
    return AuditAnswer(
        passed=data["passed"], findings=bounded([*lines, *(f"note: {text}" for text in data["notes"])]), counts=counts,
        report=str(report),
    )  # fmt: skip


def _finding(one: dict[str, Any]) -> str:
    parts = [f"{one['severity']}: {one['type']} {one['name']!r}: {one['what']}"]
    if one["matches"]:
        frames = ", ".join(f"frame {match['frame']} ({match['score']:.2f})" for match in one["matches"][:3])
        parts.append(f"MATCHES THE REFERENCE: {frames}")
    if one["where"]:
        parts.append(f"where: {'; '.join(one['where'][:3])}")
    parts.append(one["why"])
    other = "remove it" if one["severity"] == "forbidden" else "look at it: remove it, or know what it is for"
    return ". ".join([*parts, f"To do: {_TODO.get(one['kind'], other) if one['severity'] == 'forbidden' else other}"])


def submit_answer(validation: dict[str, Any], folder: Path, warnings: list[str]) -> SubmitAnswer:
    """Of a `matchcut-validation/1`, and what was said while the package was made."""
    lines = {
        severity: [
            f"{one['where']}: {one['what']}; {one['todo']}"
            for one in validation["findings"]
            if one["severity"] == severity
        ]
        for severity in ("fault", "warning")
    }
    return SubmitAnswer(
        passed=validation["passed"], folder=str(folder), faults=bounded(lines["fault"]),
        warnings=bounded([*warnings, *lines["warning"]]),
        files={one["name"]: one["what"] for one in validation["files"]},
    )  # fmt: skip


def score_answer(command: RunningCommand) -> ScoreAnswer:
    """Of a scoring, also one that runs."""
    judge = getattr(command.key, "judge", "")
    if command.state != "done":
        note = f"{command.progress()}; call again with the same arguments" if command.state == "running" else ""
        return ScoreAnswer(state=command.state, sent=_sent(judge), note=note)
    (data,) = command.results
    return ScoreAnswer(
        state="done", **data["brief"], sent=_sent(judge), report=data["report"], note="; ".join(command.warnings)
    )


def _sent(judge: str) -> str:
    if not judge:
        return "nothing: no judge was named"
    if judge.startswith("human"):
        return "nothing: a person rates on a page of this machine"
    if judge.startswith("replay"):
        return "nothing: the answers were recorded before"
    return f"frames of both videos and the checks that apply, to {judge}"


def bounded(lines: list[str]) -> list[str]:
    """At most MOST_LINES lines of at most MOST_CHARACTERS."""
    cut = [line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]} …" for line in lines]
    return cut if len(cut) <= MOST_LINES else [*cut[:MOST_LINES], f"and {len(cut) - MOST_LINES} more"]
