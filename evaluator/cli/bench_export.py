# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut bench export`: all raw records of a run in one file."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter

DESCRIPTION = """Write all raw records of a benchmark's run into one file: the plan, every agent's run with its cost and
calls, every stage, every failure, every rating. From it anybody makes the tables again, without the benchmark:

  matchcut bench export RESULTS --file run.json
  matchcut bench table run.json --kind categories

The words of the checks, of entities and the pictures stay out of it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("results", type=Path, metavar="RESULTS", help="the folder of the records")
    parser.add_argument("--file", type=Path, required=True, metavar="RUN.json", help="the file to write")
    parser.add_argument("--benchmark", type=Path, metavar="BENCH", help="where the benchmark is (default: as planned)")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Write it."""
    from ..benchmark.export import make_export
    from ..benchmark.ledger import Ledger
    from ..checklist.benchmark import load_benchmark

    ledger = Ledger(args.results)
    plan = ledger.plan()
    export = make_export(plan, load_benchmark(args.benchmark or Path(plan.benchmark)), ledger)
    export.write(args.file)
    counts = {name: len(getattr(export, name)) for name in ("runs", "stages", "failures", "units", "judgments")}
    if args.messages:
        reporter.result(str(args.file), counts)
    else:
        told = ", ".join(f"{count} {name}" for name, count in counts.items())
        reporter.status(f"wrote {args.file}: {told}")
    return ExitStatus.DONE
