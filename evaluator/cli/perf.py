# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut perf`: what the commands cost, measured against plain programs that do the same work in the same run."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from ..environment.create import PACKAGE_ROOT
from ..protocol.children import child_environment
from ..protocol.errors import BadInputError
from ..protocol.messages import Reporter

# a file beside the others that were named mcp would stand in for the package of that name
SUITES = {
    "media": "media", "render": "render", "judge": "judge", "mcp": "bridge", "sgc": "sgc", "bench": "bench", "ui": "ui",
}  # fmt: skip

DESCRIPTION = """Measure what the commands cost on this machine, each beside a plain program that does the same work in
the same run, and say whether the bounds of docs/performance.md are kept.

suites:
  media     streaming, check and pair images over bare PyAV loops; peak memory on a 4K clip
  render    a render job over a bare blender -b -a; with passes; two workers over one
  judge     requests to a judge over the ideal; images of a clip; memory over many requests
  mcp       an agent's calls over the bridge and through the MCP server, without a window and in one, there beside
            another server (--peer); idle; looking
  sgc       the metric alone over the authors' formulas written plainly (needs scikit-learn); the classical
            estimator: accuracy against exact passes of scenes that it renders, time and memory
  bench     a whole benchmark on a cluster of this machine, beside the work itself (needs distributed)
  ui        what the add-on takes of the window's main thread: idle, scoring, rendering, playing with the overlay

What follows the suite's name goes to the suite:
  matchcut perf media --help
  matchcut perf media --only stream --rounds 9
  matchcut perf media --folder clips --json

The exit status is 0 where every bound is kept, 1 where one is missed. It works from a checkout."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("suite", metavar="SUITE", help="what is measured: media, render, judge, mcp, sgc, bench or ui")
    parser.add_argument("options", nargs=argparse.REMAINDER, metavar="…", help="options of the suite, such as --json")


def run(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Run the suite in a process of its own, which no import of ours has warmed."""
    folder = PACKAGE_ROOT / "tests" / "perf"
    if not folder.is_dir():
        raise BadInputError(f"{PACKAGE_ROOT}: this installation has no benchmarks; run ./run perf from a checkout")
    if arguments.suite not in SUITES:
        raise BadInputError(f"{arguments.suite!r} is no suite of benchmarks; they are: {', '.join(SUITES)}")
    reporter.status(f"measuring {arguments.suite}; nothing else should run on this machine meanwhile")
    command = [sys.executable, str(folder / f"{SUITES[arguments.suite]}.py"), *arguments.options]
    command += ["--json"] if arguments.messages else []
    output = subprocess.PIPE if arguments.messages else None
    done = subprocess.run(command, env=child_environment(), stdin=subprocess.DEVNULL, stdout=output, check=False)
    if arguments.messages and done.returncode in (0, 1):
        reporter.result("", json.loads(done.stdout))
    return done.returncode
