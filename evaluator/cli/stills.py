# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut stills`: single frames of a reference and of ours in one picture, and how far they are apart in numbers."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter

if TYPE_CHECKING:
    from ..protocol.timeline import Timeline
    from ..stills.measure import Picture, Step
    from ..stills.source import Stills

DESCRIPTION = """Compare single frames of a reference with ours: one labelled picture of all of them, and numbers for
each frame. OURS is a video, the folder of a render job, or a folder of pictures numbered by the reference's frames.
Frames count from 0; of a video at another rate the frame nearest by time is taken.

modes:
  side        beside or above each other, each in its own shape
  wipe        the reference at the left, ours at the right of --amount
  overlay     ours over the reference, as much of it as --amount
  difference  what differs, twice as strong; black where both are the same

numbers, measured on pictures of 320 pixels:
  framing     where our content lies against the reference's, in per cent of the picture's width (both ways), and how
              much larger it is, about the centre. Found from the directions of edges, so light, colour and texture do
              not matter; the score (1 the same) tells how alike the edges are once that is undone
  silhouette  overlap of the outlines, intersection over union, where one 2 % of the width away counts no more; the same
              with the framing undone, so that only shapes and places count; and what mirrored pictures come to
  colour      dE: mean distance in L*a*b* of 16 cells along the longer side (2 is just seen); how the mean differs in
              lightness L, red-green a and yellow-blue b; histogram: distance of the colours wherever they are;
              exposure: ratio of the mean linear luminances, 0.5 is one stop darker
  flow        motion to the next frame (from the one before at the end): mean distance of the flow in per cent of the
              width, cosine between the directions (1 the same, -1 opposite), ratio of the speeds
Ours is what is told of: right, down, larger, brighter, faster than the reference. What cannot be told is unknown, with
the reason: a black picture, hardly any edges, nothing to follow, several placements that fit alike.

examples:
  matchcut stills --reference shot.mp4 --ours mine.mp4 --frames 0,24,47 --out stills.jpg
  matchcut stills --reference shot.mp4 --ours render --frames 12 --mode wipe --amount 0.3 --out wipe.jpg"""

MOST_FRAMES: Final = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--reference", type=Path, required=True, metavar="FILE", help="the given video")
    parser.add_argument(
        "--ours", type=Path, required=True, metavar="PATH", help="a video, a render job or a folder of pictures"
    )
    parser.add_argument(
        "--frames", required=True, metavar="LIST", help=f"the reference's frames, as 0,12,24; at most {MOST_FRAMES}"
    )
    parser.add_argument("--mode", choices=("side", "wipe", "overlay", "difference"), default="side")
    parser.add_argument("--amount", type=float, default=0.5, metavar="SHARE", help="of a wipe or an overlay, 0 to 1")
    parser.add_argument("--size", type=int, default=1024, metavar="N", help="the longer side in pixels, 64 to 1024")
    parser.add_argument(
        "--no-colour", default="", metavar="REASON", help="measure no colours, and say why: ours has none of its own"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.jpg", help="the picture to write")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")


def run(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Write the picture, and say the numbers."""
    data = compared(arguments, reporter)
    if arguments.messages:
        reporter.result(data["file"], data)
    elif arguments.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("\n".join([data["file"], *data["lines"]]) + "\n")
    return ExitStatus.DONE


def compared(arguments: argparse.Namespace, reporter: Reporter) -> dict[str, Any]:
    """Make the picture; its file and size, and each frame's numbers as data and as lines. Raises BadInputError."""
    from ..media.sheet import jpeg_within
    from ..protocol.files import write_bytes
    from ..sgc.classical.flow import workers
    from ..stills.measure import described, measure
    from ..stills.source import our_stills, reference_stills
    from ..stills.view import comparison

    frames = _checked_frames(arguments)
    reporter.status("reading the reference")
    given, timeline = reference_stills(arguments.reference, frames)
    ours = our_stills(arguments.ours, frames, {place for frame in frames for place in _step(frame, timeline)}, timeline)
    entries, lines = [], []
    with workers() as threads:
        for place, frame in enumerate(frames):
            step = _pictures_of(_step(frame, timeline), given, ours)
            found = measure(given[frame], ours.pictures[frame], step, threads, no_colour=arguments.no_colour)
            seconds = float(timeline.time_of(frame))
            entries.append({"frame": frame, "seconds": seconds, "own_frame": ours.own[frame], **asdict(found)})
            lines += [f"frame {frame} ({seconds:.3f} s) against ours {ours.own[frame]}:", *described(found)]
            reporter.progress("stills", place + 1, len(frames))
    whole = comparison(
        [(given[frame], ours.pictures[frame]) for frame in frames], frames, [ours.own[frame] for frame in frames],
        [float(timeline.time_of(frame)) for frame in frames], mode=arguments.mode, amount=arguments.amount,
        longest=arguments.size,
    )  # fmt: skip
    write_bytes(arguments.out, jpeg_within(whole))
    height, width = whole.shape[:2]
    return {
        "file": str(arguments.out), "width": width, "height": height, "mode": arguments.mode, "frames": entries,
        "lines": lines,
    }  # fmt: skip


def _checked_frames(arguments: argparse.Namespace) -> list[int]:
    from ..media.moments import parse_frames
    from ..media.sheet import LONGEST

    if not 64 <= arguments.size <= LONGEST:
        raise BadInputError(f"--size {arguments.size}: has to be from 64 to {LONGEST} pixels")
    if not 0 <= arguments.amount <= 1:  # NaN is neither
        raise BadInputError(f"--amount {arguments.amount}: has to be from 0 to 1")
    if arguments.out.suffix.lower() not in (".jpg", ".jpeg"):
        raise BadInputError(f"{arguments.out}: the output is a JPEG; give a name that ends in .jpg")
    frames = list(dict.fromkeys(parse_frames(arguments.frames)))
    if len(frames) > MOST_FRAMES:
        raise BadInputError(f"{len(frames)} frames were asked for, and {MOST_FRAMES} are compared at most; name fewer")
    return frames


def _step(frame: int, timeline: Timeline) -> tuple[int, int]:
    """The frames between which the motion at `frame` is measured: to the next one, at the end from the one before."""
    return (frame, frame + 1) if frame + 1 < timeline.frames or frame == 0 else (frame - 1, frame)


def _pictures_of(step: tuple[int, int], given: dict[int, Picture], ours: Stills) -> Step | str:
    if step[1] not in given:
        return "the reference has one frame"
    missing = [frame for frame in step if frame not in ours.pictures]
    if missing:
        return f"ours has no picture of the neighbouring frame {missing[0]}"
    if ours.own[step[0]] == ours.own[step[1]]:
        return "ours shows one frame at both of two neighbouring ones: its rate is lower"
    return (given[step[0]], given[step[1]]), (ours.pictures[step[0]], ours.pictures[step[1]])
