# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line's front: finds the command's module, runs it, and turns errors into one line and an exit status."""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import os
import signal
import sys
import time
from collections.abc import Callable
from io import TextIOWrapper
from types import FrameType
from typing import NoReturn, Protocol, cast

from ..protocol.children import follow_parent
from ..protocol.errors import CancelledByUserError, ExitStatus, MatchcutError
from ..protocol.messages import Reporter
from ..protocol.version import VERSION
from .reporters import make_reporter

# name → (module beside this one, one line of help). A module is imported only when its command runs.
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("demo", "render the sample, score it, and write demo/report.html"),
    "score": ("score", "score a reconstruction against its reference and write a report"),
    "probe": ("probe", "show what a video really is: size, rate, frames, warnings"),
    "frames": ("frames", "show frames of a video: a labelled sheet, or single frames in detail"),
    "decode": ("decode", "decode frames of a video ahead into the cache that the window shows them from"),
    "motion": ("motion", "measure what moves in a video: shots, the camera, and regions, as numbers"),
    "check": ("check", "compare the timelines and cuts of a reference and a reconstruction"),
    "compare": ("compare", "make a side-by-side video and a contact sheet of a reference and a reconstruction"),
    "stills": ("stills", "compare single frames with a reference: one picture, and how far they are apart"),
    "conform": ("conform", "rewrite a reference at a constant rate, upright, and list every decision"),
    "encode": ("encode", "make a video of a folder of pictures at an exact rate"),
    "render": ("render", "render a scene on its reference's timeline in a child Blender"),
    "farm": ("farm", "render a scene on a Flamenco farm, and collect the verified video"),
    "audit": ("audit", "look through a scene for what a reconstruction may not contain"),
    "package": ("package", "make the folder of deliverables from a finished render"),
    "validate": ("validate", "check a folder of deliverables as a stranger would"),
    "sgc": ("sgc", "measure the 3D geometric consistency (SGC) of videos or rendered scenes"),
    "camera": ("camera", "fit a camera to lines or points of a picture, or take on a measured motion"),
    "checklist": ("checklist", "check the files of a checklist or a benchmark, and count what they ask"),
    "judge": ("judge", "have a judge rate the submissions of a benchmark, and see how far to trust it"),
    "table": ("table", "print the scores of a judged benchmark"),
    "bench": ("bench", "let agents rebuild the videos of a benchmark, and judge what they hand in"),
    "agreement": ("agreement", "ask people to compare reconstructions, and whether they agree with the judge"),
    "schemas": ("schemas", "write the JSON Schemas of all files"),
    "mcp": ("mcp", "serve a Blender scene to an agent over MCP (stdio)"),
    "extension": ("extension", "build the Blender extension's zip"),
    "doctor": ("doctor", "show what was found, what is missing, and what mends it"),
    "setup": ("setup", "make the environments that the commands run in"),
    "cache": ("cache", "show what the caches hold, and empty them"),
    "perf": ("perf", "measure what the commands cost, as ratios in one run (from a checkout)"),
    "test": ("test", "run the tests that this machine allows"),
}

UNUSABLE_PATH = frozenset(
    {
        errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST, errno.EACCES, errno.EPERM,
        errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL,
    }
)  # fmt: skip
"""Errors of the system that say that a given path is the fault; with any other one a second try may work."""

