# SPDX-License-Identifier: GPL-3.0-or-later
"""The environments that commands run in, each made from a lock file and stamped with it when it is complete.

`evaluator` holds what the evaluator and the MCP server need, `bpy` the bpy wheel for machines without a Blender. The
test tools are an addition to both. Standard library only: this runs before any package is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..protocol.children import child_environment
from ..protocol.errors import BadInputError, OperationalError
from .interpreters import BPY_VERSION, NEWEST, OLDEST, find_interpreter, probe

LOCKS = Path(__file__).resolve().parent
PACKAGE_ROOT = LOCKS.parents[1]


@dataclass(frozen=True)
class Kind:
    """One kind of environment: its name, its lock file, and the interpreters that can hold it."""

    name: str
    lock: Path
    oldest: tuple[int, int]
    newest: tuple[int, int]


EVALUATOR = Kind("evaluator", LOCKS / "evaluator.lock", OLDEST, NEWEST)
BPY = Kind("bpy", LOCKS / "bpy.lock", BPY_VERSION, BPY_VERSION)
Progress = Callable[[int, int, str], None]
"""Told how many packages of how many are at hand, and the name of the one being fetched."""
TEST_TOOLS = LOCKS / "tests.lock"


def default_folder(kind: Kind) -> Path:
    """Where an environment lies: in `.venv` of a checkout, else in the user's data folder."""
    if (PACKAGE_ROOT / "run").is_file():
        return PACKAGE_ROOT / ".venv" / kind.name
    if os.name == "nt":
        data = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        data = Path.home() / "Library" / "Application Support"
    else:
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return data / "matchcut" / kind.name


def python_of(folder: Path) -> Path:
    """The interpreter of the environment in `folder`."""
    return folder / "Scripts" / "python.exe" if os.name == "nt" else folder / "bin" / "python"


def is_complete(folder: Path, lock: Path) -> bool:
    """Whether `folder` holds a working environment made from exactly this lock file."""
    try:
        return _stamp(folder, lock).read_bytes() == lock.read_bytes() and python_of(folder).exists()
    except OSError:
        return False


def bpy_python() -> Path | None:
    """Interpreter that has the bpy wheel: `$MATCHCUT_BPY_PYTHON`, else our own environment; None without either."""
    named = os.environ.get("MATCHCUT_BPY_PYTHON")
    if named:
        return Path(named)
    folder = default_folder(BPY)
    return python_of(folder) if is_complete(folder, BPY.lock) else None


def install(
    kind: Kind, folder: Path, *, say: Callable[[str], None], tell: Progress | None = None, python: str | None = None
) -> Path:
    """Make the environment in `folder` unless it is complete already; returns its interpreter.

    An environment of another lock file is replaced; a folder that is none is left alone. A killed run leaves no stamp,
    so the next one starts over; packages come from pip's cache then. Raises BadInputError where no interpreter fits or
    the folder is another's, OperationalError where pip fails.
    """
    if is_complete(folder, kind.lock):
        return python_of(folder)
    chosen = probe(python) if python else find_interpreter(kind.oldest, kind.newest)
    if chosen is None:
        versions = ".".join(map(str, kind.oldest)) + ("" if kind.oldest == kind.newest else " or newer")
        raise BadInputError(
            f"the {kind.name} environment needs Python {versions} with venv, and none was found; install one "
            "(pyenv install 3.13, uv python install 3.13, or your system's python3 and python3-venv packages)"
        )
    say(f"making the {kind.name} environment with Python {'.'.join(map(str, chosen.version))} in {folder}")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "pyvenv.cfg").is_file():
        raise BadInputError(f"{folder}: this folder is no environment and would be emptied; name another one")
    if folder.exists():
        shutil.rmtree(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _run([chosen.path, "-m", "venv", str(folder)], f"the {kind.name} environment could not be made")
    say(f"installing what {kind.lock.name} lists; the first time takes a minute or two")
    add_packages(folder, kind.lock, tell=tell)
    return python_of(folder)


def add_packages(folder: Path, lock: Path, *, tell: Progress | None = None) -> None:
    """Install a lock file's packages into the environment in `folder`, each checked against its hash, and stamp it."""
    if is_complete(folder, lock):
        return
    command = [str(python_of(folder)), "-m", "pip", "install", "--progress-bar", "off", "--disable-pip-version-check"]
    command += ["--no-input", "--no-deps", "--require-hashes", "-r", str(lock)]
    total = sum(line[:1].isalnum() for line in lock.read_text(encoding="utf-8").splitlines())
    collected = 0

    def follow(line: str) -> None:
        nonlocal collected
        if tell is not None and line.startswith(("Collecting ", "Ignoring ")):
            collected += 1
            tell(min(collected, total), total, line.split()[1].split("==", maxsplit=1)[0])

    _run(command, f"{lock.name} could not be installed", follow)
    if tell is not None:
        tell(total, total, "")
    stamp = _stamp(folder, lock)
    partial = stamp.with_suffix(".partial")
    partial.write_bytes(lock.read_bytes())
    partial.replace(stamp)


def _stamp(folder: Path, lock: Path) -> Path:
    return folder / f"installed-{lock.name}"


def _run(command: list[str], failure: str, follow: Callable[[str], None] = lambda line: None) -> None:
    lines: list[str] = []
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=child_environment(),
        text=True, errors="replace",
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line.strip())
                follow(line)
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise OperationalError(f"{failure}: {_reason(lines)}; try again, or run: matchcut doctor")


def _reason(lines: list[str]) -> str:
    """The line that tells most of why pip failed: the cause of a failed connection, else its last error."""
    for cause in ("certificate", "Name or service", "Temporary failure", "refused", "timed out", "No space"):
        for line in lines:
            if cause in line:
                return line
    errors = (
        [line for line in lines if line.startswith("ERROR")] or [line for line in lines if line] or ["no reason given"]
    )
    return errors[-1].removeprefix("ERROR: ")
