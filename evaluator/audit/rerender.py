# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders some frames of a scene again and compares them with the submitted video."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from ..deliver.records import SUBMISSION, Asked, Submission
from ..environment.blender import Blender
from ..environment.sealed import sealed
from ..media.compare import frame_at
from ..media.decode import frames, pick
from ..media.pictures import read_picture
from ..media.probe import probe
from ..media.records import VideoInfo
from ..protocol.errors import BadInputError, OperationalError
from ..protocol.files import sha256_of, write_json
from ..protocol.messages import Reporter
from ..protocol.render_job import RenderJob, RenderStatus, frame_path
from ..protocol.scratch import scratch_folder
from ..render.batches import Run
from ..render.child import Batch
from ..shots.detect import detect_shots
from .agreement import LEVELS, distance, nearest_neighbour, share_of_reference
from .choose import choose_frames
from .rerender_records import RerenderedFrame, RerenderReport, verdict_of

Image = NDArray[np.uint8]
MOST_FRAMES: Final = 1000
"""That can be asked for; each starts a Blender."""
AROUND: Final = 6
"""Frames before and after one of the video that may show what was rendered in its place."""
FRAME_LIMIT_SECONDS: Final = 30 * 60.0
_STAGE: Final = "rerender"


@dataclass(frozen=True)
class Submitted:
    """A scene, the video that is said to be rendered from it, and the settings that it is said to be rendered with."""

    scene: Path
    reconstruction: Path | None
    """None where it has to be named."""
    settings: Literal["submission", "job", "scene"]
    asked: Asked | None
    """None where the scene's own settings are all that is known."""


def find_submitted(path: Path) -> Submitted:
    """What lies at `path`: a package of deliverables, a job's folder, or a .blend.

    Raises BadInputError where it is none of them.
    """
    if not path.is_dir():
        return Submitted(path, None, "scene", None)
    scene, video = path / "scene.blend", path / "reconstruction.mp4"
    if (path / SUBMISSION).is_file():
        return Submitted(scene, video, "submission", Submission.read(path / SUBMISSION).asked)
    if (path / "job.json").is_file():
        job = RenderJob.read(path)
        fields = {name: getattr(job, name) for name in Asked.model_fields} | {"scene": Path(job.scene).name}
        return Submitted(scene, video, "job", Asked.from_data(fields, str(path / "job.json")))
    raise BadInputError(
        f"{path}: neither a package nor a job's folder; give the .blend, or a folder of matchcut package"
    )


def check_request(submitted: Submitted, count: int) -> Path:
    """The submitted video. Raises BadInputError where it is not named, or the number of frames is out of bounds."""
    if not 1 <= count <= MOST_FRAMES:
        raise BadInputError(f"--rerender {count}: give a number of frames from 1 to {MOST_FRAMES}")
    if submitted.reconstruction is None:
        raise BadInputError("--rerender compares with the video that was submitted: name it with --reconstruction")
    return submitted.reconstruction


def rerender(
    submitted: Submitted,
    reference: Path,
    *,
    count: int,
    seed: int,
    blender: Blender,
    reporter: Reporter,
    device: str | None = None,
) -> RerenderReport:
    """Render `count` frames again, chosen by `seed`, and say of each whether the video shows it.

    The child Blenders run no scripts of the file, enable no add-on, and have no network (`environment.sealed`). A frame
    that cannot be rendered is told apart from one that differs. Raises BadInputError where the scene or a video cannot
    be used, OperationalError where not one frame can be rendered.
    """
    video = check_request(submitted, count)
    reporter.status("reading both videos")
    shots = detect_shots(reference, reporter=reporter)
    given, made = probe(reference), probe(video)
    chosen = choose_frames(given.timeline.frames, shots.boundaries, count, seed)
    job = _job(submitted, given, made, device)
    apart = sealed(blender)
    with scratch_folder("rerender") as folder:
        reporter.status(f"rendering frames {', '.join(map(str, chosen))} again with Blender {blender.version}")
        status, failed = _render(job, folder, chosen, apart, reporter)
        compared = list(_compare(folder, chosen, failed, given, made))
    return RerenderReport(
        scene=submitted.scene.name, scene_sha256=job.scene_sha256,
        reference=reference.name, reference_sha256=given.sha256,
        reconstruction=video.name, reconstruction_sha256=made.sha256,
        seed=seed, settings=submitted.settings, width=job.size[0], height=job.size[1],
        samples=status.samples, engine=status.engine, device=status.device, blender=status.blender or blender.version,
        isolation=apart.isolation, threshold_levels=LEVELS, frames=compared, verdict=verdict_of(compared),
        nearer_to_reference=any(frame.nearer_to_reference for frame in compared),
        notes=[*_notes(submitted, job, made), *status.notes],
    )  # fmt: skip


