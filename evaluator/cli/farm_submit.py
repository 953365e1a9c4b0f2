# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut farm submit`: a scene for a Flamenco farm."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ..farm.manager import Manager
from ..farm.submit import BATCH_FRAMES, PACKAGE, PRIORITY, submit
from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter
from .render import DEVICES, parse_frames

DESCRIPTION = """Prepare a render job in a new folder on the shared storage, and submit it to a Flamenco Manager.

Blender opens the scene here once and saves the copy that the workers open, with its simulations played; you may go on
working on your own file. Textures and libraries that the scene names have to lie on the shared storage too, or be
packed. Nothing is sent but names and numbers. Then:

  matchcut farm status FOLDER, matchcut farm collect FOLDER --wait

examples:
  matchcut farm submit shot.blend --reference shot.mp4 --manager http://manager:8080 --out /shared/renders/shot-1
  matchcut farm submit shot.blend --reference shot.mp4 --manager http://manager:8080 --out /shared/renders/shot-2 \\
      --device optix --batch 24 --passes
  matchcut farm submit shot.blend --reference shot.mp4 --manager http://manager:8080 --out Z:/renders/shot-3 --collect

exit status: 0 submitted, 2 bad input, 3 the Manager or Blender failed (try again), 130 cancelled"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("scene", type=Path, metavar="SCENE.blend", help="the scene")
    parser.add_argument("--reference", type=Path, required=True, metavar="R", help="the video whose timeline is used")
    parser.add_argument("--manager", required=True, metavar="URL", help="the Manager, as http://manager:8080")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="a new folder on the shared storage")
    parser.add_argument("--frames", metavar="A-B", help="frames of the reference, from 0, both included (default: all)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of these only every Nth (default: 1)")
    parser.add_argument("--scale", type=float, default=1.0, metavar="S", help="times the reference's size (default: 1)")
    parser.add_argument("--samples", type=int, metavar="N", help="samples a pixel (default: the scene's)")
    parser.add_argument("--engine", metavar="E", help="cycles, eevee or workbench (default: the scene's)")
    parser.add_argument("--device", choices=DEVICES, default="auto", help="what Cycles computes on (default: auto)")
    parser.add_argument("--view-transform", metavar="V", help="as AgX or Standard (default: the scene's)")
    parser.add_argument("--passes", action="store_true", help="also write depth, motion, object ids and cameras")
    parser.add_argument(
        "--addon", action="append", default=[], metavar="MODULE", help="enable this add-on; can be given several times"
    )
    parser.add_argument("--name", default="", help="what the job is called there (default: the scene's name)")
    parser.add_argument(
        "--batch", type=int, default=BATCH_FRAMES, metavar="N", help=f"frames in one task (default: {BATCH_FRAMES})"
    )
    parser.add_argument("--priority", type=int, default=PRIORITY, metavar="P", help=f"0 to 100 (default: {PRIORITY})")
    parser.add_argument("--tag", metavar="UUID", help="only workers of this tag")
    parser.add_argument("--collect", action="store_true", help="make the video on a worker, which has the evaluator")
    parser.add_argument(
        "--package", default=PACKAGE, metavar="DIR",
        help="the folder of Matchcut's files as the workers see it (default: the Manager's variable {matchcut})",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="answer with one JSON document")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Submit; the job's id goes to standard output."""
    from ..environment.blender import blend_sha256, find_blender
    from ..media.encode import check_rate, check_size
    from ..media.probe import probe
    from ..protocol.render_job import RenderJob
    from ..render.job import check_request

    manager = Manager(args.manager)
    first, last = parse_frames(args.frames)
    timeline = probe(args.reference).timeline
    job = RenderJob(
        str(args.scene.resolve()), timeline, first, timeline.frames - 1 if last is None else last, args.scale,
        args.samples, args.engine, args.device, True, args.passes, view_transform=args.view_transform,
        addons=args.addon, step=args.every, scene_sha256=blend_sha256(args.scene),
    )  # fmt: skip
    check_request(job)
    if job.whole:
        check_size(*job.size, "the reference")
        check_rate(timeline.rate)
    farm = submit(
        job, args.out, manager, blender=find_blender(reporter.status), reporter=reporter, name=args.name,
        batch=args.batch, priority=args.priority, collect=args.collect, package=args.package, tag=args.tag,
    )  # fmt: skip
    folder = str(args.out.resolve())
    answer = {"folder": folder, "manager": farm.manager, "job": farm.job, "name": farm.name}
    reporter.result(folder, answer)
    if not args.messages:
        lines = f"{farm.name}: job {farm.job} at {farm.manager}\nmatchcut farm status {folder}"
        sys.stdout.write((json.dumps(answer, indent=2) if args.json else lines) + "\n")
    return ExitStatus.DONE
