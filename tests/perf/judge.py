# SPDX-License-Identifier: GPL-3.0-or-later
"""What judging costs beside the judge itself; `./run perf judge` runs it.

Requests are sent to a server of this machine that answers after a fixed time, so that the ideal is known: as many
rounds of answers as the requests fill at this concurrency. Evidence is that of a clip of 50 pairs at 1080p, made once
and then found again. Memory is the peak of a process of its own over few and over many requests.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import judge_table
from media import ROOT, Row, table  # loads the package under its name

sys.path.insert(0, str(ROOT / "tests" / "unit"))

import numpy as np  # isort: skip
from judge_stub import JudgeStub, asked, labels  # isort: skip
from matchcut.evaluator.checklist.records import Check, Clip  # isort: skip
from matchcut.evaluator.judge.evidence import EvidenceStore  # isort: skip
from matchcut.evaluator.judge.providers import open_provider  # isort: skip
from matchcut.evaluator.judge.run import judge_clips  # isort: skip
from matchcut.evaluator.media.encode import encode  # isort: skip
from matchcut.evaluator.media.probe import probe  # isort: skip
from matchcut.evaluator.media.records import VideoInfo  # isort: skip
from matchcut.evaluator.protocol.memory import peak_memory_bytes  # isort: skip
from matchcut.evaluator.protocol.messages import SilentReporter  # isort: skip

RATIO, CONCURRENCY, GROWTH_MB = 1.15, 16, 40


def clip(number: int, offset: int, frames: int, checks: int = 3) -> Clip:
    """A clip with a check at every frame that it shows."""
    items = [
        Check(
            id=f"k{n}", category="object_presence", settings=["proxy"], subjects=[], start=n % frames, end=n % frames,
            evidence_frames=[n % frames], statement=f"clip {number}, statement {n}",
        )
        for n in range(checks)
    ]  # fmt: skip
    return Clip(
        id=f"c{number}", video="v", frame_offset=offset, frame_count=frames, shot_transitions=[], entities=[],
        checks=items,
    )  # fmt: skip


def video(path: Path, width: int, height: int, frames: int) -> VideoInfo:
    """A moving gradient with some texture."""
    noise = np.random.default_rng(0).integers(0, 40, (height, width, 1), np.uint8)
    ramp = np.linspace(0, 180, width, dtype=np.float32)[None, :, None]
    pictures = ((noise + np.roll(ramp, 7 * n, 1)).astype(np.uint8).repeat(3, axis=2) for n in range(frames))
    return encode(pictures, Fraction(24), path, reporter=SilentReporter(), total=frames)


def serve(delay: float) -> None:
    """The server, in a process of its own: it prints its address and answers until its input ends."""

    def answer(body: object) -> object:
        return labels(*["fully_satisfied"] * len(asked(body)["checks"]), delay=delay)

    with JudgeStub(answer) as stub:
        sys.stdout.write(stub.spec + "\n")
        sys.stdout.flush()
        seen = 0
        for _ in sys.stdin:
            sys.stdout.write(f"{len(stub.requests) - seen}\n")
            sys.stdout.flush()
            seen = len(stub.requests)


class Server:
    """`serve` in a child."""

    def __init__(self, delay: float) -> None:
        command = [sys.executable, __file__, "--serve", str(delay)]
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._child.stdout is not None
        self.spec = self._child.stdout.readline().strip()

    def close(self) -> None:
        """End it."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        self._child.wait(20)


