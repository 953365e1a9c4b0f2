# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes what a converter made: a benchmark where the videos are there, else the clips of each video."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from ...protocol.errors import BadInputError
from ...protocol.files import write_json
from ..benchmark import BENCHMARK_FILE, REFERENCE_FILE, VIDEO_FILE, Benchmark, BenchmarkVideo, video_folder
from ..records import Clip
from ..validate import Fault, Validation, validate
from ..whole import Seen, validate_benchmark
from .converter import Imported

REPORT_FORMAT: Final = "matchcut-import/1"
REPORT_FILE: Final = "import.json"
VIDEO_SUFFIXES: Final = (".mp4", ".mov", ".mkv", ".webm", ".avi", ".m4v")


@dataclass(frozen=True)
class About:
    """What the annotations do not say of themselves, for benchmark.json and video.json."""

    name: str
    version: str
    licence: str
    source: str


def find_videos(folder: Path) -> dict[str, Path]:
    """The videos of a folder by their ids: ID.mp4 and the like, or ID/reference.mp4. Raises BadInputError."""
    if not folder.is_dir():
        raise BadInputError(f"{folder}: is no folder; name the one that holds the videos, as ID.mp4")
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        inner = path / REFERENCE_FILE
        if path.suffix.lower() in VIDEO_SUFFIXES and path.is_file():
            found.setdefault(path.stem, path)
        elif inner.is_file():
            found.setdefault(path.name, inner)
    if not found:
        raise BadInputError(f"{folder}: holds no video; they are looked for as ID.mp4 and as ID/{REFERENCE_FILE}")
    return found


def write_imported(
    made: Imported, out: Path, converter: str, *, videos: Mapping[str, Path], seen: Mapping[str, Seen], about: About
) -> Validation:
    """Write the clips and the report of a converter into the new folder `out`, and validate them.

    With `videos` it becomes a benchmark of those that have clips; `seen` are the same as they decode. `out` is there
    whole or not at all; faults that its clips have are in what is returned. Raises BadInputError where there is nothing
    to write, a video is missing, or `out` is not empty.
    """
    if not made.clips:
        reason = f" ({made.lost[0]})" if made.lost else ""
        raise BadInputError(f"{out}: nothing could be carried over, so nothing was written{reason}")
    clips: dict[str, list[Clip]] = {}
    for clip in made.clips:
        clips.setdefault(clip.video, []).append(clip)
    if videos:
        absent = sorted(set(clips) - set(videos))
        if absent:
            raise BadInputError(f"--videos: has no video {absent[0]!r} ({len(absent)} of {len(clips)} are missing)")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInputError(f"{out}: is there already; name a new folder")
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=out.parent))
    try:
        _write(made, clips, partial, converter, videos, seen, about)
        partial.chmod(0o755)
        if out.exists():
            out.rmdir()
        partial.replace(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    if videos:
        return validate_benchmark(out)
    found = Validation([], [], [])
    for name in clips:
        one = validate(video_folder(out, name))
        found.files.extend(one.files)
        found.clips.extend(one.clips)
        found.faults.extend(one.faults)
    return found


def _write(
    made: Imported, clips: Mapping[str, list[Clip]], out: Path, converter: str, videos: Mapping[str, Path],
    seen: Mapping[str, Seen], about: About,
) -> None:  # fmt: skip
    for name, own in clips.items():
        folder = video_folder(out, name)
        for number, clip in enumerate(own, start=1):
            path = folder / "clips" / f"{clip.id}.json"
            # two clips of one id are a fault that validation tells of
            clip.write(path if not path.exists() else path.with_name(f"{clip.id}.{number}.json"))
        if videos:
            shutil.copyfile(videos[name], folder / REFERENCE_FILE)
            BenchmarkVideo(
                id=name, timeline=seen[name].timeline, sha256=seen[name].sha256, source=about.source,
                licence=about.licence,
            ).write(folder / VIDEO_FILE)  # fmt: skip
    if videos:
        Benchmark(name=about.name, version=about.version, licence=about.licence, videos=list(clips)).write(
            out / BENCHMARK_FILE
        )
    write_json(out / REPORT_FILE, report(made, converter))


def report(made: Imported, converter: str) -> dict[str, Any]:
    """What was carried over and what was not, as plain JSON values."""
    return {
        "format": REPORT_FORMAT,
        "converter": converter,
        "videos": len({clip.video for clip in made.clips}),
        "clips": len(made.clips),
        "checks": sum(len(clip.checks) for clip in made.clips),
        "lost": [asdict(fault) for fault in made.lost],
    }


def lost_lines(lost: list[Fault], most: int = 20) -> list[str]:
    """The report for people: each reason once, with how often and where first."""
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], Fault] = {}
    for fault in lost:
        field = fault.path.rpartition("/")[2] if "not known" in fault.reason else ""
        key = (field, fault.reason)
        counts[key] += 1
        first.setdefault(key, fault)
    lines = [
        f"{first[key]}" + (f" (and {count - 1} more)" if count > 1 else "") for key, count in counts.most_common(most)
    ]
    if len(counts) > most:
        lines.append(f"and {len(counts) - most} other reasons; {REPORT_FILE} lists all")
    return lines
