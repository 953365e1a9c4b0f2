# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools that read and change the scene that is open in Blender."""

from __future__ import annotations

from typing import Annotated, Any, Final

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from .calls import Calls, Instance, call
from .records import PythonResult, SceneSummary

SUMMARY_SECONDS: Final = 30.0
PYTHON_SECONDS_LIMIT: Final = 600.0


def add_scene_tools(server: MCPServer, session: Calls) -> None:
    """Give `server` the tools that work in `session`'s Blender."""

    @server.tool(
        title="Scene Summary",
        annotations=ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )
    async def scene_summary(
        context: Context,
        offset: Annotated[int, Field(ge=0, description="First object to list")] = 0,
        limit: Annotated[int, Field(ge=0, le=500, description="Number of objects to list")] = 50,
        instance: Instance = None,
    ) -> SceneSummary:
        """What the scene holds: timeline, cameras, markers (a marker with a camera is a cut), counts, and objects.

        Objects come in pages: where objects.next_offset is a number, call again with it as offset. Locations are in the
        parent's space and scene units; call run_python for anything more about an object.
        """
        params = {"offset": offset, "limit": limit}
        result, note = await call(session, context, "scene_summary", params, SUMMARY_SECONDS, instance)
        return SceneSummary(note=note, **result)

    @server.tool(
        title="Run Python",
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
        ),
    )
    async def run_python(
        context: Context,
        code: Annotated[str, Field(description="Python source; bpy is imported")],
        label: Annotated[
            str, Field(max_length=80, description="What it does, in a few words; names the undo step")
        ] = "",
        timeout_s: Annotated[float, Field(gt=0, le=PYTHON_SECONDS_LIMIT, description="Seconds it may take")] = 60.0,
        instance: Instance = None,
    ) -> PythonResult:
        """Run Python in Blender; returns what it printed, the repr of its last expression, and what it changed.

        Each call has a fresh namespace, so look things up again by name. Prefer bpy.data over bpy.ops; to name a
        location in time use scene.frame_start + frame. When the code raises, the error holds the traceback with the
        line; what ran before that line stays done. Code past its time ends a Blender in the background, and runs on in
        a window. Output is cut at 100,000 characters: print little.
        """
        params = {"code": code, "label": label}
        result, note = await call(session, context, "run_python", params, timeout_s, instance)
        error, trace = result.pop("error"), result.pop("traceback")
        if error is not None:
            raise ToolError(_failure_text(error, trace or "", result, note))
        return PythonResult(note=note, **result)


def _failure_text(error: str, trace: str, result: dict[str, Any], note: str) -> str:
    parts = [note, error, trace.rstrip()]
    if result["output"]:
        parts.append(f"It printed before that:\n{result['output'].rstrip()}")
    if result["changed"]:
        parts.append(f"It changed before that ({result['changed_total']}): {', '.join(result['changed'])}")
    return "\n".join(part for part in parts if part)
