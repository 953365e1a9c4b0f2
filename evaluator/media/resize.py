# SPDX-License-Identifier: GPL-3.0-or-later
"""The one filter by which whole pictures are scaled for people, judges and encoders."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

FILTER: Final = "area averages where shrunk, cubic where enlarged"


def resized(image: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """`image` (H, W, 3) uint8 scaled to `size` = (width, height); the same array where it has that size.

    A smaller picture is made of the means of the areas that its pixels cover, which makes up no edges and keeps the
    brightness; scaling while a frame is converted to RGB darkens it by up to two levels and takes longer.
    """
    height, width = image.shape[:2]
    if size == (width, height):
        return image
    shrinks = size[0] <= width and size[1] <= height
    scaled: NDArray[np.uint8] = cv2.resize(image, size, interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_CUBIC)
    return scaled
