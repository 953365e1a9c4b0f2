# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools by which an agent studies the reference: what it is, how it looks, what moves in it."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ImageContent, TextContent, ToolAnnotations
from pydantic import Field

from ..evaluator.protocol.cache import cache_folder, forget_all_but
from ..evaluator.protocol.errors import MatchcutError
from ..evaluator.protocol.timeline import Timeline, parse_rate
from .calls import Calls
from .commands import only_result, run_command
from .places import changed_at, find_reference
from .running import Slot
from .study_records import ReferenceInfo, ReferenceMotion
from .workplace import Workplace

INFO_SECONDS: Final = 600.0
FRAMES_SECONDS: Final = 600.0
WAIT_SECONDS: Final = 200.0
MOST_OF_ONE_SHOT: Final = 120
"""Frames that are measured of a shot that is asked for alone."""
LARGEST: Final = 1e9  # of a pixel or a second that is asked for
KEPT_PICTURES: Final = 200
"""In the user's cache."""

Reference = Annotated[str, Field(description="Video; default: the task's, or the one picked in Blender")]
LOOKS: Final = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def add_study_tools(server: MCPServer, session: Calls, workplace: Workplace) -> None:
    """Give `server` the three tools; `session` tells which reference is picked in Blender."""
    motions = Slot("the motion of another video or shot")

    @server.tool(title="Reference Info", annotations=LOOKS)
    async def reference_info(context: Context, reference: Reference = "") -> ReferenceInfo:
        """What the reference is: size as shown, exact rate, frames, shots, fades, warnings.

        `scene` is what to set on Blender's scene; shots are [first, last] frame.
        """
        video = await _video(session, context, workplace, reference)
        messages = await run_command(context, ["probe", str(video), "--shots"], seconds=INFO_SECONDS)
        return _info(video, only_result(messages), workplace.task.setting)

    @server.tool(title="Reference Frames", annotations=LOOKS)
    async def reference_frames(
        context: Context,
        reference: Reference = "",
        frames: Annotated[
            str, Field(max_length=1000, description="As 0,12,24-30 or 0-96:8; default: an overview")
        ] = "",
        times: Annotated[list[float] | None, Field(max_length=60, description="Seconds, instead of frames")] = None,
        crop: Annotated[
            list[float] | None, Field(description="x, y, width, height in pixels, or in shares if none is above 1")
        ] = None,
        layout: Literal["sheet", "single"] = "sheet",
        grid: Annotated[bool, Field(description="Pixel coordinates on single frames")] = False,
        size: Annotated[int, Field(ge=64, le=1024, description="Longer side")] = 1024,
    ) -> list[TextContent | ImageContent]:
        """See frames of the reference: up to 60 as one labelled sheet with cuts marked, or up to 4 single in detail.

        The text says which part of the whole picture is seen; with grid, read points for fit_camera off the lines.
        """
        video = await _video(session, context, workplace, reference)
        options = [f"--layout={layout}", f"--size={size}"]
        options += [f"--frames={frames}"] if frames else []
        options += [f"--times={','.join(map(_plain, times))}"] if times else []
        options += [f"--crop={','.join(map(_plain, crop))}"] if crop is not None else []
        options += ["--grid"] if grid else []
        try:
            out = await anyio.to_thread.run_sync(_place, video, options)
        except OSError as error:
            raise ToolError(f"bad_params: {video}: cannot be read ({error.strerror or error})") from error
        messages = await run_command(
            context, ["frames", str(video), *options, "--most=4", f"--out={out}"], seconds=FRAMES_SECONDS
        )
        data = only_result(messages)
        text = "\n".join([data["text"], *(f"File: {path}" for path in data["files"])])
        pictures = [ImageContent(type="image", data=_read(path), mime_type="image/jpeg") for path in data["files"]]
        return [TextContent(type="text", text=text), *pictures]

    @server.tool(title="Reference Motion", annotations=LOOKS)
    async def reference_motion(
        context: Context,
        reference: Reference = "",
        shot: Annotated[int | None, Field(ge=0, description="Only this one, from 0, and more finely")] = None,
    ) -> ReferenceMotion:
        """Measured motion of each shot: what the camera does, its focal length, keys for a Blender camera, regions.

        Lengths are in scene depths (1: median depth of a shot's first frames); what pictures do not tell is null with
        a reason. Regions move by themselves. Call again while state is running.
        """
        video = await _video(session, context, workplace, reference)
        options = [] if shot is None else [f"--shot={shot}", f"--most={MOST_OF_ONE_SHOT}"]
        key = (video, changed_at(video, "reference"), shot)
        try:
            command = motions.running(key) or motions.start(key, [["motion", str(video), *options]])
        except MatchcutError as error:
            raise ToolError(str(error)) from error
        await command.wait(context, WAIT_SECONDS)
        if command.state == "running":
            return ReferenceMotion(state="running", notes=[f"{command.progress()}; call again to wait for it"])
        if command.state != "done":
            raise ToolError(command.error or "failed: it was cancelled")
        data = command.results[-1]
        return ReferenceMotion(cuts=data["cuts"], shots=[_brief(one) for one in data["shots"]], notes=data["notes"])


