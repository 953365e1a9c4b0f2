# SPDX-License-Identifier: GPL-3.0-or-later
"""What reading videos costs, against plain loops over the same files in the same run; `./run perf media` runs it.

Both sides of a ratio take turns, so that what else the machine does falls on both; the median of the rounds is compared
with the bound. Memory is the peak of a child process that does one thing.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def _load(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


if "matchcut" not in sys.modules:
    _load("matchcut_main", ROOT / "__main__.py").load_package()

import av  # noqa: E402
import cv2  # noqa: E402
import numpy as np  # noqa: E402
from matchcut.evaluator.cli import main as front  # noqa: E402
from matchcut.evaluator.media.decode import pick, stream  # noqa: E402
from matchcut.evaluator.media.pairs import fitted_size, jpeg_bytes, pair_image  # noqa: E402
from matchcut.evaluator.media.probe import probe  # noqa: E402
from matchcut.evaluator.protocol.memory import peak_memory_bytes  # noqa: E402
from PIL import Image  # noqa: E402

clips = _load("matchcut_perf_clips", Path(__file__).with_name("clips.py"))

FASTEST, CHECK, PAIRS, MEMORY_MB, GROWTH = 0.95, 1.5, 1.4, 600.0, 1.05
PAIR_COUNT = 50


@dataclass(frozen=True)
class Scale:
    """How large the clips are: seconds of 1080p and of 4K, or of something tiny to see that all of it runs."""

    usual: clips.Spec
    large: clips.Spec


REAL = Scale(clips.Spec(1920, 1080, 30, 60, 4), clips.Spec(3840, 2160, 24, 24, 24))
TINY = Scale(clips.Spec(192, 108, 30, 60, 1), clips.Spec(256, 144, 24, 12, 2))


@dataclass(frozen=True)
class Row:
    """One line of the table: a figure, what it has to be, and how far its rounds lie apart."""

    name: str
    value: float
    unit: str
    bound: float | None
    least: bool
    """Whether the bound is the least that passes; else it is the most."""
    low: float
    high: float
    cpu: float | None = None
    """The same ratio in processor time, which other work on the machine disturbs less."""

    @property
    def passed(self) -> bool:
        """Whether the figure keeps its bound; one without a bound does."""
        return self.bound is None or (self.value >= self.bound if self.least else self.value <= self.bound)


def ratio(
    name: str, above: Callable[[], None], below: Callable[[], None], rounds: int, bound: float, least: bool
) -> Row:
    """Time `above` / `below` over some rounds in turn, after one round that nobody counts."""
    above(), below()
    wall, cpu = [], []
    for _ in range(rounds):
        (first, first_cpu), (second, second_cpu) = _timed(above), _timed(below)
        wall.append(first / second)
        cpu.append(first_cpu / max(second_cpu, 1e-9))
    return Row(name, statistics.median(wall), "", bound, least, min(wall), max(wall), statistics.median(cpu))


def _timed(work: Callable[[], None]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def bare(*paths: Path) -> None:
    """Decode every frame to RGB as the shortest program with PyAV does."""
    for path in paths:
        with av.open(str(path)) as container:
            video = container.streams.video[0]
            video.thread_type = "AUTO"
            for frame in container.decode(video):
                frame.to_ndarray(format="rgb24")


def ours(path: Path) -> None:
    """Every frame with its time."""
    for frame in stream(path):
        assert frame.time >= 0


def check(reference: Path, reconstruction: Path) -> None:
    """The command `check` on two files that it has not seen before."""
    for path in (reference, reconstruction):
        os.utime(path)  # what was kept of them is of another time of change
    command("check", "--reference", str(reference), "--reconstruction", str(reconstruction), "--json")


def command(*arguments: str) -> None:
    """Run a command of the program in this process; its answer is dropped."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        status = front.run_command(*_parsed(arguments))
    if status != 0:
        raise RuntimeError(f"{' '.join(arguments)}: exit status {status}\n{said.getvalue()}")


def _parsed(arguments: tuple[str, ...]) -> tuple[Any, argparse.Namespace]:
    module = importlib.import_module(f"matchcut.evaluator.cli.{front.COMMANDS[arguments[0]][0]}")
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    parser.set_defaults(messages=False)
    return module, parser.parse_args(list(arguments[1:]))


def moments(frames: int, count: int = PAIR_COUNT) -> list[int]:
    """`count` frames spread over the first two seconds' worth of `frames`."""
    return sorted({round(index * (frames - 1) / (count - 1)) for index in range(count)})


def pairs(reference: Path, reconstruction: Path, wanted: list[int]) -> None:
    """Pair images as the judge is sent them; the pass over the files that probing made is known already."""
    info = probe(reference).timeline
    size = fitted_size(info.width, info.height)
    shown = zip(pick(reference, wanted, size=size), pick(reconstruction, wanted, size=size), strict=True)
    for above, below in shown:
        jpeg_bytes(pair_image(above.image, below.image, above.index, float(above.time)))


def plain_pairs(reference: Path, reconstruction: Path, wanted: list[int]) -> None:
    """Decoding from the start to the last wanted frame, two resizes by OpenCV, one JPEG by Pillow."""
    for above, below in zip(_plain(reference, wanted), _plain(reconstruction, wanted), strict=True):
        small = [cv2.resize(picture, (960, 540), interpolation=cv2.INTER_AREA) for picture in (above, below)]
        Image.fromarray(np.vstack(small)).save(io.BytesIO(), "JPEG", quality=92, subsampling="4:4:4")


def _plain(path: Path, wanted: list[int]) -> Iterator[Any]:
    chosen = set(wanted)
    with av.open(str(path)) as container:
        video = container.streams.video[0]
        video.thread_type = "AUTO"
        for index, frame in enumerate(container.decode(video)):
            if index in chosen:
                yield frame.to_ndarray(format="rgb24")
            if index == wanted[-1]:
                return


