# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut farm collect`: the verified video of the frames that a farm rendered."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter

DESCRIPTION = """Check the frames that the workers made, and encode and verify the video, as matchcut render does.

  matchcut farm collect SHARED/FOLDER                     all frames are there
  matchcut farm collect SHARED/FOLDER --wait              wait for the farm first
  matchcut farm collect SHARED/FOLDER --render-missing    render here what the farm did not

FOLDER receives reconstruction.mp4 (preview.mp4 where a part of the frames was asked for), status.json with the
settings that the workers rendered with, and with passes the index of geometry/. Where workers rendered with different
Blenders or settings, a warning says so. The Manager is asked only with --wait.

exit status: 0 done, 2 bad input, 3 frames are missing or the farm failed, 130 cancelled"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder of farm submit --out")
    parser.add_argument("--wait", action="store_true", help="wait until the farm has done it")
    parser.add_argument("--render-missing", action="store_true", help="render here what is missing")
    parser.add_argument("--json", action="store_true", help="answer with one JSON document")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Collect; the video's path goes to standard output."""
    from ..environment.blender import find_blender
    from ..farm.collect import collect, wait_for_farm

    if args.wait:
        wait_for_farm(args.folder, reporter)
    blender = find_blender(reporter.status) if args.render_missing else None
    outcome = collect(args.folder, reporter=reporter, blender=blender)
    made = outcome.video or outcome.preview or outcome.folder / "frames"
    answer = {
        "folder": str(outcome.folder),
        "video": str(outcome.video) if outcome.video else None,
        "preview": str(outcome.preview) if outcome.preview else None,
        "geometry": str(outcome.geometry) if outcome.geometry else None,
        "status": asdict(outcome.status),
    }
    reporter.result(str(made), answer)
    if not args.messages:
        sys.stdout.write((json.dumps(answer, indent=2) if args.json else str(made)) + "\n")
    return ExitStatus.DONE
