# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether comparison.mp4 shows the two videos that it is said to show, from one pass over it.

The halves of every frame are brought to the size of the signatures that a pass over a video keeps (32×18 luma), and
held against those of the frames that belong there.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from ..media.compare import Layout, frame_at
from ..media.scan import SIGNATURE_SIZE, SMALL_SIZE
from ..protocol.timeline import Timeline

SMALLEST: Final = (24, 16)
"""Width and height, in pixels of the pass's small picture, of a half that can be compared."""
LEVELS: Final = 8.0
"""Mean difference of 255 between a half and its frame: below 3.5 on real clips, above 10 for another video."""
_FINE: Final = (4 * SIGNATURE_SIZE[0], 4 * SIGNATURE_SIZE[1])
Luma = NDArray[np.uint8]
Box = tuple[int, int, int, int]


class Halves:
    """Watches a pass over a comparison (`media.scan.scan`) and keeps the signatures of its halves."""

    def __init__(self, layout: Layout) -> None:
        self._boxes = [_small(box, layout.size) for box in (layout.reference, layout.reconstruction)]
        self.signatures: tuple[list[Luma], list[Luma]] = ([], [])
        """Of the left and the right half, one (18, 32) uint8 for each frame."""

    def __call__(self, index: int, picture: NDArray[np.uint8]) -> None:
        """See `media.scan.Watcher`."""
        luma = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
        for (left, top, width, height), kept in zip(self._boxes, self.signatures, strict=True):
            x, y = width / _FINE[0], height / _FINE[1]
            # a fine pixel's centre in the small picture: edges lie between its pixels
            way = np.array([[x, 0, left + (x - 1) / 2], [0, y, top + (y - 1) / 2]])
            part = cv2.warpAffine(luma, way, _FINE, flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP)
            kept.append(cv2.resize(part, SIGNATURE_SIZE, interpolation=cv2.INTER_AREA).astype(np.uint8))


def comparable(layout: Layout) -> bool:
    """Whether both halves are large enough in the pass's small picture to be told apart."""
    boxes = [_small(box, layout.size) for box in (layout.reference, layout.reconstruction)]
    return all(width >= SMALLEST[0] and height >= SMALLEST[1] for _, _, width, height in boxes)


def other_frames(shown: Sequence[Luma], own: Luma, rate: Fraction, timeline: Timeline) -> list[int]:
    """The frames of a comparison at `rate` whose half does not show what the video of `timeline` has at that time.

    `shown` is the half of each frame, `own` (m, 18, 32) the video's signatures. Where the video has ended, nothing of
    it has to be shown.
    """
    other = []
    for place, part in enumerate(shown):
        frame = frame_at(place / rate, timeline)
        if frame is not None and frame < len(own) and np.abs(part.astype(np.int16) - own[frame]).mean() > LEVELS:
            other.append(place)
    return other


def _small(box: Box, size: tuple[int, int]) -> tuple[float, float, float, float]:
    """A box of a picture of `size` in the pass's small picture."""
    x, y = SMALL_SIZE[0] / size[0], SMALL_SIZE[1] / size[1]
    return box[0] * x, box[1] * y, box[2] * x, box[3] * y
