# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a render job: prepares its folder, starts a child Blender, follows it, and makes the verified video.

A job is finished when its status says `done`; its video is made after that, and is taken away before anything else, so
that a killed run leaves none. What is there of an identical job (same scene content, same settings) is used again.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ..environment.blender import Blender
from ..media.encode import encode
from ..media.records import VideoInfo
from ..protocol.children import child_environment, kill_group, own_group
from ..protocol.errors import BadInputError, ExitStatus, OperationalError
from ..protocol.files import read_json, sha256_of, write_json
from ..protocol.lock import sole_user
from ..protocol.messages import Reporter
from ..protocol.render_job import JOB_FORMAT, RenderJob, RenderStatus, frame_path
from ..protocol.timeline import Timeline, format_rate

STAGE = "render"
POLL_SECONDS = 0.1
GRACE_SECONDS = 2.0
FULL_BYTES = 2**20  # less than one frame takes
MOST_SAMPLES = 2**24  # Cycles takes no more
# a .blend as it is, compressed with Zstandard, or with gzip by an older Blender
BLEND_MAGIC = (b"BLENDER", b"\x28\xb5\x2f\xfd", b"\x1f\x8b")


@dataclass(frozen=True)
class RenderOutcome:
    """A finished job. `video` is None unless pictures of the whole range were asked for, `geometry` without passes."""

    folder: Path
    video: Path | None
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
    scale: float = 1.0,
    samples: int | None = None,
    engine: str | None = None,
    device: str = "auto",
    pictures: bool = True,
    passes: bool = False,
) -> RenderOutcome:
    """Render `scene` on a reference's timeline into the job folder `out`; the layout is in protocol/render_job.py.

    Frames `first … last` of the reference, both included, at `scale` times its size. Raises BadInputError for a scene,
    folder or setting that cannot be used, OperationalError where Blender or the encoder fails; nothing is left running.
    """
    last = timeline.frames - 1 if last is None else last
    scene, out = scene.resolve(), out.resolve()
    _check_request(timeline, first, last, scale, samples, pictures, passes)
    job = RenderJob(
        str(scene), timeline, first, last, scale, samples, engine, device, pictures, passes, _blend_sha256(scene)
    )
    whole = pictures and (first, last) == (0, timeline.frames - 1)
    if whole and (job.size[0] % 2 or job.size[1] % 2):
        raise BadInputError(f"the reference is {job.size[0]}x{job.size[1]}; H.264 video needs an even width and height")
    video = out / "reconstruction.mp4" if whole else None
    with sole_user(out):
        _prepare(job, out)
        status = _run_child(job, out, blender, reporter)
        for note in status.notes:
            reporter.warning(note)
        if video is not None:
            frames = [frame_path(out, frame) for frame in range(timeline.frames)]
            info = encode(frames, timeline.rate, video, reporter=reporter, total=timeline.frames)
            _verify(info, job, video)
    return RenderOutcome(out, video, out / "geometry" if passes else None, status)


def _check_request(
    timeline: Timeline, first: int, last: int, scale: float, samples: int | None, pictures: bool, passes: bool
) -> None:
    if not 0 <= first <= last < timeline.frames:
        raise BadInputError(f"frames {first}-{last}: the reference has frames 0-{timeline.frames - 1}")
    if not 0 < scale <= 4:
        raise BadInputError(f"scale {scale:g}: has to lie above 0 and at most at 4")
    if samples is not None and not 1 <= samples <= MOST_SAMPLES:
        raise BadInputError(f"samples {samples}: at least 1 and at most {MOST_SAMPLES} can be asked for")
    if not (pictures or passes):
        raise BadInputError("neither pictures nor passes are asked for: there is nothing to render")


def _blend_sha256(scene: Path) -> str:
    try:
        with scene.open("rb") as file:
            magic = file.read(7)
        if not magic.startswith(BLEND_MAGIC):
            raise BadInputError(f"{scene}: not a .blend file; save the scene in Blender and name that file")
        return sha256_of(scene)
    except FileNotFoundError:
        raise BadInputError(f"{scene}: there is no such file") from None
    except OSError as error:
        raise BadInputError(f"{scene}: cannot be read ({error})") from error


