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
from ..render.content import scene_content
from ..render.job import FRAME_LIMIT_SECONDS, render_scene

DESCRIPTION = """Render a scene on its reference's timeline, in a child Blender; the scene's own file is not changed.

DIR receives frames/, status.json, render.log, reconstruction.mp4 (where all frames are asked for) and, with --passes,
geometry/. A part of the frames, or every nth, becomes preview.mp4, which plays at the right speed. What
disagrees with the reference's size, rate or length is told before the first frame. The same command again renders only
what is missing or damaged; another scene, or options that change a pixel, start the job anew. A frame at which Blender
crashes or stands still is tried twice, then named, and the rest goes on.

examples:
  matchcut render shot.blend --reference shot.mp4 --out rendered
  matchcut render shot.blend --reference shot.mp4 --out look --scale 0.25 --samples 16   a quick look
  matchcut render shot.blend --reference shot.mp4 --out part --frames 0-47               two seconds of it
  matchcut render shot.blend --reference shot.mp4 --out look --every 4 --scale 0.5       every fourth frame
  matchcut render shot.blend --reference shot.mp4 --out all --device optix --passes      with depth and motion
  matchcut render shot.blend --reference shot.mp4 --out all --workers 2                  two Blenders side by side
  matchcut render shot.blend --reference shot.mp4 --out all --addon bl_ext.user_default.trees

--workers pays where one Blender leaves cores idle: many objects, few samples. Each one needs the scene's memory.

exit status: 0 done, 2 bad input, 3 frames are missing (the same command tries them again), 130 cancelled"""

DEVICES = ("auto", "cpu", "cuda", "optix", "hip", "metal", "oneapi")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("scene", type=Path, nargs="?", metavar="SCENE.blend", help="the scene")
    parser.add_argument("--scene", type=Path, dest="scene_option", metavar="SCENE.blend", help="the scene, by name")
    parser.add_argument("--reference", type=Path, required=True, metavar="R", help="the video whose timeline is used")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the job's folder")
    parser.add_argument("--frames", metavar="A-B", help="frames of the reference, from 0, both included (default: all)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of these only every Nth (default: 1)")
    parser.add_argument("--scale", type=float, default=1.0, metavar="S", help="times the reference's size (default: 1)")
    parser.add_argument("--samples", type=int, metavar="N", help="samples a pixel (default: the scene's)")
    parser.add_argument("--engine", metavar="E", help="cycles, eevee or workbench (default: the scene's)")
    parser.add_argument("--device", choices=DEVICES, default="auto", help="what Cycles computes on (default: auto)")
    parser.add_argument("--view-transform", metavar="V", help="as AgX or Standard (default: the scene's)")
    parser.add_argument("--passes", action="store_true", help="also write depth, motion, object ids and cameras")
    parser.add_argument(
        "--reusable", action="store_true",
        help="look first at what the scene holds, so that a score of the same scene takes this render (--renders)",
    )  # fmt: skip
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="Blenders at a time (default: 1)")
    parser.add_argument(
        "--frame-limit", type=float, default=FRAME_LIMIT_SECONDS, metavar="S",
        help=f"seconds after which a frame is given up; 0 for never (default: {FRAME_LIMIT_SECONDS:g})",
    )  # fmt: skip
    parser.add_argument(
        "--addon", action="append", default=[], metavar="MODULE", help="enable this add-on; can be given several times"
    )
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
    timeline = probe(args.reference).timeline
    blender = find_blender(reporter.status)
    content = scene_content(scene, blender=blender, reporter=reporter) if args.reusable else ""
    outcome = render_scene(
        scene, args.out, timeline, blender=blender, reporter=reporter, first=first, last=last, step=args.every,
        scale=args.scale, content=content,
        samples=args.samples, engine=args.engine, device=args.device, view_transform=args.view_transform,
        addons=args.addon, passes=args.passes, workers=args.workers, frame_limit=args.frame_limit or None,
    )  # fmt: skip
    status = outcome.status
    answer = {
        "folder": str(outcome.folder),
        "video": str(outcome.video) if outcome.video else None,
        "preview": str(outcome.preview) if outcome.preview else None,
        "geometry": str(outcome.geometry) if outcome.geometry else None,
        "status": asdict(status),
    }
    made = outcome.video or outcome.preview or outcome.folder / "frames"
    reporter.result(str(made), answer)
    if args.messages:
        return ExitStatus.DONE
    if args.json:
        sys.stdout.write(json.dumps(answer, indent=2) + "\n")
        return ExitStatus.DONE
    sys.stdout.write(f"{made}\n{timeline}\n")
    settings = f"{status.engine} on {status.device}" + (f", {status.samples} samples" if status.samples else "")
    settings += f", {status.denoiser or 'not denoised'}, {status.view_transform} on {status.display_device}"
    sys.stdout.write(f"Blender {status.blender}, {settings}\n")
    if status.seconds_per_frame is not None:
        memory = f", {status.peak_memory_bytes / 2**20:.0f} MiB" if status.peak_memory_bytes is not None else ""
        sys.stdout.write(f"{status.rendered} rendered now, {status.seconds_per_frame:.2f} s each{memory}\n")
    if outcome.geometry:
        sys.stdout.write(f"{outcome.geometry / 'geometry.json'}\n")
    return ExitStatus.DONE