def measure_requests(folder: Path, requests: int, delay: float) -> Iterator[Row]:
    """Wall time of many requests over the ideal; the images are there already."""
    info = video(folder / "small.mp4", 320, 180, requests // 4 + 8)
    clips = [clip(number, number // 4, 4) for number in range(requests)]
    store = folder / "requests"
    images = EvidenceStore(store)
    for one in clips:
        images.get(one, "proxy", info, info)
    server = Server(delay)
    try:
        start, cpu = time.perf_counter(), time.process_time()
        judgments, failures = judge_clips(
            clips, "proxy", info, info, open_provider(server.spec), store=store, reporter=SilentReporter(),
            concurrency=CONCURRENCY,
        )  # fmt: skip
        taken, used = time.perf_counter() - start, time.process_time() - cpu
    finally:
        server.close()
    assert len(judgments) == requests and not failures
    ideal = math.ceil(requests / CONCURRENCY) * delay
    name = (
        f"{requests} requests at concurrency {CONCURRENCY}, answered after {delay:g} s: time over the ideal {ideal:g} s"
    )
    yield Row(name, taken / ideal, "", RATIO, False, taken / ideal, taken / ideal)
    yield Row("processor time of a request", 1000 * used / requests, "ms", None, False, 0, 0)
    start = time.perf_counter()
    judge_clips(
        clips, "proxy", info, info, open_provider(server.spec), store=store, reporter=SilentReporter(),
        concurrency=CONCURRENCY,
    )  # fmt: skip
    yield Row(f"{requests} judgments found again", 1000 * (time.perf_counter() - start), "ms", None, False, 0, 0)


def measure_evidence(folder: Path, tiny: bool) -> Iterator[Row]:
    """A clip of 50 pairs: made, with and without lossless images, and found again."""
    width, height, frames = (320, 180, 12) if tiny else (1920, 1080, 50)
    info = video(folder / "large.mp4", width, height, frames)
    probe(Path(info.path))
    one = clip(0, 0, frames, frames)
    for name, lossless in (("as sent", False), ("and lossless", True)):
        store = EvidenceStore(folder / name.replace(" ", "-"), lossless=lossless)
        start = time.perf_counter()
        made = store.get(one, "proxy", info, info)
        seconds = time.perf_counter() - start
        start = time.perf_counter()
        again = store.get(one, "proxy", info, info)
        sizes = sum(map(len, again.load()))
        found = time.perf_counter() - start
        assert again.frames == made.frames and len(made.frames) == frames
        label = f"{frames} pair images, {width}x{height}, {name}"
        yield Row(f"{label}: made", 1000 * seconds, "ms", None, False, 0, 0)
        yield Row(f"{label}: found again and read ({sizes / 1e6:.0f} MB)", 1000 * found, "ms", None, False, 0, 0)


def measure_memory(few: int, many: int) -> Iterator[Row]:
    """Peak memory over few and over many requests, each in a process of its own."""
    peaks = []
    for requests in (few, many):
        command = [sys.executable, __file__, "--child", str(requests)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(float(answer.stdout))
        yield Row(f"peak memory over {requests} requests", peaks[-1], "MB", None, False, peaks[-1], peaks[-1])
    growth = peaks[1] - peaks[0]
    yield Row(f"growth from {few} to {many} requests", growth, "MB", GROWTH_MB, False, growth, growth)


def child(requests: int) -> float:
    """Judge so many clips, and say the peak memory in MB."""
    server = Server(0.0)
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            info = video(folder / "small.mp4", 320, 180, 60)
            for block in range(0, requests, 100):
                clips = [clip(number, number % 40, 4) for number in range(block, block + 100)]
                judge_clips(
                    clips, "proxy", info, info, open_provider(server.spec), store=folder,
                    reporter=SilentReporter(), concurrency=4,
                )  # fmt: skip
    finally:
        server.close()
    return peak_memory_bytes() / 2**20


def main(arguments: list[str]) -> int:
    """Measure and print; the exit status is 1 where a bound is missed."""
    parser = argparse.ArgumentParser(prog="matchcut perf judge", description=__doc__.splitlines()[0])
    parts = ["requests", "evidence", "memory", "table"]
    parser.add_argument("--only", action="append", choices=parts, help="measure this part alone; may be repeated")
    parser.add_argument("--tiny", action="store_true", help="little of everything, to see that all of it runs")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parsed = parser.parse_args(arguments)
    if parsed.serve is not None:
        serve(parsed.serve)
        return 0
    if parsed.child is not None:
        sys.stdout.write(f"{child(parsed.child)}\n")
        return 0
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        for part in parsed.only or parts:
            if part == "requests":
                rows += measure_requests(Path(name), *((32, 0.2) if parsed.tiny else (200, 2.0)))
            elif part == "evidence":
                rows += measure_evidence(Path(name), parsed.tiny)
            elif part == "table":
                rows += judge_table.rows(Path(name), 1 if parsed.tiny else 3, tiny=parsed.tiny)
            elif os.name == "posix":
                rows += measure_memory(*((100, 200) if parsed.tiny else (100, 1000)))
    if parsed.json:
        machine = {"system": platform.system(), "cores": os.cpu_count(), "python": platform.python_version()}
        data = {"machine": machine, "rows": [{**asdict(row), "passed": row.passed} for row in rows]}
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(table(rows))
    return int(not all(row.passed for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
