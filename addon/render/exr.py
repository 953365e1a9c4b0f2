# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the passes that Blender saved as one uncompressed OpenEXR file.

Blender hands out a render's passes in no other way (`Image.pixels` is empty for a multi-layer image) and ships no EXR
module for Python. One part of scan lines without compression is all that is written here, and all that is read:
https://openexr.com/en/latest/OpenEXRFileLayout.html
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...evaluator.protocol.errors import OperationalError

MAGIC = b"v/1\x01"
TILED, DEEP, MULTI_PART = 0x200, 0x800, 0x1000
DTYPES = {0: "<u4", 1: "<f2", 2: "<f4"}


def read_channels(path: Path) -> dict[str, NDArray[np.float32]]:
    """Read every channel as (H, W) float32, top row first, by its name such as `ViewLayer.Depth.Z`.

    Raises OperationalError for a file that is not of the one form described above.
    """
    data = path.read_bytes()
    try:
        return _decode(data)
    except (struct.error, ValueError, IndexError, KeyError) as error:
        raise OperationalError(f"{path.name}: Blender wrote passes that cannot be read ({error})") from error


def _decode(data: bytes) -> dict[str, NDArray[np.float32]]:
    (flags,) = struct.unpack_from("<I", data, 4)
    if data[:4] != MAGIC or flags & (TILED | DEEP | MULTI_PART):
        raise ValueError("not a single part of scan lines")
    attributes, position = {}, 8
    while data[position]:
        name, position = _text(data, position)
        _, position = _text(data, position)
        (size,) = struct.unpack_from("<i", data, position)
        attributes[name] = data[position + 4 : position + 4 + size]
        position += 4 + size
    if attributes["compression"] != b"\0":
        raise ValueError("compressed")
    left, top, right, bottom = struct.unpack("<4i", attributes["dataWindow"])
    width, height = right - left + 1, bottom - top + 1
    channels = _channels(attributes["channels"])
    row = np.dtype(
        [("y", "<i4"), ("bytes", "<i4"), *((name, dtype, (width,)) for name, dtype in channels)], align=False
    )
    start = position + 1 + 8 * height  # the offsets of the rows are not needed: rows of one size lie in order
    rows = np.frombuffer(data, row, count=height, offset=start)
    if not (
        np.array_equal(np.sort(rows["y"]), np.arange(top, bottom + 1)) and (rows["bytes"] == row.itemsize - 8).all()
    ):
        raise ValueError("its rows are not complete")
    rows = rows[np.argsort(rows["y"])]
    return {name: rows[name].astype(np.float32) for name, _ in channels}


def _channels(listing: bytes) -> list[tuple[str, str]]:
    channels, position = [], 0
    while listing[position]:
        name, position = _text(listing, position)
        kind, _, across, down = struct.unpack_from("<iIii", listing, position)
        if (across, down) != (1, 1):
            raise ValueError("subsampled")
        channels.append((name, DTYPES[kind]))
        position += 16
    return channels


def _text(data: bytes, position: int) -> tuple[str, int]:
    end = data.index(b"\0", position)
    return data[position:end].decode(), end + 1
