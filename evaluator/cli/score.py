# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut score`: one reconstruction against its reference, through every stage, into a report."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..checklist.records import DIMENSIONS, SETTINGS
from ..environment.blender import find_blender
from ..pipeline.plan import ScorePlan
from ..pipeline.request import SGC_ESTIMATORS, SGC_MODES
from ..pipeline.score import ScoreRequest, plan_score, score
from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter
from ..report.brief import brief
from ..report.consistency import component_rows, floor_text, pairs_text, reference_text, sgc_of
from ..report.text import (
    coverage,
    cuts_text,
    fade_errors,
    fade_text,
    frames_text,
    offset_text,
    significant,
    words,
)
from ..results import Results, Unscored
from ..scoring.records import ChecklistScore
from ..shots.records import DETECTORS
from .render import DEVICES

DESCRIPTION = """Score a reconstruction against its reference: timeline, cuts, 3D geometric consistency, checklist.

Give --reconstruction, --scene, or both. A scene alone is rendered on the reference's timeline; beside a video it is
rendered for its depth and motion only, from which SGC is then exact; without a scene its geometry is estimated from
the pictures. What cannot be scored is reported with the reason. The same command again goes on where a run ended early.

examples:
  matchcut score --reference shot.mp4 --scene shot.blend --out scored
  matchcut score --reference shot.mp4 --scene shot.blend --out scored --checklist clips --judge openai:MODEL --plan
  matchcut score --reference shot.mp4 --scene shot.blend --out score-2 --renders .     takes a render of the same scene
  matchcut score --reference shot.mp4 --reconstruction mine.mp4 --checklist clips --judge openai:MODEL --out scored

--plan says what would be done and what would be sent to the judge at what cost, and does nothing of it. --renders takes
a finished render from a folder below, if the scene and the files that it reads are what they were as it was rendered:
earlier scores, and renders that were made with --reusable."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--reference", type=Path, required=True, metavar="VIDEO", help="the given video")
    parser.add_argument("--reconstruction", type=Path, metavar="VIDEO", help="the video rendered from the scene")
    parser.add_argument(
        "--scene", type=Path, metavar="SCENE", help="the .blend file, or the folder of a finished render with passes"
    )
    parser.add_argument("--checklist", type=Path, metavar="CLIPS", help="a clip file or a folder of clip files")
    parser.add_argument("--setting", choices=SETTINGS, default="proxy", help="how true it has to be (default: proxy)")
    parser.add_argument(
        "--judge", metavar="SPEC", help="openai:MODEL, anthropic:MODEL, gemini:MODEL, local:URL#MODEL or human"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR",
        help="folder for results.json, report.html and its videos; files of these names are replaced",
    )  # fmt: skip
    parser.add_argument("--samples", type=int, metavar="N", help="render samples (default: as the scene says)")
    parser.add_argument("--engine", metavar="E", help="cycles, eevee or workbench (default: as the scene says)")
    parser.add_argument("--device", choices=DEVICES, default="auto", help="what Cycles computes on (default: auto)")
    parser.add_argument("--view-transform", metavar="V", help="as AgX or Standard (default: the scene's)")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="Blenders at a time (default: 1)")
    parser.add_argument("--renders", type=Path, metavar="DIR", help="look here for a render of the same scene first")
    parser.add_argument(
        "--judged", type=Path, metavar="DIR",
        help="folder for what the judge says, which several scores can share (default: --out)",
    )  # fmt: skip
    parser.add_argument("--budget-usd", type=float, metavar="X", help="dollars that the judge may cost in this run")
    parser.add_argument("--plan", action="store_true", help="only say what would be done, sent and paid")
    parser.add_argument(
        "--detector", choices=DETECTORS, default=DETECTORS[0], help="who finds the cuts (default: adaptive)"
    )
    parser.add_argument(
        "--sgc-mode",
        choices=SGC_MODES,
        default=SGC_MODES[0],
        help="geometric consistency: sound, as published, or not measured (default: robust)",
    )
    parser.add_argument(
        "--estimator", choices=SGC_ESTIMATORS,
        help="its geometry: the scene's passes or the reconstruction's pictures (default: the scene's, if given)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print results.json instead of the summary")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Score, then print the summary and the report's path."""
    request = ScoreRequest(
        reference=args.reference,
        out=args.out,
        reconstruction=args.reconstruction,
        scene=args.scene,
        checklist=args.checklist,
        setting=args.setting,
        judge=args.judge,
        samples=args.samples,
        engine=args.engine,
        device=args.device,
        view_transform=args.view_transform,
        workers=args.workers,
        renders=args.renders,
        judged=args.judged,
        budget_usd=args.budget_usd,
        detector=args.detector,
        sgc_mode=args.sgc_mode,
        estimator=args.estimator,
    )
    if args.plan:
        _tell_plan(
            plan_score(request, reporter=reporter, blender=lambda: find_blender(reporter.status)), args, reporter
        )
        return ExitStatus.DONE
    results = score(request, reporter=reporter, blender=lambda: find_blender(reporter.status))
    if args.messages:
        told = {"report": str(args.out / "report.html"), "brief": brief(results)}
        reporter.result(str(args.out / "results.json"), summary(results) | told)
    elif args.json:
        sys.stdout.write(json.dumps(results.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("\n".join([*summary_lines(results), "", f"report  {args.out / 'report.html'}"]) + "\n")
    return ExitStatus.DONE


def _tell_plan(plan: ScorePlan, args: argparse.Namespace, reporter: Reporter) -> None:
    if args.messages:
        reporter.result("", plan.to_json())
    elif args.json:
        sys.stdout.write(json.dumps(plan.to_json(), indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("\n".join(plan_lines(plan)) + "\n")


def plan_lines(plan: ScorePlan) -> list[str]:
    """The plan as aligned lines for a terminal."""
    lines = _columns([(one.name, one.state, one.text) for one in plan.stages], indent="")
    judge = plan.judge
    if judge is not None and judge.requests:
        cost = "its price is not known" if judge.usd is None else f"at most ${judge.usd:.2f}"
        where = "" if judge.remote else ", on this machine"
        lines.append(f"sends {judge.requests} requests to {judge.provider}:{judge.model}{where}, {cost}")
    return lines


def summary(results: Results) -> dict[str, Any]:
    """The main values for a parent process; None where something is unscored."""
    sgc = sgc_of(results)
    checklist = results.checklist if isinstance(results.checklist, ChecklistScore) else None
    return {
        "setting": results.setting,
        "timeline": results.timeline.passed,
        "cuts": results.shots.passed,
        "sgc": sgc.score if sgc is not None else None,
        "overall": checklist.overall.value if checklist is not None else None,
    }


def summary_lines(results: Results) -> list[str]:
    """The results as aligned lines for a terminal; every score stands beside its coverage, or the reason for none."""
    blocks = [_videos(results), _timeline(results), _cuts(results), _sgc(results), _checklist(results)]
    lines: list[str] = []
    for block in blocks:
        lines += [*block, ""]
    return lines[:-1]


def _columns(rows: Sequence[tuple[str, ...]], indent: str = "  ") -> list[str]:
    """Rows with every column but the last padded to its widest cell."""
    count = max((len(row) for row in rows), default=0)
    widths = [max((len(row[i]) for row in rows if i < len(row) - 1), default=0) for i in range(count)]
    return [
        (indent + "  ".join(cell.ljust(widths[i]) for i, cell in enumerate(row[:-1])) + "  " + row[-1]).rstrip()
        for row in rows
    ]


def _videos(results: Results) -> list[str]:
    pairs = (("reference", results.reference), ("reconstruction", results.reconstruction))
    rows = [(role, info.path, str(info.timeline)) for role, info in pairs]
    warnings = [f"warning: {info.path}: {text}" for _, info in pairs for text in info.warnings]
    return _columns(rows, indent="") + warnings


def _timeline(results: Results) -> list[str]:
    check = results.timeline
    rows: list[tuple[str, ...]] = [
        (item.name, "agrees" if item.agrees else "DIFFERS", item.reference, item.reconstruction)
        for item in check.comparisons
    ]
    lines = [f"timeline  {'agrees' if check.passed else 'DIFFERS'}", *_columns(rows)]
    extra = [("offset", offset_text(check))]
    extra += [(fault.kind, fault.detail) for fault in check.faults]
    width = max(len(row[0]) for row in rows + extra) if rows else 10
    return lines + [f"  {name.ljust(width)}  {text}" for name, text in extra]


def _cuts(results: Results) -> list[str]:
    shots = results.shots
    rows: list[tuple[str, ...]] = []
    for match in shots.matches:
        if match.verdict != "found":
            at = [str(frame) if frame is not None else "-" for frame in (match.reference, match.reconstruction)]
            error = f"{match.error_frames:+d} frames" if match.error_frames is not None else ""
            rows.append((match.verdict, f"{at[0]} -> {at[1]}", error))
    for fade in shots.fade_matches:
        if fade.verdict != "found":
            shown = fade.reference or fade.reconstruction
            assert shown is not None
            places = f"{frames_text(fade.reference)} -> {frames_text(fade.reconstruction)}"
            rows.append((fade.verdict, f"{fade_text(shown)}, {places}", fade_errors(fade)))
    return [f"cuts      {'agree' if shots.passed else 'DIFFER'}: {cuts_text(shots)}", *_columns(rows)]


def _sgc(results: Results) -> list[str]:
    sgc = sgc_of(results)
    if sgc is None:
        return [f"SGC       unscored: {results.sgc.reason}"]
    if sgc.score is None:
        return [f"SGC       unscored: {sgc.reason} ({pairs_text(sgc)})"]
    rows: list[tuple[str, ...]] = [
        (row.label.lower(), row.value or "unscored", f"{row.unit}, 90th percentile {row.p90}" if row.p90 else row.unit)
        for row in component_rows(sgc)
    ]
    beside = [text for text in (floor_text(sgc), reference_text(results)) if text]
    return [
        f"SGC       {significant(sgc.score)} (lower is better; {pairs_text(sgc)})",
        *(f"  {text}" for text in beside),
        *_columns(rows),
    ]


def _checklist(results: Results) -> list[str]:
    checklist = results.checklist
    if isinstance(checklist, Unscored):
        return [f"checklist unscored: {checklist.reason}"]
    if checklist.state == "not_judged":
        return [f"checklist {checklist.reason}"]
    named = [("overall", checklist.overall)]
    for dimension, categories in DIMENSIONS.items():
        named.append((dimension, checklist.dimensions[dimension]))
        named += [
            (f"  {words(category)}", checklist.categories[category])
            for category in categories
            if checklist.categories[category].checks_expected
        ]
    rows: list[tuple[str, ...]] = [
        (name, "-" if value.value is None else f"{value.value:5.1f}", coverage(value), value.reason)
        for name, value in named
    ]
    note = f": {checklist.reason}" if checklist.reason else ""
    return [f"checklist {words(checklist.state)}, setting {checklist.setting}{note}", *_columns(rows)]
