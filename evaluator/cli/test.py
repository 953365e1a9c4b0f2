# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut test`: the levels of test, each run where the machine allows it and skipped with its reason where not."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..environment.blender import find_blender
from ..environment.condition import python_of
from ..environment.create import (
    BPY,
    EVALUATOR,
    PACKAGE_ROOT,
    TEST_TOOLS,
    add_packages,
    default_folder,
    install,
)
from ..environment.interpreters import BPY_VERSION, find_interpreter
from ..protocol.children import child_environment
from ..protocol.errors import BadInputError, ExitStatus, MatchcutError
from ..protocol.messages import Reporter

DESCRIPTION = """Run the tests that this machine allows, and say which were skipped and why.

levels:
  lint      ruff, and mypy in its strict form
  unit      no Blender
  bpy       inside the bpy wheel (Python 3.13)
  blender   a Blender as a child process, the built zip installed in the real program
  gui       a window on a virtual screen; $BLENDER_WINDOW is the command line that opens one
            (else xvfb-run and $BLENDER); pictures are kept in tests/artifacts
  install   the evaluator installed from a clean profile by its button, cut off, broken, mended; needs a package index
            and downloads some 500 MB, so it runs only where it is named
  clients   Claude Code, Codex CLI, Gemini CLI, Qwen Code, OpenCode, Kimi Code CLI, Grok Build and the MCP inspector
            against our server and a scripted model on the loopback, with no network; npm fetches them (1.9 GB, into
            .venv/clients) the first time, so it runs only where it is named

Further options go to pytest behind --, as in: matchcut test unit -- -k timeline"""


class SkippedLevelError(Exception):
    """A level that the machine cannot run; the text says why."""


@dataclass(frozen=True)
class Level:
    """A level of test: its name, and what runs it with pytest's further options and returns an exit status."""

    name: str
    run: Callable[[Reporter, list[str]], int]
    by_default: bool = True


def _call(command: list[str], **variables: str) -> int:
    return subprocess.run(
        command, cwd=PACKAGE_ROOT, env={**child_environment(), **variables}, stdin=subprocess.DEVNULL, check=False
    ).returncode


def _pytest(python: Path | str, folder: str, options: list[str], **variables: str) -> int:
    return _call([str(python), "-m", "pytest", f"tests/{folder}", *options], **variables)


def _lint(reporter: Reporter, options: list[str]) -> int:
    status = 0
    for command in (["ruff", "check", "."], ["ruff", "format", "--check", "."]):
        status = status or _call([sys.executable, "-m", *command])
    with tempfile.TemporaryDirectory() as folder:
        # the checkout's folder may have any name; mypy has to see it as `matchcut`
        link = Path(folder) / "matchcut"
        try:
            link.symlink_to(PACKAGE_ROOT, target_is_directory=True)
        except OSError:
            shutil.copytree(PACKAGE_ROOT, link, ignore=shutil.ignore_patterns(".venv", ".git", "demo", "dist", "tests"))
        config = PACKAGE_ROOT / "pyproject.toml"
        cache = PACKAGE_ROOT / ".mypy_cache"
        arguments = ["--config-file", str(config), "--cache-dir", str(cache), "-p", "matchcut"]
        return _call([sys.executable, "-m", "mypy", *arguments], MYPYPATH=folder) or status


def _unit(reporter: Reporter, options: list[str]) -> int:
    # a file's tests share what they prepare, so they stay together
    spread = ["-n", "auto", "--dist", "loadfile"] if importlib.util.find_spec("xdist") else []
    return _pytest(sys.executable, "unit", [*spread, *options])


