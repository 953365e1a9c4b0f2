# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells a whole PNG from a damaged or half-written one, and makes equal pictures equal files."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_TEXT = (b"tEXt", b"zTXt", b"iTXt", b"tIME", b"eXIf")


def is_finished(path: Path, size: tuple[int, int]) -> bool:
    """Whether `path` is a PNG of `size` (width, height) that is whole: every chunk to the last one has its checksum."""
    try:
        data = path.read_bytes()
        kinds = [data[start + 4 : start + 8] for start, _ in _chunks(data)]
    except (OSError, struct.error, ValueError):
        return False
    return kinds[:1] == [b"IHDR"] and kinds[-1:] == [b"IEND"] and struct.unpack_from(">II", data, 16) == size


def without_text(data: bytes) -> bytes:
    """The PNG without its text chunks: Blender writes dates and render times there, which differ from run to run."""
    kept = [data[start:end] for start, end in _chunks(data) if data[start + 4 : start + 8] not in _TEXT]
    return SIGNATURE + b"".join(kept)


def _chunks(data: bytes) -> Iterator[tuple[int, int]]:
    """Where each chunk begins and ends. Raises ValueError or struct.error where the file is damaged."""
    if not data.startswith(SIGNATURE):
        raise ValueError("not a PNG")
    view, start = memoryview(data), len(SIGNATURE)
    while start < len(data):
        end = start + 12 + struct.unpack_from(">I", data, start)[0]
        if zlib.crc32(view[start + 4 : end - 4]) != struct.unpack_from(">I", data, end - 4)[0]:
            raise ValueError("a damaged chunk")
        yield start, end
        start = end
