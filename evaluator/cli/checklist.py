# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut checklist validate | stats`: what is wrong in a checklist's files, and how much they ask."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..checklist.load import load_clips
from ..checklist.records import DIMENSIONS, SETTINGS
from ..checklist.statistics import checklist_statistics
from ..checklist.validate import as_json, validate
from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter
from ..protocol.timeline import Timeline

DESCRIPTION = """Check the files of a checklist, or count what they ask.

PATH is a clip file, a folder of clip files, or a video folder with clips/ in it (docs/judge.md)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("action", choices=("validate", "stats"), help="validate lists every fault; stats counts")
    parser.add_argument("path", type=Path, metavar="PATH", help="a clip file or a folder of them")
    parser.add_argument(
        "--reference", type=Path, metavar="VIDEO", help="the clips' video: also check their place and length in it"
    )
    parser.add_argument("--json", action="store_true", help="write the answer as one JSON document")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Validate (exit status 2 where there is a fault) or count."""
    reference = _timeline(args.reference)
    if args.action == "validate":
        return _validate(args, reference, reporter)
    clips = load_clips(args.path, reference)
    _answer(args, reporter, checklist_statistics(clips, reference), _statistics_text)
    return ExitStatus.DONE


def _timeline(video: Path | None) -> Timeline | None:
    if video is None:
        return None
    from ..media.probe import probe

    return probe(video).timeline


def _validate(args: argparse.Namespace, reference: Timeline | None, reporter: Reporter) -> int:
    validation = validate(args.path, reference)
    lines = [str(fault) for fault in validation.faults]
    lines.append(
        f"{len(validation.files)} files, {len(validation.clips)} clips,"
        f" {sum(len(clip.checks) for clip in validation.clips)} checks: {len(validation.faults) or 'no'} faults"
    )
    _answer(args, reporter, as_json(validation), lambda _: "\n".join(lines))
    return ExitStatus.BAD_INPUT if validation.faults else ExitStatus.DONE


def _answer(
    args: argparse.Namespace, reporter: Reporter, data: dict[str, Any], as_text: Callable[[dict[str, Any]], str]
) -> None:
    if args.messages:
        reporter.result(str(args.path), data)
    elif args.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(as_text(data) + "\n")


def _statistics_text(data: dict[str, Any]) -> str:
    frames = data["frames"]
    crossings = data["clips_crossing_a_cut"]
    crossing = f"{crossings} {'crosses' if crossings == 1 else 'cross'} a cut"
    length = f"frames {frames['total']} ({frames['shortest']}–{frames['longest']} a clip)"
    if "clip_seconds" in data:
        seconds = data["clip_seconds"]
        length += f"; a clip lasts {seconds['mean']} s on average ({seconds['shortest']}–{seconds['longest']} s)"
    lines = [
        f"videos {data['videos']}, clips {data['clips']} ({crossing}), entities {data['entities']}",
        length,
        f"checks {data['records']}; a check counts in each of its settings:",
        "",
        f"{'category':<20}" + "".join(f"{setting:>12}" for setting in SETTINGS),
    ]
    for categories in DIMENSIONS.values():
        for category in categories:
            counts = data["checks"][category]
            lines.append(f"{category:<20}" + "".join(f"{counts[setting]:>12}" for setting in SETTINGS))
    lines.append(f"{'all':<20}" + "".join(f"{data['checks_per_setting'][setting]:>12}" for setting in SETTINGS))
    return "\n".join(lines)