def _bpy_environment(reporter: Reporter) -> Path:
    """The interpreter of the bpy wheel with the test tools in it, made where it is missing."""
    if find_interpreter(BPY_VERSION, BPY_VERSION) is None:
        raise SkippedLevelError("no Python 3.13 was found, and the bpy wheel needs exactly that one")
    folder = default_folder(BPY)
    python = install(BPY, folder, say=reporter.status)
    add_packages(folder, TEST_TOOLS)
    answer = subprocess.run(
        [str(python), "-c", "import bpy"], capture_output=True, text=True, env=child_environment(), check=False
    )
    if answer.returncode != 0:
        reason = (answer.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise SkippedLevelError(f"the bpy wheel does not start ({reason}); run: matchcut doctor")
    return python


def _bpy(reporter: Reporter, options: list[str]) -> int:
    return _pytest(_bpy_environment(reporter), "bpy", options)


def _blender(reporter: Reporter, options: list[str]) -> int:
    variables = {}
    try:
        variables["MATCHCUT_BPY_PYTHON"] = str(_bpy_environment(reporter))
    except SkippedLevelError as skipped:
        reporter.status(f"blender: without the bpy wheel: {skipped}")
    try:
        blender = find_blender()
    except BadInputError as error:
        raise SkippedLevelError(str(error)) from error
    if blender.kind == "program":
        variables["BLENDER"] = blender.path
    return _pytest(sys.executable, "blender", options, **variables)


def _gui(reporter: Reporter, options: list[str]) -> int:
    if not os.environ.get("BLENDER_WINDOW"):
        if shutil.which("xvfb-run") is None:
            raise SkippedLevelError("no virtual screen: install xvfb, or set $BLENDER_WINDOW")
        try:
            blender = find_blender()
        except BadInputError as error:
            raise SkippedLevelError(str(error)) from error
        if blender.kind != "program":
            raise SkippedLevelError("only the bpy wheel was found, and it has no window; set $BLENDER")
    return _pytest(sys.executable, "gui", options)


def _install(reporter: Reporter, options: list[str]) -> int:
    try:
        blender = find_blender()
    except BadInputError as error:
        raise SkippedLevelError(str(error)) from error
    if blender.kind != "program":
        raise SkippedLevelError("only the bpy wheel was found, and it installs no extensions; set $BLENDER")
    return _pytest(sys.executable, "install", options, BLENDER=blender.path)


def _clients(reporter: Reporter, options: list[str]) -> int:
    npm = shutil.which("npm")
    if npm is None:
        raise SkippedLevelError("npm was not found, and the agent programs come from its registry")
    try:
        blender = find_blender()
    except BadInputError as error:
        raise SkippedLevelError(str(error)) from error
    folder, wanted = default_folder(EVALUATOR).parent / "clients", PACKAGE_ROOT / "tests" / "clients" / "package.json"
    stamp = folder / "installed.json"
    if not stamp.is_file() or stamp.read_bytes() != wanted.read_bytes():
        reporter.status(f"clients: npm fetches the agent programs into {folder}")
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(wanted, folder / "package.json")
        command = [npm, "install", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        if _call(command) != 0:
            raise SkippedLevelError("npm could not fetch the agent programs")
        shutil.copyfile(wanted, stamp)
    command = [*_without_network(), sys.executable, "-m", "pytest", "tests/clients", *options]
    return _call(command, BLENDER=blender.path, MATCHCUT_CLIENTS=str(folder))


def _without_network() -> list[str]:
    """What runs a command where only the loopback is; nothing where this system or user cannot."""
    for options in (["--net"], ["--net", "--map-root-user"]):
        if shutil.which("unshare") and _call(["unshare", *options, "true"]) == 0:
            return ["unshare", *options]
    return []


LEVELS = (
    Level("lint", _lint),
    Level("unit", _unit),
    Level("bpy", _bpy),
    Level("blender", _blender),
    Level("gui", _gui),
    Level("install", _install, by_default=False),
    Level("clients", _clients, by_default=False),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `matchcut test`."""
    names = [level.name for level in LEVELS]
    parser.add_argument(
        "levels",
        nargs="*",
        metavar="LEVEL",
        help=f"{', '.join(names)} (default: all but install and clients); behind -- options for pytest",
    )


def run(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Run the levels in their order; the exit status is 1 where any of them failed."""
    if not (PACKAGE_ROOT / "tests").is_dir():
        raise BadInputError(f"{PACKAGE_ROOT}: this installation has no tests; run them from a checkout with ./run test")
    known = {level.name: level for level in LEVELS}
    chosen = [name for name in arguments.levels if name in known]
    options = [name for name in arguments.levels if name not in known]
    if options and not options[0].startswith(("-", "tests")):
        raise BadInputError(f"{options[0]!r} is no level of test; they are: {', '.join(known)}")
    if python_of(default_folder(EVALUATOR)).exists():
        add_packages(default_folder(EVALUATOR), TEST_TOOLS)
    outcomes: list[tuple[str, str]] = []
    for level in [known[name] for name in chosen] or [level for level in LEVELS if level.by_default]:
        print(f"== {level.name}", flush=True)
        started = time.monotonic()
        try:
            status = level.run(reporter, options)
            # pytest's 5 means that no test was chosen, which is no failure when a -k chose others
            outcome = "passed" if status == 0 or (status == 5 and options) else f"FAILED (exit status {status})"
            outcome += f" in {time.monotonic() - started:.0f} s"
        except SkippedLevelError as skipped:
            outcome = f"skipped: {skipped}"
        except MatchcutError as error:
            outcome = f"FAILED: {error}"
        outcomes.append((level.name, outcome))
    print("\n== levels", flush=True)
    for name, outcome in outcomes:
        print(f"{name:<8} {outcome}", flush=True)
    return 1 if any(outcome.startswith("FAILED") for _, outcome in outcomes) else ExitStatus.DONE
