# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run over a benchmark costs beside the work itself; `./run perf bench` runs it.

13 configurations × 50 videos × 3 settings with 14,040 judgments, on a dask cluster of four worker processes of this
machine. Submissions lie there before, and the later stages and the judge answer at once: what remains is planning,
leases, records, keys, evidence that is found again, and the cluster. Units are the records that come of it: one for
each task and stage, and one for each judgment.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import platform
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

from media import ROOT, Row, table  # loads the package under its name

sys.path.insert(0, str(ROOT / "tests" / "unit"))

import numpy as np  # isort: skip
import psutil  # isort: skip
from bench_cluster import Cluster  # isort: skip
from bench_guest import answer_at_once  # isort: skip
from bench_samples import clip, write_benchmark  # isort: skip
from matchcut.evaluator.checklist.records import SETTINGS  # isort: skip
from matchcut.evaluator.cli.main import main as matchcut  # isort: skip
from matchcut.evaluator.media.encode import encode  # isort: skip
from matchcut.evaluator.media.probe import probe  # isort: skip
from matchcut.evaluator.protocol.messages import SilentReporter  # isort: skip

UNIT_US, AGAIN_SECONDS, SCHEDULER_MB, GROWTH_MB = 10_000.0, 60.0, 300.0, 50.0
WORKERS, STAGES = 4, 6
CLIP_FRAMES, CLIPS_OF_VIDEO = 4, 8
JUDGE = ["--judge", "local:http://127.0.0.1:9/v1#instant"]


class Scale:
    """How much there is to do."""

    def __init__(self, configurations: int, videos: int, clips: int) -> None:
        self.configurations, self.videos, self.clips = configurations, videos, clips
        self.tasks = configurations * videos * len(SETTINGS)
        self.judgments = configurations * clips * len(SETTINGS)
        self.units = self.tasks * STAGES + self.judgments


WHOLE, TINY = Scale(13, 50, 360), Scale(2, 3, 6)