def _job(submitted: Submitted, given: VideoInfo, made: VideoInfo, device: str | None) -> RenderJob:
    scene, timeline = submitted.scene.resolve(), given.timeline
    try:
        digest = sha256_of(scene)
    except OSError as error:
        raise BadInputError(f"{submitted.scene}: cannot be read ({error.strerror})") from error
    job = RenderJob(str(scene), timeline, 0, timeline.frames - 1, scene_sha256=digest, device=device or "auto")
    asked = submitted.asked
    if asked is not None:
        job = replace(
            job, scale=asked.scale, samples=asked.samples, engine=asked.engine, view_transform=asked.view_transform,
            device=device or asked.device,
        )  # fmt: skip
    if asked is None or job.size != _size(made):
        # whoever made the record could ask for a few pixels, in which every picture looks alike
        scale = made.timeline.height / timeline.height
        job = replace(job, scale=scale if 0 < scale <= 4 else 1.0)
    return job


def _size(video: VideoInfo) -> tuple[int, int]:
    return video.timeline.width, video.timeline.height


def _notes(submitted: Submitted, job: RenderJob, made: VideoInfo) -> Iterator[str]:
    if submitted.asked is not None and submitted.asked.scale != job.scale:
        yield (
            f"the settings say {submitted.asked.scale:g} times the reference's size, and the video has "
            f"{made.timeline.width}x{made.timeline.height} pixels: it was rendered again at {job.scale:g} times it"
        )
    if job.size != _size(made):
        yield "the video's size is no even part of the reference's: the pictures were compared at the smaller size"
    if submitted.asked is not None and submitted.asked.addons:
        yield f"it was rendered with add-ons, which were not enabled: {', '.join(submitted.asked.addons)}"


class _Told:
    """Passes on what a run tells, its progress as frames of ours."""

    def __init__(self, reporter: Reporter, total: int) -> None:
        self.status, self.result = reporter.status, reporter.result
        self._reporter, self._total = reporter, total

    def progress(self, stage: str, done: int, total: int, text: str = "") -> None:
        """See Reporter; the frames that are not asked for count as done there."""
        self._reporter.progress(_STAGE, max(0, self._total - (total - done)), self._total)

    def warning(self, text: str) -> None:
        """Told as a status: what matters of it is in the report's notes."""
        self._reporter.status(text)


def _render(
    job: RenderJob, folder: Path, chosen: list[int], blender: Blender, reporter: Reporter
) -> tuple[RenderStatus, dict[int, str]]:
    """The status of the run, and the frames that could not be rendered with the reasons."""
    write_json(folder / "job.json", job.to_json())
    run = Run(job, folder, blender, _Told(reporter, len(chosen)), 1, FRAME_LIMIT_SECONDS)
    status = run.render([Batch(frame, frame) for frame in chosen])
    failed = {frame: _without(reason, folder) for frame, reason in run.failed.items()}
    if len(failed) == len(chosen):
        raise OperationalError(f"{job.scene}: no frame could be rendered again ({next(iter(failed.values()))})")
    status.notes = [_without(note, folder) for note in status.notes]
    return status, failed


def _without(text: str, folder: Path) -> str:
    """Text that names nothing of a folder that is gone by the time it is read."""
    return re.sub(rf"(?:; )?see {re.escape(str(folder))}\S*", "", text).replace(f"{folder}/", "")


def _compare(
    folder: Path, chosen: list[int], failed: dict[int, str], given: VideoInfo, made: VideoInfo
) -> Iterator[RerenderedFrame]:
    shown_reference = {frame.index: frame.image for frame in pick(Path(given.path), chosen)}
    for frame in chosen:
        shown = frame_at(given.timeline.time_of(frame), made.timeline)
        if frame in failed:
            yield RerenderedFrame(
                frame=frame, shown=shown, verdict="failed", detail=f"frame {frame} was not rendered: {failed[frame]}"
            )
        elif shown is None:
            yield RerenderedFrame(
                frame=frame, shown=None, verdict="differ", detail=f"frame {frame}: the video has ended by then"
            )
        else:
            rendered = read_picture(frame_path(folder, frame))
            yield compare_frame(frame, shown, rendered, shown_reference[frame], made)


