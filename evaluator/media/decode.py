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
from .picture import Geometry, to_rgb
from .scan import Scan, scan
from .source import Source


@dataclass(frozen=True)
class Frame:
    """One picture of a video."""

    index: int
    """0-based, in display order."""
    time: Fraction
    """Seconds at which the file shows it; the first frame's is `VideoInfo.start_seconds`."""
    image: NDArray[np.uint8]
    """(H, W, 3) RGB as shown: rotation, mirror and pixel aspect applied."""


def stream(path: Path, *, size: tuple[int, int] | None = None) -> Iterator[Frame]:
    """Yield every frame in display order, decoding as it goes; memory does not grow with the video's length.

    `size` = (width, height) as shown scales while the colours are converted. A picture whose size differs from the
    first one's is scaled to it. Raises BadInputError where the file cannot be opened or no frame decodes.
    """
    with Source(path) as source:
        shown: Geometry | None = None
        for index, (timestamp, frame) in enumerate(source.decoded()):
            geometry = source.geometry(frame)
            shown = shown or geometry
            yield Frame(index, timestamp * source.time_base, to_rgb(frame, geometry, size or shown.shown_size))
        if shown is None:
            raise BadInputError(f"{path}: no frame can be decoded; give a whole video file")


def frames(path: Path, indices: Sequence[int], *, size: tuple[int, int] | None = None) -> list[Frame]:
    """The frames at `indices`, in the order asked for, repeated where asked for twice.

    Seeks to the keyframe before each wanted frame where what follows it proves to be the very frames of a full decode;
    else the file is decoded from its start. Raises BadInputError where an index is negative or beyond the end.
    """
    seen = scan(path)
    wanted = sorted(set(indices))
    outside = [index for index in wanted if not 0 <= index < len(seen.timestamps)]
    if outside:
        raise BadInputError(
            f"{path}: frame {outside[0]} was asked for, but its frames are 0 … {len(seen.timestamps) - 1}"
        )
    picked = _by_seeking(path, seen, wanted, size)
    if picked is None:
        picked = _from_start(path, wanted, size)
    return [picked[index] for index in indices]


def _from_start(path: Path, wanted: list[int], size: tuple[int, int] | None) -> dict[int, Frame]:
    picked: dict[int, Frame] = {}
    with Source(path) as source:
        shown: Geometry | None = None
        for index, (timestamp, frame) in enumerate(source.decoded()):
            shown = shown or source.geometry(frame)
            if len(picked) == len(wanted):
                break
            if index == wanted[len(picked)]:
                picked[index] = _frame(source, index, timestamp, frame, size or shown.shown_size)
    if len(picked) < len(wanted):
        raise BadInputError(f"{path}: frame {wanted[len(picked)]} does not decode again; the file is damaged")
    return picked


def _by_seeking(
    path: Path, seen: Scan, wanted: list[int], size: tuple[int, int] | None
) -> dict[int, Frame] | None:  # fmt: skip
    """As `_from_start`, by seeking; None where the file does not allow it or a frame is not the one expected."""
    if (
        seen.damage.packets
        or seen.damage.missing_timestamps
        or seen.size_changes
        or (np.diff(seen.timestamps) <= 0).any()
    ):
        return None
    keyframes = np.flatnonzero(seen.keyframes)
    groups: dict[int, list[int]] = {}
    for index in wanted:
        before = keyframes[keyframes <= index]
        if len(before) == 0:
            return None
        groups.setdefault(int(before[-1]), []).append(index)
    picked: dict[int, Frame] = {}
    with Source(path) as source:
        for keyframe, group in groups.items():
            if keyframe > 0:
                try:
                    source.container.seek(int(seen.timestamps[keyframe]), stream=source.stream, backward=True)
                except av.FFmpegError:
                    return None
            elif picked:
                return None
            position = None
            for timestamp, frame in source.decoded():
                if position is None:
                    if timestamp < seen.timestamps[keyframe]:
                        continue  # before the keyframe, or leading pictures that lean on what was skipped
                    position = keyframe
                if timestamp != seen.timestamps[position]:
                    return None
                if position in group:
                    picked[position] = _frame(source, position, timestamp, frame, size or seen.geometry.shown_size)
                position += 1
                if position > group[-1]:
                    break
            if source.damage.packets or not all(index in picked for index in group):
                return None
    return picked


def _frame(source: Source, index: int, timestamp: int, frame: VideoFrame, size: tuple[int, int]) -> Frame:
    return Frame(index, timestamp * source.time_base, to_rgb(frame, source.geometry(frame), size))
