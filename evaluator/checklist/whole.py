# SPDX-License-Identifier: GPL-3.0-or-later
"""Every fault of a whole benchmark: its own files, its videos, and the clips of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..protocol.errors import BadInputError
from ..protocol.timeline import Timeline
from .benchmark import (
    BENCHMARK_FILE,
    BENCHMARK_FORMAT,
    REFERENCE_FILE,
    VIDEO_FILE,
    VIDEO_FORMAT,
    Benchmark,
    BenchmarkVideo,
    video_folder,
)
from .validate import Fault, Validation, read_record, validate


@dataclass(frozen=True)
class Seen:
    """A reference as it decodes; `cuts` are the first frames of its shots but the first, None where nobody looked."""

    timeline: Timeline
    sha256: str
    cuts: list[int] | None


Look = Callable[[Path], Seen]
"""Opens a reference. Raises BadInputError where it cannot be read."""


def validate_benchmark(folder: Path, look: Look | None = None) -> Validation:
    """List every fault of a benchmark; with `look`, the references themselves are compared with what the files say.

    The clips are checked against the timeline of `video.json`, and where the reference is opened against its cuts.
    """
    file = folder / BENCHMARK_FILE
    record, faults = read_record(file, Benchmark, BENCHMARK_FORMAT)
    whole = Validation([file], [], faults)
    if record is None:
        return whole
    for index, name in enumerate(record.videos):
        if name in record.videos[:index]:
            faults.append(Fault(str(file), f"videos/{index}", f"{name!r} is named twice"))
            continue
        one = _validate_video(video_folder(folder, name), name, look)
        whole.files.extend(one.files)
        whole.clips.extend(one.clips)
        faults += one.faults
    if (folder / "videos").is_dir():
        for extra in sorted((folder / "videos").iterdir()):
            if extra.is_dir() and not extra.name.startswith(".") and extra.name not in record.videos:
                faults.append(Fault(str(file), "videos", f"the folder videos/{extra.name} is not listed"))
    return whole


def _validate_video(folder: Path, name: str, look: Look | None) -> Validation:
    file = folder / VIDEO_FILE
    if not folder.is_dir():
        return Validation([], [], [Fault(str(folder), "(top)", "the folder of this video is missing")])
    record, faults = read_record(file, BenchmarkVideo, VIDEO_FORMAT)
    if record is not None and record.id != name:
        faults.append(Fault(str(file), "id", f"{record.id!r} is not the name of its folder, {name!r}"))
    seen, problems = _look_at(folder / REFERENCE_FILE, record, file, look)
    faults += problems
    timeline = record.timeline if record is not None else seen.timeline if seen is not None else None
    try:
        clips = validate(folder / "clips", timeline, seen.cuts if seen is not None else None)
    except BadInputError as error:
        return Validation([file], [], [*faults, Fault(str(folder / "clips"), "(top)", str(error))])
    faults += clips.faults
    for path, clip in _files_of(clips):
        if clip != name:
            faults.append(Fault(str(path), "video", f"{clip!r} is not the video of this folder, {name!r}"))
    return Validation([file, *clips.files], clips.clips, faults)


def _files_of(clips: Validation) -> list[tuple[Path, str]]:
    """(file, video named in it) of the clips; only where every file holds one, since faults are told already."""
    if len(clips.files) != len(clips.clips):
        return []
    return [(file, clip.video) for file, clip in zip(clips.files, clips.clips, strict=True)]


def _look_at(
    reference: Path, record: BenchmarkVideo | None, file: Path, look: Look | None
) -> tuple[Seen | None, list[Fault]]:
    """The reference as it decodes, and where `video.json` says otherwise."""
    if not reference.is_file():
        return None, [Fault(str(reference), "(top)", "the reference is missing")]
    if look is None:
        return None, []
    try:
        seen = look(reference)
    except BadInputError as error:
        return None, [Fault(str(reference), "(top)", str(error).removeprefix(f"{reference}: "))]
    faults = []
    if record is not None and record.sha256 != seen.sha256:
        faults.append(Fault(str(file), "sha256", f"is not that of {REFERENCE_FILE}, {seen.sha256}"))
    if record is not None and record.timeline != seen.timeline:
        faults.append(Fault(str(file), "timeline", f"{REFERENCE_FILE} is {seen.timeline}, not {record.timeline}"))
    return seen, faults
