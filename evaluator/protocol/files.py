# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are either whole or not there: every result is written beside its place, synced, and moved over it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .errors import BadInputError
from .lock import lock

_NUMBERED = re.compile(r"-([0-9]{1,9})")
_PARTIAL = re.compile(r"\.partial-[a-z0-9_]{8}(\.\w+)?")  # what mkstemp makes of the prefix below
_YOUNG = 60.0
"""Seconds in which a partial file may not be held yet."""
_LOCKS_FILES = os.name == "posix"  # on Windows a held file cannot be written by others, as an encoder
_OLD = 24 * 3600.0
"""Seconds after which nobody writes to a file any more, where it cannot be told who holds it."""
_tidied: set[Path] = set()


@contextmanager
def atomic_path(path: Path, *, synced: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside `path`, with its suffix; on success it replaces `path`, else it is removed.

    The folder is made where it is missing. The temporary name starts with a dot and `.partial`, so that a killed run
    leaves nothing that looks finished; what it left is removed by the next run that writes into the folder. An OSError
    of the writing names `path`. What is not `synced` is quicker and outlives a killed run, not a power failure: for
    many small files whose readers look at their size.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _tidy(path.parent)
        handle, name = tempfile.mkstemp(prefix=".partial-", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        error.filename = str(path)
        raise
    if _LOCKS_FILES:
        with suppress(OSError):  # a file system without locks
            lock(handle)
    else:
        os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        if synced:
            with temporary.open("rb+") as written:
                os.fsync(written.fileno())
        if os.name == "posix":
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except OSError as error:
        if error.filename in (None, str(temporary), temporary):  # a full disk names no file
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        temporary.unlink(missing_ok=True)
        if _LOCKS_FILES:
            os.close(handle)


def _tidy(folder: Path) -> None:
    """Remove the partial files that nobody writes any more; once for each folder, as there may be many files in it."""
    if folder in _tidied:
        return
    _tidied.add(folder)
    with suppress(OSError), os.scandir(folder) as entries:
        left = [Path(entry.path) for entry in entries if _PARTIAL.fullmatch(entry.name)]
        for path in left:
            with suppress(OSError):
                if path.is_file() and not path.is_symlink() and _is_nobodys(path):
                    path.unlink()


def _is_nobodys(path: Path) -> bool:
    age = time.time() - path.stat().st_mtime
    if not _LOCKS_FILES:
        return age > _OLD
    if age < _YOUNG:
        return False
    handle = os.open(path, os.O_RDWR)
    try:
        lock(handle)  # its holder's end would have let go of it
    finally:
        os.close(handle)
    return True


def write_bytes(path: Path, data: bytes, *, synced: bool = True) -> None:
    """Write `data` to `path` atomically."""
    with atomic_path(path, synced=synced) as temporary:
        temporary.write_bytes(data)


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` atomically as UTF-8, with line feeds on every system."""
    write_bytes(path, text.encode())


def write_json(path: Path, data: Any) -> None:
    """Write JSON with two spaces of indent, sorted as given, no NaN, and a last line feed."""
    write_text(path, json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path, form: str | None = None) -> Any:
    """Read a JSON file; with `form`, its top level has to be an object whose `format` is exactly that.

    Raises BadInputError, naming the file, where it is missing, unreadable, no JSON, or of another format. An object
    that gives one name twice, and NaN, which Python would take, are no JSON.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise BadInputError(f"{path}: not a regular file")
        text = path.read_text(encoding="utf-8-sig")
        data = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except _NoJsonError as error:
        raise BadInputError(f"{path}: not valid JSON: {error}") from None
    except FileNotFoundError:
        raise BadInputError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path}: cannot be read ({error})") from error
    except json.JSONDecodeError as error:
        raise BadInputError(
            f"{path}: not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from error
    except RecursionError:
        raise BadInputError(f"{path}: not valid JSON: nested too deeply") from None
    except ValueError as error:
        raise BadInputError(f"{path}: holds a number that is too long to be read") from error
    if form is not None and (not isinstance(data, dict) or data.get("format") != form):
        found = data.get("format") if isinstance(data, dict) else type(data).__name__
        raise BadInputError(f"{path}: its format is {found!r}; expected {form!r}")
    return data


class _NoJsonError(Exception):
    """Text that Python's reader takes and JSON does not allow."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _NoJsonError(f"the name {twice!r} is given twice in one object")
    return found


def _refuse_constant(name: str) -> Any:
    raise _NoJsonError(f"{name} is no number")


def numbered_folder(base: Path, name: str) -> Path:
    """Make the next one of `NAME-001`, `NAME-002` … in `base`, and return it: it is nobody else's.

    Raises BadInputError where `base` cannot be written to.
    """
    try:
        base.mkdir(parents=True, exist_ok=True)
        taken = [
            int(found[1]) for path in base.iterdir() if (found := _NUMBERED.fullmatch(path.name.removeprefix(name)))
        ]
        number = max(taken, default=0) + 1
        while True:
            folder = base / f"{name}-{number:03d}"
            try:
                folder.mkdir()
            except FileExistsError:  # somebody else was faster
                number += 1
            else:
                return folder
    except OSError as error:
        raise BadInputError(
            f"{base}: cannot be written ({error.strerror or error}); choose another output folder"
        ) from error


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def content_key(data: Any) -> str:
    """SHA-256 of a JSON value in canonical form (sorted keys, no spaces): the key under which results are cached."""
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
