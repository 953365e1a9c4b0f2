# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a render job: prepares its folder, has what is missing rendered, and makes the verified video.

A job is finished when its status says `done`; its video is made after that, and is taken away before anything else, so
that a killed run leaves none. What is there of an identical job (same scene content, same settings) is used again,
also where passes are now asked for besides, or no more.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ..environment.blender import Blender, blend_sha256
from ..media.encode import check_rate, check_size, encode
from ..protocol.errors import BadInputError, MatchcutError, OperationalError
from ..protocol.files import read_json, write_json
from ..protocol.geometry import chunks_of, write_index
from ..protocol.lock import sole_user
from ..protocol.messages import Reporter
from ..protocol.render_job import JOB_FORMAT, PARTS, STATUS_FILE, RenderJob, RenderStatus, frame_path
from ..protocol.timeline import Timeline
from .batches import Run, missing_batches
from .child import Batch, forget_parts
from .verify import verify_video

FRAME_LIMIT_SECONDS = 30 * 60.0
MOST_SAMPLES = 2**24  # Cycles takes no more
MOST_WORKERS = 64
VIDEO = "reconstruction.mp4"
PREVIEW = "preview.mp4"


@dataclass(frozen=True)
class RenderOutcome:
    """A finished job.

    `video` is None unless pictures of all frames were asked for; `preview` is there where a part of them was, or every
    nth; `geometry` is None without passes.
    """

    folder: Path
    video: Path | None
    preview: Path | None
    geometry: Path | None
    status: RenderStatus


def render_scene(
    scene: Path,
    out: Path,
    timeline: Timeline,
    *,
    blender: Blender,
    reporter: Reporter,
    first: int = 0,
    last: int | None = None,
    step: int = 1,
    scale: float = 1.0,
    samples: int | None = None,
    engine: str | None = None,
    device: str = "auto",
    view_transform: str | None = None,
    addons: Sequence[str] = (),
    pictures: bool = True,
    passes: bool = False,
    workers: int = 1,
    frame_limit: float | None = FRAME_LIMIT_SECONDS,
    content: str = "",
) -> RenderOutcome:
    """Render `scene` on a reference's timeline into the job folder `out`; the layout is in protocol/render_job.py.

    Every `step`-th of the frames `first … last` of the reference, at `scale` times its size, by `workers` processes at
    a time. `content` is what `scene_content` said of the scene, where it was asked.
    A frame that takes more than `frame_limit` seconds (None: any time is right) is given up like one that crashes.
    Raises BadInputError for a scene, folder or setting that cannot be used, OperationalError where Blender or the
    encoder fails, naming the frames that could not be rendered; nothing is left running, and what is there is kept.
    """
    last = timeline.frames - 1 if last is None else last
    scene, out = scene.resolve(), out.resolve()
    job = RenderJob(
        str(scene), timeline, first, last, scale, samples, engine, device, pictures, passes,
        view_transform=view_transform, addons=list(addons), step=step, content=content,
    )  # fmt: skip
    check_request(job, workers, frame_limit)
    job = replace(job, scene_sha256=blend_sha256(scene))
    if pictures and job.whole:
        check_size(*job.size, "the reference")
        check_rate(timeline.rate)
    with sole_user(out, patience=1.0):
        before = _prepare(job, out)
        try:
            status = _render(Run(job, out, blender, reporter, workers, frame_limit), before)
        finally:
            forget_parts(out)
        video, preview = _encode(job, out, reporter)
    return RenderOutcome(out, video, preview, out / "geometry" if passes else None, status)


def _encode(job: RenderJob, out: Path, reporter: Reporter) -> tuple[Path | None, Path | None]:
    """(the verified video, the preview), one of them at most: the latter wherever a video can hold what is there."""
    frames = [frame_path(out, frame) for frame in job.wanted()]
    if not job.pictures:
        return None, None
    if job.whole:
        video = out / VIDEO
        info = encode(frames, job.timeline.rate, video, reporter=reporter, total=len(frames))
        verify_video(info, job, video)
        return video, None
    rate = job.timeline.rate / job.step
    try:
        check_size(*job.size, "the preview")
        check_rate(rate)
    except BadInputError:  # the pictures are what was asked for
        return None, None
    if len(frames) < 2:
        return None, None
    encode(frames, rate, out / PREVIEW, reporter=reporter, total=len(frames))
    return None, out / PREVIEW


