# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut probe FILE`: what a video really is."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter
from ..protocol.timeline import format_rate

if TYPE_CHECKING:
    from ..media.records import VideoInfo

DESCRIPTION = """Decode a video once and show what it really is: its size as shown, its exact rate, how many frames
decode, and what is odd about it."""

_RATE_SOURCES = {
    "timestamps": "from the timestamps",
    "average_rate": "the average of a varying rate",
    "container": "from the file's header",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, metavar="FILE", help="the video")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")


def run(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Run the command; the answer goes to standard output."""
    from ..media.probe import probe

    info = probe(arguments.file)
    data = info.model_dump(mode="json")
    if arguments.messages:
        for warning in info.warnings:
            reporter.warning(warning)
        reporter.result("", data)
    elif arguments.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(table(rows(info)))
    return ExitStatus.DONE


def rows(info: VideoInfo) -> list[tuple[str, str]]:
    """(label, value) pairs that describe a video to a person."""
    timeline = info.timeline
    shape = f"coded {info.coded_width}x{info.coded_height}"
    shape += f", pixel aspect {info.pixel_aspect}" if info.pixel_aspect != "1:1" else ""
    shape += f", turned by {info.rotation_deg}° clockwise" if info.rotation_deg else ""
    shape += ", mirrored" if info.mirrored else ""
    claim = "the header names no count" if info.header_frames is None else f"the header says {info.header_frames}"
    steady = "constant" if info.constant_rate else "not constant"
    rate = f"{format_rate(timeline.rate)} fps ({float(timeline.rate):.6g})"
    return [
        ("file", info.path),
        ("size", f"{timeline.width}x{timeline.height} as shown ({shape})"),
        ("rate", f"{rate}, {steady}, {_RATE_SOURCES[info.rate_source]}"),
        ("frames", f"{timeline.frames} decoded ({claim})"),
        ("duration", f"{float(timeline.duration):.6f} s"),
        ("start", f"{info.start_seconds:.6f} s"),
        ("codec", f"{info.codec}, {info.pixel_format}, {info.bit_depth} bit"),
        ("sha256", info.sha256),
        *(("warning", warning) for warning in info.warnings),
    ]


def table(pairs: list[tuple[str, str]]) -> str:
    """Lines with the labels in one column and the values in another."""
    width = max(len(label) for label, _ in pairs)
    return "".join(f"{label:<{width}}  {value}\n" for label, value in pairs)
