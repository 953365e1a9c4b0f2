# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of a video decoded ahead into files that a window shows at once: each file is a texture as it stands.

A file `000012.f32` holds one frame: (H, W) little-endian float32, rows from the top, each pixel's sRGB bytes as the
whole number r * 65536 + g * 256 + b, which float32 holds exactly. Blender takes textures as floats alone, and one float
for a pixel is a quarter of what four channels cost. Frames lie below the user's cache in a folder for each video, by
its content, and in that for each size. A frame is there whole or not at all; the oldest ones make place for new ones.
"""

from __future__ import annotations

import os
import shutil
import time
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..protocol.cache import cache_folder, forget_oldest
from ..protocol.errors import BadInputError
from ..protocol.files import atomic_path, sha256_of, write_bytes
from ..protocol.messages import Reporter
from .decode import SeekTable, pick
from .probe import probe
from .resize import resized
from .scan import scan

NAME: Final = "frames"
"""Of the folder in the user's cache."""
LONGEST: Final = 960
"""Pixels of the longer side of a cached frame, unless another number is asked for."""
MOST_BYTES: Final = 2 * 1024**3
"""That all cached frames of all videos take together, unless another number is asked for."""
BEHIND: Final = 4
"""Of a video that does not fit, one frame in so many lies before the playhead."""
_TIDIED_EVERY: Final = 32
_TOLD_SECONDS: Final = 0.1
_TABLE: Final = "seek.npz"
_WEIGHTS: Final = np.array([65536, 256, 1], np.float32)


@dataclass(frozen=True)
class CachedVideo:
    """A video whose frames are cached."""

    folder: Path
    """Of the frames of one size."""
    size: tuple[int, int]
    """(width, height) of a cached frame in pixels."""
    rate: Fraction
    frames: int
    """That the video has."""
    table: SeekTable


def cached_video(video: Path, longest: int = LONGEST) -> CachedVideo:
    """Where the frames of `video` lie, with a longer side of at most `longest` pixels; a frame is never enlarged.

    The first time the whole video is decoded, to find its frames later by seeking. Raises BadInputError where it
    cannot be read.
    """
    if not 16 <= longest <= 8192:
        raise BadInputError(f"size {longest}: the longer side of a cached frame has 16 to 8192 pixels")
    try:
        content = sha256_of(video)
    except OSError as error:
        raise BadInputError(f"{video}: cannot be read ({error.strerror or error}); give a video file") from error
    base = cache_folder(NAME) / content[:32]
    known = _read_table(base / _TABLE)
    if known is None:
        known = (SeekTable.of(scan(video)), probe(video).timeline.rate)
        _write_table(base / _TABLE, *known)
    else:
        os.utime(base / _TABLE)  # it is in use
    table, rate = known
    size = _fitted(table.shown_size, longest)
    return CachedVideo(base / str(longest), size, rate, len(table.timestamps), table)


def decode_ahead(
    video: Path, cached: CachedVideo, *, start: int = 0, every: int = 1, most_bytes: int = MOST_BYTES,
    reporter: Reporter,
) -> int:  # fmt: skip
    """Put the frames that are missing into the cache: from `start` to the end, then those before it; how many.

    `every` takes each n-th frame alone. Of a video that takes more than half of `most_bytes` only those around `start`
    are decoded. Every frame is in its place as soon as it is decoded. Raises BadInputError where `start` is none of the
    video's frames.
    """
    if not 0 <= start < cached.frames:
        raise BadInputError(f"{video}: frame {start} was asked for, but its frames are 0 to {cached.frames - 1}")
    cached.folder.mkdir(parents=True, exist_ok=True)
    root = cache_folder(NAME)
    most_bytes = min(most_bytes, _size_of(root) + shutil.disk_usage(root).free // 2)
    wanted = _wanted(cached, start, every, most_bytes // 2)
    missing = [frame for frame in wanted if not _keep_young(frame_path(cached.folder, frame), cached)]
    forget_oldest(root, most_bytes)
    made, told = 0, 0.0
    for run in ([f for f in missing if f >= start], [f for f in missing if f < start]):
        for frame, image in _pictures(video, cached, run):
            write_bytes(frame_path(cached.folder, frame), packed(image).tobytes(), synced=False)
            made += 1
            if made % _TIDIED_EVERY == 0:
                forget_oldest(root, most_bytes)
            if time.monotonic() - told > _TOLD_SECONDS or made == len(missing):
                told = time.monotonic()
                reporter.progress("frames", len(wanted) - len(missing) + made, len(wanted))
    forget_oldest(root, most_bytes)
    return made


def frame_path(folder: Path, frame: int) -> Path:
    """Where a frame of a video lies."""
    return folder / f"{frame:06d}.f32"


def packed(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(H, W) float32 of an (H, W, 3) uint8 RGB picture: each pixel as one whole number below 2**24."""
    numbers: NDArray[np.float32] = (image.astype(np.float32) @ _WEIGHTS).astype("<f4", copy=False)
    return numbers


def unpacked(numbers: NDArray[np.float32]) -> NDArray[np.uint8]:
    """(H, W, 3) uint8 RGB of what `packed` made."""
    whole = numbers.astype(np.uint32)
    return np.stack([whole >> 16, whole >> 8 & 255, whole & 255], axis=-1).astype(np.uint8)


def _pictures(video: Path, cached: CachedVideo, frames: Sequence[int]) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    for frame in pick(video, frames, table=cached.table) if frames else ():
        yield frame.index, resized(frame.image, cached.size)


def _wanted(cached: CachedVideo, start: int, every: int, most_bytes: int) -> list[int]:
    """The frames that are kept, in increasing order: all of them where they fit, else those around `start`."""
    frames = range(0, cached.frames, max(1, every))
    room = max(16, most_bytes // (cached.size[0] * cached.size[1] * 4))
    if len(frames) <= room:
        return list(frames)
    first = min(max(0, start // frames.step - room // BEHIND), len(frames) - room)
    return list(frames[first : first + room])


def _fitted(size: tuple[int, int], longest: int) -> tuple[int, int]:
    width, height = size
    scale = min(1.0, longest / max(size))
    return max(1, round(width * scale)), max(1, round(height * scale))


def _keep_young(path: Path, cached: CachedVideo) -> bool:
    """Whether the frame is there and whole; it then counts as new, so that others are dropped before it."""
    try:
        os.utime(path)
        return path.stat().st_size == cached.size[0] * cached.size[1] * 4
    except FileNotFoundError:
        return False


def _size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.f32"))


def _write_table(path: Path, table: SeekTable, rate: Fraction) -> None:
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(
            file, timestamps=table.timestamps, keyframes=table.keyframes, signatures=table.signatures,
            shown_size=np.array(table.shown_size), seekable=np.array(table.seekable),
            rate=np.array([rate.numerator, rate.denominator]),
        )  # fmt: skip


def _read_table(path: Path) -> tuple[SeekTable, Fraction] | None:
    """What `_write_table` wrote; None where it is not there or of no use."""
    try:
        with np.load(path, allow_pickle=False) as held:
            width, height = (int(value) for value in held["shown_size"])
            rate = Fraction(*(int(value) for value in held["rate"]))
            table = SeekTable(
                held["timestamps"], held["keyframes"], held["signatures"], (width, height), bool(held["seekable"])
            )
    except (OSError, EOFError, ValueError, KeyError, zlib.error, zipfile.BadZipFile, ZeroDivisionError):
        return None
    return table, rate
