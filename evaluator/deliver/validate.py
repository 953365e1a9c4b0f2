# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks a package of deliverables as a stranger would who trusts nothing in it.

Nothing of it is run, no link is followed, and nothing is read that is larger than it may be.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from ..environment.blender import Blender
from ..media.check import check_timeline, within_drift
from ..media.compare import layout
from ..media.probe import probe
from ..media.records import Comparison, VideoInfo
from ..media.scan import scan
from ..protocol.errors import BadInputError, MatchcutError
from ..protocol.files import sha256_of
from ..protocol.messages import Reporter
from ..protocol.render_job import scaled_size
from ..protocol.timeline import Timeline, format_rate
from ..records import Record
from .comparison import Halves, comparable, other_frames
from .contents import blend_version, picture_size, read_text
from .records import FILES, SUBMISSION, FileName, Submission
from .report import figures
from .scene import describe

MOST_BYTES: Final = {
    "scene.blend": 16 * 2**30,
    "reconstruction.mp4": 16 * 2**30,
    "comparison.mp4": 16 * 2**30,
    "contact_sheet.png": 256 * 2**20,
    "report.md": 4 * 2**20,
    SUBMISSION: 16 * 2**20,
}
"""A larger file is not read."""
MOST_ENTRIES: Final = 10_000
MOST_TOLD: Final = 20
"""Strange files, warnings of a video, or figures, that are told one by one."""

Severity = Literal["fault", "warning", "note"]
_REPLACE: Final = "make the package again with matchcut package"


class Finding(Record):
    """One thing that is wrong (fault), that a person should see (warning), or that was left out (note)."""

    severity: Severity
    where: str
    """The file, as it is called in the package; `.` is the folder."""
    what: str
    todo: str


class CheckedFile(Record):
    """One file of the package and what it turned out to be."""

    name: str
    what: str


class Validation(Record):
    """All that was found. The same folder gives the same bytes."""

    format: Literal["matchcut-validation/1"] = "matchcut-validation/1"
    passed: bool
    """Whether there is no fault."""
    files: list[CheckedFile]
    findings: list[Finding]
    """The faults first."""


@dataclass
class _Package:
    """A folder that is being checked."""

    folder: Path
    reporter: Reporter
    findings: list[Finding] = field(default_factory=list)
    checked: dict[str, str] = field(default_factory=dict)
    usable: set[str] = field(default_factory=set)

    def tell(self, severity: Severity, where: str, what: str, todo: str) -> None:
        """Keep a finding, on one line and without this machine's folders."""
        for folder in (self.folder, self.folder.resolve()):
            what = what.replace(f"{folder}/", "").replace(f"{folder}\\", "")
        what = " ".join(what.split())
        self.findings.append(Finding(severity=severity, where=where, what=what[:1000], todo=todo))

    def fault(self, where: str, what: str, todo: str = _REPLACE) -> None:
        """Keep what is wrong."""
        self.tell("fault", where, what, todo)


def validate_folder(
    folder: Path, *, reference: Path | None = None, blender: Blender | None = None, reporter: Reporter
) -> Validation:
    """Check the package in `folder`; what is wrong is a finding and no error.

    With `reference` the reconstruction is held against that video, else against what the package says of it. With
    `blender` the scene is opened in a child without scripts and without network. Raises BadInputError where `folder`
    is no folder or the reference cannot be read, OperationalError where Blender fails for another reason than the
    scene.
    """
    if not folder.is_dir():
        raise BadInputError(f"{folder}: is no folder; give the --out folder of matchcut package")
    given = None if reference is None else probe(reference)
    package = _Package(folder, reporter)
    _look_at_entries(package)
    submission = _read_submission(package)
    _check_hashes(package, submission)
    _check_scene(package, submission, blender)
    made = _check_reconstruction(package, submission, given)
    _check_comparison(package, submission, made, given)
    _check_sheet(package, submission)
    _check_report(package, submission)
    order: tuple[Severity, ...] = ("fault", "warning", "note")
    findings = sorted(package.findings, key=lambda finding: order.index(finding.severity))
    files = [CheckedFile(name=name, what=package.checked.get(name, "NOT CHECKED")) for name in (*FILES, SUBMISSION)]
    return Validation(
        passed=not any(finding.severity == "fault" for finding in findings), files=files, findings=findings
    )


