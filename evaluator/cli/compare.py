# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut compare`: reference and reconstruction beside each other, as a video and as a sheet of pictures."""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path

from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter
from ..protocol.timeline import Timeline

DESCRIPTION = """Put a reference and a reconstruction beside each other, the reference at the left, and write into DIR
  comparison.mp4      both in step, on the reference's timeline, each frame with its number and time
  contact_sheet.png   pairs of pictures: the first, the last, those around the reference's cuts, others evenly spread
  pairs/000040.png …  with --pairs: the reference above the reconstruction, as a judge is shown them

Each video keeps its proportions and may have a size, rate and length of its own: at every time the nearest frame is
shown, and a striped panel where one of them has ended.

example:
  matchcut compare --reference shot.mp4 --reconstruction mine.mp4 --out compared --pairs 0,38-42"""

NAMES = ("comparison.mp4", "contact_sheet.png")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--reference", type=Path, required=True, metavar="FILE", help="the given video")
    parser.add_argument("--reconstruction", type=Path, required=True, metavar="FILE", help="the rendered video")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder to write into")
    parser.add_argument("--pairs", metavar="A,B-C", help="frames of the reference, from 0, to write as pair images")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")


def parse_pairs(text: str | None) -> list[int]:
    """Read `0,38-42` as frames, both ends included; none for None. Raises BadInputError."""
    frames: list[int] = []
    for part in text.split(",") if text is not None else []:
        found = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part)
        if found is None or int(found[2] or found[1]) < int(found[1]):
            raise BadInputError(f"--pairs {text}: write frames as 0,38-42")
        frames += range(int(found[1]), int(found[2] or found[1]) + 1)
    return frames


def run(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Run the command; the answer goes to standard output."""
    from ..media.compare import contact_sheet, side_by_side, write_pairs
    from ..media.probe import probe
    from ..shots.detect import detect_shots
    from .probe import table

    chosen = parse_pairs(arguments.pairs)
    video, sheet = (arguments.out / name for name in NAMES)
    for given in (arguments.reference, arguments.reconstruction):
        for target in (video, sheet):
            if target.exists() and given.exists() and target.samefile(given):
                raise BadInputError(f"{target}: this would be written over; give another --out")
    reporter.status("reading both videos")
    shots = detect_shots(arguments.reference, reporter=reporter)
    reference, reconstruction = probe(arguments.reference), probe(arguments.reconstruction)
    for role, info in (("reference", reference), ("reconstruction", reconstruction)):
        for warning in info.warnings:
            reporter.warning(f"{role}: {warning}")
    pairs = write_pairs(reference, reconstruction, arguments.out / "pairs", chosen, reporter=reporter)
    moments = contact_sheet(reference, reconstruction, sheet, cuts=shots.cuts, reporter=reporter)
    written = side_by_side(reference, reconstruction, video, reporter=reporter)
    data = {
        "video": written.model_dump(mode="json"),
        "contact_sheet": str(sheet),
        "cuts": shots.cuts,
        "moments": [asdict(moment) for moment in moments],
        "pairs": [str(path) for path in pairs],
    }
    if arguments.messages:
        reporter.result(str(video), data)
    elif arguments.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        lines = [
            ("video", f"{video}: {written.timeline}"),
            ("sheet", f"{sheet}: {len(moments)} moments, frames {', '.join(str(m.reference_frame) for m in moments)}"),
        ]
        if pairs:
            lines.append(("pairs", f"{arguments.out / 'pairs'}: {len(pairs)} pictures"))
        sys.stdout.write(table([*lines, *_lengths(reference.timeline, reconstruction.timeline)]))
    return ExitStatus.DONE


def _lengths(reference: Timeline, reconstruction: Timeline) -> list[tuple[str, str]]:
    """What a viewer should know of two videos that do not lie on one timeline."""
    if (reference.rate, reference.frames) == (reconstruction.rate, reconstruction.frames):
        return []
    return [("reference", str(reference)), ("reconstruction", str(reconstruction))]
