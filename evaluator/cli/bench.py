# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut bench`: agents over a benchmark; without a sub-command one task of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from ..checklist.records import SETTINGS
from ..protocol.messages import Reporter

SUBCOMMANDS: Final = {
    "run": "bench_run",
    "resume": "bench_resume",
    "status": "bench_status",
    "table": "bench_table",
    "export": "bench_export",
    "leaderboard": "bench_leaderboard",
    "sample": "bench_sample",
}

DESCRIPTION = """Let agents rebuild the videos of a benchmark, and judge what they hand in (docs/benchmark.md).

  matchcut bench run BENCH --runs RUNS --out RESULTS --configurations FILE.toml --judge openai:MODEL
  matchcut bench resume RESULTS       do what is missing; the same as run again
  matchcut bench status RESULTS       what is done, runs, has failed and why, and what it cost
  matchcut bench table RESULTS        the scores
  matchcut bench export RESULTS --file RUN.json     all raw records in one file
  matchcut bench leaderboard RESULTS --out DIR      a page of tables, and of all videos in step
  matchcut bench sample --out DIR     a small benchmark whose right scores are known

Without one of these it does one task, as from inside a Blender:

  matchcut bench --benchmark BENCH --config claude-opus-5.5 --setting proxy --video V
  blender -b --python addon/headless.py -- bench --benchmark BENCH --config C --setting proxy --video V

exit status: 0 done, 2 bad input, 3 something failed (the same command tries it again), 130 cancelled"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of one task."""
    from .bench_run import add_run_options

    parser.add_argument("--benchmark", type=Path, required=True, metavar="BENCH", help="the folder of the benchmark")
    parser.add_argument("--config", required=True, metavar="NAME", help="the configuration")
    parser.add_argument("--setting", required=True, choices=SETTINGS, help="how detailed")
    parser.add_argument("--video", required=True, metavar="ID", help="the video")
    parser.add_argument("--runs", type=Path, default=Path("bench-runs"), metavar="RUNS", help="default: bench-runs")
    parser.add_argument(
        "--out", type=Path, default=Path("bench-results"), metavar="RESULTS", help="default: bench-results"
    )
    add_run_options(parser)


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Do one task."""
    from .bench_run import run_benchmark

    args.configuration, args.setting, args.video = [args.config], [args.setting], [args.video]
    return run_benchmark(args, reporter)
