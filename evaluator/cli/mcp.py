# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut mcp`: standard input and output belong to the MCP client; everything else goes to standard error."""

from __future__ import annotations

import argparse
import os
import signal
import threading
from pathlib import Path
from types import FrameType

from ...mcp_server.child import Child
from ...mcp_server.session import Session
from ...mcp_server.workplace import Workplace
from ..environment.blender import find_blender
from ..protocol.children import child_environment
from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter

INSTANCE_VARIABLE = "MATCHCUT_INSTANCE"

DESCRIPTION = """Serve a Blender scene to an agent over MCP on standard input and output.

Without options it works in the Blender whose Agent panel was started; where none was, in one of its own in the
background, which ends with the server. docs/agents.md shows how to connect Claude Code, Codex CLI and others."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("--scene", type=Path, metavar="FILE", help="open this .blend in a Blender of its own")
    parser.add_argument("--headless", action="store_true", help="use a Blender of its own even where one is open")
    parser.add_argument(
        "--instance", type=int, metavar="PID", help=f"the open Blender to work in (or ${INSTANCE_VARIABLE})"
    )
    parser.add_argument(
        "--folder", type=Path, action="append", default=[], metavar="DIR",
        help="a folder whose files the agent may name for renders; can be given several times (default: the current "
        "one)",
    )  # fmt: skip


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Serve until standard input ends. Nothing is said through the reporter: the client owns standard output."""
    if args.messages:
        raise BadInputError("mcp: standard output belongs to the MCP client; run it without --messages")
    scene = args.scene.resolve() if args.scene is not None else None
    if scene is not None and not scene.is_file():
        raise BadInputError(f"{scene}: there is no such file; give --scene an existing .blend")
    instance = args.instance if args.instance is not None else _instance_from_environment()
    own = args.headless or scene is not None
    if own and args.instance is not None:
        raise BadInputError(
            "--instance names an open Blender; --headless and --scene start another one: give one of them"
        )

    def launch(label: str, given_up: threading.Event) -> Child:
        command = find_blender().command("bridge", "--label", label, "--end-with-stdin", scene=scene)
        return Child.start(command, label, child_environment(), given_up)

    from ...mcp_server.renders import Renders
    from ...mcp_server.server import make_server  # the SDK takes a second: what is wrong above is said before

    session = Session(launch, own=own, instance=None if own else instance)
    renders = Renders(Workplace(_folders(args.folder, scene)))
    for name in ("SIGINT", "SIGTERM", "SIGBREAK"):  # the last on Windows alone
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _end_now)
    try:
        make_server(session, renders).run("stdio")
    finally:
        renders.close()
        session.close()
    return ExitStatus.DONE


def _folders(named: list[Path], scene: Path | None) -> list[Path]:
    """Below which files may be named: those that the user names, else where the client has started this server."""
    for folder in named:
        if not folder.is_dir():
            raise BadInputError(f"{folder}: there is no such folder; give --folder an existing one")
    here = Path.cwd()
    # some clients start their servers in the root folder: that would be every file of the machine
    folders = named or ([here] if here != Path(here.anchor) else [])
    return [*folders, *([scene.parent] if scene is not None else [])]


def _instance_from_environment() -> int | None:
    text = os.environ.get(INSTANCE_VARIABLE)
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise BadInputError(f"{INSTANCE_VARIABLE} is {text!r}; expected the process id of a Blender") from None


def _end_now(signum: int, frame: FrameType | None) -> None:
    # a thread of the MCP library waits in a read of standard input that nothing can interrupt; our Blender ends by
    # itself when this process, and with it the pipe between them, is gone
    os._exit(ExitStatus.CANCELLED)
