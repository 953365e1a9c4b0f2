# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut farm`: renders on a Flamenco farm; here its job type and what became of a job."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter

SUBCOMMANDS: Final = {"submit": "farm_submit", "collect": "farm_collect"}

DESCRIPTION = """Render a finished scene on a Flamenco 3 farm (docs/farm.md).

  matchcut farm job-type --out MANAGER/scripts      once: teach the Manager what a render job of Matchcut is
  matchcut farm submit SCENE.blend --reference R --manager http://manager:8080 --out SHARED/FOLDER
  matchcut farm status SHARED/FOLDER                how far it is
  matchcut farm collect SHARED/FOLDER --wait        verify the frames, and make the video of them
  matchcut farm requeue SHARED/FOLDER               have failed tasks tried again
  matchcut farm cancel SHARED/FOLDER                stop it; what was rendered stays

SHARED is a folder that this machine and all workers see. What is made there is a render job like that of matchcut
render: the same video, verified the same way.

exit status: 0 done, 2 bad input, 3 the Manager does not answer or failed, 130 cancelled"""

ACTIONS: Final = ("job-type", "status", "requeue", "cancel")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("action", choices=ACTIONS, help="what to do (submit and collect have a help of their own)")
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER", help="the folder of farm submit --out")
    parser.add_argument("--out", type=Path, metavar="DIR", help="job-type: the folder scripts beside the Manager")
    parser.add_argument("--json", action="store_true", help="answer with one JSON document")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Do it; the answer goes to standard output."""
    if args.action == "job-type":
        return _job_type(args, reporter)
    if args.folder is None:
        raise BadInputError(f"farm {args.action}: name the folder that farm submit --out made")
    if args.action == "status":
        return _status(args, reporter)
    from ..farm.manager import Manager
    from ..farm.submit import FarmJob

    farm = FarmJob.read(args.folder)
    status = {"requeue": "requeueing", "cancel": "cancel-requested"}[args.action]
    Manager(farm.manager).set_status(farm.job, status, f"matchcut farm {args.action}")
    _answer(args, reporter, {"manager": farm.manager, "job": farm.job, "asked": status}, [f"{farm.name}: {status}"])
    return ExitStatus.DONE


def _job_type(args: argparse.Namespace, reporter: Reporter) -> int:
    from ..farm.submit import write_job_type

    if args.out is None:
        raise BadInputError("farm job-type: name the Manager's folder scripts with --out DIR")
    path = write_job_type(args.out)
    _answer(args, reporter, {"path": str(path)}, [str(path)])
    return ExitStatus.DONE


def _status(args: argparse.Namespace, reporter: Reporter) -> int:
    from ..farm.collect import farm_status

    found = farm_status(args.folder)
    _answer(args, reporter, found.to_json(), found.lines())
    return ExitStatus.DONE


def _answer(args: argparse.Namespace, reporter: Reporter, data: dict[str, Any], lines: list[str]) -> None:
    reporter.result(str(args.folder or args.out), data)
    if not args.messages:
        text = json.dumps(data, indent=2, ensure_ascii=False) if args.json else "\n".join(lines)
        sys.stdout.write(text + "\n")
