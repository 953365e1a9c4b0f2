# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line's front: finds the command's module, runs it, and turns errors into one line and an exit status."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Protocol, cast

from ..protocol.errors import CancelledByUserError, ExitStatus, MatchcutError
from ..protocol.messages import Reporter
from ..protocol.version import VERSION
from .reporters import make_reporter

# name → (module beside this one, one line of help). A module is imported only when its command runs.
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("demo", "render the sample, score it, and write demo/report.html"),
    "score": ("score", "score a reconstruction against its reference and write a report"),
    "probe": ("probe", "show what a video really is: size, rate, frames, warnings"),
    "check": ("check", "compare the timelines and cuts of a reference and a reconstruction"),
    "render": ("render", "render a scene on its reference's timeline in a child Blender"),
    "sgc": ("sgc", "measure the 3D geometric consistency of a rendered scene"),
    "checklist": ("checklist", "check the files of a checklist"),
    "mcp": ("mcp", "serve a Blender scene to an agent over MCP (stdio)"),
    "extension": ("extension", "build the Blender extension's zip"),
    "doctor": ("doctor", "show what was found, what is missing, and what mends it"),
    "setup": ("setup", "make the environments that the commands run in"),
    "test": ("test", "run the tests that this machine allows"),
}

EXAMPLES = r"""examples:
  matchcut demo
  matchcut score --reference shot.mp4 --reconstruction mine.mp4 --out scored
  matchcut score --reference shot.mp4 --scene mine.blend --checklist clips/ --out scored \
      --judge local:http://127.0.0.1:8000/v1#MODEL
  matchcut probe shot.mp4

exit status: 0 done, 2 bad input, 3 operational failure (worth another try), 130 cancelled"""


class CommandModule(Protocol):
    """What every module of a command offers."""

    DESCRIPTION: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Reporter], int]


def top_level_help() -> str:
    """The text of `matchcut --help`."""
    lines = ["usage: matchcut COMMAND [options]   (matchcut COMMAND --help tells more)", ""]
    lines += ["Rebuild a reference shot in Blender, and score the match.", "", "commands:"]
    lines += [f"  {name:<10} {text}" for name, (_, text) in COMMANDS.items()]
    return "\n".join([*lines, "", EXAMPLES, ""])


def _on_terminate(signum: int, frame: FrameType | None) -> None:
    # a parent's polite request to stop ends the command the way Ctrl-C does: children are ended, partial files removed
    raise KeyboardInterrupt


def main(arguments: list[str]) -> int:
    """Run one command; `arguments` are without the program's name. A user's error gives an exit status."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(top_level_help())
        return ExitStatus.DONE
    if arguments[0] in ("-V", "--version"):
        sys.stdout.write(f"matchcut {VERSION}\n")
        return ExitStatus.DONE
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        sys.stderr.write(f"matchcut: {name!r} is no command; see matchcut --help\n")
        return ExitStatus.BAD_INPUT
    module = cast("CommandModule", importlib.import_module(f".{COMMANDS[name][0]}", __package__))
    parser = argparse.ArgumentParser(
        prog=f"matchcut {name}", description=module.DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    module.add_arguments(parser)
    parser.add_argument(
        "--messages", action="store_true", help="write progress as one JSON message a line (for programs)"
    )
    parsed = parser.parse_args(rest)
    return run_command(module, parsed)


def run_command(module: CommandModule, parsed: argparse.Namespace) -> int:
    """Run a parsed command under a reporter, mapping errors to messages and exit statuses."""
    # a shell starts background jobs with SIGINT ignored, and a parent cancels with it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _on_terminate)
    if hasattr(signal, "SIGBREAK"):
        signal.signal(signal.SIGBREAK, _on_terminate)
    with make_reporter(as_messages=parsed.messages) as reporter:
        try:
            status = module.run(parsed, reporter)
        except MatchcutError as error:
            reporter.error(str(error))
            status = error.exit_status
        except KeyboardInterrupt:
            reporter.error("cancelled")
            status = CancelledByUserError.exit_status
        except BrokenPipeError:
            status = ExitStatus.OPERATIONAL_FAILURE
        reporter.done(status)
    return int(status)
