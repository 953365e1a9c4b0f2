# SPDX-License-Identifier: GPL-3.0-or-later
"""The image that the judge is shown for one moment: reference above, reconstruction below (CineRecon, appendix C.1)."""

from __future__ import annotations

import io
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from .labels import label_bar, moment
from .resize import resized

AREA_WIDTH: Final = 960
AREA_HEIGHT: Final = 540
LABEL_HEIGHT: Final = 76
"""Two labels and two full areas make the largest image: 960×1232."""

JPEG_QUALITY: Final = 92
JPEG_SUBSAMPLING: Final = "4:4:4"
PNG_LEVEL: Final = 6

_FONT_SIZE = 34
_MARGIN = 24


def pair_image(
    reference: NDArray[np.uint8], reconstruction: NDArray[np.uint8], local_frame: int, local_time: float
) -> NDArray[np.uint8]:
    """Stack two pictures (H, W, 3) uint8 RGB, each under a bar with its role, local frame and local time in seconds.

    Both fill the largest size that fits 960×540 with their aspect kept (`fitted_size`), centred; the image is 960 wide
    and at most 1232 high. Equal input gives equal pixels.
    """
    when = moment(local_frame, local_time)
    shown = [_fitted(reference), _fitted(reconstruction)]
    image = np.zeros((2 * LABEL_HEIGHT + sum(len(picture) for picture in shown), AREA_WIDTH, 3), np.uint8)
    top = 0
    for role, picture in zip(("REFERENCE", "RECONSTRUCTION"), shown, strict=True):
        image[top : top + LABEL_HEIGHT] = label_bar(
            AREA_WIDTH, LABEL_HEIGHT, role, when, size=_FONT_SIZE, margin=_MARGIN
        )
        top += LABEL_HEIGHT
        height, width = picture.shape[:2]
        left = (AREA_WIDTH - width) // 2
        image[top : top + height, left : left + width] = picture
        top += height
    return image


def fitted_size(width: int, height: int) -> tuple[int, int]:
    """(width, height) of the largest picture of this aspect that fits 960×540."""
    scale = min(Fraction(AREA_WIDTH, width), Fraction(AREA_HEIGHT, height))
    return max(1, round(width * scale)), max(1, round(height * scale))


def jpeg_bytes(image: NDArray[np.uint8]) -> bytes:
    """An image (H, W, 3) uint8 RGB as JPEG, quality 92, colours at full resolution; equal input gives equal bytes."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "JPEG", quality=JPEG_QUALITY, subsampling=JPEG_SUBSAMPLING)
    return buffer.getvalue()


def png_bytes(image: NDArray[np.uint8], *, level: int = PNG_LEVEL) -> bytes:
    """An image (H, W, 3) uint8 RGB as PNG; equal input gives equal bytes. `level` is of compression, 1 is fastest."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG", compress_level=level)
    return buffer.getvalue()


def _fitted(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return resized(picture, fitted_size(picture.shape[1], picture.shape[0]))