def compare_frame(frame: int, shown: int, rendered: Image, reference: Image, made: VideoInfo) -> RerenderedFrame:
    """Compare what was rendered of `frame` with frame `shown` of the video, its neighbours, and the reference's frame.

    Pictures are (H, W, 3) uint8 RGB; all are brought to the smaller of the sizes of video and render.
    """
    size = min(rendered.shape[1], made.timeline.width), min(rendered.shape[0], made.timeline.height)
    rendered, reference = _at(rendered, size), _at(reference, size)
    first, last = max(0, shown - AROUND), min(made.timeline.frames - 1, shown + AROUND)
    around = [_at(each.image, size) for each in frames(Path(made.path), range(first, last + 1))]
    submitted = around[shown - first]
    found = distance(submitted, rendered)
    other = nearest_neighbour(around, rendered, shown - first)
    nearest = None if other is None else first + other
    agrees = found.levels <= LEVELS and nearest is None
    share = None if agrees else share_of_reference(submitted, rendered, reference)
    # a frame of the render that is shown at another time is no frame of the reference
    nearer = share is not None and share > 0.5 and nearest is None
    return RerenderedFrame(
        frame=frame, shown=shown, verdict="agree" if agrees else "differ",
        psnr_db=None if found.psnr_db is None else round(found.psnr_db, 2), ssim=round(found.ssim, 4),
        levels=round(found.levels, 2), cell=found.cell, differing=round(found.differing, 4), nearest=nearest,
        reference_share=None if share is None else round(share, 3), nearer_to_reference=nearer,
        detail=_detail(frame, agrees=agrees, nearest=nearest, levels=found.levels, differing=found.differing,
                       nearer=nearer),
    )  # fmt: skip


def _detail(frame: int, *, agrees: bool, nearest: int | None, levels: float, differing: float, nearer: bool) -> str:
    if agrees:
        return f"frame {frame} is what the scene renders"
    if nearest is not None:
        return f"frame {frame} is not what the scene renders there; frame {nearest} of the video shows that"
    told = f"frame {frame} differs from what the scene renders: by {levels:.1f} levels in the worst place"
    told += f", in {differing:.0%} of the picture"
    return told + (", and is nearer to the reference than to the render" if nearer else "")


def _at(picture: Image, size: tuple[int, int]) -> Image:
    if picture.shape[1::-1] == size:
        return picture
    smaller: Image = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    return smaller


def report_lines(report: RerenderReport) -> Iterator[str]:
    """The frames, one line each with its figures; last the verdict."""
    with_what = f"{report.engine} on {report.device}" + (f", {report.samples} samples" if report.samples else "")
    yield f"rendered again with Blender {report.blender}, {with_what}, {report.width}x{report.height}:"
    for frame in report.frames:
        figures = ""
        if frame.levels is not None:
            psnr = "equal" if frame.psnr_db is None else f"{frame.psnr_db:.1f} dB"
            figures = f" ({psnr}, SSIM {frame.ssim:.3f}, {frame.levels:.1f} levels)"
        yield f"  {frame.verdict.upper() if frame.verdict != 'agree' else 'agree'}: {frame.detail}{figures}"
    yield from (f"note: {note}" for note in report.notes)
    yield f"a frame differs above {report.threshold_levels:g} levels, and where another frame of the video shows it"
    yield f"isolation: {report.isolation}; --seed {report.seed} chooses these frames again"
    counts = {kind: sum(frame.verdict == kind for frame in report.frames) for kind in ("agree", "differ", "failed")}
    told = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    flag = "; THE VIDEO IS NEARER TO THE REFERENCE THAN THE SCENE'S RENDER" if report.nearer_to_reference else ""
    words = {"agree": "the video is what the scene renders", "undecided": "not decided: frames could not be rendered"}
    yield f"{words.get(report.verdict, 'THE VIDEO IS NOT WHAT THE SCENE RENDERS')}: {told}{flag}"