ORPHAN_SECONDS = 10.0
"""That a command takes to stop once its parent is gone, before it is ended by force."""

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
    lines = [
        "usage: matchcut COMMAND [options]   (matchcut COMMAND --help tells more; in a checkout: ./run COMMAND)",
        "",
    ]
    lines += ["Rebuild a reference shot in Blender, and score the match.", "", "commands:"]
    lines += [f"  {name:<10} {text}" for name, (_, text) in COMMANDS.items()]
    return "\n".join([*lines, "", EXAMPLES, ""])


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one line."""

    def error(self, message: str) -> NoReturn:
        """See argparse.ArgumentParser."""
        self.exit(ExitStatus.BAD_INPUT, f"{self.prog}: {message}; see {self.prog} --help\n")


def _on_terminate(signum: int, frame: FrameType | None) -> None:
    # a parent's polite request to stop ends the command the way Ctrl-C does: children are ended, partial files removed
    raise KeyboardInterrupt


def _end_with_parent() -> None:
    """Stop the way Ctrl-C does; what does not within a while is ended, and its children by the end of their input."""
    if os.name == "posix":
        os.kill(os.getpid(), signal.SIGINT)  # wakes the main thread from what it waits for
    else:
        signal.raise_signal(signal.SIGINT)
    time.sleep(ORPHAN_SECONDS)
    os._exit(ExitStatus.CANCELLED)


def main(arguments: list[str]) -> int:
    """Run one command; `arguments` are without the program's name. A user's error gives an exit status."""
    _open_streams()
    try:
        _listen_for_signals()
        status = _run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:  # before the command ran, or while it ended
        sys.stderr.write("matchcut: cancelled\n")
        status = CancelledByUserError.exit_status
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == __name__.split(".")[0]:
            raise
        sys.stderr.write(
            f"matchcut: {sys.executable} has no package {error.name}; run matchcut setup (in a checkout ./run setup),"
            " or name a Python that has it\n"
        )
        status = ExitStatus.BAD_INPUT
    except OSError as error:  # standard output: nobody reads it any more, or its disk is full
        with contextlib.suppress(OSError):  # standard error may go to the same place
            if not isinstance(error, BrokenPipeError):
                sys.stderr.write(f"matchcut: {os_error_line(error)}\n")
        status = ExitStatus.OPERATIONAL_FAILURE
        _drop_output()
    return status


def _open_streams() -> None:
    """See that all three standard streams are there and take any text.

    A descriptor that was closed would be given to the next file that is opened, and a library's own message would land
    in it; a character that the terminal does not know is written by its number.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Send what standard output still holds nowhere, or Python would complain about it once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _listen_for_signals() -> None:
    # a shell starts background jobs with SIGINT ignored, and a parent cancels with it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _on_terminate)
    if hasattr(signal, "SIGBREAK"):
        signal.signal(signal.SIGBREAK, _on_terminate)


def _run(arguments: list[str]) -> int:
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
    inner: dict[str, str] = getattr(module, "SUBCOMMANDS", {})  # name → module beside this one
    if rest and rest[0] in inner:
        module = cast("CommandModule", importlib.import_module(f".{inner[rest[0]]}", __package__))
        name, rest = f"{name} {rest[0]}", rest[1:]
    parser = _Parser(
        prog=f"matchcut {name}", description=module.DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    module.add_arguments(parser)
    parser.add_argument(
        "--messages", action="store_true", help="write progress as one JSON message a line (for programs)"
    )
    parser.add_argument(
        "--follow-parent", action="store_true", help="stop, as if cancelled, when standard input ends (for programs)"
    )
    parsed = parser.parse_args(rest)
    read_input = getattr(module, "read_input", None)
    if read_input is not None:  # before its end is waited for
        read_input(parsed)
    if parsed.follow_parent:
        follow_parent(_end_with_parent)
    return run_command(module, parsed)


def run_command(module: CommandModule, parsed: argparse.Namespace) -> int:
    """Run a parsed command under a reporter, mapping errors to messages and exit statuses.

    Raises BrokenPipeError where nobody reads standard output any more.
    """
    with make_reporter(as_messages=parsed.messages) as reporter:
        try:
            status = module.run(parsed, reporter)
        except MatchcutError as error:
            reporter.error(_one_line(str(error)))
            status = error.exit_status
        except KeyboardInterrupt:
            reporter.error("cancelled")
            status = CancelledByUserError.exit_status
        except BrokenPipeError:
            raise
        except OSError as error:  # what no stage foresaw: a disk that fills up, a folder that may not be entered
            reporter.error(os_error_line(error))
            status = ExitStatus.BAD_INPUT if error.errno in UNUSABLE_PATH else ExitStatus.OPERATIONAL_FAILURE
        except MemoryError:
            reporter.error(
                "there is not enough memory for this; give a smaller video or scene, or close other programs"
            )
            status = ExitStatus.OPERATIONAL_FAILURE
        reporter.done(status)
    return int(status)


def os_error_line(error: OSError) -> str:
    """One line for an error of the system that has no better words: the file where it is known, and what to do."""
    where = f"{error.filename}: " if error.filename is not None else ""
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
        return _one_line(f"{where}the disk is full; free some space, or choose another folder, and run this again")
    return _one_line(f"{where}{error.strerror or error}; see to that, and run this again")


def _one_line(text: str) -> str:
    # a file's name may hold line feeds
    return " ".join(text.splitlines())
