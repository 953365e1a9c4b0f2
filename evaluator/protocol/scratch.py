# SPDX-License-Identifier: GPL-3.0-or-later
"""Temporary folders that do not outlive their run for long, however that ends."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from .errors import BadInputError
from .lock import sole_user

_OURS: Final = re.compile(r"matchcut-[a-z]+-[a-z0-9_]{8}")
_YOUNG: Final = 60.0
"""Seconds in which a folder may not be held yet."""


@contextmanager
def scratch_folder(name: str, parent: Path | None = None) -> Iterator[Path]:
    """Yield a new folder `matchcut-NAME-…` among the system's temporary files, or in `parent`; remove it at the end.

    Those of the same name that killed runs of this user have left there are removed first.
    """
    for left in (parent or Path(tempfile.gettempdir())).glob(f"matchcut-{name}-*"):
        with suppress(OSError, BadInputError):
            _remove_where_left(left)
    made = tempfile.TemporaryDirectory(prefix=f"matchcut-{name}-", dir=parent, ignore_cleanup_errors=True)
    with made as folder, sole_user(Path(folder)):
        yield Path(folder)


def left_folders() -> list[Path]:
    """The temporary folders of all runs of this user that may have been left; the youngest may be in use."""
    folders = Path(tempfile.gettempdir()).glob("matchcut-*")
    return [path for path in folders if _OURS.fullmatch(path.name) and _is_old_and_ours(path)]


def remove_left_folders() -> None:
    """Remove those that nobody uses any more."""
    for left in left_folders():
        with suppress(OSError, BadInputError):
            _remove_where_left(left)


def _is_old_and_ours(folder: Path) -> bool:
    try:
        found = folder.lstat()
    except OSError:  # gone in between
        return False
    ours = os.name != "posix" or found.st_uid == os.getuid()
    return stat.S_ISDIR(found.st_mode) and ours and time.time() - found.st_mtime >= _YOUNG


def _remove_where_left(folder: Path) -> None:
    if not _is_old_and_ours(folder):
        return
    with sole_user(folder):  # raises where its run goes on
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():  # on Windows the lock has kept it
        folder.rmdir()
