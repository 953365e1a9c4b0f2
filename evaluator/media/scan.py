# SPDX-License-Identifier: GPL-3.0-or-later
"""One pass over a whole video: every frame's timestamp and a small signature of its picture.

The pass is what probe reports, what frame access seeks by, and what the timeline check compares. It is kept in memory
while the file stays the same, so that a command decodes a file for it once. Who wants to see more of the pictures
than the signature, as the cut detectors do, watches the pass.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from ..protocol.errors import BadInputError
from .colour import colour_of
from .header import Header, read_header
from .picture import Converter, Geometry
from .records import Colour
from .source import MOST_PIXELS, Damage, Source

SIGNATURE_SIZE = (32, 18)
"""(width, height) of a signature."""
SMALL_SIZE = (256, 144)
"""(width, height) of the pictures that a watcher is shown; a multiple of the signature's."""

Watcher = Callable[[int, NDArray[np.uint8]], None]
"""Called with (frame's index, (144, 256, 3) uint8 RGB picture as shown, averaged down) for each frame in turn."""

MOST_FRAMES = 500_000
"""Of one video, 4.6 hours at 30 frames per second: a pass keeps some hundred bytes of each."""

_KEPT = 8


@dataclass(frozen=True)
class Scan:
    """What a full decode of one video showed. All arrays have one entry per frame, in display order."""

    timestamps: NDArray[np.int64]
    """(n,) in ticks of `time_base`."""
    keyframes: NDArray[np.bool_]
    """(n,) whether decoding can start there."""
    signatures: NDArray[np.uint8]
    """(n, 18, 32) luma as shown, averaged over the cells of a 32×18 grid."""
    time_base: Fraction
    last_duration: int
    """Ticks that the last frame says it is shown for; 0 where it says nothing."""
    geometry: Geometry
    size_changes: tuple[int, ...]
    """Frames at which the coded size differs from the frame before."""
    corrupt: tuple[int, ...]
    """Frames that the decoder says have faults."""
    interlaced: int
    """Number of frames that say that they hold two fields."""
    pixel_format: str
    bit_depth: int
    colour: Colour
    """Of the first frame, as the pixel format and the depth."""
    header: Header
    damage: Damage


_scans: OrderedDict[tuple[str, int, int], Scan] = OrderedDict()


def scan(path: Path, *, watch: Watcher | None = None) -> Scan:
    """Decode the whole of `path` once, showing `watch` each frame on the way.

    Without a watcher an earlier pass over the same file is returned. Raises BadInputError where it cannot be opened or
    no frame decodes.
    """
    key = identity(path)
    known = _scans.get(key) if watch is None else None
    if known is None:
        known = _scan(path, watch)
        _scans[key] = known
        while len(_scans) > _KEPT:
            _scans.popitem(last=False)
    _scans.move_to_end(key)
    return known


def identity(path: Path) -> tuple[str, int, int]:
    """What tells a file from a later version of itself: its place, size and time of change."""
    try:
        stat = path.stat()
        place = str(path.absolute())
    except (OSError, ValueError):
        return str(path), -1, -1  # opening it says what is wrong
    return place, stat.st_size, stat.st_mtime_ns


def _scan(path: Path, watch: Watcher | None) -> Scan:
    timestamps: list[int] = []
    keyframes: list[bool] = []
    signatures: list[NDArray[np.uint8]] = []
    size_changes: list[int] = []
    corrupt: list[int] = []
    interlaced = 0
    shrink = thumbnails()
    with Source(path) as source:
        first = last = None
        for timestamp, frame in source.decoded():
            index = len(timestamps)
            first = first or frame
            if last is not None and (frame.width, frame.height) != (last.width, last.height):
                size_changes.append(index)
            last = frame
            timestamps.append(timestamp)
            keyframes.append(bool(frame.key_frame))
            interlaced += frame.interlaced_frame
            if frame.is_corrupt:
                corrupt.append(index)
            small = shrink(frame, source.geometry(frame))
            signatures.append(signature(small))
            if watch is not None:
                watch(index, small)
            if index == MOST_FRAMES:
                raise BadInputError(f"{path}: has more than {MOST_FRAMES} frames; cut it to the part that is wanted")
        if first is None or last is None:
            reason = source.damage.reason or "it holds no picture"
            if source.stream.width == 0:  # FFmpeg gives no size where it would not decode it
                reason += f"; its size is unknown, or more than the {MOST_PIXELS} pixels that are decoded"
            raise BadInputError(f"{path}: no frame can be decoded ({reason}); give a whole video file")
        return Scan(
            timestamps=np.array(timestamps, np.int64),
            keyframes=np.array(keyframes, np.bool_),
            signatures=np.stack(signatures),
            time_base=source.time_base,
            last_duration=last.duration or 0,
            geometry=source.geometry(first),
            size_changes=tuple(size_changes),
            corrupt=tuple(corrupt),
            interlaced=interlaced,
            pixel_format=first.format.name,
            bit_depth=max(component.bits for component in first.format.components),
            colour=colour_of(first),
            header=read_header(source),
            damage=source.damage,
        )


def thumbnails() -> Converter:
    """What makes the small pictures of a pass: (144, 256, 3) uint8 RGB."""
    return Converter(SMALL_SIZE, averaged=True)


def signature(small: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Luma (18, 32) uint8 of a small picture (144, 256, 3), averaged over cells."""
    luma: NDArray[np.uint8] = cv2.cvtColor(small, cv2.COLOR_RGB2GRAY)
    averaged: NDArray[np.uint8] = cv2.resize(luma, SIGNATURE_SIZE, interpolation=cv2.INTER_AREA)
    return averaged
