# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut check`: whether a reconstruction lies on its reference's timeline, and its cuts where they belong."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter

if TYPE_CHECKING:
    from ..media.records import TimelineCheck, VideoInfo
    from ..shots.records import CutMatch, ShotCheck

DESCRIPTION = """Compare a reconstruction with its reference: size, rate, frame count and duration, a shift in time
found from the pictures, frozen and black stretches, and every cut. Nothing is corrected.

The exit status is 0 when the check ran, whatever it found; the verdict is the last line of the table, and `passed`
in the JSON document."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--reference", type=Path, required=True, metavar="FILE", help="the given video")
    parser.add_argument("--reconstruction", type=Path, required=True, metavar="FILE", help="the rendered video")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")


def run(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Run the command; the answer goes to standard output."""
    from ..media.check import check_timeline
    from ..media.probe import probe
    from ..shots.compare import compare_cuts, on_reference
    from ..shots.detect import detect_cuts

    reporter.status("reading both videos")
    reference, reconstruction = probe(arguments.reference), probe(arguments.reconstruction)
    for role, info in (("reference", reference), ("reconstruction", reconstruction)):
        for warning in info.warnings:
            reporter.warning(f"{role}: {warning}")
    timeline = check_timeline(reference, reconstruction, reporter=reporter)
    given = detect_cuts(arguments.reference, reporter=reporter, stage="cuts, reference")
    rebuilt = detect_cuts(arguments.reconstruction, reporter=reporter, stage="cuts, reconstruction")
    shots = compare_cuts(given, on_reference(rebuilt, reconstruction.timeline, reference.timeline))
    data = {
        "passed": passed(timeline, shots),
        "reference": reference.model_dump(mode="json"),
        "reconstruction": reconstruction.model_dump(mode="json"),
        "timeline": timeline.model_dump(mode="json"),
        "shots": shots.model_dump(mode="json"),
    }
    if arguments.messages:
        reporter.result("", data)
    elif arguments.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(text(reference, timeline, shots))
    return ExitStatus.DONE


def passed(timeline: TimelineCheck, shots: ShotCheck) -> bool:
    """Whether no fault was found: all four comparisons agree, no shift, nothing frozen or black, every cut found."""
    unshifted = timeline.offset_frames in (None, 0)
    return timeline.passed and shots.passed and unshifted and not timeline.frozen and not timeline.black


def text(reference: VideoInfo, timeline: TimelineCheck, shots: ShotCheck) -> str:
    """The table for a person."""
    lines = [("", "reference", "reconstruction", "")]
    lines += [
        (item.name, item.reference, item.reconstruction, "agrees" if item.agrees else "DIFFERS")
        for item in timeline.comparisons
    ]
    lines.append(("offset", "", *_offset(timeline.offset_frames, reference)))
    lines += [("frozen", "", f"frames {first} to {last}", "FROZEN") for first, last in timeline.frozen]
    lines += [("black", "", f"frames {first} to {last}", "BLACK") for first, last in timeline.black]
    lines += [_cut(match) for match in shots.matches]
    if not shots.matches:
        lines.append(("cuts", "none", "none", "agrees"))
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    table = "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
    verdict = "the timelines agree" if passed(timeline, shots) else "the timelines DO NOT agree"
    return f"{table}\n{verdict}\n"


def _offset(offset: int | None, reference: VideoInfo) -> tuple[str, str]:
    if offset is None:
        return "unknown", "not decided by the content"
    if offset == 0:
        return "0 frames", "agrees"
    seconds = abs(offset) / float(reference.timeline.rate)
    return f"{offset:+d} frames", f"{'LATE' if offset > 0 else 'EARLY'} by {seconds:.3f} s"


def _cut(match: CutMatch) -> tuple[str, str, str, str]:
    error = match.error_frames
    verdict = (
        "agrees" if error == 0 else match.verdict.upper() if error is None else f"{match.verdict.upper()} {error:+d}"
    )
    return ("cut", _frame(match.reference), _frame(match.reconstruction), verdict)


def _frame(index: int | None) -> str:
    return "none" if index is None else f"frame {index}"