def _in_child(what: str, paths: list[Path], threads: int) -> float:
    call = [sys.executable, str(Path(__file__)), "--child", what, "--threads", str(threads), *map(str, paths)]
    answer = subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise RuntimeError(f"{what}: {answer.stderr}")
    return float(answer.stdout)


def _child(what: str, paths: list[Path], threads: int) -> int:
    if threads:
        os.cpu_count = lambda: threads  # type: ignore[assignment]
    if what == "stream":
        ours(paths[0])
    elif what == "probe":
        command("probe", str(paths[0]), "--json")
    elif what == "pairs":
        pairs(*paths, moments(min(probe(path).timeline.frames for path in paths)))
    elif what == "check":
        check(*paths)
    elif what == "compare":
        with tempfile.TemporaryDirectory() as folder:
            sides = ("--reference", str(paths[0]), "--reconstruction", str(paths[1]))
            command("compare", *sides, "--out", str(Path(folder) / "compared"))
    sys.stdout.write(f"{peak_memory_bytes() / 1e6}\n")
    return 0


def measure(scale: Scale, folder: Path, rounds: int, only: list[str], threads: int) -> Iterator[Row]:
    """Every row, in turn."""
    reference = clips.make(folder, scale.usual)
    rebuilt = clips.make(folder, replace(scale.usual, gain=0.9))
    wanted = moments(2 * scale.usual.rate)
    if "stream" in only:
        yield ratio(
            "streaming with timestamps, speed over the bare loop's",
            lambda: bare(reference), lambda: ours(reference), rounds, FASTEST, least=True,
        )  # fmt: skip
    if "check" in only:
        yield ratio(
            "check of two clips, time over decoding both",
            lambda: check(reference, rebuilt), lambda: bare(reference, rebuilt), rounds, CHECK, least=False,
        )  # fmt: skip
    if "pairs" in only:
        yield ratio(
            f"{PAIR_COUNT} pair images, time over a plain loop's",
            lambda: pairs(reference, rebuilt, wanted), lambda: plain_pairs(reference, rebuilt, wanted),
            rounds, PAIRS, least=False,
        )  # fmt: skip
    if "memory" in only:
        yield from _memory(scale, folder, threads)


def _memory(scale: Scale, folder: Path, threads: int) -> Iterator[Row]:
    large, rebuilt = clips.make(folder, scale.large), clips.make(folder, replace(scale.large, gain=0.9))
    doubled = clips.make(folder, replace(scale.large, repeats=2 * scale.large.repeats))
    seconds = scale.large.frames * scale.large.repeats / scale.large.rate
    where = f"{scale.large.width}x{scale.large.height}, {seconds:g} s"
    for what, paths in (
        ("stream", [large]),
        ("probe", [large]),
        ("check", [large, rebuilt]),
        ("pairs", [large, rebuilt]),
        ("compare", [large, rebuilt]),
    ):
        peak = _in_child(what, paths, threads)
        yield Row(f"peak memory of {what}, {where}", peak, "MB", MEMORY_MB, False, peak, peak)
        if what in ("stream", "probe"):
            grown = _in_child(what, [doubled], threads) / peak
            yield Row(f"peak memory of {what}, twice as long", grown, "", GROWTH, False, grown, grown)


def table(rows: list[Row]) -> str:
    """The rows as text: figure, bound, spread of the rounds, processor time, verdict."""
    lines = [("what", "figure", "bound", "rounds", "cpu", "verdict")]
    for row in rows:
        form = f"{{:.0f}} {row.unit}" if row.unit else "{:.2f}"
        bound = "" if row.bound is None else ("≥ " if row.least else "≤ ") + form.format(row.bound)
        spread = "" if row.low == row.high else f"{form.format(row.low)} … {form.format(row.high)}"
        cpu = "" if row.cpu is None else f"{row.cpu:.2f}"
        lines.append((row.name, form.format(row.value), bound, spread, cpu, "passed" if row.passed else "MISSED"))
    widths = [max(len(line[column]) for line in lines) for column in range(6)]
    return "".join("  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() + "\n"
                   for line in lines)  # fmt: skip


def main(arguments: list[str]) -> int:
    """Measure and print; the exit status is 1 where a bound is missed."""
    parser = argparse.ArgumentParser(prog="matchcut perf media", description=__doc__.splitlines()[0])
    parts = ["stream", "check", "pairs", "memory"]
    parser.add_argument("--only", action="append", choices=parts, help="measure this part alone; may be repeated")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of every ratio (default: 5)")
    parser.add_argument("--threads", type=int, default=0, help="measure memory as on a machine with so many cores")
    parser.add_argument("--folder", type=Path, help="keep the clips here for the next run (default: a temporary one)")
    parser.add_argument("--tiny", action="store_true", help="tiny clips, to see that all of it runs")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("paths", nargs="*", type=Path, help=argparse.SUPPRESS)
    parsed = parser.parse_args(arguments)
    if parsed.child:
        return _child(parsed.child, parsed.paths, parsed.threads)
    with contextlib.ExitStack() as stack:
        folder = parsed.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        rows = []
        for row in measure(TINY if parsed.tiny else REAL, folder, parsed.rounds, parsed.only or parts, parsed.threads):
            rows.append(row)
            sys.stderr.write(f"{row.name}: {row.value:.2f}\n")
    if parsed.json:
        machine = {"system": platform.system(), "cores": os.cpu_count(), "python": platform.python_version()}
        data = {"machine": {**machine, "av": av.__version__, "numpy": np.__version__}}
        data["rows"] = [{**asdict(row), "passed": row.passed} for row in rows]
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(table(rows))
    return int(not all(row.passed for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
