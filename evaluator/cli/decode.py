# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut decode`: frames of a video ahead into the cache that the window shows them from."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Final

from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter
from ..protocol.timeline import format_rate

DESCRIPTION = """Decode frames of a video ahead, scaled down, into this user's cache, from which the window lays them
over the 3D view. Frames that are there already are kept, so that a second run is quick. The first result names the
folder and comes before the frames do; the second says how many were decoded. The oldest frames of all videos are
dropped where the cache grows too large, and of a video that does not fit only those around --start are decoded.

A file 000012.f32 is frame 12, counted from 0 in display order: height times width little-endian float32, rows from the
top, each pixel as r * 65536 + g * 256 + b. $MATCHCUT_CACHE_FOLDER names another place for the cache.

examples:
  matchcut decode shot.mp4
  matchcut decode shot.mp4 --start 120 --size 1920
  matchcut decode shot.mp4 --every 8 --size 160"""

NICENESS: Final = 5
"""What is shown now goes before what is decoded ahead."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("video", type=Path, metavar="VIDEO", help="the video")
    parser.add_argument("--start", type=int, default=0, metavar="FRAME", help="the frame to begin with (default: 0)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="decode each n-th frame alone (default: 1)")
    parser.add_argument("--size", type=int, default=960, metavar="PIXELS", help="of the longer side (default: 960)")
    parser.add_argument(
        "--most-mb", type=int, default=2048, metavar="MB", help="that all cached frames may take (default: 2048)"
    )


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Decode, telling where the frames lie before they do."""
    from ..media.framecache import cached_video, decode_ahead

    if hasattr(os, "nice"):
        os.nice(NICENESS)
    cached = cached_video(args.video, args.size)
    width, height = cached.size
    about = {"width": width, "height": height, "rate": format_rate(cached.rate), "frames": cached.frames}
    reporter.result(str(cached.folder), about)
    made = decode_ahead(
        args.video, cached, start=args.start, every=args.every, most_bytes=args.most_mb * 1024**2, reporter=reporter
    )
    reporter.result(str(cached.folder), {**about, "decoded": made})
    if not args.messages:
        sys.stdout.write(f"{cached.folder}\n{made} frames decoded, {width}x{height}\n")
    return ExitStatus.DONE
