# SPDX-License-Identifier: GPL-3.0-or-later
"""numpy files of strangers: their headers are read before any memory is taken, and pickled objects are refused."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from ...protocol.errors import BadInputError

LARGEST_ROW: Final = 1 << 31
"""Bytes that one row (a frame) or one whole .npy file may take in memory."""
FAULTS: Final = (
    OSError, ValueError, TypeError, EOFError, RuntimeError, OverflowError, SyntaxError,
    zipfile.BadZipFile, zlib.error, tokenize.TokenError,
)  # fmt: skip
"""What reading a damaged numpy file may raise; its header is Python's text."""


@dataclass(frozen=True)
class StoredArray:
    """An array in a .npz file, of which one row after the other can be read."""

    path: Path
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def rows(self) -> Iterator[NDArray[Any]]:
        """Its rows in order, one in memory. Raises BadInputError, naming the file, where it is damaged."""
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(f"{self.name}.npy") as file:
                _header(file)
                size = int(np.prod(self.shape[1:])) * self.dtype.itemsize
                for _ in range(self.shape[0]):
                    data = _read_exactly(file, size)
                    yield np.frombuffer(data, self.dtype).reshape(self.shape[1:])
        except FAULTS as error:
            raise _damaged(self.path, error) from error


def stored_array(path: Path, name: str) -> StoredArray:
    """What the array `name` of a .npz file is, from its header. Raises BadInputError, naming the file."""
    try:
        with zipfile.ZipFile(path) as archive:
            if f"{name}.npy" not in archive.namelist():
                held = ", ".join(sorted(member.removesuffix(".npy") for member in archive.namelist())[:5])
                raise BadInputError(f"{path}: it has no array {name!r}, but {held or 'none'}; write it under that name")
            with archive.open(f"{name}.npy") as file:
                shape, fortran, dtype = _header(file)
    except FAULTS as error:
        raise _damaged(path, error) from error
    if fortran and len(shape) > 1:
        raise BadInputError(f"{path}: {name} is stored column by column; write np.ascontiguousarray of it")
    if int(np.prod(shape[1:], dtype=object)) * dtype.itemsize > LARGEST_ROW:
        raise BadInputError(f"{path}: a frame of {name} {shape} would take more than 2 GB; give smaller ones")
    return StoredArray(path, name, shape, dtype)


def read_array(path: Path) -> NDArray[Any]:
    """A .npy file. Raises BadInputError, naming the file, where it is damaged, too large, or holds objects."""
    try:
        with path.open("rb") as file:
            shape, fortran, dtype = _header(file)
            if int(np.prod(shape, dtype=object)) * dtype.itemsize > LARGEST_ROW:
                raise BadInputError(f"{path}: an array {shape} would take more than 2 GB; give a smaller one")
            data = _read_exactly(file, int(np.prod(shape)) * dtype.itemsize)
    except FAULTS as error:
        raise _damaged(path, error) from error
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether Fortran order, and dtype; ValueError for what is no array of plain values."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version} of the format is not known")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if dtype.hasobject or dtype.itemsize == 0 or any(side < 0 for side in shape):
        raise ValueError("it holds objects, or nothing")
    return shape, fortran, dtype


def _read_exactly(file: IO[bytes], size: int) -> bytes:
    parts = []
    while size > 0:
        part = file.read(min(size, 1 << 24))
        if not part:
            raise EOFError("it ends early")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _damaged(path: Path, error: Exception) -> BadInputError:
    text = " ".join(str(error).split())[:200]
    return BadInputError(f"{path}: cannot be read as a numpy file ({text}); write it again")
