# SPDX-License-Identifier: GPL-3.0-or-later
"""A score's files as what the scene keeps of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..kept import keep
from ..paths import absolute
from .lines import ResultLine, read_result_lines


def take_results(uid: int, folder: Path) -> None:
    """Show the score in `folder` as the last one of the scene with this session id. Raises BadInputError."""
    lines = read_result_lines(folder / "results.json")
    keep(uid, "results", lambda scene: _store(scene.matchcut.results, str(folder), lines))


def report_path(scene: Any) -> Path | None:
    """Where the last score's report lies; None where there is no score."""
    folder = scene.matchcut.results.folder
    return absolute(folder) / "report.html" if folder else None


def _store(results: Any, folder: str, lines: list[ResultLine]) -> None:
    results.folder = folder
    results.lines.clear()
    for line in lines:
        item = results.lines.add()
        item.section, item.label, item.text, item.verdict = line.section, line.label, line.text, line.verdict
