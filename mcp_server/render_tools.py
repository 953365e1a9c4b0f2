# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools that render a scene on its reference's timeline, as the command line does: start, wait, status, cancel."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final, Literal

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from ..evaluator.protocol.errors import BadInputError, MatchcutError
from . import calls
from .calls import Calls, Instance, call
from .records import RenderState
from .renders import Render, Renders

SAVE_SECONDS: Final = 240.0
WAIT_SECONDS: Final = 240
CANCEL_SECONDS: Final = 10.0
POLL_SECONDS: Final = 0.2

Job = Annotated[str, Field(description="Default: the last one")]
LOOKS: Final = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def add_render_tools(server: MCPServer, session: Calls, renders: Renders) -> None:
    """Give `server` the four tools, over the jobs in `renders`."""
    starting = anyio.Lock()

    @server.tool(
        title="Start Render",
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
        ),
    )
    async def render_start(
        context: Context,
        reference: Annotated[str, Field(description="Video; default: the task's, or the one picked in Blender")] = "",
        scene: Annotated[str, Field(description="A .blend to render instead of what is open now")] = "",
        frames: Annotated[
            str, Field(pattern="^([0-9]+(-[0-9]+)?)?$", description="As 0-47, from 0; default: all")
        ] = "",
        scale: Annotated[float, Field(gt=0, le=4, description="Times the reference's size")] = 1.0,
        samples: Annotated[int | None, Field(ge=1, description="Default: the scene's")] = None,
        engine: Literal["scene", "cycles", "eevee", "workbench"] = "scene",
        device: Literal["auto", "cpu", "cuda", "optix", "hip", "metal", "oneapi"] = "auto",
        view_transform: Annotated[str, Field(description="Default: the scene's")] = "",
        passes: Annotated[bool, Field(description="Also write depth, motion, object ids and cameras")] = False,
        workers: Annotated[int, Field(ge=1, le=64, description="Blenders at a time")] = 1,
        instance: Instance = None,
    ) -> RenderState:
        """Start rendering a copy of the scene on the reference's timeline into a new folder; then call render_wait.

        Blender stays free meanwhile, and what is changed after this is not rendered. All frames become
        reconstruction.mp4; a part stays pictures in frames/. One render runs at a time.
        """
        async with starting:
            try:
                renders.check_idle()
                renders.check_refining()
                if renders.workplace.task.no_refine and not frames and scale != 1:
                    raise BadInputError(
                        "not_allowed: a render of all frames is the last one of this task: leave scale out, or render "
                        "a part of the frames as a test"
                    )
                options = _options(frames, scale, samples, engine, device, view_transform, passes, workers)
                if scene:
                    path = renders.workplace.allowed(scene, "scene")
                    video = _reference(renders, reference, path)
                    folder, note, blender = renders.workplace.new_folder(path), "", ""
                else:
                    path, video, folder, blender, note = await _saved_copy(
                        session, context, renders, reference, instance
                    )
                arguments = ["--scene", str(path), "--reference", str(video), *options]
                return renders.start(arguments, folder, blender).state(note)
            except MatchcutError as error:
                raise ToolError(str(error)) from error

    @server.tool(title="Wait for Render", annotations=LOOKS)
    async def render_wait(
        context: Context,
        job: Job = "",
        seconds: Annotated[int, Field(ge=1, le=WAIT_SECONDS, description="To wait at most")] = 120,
    ) -> RenderState:
        """Wait until a render has ended, at most `seconds`; call again while its state is running."""
        return await _wait(context, _found(renders, job), seconds)

    @server.tool(title="Render Status", annotations=LOOKS)
    async def render_status(job: Job = "") -> RenderState:
        """How far a render is, at once."""
        return _found(renders, job).state()

    @server.tool(
        title="Cancel Render",
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )
    async def render_cancel(context: Context, job: Job = "") -> RenderState:
        """Stop a render; the frames that are finished stay in its folder."""
        found = _found(renders, job)
        found.cancel()
        return await _wait(context, found, CANCEL_SECONDS)


async def _saved_copy(
    session: Calls, context: Context, renders: Renders, reference: str, instance: int | None
) -> tuple[Path, Path, Path, str, str]:
    """Scene, reference, folder, Blender and note of a job on what is open in Blender, a copy of which is saved."""
    place, note = await call(session, context, "scene_place", {}, SAVE_SECONDS, instance)
    opened = Path(place["file"]) if place["file"] else None
    video = _reference(renders, reference, opened, place["reference"])
    folder = renders.workplace.new_folder(opened)
    try:
        copy = folder / "scene.blend"
        _, more = await call(session, context, "save_copy", {"path": str(copy)}, SAVE_SECONDS, instance)
    except BaseException:
        with suppress(OSError):
            folder.rmdir()  # nothing is in it
        raise
    return copy, video, folder, place["blender"], " ".join(part for part in (note, more) if part)


def _reference(renders: Renders, given: str, beside: Path | None, picked: str = "") -> Path:
    """The video that is named, else the task's, else the one picked in Blender's tab."""
    if given:
        return renders.workplace.allowed(given, "reference", beside)
    found = renders.workplace.task.reference or (Path(picked) if picked else None)
    if found is None:
        raise ToolError("bad_params: name the reference video: its size, rate and length are those of the render")
    return found


def _options(
    frames: str,
    scale: float,
    samples: int | None,
    engine: str,
    device: str,
    view_transform: str,
    passes: bool,
    workers: int,
) -> list[str]:
    options = [f"--scale={scale!r}", f"--device={device}", f"--workers={workers}"]
    options += [f"--frames={frames}"] if frames else []
    options += [f"--samples={samples}"] if samples is not None else []
    options += [f"--engine={engine}"] if engine != "scene" else []
    options += [f"--view-transform={view_transform}"] if view_transform else []
    return [*options, *(["--passes"] if passes else [])]


def _found(renders: Renders, job: str) -> Render:
    try:
        return renders.find(job)
    except MatchcutError as error:
        raise ToolError(str(error)) from error


async def _wait(context: Context, render: Render, seconds: float) -> RenderState:
    """The state once the job has ended or the time is up; each step is told, and at least every few seconds one is."""
    end, told, last = time.monotonic() + seconds, (-1, -1, ""), time.monotonic()
    while render.update() and time.monotonic() < end:
        if render.progress != told or time.monotonic() - last > calls.PROGRESS_SECONDS:
            told, last = render.progress, time.monotonic()
            await context.report_progress(*told)
        await anyio.sleep(POLL_SECONDS)
    return render.state()
