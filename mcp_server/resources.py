# SPDX-License-Identifier: GPL-3.0-or-later
"""What a client may read beside calling tools: the task, the reference's metadata, the last render's log."""

from __future__ import annotations

import json
from typing import Final

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError

from ..evaluator.protocol.errors import MatchcutError
from .calls import Calls
from .commands import only_result, run_command
from .places import find_reference
from .renders import Renders
from .task_text import task_text

PROBE_SECONDS: Final = 300.0


def add_resources(server: MCPServer, session: Calls, renders: Renders) -> None:
    """Give `server` its three resources."""

    @server.resource("matchcut://task", title="Task", mime_type="text/markdown")
    def task() -> str:
        """What is asked for, for the setting of this server."""
        return task_text(renders.workplace.task)

    @server.resource("matchcut://reference", title="Reference", mime_type="application/json")
    async def reference() -> str:
        """What the reference video really is: size, exact rate, frames, warnings."""
        try:
            path = await find_reference(session, None, renders.workplace, "")
            messages = await run_command(None, ["probe", str(path)], seconds=PROBE_SECONDS)
        except (MatchcutError, ToolError) as error:
            raise ResourceError(str(error)) from error
        return json.dumps(only_result(messages), indent=2, ensure_ascii=False)

    @server.resource("matchcut://render/log", title="Render Log", mime_type="text/plain")
    def render_log() -> str:
        """What the last render has said."""
        job = renders.last()
        if job is None:
            return "No render was started yet; call render_start."
        job.update()
        return job.log()
