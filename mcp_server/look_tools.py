# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools by which an agent sees what it has made."""

from __future__ import annotations

import base64
from typing import Annotated, Any, Final, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import ImageContent, TextContent, ToolAnnotations
from pydantic import Field

from .calls import Calls, Instance, call
from .workplace import Workplace

RENDER_SECONDS: Final = 240.0


def add_look_tools(server: MCPServer, session: Calls, workplace: Workplace) -> None:
    """Give `server` the tools that show `session`'s scene."""

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
