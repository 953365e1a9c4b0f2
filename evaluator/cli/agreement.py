# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut agreement sample | rate | score`: whether people prefer what the judge prefers."""

from __future__ import annotations

import argparse
import json
import sys
import time
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.files import read_json
from ..protocol.messages import Reporter

if TYPE_CHECKING:
    from ..agreement.records import Agreement, Study, Votes, WinRate
    from ..checklist.records import Setting

LAST_WORDS = 1.0
"""Seconds in which the page can still learn that all is done."""

DESCRIPTION = """Ask people which of two reconstructions is nearer to the reference, and compare their answers with the
judge's scores (docs/scores.md). STUDY is a folder of its own.

  matchcut agreement sample STUDY --benchmark BENCH --runs RUNS --tasks 480
      draws comparisons in each of camera, static and dynamic; videos, settings, configurations and pairs come up evenly
  matchcut agreement rate STUDY --benchmark BENCH --runs RUNS --rater ann
      opens a page on this machine: no names, an order of its own, keys 1 (A), 2 (no clear difference), 3 (B); votes are
      kept one by one, and the next time it goes on where it was
  matchcut agreement score STUDY --benchmark BENCH --results RESULTS
      majority of three raters, win rates with ties as half, Spearman and Pearson over configurations

A task with an issue report or three different votes does not count, for people and judge alike."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("action", choices=("sample", "rate", "score"), help="what is done, in this order")
    parser.add_argument("study", type=Path, metavar="STUDY", help="the folder of the study")
    parser.add_argument("--benchmark", type=Path, required=True, metavar="BENCH", help="the folder of the benchmark")
    parser.add_argument("--runs", type=Path, metavar="RUNS", help="sample, rate: the folder of the submissions")
    parser.add_argument(
        "--configuration", action="append", default=[], metavar="NAME", help="sample: only this one; may be repeated"
    )
    parser.add_argument("--tasks", type=int, default=480, metavar="N", help="sample: in each dimension (default: 480)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="sample: of the drawing (default: 0)")
    parser.add_argument("--rater", metavar="NAME", help="rate: who rates")
    parser.add_argument("--no-browser", action="store_true", help="rate: only print the page's address")
    parser.add_argument("--results", type=Path, metavar="RESULTS", help="score: the folder that judge run wrote")
    parser.add_argument("--judge", metavar="JUDGE", help="score: whose ratings, where several judges rated")
    parser.add_argument(
        "--raters", type=int, default=3, metavar="N", help="score: votes that a task needs (default: 3)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the text")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Draw, rate or score."""
    return {"sample": _sample, "rate": _rate, "score": _score}[args.action](args, reporter)


def _need(args: argparse.Namespace, name: str) -> None:
    if getattr(args, name) is None:
        raise BadInputError(f"agreement {args.action}: --{name} is missing; see matchcut agreement --help")


def _sample(args: argparse.Namespace, reporter: Reporter) -> int:
    from ..agreement.page import reconstruction
    from ..agreement.records import STUDY_FILE
    from ..agreement.sample import sample_study
    from ..checklist.benchmark import load_benchmark
    from ..checklist.controls import CONTROLS
    from ..checklist.records import is_identifier

    _need(args, "runs")
    if not 1 <= args.tasks <= 30_000:
        raise BadInputError(f"--tasks {args.tasks}: give a number from 1 to 30000")
    path = args.study / STUDY_FILE
    if path.exists():
        raise BadInputError(f"{path}: is there already; votes belong to it, so take a new folder for another study")
    if not args.runs.is_dir():
        raise BadInputError(f"{args.runs}: there is no such folder; give the folder of the submissions")
    names = args.configuration or [
        folder.name
        for folder in args.runs.iterdir()
        if folder.is_dir() and folder.name not in CONTROLS and not folder.name.startswith(".")
    ]
    for name in names:
        if not is_identifier(name):
            raise BadInputError(
                f"{args.runs / name}: a configuration's name has letters, digits, '.', '_' and '-' only"
            )

    def available(configuration: str, setting: Setting, video: str) -> bool:
        return reconstruction(args.runs, configuration, setting, video).is_file()

    study = sample_study(load_benchmark(args.benchmark), names, available, tasks=args.tasks, seed=args.seed)
    study.write(path)
    data = {"tasks": len(study.tasks), "configurations": study.configurations}
    if args.messages:
        reporter.result(str(path), data)
    elif args.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(f"{path}: {len(study.tasks)} comparisons of {len(study.configurations)} configurations\n")
    return ExitStatus.DONE


