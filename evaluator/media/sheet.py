# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of a video for who studies it: labelled tiles on one sheet, or one frame in detail, with a grid to pick from.

Pixel coordinates are those of the whole picture as shown, in which the centre of the top-left pixel is (0, 0).
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from ..protocol.errors import BadInputError
from .labels import label_bar, text_width
from .resize import resized

Picture = NDArray[np.uint8]
LONGEST: Final = 1024
"""Pixels of a picture's longer side."""
MOST_BYTES: Final = 690_000
MOST_TILES: Final = 60
SMALLEST_CROP: Final = 8
"""Pixels."""
LARGEST_SCALE: Final = 8.0
"""Times that a picture is enlarged at most: a larger one shows no more."""

_QUALITIES: Final = (90, 80, 70, 60, 50, 40, 30, 20)
_GAP, _GROUND, _BAR = 4, 56, 18
_CUT: Final = (255, 140, 0)
_GRID_LINES: Final = 8


@dataclass(frozen=True)
class Crop:
    """A part of the picture in whole pixels."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class Tile:
    """One frame of a sheet: `cut` where it is the first one shown of a new shot."""

    frame: int
    seconds: float
    cut: bool
    box: tuple[int, int, int, int]
    """Left, top, width and height of its picture on the sheet, without the label."""


def parse_crop(text: str, size: tuple[int, int]) -> Crop:
    """A crop out of `x,y,width,height`, in pixels, or in shares of the picture where none is above 1.

    `size` = (width, height) of the picture. Raises BadInputError where it is not inside.
    """
    try:
        x, y, width, height = (float(part) for part in text.split(","))
    except ValueError:
        raise BadInputError(
            f"crop {text!r}: has to be x,y,width,height in pixels, or in shares of the picture such as 0.5,0,0.5,1"
        ) from None
    if all(0 <= value <= 1 for value in (x, y, width, height)):
        x, width, y, height = x * size[0], width * size[0], y * size[1], height * size[1]
    if not all(map(math.isfinite, (x, y, width, height))):
        raise BadInputError(f"crop {text!r}: holds what is no number")
    left, top, right, bottom = (round(value) for value in (x, y, x + width, y + height))
    if left < 0 or top < 0 or right > size[0] or bottom > size[1]:
        raise BadInputError(f"crop {text!r}: reaches beyond the picture, which is {size[0]}x{size[1]} pixels")
    if right - left < min(SMALLEST_CROP, size[0]) or bottom - top < min(SMALLEST_CROP, size[1]):
        raise BadInputError(f"crop {text!r}: is {right - left}x{bottom - top} pixels; {SMALLEST_CROP} is least")
    return Crop(left, top, right - left, bottom - top)


def detail(picture: Picture, crop: Crop, longest: int, grid: bool) -> tuple[Picture, float]:
    """The part `crop` of a picture (H, W, 3), its longer side `longest` pixels, and by what it was scaled.

    It is enlarged by LARGEST_SCALE at most. With `grid`, lines at round pixel coordinates of the whole picture.
    """
    part = np.ascontiguousarray(picture[crop.y : crop.y + crop.height, crop.x : crop.x + crop.width])
    scale = min(longest / max(crop.width, crop.height), LARGEST_SCALE)
    shown = resized(part, (max(1, round(crop.width * scale)), max(1, round(crop.height * scale))))
    return (_with_grid(shown, crop) if grid else shown), scale


def sheet(
    pictures: Iterable[Picture], frames: Sequence[int], seconds: Sequence[float], cuts: Sequence[int],
    shape: tuple[int, int], longest: int,
) -> tuple[Picture, list[Tile]]:  # fmt: skip
    """The pictures, all of the aspect `shape` = (width, height), as labelled tiles in rows; one is held at a time.

    `frames` and `seconds` are theirs, in order, `cuts` the first frames of new shots: an orange edge marks the first
    tile after one. The longer side of the whole is `longest` pixels at most.
    """
    count = len(frames)
    columns, (width, height) = _arrangement(count, shape, longest)
    rows = -(-count // columns)
    cell = (width + _GAP, height + _BAR + _GAP)
    whole = np.full((rows * cell[1] + _GAP, columns * cell[0] + _GAP, 3), _GROUND, np.uint8)
    tiles: list[Tile] = []
    for index, (picture, frame, time) in enumerate(zip(pictures, frames, seconds, strict=True)):
        left, top = _GAP + index % columns * cell[0], _GAP + index // columns * cell[1]
        before = frames[index - 1] if index else frame
        cut = any(before < cut <= frame for cut in cuts)
        name = f"frame {frame}" if width >= 112 else f"{frame}"
        words = (f"{name} CUT" if cut else name, f"{time:.3f} s")
        if width < sum(text_width(word, 8) for word in words) + 3 * 4:
            words = (words[0], "")
        whole[top : top + _BAR, left : left + width] = label_bar(width, _BAR, *words, size=13, margin=4)
        whole[top + _BAR : top + _BAR + height, left : left + width] = resized(picture, (width, height))
        if cut:
            whole[top : top + _BAR + height, left - _GAP : left] = _CUT
            whole[top : top + 2, left : left + width] = _CUT
        tiles.append(Tile(frame, time, cut, (left, top + _BAR, width, height)))
    return whole, tiles


def tile_size(count: int, shape: tuple[int, int], longest: int) -> tuple[int, int]:
    """(width, height) of each of `count` pictures on a sheet."""
    return _arrangement(count, shape, longest)[1]


def jpeg_within(picture: Picture, most: int = MOST_BYTES) -> bytes:
    """The picture (H, W, 3) as JPEG of at most `most` bytes, at the best quality that allows it."""
    for quality in _QUALITIES:
        buffer = io.BytesIO()
        Image.fromarray(picture).save(buffer, "JPEG", quality=quality, subsampling="4:4:4")
        if buffer.tell() <= most:
            break
    return buffer.getvalue()


def _arrangement(count: int, shape: tuple[int, int], longest: int) -> tuple[int, tuple[int, int]]:
    """Columns, and the size of a picture: the largest with which all fit, and none larger than `shape`.

    Of several that are as large, the arrangement with the shortest longer side.
    """
    best, chosen = (0.0, 0), (1, (1, 1))
    for columns in range(1, count + 1):
        rows = -(-count // columns)
        across, down = (longest - _GAP) // columns - _GAP, (longest - _GAP) // rows - _GAP - _BAR
        scale = min(across / shape[0], down / shape[1], 1.0)
        size = (max(1, int(shape[0] * scale)), max(1, int(shape[1] * scale)))
        rank = scale, -max(columns * (size[0] + _GAP), rows * (size[1] + _GAP + _BAR))
        if scale > 0 and rank > best:
            best, chosen = rank, (columns, size)
    return chosen


def _with_grid(picture: Picture, crop: Crop) -> Picture:
    """Thin lines at round coordinates of the whole picture, their numbers at the top and at the left."""
    height, width = picture.shape[:2]
    image = Image.fromarray(picture).convert("RGBA")
    lines = Image.new("RGBA", image.size, (0, 0, 0, 0))
    draw, font = ImageDraw.Draw(lines), ImageFont.load_default(12)
    step = _round_step(max(crop.width, crop.height) / _GRID_LINES)
    places = [
        ((value + 0.5 - start) * side / length - 0.5, value, across)
        for across, start, length, side in ((True, crop.x, crop.width, width), (False, crop.y, crop.height, height))
        for value in range(-(-start // step) * step, start + length, step)
    ]
    for place, _, across in places:
        for shift, colour in ((1, (0, 0, 0, 110)), (0, (255, 255, 255, 150))):
            at = round(place) + shift
            draw.line([(at, 0), (at, height)] if across else [(0, at), (width, at)], colour)
    for place, value, across in places:
        text = str(value)
        box = draw.textbbox((0, 0), text, font)
        x, y = (round(place) + 3, 1) if across else (2, round(place) + 2)
        draw.rectangle((x - 1, y, x + box[2] + 1, y + box[3] + 1), (0, 0, 0, 170))
        draw.text((x, y), text, (255, 220, 90, 255), font)
    return np.asarray(Image.alpha_composite(image, lines).convert("RGB"))


def _round_step(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50 … that is not below `least`."""
    power = int(10 ** max(0, math.floor(math.log10(max(least, 1)))))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least)
