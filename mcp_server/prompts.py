# SPDX-License-Identifier: GPL-3.0-or-later
"""The prompt `reconstruct`: what an agent is asked to do, for each of the three settings."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import Annotated, Final, get_args

from mcp import MCPError
from mcp.server import MCPServer
from mcp.types import INVALID_PARAMS
from pydantic import Field

from .workplace import Setting, Task

TEXTS: Final = Path(__file__).resolve().parents[1] / "assets_ui" / "prompts"
SETTINGS: Final[tuple[Setting, ...]] = get_args(Setting)


def task_text(task: Task) -> str:
    """The whole prompt of a task, as Markdown."""
    return Template(_read("reconstruct")).substitute(
        setting=task.setting.capitalize(),
        reference=task.reference or "the video picked in Blender's Matchcut tab (`reference_info` tells which)",
        output=task.output or "the folder `matchcut` beside the saved scene",
        rules=_read(task.setting).strip(),
        feedback=_read("benchmark" if task.benchmark else "feedback").strip(),
    )


def _read(name: str) -> str:
    return (TEXTS / f"{name}.md").read_text(encoding="utf-8")


def add_prompts(server: MCPServer, task: Task) -> None:
    """Give `server` the prompt; in benchmark mode it has the task's own setting and reference alone."""

    @server.prompt(title="Reconstruct a Shot")
    def reconstruct(
        setting: Annotated[str, Field(description="proxy, simplified or detailed")] = task.setting,
        reference: Annotated[str, Field(description="Path of the reference video")] = "",
    ) -> str:
        """Rebuild the reference video as an editable Blender scene, and render it."""
        wanted = next((one for one in SETTINGS if one == setting.strip().lower()), None)
        if wanted is None:
            raise MCPError(code=INVALID_PARAMS, message=f"setting is {setting!r}; expected {', '.join(SETTINGS)}")
        asked = Task(Path(reference) if reference else task.reference, wanted, task.output, task.benchmark)
        if task.benchmark and asked != task:
            raise MCPError(code=INVALID_PARAMS, message="this server serves one task; leave setting and reference out")
        return task_text(asked)
