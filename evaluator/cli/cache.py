# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut cache`: how much the caches hold, and how they are emptied. Needs nothing but the standard library."""

from __future__ import annotations

import argparse
import json
import sys

from ..environment.caches import caches, clear
from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter

DESCRIPTION = """Show what lies in this user's caches, or empty one. All of it can be made or downloaded again.

  matchcut cache                    name, size and folder of each
  matchcut cache --clear frames     empty that one; --clear all empties every one

Beside the caches, `scratch` counts the temporary folders that killed runs have left."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `matchcut cache`."""
    parser.add_argument(
        "--clear", action="append", default=[], metavar="NAME", help="empty this one, or all; repeatable"
    )
    parser.add_argument("--json", action="store_true", help="print the answer as one JSON document")


def run(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """List or clear; returns the exit status."""
    names = [cache.name for cache in caches()] if "all" in arguments.clear else arguments.clear
    freed = {name: clear(name) for name in names}
    found = [{"name": one.name, "folder": str(one.folder), "bytes": one.bytes, "files": one.files} for one in caches()]
    data = {"caches": found, "freed": freed}
    if arguments.messages:
        reporter.result("", data)
    elif arguments.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        lines = [f"{name:<12} {size / 1e6:10.1f} MB freed" for name, size in freed.items()]
        lines += [f"{one.name:<12} {one.bytes / 1e6:10.1f} MB  {one.folder}" for one in caches()]
        sys.stdout.write("\n".join([*lines] or ["nothing is cached"]) + "\n")
    return ExitStatus.DONE
