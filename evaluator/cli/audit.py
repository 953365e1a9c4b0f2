# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut audit SCENE.blend --reference R`: what a scene holds that the protocol forbids."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter

if TYPE_CHECKING:
    from ..audit.records import AuditReport

DESCRIPTION = """Look through a scene for what a reconstruction may not contain: external assets, and pictures in place
of modelling. Every image, movie, sequencer strip, library, cache, script and driver of the file is named with where it
is used and why it matters, and every picture is compared with the reference's frames. The scene is opened in a child
Blender that runs none of its scripts, and is not changed.

A finding is forbidden, to be looked at by a person, or only told. The last line is the verdict: passed where nothing
is forbidden. The exit status is 0 whatever the verdict; --json has it as `passed`.

--rerender K renders K frames again, without scripts, add-ons and network, and compares them with the submitted video:
whether it shows what the scene renders, and whether it is nearer to the reference than that. In the place of the .blend
a folder of matchcut package or matchcut render can be given, whose settings and video are then used.

examples:
  matchcut audit scene.blend --reference shot.mp4
  matchcut audit scene.blend --reference shot.mp4 --reconstruction mine.mp4 --rerender 5
  matchcut audit delivered --reference shot.mp4 --rerender 8 --seed 7
  matchcut audit scene.blend --reference shot.mp4 --out audit.json --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("scene", type=Path, nargs="?", metavar="SCENE.blend", help="the scene")
    parser.add_argument("--scene", type=Path, dest="scene_option", metavar="SCENE.blend", help="the scene, by name")
    parser.add_argument("--reference", type=Path, required=True, metavar="R", help="the video that was rebuilt")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="also write the report there")
    parser.add_argument(
        "--rerender", type=int, metavar="K", help="render K frames again and compare them with the video"
    )
    parser.add_argument("--reconstruction", type=Path, metavar="VIDEO", help="the video that was submitted")
    parser.add_argument("--seed", type=int, metavar="N", help="chooses the K frames (default: a random one, told)")
    parser.add_argument(
        "--device", metavar="D", help="what Cycles renders them on: auto, cpu, optix … (default: as then)"
    )
    parser.add_argument("--json", action="store_true", help="print the report as one JSON document")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Run the command; the answer goes to standard output."""
    from ..audit.audit import audit
    from ..audit.records import passes
    from ..audit.rerender import check_request, find_submitted, rerender
    from ..environment.blender import find_blender
    from ..environment.sealed import sealed
    from ..shots.detect import detect_shots

    scene = args.scene_option or args.scene
    if scene is None or (args.scene_option and args.scene):
        raise BadInputError("name one scene: matchcut audit SCENE.blend --reference R")
    if args.out is not None and (args.out.suffix.lower() != ".json" or args.out.is_dir()):
        raise BadInputError(f"{args.out}: the report is a file; give --out a name that ends with .json")
    if args.rerender is None and (args.reconstruction is not None or args.seed is not None):
        raise BadInputError("--reconstruction and --seed belong to --rerender K: say how many frames to render again")
    submitted = find_submitted(scene)
    if args.reconstruction is not None:
        submitted = replace(submitted, reconstruction=args.reconstruction)
    if args.rerender is not None:
        check_request(submitted, args.rerender)
        detect_shots(args.reference, reporter=reporter)  # first, so that one pass over the reference serves all
    blender = sealed(find_blender(reporter.status))
    report = audit(submitted.scene, args.reference, blender=blender, reporter=reporter)
    if args.rerender is not None:
        seed = secrets.randbelow(2**31) if args.seed is None else args.seed
        again = rerender(
            submitted, args.reference, count=args.rerender, seed=seed, blender=blender, reporter=reporter,
            device=args.device,
        )  # fmt: skip
        passed = passes(report.findings, again)
        report = report.model_copy(update={"rerender": again, "passed": passed})
    written = ""
    try:
        if args.out is not None:
            report.write(args.out)
            written = str(args.out)
    finally:  # what took so long to find out is told also where it cannot be written
        _tell(report, args, reporter, written)
    return ExitStatus.DONE


def _tell(report: AuditReport, args: argparse.Namespace, reporter: Reporter, written: str) -> None:
    from ..audit.rerender import report_lines as rerender_lines
    from ..audit.text import report_lines

    data = report.model_dump(mode="json")
    if args.messages:
        reporter.result(written, data)
    elif args.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        lines = [*report_lines(report)]
        if report.rerender is not None:
            lines[-1:-1] = [*rerender_lines(report.rerender), ""]
        sys.stdout.write("".join(f"{line}\n" for line in lines))
