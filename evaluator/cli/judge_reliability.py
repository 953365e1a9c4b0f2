# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut judge reliability` and `matchcut judge controls`: how far a judge can be trusted."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.files import atomic_path, write_json
from ..protocol.messages import Reporter

if TYPE_CHECKING:
    from ..reliability.records import Accord, Figure, Group, Reliability
    from ..scoring.records import Score

RELIABILITY_DESCRIPTION = """Say how far a judge's ratings can be trusted, out of what judge run left (docs/scores.md):

  repeats    the same evidence rated several times (judge run --repeats K): how often a rating flips, Fleiss' kappa
  second     another judge in the same folder (--second): Cohen's kappa, Krippendorff's ordinal alpha, confusion
  ceiling    the reference rated against itself, which should come near 100
  floor      a foreign video, which should come near 0; judge controls makes both
  known      ratings against right ones (--known RATINGS --of CONFIGURATION): accuracy, kappa, confusion

  matchcut judge reliability RESULTS --benchmark BENCH --judge openai:MODEL --second anthropic:MODEL
  matchcut judge reliability RESULTS --benchmark BENCH --known ratings.json --of reconstruction

A part for which nothing was judged is named with what is missing."""

CONTROLS_DESCRIPTION = """Lay out two reconstructions whose right scores are known beside those of the contestants:

  RUNS/control-ceiling   the reference itself
  RUNS/control-floor     the benchmark's next video, on the reference's timeline

Then judge run rates them like any configuration, and judge reliability shows what they got. They take no part in
tables.

  matchcut judge controls BENCH --out RUNS
  matchcut judge controls BENCH --out RUNS --foreign other.mp4"""


def add_reliability_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `judge reliability`."""
    from ..scoring.bootstrap import SAMPLES, SEED

    parser.add_argument("results", type=Path, metavar="RESULTS", help="the folder that judge run wrote")
    parser.add_argument("--benchmark", type=Path, required=True, metavar="BENCH", help="the folder of the benchmark")
    parser.add_argument("--judge", metavar="JUDGE", help="whose ratings, where several judges rated")
    parser.add_argument("--second", metavar="JUDGE", help="the judge to compare with")
    parser.add_argument("--known", type=Path, metavar="RATINGS", help="right ratings (matchcut-ratings/1)")
    parser.add_argument("--of", metavar="NAME", help="the configuration that --known is about")
    parser.add_argument(
        "--contestant", action="append", default=[], metavar="NAME",
        help="a configuration that is the judge's own model, where its name does not tell; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--samples", type=int, default=SAMPLES, metavar="N", help=f"bootstrap draws (default: {SAMPLES})"
    )
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help=f"of the draws (default: {SEED})")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write the JSON document there")
    parser.add_argument("--items", type=Path, metavar="FILE", help="also write each item's ratings and majority (CSV)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the text")


def add_controls_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `judge controls`."""
    from ..checklist.records import SETTINGS

    parser.add_argument("benchmark", type=Path, metavar="BENCH", help="the folder of the benchmark")
    parser.add_argument("--out", type=Path, required=True, metavar="RUNS", help="the folder of the submissions")
    parser.add_argument("--foreign", type=Path, metavar="VIDEO", help="what the floor shows (default: the next video)")
    parser.add_argument(
        "--setting", action="append", choices=SETTINGS, default=[], help="only this one; may be repeated"
    )


def run_controls(args: argparse.Namespace, reporter: Reporter) -> int:
    """Write the controls and say where they are."""
    from ..checklist.benchmark import load_benchmark
    from ..checklist.records import SETTINGS
    from ..reliability.controls import make_controls

    settings = args.setting or list(SETTINGS)
    benchmark = load_benchmark(args.benchmark)
    files = make_controls(benchmark, args.out, foreign=args.foreign, settings=settings, reporter=reporter)
    if args.messages:
        reporter.result(str(args.out), {"files": [str(file) for file in files]})
    else:
        sys.stdout.write("".join(f"{file}\n" for file in files))
    return ExitStatus.DONE


def run_reliability(args: argparse.Namespace, reporter: Reporter) -> int:
    """Print what is known of the judge."""
    from ..scoring.bootstrap import check_samples

    check_samples(args.samples)
    if (args.known is None) != (args.of is None):
        raise BadInputError("--known RATINGS and --of CONFIGURATION belong together")
    found = measure(args, reporter)
    data = found.model_dump(mode="json")
    if args.out is not None:
        write_json(args.out, data)
    if args.messages:
        reporter.result(str(args.out or args.results), data)
    elif args.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("\n".join(text(found)) + "\n")
    return ExitStatus.DONE


