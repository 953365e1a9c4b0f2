# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut sgc`: the 3D geometric consistency of a rendered scene."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter
from ..report.text import COMPONENT_LABELS, COMPONENT_UNITS, significant
from ..sgc.aggregate import normalised
from ..sgc.measure import measure_render
from ..sgc.records import COMPONENTS, Component, SgcResult

DESCRIPTION = """Measure SGC, the 3D geometric consistency, of a scene that was rendered with its passes.

0 is best. A score is comparable only with scores of the same estimator; docs/sgc.md says what it means."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("job", type=Path, metavar="JOB_FOLDER", help="a finished render job with a folder geometry")
    parser.add_argument(
        "--cuts", default="", metavar="FRAME,…", help="first frames of new shots, such as 36,80: no pair crosses a cut"
    )
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="also write the result, pair by pair, to a file")
    parser.add_argument("--json", action="store_true", help="print the whole result as JSON")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Measure, write and print."""
    if not (args.job / "job.json").is_file():
        raise BadInputError(
            f"{args.job}: no render job, as it holds no job.json; give what matchcut render --passes made"
        )
    result = measure_render(args.job, cuts=_cuts(args.cuts), reporter=reporter)
    if args.out is not None:
        result.write(args.out)
    if args.messages:
        summary = {"score": result.score, "scored": result.pairs_scored, "expected": result.pairs_expected}
        reporter.result(str(args.out or ""), {**summary, "reason": result.reason})
    elif args.json:
        sys.stdout.write(json.dumps(result.model_dump(mode="json"), indent=2, allow_nan=False) + "\n")
    else:
        sys.stdout.write(describe(result) + "\n")
    return ExitStatus.DONE


def describe(result: SgcResult) -> str:
    """The result as text: score, coverage, estimator, and each component with its unit and its share of pairs."""
    score = "unscored" if result.score is None else significant(result.score)
    lines = [
        f"SGC ({result.mode} mode, lower is better): {score}",
        f"pairs scored: {result.pairs_scored} of {result.pairs_expected}",
        f"estimator: {result.estimator}; depth unit: {result.parameters['depth_unit']}",
    ]
    if result.reason:
        lines.append(f"reason: {result.reason}")
    if result.score is not None:
        lines += ["", f"{'component':<28} {'value':>10} {'unit':<12} {'normalised':>10} {'pairs':>6}"]
        lines += [_component_line(result, name) for name in COMPONENTS]
    lines += [f"note: {note}" for note in result.notes]
    return "\n".join(lines)


def _component_line(result: SgcResult, name: Component) -> str:
    value = result.components[name]
    figures = ("—", "—") if value is None else (significant(value), significant(normalised(name, value)))
    pairs = result.component_pairs[name]
    return f"{COMPONENT_LABELS[name]:<28} {figures[0]:>10} {COMPONENT_UNITS[name]:<12} {figures[1]:>10} {pairs:>6}"


def _cuts(text: str) -> list[int]:
    try:
        return sorted({int(part) for part in text.split(",") if part.strip()})
    except ValueError:
        raise BadInputError(f"--cuts {text}: not frame numbers with commas between them, such as 36,80") from None
