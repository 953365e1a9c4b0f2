# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut table`: the scores of a judged benchmark."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.files import write_text
from ..protocol.messages import Reporter

if TYPE_CHECKING:
    from ..records import Record
    from ..tables.records import Table

T = TypeVar("T", bound="Record")

DESCRIPTION = """Print the scores of every configuration that a judge rated (docs/scores.md).

  matchcut table RESULTS --benchmark BENCH                     overall and dimensions, by setting, with a mean row
  matchcut table RESULTS --benchmark BENCH --kind categories   the eleven categories
  matchcut table RESULTS --benchmark BENCH --kind gaps         easy less hard categories, proxy less detailed
  matchcut table RESULTS --benchmark BENCH --kind ablation --base full --variant no-refine --variant low
  matchcut table RESULTS --benchmark BENCH --format latex --out scores.tex

RESULTS is the folder that `matchcut judge run` wrote. Beside every number stand the clips scored of those expected,
and a 95 % interval that draws whole videos. What was not judged is left out of the means; it is no zero. The controls
of judge controls are left out where no configuration is named."""


def add_arguments(
    parser: argparse.ArgumentParser, *, benchmark_needed: bool = True, more_kinds: Sequence[str] = ()
) -> None:
    """The command's arguments."""
    from ..scoring.bootstrap import SAMPLES, SEED
    from ..tables.records import KINDS
    from ..tables.render import FORMATS

    parser.add_argument("results", type=Path, metavar="RESULTS", help="the folder that judge run wrote")
    parser.add_argument(
        "--benchmark", type=Path, required=benchmark_needed, metavar="BENCH", help="the folder of the benchmark"
    )
    parser.add_argument("--kind", choices=(*KINDS, *more_kinds), default=KINDS[0], help="which table (default: scores)")
    parser.add_argument("--judge", metavar="JUDGE", help="whose ratings, where several judges rated")
    parser.add_argument(
        "--configuration", action="append", default=[], metavar="NAME", help="only this one; may be repeated"
    )
    parser.add_argument("--base", metavar="NAME", help="ablation: what the variants are compared with")
    parser.add_argument("--variant", action="append", default=[], metavar="NAME", help="ablation; may be repeated")
    parser.add_argument(
        "--contestant", action="append", default=[], metavar="NAME",
        help="a configuration that is the judge's own model, where its name does not tell; may be repeated",
    )  # fmt: skip
    parser.add_argument("--format", choices=FORMATS, default="text", help="how it is written (default: text)")
    parser.add_argument(
        "--samples", type=int, default=SAMPLES, metavar="N", help=f"bootstrap draws (default: {SAMPLES})"
    )
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help=f"of the draws (default: {SEED})")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write it there instead of to standard output")


def run(
    args: argparse.Namespace, reporter: Reporter, *, disqualified: Mapping[str, str] | None = None,
) -> int:  # fmt: skip
    """Print or write the table; `disqualified` says of configurations what an audit found."""
    from ..scoring.bootstrap import check_samples
    from ..tables.render import FORMATS

    check_samples(args.samples)
    if args.kind == "ablation" and (args.base is None or not args.variant):
        raise BadInputError("--kind ablation: name the configurations by --base NAME --variant NAME")
    if args.kind != "ablation" and (args.base is not None or args.variant):
        raise BadInputError("--base and --variant belong to --kind ablation")
    return tell(make(args, reporter, disqualified), FORMATS[args.format], args, reporter)


def tell(table: T, form: Callable[[T], str], args: argparse.Namespace, reporter: Reporter) -> int:
    """Print or write what was made."""
    text = form(table)
    if args.out is not None:
        write_text(args.out, text)
    if args.messages:
        reporter.result(str(args.out or args.results), table.model_dump(mode="json"))
    elif args.out is None:
        sys.stdout.write(text)
    else:
        reporter.status(f"wrote {args.out}")
    return ExitStatus.DONE


def make(args: argparse.Namespace, reporter: Reporter, disqualified: Mapping[str, str] | None = None) -> Table:
    """Read the results and make the table."""
    from ..checklist.benchmark import load_benchmark
    from ..tables.make import make_table
    from ..tables.results import choose_judge, number_items, read_judge

    reporter.status("reading the benchmark and the judgments")
    checks = number_items(load_benchmark(args.benchmark))
    judge = choose_judge(args.results, args.judge)
    names = [args.base, *args.variant] if args.kind == "ablation" else args.configuration
    ratings = read_judge(args.results, checks, judge, configurations=names)
    return make_table(
        args.kind,
        checks,
        ratings if names else ratings.contestants(),
        base=args.base,
        variants=args.variant,
        contestants=args.contestant,
        samples=args.samples,
        seed=args.seed,
        disqualified=disqualified,
    )
