# SPDX-License-Identifier: GPL-3.0-or-later
"""One process at a time in a folder: two runs that write the same files would mix what they make."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from .errors import BadInputError

NAME: Final = ".lock"
BUSY: Final = frozenset({errno.EAGAIN, errno.EACCES, errno.EDEADLK})
"""What `lock` says of a file that somebody else holds."""

if sys.platform == "win32":
    import msvcrt

    def lock(handle: int) -> None:
        """Hold an open file until it is closed. Raises OSError where another holds it, or the system cannot."""
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def lock(handle: int) -> None:
        """Hold an open file until it is closed. Raises OSError where another holds it, or the system cannot."""
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def hold(path: Path) -> int | None:
    """A handle that holds a file, made where it is missing, until `let_go`; None where somebody else has it.

    A killed process holds nothing any more. A file system without locks refuses nobody. Raises OSError where the file
    cannot be written.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        lock(handle)
        held = os.name == "nt" or os.fstat(handle).st_nlink > 0  # else its holder has just taken it away
    except OSError as error:
        held = error.errno not in BUSY
    if not held:
        os.close(handle)
        return None
    return handle


def let_go(path: Path, handle: int) -> None:
    """Let others have the file of `hold`, and take it away."""
    try:
        if os.name != "nt":  # while it is held: nobody else can hold a file of this name then
            path.unlink(missing_ok=True)
    finally:
        os.close(handle)
    if os.name == "nt":
        with suppress(OSError):  # somebody else holds it by now
            path.unlink()


@contextmanager
def sole_user(folder: Path, *, patience: float = 0.0) -> Iterator[None]:
    """Hold `folder`, made where it is missing, for as long as the block runs; a killed process holds nothing any more.

    It is tried for `patience` seconds: a child that a killed holder was just starting holds it until it has become its
    own program. Raises BadInputError where another run holds it or it cannot be written. A file system without locks
    is used without one.
    """
    path = folder / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        end = time.monotonic() + patience
        while (handle := hold(path)) is None and time.monotonic() < end:
            time.sleep(0.05)
    except OSError as error:
        raise BadInputError(
            f"{folder}: cannot be written ({error.strerror or error}); choose another folder"
        ) from error
    if handle is None:
        raise BadInputError(f"{folder}: another run works in this folder; wait for its end, or choose another one")
    try:
        yield
    finally:
        let_go(path, handle)