def _look_at_entries(package: _Package) -> None:
    found: dict[str, Path] = {}
    strange: list[str] = []
    for count, path in enumerate(package.folder.iterdir()):
        if count == MOST_ENTRIES:
            package.fault(".", f"holds more than {MOST_ENTRIES} files", "remove what is no part of the package")
            break
        if path.name in MOST_BYTES:
            found[path.name] = path
        else:
            strange.append(path.name)
    for name in sorted(strange)[:MOST_TOLD]:
        package.tell("warning", ".", f"holds {name[:200]!a}, which is no part of a package", "remove it")
    if len(strange) > MOST_TOLD:
        package.tell("warning", ".", f"holds {len(strange) - MOST_TOLD} more strange files", "remove them")
    for name in (*FILES, SUBMISSION):
        if name not in found:
            package.fault(name, "is missing")
            continue
        status = found[name].lstat()
        if stat.S_ISLNK(status.st_mode):
            package.fault(name, "is a link, which is not followed", "put the file itself there")
        elif not stat.S_ISREG(status.st_mode):
            package.fault(name, "is no regular file", "put the file itself there")
        elif status.st_size == 0:
            package.fault(name, "is empty")
        elif status.st_size > MOST_BYTES[name]:
            package.fault(name, f"has {status.st_size:,} bytes; at most {MOST_BYTES[name]:,} are read")
        else:
            try:
                with found[name].open("rb") as file:
                    file.read(1)
            except OSError as error:
                package.fault(name, f"cannot be read ({error.strerror})", "see to its permissions")
            else:
                package.usable.add(name)


def _read_submission(package: _Package) -> Submission | None:
    if SUBMISSION not in package.usable:
        return None
    try:
        submission = Submission.read(package.folder / SUBMISSION)
    except BadInputError as error:
        package.fault(SUBMISSION, f"cannot be read: {error}")
        return None
    package.checked[SUBMISSION] = f"{submission.format}, made by Matchcut {submission.matchcut[:50]}"
    return submission


def _check_hashes(package: _Package, submission: Submission | None) -> None:
    if submission is None:
        package.tell("warning", SUBMISSION, "says nothing, so the files' hashes are not compared", _REPLACE)
        return
    for file in submission.files:
        if file.name not in package.usable:
            continue
        path = package.folder / file.name
        size = path.stat().st_size
        if size != file.bytes:
            package.fault(file.name, f"has {size:,} bytes; submission.json says {file.bytes:,}")
        elif sha256_of(path) != file.sha256:
            package.fault(file.name, "was changed: its hash is not the one in submission.json")


def _check_scene(package: _Package, submission: Submission | None, blender: Blender | None) -> None:
    name = "scene.blend"
    if name not in package.usable:
        return
    try:
        package.checked[name] = blend_version(package.folder / name)
        if blender is None:
            package.tell("note", name, "was not opened: only its first bytes were looked at", "give --blender")
            return
        package.reporter.status(f"opening {name} with Blender {blender.version}")
        scene = describe(package.folder / name, blender)
    except BadInputError as error:
        package.fault(name, str(error), "save the scene in Blender, render it, and make the package again")
        return
    package.checked[name] = f"saved by Blender {scene.saved_by}, opens in {scene.blender}"
    if not scene.has_camera:
        package.fault(name, f"scene {scene.scene!r} has no camera", "add one, and make it the active camera")
    for item in scene.external[:MOST_TOLD]:
        what = f"needs the file {item.file!r} ({item.type} {item.name!r}), which is no part of the package"
        package.tell("warning", name, what, "pack it into the .blend")
    if submission is not None and submission.external_files is not None:
        known = {(item.type, item.name, item.file) for item in submission.external_files}
        if {(item.type, item.name, item.file) for item in scene.external} != known:
            package.fault(name, "needs other files besides itself than submission.json says")


def _probe(package: _Package, name: FileName) -> VideoInfo | None:
    if name not in package.usable:
        return None
    package.reporter.status(f"decoding {name}")
    try:
        info = probe(package.folder / name)
    except BadInputError as error:
        package.fault(name, str(error))
        return None
    for warning in info.warnings[:MOST_TOLD]:
        package.tell("fault" if info.damage is not None else "warning", name, warning, _REPLACE)
    if info.damage is not None and not info.warnings:
        package.fault(name, "is damaged: it does not decode fully")
    package.checked[name] = f"{info.timeline}, {info.codec}"
    return info


def _check_reconstruction(
    package: _Package, submission: Submission | None, given: VideoInfo | None
) -> VideoInfo | None:
    name: FileName = "reconstruction.mp4"
    made = _probe(package, name)
    if submission is not None and given is not None and submission.reference.sha256 != given.sha256:
        package.fault(SUBMISSION, "was made for another reference than the one that is given", "give its reference")
    if submission is not None and given is not None and submission.reference.timeline != given.timeline:
        package.fault(SUBMISSION, f"says that the reference is {submission.reference.timeline}; it is {given.timeline}")
    if submission is not None:
        told, wanted = submission.reconstruction, scaled_size(submission.reference.timeline, submission.asked.scale)
        if (told.width, told.height) != wanted:
            scale = f"says that it was rendered at {submission.asked.scale:g} times the reference's size"
            package.fault(SUBMISSION, f"{scale}, and that the reconstruction is {told}")
    if made is None:
        return None
    if submission is not None and submission.reconstruction != made.timeline:
        package.fault(name, f"is {made.timeline}; submission.json says {submission.reconstruction}")
    if given is not None:
        check = check_timeline(given, made, reporter=package.reporter)
        comparisons = check.comparisons
        shift = check.offset_frames
        if shift:
            package.fault(name, f"is shifted by {shift:+d} frames", "render from the reference's first frame on")
        for fault in check.faults[:MOST_TOLD]:
            package.fault(name, fault.detail, "mend the scene or the video there")
        if submission is not None and submission.timeline_check != check:
            package.fault(SUBMISSION, "its timeline_check is not what the videos show")
    elif submission is not None:
        comparisons = list(_compared(submission.reference.timeline, made.timeline))
        package.tell("note", name, "was held against the timeline in submission.json alone", "give --reference")
        recorded = submission.timeline_check
        if recorded.faults or recorded.offset_frames:
            package.fault(name, "submission.json tells of faults in its pictures", "see report.md")
    else:
        package.tell("note", name, "has no timeline to be held against", "give --reference")
        return made
    for item in comparisons:
        if not item.agrees:
            what = f"its {item.name} is {item.reconstruction}; the reference's is {item.reference}"
            package.fault(name, what, "render on the reference's timeline")
    return made


