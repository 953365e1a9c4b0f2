# SPDX-License-Identifier: GPL-3.0-or-later
"""SGC results as text, as rows of a table, and as files."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..protocol.files import write_json, write_text
from ..report.text import COMPONENT_LABELS, COMPONENT_UNITS, significant
from ..sgc.aggregate import PUBLISHED, normalised
from ..sgc.measure import Measured
from ..sgc.records import COMPONENTS, Component, SgcResult
from ..sgc.robust.records import ROBUST_COMPONENTS, ROBUST_LABELS, ROBUST_UNITS, RobustResult

if TYPE_CHECKING:
    from .sgc import Failed

Row = "Measured | Failed"
SHORT: dict[Component, str] = dict(zip(COMPONENTS, ("LocRot", "LocTra", "GloRot", "GloTra", "Depth"), strict=True))
"""The authors' abbreviations."""


def describe(result: SgcResult | RobustResult) -> str:
    """A result as text: score, coverage, estimator, and each component with its unit and its share of pairs."""
    score = "unscored" if result.score is None else significant(result.score)
    lines = [
        f"SGC ({result.mode} mode, lower is better): {score}",
        f"pairs scored: {result.pairs_scored} of {result.pairs_expected}",
        f"estimator: {result.estimator}",
    ]
    if result.reason:
        lines.append(f"reason: {result.reason}")
    lines += _paper_lines(result) if isinstance(result, SgcResult) else _robust_lines(result)
    return "\n".join([*lines, *(f"note: {note}" for note in result.notes)])


def _paper_lines(result: SgcResult) -> list[str]:
    lines = [f"depth unit: {result.parameters['depth_unit']}"]
    if not any(value is not None for value in result.components.values()):
        return lines
    published = str(result.parameters["constants"]).startswith("published")
    lines += ["", f"{'component':<28} {'value':>10} {'unit':<12} {'normalised':>10} {'pairs':>6}"]
    for name in COMPONENTS:
        value = result.components[name]
        shown = "—" if value is None else significant(value)
        scaled = "—" if value is None or not published else significant(normalised(name, value, PUBLISHED))
        pairs = result.component_pairs[name]
        lines.append(f"{COMPONENT_LABELS[name]:<28} {shown:>10} {COMPONENT_UNITS[name]:<12} {scaled:>10} {pairs:>6}")
    return lines


def _robust_lines(result: RobustResult) -> list[str]:
    lines = [f"pairs with parallax: {result.pairs_observable} of {result.pairs_scored}"]
    if result.score_low is not None and result.score_high is not None:
        lines.append(f"95 % interval: {significant(result.score_low)} … {significant(result.score_high)}")
    if result.floor is not None:
        excess = "—" if result.excess is None else significant(result.excess)
        lines.append(f"floor of the estimator: {significant(result.floor)}; above it: {excess} ({result.floor_source})")
    lines += ["", f"{'component':<34} {'median':>10} {'p90':>10} {'unit':<15} {'pairs':>6}"]
    for name in ROBUST_COMPONENTS:
        one = result.components[name]
        median, p90, pairs = (significant(one.median), significant(one.p90), one.pairs) if one else ("—", "—", 0)
        lines.append(f"{ROBUST_LABELS[name]:<34} {median:>10} {p90:>10} {ROBUST_UNITS[name]:<15} {pairs:>6}")
    if result.worst:
        lines += ["", f"worst pairs end at frames: {', '.join(str(frame) for frame in result.worst[:5])}"]
    return lines


def summary(row: Measured | Failed) -> dict[str, Any]:
    """One line of the table."""
    if not isinstance(row, Measured):
        return {"name": row.name, "source": row.source, "score": None, "reason": row.error}
    result = row.result
    values: dict[str, float | None] = {}
    if isinstance(result, SgcResult):
        values = {name: result.components[name] for name in COMPONENTS}
    else:
        values = {name: one.median if (one := result.components[name]) else None for name in ROBUST_COMPONENTS}
        values |= {"floor": result.floor, "excess": result.excess}
    return {
        "name": row.name,
        "source": row.source,
        "mode": result.mode,
        "estimator": result.estimator,
        "score": result.score,
        **values,
        "scored": result.pairs_scored,
        "expected": result.pairs_expected,
        "reason": result.reason,
    }


def table_data(rows: list[Measured | Failed]) -> dict[str, Any]:
    """Everything that was measured, as one document."""
    return {
        "format": "matchcut-sgc-table/1",
        "videos": [row.model_dump(mode="json") if isinstance(row, Measured) else summary(row) for row in rows],
    }


def write_table(out: Path, rows: list[Measured | Failed]) -> None:
    """Write sgc-table.json and sgc-table.csv: a line a video."""
    lines = [summary(row) for row in rows]
    write_json(out / "sgc-table.json", {"format": "matchcut-sgc-table/1", "videos": lines})
    names = list(dict.fromkeys(name for line in lines for name in line))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in line.items()} for line in lines)
    write_text(out / "sgc-table.csv", text.getvalue())


def _cell(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula is marked as text."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@"):
        return f"'{value}"
    return "" if value is None else value


def text_of(rows: list[Measured | Failed]) -> str:
    """One video in full, or a line for each of many, best first, those without a score at the end."""
    if len(rows) == 1 and isinstance(rows[0], Measured):
        return describe(rows[0].result)
    lines = sorted((summary(row) for row in rows), key=lambda line: (line["score"] is None, line["score"] or 0.0))
    paper = any(name in line for line in lines for name in COMPONENTS)
    columns = [(SHORT[name], name) for name in COMPONENTS] if paper else [
        ("px", "divergence_px"), ("depth", "depth_log_error"), ("unexpl.", "unexplained_share"),
        ("invalid", "invalid_share"), ("focal", "focal_error"), ("floor", "floor"), ("excess", "excess"),
    ]  # fmt: skip
    cells = [["video", "SGC", *(head for head, _ in columns), "pairs", "reason"]]
    for line in lines:
        values = [line.get(name) for name in ("score", *(name for _, name in columns))]
        shown = ["—" if value is None else significant(value) for value in values]
        pairs = f"{line['scored']}/{line['expected']}" if "scored" in line else "—"
        cells.append([" ".join(line["name"].split()), *shown, pairs, line["reason"]])
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    widths[-1] = 0
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )
