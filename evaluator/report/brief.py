# SPDX-License-Identifier: GPL-3.0-or-later
"""A result in few words for a program that reads it: every score beside its coverage, what fails first."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from ..checklist.records import DIMENSIONS
from ..results import Results, Unscored
from ..scoring.records import Score
from .checks import CheckRow, check_rows
from .consistency import floor_text, pairs_text, reference_text, sgc_of
from .text import coverage, cuts_text, offset_text, words

MOST_CHECKS: Final = 20
MOST_FAULTS: Final = 20


def brief(results: Results) -> dict[str, Any]:
    """Timeline, cuts, SGC, scores and the failing checks as plain JSON values; None, with a reason, where unscored."""
    return {
        "timeline": _timeline(results),
        "cuts": cuts_text(results.shots),
        "sgc": _sgc(results),
        "checklist": _checklist(results),
        "scores": _scores(results),
        **_failing(results),
    }


def _timeline(results: Results) -> list[str]:
    check = results.timeline
    lines = [
        f"{item.name}: {item.reconstruction}; the reference's is {item.reference}"
        for item in check.comparisons
        if not item.agrees
    ]
    lines += [] if check.offset_frames == 0 else [f"offset: {offset_text(check)}"]
    return [*lines, *(fault.detail for fault in check.faults[:MOST_FAULTS])]


def _sgc(results: Results) -> dict[str, Any]:
    sgc = sgc_of(results)
    if sgc is None:
        return {"score": None, "reason": getattr(results.sgc, "reason", "")}
    if sgc.score is None:
        return {"score": None, "reason": sgc.reason, "coverage": pairs_text(sgc)}
    texts = {"above_floor": floor_text(sgc), "beside": reference_text(results)}
    floor = getattr(sgc, "floor", None)
    told = {name: text for name, text in texts.items() if text}
    return {"score": sgc.score, "floor": floor, "coverage": pairs_text(sgc), "better": "lower", **told}


def _checklist(results: Results) -> str:
    checklist = results.checklist
    if isinstance(checklist, Unscored):
        return f"unscored: {checklist.reason}"
    reason = f": {checklist.reason}" if checklist.reason else ""
    return f"{words(checklist.state)}, setting {checklist.setting}{reason}"


def _scores(results: Results) -> list[dict[str, Any]]:
    checklist = results.checklist
    if isinstance(checklist, Unscored):
        return []
    rows: list[tuple[str, Score]] = [("overall", checklist.overall)]
    for dimension, categories in DIMENSIONS.items():
        rows.append((dimension, checklist.dimensions[dimension]))
        rows += [(words(name), checklist.categories[name]) for name in categories]
    return [_score(name, score) for name, score in rows if score.checks_expected]


def _score(name: str, score: Score) -> dict[str, Any]:
    reason = {"reason": score.reason} if score.reason else {}
    value = None if score.value is None else round(score.value, 2)
    return {"name": name, "score": value, "coverage": coverage(score), **reason}


def _failing(results: Results) -> dict[str, Any]:
    rows = [row for row in check_rows(results) if row.rating in ("unsatisfied", "partially_satisfied")]
    reasons = Counter(failure.reason for failure in results.operational_failures)
    return {
        "failing": [_check(row) for row in rows[:MOST_CHECKS]],
        "failing_total": len(rows),
        "not_judged": dict(sorted(reasons.items())),
    }


def _check(row: CheckRow) -> dict[str, Any]:
    return {
        "check": row.key, "rating": row.rating, "category": row.category, "frames": [row.first, row.last],
        "statement": row.statement,
    }  # fmt: skip
