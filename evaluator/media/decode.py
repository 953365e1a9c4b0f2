# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of a video as pictures: streamed in order, or picked by index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from ..protocol.errors import BadInputError
from .picture import Converter
from .scan import Scan, scan, signature, thumbnails
from .source import Source

_WORTH_SEEKING = 16
"""Frames that are rather decoded than skipped: a seek empties the decoder, whose threads then start anew."""
_STEPS_BACK = (0, 1, 4)
"""Keyframes before the wanted one that a seek aims at, one after the other, until it does not land behind."""


@dataclass(frozen=True)
class Frame:
    """One picture of a video."""

    index: int
    """0-based, in display order."""
    time: Fraction
    """Seconds at which the file shows it; the first frame's is `VideoInfo.start_seconds`."""
    image: NDArray[np.uint8]
    """(H, W, 3) RGB as shown: rotation, mirror and pixel aspect applied. It stays as it is while it is held; read-only,
    for the decoder may still need it."""


@dataclass(frozen=True)
class SeekTable:
    """What of a scan finds a frame by seeking; small enough to be kept on disk."""

    timestamps: NDArray[np.int64]
    """(n,) in ticks of the stream's time base."""
    keyframes: NDArray[np.bool_]
    """(n,) whether decoding can start there."""
    signatures: NDArray[np.uint8]
    """(n, 18, 32), as `Scan.signatures`."""
    shown_size: tuple[int, int]
    """(width, height) of the pictures as shown."""
    seekable: bool
    """False where only a decode from the start finds the frames: a damaged file, times that do not increase, pictures
    whose size changes."""

    @classmethod
    def of(cls, seen: Scan) -> SeekTable:
        """The table of a scanned video."""
        steady = not (seen.damage.packets or seen.damage.missing_timestamps or seen.size_changes)
        seekable = steady and bool((np.diff(seen.timestamps) > 0).all())
        return cls(seen.timestamps, seen.keyframes, seen.signatures, seen.geometry.shown_size, seekable)


def stream(path: Path, *, size: tuple[int, int] | None = None) -> Iterator[Frame]:
    """Yield every frame in display order, decoding as it goes; memory does not grow with the video's length.

    `size` = (width, height) as shown scales while the colours are converted. A picture whose size differs from the
    first one's is scaled to it. Raises BadInputError where the file cannot be opened or no frame decodes.
    """
    with Source(path) as source:
        picture: Converter | None = None
        for index, (timestamp, frame) in enumerate(source.decoded()):
            geometry = source.geometry(frame)
            picture = picture or Converter(size or geometry.shown_size)
            yield Frame(index, timestamp * source.time_base, picture(frame, geometry))
        if picture is None:
            raise BadInputError(f"{path}: no frame can be decoded; give a whole video file")


def frames(path: Path, indices: Sequence[int], *, size: tuple[int, int] | None = None) -> list[Frame]:
    """The frames at `indices`, in the order asked for, repeated where asked for twice; otherwise as `pick`."""
    wanted = sorted(set(indices))
    picked = dict(zip(wanted, pick(path, wanted, size=size), strict=True))
    return [picked[index] for index in indices]


def pick(
    path: Path, indices: Sequence[int], *, size: tuple[int, int] | None = None, table: SeekTable | None = None
) -> Iterator[Frame]:
    """Yield the frames at strictly increasing `indices`, each as soon as it is decoded; none is kept.

    Seeks to the keyframe before a wanted frame, and takes what follows where its timestamps and the signature of the
    picture are those of the scan; else the file is decoded from its start. With the `table` of an earlier scan of the
    same file it is not scanned again. Raises BadInputError where an index is negative or beyond the end.
    """
    seen = table or SeekTable.of(scan(path))
    outside = [index for index in indices if not 0 <= index < len(seen.timestamps)]
    if outside:
        raise BadInputError(
            f"{path}: frame {outside[0]} was asked for, but its frames are 0 … {len(seen.timestamps) - 1}"
        )
    picture = Converter(size or seen.shown_size)
    given = 0
    for frame in _by_seeking(path, seen, indices, picture):
        yield frame
        given += 1
    if given < len(indices):
        yield from _from_start(path, indices[given:], picture)


def pick_pictures(path: Path, indices: Sequence[int]) -> Iterator[NDArray[np.uint8]]:
    """Pictures (H, W, 3) uint8 RGB at increasing `indices`, which may repeat, as `pick` finds them; one is held."""
    for frame in pick(path, sorted(set(indices))):
        for _ in range(indices.count(frame.index)):
            yield frame.image


def _from_start(path: Path, wanted: Sequence[int], picture: Converter) -> Iterator[Frame]:
    given = 0
    with Source(path) as source:
        for index, (timestamp, frame) in enumerate(source.decoded()):
            if index == wanted[given]:
                yield Frame(index, timestamp * source.time_base, picture(frame, source.geometry(frame)))
                given += 1
                if given == len(wanted):
                    return
    raise BadInputError(f"{path}: frame {wanted[given]} does not decode again; the file is damaged")


def _by_seeking(path: Path, seen: SeekTable, wanted: Sequence[int], picture: Converter) -> Iterator[Frame]:
    """As `_from_start`; ends early where the file does not allow seeking or a frame is not the one of the scan."""
    if not seen.seekable:
        return
    shrink = thumbnails()
    with Source(path) as source:
        for keyframe, run in _runs(seen, wanted):
            position = keyframe
            for timestamp, frame in _from_keyframe(source, seen, keyframe):
                if timestamp != seen.timestamps[position] or source.damage.packets:
                    return
                if position in run:
                    geometry = source.geometry(frame)
                    if (signature(shrink(frame, geometry)) != seen.signatures[position]).any():
                        return  # the keyframe was none: only a full decode has everything that the picture leans on
                    yield Frame(position, timestamp * source.time_base, picture(frame, geometry))
                position += 1
                if position > run[-1]:
                    break
            if position <= run[-1]:
                return


def _from_keyframe(source: Source, seen: SeekTable, keyframe: int) -> Iterator[tuple[int, VideoFrame]]:
    """What decodes from a keyframe on; nothing where it is not found again.

    Some containers are searched by decoding order, or by a guess at the place, and land behind it: then once more from
    a keyframe further back. What lies before it, and pictures that lean on what was skipped, are left out.
    """
    start = seen.timestamps[keyframe]
    for back in _STEPS_BACK:
        earlier = np.flatnonzero(seen.keyframes[: keyframe + 1])[-1 - back :]
        if keyframe > 0:
            try:
                source.container.seek(int(seen.timestamps[earlier[0]]), stream=source.stream, backward=True)
            except av.FFmpegError:
                return
        found = False
        for timestamp, frame in source.decoded():
            if not found and timestamp > start:
                break
            if timestamp >= start:
                found = True
                yield timestamp, frame
        if found:
            return


def _runs(seen: SeekTable, wanted: Sequence[int]) -> list[tuple[int, list[int]]]:
    """(keyframe to seek to, indices decoded from there) in order; none where a frame has no keyframe before it."""
    keyframes = np.flatnonzero(seen.keyframes)
    runs: list[tuple[int, list[int]]] = []
    for index, place in zip(wanted, np.searchsorted(keyframes, wanted, side="right"), strict=True):
        if place == 0:
            return []
        keyframe = int(keyframes[place - 1])
        if runs and keyframe <= runs[-1][1][-1] + _WORTH_SEEKING:
            runs[-1][1].append(index)
        else:
            runs.append((keyframe, [index]))
    return runs
