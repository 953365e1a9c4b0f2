# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut motion`: what moves in a video, as numbers."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..protocol.cache import cache_folder
from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter

if TYPE_CHECKING:
    from ..motion.records import Motion, Region, ShotMotion

DESCRIPTION = """Measure what moves in a video, shot by shot: what the camera does in words and figures, its focal
length, a few keys for a Blender camera, and regions that move by themselves. It is a first draft for who rebuilds the
shot; matchcut camera motion gives the path of every frame.

Lengths are in scene depths: 1 is the median depth of what a shot's first frames show. What the pictures do not tell is
named with its reason. Shots that were measured before are read from this user's cache.

examples:
  matchcut motion shot.mp4
  matchcut motion shot.mp4 --shot 1 --most 120 --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("video", type=Path, metavar="VIDEO", help="the video")
    parser.add_argument("--shot", type=int, metavar="N", help="this shot alone, counted from 0")
    parser.add_argument("--at", type=int, metavar="FRAME", help="the shot with this frame alone")
    parser.add_argument("--most", type=int, metavar="N", help="frames that are measured of a shot, 2 to 240")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="default: in this user's cache")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="write it there too")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Measure, write and print."""
    # before numpy is loaded: its threads cost more than they give to matrices as small as these
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from ..motion.measure import measure_motion

    if args.most is not None and not 2 <= args.most <= 240:
        raise BadInputError(f"--most {args.most}: has to be from 2 to 240 frames")
    if args.shot is not None and args.at is not None:
        raise BadInputError("--shot and --at both choose a shot; leave out one")
    cache = args.cache or cache_folder("motion")
    found = measure_motion(args.video, shot=args.shot, at=args.at, most=args.most, reporter=reporter, cache=cache)
    if args.out is not None:
        found.write(args.out)
    data = found.model_dump(mode="json")
    if args.messages:
        reporter.result("" if args.out is None else str(args.out), data)
    elif args.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    else:
        sys.stdout.write(text_of(found) + "\n")
    return ExitStatus.DONE


def text_of(found: Motion) -> str:
    """The motion for a person."""
    lines = []
    for shot in found.shots:
        lines += _shot_lines(shot)
    return "\n".join([*lines, *(f"note: {note}" for note in found.notes)])


def _shot_lines(shot: ShotMotion) -> list[str]:
    camera, focal = shot.camera, shot.focal
    lines = [f"frames {shot.first} to {shot.last} ({shot.seconds:.2f} s): {shot.kind}"]
    if camera.pan_deg is not None:
        lines.append(
            f"  turn     pan {camera.pan_deg:+.1f}°, tilt {camera.tilt_deg:+.1f}°, roll {camera.roll_deg:+.1f}°"
        )
    if camera.move is not None:
        right, up, forward = camera.move
        way = f", way {camera.path_length:.3f}" if camera.path_length is not None else ""
        lines.append(f"  move     right {right:+.3f}, up {up:+.3f}, forward {forward:+.3f}{way}")
    if camera.orbit_deg is not None:
        lines.append(f"  orbit    {camera.orbit_deg:+.1f}° at a distance of {camera.orbit_distance:.2f}")
    if camera.zoom_factor not in (None, 1.0):
        lines.append(f"  zoom     {camera.zoom_factor:.3f} times")
    if camera.shake_percent is not None:
        lines.append(f"  shake    {camera.shake_percent:.3f} % of the width")
    if camera.reason:
        lines.append(f"  not told {camera.reason}")
    lines.append(
        f"  lens     not told ({focal.reason})"
        if focal.mm is None
        else f"  lens     {focal.mm:.1f} mm ± {focal.sigma_mm:.1f} on 36 mm"
    )
    lines += [f"  region   {_region_words(region)}" for region in shot.regions]
    every = f", one frame in {shot.stride}" if shot.stride > 1 else ""
    return [*lines, f"  keys     {len(shot.keys)}; {shot.measured_frames} frames measured{every}",
            *(f"  note: {note}" for note in shot.notes)]  # fmt: skip


def _region_words(region: Region) -> str:
    left, top, width, height = region.boxes[0].box
    return (
        f"frames {region.first} to {region.last}, at first {width:.2f}x{height:.2f} of the picture at "
        f"({left:.2f}, {top:.2f}), {region.speed_percent:.1f} % of the width per second, {region.direction}"
    )