def picture_file(path: Path, tint: int) -> Path:
    """A tiny video that is long enough for the clips."""
    frames = CLIP_FRAMES * CLIPS_OF_VIDEO
    ramp = np.linspace(0, 180, 32, dtype=np.uint8)[None, :, None].repeat(18, axis=0).repeat(3, axis=2)
    pictures = (np.roll(ramp, n, 1) // 2 + tint for n in range(frames))
    encode(pictures, Fraction(24), path, reporter=SilentReporter(), total=frames)
    return path


def prepare(folder: Path, scale: Scale) -> list[str]:
    """A benchmark and what has been handed in; the arguments of `bench run`."""
    folder.mkdir(parents=True)
    reference = picture_file(folder / "reference.mp4", 0)
    names = [f"v{n:02d}" for n in range(scale.videos)]
    clips = [
        clip(f"c{n:03d}", names[n % scale.videos], "object_presence", offset=n // scale.videos * CLIP_FRAMES,
             frames=CLIP_FRAMES)
        for n in range(scale.clips)
    ]  # fmt: skip
    write_benchmark(
        folder / "bench", clips, timeline=probe(reference).timeline, references=dict.fromkeys(names, reference)
    )
    text = 'format = "matchcut-configurations/1"\n'
    for number in range(scale.configurations):
        name = f"c{number:02d}"
        text += f'[[configuration]]\nname = "{name}"\nagent = "artist:{folder / "made" / name}"\n'
        made = picture_file(folder / f"{name}.mp4", 5 * number)
        for setting in SETTINGS:
            for video in names:
                place = folder / "made" / name / setting / video
                place.mkdir(parents=True)
                os.link(made, place / "reconstruction.mp4")
    (folder / "mine.toml").write_text(text)
    fake = folder / "blender"
    fake.write_text("#!/bin/sh\necho Blender 5.2.0\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    return [
        "bench", "run", str(folder / "bench"), "--runs", str(folder / "runs"), "--out", str(folder / "results"),
        "--configurations", str(folder / "mine.toml"), "--isolation", "none", *JUDGE,
    ]  # fmt: skip


def call(*arguments: object) -> float:
    """Seconds that the command takes."""
    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        status = matchcut([str(one) for one in arguments])
    if status != 0:
        raise SystemExit(f"matchcut {arguments[0]} {arguments[1]} ended with {status}: {said.getvalue()[-2000:]}")
    return time.perf_counter() - start


class Watch:
    """The memory (MB, resident) of a process, looked at every quarter of a second with how far the run is."""

    def __init__(self, process: subprocess.Popen[bytes], runs: Path, tasks: int) -> None:
        self._process, self._runs, self._tasks = psutil.Process(process.pid), runs, tasks
        self.seen: list[tuple[float, float]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._ended.wait(0.25):
            done = sum(1 for _ in self._runs.iterdir()) if self._runs.is_dir() else 0
            self.seen.append((done / self._tasks, self._process.memory_info().rss / 2**20))

    def end(self) -> tuple[float, float]:
        """Peak, and how much it grew from the first tenth of the tasks to the end."""
        self._ended.set()
        self._thread.join()
        peak = max(memory for _, memory in self.seen)
        early = max((memory for done, memory in self.seen if done <= 0.1), default=peak)
        return peak, peak - early


def cpu(cluster: Cluster) -> tuple[float, float]:
    """Processor seconds of the workers and of the scheduler until now."""
    assert cluster.scheduler is not None
    times = [psutil.Process(one.pid).cpu_times() for one in (*cluster.workers, cluster.scheduler)]
    used = [time.user + time.system for time in times]
    return sum(used[:-1]), used[-1]


def measure(folder: Path, scale: Scale) -> Iterator[Row]:
    """The run, the run with nothing to do, and what is made of it."""
    start = time.perf_counter()
    arguments = prepare(folder, scale)
    sys.stderr.write(f"made in {time.perf_counter() - start:.0f} s; measuring\n")
    environment = {**os.environ, "BLENDER": str(folder / "blender")}
    cluster = Cluster(folder, environment, program=Path(__file__).with_name("bench_guest.py"))
    os.environ["BLENDER"] = environment["BLENDER"]
    answer_at_once()
    try:
        cluster.ensure(WORKERS)
        on_cluster = ["--engine", "dask", "--scheduler", cluster.file]
        assert cluster.scheduler is not None
        watch = Watch(cluster.scheduler, folder / "results" / "bench" / "runs", scale.tasks)
        before, own = cpu(cluster), time.process_time()
        seconds = call(*arguments, *on_cluster)
        after, own = cpu(cluster), time.process_time() - own
        peak, growth = watch.end()
        again = call(*arguments, *on_cluster)
    finally:
        cluster.end()
    judged = len(list((folder / "results" / "judgments").glob("[0-9a-f]*.json")))
    assert judged == scale.judgments, judged
    files = sum(len(names) for _, _, names in os.walk(folder / "results"))
    name = f"{scale.tasks} tasks, {scale.tasks * STAGES} units and {scale.judgments} judgments"
    per, used = 1e6 * seconds / scale.units, 1e6 * (after[0] - before[0]) / scale.units
    yield row(f"{name}: wall time of each", per, "µs", UNIT_US)
    yield row("the same of a unit with its judgments", 1e6 * seconds / (scale.tasks * STAGES), "µs", UNIT_US)
    yield row("processor time of each: workers", used, "µs")
    yield row("processor time of a task: scheduler", 1e6 * (after[1] - before[1]) / scale.tasks, "µs")
    yield row("processor time of a task: client", 1e6 * own / scale.tasks, "µs")
    yield row("scheduler: peak memory", peak, "MB", SCHEDULER_MB)
    yield row("scheduler: growth after the first tenth of the tasks", growth, "MB", GROWTH_MB)
    yield row("again with nothing to do, on the cluster", 1000 * again, "ms", 1000 * AGAIN_SECONDS)
    yield row("again with nothing to do, in two threads", 1000 * call(*arguments, "--workers", 2), "ms",
              1000 * AGAIN_SECONDS)  # fmt: skip
    yield row("bench status", 1000 * call("bench", "status", folder / "results"), "ms")
    yield row("bench table", 1000 * call("bench", "table", folder / "results", "--format", "json"), "ms")
    yield row("files in RESULTS for each task", files / scale.tasks, "")
    size = sum(path.stat().st_blocks * 512 for path in (folder / "results").rglob("*") if path.is_file())
    yield row("disk in RESULTS for each task, without pictures of 1080p", size / scale.tasks / 1e3, "kB")


def row(name: str, value: float, unit: str, bound: float | None = None) -> Row:
    """A figure that was taken once."""
    return Row(name, value, unit, bound, False, value, value)


def main(arguments: list[str]) -> int:
    """Measure and print; the exit status is 1 where a bound is missed."""
    parser = argparse.ArgumentParser(prog="matchcut perf bench", description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="little of everything, to see that all of it runs")
    parser.add_argument("--folder", type=Path, help="work in this new folder and keep it (default: a temporary one)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    parsed = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the cluster ends with it
    folder = parsed.folder or Path(tempfile.mkdtemp(prefix="matchcut-perf-"))
    try:
        rows = list(measure(folder.resolve() / "bench", TINY if parsed.tiny else WHOLE))
    finally:
        if parsed.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    if parsed.json:
        machine = {"system": platform.system(), "cores": os.cpu_count(), "python": platform.python_version()}
        data = {"machine": machine, "rows": [{**asdict(one), "passed": one.passed} for one in rows]}
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(table(rows))
    return int(not all(one.passed for one in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
