# SPDX-License-Identifier: GPL-3.0-or-later
"""A judge over the submissions of a benchmark: RUNS/CONFIG/SETTING/VIDEO/reconstruction.mp4 against BENCH.

Nothing is kept of a run but what is on disk: an interrupted one is simply started again, and asks only for what has no
judgment yet.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..checklist.benchmark import LoadedBenchmark, LoadedVideo
from ..checklist.records import SETTINGS, Clip, Setting, is_identifier
from ..media.probe import probe
from ..media.records import VideoInfo
from ..protocol.errors import BadInputError, MatchcutError
from ..protocol.files import sha256_of
from ..protocol.messages import Reporter
from .evidence import VIDEOS, EvidenceError
from .pool import Stop, work_through
from .records import Judgment
from .run import STAGE, threads_for
from .units import JudgedClip, JudgedUnit, write_unit
from .work import Desk, Result, Task, Videos, close, judge_name

RECONSTRUCTION: Final = "reconstruction.mp4"


@dataclass(frozen=True)
class Selection:
    """Which submissions are judged; empty ones mean all that are there."""

    configurations: Sequence[str] = ()
    settings: Sequence[Setting] = ()
    repeats: int = 1


@dataclass
class RunSummary:
    """What a run did; `failed` counts clips by reason."""

    expected: int
    judged: int = 0
    asked: int = 0
    """Clips that something was sent for now; the other judged ones were on disk."""
    failed: Counter[str] = field(default_factory=Counter)
    units: int = 0
    ended: str = ""
    """Why nothing more was sent."""


class VideoCache:
    """What `probe` says about videos, kept on disk under their content: STORE/evidence/videos/SHA256.json."""

    def __init__(self, store: Path) -> None:
        self._folder = store / "evidence" / "videos"

    def get(self, path: Path) -> VideoInfo:
        """The record of a video. Raises BadInputError where it cannot be read."""
        if not path.is_file():
            raise BadInputError(f"{path}: there is no such file")
        kept = self._folder / f"{sha256_of(path)}.json"
        with VIDEOS:
            try:
                return VideoInfo.read(kept).model_copy(update={"path": str(path)})
            except BadInputError:  # not there yet, or of another version
                info = probe(path)
                info.write(kept)
                return info


class Unit:
    """One submission, asked for the `repeat`-th time: its tasks, and what became of them."""

    def __init__(
        self, configuration: str, setting: Setting, video: LoadedVideo, repeat: int, path: Path, cache: VideoCache
    ) -> None:
        self.configuration, self.setting, self.video, self.repeat = configuration, setting, video, repeat
        self.clips = [clip for clip in video.clips if clip.applicable(setting)]
        self.results: dict[str, JudgedClip] = {}
        self._path, self._cache = path, cache
        self._lock = threading.Lock()
        self._videos: Videos | EvidenceError | None = None

    @property
    def name(self) -> str:
        """CONFIG/SETTING/VIDEO."""
        return f"{self.configuration}/{self.setting}/{self.video.id}"

    def tasks(self) -> Iterator[Task]:
        """One for each clip."""
        for clip in self.clips:
            yield self.task(clip)

    def task(self, clip: Clip) -> Task:
        """The task of one clip."""
        return Task(clip, self.setting, self.videos, self.name, self.repeat)

    def videos(self) -> Videos:
        """Reference and reconstruction, opened when the first task needs them.

        Raises EvidenceError `missing_video` or `undecodable`, and BadInputError where the reference is not the
        benchmark's own.
        """
        with self._lock:
            if self._videos is None:
                self._videos = self._open()
        if isinstance(self._videos, EvidenceError):
            raise self._videos
        return self._videos

    def _open(self) -> Videos | EvidenceError:
        reference = self._cache.get(self.video.reference)
        if reference.sha256 != self.video.record.sha256:
            raise BadInputError(
                f"{self.video.reference}: is not the video that video.json names; run matchcut checklist validate"
            )
        if not self._path.is_file():
            return EvidenceError("missing_video", f"{self.name} has no {RECONSTRUCTION}")
        try:
            return reference, self._cache.get(self._path)
        except MatchcutError as error:
            return EvidenceError("undecodable", str(error))

    def take(self, clip: str, result: Result) -> None:
        """Note what became of a clip."""
        key = result.record.key if isinstance(result.record, Judgment) else None
        self.results[clip] = JudgedClip(clip=clip, key=key, reason=result.reason, detail=result.detail)

    @property
    def complete(self) -> bool:
        """Whether every clip has come back."""
        return len(self.results) == len(self.clips)

    def record(self, judge: str, provider: str, model: str) -> JudgedUnit:
        """What is written down."""
        return JudgedUnit(
            judge=judge,
            provider=provider,
            model=model,
            configuration=self.configuration,
            setting=self.setting,
            video=self.video.id,
            repeat=self.repeat,
            clips=[self.results[clip.id] for clip in self.clips],
        )


def find_units(benchmark: LoadedBenchmark, runs: Path, selection: Selection, cache: VideoCache) -> Iterator[Unit]:
    """Every unit that is to be judged, one after the other.

    A setting's folder that is missing is passed over unless it was asked for; a video that is missing in it is not.
    Raises BadInputError where there is nothing at all.
    """
    for configuration in configurations(runs, selection):
        for setting in selection.settings or SETTINGS:
            if not selection.settings and not (runs / configuration / setting).is_dir():
                continue
            for video in benchmark.videos:
                path = runs / configuration / setting / video.id / RECONSTRUCTION
                for repeat in range(selection.repeats):
                    unit = Unit(configuration, setting, video, repeat, path, cache)
                    if unit.clips:
                        yield unit


def configurations(runs: Path, selection: Selection) -> list[str]:
    """The folders of RUNS that are judged. Raises BadInputError where one is missing or there is none."""
    if not runs.is_dir():
        raise BadInputError(f"--runs {runs}: there is no such folder")
    there = sorted(path.name for path in runs.iterdir() if path.is_dir() and not path.name.startswith("."))
    for name in selection.configurations:
        if name not in there:
            raise BadInputError(f"--configuration {name}: {runs} has {', '.join(there) or 'none'}")
    if not there:
        raise BadInputError(f"--runs {runs}: holds no CONFIG/SETTING/VIDEO/{RECONSTRUCTION}")
    names = list(selection.configurations) or there
    for name in names:
        if not is_identifier(name):
            raise BadInputError(
                f"{runs / name}: a configuration's name has letters, digits, '-', '_' and '.', at most 80 of them;"
                " rename the folder, or name the others by --configuration"
            )
    return names


def judge_benchmark(
    benchmark: LoadedBenchmark,
    runs: Path,
    selection: Selection,
    desk: Desk,
    *,
    results: Path,
    reporter: Reporter,
    concurrency: int,
    stop: Stop,
) -> RunSummary:
    """Judge what has no judgment yet, and write every unit once all its clips are judged or have failed."""
    cache = VideoCache(results)
    summary = RunSummary(sum(len(unit.clips) for unit in find_units(benchmark, runs, selection, cache)))
    open_units: dict[tuple[str, int], Unit] = {}

    def tasks() -> Iterator[Task]:
        for unit in find_units(benchmark, runs, selection, cache):
            open_units[unit.name, unit.repeat] = unit
            yield from unit.tasks()

    def leave() -> None:
        close(desk.provider)
        desk.gate.close()

    tell = teller(summary, desk, reporter)
    done = work_through(tasks(), desk.judge, threads=threads_for(concurrency), stop=stop, leave=leave)
    with closing(done):
        for task, result in done:
            tell(task, result)
            unit = open_units[task.submission, task.repeat]
            unit.take(task.clip.id, result)
            if unit.complete:
                del open_units[task.submission, task.repeat]
                finish(unit, desk, results)
                summary.units += 1
    return summary


def finish(unit: Unit, desk: Desk, results: Path) -> None:
    """Write a unit."""
    write_unit(results, unit.record(judge_name(desk.provider), desk.provider.name, desk.provider.model))


def teller(summary: RunSummary, desk: Desk, reporter: Reporter) -> Callable[[Task, Result], None]:
    """Counts what comes back and tells it."""
    reporter.progress(STAGE, 0, summary.expected)

    def tell(task: Task, result: Result) -> None:
        for text in result.warnings:
            reporter.warning(text)
        if isinstance(result.record, Judgment):
            summary.judged += 1
        else:
            summary.failed[result.reason] += 1
        summary.asked += result.asked
        if desk.ended is not None and not summary.ended:
            summary.ended = f"{desk.ended.reason}: {desk.ended.detail}"
            reporter.warning(f"judge: nothing more is sent: {summary.ended}")
        done = summary.judged + summary.failed.total()
        reporter.progress(STAGE, done, summary.expected, f"{task.submission} {task.clip.id}")

    return tell
