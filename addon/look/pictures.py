# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures that leave Blender: arrays of pixels as JPEG files of bounded size, and several of them as one sheet.

They are made by Blender's image buffers alone, so no data-block is added to the open file.
"""

from __future__ import annotations

import itertools
import tempfile
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import blf
import bpy
import imbuf
import numpy as np
from numpy.typing import NDArray

SIZE_LIMIT: Final = 1024
"""Pixels of the longer side."""
BYTES_LIMIT: Final = 700_000
QUALITIES: Final = (90, 75, 50, 25)
KEPT: Final = 100
"""Pictures that stay on the disk; older ones are removed."""
GAP: Final = 4
GROUND: Final = 24  # grey
_OPAQUE: Final = 255

_folder: Path | None = None
_counter = itertools.count(1)
_written: deque[Path] = deque()


def picture_folder() -> Path:
    """Where this Blender's pictures lie: among its own temporary files, which go when it ends."""
    global _folder  # noqa: PLW0603
    if _folder is None or not _folder.is_dir():
        _folder = Path(tempfile.mkdtemp(prefix="look-", dir=bpy.app.tempdir or None))
    return _folder


def write_jpeg(pixels: NDArray[np.uint8], name: str) -> Path:
    """Write (H, W, 3 or 4) uint8, rows from the top, as `NAME-<number>.jpg` below BYTES_LIMIT, and return its path."""
    image = imbuf.new((pixels.shape[1], pixels.shape[0]))
    with image.with_buffer(write=True) as buffer:
        target = np.asarray(buffer)
        target[..., :3] = pixels[::-1, :, :3]
        target[..., 3] = _OPAQUE
        del target  # the buffer is released only when nothing looks at it
    return _saved(image, name)


def read_picture(path: Path) -> NDArray[np.uint8]:
    """A picture's (H, W, 3) uint8, rows from the top."""
    image = imbuf.load(str(path))
    with image.with_buffer() as buffer:
        pixels: NDArray[np.uint8] = np.array(buffer, np.uint8)[::-1, :, :3]
    image.free()
    return pixels


def write_sheet(pictures: Sequence[NDArray[np.uint8]], labels: Sequence[str], name: str) -> tuple[Path, int, int]:
    """Put pictures of one size, each under its label, into one of at most SIZE_LIMIT pixels; its path and size."""
    height, width = pictures[0].shape[:2]
    columns, bar = sheet_layout(len(pictures), width, height)
    rows = -(-len(pictures) // columns)
    size = (columns * (width + GAP) - GAP, rows * (height + bar + GAP) - GAP)
    image = imbuf.new(size)
    with image.with_buffer(write=True) as buffer:
        target = np.asarray(buffer)
        target[...] = (GROUND, GROUND, GROUND, _OPAQUE)
        for place, picture in enumerate(pictures):
            left, top = place % columns * (width + GAP), place // columns * (height + bar + GAP) + bar
            target[size[1] - top - height : size[1] - top, left : left + width, :3] = picture[::-1]
        del target
    for place, label in enumerate(labels):
        left, top = place % columns * (width + GAP), place // columns * (height + bar + GAP)
        _write_text(image, label, left + 4, size[1] - top - bar + bar // 4, bar * 2 // 3, width - 8)
    return _saved(image, name), *size


def sheet_layout(count: int, width: int, height: int) -> tuple[int, int]:
    """Columns, and the height of a label, of a sheet of `count` pictures of this size that is as square as may be."""
    bar = max(14, min(28, height // 10))
    columns = min(
        range(1, count + 1),
        key=lambda number: max(number * (width + GAP), -(-count // number) * (height + bar + GAP)),
    )
    return columns, bar


def cell_size(count: int, aspect: float, limit: int) -> tuple[int, int]:
    """The largest (width, height) of a picture of this aspect so that a sheet of `count` stays within `limit`."""
    if count == 1:
        return fitted(aspect, limit)
    low, high = 16, limit
    while low < high:
        middle = (low + high + 1) // 2
        width, height = fitted(aspect, middle)
        columns, bar = sheet_layout(count, width, height)
        rows = -(-count // columns)
        inside = columns * (width + GAP) - GAP <= limit and rows * (height + bar + GAP) - GAP <= limit
        low, high = (middle, high) if inside else (low, middle - 1)
    return fitted(aspect, low)


def fitted(aspect: float, longest: int) -> tuple[int, int]:
    """(width, height) of aspect width / height whose longer side is `longest`."""
    if aspect >= 1:
        return longest, max(1, round(longest / aspect))
    return max(1, round(longest * aspect)), longest


def _write_text(image: Any, text: str, left: int, bottom: int, size: int, room: int) -> None:
    blf.size(0, size)
    while size > 6 and blf.dimensions(0, text)[0] > room:
        size -= 1
        blf.size(0, size)
    blf.color(0, 1.0, 1.0, 1.0, 1.0)
    with blf.bind_imbuf(0, image):
        blf.position(0, left, bottom, 0)
        blf.draw_buffer(0, text)


def _saved(image: Any, name: str) -> Path:
    path = picture_folder() / f"{name}-{next(_counter):04d}.jpg"
    image.file_type = "JPEG"
    for quality in QUALITIES:
        image.quality = quality
        imbuf.write(image, filepath=str(path))
        if path.stat().st_size <= BYTES_LIMIT:
            break
    image.free()
    _written.append(path)
    while len(_written) > KEPT:
        _written.popleft().unlink(missing_ok=True)
    return path
