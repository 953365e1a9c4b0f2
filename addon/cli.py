# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that run inside Blender, and the way from there to those of the evaluator."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

import bpy

from ..evaluator.protocol.children import child_environment, follow_parent, interrupt, kill_group, own_group
from ..evaluator.protocol.errors import BadInputError, CancelledByUserError, ExitStatus, MatchcutError
from .scene_file import open_scene, save_copy

USAGE = """usage: COMMAND ARGS
  render-job JOB_FOLDER [--frames A-B] [--skip F,G]   render a job or a part, as `matchcut render` starts it
  audit-scene SCENE FOLDER      list what a scene holds, as `matchcut audit` starts it
  describe-scene SCENE OUT.json  tell a scene's timeline and outside files, as `matchcut package` starts it
  scene-content SCENE OUT.json  tell by a hash what a scene holds, as `matchcut score` starts it
  sample NAME VARIANT OUT.blend  build a sample scene
  bridge                        serve the opened scene to an MCP server
  score | render | audit …      the evaluator's, with the opened scene where no --scene is given
  any other                     the evaluator's: check, probe, sgc, doctor …
"""
SCENE_COMMANDS = ("score", "render", "audit")
STANDALONE_COMMANDS = ("doctor", "setup", "cache")
"""Those that need no package, as they make the evaluator's environment or say what it lacks: Blender's own Python runs
them."""
FOLLOW_PARENT = "--follow-parent"
GRACE_SECONDS = 10.0  # that a cancelled command may take to end its own children


def main(arguments: list[str], scene: str | None = None) -> int | None:
    """Run one command; `scene` is a .blend to open first. Returns the exit status; a user's error does not raise.

    None says that Blender is to go on: a bridge in a window is driven by Blender's own loop.
    """
    try:
        if scene is not None:
            open_scene(Path(scene).resolve())
        return _dispatch(arguments)
    except MatchcutError as error:
        sys.stderr.write(f"matchcut: {error}\n")
        return error.exit_status
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        sys.stderr.write(f"matchcut: {where}{error.strerror or error}; see to that, and run this again\n")
        return ExitStatus.OPERATIONAL_FAILURE
    except KeyboardInterrupt:
        sys.stderr.write("matchcut: cancelled\n")
        return CancelledByUserError.exit_status


def _dispatch(arguments: list[str]) -> int | None:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(USAGE)
        return ExitStatus.DONE if arguments else ExitStatus.BAD_INPUT
    command, rest = arguments[0], arguments[1:]
    if command == "render-job":
        return _render_job(rest)
    if command == "audit-scene":
        return _audit_scene(rest)
    if command == "describe-scene":
        return _describe_scene(rest)
    if command == "scene-content":
        return _scene_content(rest)
    if command == "sample":
        return _sample(rest)
    if command == "bridge":
        if not bpy.app.background:
            from .bridge.window import serve_in_window

            serve_in_window(rest)
            return None
        from .bridge.server import serve_headless

        return int(serve_headless(rest))
    return _evaluator(command, rest)


def _render_job(rest: list[str]) -> int:
    folders, frames, skip = _follow_parent(rest), None, frozenset[int]()
    try:
        while len(folders) > 2 and folders[-2] in ("--frames", "--skip"):
            name, value = folders[-2:]
            if name == "--frames":
                first, last = map(int, value.split("-"))
                frames = (first, last)
            else:
                skip = frozenset(map(int, value.split(",")))
            folders = folders[:-2]
    except ValueError:
        raise BadInputError(f"render-job: {name} {value} cannot be read; write 0-47, or 3,17") from None
    if len(folders) != 1 or not Path(folders[0]).is_dir():
        raise BadInputError(f"render-job takes one folder that is there; got {folders}")
    from .render.job import run_job

    return run_job(Path(folders[0]).resolve(), frames, skip)


def _audit_scene(rest: list[str]) -> int:
    rest = _follow_parent(rest)
    if len(rest) != 3 or not Path(rest[1]).is_dir() or not rest[2].isdecimal():
        raise BadInputError(f"audit-scene takes a .blend, a folder that is there and a number of frames; got {rest}")
    from .audit.collect import audit_scene

    audit_scene(Path(rest[0]).resolve(), Path(rest[1]).resolve(), int(rest[2]))
    return ExitStatus.DONE


def _describe_scene(rest: list[str]) -> int:
    rest = _follow_parent(rest)
    if len(rest) != 2:
        raise BadInputError(f"describe-scene takes a .blend and the file to write; got {rest}")
    from .describe import describe_scene

    describe_scene(Path(rest[0]).resolve(), Path(rest[1]).resolve())
    return ExitStatus.DONE


