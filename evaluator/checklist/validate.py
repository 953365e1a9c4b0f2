# SPDX-License-Identifier: GPL-3.0-or-later
"""Every fault of a checklist's files, each with its file, its JSON path and a reason (paper, appendix A)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from ..protocol.errors import BadInputError
from ..protocol.files import read_json
from ..protocol.timeline import Timeline, format_rate
from ..records import Record
from .records import CLIP_FORMAT, FRAME_CATEGORIES, Check, Clip

MAX_FILE_BYTES: Final = 16 * 2**20
"""A clip's file is some tens of kilobytes; what is above this is no clip and is not read."""
MAX_CLIP_SECONDS: Final = 2
CUT_TOLERANCE: Final = 1
"""Frames by which a clip's cut may lie beside the one that is found in the video."""

# a rule's own finding: JSON path inside the file, and the reason
Finding = tuple[str, str]
RecordT = TypeVar("RecordT", bound=Record)


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong in a file; `path` is the place as `checks/3/start`."""

    file: str
    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.path}: {self.reason}"


@dataclass(frozen=True)
class Validation:
    """The clips that can be used, in the order of their files' names, and every fault."""

    files: list[Path]
    clips: list[Clip]
    faults: list[Fault]


def clip_files(path: Path) -> list[Path]:
    """The clip files of `path`: itself, the `*.json` of a folder of clips, or those of a video folder's `clips/`.

    Raises BadInputError where there is none.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise BadInputError(f"{path}: there is no such file or folder; give a clip file or a folder of clip files")
    folder = path / "clips" if (path / "clips").is_dir() else path
    files = sorted(file for file in folder.glob("*.json") if file.is_file() and not file.name.startswith("."))
    if not files:
        raise BadInputError(f"{folder}: holds no clip file (*.json); give a clip file or a folder of clip files")
    return files


def validate(path: Path, reference: Timeline | None = None, cuts: Sequence[int] | None = None) -> Validation:
    """Read every clip file under `path` and list all faults; a file's own rules are looked at once its schema is right.

    With `reference`, the clips' length in seconds and their place in the video are checked too; with `cuts`, the first
    frames of the video's shots but the first, their lists of cuts. All files have to be of one video, since one
    reference is judged by them; an entity keeps its name in all of them. Raises BadInputError only where there is no
    file to look at.
    """
    files = clip_files(path)
    clips: list[Clip] = []
    faults: list[Fault] = []
    first_of: dict[str, Path] = {}
    names: dict[str, tuple[str, str]] = {}
    for file in files:
        clip, found = read_record(file, Clip, CLIP_FORMAT)
        if clip is not None:
            findings = list(clip_findings(clip, reference, cuts))
            if clip.id in first_of:
                findings.append(("id", f"{clip.id!r} is the id of {first_of[clip.id].name} too"))
            if clips and clip.video != clips[0].video:
                findings.append(
                    ("video", f"{clip.video!r} is not the video of the clip {clips[0].id!r}: {clips[0].video!r}")
                )
            findings += _renamed(clip, file, names)
            first_of.setdefault(clip.id, file)
            clips.append(clip)
            found = [Fault(str(file), place, reason) for place, reason in findings]
        faults += found
    return Validation(files, clips, faults)


def read_record(file: Path, record: type[RecordT], form: str) -> tuple[RecordT | None, list[Fault]]:
    """One file's record where its schema is right, else its faults."""
    try:
        size = file.stat().st_size
        if size > MAX_FILE_BYTES:
            reason = f"the file is too large for a clip ({size:,} bytes; at most {MAX_FILE_BYTES:,})"
            return None, [Fault(str(file), "(top)", reason)]
        data = read_json(file, form)
        return record.model_validate(data, strict=True), []
    except ValidationError as error:
        return None, [
            Fault(str(file), "/".join(str(part) for part in fault["loc"]) or "(top)", fault["msg"])
            for fault in error.errors(include_url=False, include_context=False)
        ]
    except BadInputError as error:
        return None, [Fault(str(file), "(top)", str(error).removeprefix(f"{file}: "))]
    except OSError as error:
        return None, [Fault(str(file), "(top)", f"cannot be read ({error.strerror})")]


def _renamed(clip: Clip, file: Path, names: dict[str, tuple[str, str]]) -> Iterator[Finding]:
    """Entities that another clip of the video calls otherwise; `names` (id → name, file) takes those of this clip."""
    for index, entity in enumerate(clip.entities):
        name, where = names.setdefault(entity.id, (entity.name, file.name))
        if entity.name != name and where != file.name:
            yield f"entities/{index}/name", f"{entity.id!r} is called {name!r} in {where}, and {entity.name!r} here"


