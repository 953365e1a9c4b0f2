# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools by which an agent sees what it has made, alone and beside the reference."""

from __future__ import annotations

import base64
import itertools
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ImageContent, TextContent, ToolAnnotations
from pydantic import Field

from ..evaluator.protocol.errors import BadInputError, MatchcutError
from .calls import Calls, Instance
from .commands import only_result, run_command
from .looks import FreshLooks, pictures_folder, take_looks
from .places import find_reference
from .renders import Renders

COMPARE_SECONDS: Final = 240.0
MOST_LOOKS: Final = 16
MOST_COMPARED: Final = 8

Content = list[TextContent | ImageContent]
Shading = Literal["auto", "solid", "material", "rendered"]
LOOKS: Final = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def add_look_tools(server: MCPServer, session: Calls, renders: Renders) -> None:
    """Give `server` the tools that show `session`'s scene, and compare it or a render of `renders`."""
    numbers = itertools.count(1)

    @server.tool(title="Look", annotations=LOOKS)
    async def look(
        context: Context,
        view: Annotated[
            str,
            Field(description="camera, viewport, front, back, left, right, top, bottom or orbit:AZIMUTH,ELEVATION"),
        ] = "camera",
        frames: Annotated[
            list[int], Field(max_length=MOST_LOOKS, description="From 0; several make a sheet; default: the current")
        ] = [],  # noqa: B006 (the SDK copies it)
        size: Annotated[int, Field(ge=64, le=1024, description="Longer side in pixels")] = 512,
        shading: Annotated[
            Shading, Field(description="rendered: true light and colours; others are fast; auto: solid")
        ] = "auto",
        samples: Annotated[int, Field(ge=1, le=256)] = 16,
        target: Annotated[str, Field(description="Object that front … orbit show; default: the scene")] = "",
        overlays: bool = False,
        instance: Instance = None,
    ) -> Content:
        """See the scene, which stays as it is. camera is the one that renders the frame.

        With a target, what stands before it is cut away. Azimuth 0 is the front, 90 the right side.
        """
        try:
            renders.check_refining()
        except MatchcutError as error:
            raise ToolError(str(error)) from error
        params = {
            "view": view, "size": size, "shading": shading, "samples": samples, "target": target, "overlays": overlays,
        }  # fmt: skip
        return await take_looks(session, context, params, frames, instance)

    @server.tool(title="Compare with Reference", annotations=LOOKS)
    async def compare(
        context: Context,
        frames: Annotated[
            list[int], Field(min_length=1, max_length=MOST_COMPARED, description="Of the reference, from 0")
        ],
        ours: Annotated[
            str, Field(description="look: the scene now; render: the last render; or a render's folder, or a video")
        ] = "look",
        mode: Literal["side", "wipe", "overlay", "difference"] = "side",
        amount: Annotated[float, Field(ge=0, le=1, description="Place of the wipe; share of ours")] = 0.5,
        shading: Annotated[Shading, Field(description="Of a look; colours need rendered")] = "rendered",
        samples: Annotated[int, Field(ge=1, le=256)] = 16,
        reference: Annotated[str, Field(description="Video; default: the task's, or the one picked in Blender")] = "",
        instance: Instance = None,
    ) -> Content:
        """Reference and ours in one picture, with numbers per frame.

        framing: how far ours lies off (% of width) and its scale; silhouette: overlap of outlines, 1 is best; colour:
        dE (2 is just seen), L a b and exposure; flow: error of the motion (% of width). unknown says why.
        """
        out = pictures_folder() / f"compare-{next(numbers):04d}.jpg"
        try:
            renders.check_refining()
            with TemporaryDirectory(prefix="looks-", dir=pictures_folder(), ignore_cleanup_errors=True) as folder:
                video = await find_reference(session, context, renders.workplace, reference, instance)
                place, note, extra = Path(folder), "", []
                if ours == "look":
                    looks = FreshLooks(session, context, instance, shading, samples)
                    note = await looks.take(video, frames, place)
                    extra = ["--no-colour", looks.no_colour] if looks.no_colour else []
                else:
                    place = _place(renders, ours)
                arguments = [
                    "stills", "--reference", str(video), "--ours", str(place), "--frames", ",".join(map(str, frames)),
                    "--mode", mode, "--amount", repr(amount), "--out", str(out), *extra,
                ]  # fmt: skip
                messages = await run_command(context, arguments, seconds=COMPARE_SECONDS)
        except MatchcutError as error:
            raise ToolError(str(error)) from error
        result = only_result(messages)
        warnings = [message.text for message in messages if message.type == "warning"]
        return _compared(result, note, warnings, "look" if ours == "look" else str(place))


def _place(renders: Renders, ours: str) -> Path:
    """The render or video that is meant. Raises BadInputError where it may not be read."""
    if ours == "render":
        return renders.find("").folder
    with suppress(BadInputError):  # a job's own folder may lie where nothing else is allowed
        return renders.find(ours).folder
    with suppress(BadInputError):
        return renders.workplace.allowed(ours, "video")
    return renders.workplace.allowed_folder(ours, "render")


def _compared(result: dict[str, Any], note: str, warnings: list[str], ours: str) -> Content:
    data = base64.b64encode(Path(result["file"]).read_bytes()).decode("ascii")
    size = f"{result['width']}x{result['height']}"
    lines = [
        *note.splitlines(),
        *warnings,
        *result["lines"],
        f"{size}, {result['mode']}, ours: {ours}",
        f"File: {result['file']}",
    ]
    text = "\n".join(line for line in lines if line)
    return [TextContent(type="text", text=text), ImageContent(type="image", data=data, mime_type="image/jpeg")]
