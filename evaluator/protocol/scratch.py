# SPDX-License-Identifier: GPL-3.0-or-later
"""Temporary folders that do not outlive their run for long, however that ends."""

from __future__ import annotations

import os
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

_YOUNG: Final = 60.0
"""Seconds in which a folder may not be held yet."""


@contextmanager
def scratch_folder(name: str) -> Iterator[Path]:
    """Yield a new folder `matchcut-NAME-…` among the system's temporary files, and remove it at the end.

    Those of the same name that killed runs of this user have left are removed first.
    """
    for left in Path(tempfile.gettempdir()).glob(f"matchcut-{name}-*"):
        with suppress(OSError, BadInputError):
            _remove_where_left(left)
    made = tempfile.TemporaryDirectory(prefix=f"matchcut-{name}-", ignore_cleanup_errors=True)
    with made as folder, sole_user(Path(folder)):
        yield Path(folder)


def _remove_where_left(folder: Path) -> None:
    found = folder.lstat()
    ours = os.name != "posix" or found.st_uid == os.getuid()
    if not stat.S_ISDIR(found.st_mode) or not ours or time.time() - found.st_mtime < _YOUNG:
        return
    with sole_user(folder):  # raises where its run goes on
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():  # on Windows the lock has kept it
        folder.rmdir()
