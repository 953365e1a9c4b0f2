# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut bench table`: the scores of a run, or of an exported one, and what they cost."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from ..protocol.errors import BadInputError
from ..protocol.messages import Reporter
from . import table

if TYPE_CHECKING:
    from ..benchmark.raw import Raw

OWN_KINDS: Final = ("kinds", "cost", "failures")

DESCRIPTION = """Print the scores of a benchmark's run, as matchcut table does (docs/scores.md), and what else its
records tell. A configuration in whose submissions the audit found what is forbidden is marked ‡ and counts in no mean.

  matchcut bench table RESULTS
  matchcut bench table RESULTS --kind categories
  matchcut bench table RESULTS --kind ablation --base claude-opus-5.5 --variant claude-opus-5.5-no-refine
  matchcut bench table RESULTS --kind kinds     by kind of video: dialogue, sport …
  matchcut bench table RESULTS --kind cost      money and time of a task against its score
  matchcut bench table RESULTS --kind failures  by cause and stage; faults of what was handed in; checks not satisfied
  matchcut bench table RUN.json                 a file of bench export: no benchmark is needed"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments: those of `table`, whose benchmark is known here, and more kinds."""
    table.add_arguments(parser, benchmark_needed=False, more_kinds=OWN_KINDS)


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Print or write the table."""
    from ..benchmark.raw import disqualified, open_raw

    with open_raw(args.results, args.benchmark) as raw:
        args.benchmark, args.results = raw.benchmark.folder, raw.results
        if args.kind in OWN_KINDS:
            return _own(raw, args, reporter)
        return table.run(args, reporter, disqualified=disqualified(raw))


def _own(raw: Raw, args: argparse.Namespace, reporter: Reporter) -> int:
    from ..benchmark.breakdown import cost_sheet, failure_sheet, kind_table
    from ..benchmark.raw import disqualified
    from ..benchmark.sheet import FORMATS as SHEET_FORMATS
    from ..scoring.bootstrap import check_samples
    from ..tables.make import find_own_configurations
    from ..tables.render import FORMATS
    from ..tables.results import choose_judge, number_items, read_judge

    check_samples(args.samples)
    if args.base is not None or args.variant:
        raise BadInputError("--base and --variant belong to --kind ablation")
    checks = number_items(raw.benchmark)
    try:
        ratings = read_judge(
            raw.results, checks, choose_judge(raw.results, args.judge), configurations=args.configuration
        )
    except BadInputError:
        if args.kind != "failures" or args.judge is not None or args.configuration:
            raise
        return table.tell(failure_sheet(raw, checks, None), SHEET_FORMATS[args.format], args, reporter)
    ratings = ratings if args.configuration else ratings.contestants()
    if args.kind == "failures":
        return table.tell(failure_sheet(raw, checks, ratings), SHEET_FORMATS[args.format], args, reporter)
    barred = disqualified(raw)
    if args.kind == "cost":
        board = checks.board(ratings.runs.get(0, {}), samples=args.samples, seed=args.seed, disqualified=barred)
        return table.tell(cost_sheet(raw, board), SHEET_FORMATS[args.format], args, reporter)
    made = kind_table(
        raw, ratings, configurations=args.configuration, judges=find_own_configurations(ratings, args.contestant),
        disqualified=barred, samples=args.samples, seed=args.seed,
    )  # fmt: skip
    return table.tell(made, FORMATS[args.format], args, reporter)
