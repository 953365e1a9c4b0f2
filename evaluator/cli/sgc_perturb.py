# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut sgc perturb`: a copy of a video with a corruption that grows along each shot."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter
from .sgc import cuts_of

DESCRIPTION = """Write a copy of a video whose geometry is wrong, more and more along each shot: what SGC has to notice.

kinds: warp and depth_warp (waves), squeeze (pressed together vertically), drift (the middle drifts along a circle).
The copy is nearly lossless. Pictures have no depth: in the experiment of matchcut sgc validate depth is corrupted too.

examples:
  matchcut sgc perturb shot.mp4 --kind warp --severity 0.5 --out warped.mp4
  matchcut sgc warped.mp4"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("video", type=Path, metavar="VIDEO", help="the video")
    parser.add_argument("--kind", required=True, metavar="KIND", help="warp, squeeze, depth_warp or drift")
    parser.add_argument("--severity", type=float, default=1.0, metavar="0…1", help="at a shot's end (default: 1)")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.mp4", help="the copy")
    parser.add_argument(
        "--cuts", metavar="FRAME,…", help="first frames of new shots, such as 36,80; none: '' (default: detected)"
    )
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Write the copy."""
    from ..sgc.measure import Request, find_shots, find_source
    from ..sgc.perturb import CORRUPTIONS, perturb_video

    kind = next((one for one in CORRUPTIONS if one == args.kind), None)
    if kind is None:
        raise BadInputError(f"--kind {args.kind}: the corruptions are {', '.join(CORRUPTIONS)}")
    if not args.video.is_file():
        raise BadInputError(f"{args.video}: there is no such video")
    if args.out.resolve() == args.video.resolve():
        raise BadInputError(f"{args.out}: it is the video itself; name another file for the copy")
    request = Request(estimator="classical", cuts=cuts_of(args.cuts))
    shots = find_shots(find_source(args.video, request), request, reporter)
    info = perturb_video(args.video, kind, args.severity, args.out, reporter=reporter, shots=shots)
    timeline = info.timeline
    data = {"path": str(args.out), "kind": kind, "severity": args.severity, "frames": timeline.frames}
    if args.messages:
        reporter.result(str(args.out), data)
    elif args.json:
        sys.stdout.write(json.dumps(data, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(
            f"{args.out}: {timeline.frames} frames of {timeline.width}x{timeline.height}, {kind} {args.severity:g}\n"
        )
    return ExitStatus.DONE
