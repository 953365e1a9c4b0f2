# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut package JOB --reference R --out DIR`: the folder of deliverables of a finished render."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter

if TYPE_CHECKING:
    from ..environment.blender import Blender

DESCRIPTION = """Make the folder DIR of what is handed in, from the finished job of matchcut render:
  scene.blend          the scene as it was rendered
  reconstruction.mp4   the rendered video
  comparison.mp4       reference and reconstruction side by side, in step
  contact_sheet.png    pairs of their frames
  report.md            settings, times and what was verified, for a person
  submission.json      the same for programs, with the hash of every file

DIR is there whole or not at all. The same job and reference give the same bytes. A DIR that holds the package of
another job is replaced only with --replace, and any other folder never. --report puts what you say of it, a text in
Markdown, into report.md.

example:
  matchcut render shot.blend --reference shot.mp4 --out rendered
  matchcut package rendered --reference shot.mp4 --out delivered
  matchcut validate delivered --reference shot.mp4"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("job", type=Path, metavar="JOB", help="the --out folder of matchcut render")
    parser.add_argument("--reference", type=Path, required=True, metavar="R", help="the video that was rebuilt")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder to make")
    parser.add_argument("--replace", action="store_true", help="give up the package of another job that is in DIR")
    parser.add_argument("--report", type=Path, metavar="FILE.md", help="what its maker says, for report.md")
    parser.add_argument("--json", action="store_true", help="print submission.json instead of the summary")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Run the command; the answer goes to standard output."""
    from ..deliver.package import package_job
    from ..deliver.records import SUBMISSION
    from ..deliver.report import verdict

    remarks = "" if args.report is None else read_remarks(args.report)
    submission = package_job(
        args.job, args.reference, args.out, blender=installed_blender(reporter), reporter=reporter,
        replace=args.replace, remarks=remarks,
    )  # fmt: skip
    data = submission.model_dump(mode="json")
    if args.messages:
        reporter.result(str(args.out / SUBMISSION), data)
    elif args.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        lines = [f"{file.bytes:>12,}  {args.out / file.name}" for file in submission.files]
        size = (args.out / SUBMISSION).stat().st_size
        lines += [f"{size:>12,}  {args.out / SUBMISSION}", verdict(submission)]
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return ExitStatus.DONE


def read_remarks(path: Path) -> str:
    """The text of a file. Raises BadInputError where it is none."""
    from ..deliver.contents import read_text

    if not path.is_file():
        raise BadInputError(f"{path}: there is no such file; give --report a text in Markdown")
    return read_text(path)


def installed_blender(reporter: Reporter) -> Blender | None:
    """The Blender that is there; None, with a warning, where there is none: nothing is installed for a look."""
    from ..environment.blender import find_blender

    try:
        return find_blender()
    except BadInputError as error:
        reporter.warning(f"what the scene needs besides itself stays unknown: {error}")
        return None
