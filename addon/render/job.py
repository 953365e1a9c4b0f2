# SPDX-License-Identifier: GPL-3.0-or-later
"""The render child: reads a job, renders what is missing of its part of it, and keeps its status file true."""

from __future__ import annotations

import errno
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import bpy

from ...evaluator.protocol.errors import BadInputError, ExitStatus, MatchcutError, OperationalError
from ...evaluator.protocol.geometry import chunks_of, write_index
from ...evaluator.protocol.render_job import DISK_FULL, STATUS_FILE, RenderJob, RenderStatus, part_status
from ..scene_file import save_copy
from ..timeline import match_timeline, timeline_problems
from .clock import Clock
from .geometry import check_cameras, render_geometry
from .opening import enable_addons, missing_files, open_job_scene
from .pictures import check_frames, render_pictures
from .settings import mute_file_outputs, use_denoiser, use_device, use_engine, use_samples, use_view
from .simulation import keep_simulations


def run_job(folder: Path, frames: tuple[int, int] | None = None, skip: Collection[int] = ()) -> int:
    """Render what is missing of the job in `folder`; returns the exit status, the reason is in the status file.

    `frames` is a part of the job, first and last reference frame, whose status lies in `parts/`; None is the whole job.
    `skip` are frames that are not tried, nor the passes of the chunk that they lie in.
    """
    status = RenderStatus(blender=bpy.app.version_string)
    clock = Clock(folder, STATUS_FILE if frames is None else part_status(*frames), status)
    try:
        try:
            job = RenderJob.read(folder)
            first, last = frames or (job.first, job.last)
            status.total = len(job.wanted(first, last)) * (job.pictures + job.passes)
            clock.write()
            enable_addons(job.addons)
            _open_scene(folder, job, clock)
            _render(folder, job, (first, last), skip, clock)
            if frames is None and job.passes:
                write_index(folder, job)
        except MatchcutError as error:
            return _fail(clock, str(error), error)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
            return _fail(clock, f"{folder}: {DISK_FULL if full else f'cannot be written ({error})'}", error)
    except OSError as error:  # not even the status could be written
        sys.stderr.write(f"matchcut: {folder}: cannot be written ({error})\n")
        return ExitStatus.OPERATIONAL_FAILURE
    status.state, status.frame = "done", last
    clock.write()
    return ExitStatus.DONE


def _fail(clock: Clock, text: str, error: Exception) -> int:
    clock.status.state, clock.status.error = "failed", text
    if not isinstance(error, OperationalError):
        clock.status.frame = None  # no other frame would fare better
    clock.write()
    sys.stderr.write(f"matchcut: {text}\n")
    return error.exit_status if isinstance(error, MatchcutError) else ExitStatus.OPERATIONAL_FAILURE


def _open_scene(folder: Path, job: RenderJob, clock: Clock) -> None:
    """Open the job's own copy of the scene; where it is not there yet, make it from the artist's file.

    The copy is made by Blender and not of bytes, so that paths relative to the artist's file still lead somewhere.
    """
    copy, played, source = folder / "scene.blend", folder / "simulated.blend", Path(job.scene)
    opened = next((path for path in (played, copy) if path.exists()), source)
    notes = clock.status.notes
    notes += open_job_scene(opened, source, view_is_chosen=job.view_transform is not None)
    scene = bpy.context.scene
    if not any(layer.use for layer in scene.view_layers):
        raise BadInputError(f"scene {scene.name!r} has no view layer that is rendered; turn on `Use for Rendering`")
    check_frames(scene, job.first, job.last)
    if job.passes:
        check_cameras(scene, job)
    notes += timeline_problems(scene, job.timeline)
    notes += [
        f"the camera {marker.camera.name!r} of marker {marker.name!r} is hidden from renders: Blender passes over it"
        for marker in scene.timeline_markers
        if marker.camera and marker.camera.hide_render
    ]
    if scene.render.use_multiview:
        notes.append("the scene is stereoscopic; it is rendered as its camera sees it, one picture a frame")
    images = [image for image in bpy.data.images if image.source == "FILE"]
    notes += [f"the image {path} is missing; it renders as magenta" for path in missing_files(images)]
    if opened == played:
        notes.append(f"simulations that were not baked are played from their start in {played.name}")
        return
    if opened != copy:
        save_copy(scene, copy)
    clock.enter("simulating")
    last = min(job.last + 1, job.timeline.frames - 1)  # motion looks one frame ahead
    found, changed = keep_simulations(scene, job.timeline, last, clock.begin)
    notes += found
    if changed:
        save_copy(scene, played)


def _render(folder: Path, job: RenderJob, frames: tuple[int, int], skip: Collection[int], clock: Clock) -> None:
    scene, status = bpy.context.scene, clock.status
    match_timeline(scene, job.timeline)
    scene.render.resolution_x, scene.render.resolution_y = job.size
    if job.pictures:
        use_engine(scene, job.engine)
    else:
        with suppress(BadInputError):  # the passes can do without it
            use_engine(scene, "CYCLES")
    status.engine = scene.render.engine
    status.samples = use_samples(scene, job.samples if job.pictures else 1)
    if scene.render.engine != "CYCLES":
        clock.enter("graphics")
    status.device = use_device(scene, bpy.context.preferences, job.device)
    status.denoiser, notes = use_denoiser(scene)
    status.notes += notes
    status.view_transform, status.display_device = use_view(scene, job.view_transform)
    status.notes += mute_file_outputs(scene)
    clock.enter("rendering")
    if job.pictures:
        render_pictures(folder, job, [frame for frame in job.wanted(*frames) if frame not in skip], clock)
    if job.passes:
        notes = render_geometry(folder, job, _chunks(job, frames, skip), clock)
        status.notes += [note for note in notes if note not in status.notes]


def _chunks(job: RenderJob, frames: tuple[int, int], skip: Collection[int]) -> list[tuple[int, int]]:
    """The part's chunks without those that hold a skipped frame."""
    return [
        (first, last)
        for first, last in chunks_of(job)
        if frames[0] <= first <= frames[1] and not any(first <= frame <= last for frame in skip)
    ]
