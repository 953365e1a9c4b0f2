# SPDX-License-Identifier: GPL-3.0-or-later
"""The image that the judge is shown for one moment: reference above, reconstruction below (CineRecon, appendix C.1)."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

AREA_WIDTH = 960
AREA_HEIGHT = 540
LABEL_HEIGHT = 76
"""Two labels and two full areas make the largest image: 960×1232."""

JPEG_OPTIONS = {"quality": 92, "subsampling": "4:4:4"}

_FONT_SIZE = 34
_BAR = (24, 24, 24)
_TEXT = (255, 255, 255)


def pair_image(
    reference: NDArray[np.uint8], reconstruction: NDArray[np.uint8], local_frame: int, local_time: float
) -> NDArray[np.uint8]:
    """Stack two pictures (H, W, 3) uint8 RGB, each under a bar with its role, local frame and local time in seconds.

    Both are scaled, with their aspect kept, to the largest size that fits 960×540, and centred; the image is 960 wide
    and at most 1232 high. Equal input gives equal pixels.
    """
    when = f"frame {local_frame}   {local_time:.3f} s"
    rows = []
    for role, picture in (("REFERENCE", reference), ("RECONSTRUCTION", reconstruction)):
        rows += [_label(role, when), _fitted(picture)]
    return np.vstack(rows)


def jpeg_bytes(image: NDArray[np.uint8]) -> bytes:
    """An image (H, W, 3) uint8 RGB as JPEG, quality 92, colours at full resolution; equal input gives equal bytes."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "JPEG", **JPEG_OPTIONS)
    return buffer.getvalue()


def png_bytes(image: NDArray[np.uint8]) -> bytes:
    """An image (H, W, 3) uint8 RGB as PNG; equal input gives equal bytes."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG", compress_level=6)
    return buffer.getvalue()


def _fitted(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    height, width = picture.shape[:2]
    scale = min(AREA_WIDTH / width, AREA_HEIGHT / height)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    scaled = np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS))
    row = np.zeros((size[1], AREA_WIDTH, 3), np.uint8)
    left = (AREA_WIDTH - size[0]) // 2
    row[:, left : left + size[0]] = scaled
    return row


def _label(role: str, when: str) -> NDArray[np.uint8]:
    bar = Image.new("RGB", (AREA_WIDTH, LABEL_HEIGHT), _BAR)
    draw = ImageDraw.Draw(bar)
    font = ImageFont.load_default(_FONT_SIZE)
    middle = LABEL_HEIGHT // 2
    draw.text((24, middle), role, _TEXT, font, anchor="lm")
    draw.text((AREA_WIDTH - 24, middle), when, _TEXT, font, anchor="rm")
    return np.asarray(bar)
