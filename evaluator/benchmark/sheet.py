# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of a benchmark's run that are no scores, as text, Markdown, CSV, LaTeX or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Final, Literal

from ..records import Record
from ..tables.render import escape_latex, escape_markdown

Value = str | int | float | None


class SheetBlock(Record):
    """Lines under one heading, with a value for each column; None is unknown."""

    title: str
    columns: list[str]
    rows: list[list[Value]]
    note: str = ""


class Sheet(Record):
    """What `matchcut bench table` prints of costs and failures; `--format json` is this record."""

    format: Literal["matchcut-bench-sheet/1"] = "matchcut-bench-sheet/1"
    kind: Literal["cost", "failures"]
    title: str
    benchmark: str
    """Name and version."""
    blocks: list[SheetBlock]
    notes: list[str]


def value_text(value: Value) -> str:
    """A value for a person; `-` is unknown."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else value


def as_text(sheet: Sheet) -> str:
    """For a terminal; numbers stand to the right."""
    lines = [sheet.title, sheet.benchmark]
    for block in sheet.blocks:
        grid = _grid(block)
        widths = [max(len(row[column]) for row in grid) for column in range(len(block.columns))]
        right = [all(not isinstance(row[column], str) for row in block.rows) for column in range(len(block.columns))]
        lines += ["", block.title]
        for row in grid:
            cells = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)]
            lines.append("  " + "  ".join(cells).rstrip())
        lines += ["  none"] if not block.rows else []
        lines += [f"  {block.note}"] if block.note else []
    return "\n".join([*lines, "", *sheet.notes]).rstrip("\n") + "\n"


def as_markdown(sheet: Sheet) -> str:
    """Pipe tables, one for each block."""
    lines = [f"### {escape_markdown(sheet.title)}", "", escape_markdown(sheet.benchmark)]
    for block in sheet.blocks:
        head, *rows = [[escape_markdown(cell) for cell in row] for row in _grid(block)]
        lines += ["", f"**{escape_markdown(block.title)}**", "", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        lines += [f"| {' | '.join(row)} |" for row in rows]
        lines += ["", escape_markdown(block.note)] if block.note else []
    return "\n".join([*lines, "", *(f"- {escape_markdown(note)}" for note in sheet.notes)]) + "\n"


def as_latex(sheet: Sheet) -> str:
    """One `tabular` for the `booktabs` package, for each block."""
    lines = [f"% {line}" for line in (sheet.title, sheet.benchmark, *sheet.notes)]
    for block in sheet.blocks:
        head, *rows = [" & ".join(escape_latex(cell) for cell in row) + r" \\" for row in _grid(block)]
        lines += [f"% {block.title}" + (f" ({block.note})" if block.note else "")]
        lines += [rf"\begin{{tabular}}{{l{'r' * (len(block.columns) - 1)}}}", r"\toprule", head, r"\midrule"]
        lines += [*rows, r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def as_csv(sheet: Sheet) -> str:
    """One line for each value."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["block", "row", "name", "column", "value"])
    for block in sheet.blocks:
        for number, row in enumerate(block.rows):
            for column, value in zip(block.columns, row, strict=True):
                writer.writerow([block.title, number, row[0], column, "" if value is None else value])
    return out.getvalue()


def as_json(sheet: Sheet) -> str:
    """The record itself."""
    return json.dumps(sheet.model_dump(mode="json"), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


FORMATS: Final[dict[str, Callable[[Sheet], str]]] = {
    "text": as_text, "markdown": as_markdown, "csv": as_csv, "latex": as_latex, "json": as_json,
}  # fmt: skip


def _grid(block: SheetBlock) -> list[list[str]]:
    return [block.columns, *([value_text(value) for value in row] for row in block.rows)]