def _compared(reference: Timeline, made: Timeline) -> Iterator[Comparison]:
    """What of `check_timeline` numbers alone tell."""
    size, own = f"{reference.width}x{reference.height}", f"{made.width}x{made.height}"
    yield Comparison(name="resolution", reference=size, reconstruction=own, agrees=size == own)
    yield Comparison(
        name="rate", reference=format_rate(reference.rate), reconstruction=format_rate(made.rate),
        agrees=within_drift(reference.rate, made.rate, reference.frames),
    )  # fmt: skip
    yield Comparison(
        name="frames", reference=str(reference.frames), reconstruction=str(made.frames),
        agrees=reference.frames == made.frames,
    )  # fmt: skip


def _check_comparison(
    package: _Package, submission: Submission | None, made: VideoInfo | None, given: VideoInfo | None
) -> None:
    name: FileName = "comparison.mp4"
    reference = given.timeline if given is not None else submission.reference.timeline if submission else None
    if reference is None or made is None or name not in package.usable:
        info = _probe(package, name)
        if submission is not None and info is not None and submission.comparison != info.timeline:
            package.fault(name, f"is {info.timeline}; submission.json says {submission.comparison}")
        return
    places = layout(reference, made.timeline)
    halves = Halves(places)
    with suppress(BadInputError):  # which the next line tells
        scan(package.folder / name, watch=halves)
    info = _probe(package, name)
    if info is None:
        return
    if submission is not None and submission.comparison != info.timeline:
        package.fault(name, f"is {info.timeline}; submission.json says {submission.comparison}")
    frames = max(reference.frames, round(made.timeline.duration * reference.rate))
    if info.timeline.frames != frames or not within_drift(info.timeline.rate, reference.rate, frames):
        wanted = f"{frames} frames at {format_rate(reference.rate)}"
        package.fault(name, f"has {info.timeline.frames} frames at {format_rate(info.timeline.rate)}, and not {wanted}")
    elif (info.timeline.width, info.timeline.height) != places.size:
        size = "{}x{}".format(*places.size)
        package.fault(name, f"is {info.timeline.width}x{info.timeline.height}; of these two videos it would be {size}")
    elif not comparable(places):
        package.tell("note", name, "shows pictures that are too narrow to be compared", "look at it")
    else:
        if given is None:
            package.tell("note", name, "was compared with the reconstruction alone", "give --reference")
        for video, half, what in ((given, 0, "reference"), (made, 1, "reconstruction")):
            if video is None:
                continue
            own = scan(Path(video.path)).signatures
            other = other_frames(halves.signatures[half], own, reference.rate, video.timeline)
            if other:
                side = ("left", "right")[half]
                told = f"{len(other)} of {frames} frames, the first is {other[0]}"
                package.fault(name, f"does not show the {what} at the {side} ({told})")


def _check_sheet(package: _Package, submission: Submission | None) -> None:
    name = "contact_sheet.png"
    if name not in package.usable:
        return
    try:
        width, height = picture_size(package.folder / name)
    except BadInputError as error:
        package.fault(name, str(error))
        return
    package.checked[name] = f"{width}x{height}"
    if submission is not None and (submission.contact_sheet.width, submission.contact_sheet.height) != (width, height):
        sheet = submission.contact_sheet
        package.fault(name, f"is {width}x{height}; submission.json says {sheet.width}x{sheet.height}")


def _check_report(package: _Package, submission: Submission | None) -> None:
    name = "report.md"
    if name not in package.usable:
        return
    try:
        text = read_text(package.folder / name)
    except MatchcutError as error:
        package.fault(name, str(error))
        return
    package.checked[name] = f"{len(text.splitlines())} lines"
    if "](contact_sheet.png)" not in text:
        package.fault(name, "does not show contact_sheet.png")
    missing = [] if submission is None else [what for what, figure in figures(submission) if figure not in text]
    for what in missing[:MOST_TOLD]:
        package.fault(name, f"does not say {what} as submission.json has it")
