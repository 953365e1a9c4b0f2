# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a file is still the one that was read, told by its size, its time of change and a part of its content.

Needs the standard library alone. Files are looked at on events and by a slow timer; `known_state`, for drawing, is
what was found last.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final, Literal

State = Literal["same", "missing", "changed"]

PART: Final = 65536
"""Bytes at either end of a file that are looked at: headers and indexes of a video lie there."""

_states: dict[tuple[str, str], State] = {}
"""By path and mark: what was found last."""
_digests: dict[tuple[str, int, int], str] = {}
"""By path, size and time of change: so that a file is opened once for each time it changes."""


def mark_of(path: Path) -> str:
    """`SIZE TIME DIGEST` of a file, by which it is known again. Raises OSError where it cannot be read."""
    stat = path.stat()
    return f"{stat.st_size} {stat.st_mtime_ns} {_digest(path, stat)}"


def digest_in(mark: str) -> str:
    """The part of a mark that says what is in the file; equal for a copy of it elsewhere."""
    return mark.rpartition(" ")[2]


def look(path: Path, mark: str) -> State:
    """Look at the file: `changed` where its content is not the one of the mark. A mark that is empty allows any."""
    state = _look(path, mark)
    _states[str(path), mark] = state
    return state


def known_state(path: Path, mark: str) -> State:
    """What was found last, from memory; `same` where nobody has looked yet."""
    return _states.get((str(path), mark), "same")


def forget() -> None:
    """Another file was opened: nothing is known any more."""
    _states.clear()
    _digests.clear()


def _look(path: Path, mark: str) -> State:
    try:
        stat = path.stat()
        if not path.is_file():
            return "missing"
        if not mark or mark.startswith(f"{stat.st_size} {stat.st_mtime_ns} "):
            return "same"
        if not mark.startswith(f"{stat.st_size} "):
            return "changed"
        return "same" if _digest(path, stat) == digest_in(mark) else "changed"  # a copy has a time of its own
    except (OSError, ValueError):  # ValueError: no path at all, as with a NUL in it
        return "missing"


def _digest(path: Path, stat: os.stat_result) -> str:
    key = (str(path), stat.st_size, stat.st_mtime_ns)
    if key not in _digests:
        found = hashlib.sha256(str(stat.st_size).encode())
        with path.open("rb") as file:
            found.update(file.read(PART))
            file.seek(max(0, stat.st_size - PART))
            found.update(file.read(PART))
        _digests[key] = found.hexdigest()[:32]
    return _digests[key]