def clip_findings(
    clip: Clip, reference: Timeline | None = None, cuts: Sequence[int] | None = None
) -> Iterator[Finding]:
    """The rules that a clip of the right schema can still break, each as (JSON path, reason)."""
    if reference is not None:
        yield from _place_in_video(clip, reference)
    yield from _shot_transitions(clip)
    if cuts is not None:
        yield from _cuts_of_the_video(clip, cuts)
    yield from _repeated("entities", (entity.id for entity in clip.entities))
    yield from _repeated("checks", (check.id for check in clip.checks))
    known = {entity.id for entity in clip.entities}
    for index, entity in enumerate(clip.entities):
        place = f"entities/{index}"
        if entity.first_frame >= clip.frame_count:
            yield f"{place}/first_frame", _outside_clip(entity.first_frame, clip)
        for position, member in enumerate(entity.members):
            if member == entity.id:
                yield f"{place}/members/{position}", f"{member!r} cannot be a member of itself"
            elif member not in known:
                yield f"{place}/members/{position}", f"{member!r} is not in the entity table"
    for index, check in enumerate(clip.checks):
        yield from _check_findings(f"checks/{index}", check, clip, known)


def _place_in_video(clip: Clip, reference: Timeline) -> Iterator[Finding]:
    last = clip.frame_offset + clip.frame_count - 1
    if last >= reference.frames:
        yield (
            "frame_count",
            f"the clip's last frame is {last} of the video, whose last frame is {reference.frames - 1}",
        )
    seconds = clip.frame_count / reference.rate
    if seconds > MAX_CLIP_SECONDS:
        length = f"{clip.frame_count} frames at {format_rate(reference.rate)} last {float(seconds):.3f} s"
        yield "frame_count", f"{length}; a clip lasts at most {MAX_CLIP_SECONDS} s"


def _shot_transitions(clip: Clip) -> Iterator[Finding]:
    previous = -1
    for index, frame in enumerate(clip.shot_transitions):
        if frame >= clip.frame_count:
            yield f"shot_transitions/{index}", _outside_clip(frame, clip)
        if frame <= previous:
            yield f"shot_transitions/{index}", f"{frame} does not come after {previous}"
        previous = frame


def _cuts_of_the_video(clip: Clip, cuts: Sequence[int]) -> Iterator[Finding]:
    """Cuts that only the clip or only the video has; at the clip's own first and last frame either may be right."""
    found = [cut - clip.frame_offset for cut in cuts if 0 <= cut - clip.frame_offset < clip.frame_count]
    for index, frame in enumerate(clip.shot_transitions):
        if not any(abs(frame - other) <= CUT_TOLERANCE for other in found):
            where = f"those of the clip are {', '.join(map(str, found))}" if found else "there is none in the clip"
            yield f"shot_transitions/{index}", f"no cut was found in the video at frame {frame}; {where}"
    for frame in found:
        if frame > CUT_TOLERANCE and not any(abs(frame - other) <= CUT_TOLERANCE for other in clip.shot_transitions):
            yield "shot_transitions", f"the cut that was found in the video at frame {frame} is missing"


def _repeated(place: str, ids: Iterable[str]) -> Iterator[Finding]:
    first_of: dict[str, int] = {}
    for index, identifier in enumerate(ids):
        if identifier in first_of:
            yield f"{place}/{index}/id", f"{identifier!r} is the id of {place}/{first_of[identifier]} too"
        first_of.setdefault(identifier, index)


def _check_findings(place: str, check: Check, clip: Clip, known: set[str]) -> Iterator[Finding]:
    if check.category == "object_appearance" and "proxy" in check.settings:
        yield f"{place}/settings", "object_appearance is never checked under proxy"
    for index, setting in enumerate(check.settings):
        if setting in check.settings[:index]:
            yield f"{place}/settings/{index}", f"{setting!r} is named twice"
    for index, subject in enumerate(check.subjects):
        if subject not in known:
            yield f"{place}/subjects/{index}", f"{subject!r} is not in the entity table"
    if check.start > check.end:
        yield f"{place}/start", f"start {check.start} comes after end {check.end}"
        return  # nothing can lie inside such an interval
    for name, frame in (("start", check.start), ("end", check.end)):
        if frame >= clip.frame_count:
            yield f"{place}/{name}", _outside_clip(frame, clip)
    if check.category in FRAME_CATEGORIES and check.start != check.end:
        yield (
            f"{place}/end",
            f"{check.category} is checked at one frame: start {check.start} and end {check.end} have to be equal",
        )
    if check.category not in FRAME_CATEGORIES and check.start == check.end:
        yield f"{place}/end", f"{check.category} is checked over an interval: end has to come after start {check.start}"
    frames = [("evidence_frames", check.evidence_frames), ("sample_frames", check.sample_frames)]
    for name, values in frames:
        for index, frame in enumerate(values):
            if not check.start <= frame <= check.end:
                yield f"{place}/{name}/{index}", f"{frame} lies outside the check's frames {check.start}–{check.end}"


def _outside_clip(frame: int, clip: Clip) -> str:
    return f"{frame} lies outside the clip's frames 0–{clip.frame_count - 1}"


def first_fault_line(path: Path, faults: list[Fault]) -> str:
    """One line for an error: the first fault, how many more there are, and the command that lists them."""
    more = f"and {len(faults) - 1} more; " if len(faults) > 1 else ""
    return f"{faults[0]} ({more}matchcut checklist validate {path} lists them)"


def as_json(validation: Validation) -> dict[str, Any]:
    """The answer of `matchcut checklist validate --json`."""
    return {
        "files": len(validation.files),
        "clips": len(validation.clips),
        "faults": [{"file": fault.file, "path": fault.path, "reason": fault.reason} for fault in validation.faults],
    }
