# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Python interpreters a machine has. Runs on Python 3.7 and newer, so that an old `python3` finds a newer one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

OLDEST = (3, 11)
NEWEST = (3, 14)
BPY_VERSION = (3, 13)  # the one Python that the bpy 5.2 and 5.3 wheels are built for

# a Python without ensurepip (Debian without python3-venv) or without ssl cannot make an environment: it does not count
_PROBE = "import sys, ssl, venv, ensurepip; print(*sys.version_info[:3], sys.executable, sep='\\n')"

_LACKS = """
import sys
print(*sys.version_info[:2])
for name in ("ssl", "venv", "ensurepip"):
    try:
        __import__(name)
    except ImportError:
        print(name)
"""


class Interpreter(NamedTuple):
    """A Python that works: its path and its version as three numbers."""

    path: str
    version: tuple[int, int, int]


def find_interpreter(oldest: tuple[int, int] = OLDEST, newest: tuple[int, int] = NEWEST) -> Interpreter | None:
    """Newest working interpreter from `oldest` to `newest`, both included; None where there is none."""
    best: Interpreter | None = None
    seen = set()
    for path in _candidates():
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        found = probe(path)
        if (
            found is not None
            and oldest <= found.version[:2] <= newest
            and (best is None or found.version > best.version)
        ):
            best = found
    return best


def probe(path: str) -> Interpreter | None:
    """Ask the interpreter at `path` for its version; None where it does not start or cannot make environments."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}
    try:
        answer = subprocess.run(
            [path, "-I", "-c", _PROBE],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=30,
            check=True,
        ).stdout.decode()
        major, minor, micro, executable = answer.splitlines()[:4]
        return Interpreter(executable, (int(major), int(minor), int(micro)))
    except (OSError, subprocess.SubprocessError, ValueError, UnicodeDecodeError):
        return None


def obstacle(path: str, oldest: tuple[int, int] = OLDEST, newest: tuple[int, int] = NEWEST) -> str:
    """Why the interpreter at `path` cannot make an environment, with what mends it, in one line; empty where it can."""
    try:
        answer = subprocess.run(
            [path, "-I", "-c", _LACKS], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")},
            timeout=30, check=True,
        ).stdout.decode()  # fmt: skip
        major, minor, *lacking = answer.split()
        version = (int(major), int(minor))
    except (OSError, subprocess.SubprocessError, ValueError, UnicodeDecodeError) as error:
        return f"{path} does not run as a Python ({type(error).__name__}); name one from 3.11 to 3.14"
    if not oldest <= version <= newest:
        wanted = ".".join(map(str, oldest)) + ("" if oldest == newest else " to " + ".".join(map(str, newest)))
        return f"{path} is Python {major}.{minor}, and the packages are for {wanted}; install one of those"
    if not lacking:
        return ""
    mend = (
        f"install the system's package python{major}.{minor}-venv (Debian, Ubuntu: sudo apt install python3-venv)"
        if sys.platform == "linux" and lacking[0] != "ssl"
        else "install a Python from 3.11 to 3.14 that has it"
    )
    return f"Python {major}.{minor} ({path}) has no {lacking[0]}, which making an environment needs; {mend}"


def _candidates() -> Iterator[str]:
    """Paths that may be interpreters: ours, PATH, pyenv's versions, uv's, and on Windows the py launcher's list."""
    yield sys.executable
    names = [f"python3.{minor}" for minor in range(NEWEST[1], OLDEST[1] - 1, -1)] + ["python3", "python"]
    for name in names:
        found = shutil.which(name)
        if found is not None:
            yield found
    program = "python.exe" if os.name == "nt" else "bin/python3"
    for folder in _version_folders():
        if folder.is_dir():
            for version in sorted(folder.iterdir()):
                if (version / program).is_file():
                    yield str(version / program)
    if os.name == "nt":
        yield from _py_launcher()


def _version_folders() -> list[Path]:
    """Folders that hold one installed Python per entry: pyenv's and uv's."""
    home = Path.home()
    roots = [Path(os.environ["PYENV_ROOT"])] if os.environ.get("PYENV_ROOT") else []
    # a shim on PATH tells where pyenv lies even where HOME is another one
    roots += [
        Path(entry).parent for entry in os.environ.get("PATH", "").split(os.pathsep) if Path(entry).name == "shims"
    ]
    roots += [home / ".pyenv", home / ".pyenv" / "pyenv-win"]
    folders = [root / "versions" for root in roots]
    if os.environ.get("UV_PYTHON_INSTALL_DIR"):
        folders.append(Path(os.environ["UV_PYTHON_INSTALL_DIR"]))
    data = os.environ.get("APPDATA" if os.name == "nt" else "XDG_DATA_HOME")
    folders.append((Path(data) if data else home / ".local" / "share") / "uv" / "python")
    return folders


def _py_launcher() -> Iterator[str]:
    launcher = shutil.which("py")
    if launcher is None:
        return
    try:
        listing = subprocess.run(
            [launcher, "-0p"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=30, check=True
        ).stdout.decode(errors="replace")
    except (OSError, subprocess.SubprocessError):
        return
    for line in listing.splitlines():
        _, separator, _ = line.partition(":\\")
        if separator:
            yield line[line.index(separator) - 1 :].strip()
