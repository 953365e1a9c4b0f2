# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut setup`: make the environments, look at them, remove them. Needs nothing but the standard library."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from ..environment.create import BPY, EVALUATOR, TEST_TOOLS, Kind, add_packages, default_folder, install, remove
from ..environment.packages import OPTIONAL, examine_packages
from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter

DESCRIPTION = """Make the environments that the commands run in, from the lock files.

Without an option: the evaluator's. An environment that is complete is left as it is; one of another lock file,
or whose Python is gone, is made anew. What was downloaded is kept, so that an interrupted run goes on from there.

  matchcut setup                          the evaluator's environment
  matchcut setup --bpy                    the bpy wheel too, for a machine without Blender
  matchcut setup --check                  whether the Python that runs this has what is needed
  matchcut setup --remove --into DIR      delete an environment

docs/install.md tells what to do where it cannot be made."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `matchcut setup`."""
    parser.add_argument(
        "--evaluator", action="store_true", help="what the evaluator and the MCP server need (the default)"
    )
    parser.add_argument("--bpy", action="store_true", help="the bpy wheel, for a machine without Blender (Python 3.13)")
    parser.add_argument("--tests", action="store_true", help="the test tools too, in each of them")
    parser.add_argument("--into", type=Path, metavar="DIR", help="make the evaluator's environment in DIR")
    parser.add_argument(
        "--python", metavar="PATH", help="the interpreter to make it with; another is taken where it cannot be used"
    )
    parser.add_argument("--anew", action="store_true", help="also where it is complete, as it may be damaged")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--check", action="store_true", help="make nothing: tell what this Python has of what is needed"
    )
    instead.add_argument("--remove", action="store_true", help="delete the environment instead")


def run(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Make what was asked for; returns the exit status."""
    if arguments.check:
        return _check(arguments, reporter)
    kinds = [BPY] if arguments.bpy else []
    if arguments.evaluator or not kinds:
        kinds.insert(0, EVALUATOR)
    for kind in kinds:
        folder = (arguments.into if kind is EVALUATOR and arguments.into else default_folder(kind)).absolute()
        if arguments.remove:
            size = remove(folder, say=reporter.status)
            reporter.result(str(folder), {"removed_bytes": size})
        else:
            python = _install(arguments, kind, folder, reporter)
            reporter.result(str(python), {"environment": kind.name})
    return ExitStatus.DONE


def _install(arguments: argparse.Namespace, kind: Kind, folder: Path, reporter: Reporter) -> Path:
    python = install(
        kind, folder, say=reporter.status, tell=reporter.progress, python=arguments.python, anew=arguments.anew
    )
    if arguments.tests:
        add_packages(folder, TEST_TOOLS, tell=reporter.progress)
    return python


def _check(arguments: argparse.Namespace, reporter: Reporter) -> int:
    found = examine_packages()
    needed = {name: why for name, why in found.missing.items() if name not in OPTIONAL}
    if needed:
        names = ", ".join(needed)
        raise BadInputError(
            f"this Python ({found.python}) lacks {len(needed)} of the packages: {names}; choose another"
            " one, or have Matchcut install its own"
        )
    if arguments.messages:
        reporter.result(found.executable, asdict(found))
    else:
        sys.stdout.write(json.dumps(asdict(found), indent=2) + "\n")
    return ExitStatus.DONE
