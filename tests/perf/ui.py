# SPDX-License-Identifier: GPL-3.0-or-later
"""What Matchcut takes of the window's main thread; `./run perf ui` runs it.

In a real window: the tab idle, while the scene is scored, while it is rendered, and while the reference plays over the
view. Every slice of ours is timed: what panels, lists and views draw, timers, handlers. Figures and their bounds are
processor time, which other work on the machine disturbs less; the column `rounds` ends with wall time. What pressing a
button takes, which saves a copy of the scene, is told beside. `$BLENDER_WINDOW` is a command line that opens a window,
else xvfb-run is used.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from bridge import window_command
from media import ROOT, Row, table  # loads the package under its name

import numpy as np  # isort: skip
from matchcut.evaluator.media.encode import encode  # isort: skip
from matchcut.evaluator.protocol.children import child_environment  # isort: skip
from matchcut.evaluator.protocol.errors import OperationalError  # isort: skip
from matchcut.evaluator.protocol.messages import SilentReporter  # isort: skip

SLICE_MS = 10.0
PHASES = ("idle", "scoring", "rendering", "playback")
GUEST = Path(__file__).with_name("ui_guest.py")
DRIVE = ROOT / "tests" / "gui" / "drive.py"


def make_reference(folder: Path) -> Path:
    """48 frames of 480×270 at 24: a square that moves over a ramp."""
    frames = np.zeros((48, 270, 480, 3), np.uint8)
    frames[:] = np.linspace(30, 120, 480, dtype=np.uint8)[:, None]
    for index, frame in enumerate(frames):
        frame[80:160, 20 + 6 * index : 100 + 6 * index] = (250, 200, 40)
    path = folder / "reference.mp4"
    encode(frames, Fraction(24), path, reporter=SilentReporter(), total=len(frames))
    return path


def watch(folder: Path, seconds: int) -> dict[str, Any]:
    """What the window told. Raises OperationalError where there is no window, or it ended early."""
    command = window_command()
    if command is None:
        raise OperationalError("there is no screen: set $BLENDER_WINDOW, or install xvfb")
    environment = {
        **child_environment(), "MATCHCUT_TEST_PACKAGE": "matchcut", "MATCHCUT_PYTHON": sys.executable,
        "MATCHCUT_TEST_REFERENCE": str(make_reference(folder)), "BLENDER_USER_RESOURCES": str(folder / "profile"),
        "MESA_SHADER_CACHE_DIR": str(folder / "shaders"),
    }  # fmt: skip
    arguments = ["--factory-startup", "--python", str(DRIVE), "--", str(GUEST), str(folder)]
    log = folder / "window.log"
    with log.open("wb") as output:
        subprocess.run(
            [*command, "--enable-event-simulate", *arguments],
            env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=seconds, check=False,
        )  # fmt: skip
    facts = json.loads((folder / "facts.json").read_text()) if (folder / "facts.json").is_file() else {}
    if "finished" not in facts:
        raise OperationalError(f"the window ended early: {facts.get('error', '')}\n{log.read_text()[-1000:]}")
    return dict(facts)


def _row(name: str, used: float, wall: float, bound: float | None) -> Row:
    return Row(name, used, "", bound, False, min(used, wall), max(used, wall))


def rows_of(facts: dict[str, Any]) -> Iterator[Row]:
    """The table."""
    for phase in PHASES:
        told = facts[phase]
        name = f"{phase}: longest of {told['slices']} slices ({told['longest_kind']}), ms"
        yield _row(name, told["longest"], told["longest_wall"], SLICE_MS)
        yield _row(f"{phase}: 99th percentile of slices, ms", told["p99"], told["p99_wall"], SLICE_MS)
        name = f"{phase}: gap of a 10 ms timer, median … longest; 99th percentile, ms"
        yield Row(name, told["frame_p99"], "", None, False, told["frame_p50"], told["frame_longest"])
        for button, (used, wall) in told["buttons"].items():
            yield _row(f"{phase}: {button}, ms", used, wall, None)
    opened = facts["drawn"]["opened"]
    sys.stderr.writelines(f"while drawing: {one}\n" for one in opened)
    count = float(len(opened))
    yield Row(f"files and sockets touched in {facts['drawn']['panels']} draws", count, "", 0.0, False, count, count)


def main(arguments: list[str]) -> int:
    """Measure and print; the exit status is 1 where a bound is missed."""
    parser = argparse.ArgumentParser(prog="matchcut perf ui", description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="keep the clip, the window's picture and its output here")
    parser.add_argument("--seconds", type=int, default=600, help="how long the window may take (default: 600)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    args = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        folder = (args.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        rows = list(rows_of(watch(folder, args.seconds)))
    if args.json:
        machine = {"system": platform.system(), "cores": os.cpu_count(), "python": platform.python_version()}
        data = {"machine": machine, "rows": [{**asdict(row), "passed": row.passed} for row in rows]}
        sys.stdout.write(json.dumps(data, indent=2) + "\n")
    else:
        sys.stdout.write(table(rows))
    return 0 if all(row.passed for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
