# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut bench leaderboard`: a run as pages that need no server."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter

DESCRIPTION = """Write a benchmark's run as pages: tables that sort by any column, under each setting, with coverage and
intervals; score against money and time; categories, kinds of video and failures; and for each video a page on which
the reference and all configurations play in step, with every check and its ratings. Open DIR/index.html in a browser.

  matchcut bench leaderboard RESULTS --out board
  matchcut bench leaderboard RUN.json --out board    a file of bench export: no videos, no words of the checks

DIR can be put on any web server as it is. It holds the benchmark's videos and the words of its checks: to publish
a run without them, make it of an exported file."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    from ..scoring.bootstrap import SAMPLES, SEED

    parser.add_argument("results", type=Path, metavar="RESULTS", help="the folder of the records, or an exported file")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder for the pages")
    parser.add_argument("--benchmark", type=Path, metavar="BENCH", help="where the benchmark is (default: as planned)")
    parser.add_argument("--judge", metavar="JUDGE", help="whose ratings, where several judges rated")
    parser.add_argument("--base", metavar="NAME", help="ablation: what the variants are compared with")
    parser.add_argument("--variant", action="append", default=[], metavar="NAME", help="ablation; may be repeated")
    parser.add_argument(
        "--samples", type=int, default=SAMPLES, metavar="N", help=f"bootstrap draws (default: {SAMPLES})"
    )
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help=f"of the draws (default: {SEED})")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Write them."""
    from ..benchmark.leaderboard import write_leaderboard
    from ..benchmark.raw import open_raw
    from ..scoring.bootstrap import check_samples
    from ..tables.results import choose_judge, number_items, read_judge

    check_samples(args.samples)
    if (args.base is None) != (not args.variant):
        raise BadInputError("an ablation needs both: --base NAME --variant NAME")
    with open_raw(args.results, args.benchmark) as raw:
        judge = choose_judge(raw.results, args.judge)
        ratings = read_judge(raw.results, number_items(raw.benchmark), judge).contestants()
        index = write_leaderboard(
            raw, ratings, args.out, reporter=reporter, base=args.base, variants=args.variant, samples=args.samples,
            seed=args.seed,
        )  # fmt: skip
    if args.messages:
        reporter.result(str(index), {"index": str(index)})
    else:
        sys.stdout.write(f"{index}\n")
    return ExitStatus.DONE
