# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut sgc floor`: what an estimator of geometry measures on clean renders, and how far corruptions raise it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter

DESCRIPTION = """Measure the noise floor of an estimator: rigid scenes are rendered with exact passes, the estimator
runs on their pictures, clean and with injected corruptions, and what it measures is the zero and the scale of scores.

examples:
  matchcut sgc floor --out floor                       of the classical estimator, into floor/floor.json
  matchcut sgc floor --estimator blender --out floor   of the passes themselves"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    from ..sgc.floor import STACKS

    parser.add_argument("--estimator", choices=STACKS, default=STACKS[0], help=f"default: {STACKS[0]}")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="for scenes, renders and floor.json")
    parser.add_argument("--json", action="store_true", help="print floor.json instead of a table")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Render, estimate, and print the floor."""
    from ..environment.blender import find_blender
    from ..report.text import significant
    from ..sgc.floor import measure_floor
    from ..sgc.robust.records import ROBUST_COMPONENTS, ROBUST_LABELS, ROBUST_UNITS

    floor = measure_floor(args.estimator, args.out, blender=find_blender(reporter.status), reporter=reporter)
    path = args.out / "floor.json"
    if args.messages:
        reporter.result(str(path), {"estimator": floor.estimator, "scenes": len(floor.scenes)})
    elif args.json:
        sys.stdout.write(json.dumps(floor.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")
    else:
        lines = [f"noise floor of {floor.estimator}, {len(floor.scenes)} scenes", ""]
        lines.append(f"{'component':<36} {'zero':>10} {'scale':>10}  unit")
        for name in ROBUST_COMPONENTS:
            zero, scale = significant(floor.zero[name]), significant(floor.scale[name])
            lines.append(f"{ROBUST_LABELS[name]:<36} {zero:>10} {scale:>10}  {ROBUST_UNITS[name]}")
        sys.stdout.write("\n".join([*lines, "", str(path)]) + "\n")
    return ExitStatus.DONE
