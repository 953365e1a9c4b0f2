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
from .records import ApiHelp, Inspection, PythonResult, SceneSummary, UndoResult

READ_SECONDS: Final = 30.0
UNDO_SECONDS: Final = 120.0
PYTHON_SECONDS_LIMIT: Final = 600.0
READS: Final = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

Offset = Annotated[int, Field(ge=0, description="As next_offset says")]


def add_scene_tools(server: MCPServer, session: Calls) -> None:
    """Give `server` the tools that work in `session`'s Blender."""
    _add_reading(server, session)
    _add_changing(server, session)

    @server.tool(title="API Help", annotations=READS)
    async def api_help(
        context: Context,
        query: Annotated[str, Field(min_length=1, max_length=300)],
        offset: Offset = 0,
        instance: Instance = None,
    ) -> ApiHelp:
        """Blender's own Python API: types, defaults, ranges, enum items, sockets.

        A path gives all of one thing: Object.location, Object.modifiers.new, bpy.ops.mesh.bevel,
        ShaderNodeBsdfPrincipled. Words search: focal length.
        """
        params = {"query": query, "offset": offset}
        result, note = await call(session, context, "api_help", params, READ_SECONDS, instance)
        return ApiHelp(note=note, **result)


def _add_reading(server: MCPServer, session: Calls) -> None:
    @server.tool(title="Scene Summary", annotations=READS)
    async def scene_summary(
        context: Context,
        offset: Annotated[int, Field(ge=0, description="First object to list")] = 0,
        limit: Annotated[int, Field(ge=0, le=500, description="Objects to list")] = 50,
        match: Annotated[str, Field(max_length=255, description="Part of their name, or a pattern with *")] = "",
        type: Annotated[str, Field(max_length=40, description="As MESH, CAMERA, LIGHT, EMPTY")] = "",  # noqa: A002
        instance: Instance = None,
    ) -> SceneSummary:
        """What the scene holds: timeline, cameras, markers (one with a camera is a cut), collections, counts, objects.

        Objects come in pages: while objects.next_offset is a number, call again with it as offset. Locations are in the
        parent's space and scene units. Long lists are cut, see counts; inspect shows the rest (kind scene, path
        timeline_markers), and all of an object.
        """
        params: dict[str, Any] = {"offset": offset, "limit": limit}
        params |= {name: text for name, text in (("match", match), ("kind", type)) if text}
        result, note = await call(session, context, "scene_summary", params, READ_SECONDS, instance)
        return SceneSummary(note=note, **result)

    @server.tool(title="Inspect", annotations=READS)
    async def inspect(
        context: Context,
        kind: Annotated[str, Field(description="object, material, node_tree, action, mesh, scene …")],
        name: Annotated[str, Field(description="Empty: lists them")] = "",
        path: Annotated[str, Field(description="As modifiers[0]")] = "",
        offset: Offset = 0,
        instance: Instance = None,
    ) -> Inspection:
        """What a data-block or a part holds beyond defaults, as Python lines; nodes, links, keyframes (from 0) too."""
        params = {"kind": kind, "name": name, "path": path, "offset": offset}
        result, note = await call(session, context, "inspect", params, READ_SECONDS, instance)
        return Inspection(note=note, **result)


def _add_changing(server: MCPServer, session: Calls) -> None:
    @server.tool(
        title="Run Python",
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
        ),
    )
    async def run_python(
        context: Context,
        code: Annotated[str, Field(description="Python source; bpy is imported")],
        label: Annotated[str, Field(max_length=80, description="What it does; names the undo step")] = "",
        checkpoint: Annotated[
            bool, Field(description="Save a copy of the scene first; risky code gets one anyway")
        ] = False,
        timeout_s: Annotated[float, Field(gt=0, le=PYTHON_SECONDS_LIMIT)] = 60.0,
        instance: Instance = None,
    ) -> PythonResult:
        """Run Python in Blender; returns what it printed, its last expression's repr, and what it changed.

        Each call has a fresh namespace, so look things up again by name. Prefer bpy.data over bpy.ops. Frame f is
        scene.frame_start + f. When it raises, the error holds the traceback; what ran before that line stays done,
        undo takes it back. Past timeout_s a Blender in the background is ended; in a window code cannot be stopped,
        so write no endless loop. Print little.
        """
        params: dict[str, Any] = {"code": code, "label": label}
        if checkpoint:
            params["checkpoint"] = True
        result, note = await call(session, context, "run_python", params, timeout_s, instance)
        error, trace = result.pop("error"), result.pop("traceback")
        if error is not None:
            raise ToolError(_failure_text(error, trace or "", result, note))
        return PythonResult(note=note, **result)

    @server.tool(
        title="Undo",
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
        ),
    )
    async def undo(
        context: Context,
        steps: Annotated[int, Field(ge=-64, le=64, description="Negative: do them again")] = 1,
        instance: Instance = None,
    ) -> UndoResult:
        """Take back your last changes of the scene; never the artist's."""
        result, note = await call(session, context, "undo", {"steps": steps}, UNDO_SECONDS, instance)
        return UndoResult(note=note, **result)


def _failure_text(error: str, trace: str, result: dict[str, Any], note: str) -> str:
    parts = [f"failed: {error}", trace.rstrip()]
    if result["output"]:
        parts.append(f"It printed before that:\n{result['output'].rstrip()}")
    if result["changed"]:
        step = f"; undo takes it back ({result['undo_step']})" if result["undo_step"] else ""
        parts.append(f"It changed before that ({result['changed_total']}): {', '.join(result['changed'])}{step}")
    if result.get("checkpoint"):
        parts.append(f"The scene from before: {result['checkpoint']}")
    parts.append(note)
    return "\n".join(part for part in parts if part)
