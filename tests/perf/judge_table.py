# SPDX-License-Identifier: GPL-3.0-or-later
"""What it costs to make tables out of recorded judgments: 360 of them, and the 14,040 of a whole benchmark.

The benchmark has the size of the paper's (50 videos, 360 clips, some 46 checks for each clip and setting); what is
measured is the command, from its start to its output. `rows` is what `./run perf judge` lists.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from media import ROOT, Row, table  # loads the package under its name

from matchcut.evaluator.checklist.records import SETTINGS  # isort: skip

sys.path.insert(0, str(ROOT / "tests" / "unit"))
from bench_samples import clip, write_benchmark, write_results

SMALL_SECONDS, LARGE_SECONDS = 2.0, 20.0
VIDEOS, CLIPS, CONFIGURATIONS = 50, 360, 13
EVIDENCE = 30
# the paper's 35,836 records over 360 clips, as they spread over categories and settings
ONE_CLIP = (
    ["translation"] + ["rotation"] * 2 + ["zoom", "position", "target", "shot_transitions"]
    + [("object_presence", (setting,)) for setting in SETTINGS for _ in range(9)]
    + [("object_appearance", (setting,)) for setting in SETTINGS[1:] for _ in range(28)]
    + [("spatial_relations", (setting,)) for setting in SETTINGS for _ in range(9)]
    + ["subject_motion", "action_events"]
)  # fmt: skip


def prepare(folder: Path, *, videos: int = VIDEOS, clips: int = CLIPS, configurations: int = CONFIGURATIONS) -> None:
    """A benchmark and its judgments in `folder`, made where they are not there yet."""
    recipe = json.dumps([videos, clips, configurations, EVIDENCE, ONE_CLIP])
    mark = folder / hashlib.sha256(recipe.encode()).hexdigest()[:16]
    if mark.exists():
        return
    for name in ("bench", "small", "large"):
        shutil.rmtree(folder / name, ignore_errors=True)
    made = [clip(f"c{n:03d}", f"v{n % videos:02d}", *ONE_CLIP) for n in range(clips)]
    made.sort(key=lambda one: one.video)
    write_benchmark(folder / "bench", made)
    chance = random.Random(1)

    def rate(configuration: str, setting: str, one: object) -> list[float]:
        return chance.choices([0.0, 0.5, 1.0], k=len(one.applicable(setting)))  # type: ignore[attr-defined]

    write_results(folder / "small", made, rate, ["one"], settings=["simplified"], shown=EVIDENCE)
    write_results(folder / "large", made, rate, [f"c{n:02d}" for n in range(configurations)], shown=EVIDENCE)
    mark.touch()


def seconds(folder: Path, name: str) -> float:
    """Wall time of the command."""
    command = [sys.executable, str(ROOT / "__main__.py"), "table", str(folder / name)]
    start = time.perf_counter()
    subprocess.run(
        [*command, "--benchmark", str(folder / "bench"), "--format", "json"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return time.perf_counter() - start


def rows(folder: Path, rounds: int = 3, *, tiny: bool = False) -> list[Row]:
    """Both figures, the median of the rounds."""
    if tiny:
        prepare(folder, videos=2, clips=4, configurations=2)
    else:
        prepare(folder)
    bounds = {"small": ("table of 360 judgments", SMALL_SECONDS), "large": ("table of 14,040 judgments", LARGE_SECONDS)}
    found = []
    for name, (what, bound) in bounds.items():
        times = [seconds(folder, name) for _ in range(rounds)]
        value = 1000 * statistics.median(times)
        found.append(Row(what, value, "ms", 1000 * bound, False, 1000 * min(times), 1000 * max(times)))
    return found


def main(arguments: list[str]) -> int:
    """Measure and print; the exit status is 1 where a bound is missed."""
    parser = argparse.ArgumentParser(prog="judge_table.py", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each (default: 3)")
    parser.add_argument("--folder", type=Path, help="keep the judgments here for the next run")
    parser.add_argument("--tiny", action="store_true", help="few judgments, to see that all of it runs")
    parsed = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        measured = rows((parsed.folder or Path(temporary)).resolve(), parsed.rounds, tiny=parsed.tiny)
    sys.stdout.write(table(measured))
    return int(not all(row.passed for row in measured))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
