# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of a task: what an agent is asked to do, for each of the three settings. It needs no MCP library."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import Final

from .workplace import Task

TEXTS: Final = Path(__file__).resolve().parents[1] / "assets_ui" / "prompts"


def task_text(task: Task) -> str:
    """The whole prompt of a task, as Markdown."""
    text = Template(_read("reconstruct")).substitute(
        setting=task.setting.capitalize(),
        reference=task.reference or "the video picked in Blender's Matchcut tab (`reference_info` tells which)",
        output=task.output or "the folder `matchcut` beside the saved scene",
        rules=_read(task.setting).strip(),
        feedback=_read("benchmark" if task.benchmark else "feedback").strip(),
    )
    return f"{text.rstrip()}\n\n{_read('no_refine').strip()}\n" if task.no_refine else text


def _read(name: str) -> str:
    return (TEXTS / f"{name}.md").read_text(encoding="utf-8")