def measure(args: argparse.Namespace, reporter: Reporter) -> Reliability:
    """Everything that the results allow."""
    from ..checklist.benchmark import load_benchmark
    from ..reliability.measure import item_rows
    from ..reliability.report import reliability
    from ..scoring.bootstrap import draw_videos
    from ..tables.make import find_own_configurations
    from ..tables.results import choose_judge, number_items, read_judge

    reporter.status("reading the benchmark and the judgments")
    checks = number_items(load_benchmark(args.benchmark))
    ratings = read_judge(args.results, checks, choose_judge(args.results, args.judge), repeats=True)
    if args.items is not None:
        write_csv(args.items, item_rows(checks, ratings))
    second = None
    if args.second is not None:
        second = read_judge(args.results, checks, choose_judge(args.results, args.second))
    return reliability(
        checks,
        ratings,
        draw_videos(len(checks.videos), samples=args.samples, seed=args.seed),
        own_configurations=find_own_configurations(ratings, args.contestant),
        second=second,
        known=args.known,
        of=args.of or "",
    )


def write_csv(path: Path, rows: Iterable[list[str]]) -> None:
    """Write rows of text, the first one the heading."""
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def text(found: Reliability) -> list[str]:
    """The answer for a person."""
    lines = [f"{found.benchmark}; judge {found.judge}"]
    if found.own_configurations:
        lines.append(f"the judge's own model is among the contestants: {', '.join(found.own_configurations)}")
    again = found.repeats
    if again is not None:
        lines += [
            "",
            f"repeats: {again.times} times, {again.items} of {again.items_expected} items rated every time",
            f"  flip rate    {_percent(again.flip_rate)}",
            *(f"    {name:<10} {_percent(figure)}" for name, figure in again.flip_rates.items()),
            f"  kappa        {_figure(again.kappa)} (Fleiss)",
            f"  alpha        {_figure(again.alpha)} (Krippendorff, ordinal)",
            f"  no majority  {again.no_majority} of {again.items} items",
            "  overall score each time, and of the majorities:",
        ]
        for name, scores in again.overall.items():
            lines.append(f"    {name}: {', '.join('-' if one is None else f'{one:.1f}' for one in scores)}")
    if found.second is not None:
        lines += ["", f"second judge: {found.second.judge}", *_accords(found.second.accords, "agree")]
    for name, ends in (("ceiling", found.ceiling), ("floor", found.floor)):
        if ends:
            lines += ["", f"{name}: overall, camera, static, dynamic; clips scored of those expected"]
        for control in ends:
            parts = [control.overall, *control.dimensions.values()]
            lines.append(f"  {control.setting:<11} " + "  ".join(_score(part) for part in parts))
    if found.known is not None:
        lines += ["", f"known ratings: {found.known.configuration}", *_accords(found.known.accords, "right")]
    return lines + ([""] if found.missing else []) + [f"missing: {one}" for one in found.missing]


def _accords(accords: Mapping[Group, Accord], word: str) -> list[str]:
    lines = []
    for name, one in accords.items():
        lines.append(
            f"  {name:<8} {one.items} of {one.items_expected} items: {word} {_percent(one.same)},"
            f" kappa {_figure(one.kappa)}, alpha {_figure(one.alpha)}"
        )
    whole = accords["all"].confusion
    lines.append("  " + "".join(f"{head:>14}" for head in ("", "unsatisfied", "partially", "fully")))
    for head, row in zip(("unsatisfied", "partially", "fully"), whole, strict=True):
        lines.append(f"  {head:>14}" + "".join(f"{count:>14}" for count in row))
    return lines


def _figure(figure: Figure, form: str = "{:.3f}") -> str:
    if figure.value is None:
        return f"- ({figure.reason})"
    if figure.low is None or figure.high is None:
        return form.format(figure.value)
    return f"{form.format(figure.value)} [{form.format(figure.low)}, {form.format(figure.high)}]"


def _percent(figure: Figure) -> str:
    return _figure(figure, "{:.1%}")


def _score(score: Score) -> str:
    value = "-" if score.value is None else f"{score.value:.1f}"
    return f"{value} {score.clips_scored}/{score.clips_expected}"
