# SPDX-License-Identifier: GPL-3.0-or-later
"""Where this user's results are kept that can be made again at any time, by their content."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path


def cache_folder(name: str) -> Path:
    """The folder for what `name` keeps; `$MATCHCUT_CACHE_FOLDER` overrides where all of them are. It may not exist.

    It depends on the home folder alone, since agents start their servers with few environment variables.
    """
    override = os.environ.get("MATCHCUT_CACHE_FOLDER")
    if override:
        return Path(override) / name
    if sys.platform == "win32":
        return Path.home() / "AppData" / "Local" / "matchcut" / "cache" / name
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "matchcut" / name
    return Path.home() / ".cache" / "matchcut" / name


def forget_all_but(folder: Path, newest: int) -> None:
    """Remove all files of `folder` but the `newest` ones; what another process removes or holds is passed over."""
    with suppress(OSError):
        files = [entry for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)]
        if len(files) <= newest:
            return
        ages = []
        for entry in files:
            with suppress(OSError):
                ages.append((entry.stat().st_mtime_ns, entry.path))
        for _, path in sorted(ages)[: len(ages) - newest]:
            with suppress(OSError):
                Path(path).unlink()


def forget_oldest(folder: Path, most_bytes: int) -> None:
    """Remove the oldest files below `folder` until the rest take `most_bytes` or less; what is held is passed over."""
    found = []
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            with suppress(OSError):  # another process removed it
                stat = path.stat()
                found.append((stat.st_mtime_ns, stat.st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= most_bytes:
            break
        with suppress(OSError):
            path.unlink()
            total -= size
