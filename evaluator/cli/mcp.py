# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut mcp`: standard input and output belong to the MCP client; everything else goes to standard error."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final, get_args

from ...mcp_server.child import Child
from ...mcp_server.session import Session
from ...mcp_server.workplace import Setting, Task, Workplace
from ..environment.blender import find_blender
from ..environment.screen import in_window, window_prefix
from ..protocol.children import child_environment
from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter
from ..protocol.transcript import TranscriptWriter
from ..protocol.version import VERSION

if TYPE_CHECKING:
    from ...mcp_server.renders import Renders

SUBCOMMANDS = {"config": "mcp_config", "doctor": "mcp_doctor"}
INSTANCE_VARIABLE: Final = "MATCHCUT_INSTANCE"
CLEAN_VARIABLE: Final = "MATCHCUT_CLEAN"
KEPT: Final = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR", "TMP", "TEMP", "DISPLAY",
    "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "LD_LIBRARY_PATH", "BLENDER", "MATCHCUT_BRIDGE_FOLDER",
    "MATCHCUT_MCP_TOKEN", INSTANCE_VARIABLE, "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT",
    "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "NUMBER_OF_PROCESSORS",
)  # fmt: skip
KEPT_BEGINNINGS: Final = ("LC_", "CUDA_", "NVIDIA_", "HIP_", "ROCR_", "OMP_", "CYCLES_", "LIBGL_", "MESA_", "BLENDER_")

DESCRIPTION = """Serve a Blender scene to an agent over MCP, on standard input and output.

Without options it works in the Blender whose Agent panel was started; where none was, in one of its own in the
background, which ends with the server. `mcp config CLIENT` prints what connects Claude Code, Codex CLI and others;
`mcp doctor` goes through every hop between agent and scene and names the broken one.

--reference, --setting and --output say what is to be rebuilt: the prompt `reconstruct` and the resource
matchcut://task then tell the agent. With --benchmark as well, tools that score are not there, and the agent may name
no file outside OUTPUT but the reference; docs/agents.md says what else keeps a benchmark's data from it.

examples:
  matchcut mcp
  matchcut mcp --scene shot.blend --reference shot.mp4 --setting simplified --output out/
  matchcut mcp --headless --benchmark --reference task/reference.mp4 --setting proxy --output task/out \\
      --transcript record/task.jsonl
  matchcut mcp --http --port 8765
  matchcut mcp config claude-code
  matchcut mcp doctor"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    add_task_arguments(parser)
    http = parser.add_argument_group("streamable HTTP in place of standard input and output")
    http.add_argument("--http", action="store_true", help="listen on 127.0.0.1; who connects needs the token")
    http.add_argument("--port", type=int, default=None, metavar="N", help="the port (default: a free one)")


def add_task_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that say where the server works and at what."""
    blender = parser.add_argument_group("which Blender")
    blender.add_argument("--scene", type=Path, metavar="FILE", help="open this .blend in a Blender of its own")
    blender.add_argument("--headless", action="store_true", help="use a Blender of its own even where one is open")
    blender.add_argument(
        "--window", action="store_true", help="its own Blender has a window, on a virtual screen (Linux: xvfb-run)"
    )
    blender.add_argument(
        "--instance", type=int, metavar="PID", help=f"the open Blender to work in (or ${INSTANCE_VARIABLE})"
    )
    task = parser.add_argument_group("the task")
    task.add_argument("--reference", type=Path, metavar="FILE", help="the video to be rebuilt")
    task.add_argument("--setting", choices=get_args(Setting), help="how detailed (default: simplified)")
    task.add_argument("--output", type=Path, metavar="DIR", help="where renders and the submission go; is made")
    task.add_argument("--benchmark", action="store_true", help="no tool that scores; needs the three above")
    task.add_argument(
        "--no-refine",
        action="store_true",
        help="rendering, looking and comparing end with the first render of all frames",
    )
    task.add_argument(
        "--transcript", type=Path, metavar="FILE",
        help="append every request with its time, sizes and outcome (default with --benchmark: OUTPUT.jsonl)",
    )  # fmt: skip
    task.add_argument(
        "--folder", type=Path, action="append", default=[], metavar="DIR",
        help="a folder whose files the agent may name; can be given several times (default: --output, else the "
        "current one)",
    )  # fmt: skip


