# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut conform FILE`: a reference at a constant rate, upright, with every decision listed."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter
from ..protocol.timeline import format_rate
from .probe import table

if TYPE_CHECKING:
    from ..media.conform import Conformed

DESCRIPTION = """Rewrite a reference whose frame rate varies, or that is turned, mirrored, of odd size or of pixels
that are not square: at a constant rate, upright, with square pixels and an even size. Frame k of the output is the
decoded frame nearest to the time k/rate after the first one (of two, the earlier); the output lasts as long as the
video stream.
OUT.json beside it lists every decision: the source frame and the time error of each frame, what was repeated, what
was dropped, the rate and the size and why. It is H.264 at a constant quantiser of 8, close to what 8-bit 4:2:0 holds.

Without --rate a constant rate is kept; for a varying one the usual rate (24000/1001, 24, 25, 30000/1001, 30 …) nearest
to that at which it mostly runs is taken. Without --size an odd last column or row is cut off.

examples:
  matchcut conform phone.mov --out reference.mp4
  matchcut conform phone.mov --rate 30000/1001 --size 1920x1080 --out reference.mp4"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, metavar="FILE", help="the reference as it was recorded")
    parser.add_argument("--out", type=Path, required=True, metavar="OUT.mp4", help="the video to write")
    parser.add_argument("--rate", metavar="RATE", help="frames per second, such as 24000/1001 or 25")
    parser.add_argument("--size", metavar="WxH", help="width and height to scale to, both even, such as 1920x1080")
    parser.add_argument("--json", action="store_true", help="print the record as one JSON document")


def run(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Run the command; the answer goes to standard output."""
    from ..media.conform import conform
    from .encode import asked_rate

    rate = None if arguments.rate is None else asked_rate(arguments.rate, reporter)
    size = None if arguments.size is None else parse_size(arguments.size)
    record = conform(arguments.file, rate, arguments.out, size=size, reporter=reporter)
    for warning in record.warnings:
        reporter.warning(warning)
    if arguments.messages:
        reporter.result(str(arguments.out), summary(record))
    elif arguments.json:
        sys.stdout.write(json.dumps(record.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(table(rows(record, arguments.out)))
    return ExitStatus.DONE


def parse_size(text: str) -> tuple[int, int]:
    """Read `1920x1080` as (width, height). Raises BadInputError."""
    width, _, height = text.lower().partition("x")
    if not (width.isascii() and width.isdigit() and height.isascii() and height.isdigit()):
        raise BadInputError(f"--size {text}: not a size; write it as 1920x1080")
    return int(width), int(height)


def summary(record: Conformed) -> dict[str, object]:
    """The record without its lists of every frame."""
    data = record.model_dump(mode="json", exclude={"source_frames", "time_errors_seconds"})
    return {**data, "frames": len(record.source_frames), "largest_error_seconds": record.largest_error_seconds}


def rows(record: Conformed, out: Path) -> list[tuple[str, str]]:
    """(label, value) pairs that tell a person what was decided."""
    own = f"{format_rate(record.source_rate)}, {'constant' if record.source_constant_rate else 'not constant'}"
    turned = f"turned by {record.rotation_deg}° clockwise" if record.rotation_deg else "not turned"
    frames = len(record.source_frames)
    shape = f"{turned}{', mirrored' if record.mirrored else ''}, pixels of {record.pixel_aspect} made square"
    return [
        ("wrote", f"{out} and {out.with_suffix('.json').name}"),
        ("rate", f"{format_rate(record.rate)} fps: {record.rate_reason} (source: {own})"),
        ("frames", f"{frames} of {len(set(record.source_frames)) + len(record.dropped)} in the source"),
        ("repeated", _listed(record.repeated, "frames of the output")),
        ("dropped", _listed(record.dropped, "frames of the source")),
        ("time error", f"at most {record.largest_error_seconds * 1000:.1f} ms"),
        ("duration", f"{float(frames / record.rate):.6f} s (source: {record.duration_seconds:.6f} s)"),
        ("size", f"{record.size[0]}x{record.size[1]}: {record.size_reason}"),
        ("shape", shape if record.pixel_aspect != "1:1" else shape.rpartition(", pixels")[0]),
        ("colours", record.colours),
        ("encoder", record.encoder),
    ]


def _listed(frames: list[int], what: str) -> str:
    if not frames:
        return "none"
    shown = ", ".join(map(str, frames[:12]))
    return f"{len(frames)} {what}: {shown}{' …' if len(frames) > 12 else ''}"
