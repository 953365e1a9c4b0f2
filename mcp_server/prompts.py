# SPDX-License-Identifier: GPL-3.0-or-later
"""The prompt `reconstruct`: what an agent is asked to do, for each of the three settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, get_args

from mcp import MCPError
from mcp.server import MCPServer
from mcp.types import INVALID_PARAMS
from pydantic import Field

from .task_text import task_text
from .workplace import Setting, Task

SETTINGS: Final[tuple[Setting, ...]] = get_args(Setting)


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
        asked = replace(task, reference=Path(reference) if reference else task.reference, setting=wanted)
        if task.benchmark and asked != task:
            raise MCPError(code=INVALID_PARAMS, message="this server serves one task; leave setting and reference out")
        return task_text(asked)
