# SPDX-License-Identifier: GPL-3.0-or-later
"""The environments that commands run in, each made from a lock file and stamped with it when it is complete.

`evaluator` holds what the evaluator and the MCP server need, `bpy` the bpy wheel for machines without a Blender. The
test tools are an addition to both. Standard library only: this runs before any package is installed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..protocol.cache import cache_folder
from ..protocol.children import child_environment
from ..protocol.errors import BadInputError, OperationalError
from ..protocol.files import write_bytes
from ..protocol.lock import sole_user
from .caches import bytes_below
from .condition import FACTS, NEW, condition, fresh_of, is_complete, python_of, settings_of, stamp_of
from .downloads import Note, Progress, fetch, forget_others, reason
from .interpreters import BPY_VERSION, NEWEST, OLDEST, Interpreter, find_interpreter, obstacle, probe

LOCKS = Path(__file__).resolve().parent
PACKAGE_ROOT = LOCKS.parents[1]
_POLL = 0.5
"""Seconds between looks at how many packages pip has put in."""


@dataclass(frozen=True)
class Kind:
    """One kind of environment: its name, its lock file, the interpreters that can hold it, and the space it takes."""

    name: str
    lock: Path
    oldest: tuple[int, int]
    newest: tuple[int, int]
    needs: int = 0
    """Bytes, with its downloads."""


EVALUATOR = Kind("evaluator", LOCKS / "evaluator.lock", OLDEST, NEWEST, 900_000_000)
BPY = Kind("bpy", LOCKS / "bpy.lock", BPY_VERSION, BPY_VERSION, 1_900_000_000)
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


def bpy_python() -> Path | None:
    """Interpreter that has the bpy wheel: `$MATCHCUT_BPY_PYTHON`, else our own environment; None without either."""
    named = os.environ.get("MATCHCUT_BPY_PYTHON")
    if named:
        return Path(named)
    folder = default_folder(BPY)
    return python_of(folder) if is_complete(folder, BPY.lock) else None


def install(
    kind: Kind,
    folder: Path,
    *,
    say: Callable[[str], None],
    tell: Progress | None = None,
    python: str | None = None,
    anew: bool = False,
) -> Path:
    """Make the environment in `folder` unless it is complete already and not wanted `anew`; returns its interpreter.

    `python` is the interpreter to make it with, where it can: else another one of this machine's is taken. One of
    another lock file or of a Python that is gone is made anew; a folder that is none is left alone. It is made beside
    the one that is there, which it replaces in the end: a run that fails, is cancelled or killed leaves that as it was,
    and the next one starts over; what was downloaded is kept. Raises BadInputError where no interpreter fits, the
    folder is another's or another run is at work in it, OperationalError where there is too little space or the
    packages cannot be had.
    """
    if is_complete(folder, kind.lock) and not anew:
        return python_of(folder)
    chosen = _interpreter(kind, python, say)
    _require_ours(folder)
    with _at_work(folder):
        _discard(fresh_of(folder))
        if condition(folder, kind.lock) == "unfinished":  # nothing that would be worth keeping
            _discard(folder)
        _require_space(kind, folder)
        say(f"making the {kind.name} environment with Python {'.'.join(map(str, chosen.version))} in {folder}")
        log_of(folder).unlink(missing_ok=True)
        _make(chosen, kind, folder, tell)
    return python_of(folder)


def _make(chosen: Interpreter, kind: Kind, folder: Path, tell: Progress | None) -> None:
    """Make it beside `folder`, and have it take the place of what is there once it is whole."""
    fresh = fresh_of(folder)
    with _whole_or_gone(fresh):
        _run(
            [chosen.path, "-m", "venv", str(fresh)],
            f"the {kind.name} environment could not be made",
            partial(_note, log_of(folder)),
        )
        add_packages(fresh, kind.lock, tell=tell)
        _discard(folder)
        fresh.rename(folder)


def _interpreter(kind: Kind, named: str | None, say: Callable[[str], None]) -> Interpreter:
    why = obstacle(named, kind.oldest, kind.newest) if named else ""
    chosen = probe(named) if named and not why else find_interpreter(kind.oldest, kind.newest)
    if chosen is None and why:
        raise BadInputError(why)
    if chosen is None:
        versions = ".".join(map(str, kind.oldest)) + ("" if kind.oldest == kind.newest else " or newer")
        raise BadInputError(
            f"the {kind.name} environment needs Python {versions} with venv, and none was found; install one "
            "(pyenv install 3.13, uv python install 3.13, or your system's python3 and python3-venv packages)"
        )
    if why:
        say(f"{why.partition(';')[0]}; {chosen.path} is used in its place")
    return chosen


def remove(folder: Path, *, say: Callable[[str], None]) -> int:
    """Delete the environment in `folder`, whole or not; returns its bytes.

    Raises BadInputError where the folder is none of ours, OSError where a file is in use.
    """
    if not any(one.exists() for one in (folder, _aside(folder), fresh_of(folder))):
        return 0
    _require_ours(folder)
    with _at_work(folder):
        say(f"removing {folder}")
        size = bytes_below(folder) + bytes_below(fresh_of(folder))
        _discard(folder)
        _discard(fresh_of(folder))
        log_of(folder).unlink(missing_ok=True)
    return size


def add_packages(folder: Path, lock: Path, *, tell: Progress | None = None) -> None:
    """Install a lock file's packages into the environment in `folder`, each checked against its hash, and stamp it."""
    if is_complete(folder, lock):
        return
    tell = tell or _tell_nobody
    python, downloads = python_of(folder), cache_folder("downloads") / lock.stem
    note = partial(_note, log_of(folder))
    total, before = fetch(python, lock, downloads, tell, note), _count(folder)
    command = [str(python), "-m", "pip", "install", "--no-input", "--no-deps", "--require-hashes", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:", "--no-index", "--find-links", str(downloads)]
    _run(
        [*command, "-r", str(lock)],
        f"the packages of the {lock.stem} could not be installed",
        note,
        lambda: tell("install_packages", min(_count(folder) - before, total), total, ""),
    )
    tell("install_packages", total, total, "")
    forget_others(lock, downloads)
    noted = {"python": settings_of(folder).get("version", ""), "packages": _count(folder), "bytes": bytes_below(folder)}
    write_bytes(folder / FACTS, json.dumps(noted).encode())
    write_bytes(stamp_of(folder, lock), lock.read_bytes())


def _tell_nobody(stage: str, done: int, total: int, text: str) -> None:
    """Drops it."""


def log_of(folder: Path) -> Path:
    """What pip wrote while the environment in `folder` was made last; beside it, since a failed one is removed."""
    return folder.with_name(f"{folder.name.removeprefix(NEW)}.log")


def _note(log: Path, lines: list[str]) -> None:
    with suppress(OSError), log.open("a", encoding="utf-8") as file:  # a full disk is told by what filled it
        file.write("\n".join([*lines, ""]))


def _count(folder: Path) -> int:
    """How many packages are in the environment."""
    below = ("Lib/site-packages",) if os.name == "nt" else ("lib/python*/site-packages",)
    return sum(1 for pattern in below for _ in folder.glob(f"{pattern}/*.dist-info"))


def _require_ours(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise BadInputError(f"{folder}: is a file; name a folder for the environment")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "pyvenv.cfg").is_file():
        raise BadInputError(f"{folder}: this folder is no environment and would be emptied; name another one")


def _require_space(kind: Kind, folder: Path) -> None:
    free = shutil.disk_usage(folder.parent).free
    if free < kind.needs:
        raise OperationalError(
            f"{folder.parent}: {free / 1e9:.1f} GB are free, and the {kind.name} needs {kind.needs / 1e9:.1f} GB; "
            "free some space, then install again"
        )


@contextmanager
def _at_work(folder: Path) -> Iterator[None]:
    """Hold `folder`, which may come and go meanwhile, by one beside it. Raises BadInputError where another run does."""
    beside = folder.with_name(f".making-{folder.name}")
    try:
        with ExitStack() as held:
            try:
                held.enter_context(sole_user(beside))
            except BadInputError as error:
                raise BadInputError(str(error).replace(str(beside), str(folder))) from error
            yield
    finally:
        with suppress(OSError):  # another run holds it
            beside.rmdir()


@contextmanager
def _whole_or_gone(folder: Path) -> Iterator[None]:
    """Remove `folder` where what is done inside fails or is cancelled."""
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _discard(folder: Path) -> None:
    """Delete `folder`: moved aside first, so that what is left of a cut-off deletion is no environment."""
    aside = _aside(folder)
    if aside.exists():
        shutil.rmtree(aside)
    if folder.exists():
        folder.rename(aside)
        shutil.rmtree(aside)


def _aside(folder: Path) -> Path:
    return folder.with_name(f".removed-{folder.name}")


def _run(command: list[str], failure: str, note: Note, look: Callable[[], None] = lambda: None) -> None:
    """Run a command to its end, calling `look` now and then; `note` gets what it wrote.

    Raises OperationalError with its reason where it fails.
    """
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=child_environment()
        ) as process,
    ):
        try:
            while True:
                look()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_POLL)
                    break
        except BaseException:
            process.kill()
            raise
        log.seek(0)
        lines = [line.strip() for line in log.read().decode("utf-8", "replace").splitlines()]
    note([" ".join(command), *lines])
    if process.returncode != 0:
        raise OperationalError(f"{failure}: {reason(lines)}")