def _render(run: Run, before: RenderStatus | None) -> RenderStatus:
    """Render what is missing and finish the status; `before` is the one of an earlier run of the same job."""
    job, folder, batches = run.job, run.folder, missing_batches(run.job, run.folder, run.workers)
    if not batches and before is not None and before.engine:
        total = len(job.wanted()) * (job.pictures + job.passes)
        status = replace(before, done=total, total=total, rendered=0, seconds_left=0.0, failed=[], error="")
    else:  # where nothing is missing, a child still says what it would render with
        try:
            status = run.render(batches or [Batch(*chunks_of(job)[0])])
            if run.failed:
                raise OperationalError(_names(run))
        except MatchcutError as error:
            run.status.state, run.status.error = "failed", str(error)
            with suppress(OSError):  # the disk is full
                run.status.write(folder)
            raise
    if job.passes:
        write_index(folder, job)
    status.state, status.frame, status.seconds_left = "done", job.last, 0.0
    status.write(folder)
    return status


def _names(run: Run) -> str:
    frames = ", ".join(map(str, sorted(run.failed)))
    plural = "s" if len(run.failed) > 1 else ""
    first = min(run.failed)
    return (
        f"{run.job.scene}: frame{plural} {frames} could not be rendered (frame {first}: {run.failed[first]}); the rest "
        f"is kept, see {run.folder / 'render.log'}, and render again to try what is missing"
    )


def check_request(job: RenderJob, workers: int = 1, frame_limit: float | None = None) -> None:
    """Raise BadInputError where a job asks for frames that are not there, or for what makes no sense."""
    frames = job.timeline.frames
    if not 0 <= job.first <= job.last < frames:
        raise BadInputError(f"frames {job.first}-{job.last}: the reference has frames 0-{frames - 1}")
    if not 0 < job.scale <= 4:
        raise BadInputError(f"scale {job.scale:g}: has to lie above 0 and at most at 4")
    if job.samples is not None and not 1 <= job.samples <= MOST_SAMPLES:
        raise BadInputError(f"samples {job.samples}: at least 1 and at most {MOST_SAMPLES} can be asked for")
    if not 1 <= workers <= MOST_WORKERS:
        raise BadInputError(f"workers {workers}: at least 1 and at most {MOST_WORKERS} can be asked for")
    if frame_limit is not None and not frame_limit > 0:
        raise BadInputError(f"frame limit {frame_limit:g}: has to be more than 0 seconds")
    if job.step < 1:
        raise BadInputError(f"every {job.step}th frame: at least 1, which is every frame")
    if job.step > 1 and job.passes:
        raise BadInputError("passes tell the motion from frame to frame: render every frame, or leave the passes")
    if not (job.pictures or job.passes):
        raise BadInputError("neither pictures nor passes are asked for: there is nothing to render")


def _prepare(job: RenderJob, out: Path) -> RenderStatus | None:
    """Make the folder ready: an identical job's frames stay, another's are removed, a stranger's not touched.

    Returns the status of an identical job that was done, and takes it away: a killed run leaves none that says so.
    """
    before = None
    try:
        if (out / "job.json").exists():
            if _same(job, out):
                before = _finished(out)
            else:
                _remove_job(out, keep=Path(job.scene))
        else:
            for name in ("frames", "geometry", VIDEO, PREVIEW, "scene.blend", "simulated.blend", PARTS):
                if (out / name).exists() and out / name != Path(job.scene):
                    raise BadInputError(f"{out / name} is there but is no job's; choose another output folder")
        for name in (VIDEO, PREVIEW, STATUS_FILE, "geometry/geometry.json"):
            (out / name).unlink(missing_ok=True)
        forget_parts(out)
        out.mkdir(parents=True, exist_ok=True)
        (out / "render.log").write_bytes(b"")
        write_json(out / "job.json", job.to_json())
    except OSError as error:
        raise BadInputError(f"{out}: cannot be written ({error.strerror or error}); choose another folder") from error
    return before


def _same(job: RenderJob, out: Path) -> bool:
    """Whether the job that lies in `out` is this one; fields that it does not know have their defaults."""
    found = read_json(out / "job.json", JOB_FORMAT)
    try:
        return job.same_pixels(RenderJob.from_json(found))
    except BadInputError:
        return False


def _finished(out: Path) -> RenderStatus | None:
    try:
        status = RenderStatus.read(out)
    except BadInputError:
        return None
    return status if status.state == "done" else None


def _remove_job(out: Path, keep: Path) -> None:
    # the job's record goes first: a folder that is half tidied is never taken for an identical job's
    (out / "job.json").unlink(missing_ok=True)
    for name in ("frames", "geometry", PARTS):
        if (out / name).exists():
            shutil.rmtree(out / name)
    for name in (VIDEO, PREVIEW, STATUS_FILE, "render.log", "scene.blend", "simulated.blend"):
        if out / name != keep:
            (out / name).unlink(missing_ok=True)
