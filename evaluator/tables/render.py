# SPDX-License-Identifier: GPL-3.0-or-later
"""A table as text, Markdown, CSV, LaTeX or JSON. No number stands without its coverage."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Final

from .records import Block, Cell, Row, Table

JUDGE_MARK: Final = "†"
DISQUALIFIED_MARK: Final = "‡"
_NARROW: Final = 5
"""Columns up to which a line holds a whole row; wider tables are turned on their side."""


def cell_text(cell: Cell, *, signed: bool = False) -> str:
    """`76.6 [72.1, 80.9] 119/120`: value, interval, clips scored of those expected; `-` where there is no value."""
    sign = "+" if signed else ""
    value = "-" if cell.value is None else f"{cell.value:{sign}.1f}"
    bounds = f" [{cell.low:{sign}.1f}, {cell.high:{sign}.1f}]" if cell.low is not None and cell.high is not None else ""
    return f"{value}{bounds} {cell.clips_scored}/{cell.clips_expected}"


def as_text(table: Table) -> str:
    """For a terminal."""
    lines = [table.title, _about(table)]
    for block in table.blocks:
        grid = _grid(block)
        widths = [max(len(row[column]) for row in grid) for column in range(len(grid[0]))]
        lines += ["", block.title]
        lines += ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in grid]
        lines += [f"  {block.note}"] if block.note else []
    return "\n".join([*lines, "", *_notes(table)]) + "\n"


def as_markdown(table: Table) -> str:
    """Pipe tables, one for each block."""
    lines = [f"### {escape_markdown(table.title)}", "", escape_markdown(_about(table))]
    for block in table.blocks:
        head, *rows = [[escape_markdown(cell) for cell in row] for row in _grid(block)]
        lines += ["", f"**{escape_markdown(block.title)}**", "", f"| {' | '.join(head)} |"]
        lines.append("|---" + "|---:" * (len(head) - 1) + "|")
        lines += [f"| {' | '.join(row)} |" for row in rows]
        lines += ["", escape_markdown(block.note)] if block.note else []
    return "\n".join([*lines, "", *(f"- {escape_markdown(note)}" for note in _notes(table))]) + "\n"


def as_latex(table: Table) -> str:
    """One `tabular` for the `booktabs` package, the blocks below one another."""
    grids = [(block, _grid(block)) for block in table.blocks]
    columns = max(len(grid[0]) for _, grid in grids)
    lines = [f"% {line}" for line in (table.title, _about(table), *_notes(table))]
    lines += [rf"\begin{{tabular}}{{l{'r' * (columns - 1)}}}", r"\toprule"]
    for number, (block, (head, *rows)) in enumerate(grids):
        title = f"{block.title} ({block.note})" if block.note else block.title
        lines += [r"\midrule"] if number else []
        lines += [rf"\multicolumn{{{columns}}}{{l}}{{\textit{{{escape_latex(title)}}}}} \\"]
        lines += [rf"{' & '.join(escape_latex(cell) for cell in head)} \\", r"\midrule"]
        for row in rows:
            lines += [r"\midrule"] if row[0] == "mean" else []
            lines += [rf"{' & '.join(escape_latex(cell) for cell in row)} \\"]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def as_csv(table: Table) -> str:
    """One line for each number, with all that is known of it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    fields = ("value", "low", "high", "clips_scored", "clips_expected", "checks_scored", "checks_expected", "reason")
    writer.writerow(["block", "row", "column", "is_judge", "is_disqualified", *fields])
    for block in table.blocks:
        for row in block.rows:
            for column, cell in zip(block.columns, row.cells, strict=True):
                values = ["" if getattr(cell, field) is None else getattr(cell, field) for field in fields]
                marks = ["yes" if mark else "no" for mark in (row.is_judge, row.is_disqualified)]
                writer.writerow([block.title, row.name, column, *marks, *values])
    return out.getvalue()


def as_json(table: Table) -> str:
    """The record itself."""
    return json.dumps(table.model_dump(mode="json"), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


FORMATS: Final[dict[str, Callable[[Table], str]]] = {
    "text": as_text, "markdown": as_markdown, "csv": as_csv, "latex": as_latex, "json": as_json,
}  # fmt: skip


def _grid(block: Block) -> list[list[str]]:
    """Heading and rows as text; many columns become the rows, so that a line stays readable."""
    signed = "−" in block.title or "difference" in block.title or any("−" in name for name in block.columns)
    names = [_name(row) for row in block.rows]
    texts = [[cell_text(cell, signed=signed) for cell in row.cells] for row in block.rows]
    columns = [name.replace("_", " ") for name in block.columns]
    if len(columns) <= _NARROW:
        return [["configuration", *columns], *([name, *row] for name, row in zip(names, texts, strict=True))]
    turned = [[column, *(row[index] for row in texts)] for index, column in enumerate(columns)]
    return [["category", *names], *turned]


def _name(row: Row) -> str:
    marks = (JUDGE_MARK if row.is_judge else "") + (DISQUALIFIED_MARK if row.is_disqualified else "")
    return f"{row.name} {marks}".rstrip()


def _about(table: Table) -> str:
    return f"{table.benchmark}; judge {table.judge}"


def _notes(table: Table) -> list[str]:
    bootstrap = table.bootstrap
    made = f"{bootstrap.samples} draws of {bootstrap.videos} videos, seed {bootstrap.seed}"
    notes = [
        "0 to 100; beside each number: clips scored of those expected",
        f"[low, high]: {bootstrap.level:.0%} interval, bootstrap by video ({made})"
        if bootstrap.videos > 1
        else "no intervals: they need more than one video",
    ]
    if any(row.is_judge for block in table.blocks for row in block.rows):
        notes.append(f"{JUDGE_MARK} the judge's own model: see also what a second judge says")
    if any(row.is_disqualified for block in table.blocks for row in block.rows):
        notes.append(f"{DISQUALIFIED_MARK} disqualified by the audit: no mean counts it")
    cells = [cell for block in table.blocks for row in block.rows for cell in row.cells]
    # what a number leaves out is told by the lines of the runs
    notes += [f"-: {reason}" for reason in dict.fromkeys(cell.reason for cell in cells if cell.value is None)]
    return notes + table.notes


def escape_markdown(text: str) -> str:
    """Text of a stranger for a Markdown table."""
    return "".join("\\" + char if char in "\\`*_{}[]<>#|" else char for char in text)


_LATEX: Final = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$",
    "†": r"$\dagger$", "‡": r"$\ddagger$", "<": "$<$", ">": "$>$",
}  # fmt: skip


def escape_latex(text: str) -> str:
    """Text of a stranger for a LaTeX table."""
    # a cell that begins with a bracket would be read as an option of the line break before it
    return "".join(_LATEX.get(char, char) for char in text)