def _prepare(job: RenderJob, out: Path) -> None:
    """Make the folder ready: an identical job's frames stay, another's are removed, a stranger's not touched."""
    try:
        if (out / "job.json").exists():
            if read_json(out / "job.json", JOB_FORMAT) != job.to_json():
                _remove_job(out, keep=Path(job.scene))
        else:
            for name in ("frames", "geometry", "reconstruction.mp4", "scene.blend"):
                if (out / name).exists() and out / name != Path(job.scene):
                    raise BadInputError(f"{out / name} is there but is no job's; choose another output folder")
        for name in ("reconstruction.mp4", "status.json"):
            (out / name).unlink(missing_ok=True)
        out.mkdir(parents=True, exist_ok=True)
        write_json(out / "job.json", job.to_json())
    except OSError as error:
        raise BadInputError(f"{out}: cannot be written ({error.strerror or error}); choose another folder") from error


def _remove_job(out: Path, keep: Path) -> None:
    # the job's record goes first: a folder that is half tidied is never taken for an identical job's
    (out / "job.json").unlink(missing_ok=True)
    for name in ("frames", "geometry"):
        if (out / name).exists():
            shutil.rmtree(out / name)
    for name in ("reconstruction.mp4", "status.json", "render.log", "scene.blend"):
        if out / name != keep:
            (out / name).unlink(missing_ok=True)


def _run_child(job: RenderJob, out: Path, blender: Blender, reporter: Reporter) -> RenderStatus:
    command = blender.command("render-job", str(out), "--follow-parent")
    with (out / "render.log").open("wb") as log, _child(command, log, blender) as process:
        told = -1
        while True:
            ended = process.poll() is not None
            status = _read_status(out)
            if status is not None and status.done != told:
                told = status.done
                reporter.progress(STAGE, status.done, status.total, _progress_text(job, status))
            if ended:
                break
            time.sleep(POLL_SECONDS)
    if status is None or status.state != "done":
        raise _failure(status, process.returncode, job, out)
    return status


def _progress_text(job: RenderJob, status: RenderStatus) -> str:
    """What the child does: pictures first, then the passes, frame by frame each."""
    frames = job.last - job.first + 1
    pace = f", {status.seconds_per_frame:.2f} s/frame" if status.seconds_per_frame else ""
    if job.pictures and status.done <= frames:
        return f"frame {status.done} of {frames}{pace}"
    return f"passes of frame {status.done - frames * job.pictures} of {frames}{pace}"


def _read_status(out: Path) -> RenderStatus | None:
    try:
        return RenderStatus.read(out)
    except BadInputError:  # not written yet, or being replaced at this instant (Windows)
        return None


def _failure(status: RenderStatus | None, returncode: int, job: RenderJob, out: Path) -> Exception:
    if status is not None and status.state == "failed":
        if returncode == ExitStatus.BAD_INPUT:
            return BadInputError(status.error)
        return OperationalError(status.error)
    if shutil.disk_usage(out).free < FULL_BYTES:  # then the child could not tell it either
        return OperationalError(f"{out}: the disk is full; free some space, or choose another folder, and render again")
    where = "before its first frame" if status is None or status.frame is None else f"after frame {status.frame}"
    how = f"was killed by signal {-returncode}" if returncode < 0 else f"ended with status {returncode}"
    told = (out / "render.log").read_text("utf-8", "replace").splitlines()
    lines = [line.strip() for line in told if line.strip() and line != "Blender quit"] or ["no output"]
    errors = [line for line in lines if re.match(r"\w*(Error|Exception)\b", line)] or lines
    return OperationalError(f"{job.scene}: Blender {how} {where} ({errors[-1]}); see {out / 'render.log'}")


@contextmanager
def _child(command: list[str], log: BinaryIO, blender: Blender) -> Iterator[subprocess.Popen[bytes]]:
    """A child in a process group of its own, which is ended when the block is left in any way.

    The child's standard input stays open as long as this process lives: it ends itself when that closes.
    """
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, env=child_environment(), **own_group()
        )  # fmt: skip
    except OSError as error:
        raise BadInputError(f"{blender.path}: Blender does not start ({error}); run: matchcut doctor") from error
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
    kill_group(process, leftovers=True)
    if process.stdin is not None:
        process.stdin.close()


def _verify(info: VideoInfo, job: RenderJob, video: Path) -> None:
    """Take the video away and raise OperationalError where it is not on the job's timeline."""
    width, height = job.size
    for name, found, wanted in (
        ("size", f"{info.timeline.width}x{info.timeline.height}", f"{width}x{height}"),
        ("rate", format_rate(info.timeline.rate), format_rate(job.timeline.rate)),
        ("frame count", str(info.timeline.frames), str(job.timeline.frames)),
    ):
        if found != wanted:
            video.unlink(missing_ok=True)
            raise OperationalError(f"{video}: its {name} is {found}; it has to be {wanted}; render again")