def _rate(args: argparse.Namespace, reporter: Reporter) -> int:
    from ..agreement.page import RaterPage
    from ..checklist.benchmark import load_benchmark
    from ..checklist.records import is_identifier

    _need(args, "runs")
    _need(args, "rater")
    study = _read_study(args.study)
    if not is_identifier(args.rater):
        raise BadInputError(f"--rater {args.rater}: a name has letters, digits, '.', '_' and '-' only")
    votes = args.study / "votes" / f"{args.rater}.json"
    page = RaterPage(study, load_benchmark(args.benchmark), args.runs, args.rater, votes)
    try:
        reporter.status(f"rate at {page.address} (Ctrl-C ends it; votes are kept)")
        if not args.no_browser:
            webbrowser.open(page.address)
        done = -1
        while not page.finished.wait(0.2):  # in short steps, so that Ctrl-C is heard on every system
            if page.done != done:
                done = page.done
                reporter.progress("rate", done, len(study.tasks))
        time.sleep(LAST_WORDS)
    finally:
        page.close()
    if args.messages:
        reporter.result(str(votes), {"votes": len(study.tasks)})
    return ExitStatus.DONE


def _score(args: argparse.Namespace, reporter: Reporter) -> int:
    from ..agreement.aggregate import aggregate
    from ..agreement.automatic import automatic_scores
    from ..checklist.benchmark import load_benchmark
    from ..tables.results import choose_judge, number_items, read_judge

    _need(args, "results")
    if not 1 <= args.raters <= 100:
        raise BadInputError(f"--raters {args.raters}: give a number from 1 to 100")
    study = _read_study(args.study)
    checks = number_items(load_benchmark(args.benchmark))
    if study.benchmark != checks.name:
        raise BadInputError(f"{args.study}: is a study of {study.benchmark}, not of {checks.name}")
    ratings = read_judge(args.results, checks, choose_judge(args.results, args.judge))
    found = aggregate(
        study,
        _read_votes(args.study),
        automatic_scores(study, checks, ratings.runs.get(0, {})),
        judge=ratings.judge,
        raters=args.raters,
    )
    data = found.model_dump(mode="json")
    if args.messages:
        reporter.result(str(args.study), data)
    elif args.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("\n".join(text(found)) + "\n")
    return ExitStatus.DONE


def _read_study(folder: Path) -> Study:
    from ..agreement.records import STUDY_FILE, STUDY_FORMAT, Study

    path = folder / STUDY_FILE
    return Study.from_data(read_json(path, STUDY_FORMAT), str(path))


def _read_votes(folder: Path) -> list[Votes]:
    from ..agreement.records import VOTES_FORMAT, Votes

    files = sorted(file for file in (folder / "votes").glob("*.json") if not file.name.startswith("."))
    if not files:
        raise BadInputError(f"{folder}: holds no votes (votes/*.json); run matchcut agreement rate first")
    return [Votes.from_data(read_json(file, VOTES_FORMAT), str(file)) for file in files]


def text(found: Agreement) -> list[str]:
    """The answer for a person."""
    excluded = ", ".join(f"{reason} {count}" for reason, count in found.excluded.items())
    counted = ", ".join(f"{name} {count}" for name, count in found.valid.items())
    lines = [
        f"{found.benchmark}; judge {found.judge}; raters {', '.join(found.raters)}",
        f"{sum(found.valid.values())} of {found.tasks} comparisons count ({counted})",
        *([f"left out: {excluded}"] if excluded else []),
        f"raters among themselves: alpha {_number(found.raters_alpha, 3)} (Krippendorff, ordinal)",
        "",
        f"{'':<12}{'Spearman':>10}{'Pearson':>10}{'points':>8}",
    ]
    rows = [*found.correlations.items(), ("within video", found.by_video_correlation)]
    for name, one in rows:
        lines.append(f"{name:<12}{_number(one.spearman, 3):>10}{_number(one.pearson, 3):>10}{one.points:>8}")
    same = sum(video.same for video in found.videos)
    lines += [f"same preference in {same} of {sum(video.tasks for video in found.videos)} comparisons", ""]
    return lines + _win_rates({str(name): rates for name, rates in found.win_rates.items()})


def _win_rates(rates: Mapping[str, Sequence[WinRate]]) -> list[str]:
    """Human / automatic win rate of each configuration, the most preferred first."""
    width = max(len(one.configuration) for one in rates["overall"])
    of = {name: {one.configuration: one for one in found} for name, found in rates.items()}
    lines = ["win rate, human / automatic (comparisons)", f"{'':<{width}}" + "".join(f"{name:>22}" for name in rates)]
    order = sorted(rates["overall"], key=lambda one: -1.0 if one.human is None else one.human, reverse=True)
    for one in order:
        cells = [of[name][one.configuration] for name in rates]
        shown = [f"{_number(cell.human, 1)} / {_number(cell.automatic, 1)} ({cell.tasks})" for cell in cells]
        lines.append(f"{one.configuration:<{width}}" + "".join(f"{cell:>22}" for cell in shown))
    return lines


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
