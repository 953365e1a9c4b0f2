# SPDX-License-Identifier: GPL-3.0-or-later
"""The render child: reads a job, renders what is missing of it, and keeps its status file true."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import bpy

from ...evaluator.protocol.errors import BadInputError, ExitStatus, MatchcutError
from ...evaluator.protocol.render_job import RenderJob, RenderStatus
from ..scene_file import open_scene, save_copy
from ..timeline import match_timeline, timeline_problems
from .geometry import render_geometry
from .pictures import go_to, render_pictures
from .settings import denoiser_of, use_device, use_engine, use_samples

WINDOWS_TRIES = 20


def run_job(folder: Path) -> int:
    """Render the job in `folder` as far as it is missing; returns the exit status, the reason is in `status.json`."""
    status = RenderStatus(blender=bpy.app.version_string)
    try:
        try:
            job = RenderJob.read(folder)
            status.total = (job.last - job.first + 1) * (job.pictures + job.passes)
            write_status(status, folder)
            _remove_leftovers(folder)
            _open_scene(folder, Path(job.scene))
            _render(folder, job, status)
        except MatchcutError as error:
            return _fail(folder, status, str(error), error.exit_status)
        except OSError as error:
            return _fail(folder, status, f"{folder}: cannot be written ({error})", ExitStatus.OPERATIONAL_FAILURE)
    except OSError as error:  # not even the status could be written
        sys.stderr.write(f"matchcut: {folder}: cannot be written ({error})\n")
        return ExitStatus.OPERATIONAL_FAILURE
    status.state = "done"
    write_status(status, folder)
    return ExitStatus.DONE


def write_status(status: RenderStatus, folder: Path) -> None:
    """Replace `status.json`. On Windows that fails for the instant in which the parent reads it: try again."""
    for attempt in range(WINDOWS_TRIES):
        try:
            status.write(folder)
            return
        except PermissionError:
            if os.name != "nt" or attempt == WINDOWS_TRIES - 1:
                raise
            time.sleep(0.05)


def _fail(folder: Path, status: RenderStatus, text: str, exit_status: int) -> int:
    status.state, status.error = "failed", text
    write_status(status, folder)
    sys.stderr.write(f"matchcut: {text}\n")
    return exit_status


def _remove_leftovers(folder: Path) -> None:
    for place in (folder, folder / "frames", folder / "geometry"):
        for leftover in place.glob(".partial-*"):
            leftover.unlink(missing_ok=True)


def _open_scene(folder: Path, source: Path) -> None:
    """Open the job's own copy of the scene; where it is not there yet, make it from the artist's file.

    The copy is made by Blender and not of bytes, so that paths relative to the artist's file still lead somewhere.
    """
    copy = folder / "scene.blend"
    opened = copy if copy.exists() else source
    open_scene(opened)
    lost = missing_files(bpy.data.libraries)
    if lost:
        raise BadInputError(
            f"{source}: the linked library {lost[0]} is missing; put it there, or append what is linked"
        )
    if opened != copy:
        save_copy(bpy.context.scene, copy)


def missing_files(blocks: Any) -> list[str]:
    """The files that libraries or images read and that are not there, in order; what is packed is in the .blend."""
    named = (block.filepath for block in blocks if block.users and not block.packed_file and block.filepath)
    return sorted({path for path in map(bpy.path.abspath, named) if not Path(path).is_file()})


def _render(folder: Path, job: RenderJob, status: RenderStatus) -> None:
    scene = bpy.context.scene
    if not any(layer.use for layer in scene.view_layers):
        raise BadInputError(f"scene {scene.name!r} has no view layer that is rendered; turn on `Use for Rendering`")
    status.notes += timeline_problems(scene, job.timeline)
    images = [image for image in bpy.data.images if image.source == "FILE"]
    status.notes += [f"the image {path} is missing; it renders as magenta" for path in missing_files(images)]
    match_timeline(scene, job.timeline)
    scene.render.resolution_x, scene.render.resolution_y = job.size
    use_engine(scene, job.engine if job.pictures else "CYCLES")
    status.engine = scene.render.engine
    status.samples = use_samples(scene, job.samples if job.pictures else 1)
    status.device = use_device(scene, bpy.context.preferences, job.device)
    status.denoiser = denoiser_of(scene)
    status.view_transform = scene.view_settings.view_transform
    go_to(scene, job.first)
    status.state = "rendering"
    write_status(status, folder)
    clock = Clock(folder, status)
    if job.pictures:
        render_pictures(folder, job, clock.count)
    if job.passes:
        status.notes += render_geometry(folder, job, clock.count)


class Clock:
    """Counts finished frames in the status and tells the mean time of those that were rendered."""

    def __init__(self, folder: Path, status: RenderStatus) -> None:
        self._folder = folder
        self._status = status
        self._spent: list[float] = []
        self._last = time.monotonic()

    def count(self, frame: int) -> None:
        """Frame `frame` of the reference is there."""
        now = time.monotonic()
        self._spent.append(now - self._last)
        self._last = now
        self._status.done += 1
        self._status.frame = frame
        self._status.seconds_per_frame = round(sum(self._spent) / len(self._spent), 4)
        self._status.peak_memory_bytes = peak_memory_bytes()
        write_status(self._status, self._folder)


def peak_memory_bytes() -> int | None:
    """The most memory that this process has held; None where the system does not tell (Windows)."""
    try:
        import resource
    except ImportError:
        return None
    usage: Any = resource.getrusage(resource.RUSAGE_SELF)
    return int(usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
