# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures as they are measured: small, and for most of it without colour."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from ..media.resize import resized

MEASURED: Final = 320
"""Pixels of the longer side; finer detail is noise, and edges of another kind."""
BLUR: Final = 1.2
"""Standard deviation in pixels: the noise of few samples makes edges too."""
EDGE: Final = 10.0
"""Grey levels per pixel of an edge."""
BLACK: Final = 8.0
"""Grey levels that a black picture stays below nearly everywhere."""

Grey = NDArray[np.float32]


def measured_size(width: int, height: int) -> tuple[int, int]:
    """(width, height) at which pictures of this shape are measured."""
    scale = MEASURED / max(width, height)
    return max(16, round(width * scale)), max(16, round(height * scale))


def small(picture: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """A picture (H, W, 3) at the size that is measured."""
    return resized(picture, size)


def grey(picture: NDArray[np.uint8]) -> Grey:
    """(h, w) float32 grey levels of a small picture."""
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), np.float32)


def gradients(picture: Grey) -> tuple[Grey, Grey]:
    """Change to the right and down, in grey levels per pixel."""
    soft = cv2.GaussianBlur(picture, (0, 0), BLUR)
    across, down = (cv2.Sobel(soft, cv2.CV_32F, *order, ksize=3, scale=1 / 8) for order in ((1, 0), (0, 1)))
    return np.asarray(across, np.float32), np.asarray(down, np.float32)


def edge_share(picture: Grey) -> float:
    """Share of the pixels at which the picture changes by EDGE and more."""
    across, down = gradients(picture)
    return float((np.hypot(across, down) >= EDGE / 2).mean())


def is_black(picture: Grey) -> bool:
    """Whether nearly nothing in it is brighter than BLACK."""
    return float(np.quantile(picture, 0.995)) < BLACK