def _scene_content(rest: list[str]) -> int:
    rest = _follow_parent(rest)
    if len(rest) != 2:
        raise BadInputError(f"scene-content takes a .blend and the file to write; got {rest}")
    from .content import tell_content

    tell_content(Path(rest[0]).resolve(), Path(rest[1]).resolve())
    return ExitStatus.DONE


def _follow_parent(arguments: list[str]) -> list[str]:
    """The arguments without `--follow-parent`; where it is among them, this process ends with its parent from now."""
    if FOLLOW_PARENT in arguments:
        # frames are written whole or not at all: nothing needs tidying
        follow_parent(lambda: os._exit(ExitStatus.OPERATIONAL_FAILURE))
    return [argument for argument in arguments if argument != FOLLOW_PARENT]


def _sample(rest: list[str]) -> int:
    rest = _follow_parent(rest)
    if len(rest) != 3:
        raise BadInputError("sample takes NAME VARIANT OUT.blend")
    from ..assets_ui.samples import build_sample

    build_sample(rest[0], rest[1], Path(rest[2]).resolve())
    return ExitStatus.DONE


def _evaluator(command: str, rest: list[str]) -> int:
    from .evaluator_process import PACKAGE_ROOT, find_evaluator

    if command in STANDALONE_COMMANDS:
        prefix, rest = [sys.executable, str(PACKAGE_ROOT / "__main__.py")], _into_own_folder(command, rest)
    else:
        prefix = find_evaluator()
    if command in SCENE_COMMANDS and not _has_option(rest, "--scene") and not {"-h", "--help"} & set(rest):
        if bpy.data.filepath and command == "audit":  # the very file that is handed in, not a copy of what is open
            rest = [*rest, "--scene", bpy.data.filepath]
        elif bpy.data.filepath:
            rest = [*rest, "--scene", str(_save_copy(_value_of(rest, "--out")))]
        elif not _has_option(rest, "--reconstruction"):
            raise BadInputError(f"{command}: no scene is opened; open a .blend first, or name it with --scene")
    environment = child_environment(bpy.app.binary_path or sys.executable)
    try:
        return _run([*prefix, command, *rest], environment)
    except OSError as error:
        raise BadInputError(f"{prefix[0]}: the evaluator does not start ({error})") from error


def _into_own_folder(command: str, rest: list[str]) -> list[str]:
    """The arguments of `setup` with the folder that the add-on's own button installs into, where it has one."""
    from .preferences import evaluator_folder

    if command != "setup" or _has_option(rest, "--into") or {"-h", "--help"} & set(rest):
        return rest
    downloads = not {"--remove", "--check"} & set(rest)
    if downloads and bpy.app.binary_path and not bpy.app.online_access:
        raise BadInputError(
            "setup: online access is off; start Blender with --online-mode, or allow it in its preferences"
        )
    folder = evaluator_folder(create=True)
    return [*rest, "--into", str(folder)] if folder is not None else rest


def _has_option(arguments: list[str], name: str) -> bool:
    return any(argument == name or argument.startswith(f"{name}=") for argument in arguments)


def _value_of(arguments: list[str], name: str) -> str:
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if argument == name and following:
            return following
        if argument.startswith(f"{name}="):
            return argument.partition("=")[2]
    raise BadInputError(f"{name} is missing: say where the results go, as {name} FOLDER")


def _save_copy(out: str) -> Path:
    copy = Path(out).resolve() / "scene.blend"
    if Path(bpy.data.filepath or ".").resolve() == copy:
        raise BadInputError(f"{copy} is the opened scene itself; give another --out, or name it with --scene")
    return save_copy(bpy.context.scene, copy)


def _on_terminate(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _run(command: list[str], environment: dict[str, str]) -> int:
    """Run an evaluator command on our own standard streams; end it, and wait for it, when we are asked to stop."""
    signal.signal(signal.SIGINT, _on_terminate)
    signal.signal(signal.SIGTERM, _on_terminate)
    # Blender writes with C's buffers, we with Python's: both go out before the child's lines
    sys.stdout.flush()
    sys.stderr.flush()
    process = subprocess.Popen(command, env=environment, **own_group())
    try:
        return process.wait()
    except KeyboardInterrupt:
        interrupt(process)
        try:
            return process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            raise KeyboardInterrupt from None
    finally:
        kill_group(process)  # nothing where it has ended
