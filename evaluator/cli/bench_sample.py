# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut bench sample`: a benchmark made by script, with reconstructions whose right ratings are known."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter
from .arguments import count

DESCRIPTION = """Build and render the sample benchmark: six short films with 20 clips and 600 checks, and four
reconstructions of each: good, middle, poor, and one that shows the reference itself on a screen (cheating). The right
rating of every check is computed from the films' descriptions, so the whole table can be checked without a model.

  matchcut bench sample --out sample
  matchcut bench sample --out sample --film dialogue --samples 4        one film, quickly
  matchcut bench run sample/benchmark --runs runs --out results --configurations sample/configurations.toml
  matchcut bench table results

It renders 2,685 frames with Cycles; a second run uses what the first one finished. sample/answers holds the
right ratings; a judge of yours that answers otherwise is wrong, or sees what the checks do not mean."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder for all of it")
    parser.add_argument("--film", action="append", default=[], metavar="ID", help="only this film; repeatable")
    parser.add_argument(
        "--variant", action="append", default=[], metavar="NAME", help="only this reconstruction; repeatable"
    )
    parser.add_argument("--samples", type=count, metavar="N", help="render samples (default: as the scenes say)")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Build, render and write it."""
    from ...assets_ui.samples.films import FILMS
    from ..benchmark.sample import CONFIGURATIONS_FILE, VARIANTS, make_sample
    from ..environment.blender import find_blender

    benchmark = make_sample(
        args.out, blender=find_blender(reporter.status), reporter=reporter, films=args.film or tuple(FILMS),
        variants=args.variant or VARIANTS, samples=args.samples,
    )  # fmt: skip
    configurations = args.out / CONFIGURATIONS_FILE
    if args.messages:
        reporter.result(str(benchmark), {"benchmark": str(benchmark), "configurations": str(configurations)})
    else:
        sys.stdout.write(f"{benchmark}\n{configurations}\n")
    return ExitStatus.DONE
