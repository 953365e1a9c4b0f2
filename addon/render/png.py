# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells a finished PNG from one that a killed process left half-written, and makes equal pictures equal files."""

from __future__ import annotations

import struct
from pathlib import Path

SIGNATURE = b"\x89PNG\r\n\x1a\n"
END = b"\x00\x00\x00\x00IEND\xaeB`\x82"


def is_finished(path: Path, size: tuple[int, int]) -> bool:
    """Whether `path` is a PNG of `size` (width, height) that is there from its first byte to its last chunk."""
    try:
        with path.open("rb") as file:
            head = file.read(24)
            file.seek(-len(END), 2)
            tail = file.read()
    except OSError:
        return False
    if not head.startswith(SIGNATURE) or head[12:16] != b"IHDR" or tail != END:
        return False
    return struct.unpack(">II", head[16:24]) == size


def without_text(data: bytes) -> bytes:
    """The PNG without its text chunks: Blender writes dates and render times there, which differ from run to run."""
    kept, position = [SIGNATURE], len(SIGNATURE)
    while position < len(data):
        (length,) = struct.unpack_from(">I", data, position)
        chunk = data[position : position + 12 + length]
        if chunk[4:8] not in (b"tEXt", b"zTXt", b"iTXt", b"tIME"):
            kept.append(chunk)
        position += len(chunk)
    return b"".join(kept)
