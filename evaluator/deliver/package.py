# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the folder of deliverables from a finished render job: whole, or not at all.

It grows in `.partial-NAME` beside its place and is renamed at the end. A run that was cut short leaves that folder, and
the next one of the same job uses the comparison video in it again, which takes nearly all of the time.
"""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import av
import numpy as np
import PIL
from PIL import Image, features

from ..environment.blender import Blender
from ..media.check import check_timeline
from ..media.compare import contact_sheet, side_by_side
from ..media.probe import probe
from ..media.records import VideoInfo
from ..protocol.errors import BadInputError, MatchcutError
from ..protocol.files import atomic_path, read_json, sha256_of, write_json, write_text
from ..protocol.lock import NAME as LOCK
from ..protocol.lock import sole_user
from ..protocol.messages import Reporter
from ..protocol.render_job import RenderJob, RenderStatus
from ..protocol.version import VERSION
from ..shots.compare import compare_shots, on_reference
from ..shots.detect import detect_shots
from ..shots.records import Shots
from .records import (
    FILES,
    SUBMISSION,
    SUBMISSION_FORMAT,
    Asked,
    ContactSheet,
    ExternalFile,
    FileName,
    Moment,
    PackagedFile,
    Reference,
    Rendered,
    Submission,
)
from .report import check_remarks, report_text
from .scene import describe

_GROWING: Final = "growing.json"  # in the partial folder: what its comparison was made from
_NO_REPORT: Final = PackagedFile(name="report.md", bytes=1, sha256="0" * 64)
_FOLDERS: Final = re.compile(r"(?<![\w/\\])(?:[A-Za-z]:)?[\\/]{1,2}(?:[^\\/\n:;'\"]+[\\/]+)+")


def package_job(
    job_folder: Path,
    reference: Path,
    out: Path,
    *,
    blender: Blender | None,
    reporter: Reporter,
    replace: bool = False,
    remarks: str = "",
) -> Submission:
    """Write the deliverables of the job in `job_folder` into the new folder `out`, and say what is in it.

    `remarks` is what the maker says, in Markdown, for report.md. `blender` opens the scene to name the files that it
    needs besides itself; None leaves them unknown. A package of the same job and reference that is there already is
    replaced, one of another only where `replace` says so, and any other folder never. Raises BadInputError for a job
    that is not finished, a reference that is not the job's, or a folder that cannot be used; OperationalError where a
    stage fails.
    """
    check_remarks(remarks)
    job, status = _read_job(job_folder)
    _check_places(job_folder, reference, out)
    reporter.status("reading both videos")
    shots = detect_shots(reference, reporter=reporter, stage="cuts, reference")
    rebuilt = detect_shots(job_folder / "reconstruction.mp4", reporter=reporter, stage="cuts, reconstruction")
    given, made = probe(reference), probe(job_folder / "reconstruction.mp4")
    _check_videos(job, given, made, job_folder)
    asked = _asked(job)
    _check_out(out, {"asked": asked.model_dump(mode="json"), "reference": given.sha256}, replace=replace)
    partial = out.parent / f".partial-{out.name}"
    with sole_user(partial):
        try:
            _begin(partial, {"reference": given.sha256, "reconstruction": made.sha256, "matchcut": VERSION})
            submission = _fill(
                partial, job_folder, (given, made), (shots, rebuilt), asked, status, blender, remarks, reporter
            )
            (partial / _GROWING).unlink()
        except BaseException:
            if not (partial / "comparison.mp4").exists():  # nothing that the next run could use
                _empty(partial)
            raise
    _move(partial, out)
    return submission


def is_package(folder: Path) -> bool:
    """Whether a folder holds a submission.json of this program, whatever else is in it."""
    try:
        read_json(folder / SUBMISSION, SUBMISSION_FORMAT)
    except BadInputError:
        return False
    return True


def without_folders(text: str) -> str:
    """Text without the folders of this machine: of a path only the last part stays."""
    return _FOLDERS.sub("", text)


def _read_job(folder: Path) -> tuple[RenderJob, RenderStatus]:
    if not (folder / "job.json").is_file():
        raise BadInputError(f"{folder}: no render job is here; give the --out folder of matchcut render")
    job = RenderJob.read(folder)
    for name in ("status.json", "scene.blend", "reconstruction.mp4"):
        if not (folder / name).is_file():
            why = "the job is not finished, or only a part of the reference was rendered; render all of it"
            raise BadInputError(f"{folder / name}: is missing: {why}")
    status = RenderStatus.read(folder)
    if status.state != "done":
        raise BadInputError(f"{folder}: the job is not finished (it is {status.state}); render it to its end")
    return job, status


def _check_places(job_folder: Path, reference: Path, out: Path) -> None:
    place = out.resolve()
    if place == place.parent or not out.name or out.name in (".", ".."):
        raise BadInputError(f"{out}: is no name for a folder; give --out a new one")
    for given in (job_folder, reference):
        if given.resolve().is_relative_to(place):
            raise BadInputError(f"{given}: lies in {out}, which would be replaced; give another --out")


def _check_videos(job: RenderJob, given: VideoInfo, made: VideoInfo, folder: Path) -> None:
    if given.timeline != job.timeline:
        raise BadInputError(
            f"{given.path}: is {given.timeline}, but the job was rendered for {job.timeline}; give the job's reference"
        )
    size = (made.timeline.width, made.timeline.height)
    if (size, made.timeline.rate, made.timeline.frames) != (job.size, job.timeline.rate, job.timeline.frames):
        raise BadInputError(
            f"{made.path}: is {made.timeline}, which is not what the job in {folder} renders; render again"
        )


def _asked(job: RenderJob) -> Asked:
    return Asked(
        scene=re.split(r"[\\/]", job.scene)[-1], scene_sha256=job.scene_sha256, scale=job.scale, samples=job.samples,
        engine=job.engine, device=job.device, view_transform=job.view_transform, addons=job.addons,
    )  # fmt: skip


def _check_out(out: Path, origin: dict[str, Any], *, replace: bool) -> None:
    """Raise BadInputError where `out` must not be replaced."""
    if not out.exists() and not out.is_symlink():
        return
    if out.is_symlink() or not out.is_dir():
        raise BadInputError(f"{out}: is there and no folder; give another --out")
    there = {entry.name for entry in out.iterdir()}
    if not there:
        return
    if not is_package(out):
        raise BadInputError(f"{out}: is there and no package of deliverables; give another --out")
    unknown = sorted(there - {*FILES, SUBMISSION})
    if unknown:
        raise BadInputError(f"{out / unknown[0]}: is no part of a package; move it away, or give another --out")
    if replace:
        return
    try:
        same = Submission.read(out / SUBMISSION).origin == origin
    except BadInputError:
        same = False
    if not same:
        raise BadInputError(f"{out}: holds the package of another job or reference; --replace gives it up")


def _begin(partial: Path, inputs: dict[str, str]) -> None:
    """Make the partial folder ready: what an earlier run left stays where it was made from the same videos."""
    try:
        same = read_json(partial / _GROWING) == inputs
    except BadInputError:
        same = False
    kept = {LOCK, _GROWING, "comparison.mp4"} if same else {LOCK}
    _empty(partial, kept)
    write_json(partial / _GROWING, inputs)


def _empty(partial: Path, kept: set[str] | None = None) -> None:
    for entry in partial.iterdir():
        if entry.name not in (kept or {LOCK}):
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    if kept is None:
        with suppress(OSError):  # on Windows the lock keeps it
            (partial / LOCK).unlink(missing_ok=True)
            partial.rmdir()


def _fill(
    folder: Path,
    job_folder: Path,
    videos: tuple[VideoInfo, VideoInfo],
    shots: tuple[Shots, Shots],
    asked: Asked,
    status: RenderStatus,
    blender: Blender | None,
    remarks: str,
    reporter: Reporter,
) -> Submission:
    given, made = videos
    for name in ("scene.blend", "reconstruction.mp4"):
        with atomic_path(folder / name) as temporary:
            shutil.copyfile(job_folder / name, temporary)
    if sha256_of(folder / "reconstruction.mp4") != made.sha256:
        raise BadInputError(f"{made.path}: was changed while it was packaged; wait for the render's end")
    external = None if blender is None else _external(folder / "scene.blend", blender, reporter)
    timeline_check = check_timeline(given, made, reporter=reporter)
    shot_check = compare_shots(shots[0], on_reference(shots[1], made.timeline, given.timeline))
    sheet = folder / "contact_sheet.png"
    moments = contact_sheet(given, made, sheet, cuts=shots[0].boundaries, reporter=reporter)
    with Image.open(sheet) as picture:
        width, height = picture.size
    comparison = _comparison(folder / "comparison.mp4", given, made, reporter)
    submission = Submission(
        matchcut=VERSION,
        libraries=_libraries(),
        reference=Reference(
            name=Path(given.path).name, sha256=given.sha256, timeline=given.timeline, cuts=shots[0].boundaries
        ),
        asked=asked,
        rendered=_rendered(status),
        reconstruction=made.timeline,
        comparison=comparison.timeline,
        contact_sheet=ContactSheet(
            width=width, height=height,
            moments=[Moment(reference=m.reference_frame, reconstruction=m.reconstruction_frame) for m in moments],
        ),
        external_files=external,
        timeline_check=timeline_check,
        shot_check=shot_check,
        passed=timeline_check.passed and shot_check.passed,
        files=[*(_entry(folder, name) for name in FILES if name != "report.md"), _NO_REPORT],
    )  # fmt: skip
    write_text(folder / "report.md", report_text(submission, remarks))
    submission = submission.model_copy(update={"files": [_entry(folder, name) for name in FILES]})
    submission.write(folder / SUBMISSION)
    return submission


def _external(scene: Path, blender: Blender, reporter: Reporter) -> list[ExternalFile]:
    reporter.status("looking for files that the scene needs besides itself")
    found = describe(scene, blender).external
    for item in found:
        what = "is missing" if item.missing else "lies outside of the package"
        reporter.warning(
            f"the scene's {item.type} {item.name!r} names the file {item.file!r}, which {what}; pack it in Blender "
            "(File > External Data > Pack Resources) and render again"
        )
    return found


def _comparison(path: Path, given: VideoInfo, made: VideoInfo, reporter: Reporter) -> VideoInfo:
    """The comparison video, of an earlier run where it is whole."""
    if path.exists():
        with suppress(MatchcutError):
            return probe(path)
    return side_by_side(given, made, path, reporter=reporter)


def _rendered(status: RenderStatus) -> Rendered:
    return Rendered(
        blender=status.blender, engine=status.engine, device=status.device, samples=status.samples,
        denoiser=status.denoiser, view_transform=status.view_transform, display_device=status.display_device,
        seconds_per_frame=status.seconds_per_frame, peak_memory_bytes=status.peak_memory_bytes,
        notes=[without_folders(note) for note in status.notes],
    )  # fmt: skip


def _libraries() -> dict[str, str]:
    names = ("libavcodec", "libavformat", "libswscale")
    versions = {name: ".".join(map(str, av.library_versions[name])) for name in names}
    return {
        "av": av.__version__, **versions, "numpy": np.__version__, "pillow": PIL.__version__,
        "zlib": features.version("zlib") or "unknown",
    }  # fmt: skip


def _entry(folder: Path, name: FileName) -> PackagedFile:
    path = folder / name
    return PackagedFile(name=name, bytes=path.stat().st_size, sha256=sha256_of(path))


def _move(partial: Path, out: Path) -> None:
    """Put the finished folder in its place; what was there goes only then."""
    old = out.parent / f".partial-old-{out.name}"
    if old.exists():  # of a run that was killed between the two renames
        shutil.rmtree(old)
    if out.exists():
        out.rename(old)
    try:
        partial.rename(out)
    except OSError:
        if old.exists():
            old.rename(out)
        raise
    if old.exists():
        shutil.rmtree(old)
