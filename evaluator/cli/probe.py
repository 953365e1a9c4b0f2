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
    from ..media.records import Edit, Hole, VideoInfo
    from ..shots.records import Shots

DESCRIPTION = """Decode a video once and show what it really is: its size as shown (rotation, mirror and pixel aspect
applied), its exact rate out of the timestamps, how many frames decode, holes, colours, what else is in the file, and
what is odd about it. What the header claims stands beside it.

examples:
  matchcut probe shot.mp4
  matchcut probe shot.mp4 --json
  matchcut probe shot.mp4 --shots --picture first.png
  matchcut probe -- -odd-name.mp4"""

MOST_ROWS = 8
"""Of one kind, in the table; the JSON document holds all."""
PICTURE_SIZE = 256
"""Longer side of the picture of the first frame, in pixels."""

_RATE_SOURCES = {
    "timestamps": "from the timestamps",
    "average_rate": "the average of a varying rate",
    "container": "from the file's header",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, metavar="FILE", help="the video")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    parser.add_argument("--shots", action="store_true", help="find cuts and fades too (docs/shots.md)")
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="FILE.png",
        help=f"write the first frame, {PICTURE_SIZE} pixels on its longer side",
    )


def run(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Run the command; the answer goes to standard output."""
    from ..media.probe import probe

    if arguments.picture is not None:
        size = write_picture(arguments.file, arguments.picture)
        if arguments.messages:  # before the long pass: it is there at once
            reporter.result(str(arguments.picture), {"size": list(size)})
    shots = _shots(arguments.file, reporter) if arguments.shots else None  # the pass that finds them is probe's too
    info = probe(arguments.file)
    data = info.model_dump(mode="json")
    if shots is not None:
        data["shots"] = {**shots.model_dump(mode="json"), "intervals": _intervals(shots, info.timeline.frames)}
    if arguments.messages:
        for warning in info.warnings:
            reporter.warning(warning)
        reporter.result("", {**data, "conform": to_conform(info)})
    elif arguments.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        found = [] if shots is None else [("cuts", ", ".join(map(str, shots.cuts)) or "none")]
        sys.stdout.write(table([*rows(info), *found]))
    return ExitStatus.DONE


def to_conform(info: VideoInfo) -> list[str]:
    """What `matchcut conform` would mend about a video, one line each; empty where it may be rebuilt as it is.

    The lines about its timestamps are those of its warnings.
    """
    from ..media.probe import timing_warnings

    found = [] if info.constant_rate else timing_warnings(info)
    if info.hidden_frames:
        found.append(f"an edit list hides {info.hidden_frames} of the file's frames; some programs show them")
    if info.rotation_deg or info.mirrored:
        turned = f"turned by {(360 - info.rotation_deg) % 360}°" if info.rotation_deg else ""
        how = " and ".join(word for word in (turned, "mirrored" if info.mirrored else "") if word)
        found.append(f"the picture is stored {how}")
    if info.pixel_aspect != "1:1":
        found.append(f"its pixels are not square ({info.pixel_aspect})")
    width, height = info.timeline.width, info.timeline.height
    if width % 2 or height % 2:
        found.append(f"{width}×{height} is no even size, which a rendered video has to have")
    return found


def write_picture(path: Path, out: Path) -> tuple[int, int]:
    """Write the first frame, scaled down, to `out` (PNG or JPEG); the video's own (width, height) as shown.

    Raises BadInputError where no frame decodes, or `out` is no picture's name.
    """
    import cv2

    from ..media.decode import stream
    from ..media.resize import resized
    from ..protocol.errors import BadInputError
    from ..protocol.files import write_bytes

    if out.suffix.lower() not in (".png", ".jpg", ".jpeg"):
        raise BadInputError(f"{out}: a picture is a PNG or a JPEG file; give a name that ends in .png")
    image = next(stream(path)).image
    height, width = image.shape[:2]
    scale = min(1.0, PICTURE_SIZE / max(width, height))
    small = resized(image, (max(1, round(width * scale)), max(1, round(height * scale))))
    write_bytes(out, cv2.imencode(out.suffix, cv2.cvtColor(small, cv2.COLOR_RGB2BGR))[1].tobytes())
    return width, height


def _shots(path: Path, reporter: Reporter) -> Shots:
    from ..shots.detect import detect_shots

    return detect_shots(path, reporter=reporter)


def _intervals(shots: Shots, frames: int) -> list[list[int]]:
    from ..shots.compare import shot_intervals

    return [list(shot) for shot in shot_intervals(shots.boundaries, frames)]


def rows(info: VideoInfo) -> list[tuple[str, str]]:
    """(label, value) pairs that describe a video to a person; a label that is empty goes on with the one above."""
    timeline = info.timeline
    shape = f"coded {info.coded_width}x{info.coded_height}"
    shape += f", pixel aspect {info.pixel_aspect}" if info.pixel_aspect != "1:1" else ""
    shape += ", mirrored" if info.mirrored else ""
    shape += f", turned by {info.rotation_deg}° clockwise" if info.rotation_deg else ""
    claim = "the header names no count" if info.header_frames is None else f"the header says {info.header_frames}"
    hidden = f"; its edit list hides {info.hidden_frames}" if info.hidden_frames else ""
    return [
        ("file", info.path),
        ("size", f"{timeline.width}x{timeline.height} as shown ({shape})"),
        ("rate", _rate(info)),
        ("frames", f"{timeline.frames} decoded ({claim}{hidden})"),
        *_several("duration", _duration(info)),
        ("start", f"{info.start_seconds:.6f} s"),
        *_several("edit list", [_edit(edit) for edit in info.edits]),
        *_several("hole", [_hole(hole) for hole in info.holes]),
        ("codec", f"{info.codec}, {info.pixel_format}, {info.bit_depth} bit, {_scanning(info)}"),
        *_several("colour", _colour(info)),
        *_several("also in it", info.other_streams),
        ("sha256", info.sha256),
        *_several("warning", info.warnings, repeat=True),
    ]


def _several(label: str, values: list[str], *, repeat: bool = False) -> list[tuple[str, str]]:
    """A row for each value, at most MOST_ROWS of them."""
    shown = (
        values if len(values) <= MOST_ROWS else [*values[: MOST_ROWS - 1], f"and {len(values) - MOST_ROWS + 1} more"]
    )
    return [(label if repeat or index == 0 else "", value) for index, value in enumerate(shown)]


def _rate(info: VideoInfo) -> str:
    rate = format_rate(info.timeline.rate)
    steady = "constant" if info.constant_rate else "not constant"
    text = f"{rate} fps ({float(info.timeline.rate):.6g}), {steady}, {_RATE_SOURCES[info.rate_source]}"
    return text if info.header_rate in (None, rate) else f"{text} (the header says {info.header_rate})"


def _duration(info: VideoInfo) -> list[str]:
    """The frames' own duration, and each other one that is a different time."""
    exact = float(info.timeline.duration)
    found = [(exact, "")]
    for seconds, meaning in (
        (info.seconds, "from the first frame to the end of the last one"),
        (info.header_seconds, "by the header"),
        (info.container_seconds, "to the end of the longest stream in the file"),
    ):
        if seconds is not None and all(abs(seconds - other) > 0.5 / info.timeline.rate for other, _ in found):
            found.append((seconds, f" {meaning}"))
    return [f"{seconds:.6f} s{meaning}" for seconds, meaning in found]


def _edit(edit: Edit) -> str:
    if edit.start_seconds is None:
        return f"nothing for {edit.seconds:.6f} s"
    length = f"for {edit.seconds:.6f} s" if edit.seconds else "to the end"
    speed = f" at {edit.speed:g} times the speed" if edit.speed != 1 else ""
    return f"from {edit.start_seconds:.6f} s of the coded video on, {length}{speed}"


def _hole(hole: Hole) -> str:
    return f"frame {hole.frame} to {hole.frame + 1}: {hole.seconds:.6f} s, {hole.missing} missing"


def _scanning(info: VideoInfo) -> str:
    if not info.interlaced_frames:
        return "progressive"
    order = f", {info.field_order}" if info.field_order in ("top first", "bottom first") else ""
    return f"{info.interlaced_frames} frames interlaced{order}"


def _colour(info: VideoInfo) -> list[str]:
    if info.colour is None:
        return []
    tags = [f"{name} {getattr(info.colour, name)}" for name in ("range", "primaries", "transfer", "matrix")]
    assumed = [f"{name} {tag}" for name, tag in info.colour.assumed.items()]
    return [", ".join(tags), *([f"assumed: {', '.join(assumed)}"] if assumed else [])]


def table(pairs: list[tuple[str, str]]) -> str:
    """Lines with the labels in one column and the values in another."""
    width = max(len(label) for label, _ in pairs)
    # a file's name, and the names in it, may hold line feeds
    return "".join(f"{label:<{width}}  {' '.join(value.splitlines())}\n" for label, value in pairs)
