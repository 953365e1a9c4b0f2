# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark on disk: its videos with their references and clips.

BENCH/benchmark.json              Benchmark: name, version, licence, the videos in order
BENCH/videos/ID/video.json        BenchmarkVideo: timeline and hash of the reference, where it is from, its licence
BENCH/videos/ID/reference.mp4     the given video
BENCH/videos/ID/clips/CLIP.json   Clip
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from ..protocol.errors import BadInputError
from ..protocol.files import read_json
from ..records import Record, ShownTimeline
from .load import load_clips
from .records import Clip, Identifier

BENCHMARK_FORMAT: Final = "matchcut-benchmark/1"
VIDEO_FORMAT: Final = "matchcut-benchmark-video/1"
BENCHMARK_FILE: Final = "benchmark.json"
VIDEO_FILE: Final = "video.json"
REFERENCE_FILE: Final = "reference.mp4"

Text = Annotated[str, Field(min_length=1, max_length=2000)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Benchmark(Record):
    """`benchmark.json`: what the benchmark is called and which videos belong to it."""

    format: Literal["matchcut-benchmark/1"] = BENCHMARK_FORMAT
    name: Text
    version: Text
    licence: Text
    videos: Annotated[list[Identifier], Field(min_length=1)]
    """The names of the folders in `videos/`, each once, in the order in which tables list them."""


class BenchmarkVideo(Record):
    """`video.json`: one reference. `timeline` is what decodes and is shown, `sha256` that of `reference.mp4`."""

    format: Literal["matchcut-benchmark-video/1"] = VIDEO_FORMAT
    id: Identifier
    timeline: ShownTimeline
    sha256: Sha256
    source: Text
    """Where the video is from."""
    licence: Text
    kind: Text | None = None
    """What kind of video it is, as `dialogue`; tables group by it."""


@dataclass(frozen=True)
class LoadedVideo:
    """One video of a benchmark with its clips in the order of their files' names."""

    folder: Path
    record: BenchmarkVideo
    clips: tuple[Clip, ...]

    @property
    def id(self) -> str:
        """The video's name."""
        return self.record.id

    @property
    def reference(self) -> Path:
        """The given video."""
        return self.folder / REFERENCE_FILE


@dataclass(frozen=True)
class LoadedBenchmark:
    """A benchmark that is right as far as its JSON files tell; no video was opened."""

    folder: Path
    record: Benchmark
    videos: tuple[LoadedVideo, ...]

    @property
    def clips(self) -> list[Clip]:
        """Every clip of every video."""
        return [clip for video in self.videos for clip in video.clips]

    def video(self, name: str) -> LoadedVideo:
        """The video of that name. Raises BadInputError where there is none."""
        for video in self.videos:
            if video.id == name:
                return video
        raise BadInputError(f"{self.folder}: has no video {name!r}; it has {', '.join(v.id for v in self.videos)}")


def benchmark_folder(path: Path) -> Path | None:
    """The folder of the benchmark that `path` is (itself, or its `benchmark.json`); None where it is none."""
    if path.name == BENCHMARK_FILE and path.is_file():
        return path.parent
    return path if (path / BENCHMARK_FILE).is_file() else None


def video_folder(benchmark: Path, name: str) -> Path:
    """Where a benchmark keeps a video."""
    return benchmark / "videos" / name


def load_benchmark(path: Path, *, videos: Iterable[str] | None = None) -> LoadedBenchmark:
    """Read a benchmark's folder (or its `benchmark.json`); `videos` limits it to those, in the benchmark's order.

    Clips are checked in full against the timeline of `video.json`; whether `reference.mp4` is that video is a question
    for `matchcut checklist validate`. Raises BadInputError with the first fault, or where a wanted video is not in it.
    """
    folder = benchmark_folder(path)
    if folder is None:
        raise BadInputError(f"{path}: holds no {BENCHMARK_FILE}; give the folder of a benchmark")
    file = folder / BENCHMARK_FILE
    record = Benchmark.from_data(read_json(file, BENCHMARK_FORMAT), str(file))
    if len(set(record.videos)) < len(record.videos):
        raise BadInputError(f"{file}: videos: one is named twice; name each once")
    wanted = record.videos if videos is None else list(videos)
    for name in wanted:
        if name not in record.videos:
            raise BadInputError(f"{file}: has no video {name!r}; it has {', '.join(record.videos)}")
    return LoadedBenchmark(folder, record, tuple(_load_video(folder, name) for name in record.videos if name in wanted))


def _load_video(benchmark: Path, name: str) -> LoadedVideo:
    folder = video_folder(benchmark, name)
    file = folder / VIDEO_FILE
    record = BenchmarkVideo.from_data(read_json(file, VIDEO_FORMAT), str(file))
    if record.id != name:
        raise BadInputError(f"{file}: id: {record.id!r} is not the name of its folder, {name!r}")
    clips = load_clips(folder / "clips", record.timeline)
    for clip in clips:
        if clip.video != name:
            raise BadInputError(
                f"{folder / 'clips'}: the clip {clip.id!r} is of the video {clip.video!r}, not {name!r}"
            )
    return LoadedVideo(folder, record, tuple(clips))
