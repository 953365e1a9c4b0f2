# SPDX-License-Identifier: GPL-3.0-or-later
"""What a folder holds of an environment: told from a few small files, without starting a process."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, Literal

FACTS = "matchcut-environment.json"
"""In an environment: what is told of it without starting its Python."""
NEW = ".new-"
"""How the name of a folder begins in which an environment is made."""

Condition = Literal["ready", "missing", "unfinished", "outdated", "broken"]
"""Of a folder: a whole environment of this lock file; nothing; one whose making was cut off; one of another lock file;
one whose Python is gone or has become another version."""


def python_of(folder: Path) -> Path:
    """The interpreter of the environment in `folder`."""
    return folder / "Scripts" / "python.exe" if os.name == "nt" else folder / "bin" / "python"


def fresh_of(folder: Path) -> Path:
    """Where the environment for `folder` is made, which takes its place once it is whole."""
    return folder.with_name(f"{NEW}{folder.name}")


def is_complete(folder: Path, lock: Path) -> bool:
    """Whether `folder` holds a working environment made from exactly this lock file."""
    return condition(folder, lock) == "ready"


def condition(folder: Path, lock: Path) -> Condition:
    """What `folder` holds, from a few small files; no process is started."""
    try:
        stamp = stamp_of(folder, lock).read_bytes()
    except OSError:
        begun = any(os.path.lexists(one / "pyvenv.cfg") for one in (folder, fresh_of(folder)))
        return "unfinished" if begun else "missing"
    if not _base_is_there(folder):
        return "broken"
    return "ready" if stamp == lock.read_bytes() else "outdated"


def facts(folder: Path) -> dict[str, Any]:
    """What was noted of an environment when it was complete: `python`, `packages`, `bytes`; empty where nothing was."""
    try:
        found = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _base_is_there(folder: Path) -> bool:
    """Whether the Python that an environment borrows from is where it was, and of the same version.

    An update of Blender takes its Python away; one of the system puts a newer Python in the same place.
    """
    python = python_of(folder)
    if not python.exists():  # a link whose goal is gone
        return False
    settings = settings_of(folder)
    home, version = settings.get("home", ""), settings.get("version", "")
    if home and os.name == "nt" and not (Path(home) / "python.exe").is_file():
        return False
    named = re.fullmatch(r"python(\d+\.\d+)", python.resolve().name)
    return named is None or not version or version.startswith(f"{named[1]}.")


def settings_of(folder: Path) -> dict[str, str]:
    """What `pyvenv.cfg` says; empty where it is not there."""
    try:
        lines = (folder / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    return {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in lines)}


def stamp_of(folder: Path, lock: Path) -> Path:
    """Where the text of the lock file stands that a complete environment was made from."""
    return folder / f"installed-{lock.name}"
