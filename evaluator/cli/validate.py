# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut validate DIR`: whether a folder of deliverables is what it says."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter

if TYPE_CHECKING:
    from ..deliver.validate import Validation

DESCRIPTION = """Check a folder of deliverables as a stranger would who trusts nothing in it: every file is there, is no
link, is not empty, opens or decodes fully and has the hash that submission.json says; the reconstruction lies on the
reference's timeline; the comparison shows both videos; report.md says the same figures. Nothing of it is run.

examples:
  matchcut validate delivered
  matchcut validate delivered --reference shot.mp4 --blender

--blender also opens scene.blend in a child Blender, without its scripts and without network. Whether the video is
what the scene renders: matchcut audit delivered --reference shot.mp4 --rerender 5

The exit status is 0 when the check ran, whatever it found; the verdict is the last line, and `passed` in the JSON
document. It is 2 where DIR is no folder."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of deliverables")
    parser.add_argument("--reference", type=Path, metavar="R", help="the video that was rebuilt")
    parser.add_argument("--blender", action="store_true", help="also open the scene in a child Blender")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Run the command; the answer goes to standard output."""
    from ..deliver.validate import validate_folder
    from ..environment.blender import find_blender

    blender = find_blender(reporter.status) if args.blender else None
    validation = validate_folder(args.folder, reference=args.reference, blender=blender, reporter=reporter)
    data = validation.model_dump(mode="json")
    if args.messages:
        reporter.result("", data)
    elif args.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(text(validation))
    return ExitStatus.DONE


def text(validation: Validation) -> str:
    """The files, the findings and the verdict for a person."""
    from .probe import table

    blocks = [table([(file.name, file.what) for file in validation.files])]
    if validation.findings:
        blocks.append(
            "".join(f"{item.severity}: {item.where}: {item.what}; {item.todo}\n" for item in validation.findings)
        )
    faults = sum(finding.severity == "fault" for finding in validation.findings)
    blocks.append("the package is what it says\n" if validation.passed else f"NOT PASSED: {faults} faults\n")
    return "\n".join(blocks)
