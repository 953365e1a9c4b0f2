# SPDX-License-Identifier: GPL-3.0-or-later
"""From a results.json to the lines that a panel shows. No bpy: tested on its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

RESULTS_FORMAT = "matchcut-results/1"
Verdict = Literal["good", "bad", "unscored", "plain"]
DIMENSIONS = ("camera", "static", "dynamic")
WORDS: Final = {
    "no checklist given": "no checklist was given: pick one in the Score panel",
    "not judged: no judge given": "no judge was chosen: choose one in the Score panel or in Preferences",
    "not asked for": "not measured: it was turned off",
}
"""What a panel says instead of the evaluator's reasons, which do not know who reads them."""
_OPTION = re.compile(r"--[a-z]")
_CATEGORY = re.compile(r"\b([a-z]+)_([a-z]+)\b")


@dataclass(frozen=True)
class ResultLine:
    """One line: its section, a short label, the text beside it, and how it stands.

    Frames in it are named as `frame 3` or `frames 3–9` and counted from 0: the panel counts them as its scene does.
    """

    section: str
    label: str
    text: str
    verdict: Verdict = "plain"


def result_lines(results: Mapping[str, Any]) -> list[ResultLine]:
    """Timeline, cuts, SGC, audit and checklist of parsed results, each score beside its coverage or its reason."""
    return [
        *_timeline(results["timeline"]),
        *_cuts(results["shots"]),
        *_sgc(results["sgc"]),
        *_audit(results.get("audit")),
        *_checklist(results["checklist"]),
    ]


def artists_words(reason: str) -> str:
    """A reason as a panel gives it: what to do about it, and no option of a command line, which older files name."""
    parts = re.split(r"[:;,] ", reason)
    while len(parts) > 1 and _OPTION.search(parts[-1]):
        reason = reason[: -len(parts.pop())].rstrip(":;, ")
    return WORDS.get(reason) or _CATEGORY.sub(r"\1 \2", reason)


def _timeline(check: dict[str, Any]) -> list[ResultLine]:
    lines = []
    for comparison in check["comparisons"]:
        agrees = comparison["agrees"]
        text = comparison["reconstruction"]
        if not agrees:
            text += f", reference {comparison['reference']}"
        lines.append(ResultLine("Timeline", comparison["name"].capitalize(), text, "good" if agrees else "bad"))
    if check.get("offset_frames"):
        lines.append(ResultLine("Timeline", "Offset", f"{check['offset_frames']:+d} frames by content", "bad"))
    faults = check.get("faults") or []
    return lines + [ResultLine("Timeline", fault["kind"].capitalize(), _fault_text(fault), "bad") for fault in faults]


def _fault_text(fault: dict[str, Any]) -> str:
    text = f"frames {fault['first']}–{fault['last']}"
    if fault["reference_first"] is not None:
        text += f", frames {fault['reference_first']}–{fault['reference_last']} of the reference"
    return text if fault["speed"] is None else f"{text}, {fault['speed']:.3g} times as fast"


def _cuts(check: dict[str, Any]) -> list[ResultLine]:
    fades = [_fade(match) for match in check.get("fade_matches") or []]
    matches = check["matches"]
    if not matches:
        return [ResultLine("Cuts", "Cuts", "none in either video", "good"), *fades]
    found = sum(match["verdict"] == "found" for match in matches)
    expected = len(check["reference_cuts"])
    lines = [ResultLine("Cuts", "Found", f"{found} of {expected}", "good" if found == len(matches) else "bad")]
    others = [match for match in matches if match["verdict"] != "found"]
    lines += [ResultLine("Cuts", match["verdict"].capitalize(), _cut_text(match), "bad") for match in others]
    return lines + fades


def _cut_text(match: dict[str, Any]) -> str:
    reference, reconstruction = match["reference"], match["reconstruction"]
    if reference is None:
        return f"frame {reconstruction}"
    if reconstruction is None:
        return f"frame {reference} of the reference"
    return f"frame {reconstruction} instead of frame {reference}"


def _fade(match: dict[str, Any]) -> ResultLine:
    reference, reconstruction = (
        f"frames {fade['first']}–{fade['last']}" if fade else "none"
        for fade in (match["reference"], match["reconstruction"])
    )
    found = match["verdict"] == "found"
    text = reconstruction if found else f"{match['verdict']}: {reconstruction}; in the reference {reference}"
    shown = match["reference"] or match["reconstruction"]
    return ResultLine("Cuts", f"Fade {shown['kind']}, {shown['shade']}", text, "good" if found else "bad")


def _sgc(sgc: dict[str, Any]) -> list[ResultLine]:
    if sgc.get("unscored"):
        return [ResultLine("SGC", "Score", artists_words(sgc["reason"]), "unscored")]
    pairs = ResultLine("SGC", "Pairs", f"{sgc['pairs_scored']} of {sgc['pairs_expected']} scored")
    if sgc["score"] is None:
        reason = artists_words(sgc["reason"] or "unscored")
        return [ResultLine("SGC", "Score", reason, "unscored"), pairs]
    lines = [ResultLine("SGC", "Score", f"{sgc['score']:.3g} (lower is better)")]
    if sgc.get("floor") is not None:
        lines.append(ResultLine("SGC", "Floor", f"{sgc['floor']:.3g}"))
    return [*lines, pairs]


def _audit(audit: dict[str, Any] | None) -> list[ResultLine]:
    if audit is None:
        return []
    if audit.get("unscored"):
        return [ResultLine("Audit", "Audit", artists_words(audit["reason"]), "unscored")]
    lines = [ResultLine("Audit", "Audit", *(("passed", "good") if audit["passed"] else ("not passed", "bad")))]
    for severity in ("forbidden", "suspicious", "note"):
        count = sum(finding["severity"] == severity for finding in audit["findings"])
        if count:
            verdict: Verdict = "plain" if severity == "note" else "bad"
            lines.append(ResultLine("Audit", severity.capitalize(), str(count), verdict))
    return lines


def _checklist(checklist: dict[str, Any]) -> list[ResultLine]:
    if checklist.get("unscored"):
        return [ResultLine("Checklist", "Overall", artists_words(checklist["reason"]), "unscored")]
    if checklist["state"] == "not_judged":
        reason = artists_words(checklist["reason"] or "not judged")
        return [ResultLine("Checklist", "Overall", reason, "unscored")]
    scores = [("Overall", checklist["overall"])]
    scores += [
        (name.capitalize(), checklist["dimensions"][name]) for name in DIMENSIONS if name in checklist["dimensions"]
    ]
    lines = [_score("Checklist", label, score) for label, score in scores]
    if checklist["state"] == "partly_judged":
        reason = artists_words(checklist["reason"] or "not every clip was judged")
        lines.append(ResultLine("Checklist", "Partial", reason, "unscored"))
    return lines


def _score(section: str, label: str, score: dict[str, Any]) -> ResultLine:
    if score["value"] is None:
        return ResultLine(section, label, artists_words(score.get("reason") or "unscored"), "unscored")
    coverage = f"{score['checks_scored']} of {score['checks_expected']} checks"
    return ResultLine(section, label, f"{score['value']:.1f} ({coverage})")
