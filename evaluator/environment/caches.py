# SPDX-License-Identifier: GPL-3.0-or-later
"""What lies in this user's caches and what killed runs left among the temporary files: how much, and how it goes."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..protocol.bridge import descriptor_folder
from ..protocol.cache import cache_folder
from ..protocol.errors import BadInputError
from ..protocol.scratch import left_folders, remove_left_folders

SCRATCH: Final = "scratch"
"""The name under which the folders that killed runs left are counted."""
_ASIDE: Final = ".cleared-"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]*")


@dataclass(frozen=True)
class Cache:
    """One cache: its name, where it lies, how much it holds."""

    name: str
    folder: Path
    bytes: int
    files: int


def caches() -> list[Cache]:
    """All caches that hold something, by name, and what killed runs left."""
    root = cache_folder("any").parent
    names = sorted(path.name for path in root.iterdir() if _is_one(path)) if root.is_dir() else []
    found = [Cache(name, root / name, *_measure(root / name)) for name in names]
    left = left_folders()
    if left:
        sizes = [_measure(path) for path in left]
        found.append(Cache(SCRATCH, left[0].parent, sum(size for size, _ in sizes), sum(files for _, files in sizes)))
    return found


def clear(name: str) -> int:
    """Empty a cache; returns how many bytes that freed.

    What another process works with goes on: it makes again what it misses. Raises BadInputError where there is no such
    cache.
    """
    if name == SCRATCH:
        before = sum(bytes_below(path) for path in left_folders())
        remove_left_folders()
        return before - sum(bytes_below(path) for path in left_folders())
    folder = cache_folder(name)
    if not _NAME.fullmatch(name) or not _is_one(folder):
        known = ", ".join(cache.name for cache in caches()) or "none is there"
        raise BadInputError(f"cache {name!r}: there is no such cache; those that hold something: {known}")
    size = bytes_below(folder)
    aside = folder.with_name(f"{_ASIDE}{name}")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        folder.rename(aside)
    except OSError:  # Windows, while a file is open
        aside = folder
    shutil.rmtree(aside, ignore_errors=True)
    return size - bytes_below(folder)


def bytes_below(folder: Path) -> int:
    """Bytes of all files below a folder; links count for themselves."""
    return _measure(folder)[0]


def _is_one(path: Path) -> bool:
    ours = path.is_dir() and not path.is_symlink() and _NAME.fullmatch(path.name) is not None
    return ours and path != descriptor_folder()  # that lies beside them, and running bridges need it


def _measure(folder: Path) -> tuple[int, int]:
    size = files = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # another process removed it
                size += Path(parent, name).lstat().st_size
                files += 1
    return size, files
