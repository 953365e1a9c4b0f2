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
    from ..media.records import Fault, TimelineCheck, VideoInfo
    from ..shots.records import CutMatch, FadeMatch, ShotCheck

DESCRIPTION = """Compare a reconstruction with its reference: size, rate, frame count and duration, a shift in time
found from the pictures with its sign, every cut and fade, and the stretches that are not in their place:

  frozen     one picture is held while the reference moves on
  black      black where the reference is not
  dropped    frames of the reference are left out
  repeated   frames are shown again, and what follows is later for it
  reversed   plays backwards
  speed      plays slower or faster
  inserted   shows nothing of the reference, and what follows is later for it

Frames count from 0 and both ends are included. Nothing is corrected. Where the pictures do not tell, as in a still or
in a motion that repeats itself, the table says so and nothing is guessed.

  matchcut check --reference given.mp4 --reconstruction mine.mp4
  matchcut check --reference given.mp4 --reconstruction mine.mp4 --json > check.json

The exit status is 0 when the check ran, whatever it found; the verdict is the last line of the table, and `passed`
in the JSON document."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    from ..shots.records import DETECTORS

    parser.add_argument("--reference", type=Path, required=True, metavar="FILE", help="the given video")
    parser.add_argument("--reconstruction", type=Path, required=True, metavar="FILE", help="the rendered video")
    parser.add_argument(
        "--detector", choices=DETECTORS, default=DETECTORS[0], help="who finds the cuts (default: adaptive)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")


def run(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Run the command; the answer goes to standard output."""
    from ..media.check import check_timeline
    from ..media.probe import probe
    from ..shots.compare import compare_shots, on_reference
    from ..shots.detect import detect_shots

    reporter.status("reading both videos")
    # the shots first: one pass over each video serves them and what is asked afterwards
    given = detect_shots(arguments.reference, detector=arguments.detector, reporter=reporter, stage="cuts, reference")
    rebuilt = detect_shots(
        arguments.reconstruction, detector=arguments.detector, reporter=reporter, stage="cuts, reconstruction"
    )
    reference, reconstruction = probe(arguments.reference), probe(arguments.reconstruction)
    for role, info in (("reference", reference), ("reconstruction", reconstruction)):
        for warning in info.warnings:
            reporter.warning(f"{role}: {warning}")
    timeline = check_timeline(reference, reconstruction, reporter=reporter)
    shots = compare_shots(given, on_reference(rebuilt, reconstruction.timeline, reference.timeline))
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
    """Whether nothing was found: all four comparisons agree, no shift, no fault, every cut and fade in its place."""
    return timeline.passed and shots.passed


def text(reference: VideoInfo, timeline: TimelineCheck, shots: ShotCheck) -> str:
    """The table for a person."""
    lines = [("", "reference", "reconstruction", "")]
    lines += [
        (item.name, item.reference, item.reconstruction, "agrees" if item.agrees else "DIFFERS")
        for item in timeline.comparisons
    ]
    lines.append(("offset", "", *_offset(timeline, reference)))
    lines += [_fault(fault) for fault in timeline.faults]
    lines += [_cut(match) for match in shots.matches]
    lines += [_fade(match) for match in shots.fade_matches]
    if not shots.matches and not shots.fade_matches:
        lines.append(("cuts", "none", "none", "agrees"))
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    table = "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
    verdict = "the timelines agree" if passed(timeline, shots) else "the timelines DO NOT agree"
    told = "".join(f"  {fault.detail}\n" for fault in timeline.faults)
    return f"{table}\n{told}{verdict}\n"


def _offset(timeline: TimelineCheck, reference: VideoInfo) -> tuple[str, str]:
    offset = timeline.offset_frames
    if offset is None:
        return "unknown", f"not decided by the content: {timeline.offset_reason}"
    if offset == 0:
        return "0 frames", "agrees"
    seconds = abs(offset) / float(reference.timeline.rate)
    return f"{offset:+d} frames", f"{'LATE' if offset > 0 else 'EARLY'} by {seconds:.3f} s"


def _fault(fault: Fault) -> tuple[str, str, str, str]:
    given = _stretch(fault.reference_first, fault.reference_last)
    verdict = fault.kind.upper() if fault.speed is None else f"{fault.speed:.3g} TIMES AS FAST"
    return fault.kind, given, _stretch(fault.first, fault.last), verdict


def _stretch(first: int | None, last: int | None) -> str:
    return _frame(first) if first == last else f"frames {first} to {last}"


def _cut(match: CutMatch) -> tuple[str, str, str, str]:
    error = match.error_frames
    verdict = (
        "agrees" if error == 0 else match.verdict.upper() if error is None else f"{match.verdict.upper()} {error:+d}"
    )
    return ("cut", _frame(match.reference), _frame(match.reconstruction), verdict)


def _fade(match: FadeMatch) -> tuple[str, str, str, str]:
    from ..report.text import fade_errors, fade_text, frames_text

    fade = match.reference or match.reconstruction
    assert fade is not None
    verdict = "agrees" if match.verdict == "found" else f"{match.verdict.upper()} {fade_errors(match)}".rstrip()
    return fade_text(fade), frames_text(match.reference), frames_text(match.reconstruction), verdict


def _frame(index: int | None) -> str:
    return "none" if index is None else f"frame {index}"
