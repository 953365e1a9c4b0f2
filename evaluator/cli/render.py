# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut render`: a scene on its reference's timeline, rendered in a child Blender."""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path

from ..environment.blender import find_blender
from ..media.probe import probe
from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter
from ..render.job import render_scene

DESCRIPTION = """Render a scene on its reference's timeline, in a child Blender; the scene's own file is not changed.

DIR receives frames/, status.json, render.log, reconstruction.mp4 and, with --passes, geometry/. The same command
again renders only what is missing; another scene or other options start the job anew.

example: matchcut render shot.blend --reference shot.mp4 --out rendered --samples 32"""

DEVICES = ("auto", "cpu", "cuda", "optix", "hip", "metal", "oneapi")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("scene", type=Path, nargs="?", metavar="SCENE.blend", help="the scene")
    parser.add_argument("--scene", type=Path, dest="scene_option", metavar="SCENE.blend", help="the scene, by name")
    parser.add_argument("--reference", type=Path, required=True, metavar="R", help="the video whose timeline is used")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the job's folder")
    parser.add_argument("--frames", metavar="A-B", help="frames of the reference, from 0, both included (default: all)")
    parser.add_argument("--scale", type=float, default=1.0, metavar="S", help="times the reference's size (default: 1)")
    parser.add_argument("--samples", type=int, metavar="N", help="samples a pixel (default: the scene's)")
    parser.add_argument("--engine", metavar="E", help="cycles, eevee or workbench (default: the scene's)")
    parser.add_argument("--device", choices=DEVICES, default="auto", help="what Cycles computes on (default: auto)")
    parser.add_argument("--passes", action="store_true", help="also write depth, motion, object ids and cameras")
    parser.add_argument("--json", action="store_true", help="answer with one JSON document")


def parse_frames(text: str | None) -> tuple[int, int | None]:
    """Read `A-B` or `A` as first and last frame; None for the whole reference. Raises BadInputError."""
    if text is None:
        return 0, None
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if found is None:
        raise BadInputError(f"--frames {text}: write two frames as 0-47, or one as 12")
    return int(found[1]), int(found[2] or found[1])


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Run the command; the answer goes to standard output."""
    scene = args.scene_option or args.scene
    if scene is None or (args.scene_option and args.scene):
        raise BadInputError("name one scene: matchcut render SCENE.blend --reference R --out DIR")
    first, last = parse_frames(args.frames)
    blender = find_blender(reporter.status)
    timeline = probe(args.reference).timeline
    outcome = render_scene(
        scene, args.out, timeline, blender=blender, reporter=reporter, first=first, last=last, scale=args.scale,
        samples=args.samples, engine=args.engine, device=args.device, passes=args.passes,
    )  # fmt: skip
    status = outcome.status
    answer = {
        "folder": str(outcome.folder),
        "video": str(outcome.video) if outcome.video else None,
        "geometry": str(outcome.geometry) if outcome.geometry else None,
        "status": asdict(status),
    }
    made = outcome.video or outcome.folder / "frames"
    reporter.result(str(made), answer)
    if args.messages:
        return ExitStatus.DONE
    if args.json:
        sys.stdout.write(json.dumps(answer, indent=2) + "\n")
        return ExitStatus.DONE
    sys.stdout.write(f"{made}\n{timeline}\n")
    settings = f"{status.engine} on {status.device}, {status.samples} samples" if status.samples else status.engine
    sys.stdout.write(f"Blender {status.blender}, {settings}, {status.seconds_per_frame:.2f} s/frame\n")
    if outcome.geometry:
        sys.stdout.write(f"{outcome.geometry / 'geometry.json'}\n")
    return ExitStatus.DONE
