# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks that Blender takes one by one, so that it answers its user in between, and what is said with them."""

from __future__ import annotations

import atexit
import base64
import contextlib
import functools
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, cast

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ImageContent, TextContent

from ..evaluator.protocol.files import write_bytes
from ..evaluator.protocol.scratch import scratch_folder
from ..evaluator.protocol.timeline import nearest_frame, parse_rate
from .calls import Calls, call
from .commands import only_result, run_command

LOOK_SECONDS: Final = 240.0
PROBE_SECONDS: Final = 240.0
COMPARED_SIZE: Final = 640
"""Pixels of the longer side of a look that is compared; it is measured at half of that."""

_open = contextlib.ExitStack()
atexit.register(_open.close)


@functools.cache
def pictures_folder() -> Path:
    """Where this server's comparisons lie until it ends."""
    return _open.enter_context(scratch_folder("compare"))


class _Shares:
    """Progress of one of several calls as a share of all of them: it never goes back."""

    def __init__(self, context: Context, done: int, total: int) -> None:
        self._context, self._done, self._total = context, done, total
        self.session = context.session  # which client it is

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """See Context.report_progress."""
        share = min(progress / total, 0.99) if total else 0.0
        await self._context.report_progress(self._done + share, self._total, message)


async def take_looks(
    session: Calls, context: Context, params: dict[str, Any], frames: Sequence[int], instance: int | None
) -> list[TextContent | ImageContent]:
    """One look as it is, several as a sheet, with what they show as text. Raises ToolError."""
    wanted: list[int | None] = [*frames] or [None]
    single = len(wanted) == 1
    found, notes = await _each(session, context, {**params, "cells": len(wanted), "data": single}, wanted, instance)
    shown = found[0]
    if not single:
        labels = [f"frame {one['frame']}   {one['view']}" for one in found]
        paths = [one["path"] for one in found]
        shown, _ = await call(
            session, context, "look_sheet", {"paths": paths, "labels": labels}, LOOK_SECONDS, instance
        )
    text = "\n".join([*notes, *_lines(found), _file_line(shown)])
    picture = ImageContent(type="image", data=shown["jpeg"], mime_type="image/jpeg")
    return [TextContent(type="text", text=text), picture]


async def _each(
    session: Calls, context: Context, params: dict[str, Any], frames: Sequence[int | None], instance: int | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """The answer of every frame's look, and what is to be said before: which Blender that was."""
    found, notes = [], []
    for done, frame in enumerate(frames):
        shares = cast("Context", _Shares(context, done, len(frames)))
        answer, note = await call(session, shares, "look", {**params, "frame": frame}, LOOK_SECONDS, instance)
        found.append(answer)
        notes += [note] if note else []
        if len(frames) > 1:
            await context.report_progress(done + 1, len(frames), f"look: frame {done + 1} of {len(frames)}")
    return found, notes


def _lines(looks: Sequence[dict[str, Any]]) -> list[str]:
    """What the looks show, saying once what is the same for neighbours."""
    lines: list[str] = []
    before = ""
    for one in looks:
        lens = f" ({one['lens']})" if one["lens"] else ""
        samples = f", {one['samples']} samples" if one["samples"] else ""
        shown = f"{one['view']}{lens}; {one['engine']}{samples}"
        notes = "".join(f"; note: {note}" for note in one["notes"])
        same = shown + notes == before
        lines.append(f"Frame {one['frame']}: {'as before' if same else shown + notes}, {one['seconds']:.2f} s")
        before = shown + notes
    return lines


def _file_line(picture: dict[str, Any]) -> str:
    kilobytes = len(picture["jpeg"]) * 3 / 4000
    return f"{picture['width']}x{picture['height']}, {kilobytes:.0f} kB. File: {picture['path']}"


class FreshLooks:
    """Looks through the camera at a reference's frames and those beside them, for a comparison."""

    def __init__(self, session: Calls, context: Context, instance: int | None, shading: str, samples: int) -> None:
        self._session, self._context, self._instance = session, context, instance
        self._params = {"view": "camera", "size": COMPARED_SIZE, "shading": shading, "samples": samples}
        self.no_colour = "" if shading == "rendered" else "the look is not rendered, so its colours are not the scene's"

    async def take(self, video: Path, frames: Sequence[int], folder: Path) -> str:
        """Write a picture for each of the reference's frames and its neighbour, numbered by them; returns notes.

        Each shows the scene's frame that is nearest by time. Raises ToolError where the scene has none.
        """
        timeline = await _timeline(self._context, video)
        rate, count = parse_rate(timeline["rate"]), int(timeline["frames"])
        beyond = next((frame for frame in frames if not 0 <= frame < count), None)
        if beyond is not None:
            raise ToolError(f"bad_params: frame {beyond} was asked for; the reference's frames are 0 … {count - 1}")
        summary, note = await call(
            self._session, self._context, "scene_summary", {"limit": 0}, LOOK_SECONDS, self._instance
        )
        scene = summary["timeline"]
        own_rate = parse_rate(scene["rate"])
        own = {frame: nearest_frame(Fraction(frame) / rate, own_rate) for frame in _with_neighbours(frames, count)}
        missing = next((frame for frame in frames if own[frame] >= scene["frames"]), None)
        if missing is not None:
            raise ToolError(
                f"bad_params: the reference's frame {missing} is the scene's {own[missing]}, and it has "
                f"{scene['frames']}; give the scene the reference's range and rate"
            )
        shown = [frame for frame in own if own[frame] < scene["frames"]]
        found, _ = await _each(
            self._session, self._context, self._params, [own[frame] for frame in shown], self._instance
        )
        for frame, one in zip(shown, found, strict=True):
            write_bytes(folder / f"{frame:06d}.jpg", base64.b64decode(one["jpeg"]))
        rates = (
            []
            if own_rate == rate
            else [f"The scene runs at {scene['rate']} frames per second, not {timeline['rate']}."]
        )
        kept = [one for frame, one in zip(shown, found, strict=True) if frame in frames]
        return "\n".join([note, *rates, *_lines(kept)])


def _with_neighbours(frames: Sequence[int], count: int) -> list[int]:
    """The frames and, for the motion, the next one of each; of the last one the one before."""
    return sorted({*frames, *(frame + 1 if frame + 1 < count else max(0, frame - 1) for frame in frames)})


_timelines: dict[tuple[str, int, int], dict[str, Any]] = {}


async def _timeline(context: Context, video: Path) -> dict[str, Any]:
    """The reference's timeline as JSON values; the video is read once while it stays the same."""
    try:
        about = video.stat()
    except OSError as error:
        raise ToolError(
            f"bad_params: {video}: cannot be read ({error.strerror or error}); name the reference"
        ) from error
    key = (str(video), about.st_mtime_ns, about.st_size)
    if key not in _timelines:
        messages = await run_command(context, ["probe", str(video)], seconds=PROBE_SECONDS)
        _timelines[key] = only_result(messages)["timeline"]
    return _timelines[key]
