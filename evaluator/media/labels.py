# SPDX-License-Identifier: GPL-3.0-or-later
"""Words on pictures: bars with a role and a moment, and panels that say why there is no picture.

The font is the one inside Pillow, so that the same text gives the same pixels on every system.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

_BAR, _TEXT = 24, 255  # greys
_EMPTY, _STRIPE = (72, 72, 72), (58, 58, 58)
_SMALLEST_TEXT = 8
_OVERHANG = 2  # pixels that a letter may reach beyond its own width


# loading the font takes longer than drawing a label; the roles and each moment are drawn once for many labels
@functools.lru_cache(maxsize=64)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


@functools.lru_cache(maxsize=256)
def text_width(text: str, size: int) -> int:
    """Pixels that `text` is wide at `size` pixels of type."""
    return round(_font(size).getlength(text))


@functools.lru_cache(maxsize=256)
def _text(text: str, size: int, height: int) -> NDArray[np.uint8]:
    """(height, width, 1) uint8: one line on the bar's grey, vertically centred."""
    image = Image.new("L", (text_width(text, size) + 2 * _OVERHANG, height), _BAR)
    ImageDraw.Draw(image).text((_OVERHANG, height // 2), text, _TEXT, _font(size), anchor="lm")
    return np.asarray(image)[..., None]


def moment(frame: int, seconds: float) -> str:
    """How every label names a moment: `frame 17   0.709 s`."""
    return f"frame {frame}   {seconds:.3f} s"


def label_bar(width: int, height: int, left: str, right: str, *, size: int, margin: int) -> NDArray[np.uint8]:
    """A dark bar (height, width, 3) uint8 with one text at its left end and one at its right, vertically centred.

    The type is `size` pixels, or as much less as lets both texts fit.
    """
    while size > _SMALLEST_TEXT and text_width(left, size) + text_width(right, size) + 3 * margin > width:
        size -= 1
    bar = np.full((height, width, 3), _BAR, np.uint8)
    for text, start in ((left, margin), (right, width - margin - text_width(right, size))):
        drawn = _text(text, size, height)
        first = max(0, start - _OVERHANG)
        shown = drawn[:, : width - first]
        bar[:, first : first + shown.shape[1]] = shown
    return bar


def empty_panel(width: int, height: int, lines: tuple[str, ...], *, size: int) -> NDArray[np.uint8]:
    """A striped grey panel (height, width, 3) uint8 that says in words why there is no picture."""
    panel = Image.new("RGB", (width, height), _EMPTY)
    draw = ImageDraw.Draw(panel)
    step = max(16, height // 8)
    for start in range(-height, width, step):
        draw.line([(start, height), (start + height, 0)], _STRIPE, step // 3)
    while size > _SMALLEST_TEXT and max(text_width(line, size) for line in lines) + size > width:
        size -= 1
    draw.multiline_text((width / 2, height / 2), "\n".join(lines), "white", _font(size), anchor="mm", align="center")
    return np.asarray(panel)
