# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut bench resume`: what is missing of a plan, without saying again what it was."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..protocol.messages import Reporter
from .bench_run import add_machine_options, add_selection, work

DESCRIPTION = """Do what is missing of a benchmark's run, as RESULTS/bench/plan.json says it.

It is the same as the whole bench run command once more. On another machine --benchmark and --runs say where the folders
are there.

  matchcut bench resume RESULTS
  matchcut bench resume RESULTS --workers 4 --configuration kimi-k3
  matchcut bench resume RESULTS --retry         also what has failed too often"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("out", type=Path, metavar="RESULTS", help="the folder of the records")
    parser.add_argument("--benchmark", type=Path, metavar="BENCH", help="where the benchmark is (default: as planned)")
    parser.add_argument("--runs", type=Path, metavar="RUNS", help="where the submissions are (default: as planned)")
    add_selection(parser)
    add_machine_options(parser)


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Run what is missing."""
    from ..benchmark.ledger import Ledger
    from ..benchmark.plan import Selection
    from ..checklist.benchmark import load_benchmark

    plan = Ledger(args.out).plan()
    if args.runs is not None:
        plan = plan.model_copy(update={"runs": str(args.runs.absolute())})
    benchmark = load_benchmark(args.benchmark or Path(plan.benchmark))
    return work(plan, benchmark, Selection(args.configuration, args.setting, args.video), args, reporter)