async def _video(session: Calls, context: Context, workplace: Workplace, given: str) -> Path:
    try:
        return await find_reference(session, context, workplace, given)
    except MatchcutError as error:
        raise ToolError(str(error)) from error


def _info(video: Path, data: dict[str, Any], setting: str) -> ReferenceInfo:
    """The answer out of what `matchcut probe --shots` found."""
    timeline = Timeline.from_json(data["timeline"])
    return ReferenceInfo(
        path=str(video), setting=setting, scene=_scene_of(timeline), shots=data["shots"]["intervals"],
        timeline={**data["timeline"], "seconds": round(float(timeline.duration), 6)}, fades=data["shots"]["fades"],
        warnings=_warnings(data), sha256=data["sha256"],
    )  # fmt: skip


def _scene_of(timeline: Timeline) -> dict[str, Any]:
    """What puts a Blender scene on the timeline, by the names of its properties."""
    return {
        "render.resolution_x": timeline.width, "render.resolution_y": timeline.height,
        "render.resolution_percentage": 100, "render.fps": timeline.fps, "render.fps_base": float(timeline.fps_base),
        "frame_start": 1, "frame_end": timeline.frames,
    }  # fmt: skip


def _warnings(data: dict[str, Any]) -> list[str]:
    """What is odd about the file, each with what to do."""
    timeline, found = data["timeline"], list(data["warnings"])
    if not data["constant_rate"]:
        found.append(
            f"The frame rate varies: render {timeline['frames']} frames at {timeline['rate']}, the average; times that "
            "reference_frames shows are the file's own"
        )
    if data["rotation_deg"] or data["mirrored"]:
        found.append(
            f"The file turns its picture by {data['rotation_deg']}° when shown"
            f"{' and mirrors it' if data['mirrored'] else ''}; use {timeline['width']}x{timeline['height']}, upright"
        )
    if data["pixel_aspect"] != "1:1":
        found.append(
            f"Coded pixels are {data['pixel_aspect']}; use square ones at {timeline['width']}x{timeline['height']}"
        )
    claimed, frames = data["header_frames"], timeline["frames"]
    if claimed not in (None, 0, frames):
        found.append(f"The header claims {claimed} frames, {frames} are shown: render {frames}")
    header_rate = data["header_rate"]
    if header_rate is not None and data["constant_rate"]:
        claimed_rate, rate = parse_rate(header_rate), parse_rate(timeline["rate"])
        if abs(claimed_rate / rate - 1) > 0.002:
            found.append(f"The header claims {header_rate} frames per second; render at {timeline['rate']}")
    return found


def _plain(number: float) -> str:
    """A number without an exponent, which the command line does not take."""
    if not abs(number) <= LARGEST:
        raise ToolError(f"bad_params: {number:g} is no number to crop or to look at")
    return f"{number:.6f}".rstrip("0").rstrip(".") if number != int(number) else str(int(number))


def _place(video: Path, options: list[str]) -> Path:
    """Where the picture is kept: its name is that of the file as it is now and of what is shown of it."""
    folder = cache_folder("frames")
    forget_all_but(folder, KEPT_PICTURES)
    stat = video.stat()
    asked = json.dumps([str(video), stat.st_size, stat.st_mtime_ns, options])
    name = hashlib.sha256(asked.encode()).hexdigest()[:20]
    return folder / f"{video.stem[:40]}-{name}.jpg"


def _read(path: str) -> str:
    return base64.b64encode(Path(path).read_bytes()).decode("ascii")


def _brief(shot: dict[str, Any]) -> dict[str, Any]:
    """A shot's motion without the fields that say nothing."""
    camera = {name: value for name, value in shot["camera"].items() if value != ""}
    focal = {name: value for name, value in shot["focal"].items() if value not in ("", None) or name in ("px", "mm")}
    return {**shot, "camera": camera, "focal": focal}
