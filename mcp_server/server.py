# SPDX-License-Identifier: GPL-3.0-or-later
"""The MCP server: tools over one Session. `initialize` and the list of tools never touch Blender."""

from __future__ import annotations

import base64
from typing import Annotated, Any, Final, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ImageContent, TextContent, ToolAnnotations
from pydantic import Field

from ..evaluator.protocol.version import VERSION
from .calls import Calls, Instance, call
from .records import PythonResult, SceneSummary
from .render_tools import add_render_tools
from .renders import Renders

SUMMARY_SECONDS: Final = 30.0
RENDER_SECONDS: Final = 240.0
PYTHON_SECONDS_LIMIT: Final = 600.0

INSTRUCTIONS: Final = """\
Work in a Blender scene. Start with scene_summary; change the scene with run_python; look at it with render_frame \
after every step that matters; render it on the reference's timeline with render_start, then render_wait until it \
has ended. Frames count from 0 at the scene's first frame. A Blender in the background is a fresh \
process: save with bpy.ops.wm.save_as_mainfile what is to stay. An error that starts with busy or blender_gone means \
that nothing ran; outcome_unknown means that it may have run: look before you repeat it."""


def make_server(session: Calls, renders: Renders) -> MCPServer:
    """The server with its tools: those of a scene work through `session`, `renders` holds the jobs."""
    server: MCPServer = MCPServer("matchcut", instructions=INSTRUCTIONS, version=VERSION, log_level="WARNING")

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

    @server.tool(
        title="Render Frame",
        annotations=ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )
    async def render_frame(
        context: Context,
        frame: Annotated[int | None, Field(ge=0, description="Frame from 0; the current one if left out")] = None,
        width: Annotated[int, Field(ge=16, le=1024, description="Width in pixels; the height follows")] = 512,
        engine: Annotated[
            Literal["scene", "cycles", "workbench", "eevee"],
            Field(description="scene: the scene's own in a window, Cycles in the background; the last two need OpenGL"),
        ] = "scene",
        samples: Annotated[int, Field(ge=1, le=256, description="Cycles samples; 16 is a noisy look")] = 16,
        instance: Instance = None,
    ) -> list[TextContent | ImageContent]:
        """See one frame through the active camera (or the one that a marker binds there) as a small JPEG.

        A preview, not the final render: few samples, no denoising. The scene stays as it is. Blender does nothing else
        meanwhile, so keep width and samples small.
        """
        params = {"frame": frame, "width": width, "engine": engine, "samples": samples}
        result, note = await call(session, context, "render_frame", params, RENDER_SECONDS, instance)
        picture = ImageContent(type="image", data=result["jpeg"], mime_type="image/jpeg")
        return [TextContent(type="text", text=_picture_text(result, note)), picture]

    add_render_tools(server, session, renders)
    return server


def _failure_text(error: str, trace: str, result: dict[str, Any], note: str) -> str:
    parts = [note, error, trace.rstrip()]
    if result["output"]:
        parts.append(f"It printed before that:\n{result['output'].rstrip()}")
    if result["changed"]:
        parts.append(f"It changed before that ({result['changed_total']}): {', '.join(result['changed'])}")
    return "\n".join(part for part in parts if part)


def _picture_text(result: dict[str, Any], note: str) -> str:
    samples = f", {result['samples']} samples" if result["samples"] else ""
    size = f"{result['width']}x{result['height']}"
    kilobytes = len(base64.b64decode(result["jpeg"])) / 1000
    lines = [
        note,
        f"Frame {result['frame']}, {size}, {result['engine']}{samples}, {result['seconds']:.1f} s, {kilobytes:.0f} kB",
        f"File: {result['path']}",
        *result["notes"],
    ]
    return "\n".join(line for line in lines if line)
