# SPDX-License-Identifier: GPL-3.0-or-later
"""How much of the outlines of two pictures lies on each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from .framing import Framing, aligned
from .grey import BLUR, EDGE, Grey

TOLERANCE: Final = 0.02
"""Of the width: the distance at which an outline counts no more; halfway it counts half."""
LEAST_PIXELS: Final = 0.002
"""Share of the pixels that are outlines."""
_MOST: Final = 0.10  # of the pixels: only the strongest edges of a picture full of them count


@dataclass(frozen=True)
class Silhouette:
    """Overlap of the outlines, from 0 to 1; None with a `reason` where a picture has none.

    `overlap` is of the pictures as they are, `aligned` with the measured framing undone (None where that is not known),
    and `chance` what mirrored pictures, which only have as many edges, come to.
    """

    overlap: float | None
    aligned: float | None
    chance: float | None
    reason: str = ""


def measure_silhouette(reference: Grey, ours: Grey, framing: Framing) -> Silhouette:
    """The overlap of the outlines of `reference` and `ours`, (h, w) float32 grey levels each."""
    given, made = outlines(reference), outlines(ours)
    for name, found in (("the reference", given), ("ours", made)):
        if found.mean() < LEAST_PIXELS:
            return Silhouette(None, None, None, f"{name} has hardly any edges")
    mirrored = [made[:, ::-1], made[::-1], made[::-1, ::-1]]
    chance = float(np.mean([_overlap(given, other) for other in mirrored]))
    moved = None if framing.scale is None else _overlap(given, outlines(aligned(ours, framing)))
    return Silhouette(_overlap(given, made), moved, chance)


def outlines(picture: Grey) -> NDArray[np.bool_]:
    """(h, w) whether a pixel is on an outline: Canny's edges, of the strongest where there are very many."""
    soft = np.asarray(cv2.GaussianBlur(picture, (0, 0), BLUR))
    across, down = (cv2.Sobel(soft, cv2.CV_32F, *order, ksize=3) for order in ((1, 0), (0, 1)))
    strong = max(8 * EDGE / 2, float(np.quantile(np.hypot(across, down), 1 - _MOST)))
    limit = np.iinfo(np.int16)
    steps = [np.clip(one, limit.min, limit.max).astype(np.int16) for one in (across, down)]
    return np.asarray(cv2.Canny(steps[0], steps[1], strong / 2, strong, L2gradient=True), np.bool_)


def _overlap(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """Intersection over union, in which a pixel counts by how near the other picture's next outline is."""
    if not first.any() or not second.any():
        return 0.0
    reach = TOLERANCE * max(first.shape)
    near = (_nearness(first, second, reach), _nearness(second, first, reach))
    shared = sum(near) / 2
    return float(shared / (first.sum() + second.sum() - shared))


def _nearness(own: NDArray[np.bool_], other: NDArray[np.bool_], reach: float) -> float:
    distance = cv2.distanceTransform((~other).astype(np.uint8), cv2.DIST_L2, 5)
    return float(np.clip(1 - distance[own] / reach, 0, 1).sum())