def task_arguments(args: argparse.Namespace) -> list[str]:
    """The parsed options of `add_task_arguments` as a command line, with absolute paths."""
    paths = {name: getattr(args, name) for name in ("scene", "reference", "output", "transcript")}
    found = [f"--{name}={path.absolute()}" for name, path in paths.items() if path is not None]
    found += [f"--folder={folder.absolute()}" for folder in args.folder]
    found += [f"--{name}={value}" for name in ("instance", "setting") if (value := getattr(args, name)) is not None]
    found += ["--no-refine"] if args.no_refine else []
    return found + [f"--{name}" for name in ("headless", "window", "benchmark") if getattr(args, name)]


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Serve until standard input ends, or until interrupted with --http."""
    if args.messages and not args.http:
        raise BadInputError("mcp: standard output belongs to the MCP client; run it without --messages")
    if args.port is not None and not (args.http and 0 <= args.port < 2**16):
        raise BadInputError("--port is a number from 0 to 65535, and goes with --http")
    scene = args.scene.resolve() if args.scene is not None else None
    if scene is not None and not scene.is_file():
        raise BadInputError(f"{scene}: there is no such file; give --scene an existing .blend")
    instance = args.instance if args.instance is not None else _instance_from_environment()
    own = args.headless or args.window or scene is not None
    if own and args.instance is not None:
        raise BadInputError(
            "--instance names an open Blender; --headless, --window and --scene start another one: give one of them"
        )
    if args.window:
        window_prefix(find_blender())  # said now rather than at the agent's first call
    task = _task(args)
    workplace = Workplace(_folders(args.folder, scene, task), task)
    transcript_path = _transcript_path(args.transcript, workplace)
    if task.benchmark and task.output is not None:
        _forget_the_environment()
        os.chdir(task.output)  # children start here too, and not where a runner keeps its things

    def launch(label: str, given_up: threading.Event) -> Child:
        blender, asked = find_blender(), ("bridge", "--label", label, "--end-with-stdin")
        if args.window:
            command = in_window(window_prefix(blender), blender, *asked, scene=scene)
        else:
            command = blender.command(*asked, scene=scene)
        return Child.start(command, label, child_environment(), given_up)

    from ...mcp_server.renders import Renders  # the SDK takes a second: what is wrong above is said before

    transcript = _transcript(transcript_path, task, "http" if args.http else "stdio")
    session = Session(launch, own=own, instance=None if own else instance)
    renders = Renders(workplace, transcript)
    try:
        _serve(args, reporter, session, renders, transcript)
    finally:
        renders.close()
        session.close()
        if transcript is not None:
            transcript.close()
    return ExitStatus.DONE


def _serve(
    args: argparse.Namespace, reporter: Reporter, session: Session, renders: Renders,
    transcript: TranscriptWriter | None,
) -> None:  # fmt: skip
    from ...mcp_server.server import make_server

    server = make_server(session, renders, transcript)
    if args.http:
        from ...mcp_server.serve_http import TOKEN_VARIABLE, serve_http

        def say(address: str, token: Path | None) -> None:
            place = str(token) if token is not None else f"${TOKEN_VARIABLE}"
            sys.stderr.write(f"matchcut: MCP at {address}; its token is in {place}\n")
            reporter.result(str(token or ""), {"url": address})

        serve_http(server, args.port or 0, say)
        return
    for name in ("SIGINT", "SIGTERM", "SIGBREAK"):  # the last on Windows alone
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _end_now)
    server.run("stdio")


def _task(args: argparse.Namespace) -> Task:
    reference: Path | None = args.reference.resolve() if args.reference is not None else None
    output: Path | None = args.output.resolve() if args.output is not None else None
    if args.benchmark and (reference is None or args.setting is None or output is None):
        raise BadInputError("--benchmark needs the whole task: give --reference, --setting and --output")
    if reference is not None and not reference.is_file():
        raise BadInputError(f"{reference}: there is no such file; give --reference an existing video")
    if args.benchmark:
        for path, option in ((reference, "--reference"), (output, "--output")):
            _refuse_benchmark(path, option)
    if output is not None:
        if output.exists() and not output.is_dir():
            raise BadInputError(f"{output}: this is a file; give --output a folder")
        output.mkdir(parents=True, exist_ok=True)
    return Task(reference, args.setting or "simplified", output, args.benchmark, args.no_refine)


def _refuse_benchmark(path: Path | None, option: str) -> None:
    """Checklists lie beside a benchmark's references, and a path tells the agent where it could look for them."""
    assert path is not None
    beside = [path.parent / "video.json", path.parent / "clips"]
    for sign in [*beside, *(folder / "benchmark.json" for folder in path.parents)]:
        if sign.exists():
            raise BadInputError(
                f"{path}: {option} lies in a benchmark, beside {sign.name}; in benchmark mode give the agent a copy in "
                "a folder of its own"
            )


def _folders(named: list[Path], scene: Path | None, task: Task | None = None) -> list[Path]:
    """Below which files may be named: the output, those that the user names, else where the client started this."""
    for folder in named:
        if not folder.is_dir():
            raise BadInputError(f"{folder}: there is no such folder; give --folder an existing one")
    task = task or Task()
    here = Path.cwd()
    # some clients start their servers in the root folder: that would be every file of the machine
    fallback = [here] if here != Path(here.anchor) and task.output is None else []
    folders = [*([task.output] if task.output is not None else []), *named] or fallback
    return [*folders, *([scene.parent] if scene is not None and not task.benchmark else [])]


def _transcript_path(given: Path | None, workplace: Workplace) -> Path | None:
    task = workplace.task
    if given is None:
        return task.output.with_name(f"{task.output.name}.jsonl") if task.benchmark and task.output else None
    path = given.resolve()
    if task.benchmark and any(path.is_relative_to(folder) for folder in workplace.folders):
        raise BadInputError(f"{path}: the agent may write there; give --transcript a place outside its folders")
    return path


def _transcript(path: Path | None, task: Task, transport: str) -> TranscriptWriter | None:
    if path is None:
        return None
    return TranscriptWriter(
        path, version=VERSION, transport=transport, benchmark=task.benchmark, setting=task.setting,
        reference=task.reference.name if task.reference is not None else None,
    )  # fmt: skip


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What of an environment a Blender needs: no keys, and nothing that leads to a benchmark."""
    kept = {
        name: value
        for name, value in environment.items()
        if name.upper() in KEPT or name.upper().startswith(KEPT_BEGINNINGS)
    }
    return {**kept, CLEAN_VARIABLE: "1"}


def _forget_the_environment() -> None:
    """Keep code that an agent runs from reading keys and paths in the environment, of this process too on Linux."""
    if os.environ.get(CLEAN_VARIABLE) == "1":
        return
    clean = clean_environment(os.environ)
    if os.name == "posix":
        # what a process was started with stays readable in /proc for as long as it lives
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], clean)
    for name in set(os.environ) - set(clean):
        del os.environ[name]
    os.environ.update(clean)


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
