# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of a scene, read small from whatever file they are in; what cannot be read is told, never an error."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import av
import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from ..media.picture import to_rgb
from ..media.source import Source
from ..protocol.errors import BadInputError

LONGEST_SIDE: Final = 512
MOST_PIXELS: Final = 100_000_000
"""Of a picture that is decoded at all; a JPEG may be larger, since it is decoded small."""
LARGEST_FILE: Final = 2**30
MOVIE_FRAMES: Final = 12
"""Frames of a movie that are compared with the reference, evenly spread over what is decoded."""
MOVIE_DECODED: Final = 3000

_STILLS: Final = frozenset(name for name in av.formats_available if name.endswith("_pipe")) - {"svg_pipe"}
_UNREADABLE = (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombWarning)


class UnreadableError(Exception):
    """Why a picture cannot be compared, in a few words."""


@dataclass(frozen=True)
class Candidate:
    """One picture: its name within its datablock, and (H, W, 3) uint8 RGB of at most LONGEST_SIDE."""

    name: str
    image: NDArray[np.uint8]


def read_candidates(picture: dict[str, Any]) -> Iterator[Candidate]:
    """The pictures behind one entry of the child's findings. Raises UnreadableError where there are none."""
    path, name = Path(picture["path"]), picture["name"]
    if picture["kind"] == "array":
        yield Candidate(name, _array(path))
        return
    try:
        if not path.is_file():
            raise UnreadableError("the file is not there")
        if picture["kind"] == "image" and path.stat().st_size > LARGEST_FILE:
            raise UnreadableError("the file is too large to be compared")
    except (OSError, ValueError):
        raise UnreadableError("the file cannot be read") from None
    still = _image(path) if picture["kind"] == "image" else None
    if still is not None:
        yield Candidate(name, still)
    else:
        yield from _movie(path, name)


def _array(path: Path) -> NDArray[np.uint8]:
    try:
        image = np.load(path, allow_pickle=False)
    except (OSError, ValueError):
        raise UnreadableError("the drawn picture cannot be read") from None
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise UnreadableError("the drawn picture has another form")
    return np.ascontiguousarray(image)


def _image(path: Path) -> NDArray[np.uint8] | None:
    still = _still(path)
    return still if still is not None else _raw_still(path)


def _still(path: Path) -> NDArray[np.uint8] | None:
    """An image file's first picture; None where Pillow does not know the format."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(path) as file:
                file.draft("RGB", (2 * LONGEST_SIDE, 2 * LONGEST_SIDE))  # a JPEG is decoded at a part of its size
                if file.width * file.height > MOST_PIXELS:
                    raise UnreadableError("the picture is too large to be compared")
                return _small(_eight_bits(file))
        except (Image.DecompressionBombWarning, Image.DecompressionBombError):
            raise UnreadableError("the picture is too large to be compared") from None
        except _UNREADABLE:
            return None


def _raw_still(path: Path) -> NDArray[np.uint8] | None:
    """A picture that FFmpeg alone reads, such as OpenEXR and Radiance; None where it is none."""
    try:
        # a playlist that says it is a picture would have other files and addresses read
        options = {"protocol_whitelist": "file", "format_whitelist": ",".join(sorted(_STILLS))}
        with av.open(str(path.absolute()), options=options) as container:
            if not container.streams.video:
                return None
            stream = container.streams.video[0]
            if stream.width * stream.height > MOST_PIXELS:
                raise UnreadableError("the picture is too large to be compared")
            frame = next(container.decode(stream))
            return _small(frame.to_ndarray(format="rgb24").astype(np.uint8, copy=False))
    except (av.FFmpegError, OSError, StopIteration, ValueError, MemoryError):
        return None


def _eight_bits(file: Image.Image) -> NDArray[np.uint8]:
    """(H, W, 3) uint8; of transparent pixels the colour that they hide."""
    if file.mode[0] in "IF":  # 16 bits, or numbers of any range
        values = np.nan_to_num(np.asarray(file, np.float32), posinf=0, neginf=0)
        low, high = float(values.min()), float(values.max())
        grey = ((values - low) / max(high - low, 1e-9) * 255).astype(np.uint8)
        return np.repeat(grey[..., None], 3, 2)
    if file.mode in ("P", "PA", "LA"):
        return np.asarray(file.convert("RGBA").convert("RGB"))
    return np.asarray(file.convert("RGB"))


def _movie(path: Path, name: str) -> Iterator[Candidate]:
    """Frames of a movie, evenly spread over its first MOVIE_DECODED frames."""
    shown = 0
    try:
        with Source(path) as source:
            stream = source.stream
            if stream.width * stream.height > MOST_PIXELS:
                raise UnreadableError("the movie is too large to be compared")
            step = max(1, min(_frame_count(source), MOVIE_DECODED) // MOVIE_FRAMES)
            for index, (_, frame) in enumerate(source.decoded()):
                if index >= MOVIE_DECODED or shown >= MOVIE_FRAMES:
                    break
                if index % step == 0:
                    geometry = source.geometry(frame)
                    image = _small(to_rgb(frame, geometry, _small_size(*geometry.shown_size)))
                    part = f"frame {index}" if step > 1 or index else ""
                    yield Candidate(" ".join(filter(None, (name, part))), image)
                    shown += 1
    except (BadInputError, av.FFmpegError, ValueError, MemoryError):
        pass
    if not shown:
        raise UnreadableError("it does not decode as a picture or a movie")


def _frame_count(source: Source) -> int:
    """What the header says of the number of frames; 1 where it says nothing, so that the first ones are taken."""
    declared = source.stream.frames
    if declared:
        return int(declared)
    duration, rate = source.container.duration, source.declared_rate
    return round(float(duration / 1_000_000 * rate)) if duration and rate else 1


def _small(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    height, width = image.shape[:2]
    size = _small_size(width, height)
    if size == (width, height):
        return np.ascontiguousarray(image)
    shrunk: NDArray[np.uint8] = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    return shrunk


def _small_size(width: int, height: int) -> tuple[int, int]:
    scale = min(1.0, LONGEST_SIDE / max(width, height, 1))
    return max(1, round(width * scale)), max(1, round(height * scale))
