# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut setup`: make the environments. Needs nothing but the standard library."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from ..environment.create import BPY, EVALUATOR, TEST_TOOLS, add_packages, default_folder, install
from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter

DESCRIPTION = """Make the environments that the commands run in, from the lock files.

Without an option: the evaluator's. An environment that is complete is left as it is."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `matchcut setup`."""
    parser.add_argument(
        "--evaluator", action="store_true", help="what the evaluator and the MCP server need (the default)"
    )
    parser.add_argument("--bpy", action="store_true", help="the bpy wheel, for a machine without Blender (Python 3.13)")
    parser.add_argument("--tests", action="store_true", help="the test tools too, in each of them")
    parser.add_argument("--into", type=Path, metavar="DIR", help="make the evaluator's environment in DIR")
    parser.add_argument("--python", metavar="PATH", help="the interpreter to make it with")


def run(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Make what was asked for; returns the exit status."""
    kinds = [BPY] if arguments.bpy else []
    if arguments.evaluator or not kinds:
        kinds.insert(0, EVALUATOR)
    for kind in kinds:
        folder = arguments.into if kind is EVALUATOR and arguments.into else default_folder(kind)
        tell = partial(reporter.progress, f"setup, {kind.name}")
        python = install(kind, folder.absolute(), say=reporter.status, tell=tell, python=arguments.python)
        if arguments.tests:
            add_packages(folder, TEST_TOOLS, tell=partial(reporter.progress, "setup, tests"))
        reporter.result(str(python), {"environment": kind.name})
    return ExitStatus.DONE
