# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut mcp config CLIENT`: what connects an agent's program to the server."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from ..environment.blender import find_blender
from ..environment.mcp_clients import CLIENTS, NAME, config_file, config_text, server_command, write_config
from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter
from .mcp import add_task_arguments, task_arguments

PASSED_ON = ("MATCHCUT_BRIDGE_FOLDER",)
DESCRIPTION = f"""Print what connects an agent's program to `matchcut mcp`: absolute paths, timeouts that suit renders.

What is printed goes to standard output, where to put it to standard error. With --write it is merged into the client's
file: other entries stay as they are, the file as it was is kept beside it, and a file that cannot be read exactly
(comments in JSON) is left alone. The other options are given to the server.

clients: {", ".join(CLIENTS)}

examples:
  matchcut mcp config claude-code
  matchcut mcp config codex --write
  matchcut mcp config gemini --scene shot.blend --reference shot.mp4"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `matchcut mcp config`."""
    parser.add_argument("client", choices=CLIENTS, metavar="CLIENT", help="the program to connect")
    parser.add_argument("--write", action="store_true", help="merge it into the client's file")
    add_task_arguments(parser)


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Print or write the configuration; returns the exit status."""
    command, environment = server_command(*task_arguments(args)), needed_environment()
    path = config_file(args.client)
    if not args.write:
        sys.stderr.write(f"{CLIENTS[args.client].note}\n{f'File: {path}' if path else ''}\n")
        text = config_text(args.client, command, environment)
        if args.messages:
            reporter.result("", {"text": text, "file": str(path or "")})
        else:
            sys.stdout.write(text + "\n")
        return ExitStatus.DONE
    backup = write_config(args.client, command, environment)
    kept = f"; as it was before: {backup}" if backup is not None else ""
    reporter.result(str(path), {"file": str(path), "backup": str(backup or "")})
    if not args.messages:
        sys.stdout.write(f"{path}: has the server {NAME!r}{kept}\n")
    return ExitStatus.DONE


def needed_environment() -> dict[str, str]:
    """The variables that the server needs and a client would not pass on: which Blender, and where its bridge is."""
    found = {name: os.environ[name] for name in PASSED_ON if os.environ.get(name)}
    named = os.environ.get("BLENDER")
    if named:
        return {"BLENDER": shutil.which(named) or named, **found}
    try:
        blender = find_blender()
    except BadInputError as error:
        sys.stderr.write(f"matchcut: {error}\n")
        return found
    return {"BLENDER": blender.path, **found} if blender.kind == "program" else found  # the wheel is found again
