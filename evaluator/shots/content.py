# SPDX-License-Identifier: GPL-3.0-or-later
"""Cuts by how much the content changes from frame to frame: the detectors of PySceneDetect, fed with our own scores.

The score is theirs (the mean absolute difference of hue, saturation and value), computed in one step; so the picture
before a change can be compared with those after it as well, which tells a flash from a cut.
"""

from __future__ import annotations

from collections import deque

import cv2
import numpy as np
import scenedetect
from numpy.typing import NDArray
from scenedetect import FrameTimecode
from scenedetect.detectors import AdaptiveDetector, ContentDetector

from ..media.scan import SMALL_SIZE

WINDOW = 2
"""Frames on either side that a change is measured against."""
ADAPTIVE = {"adaptive_threshold": 2.5, "min_content_val": 15.0, "window_width": WINDOW, "min_scene_len": 1}
CONTENT = {"threshold": 27.0, "min_scene_len": 1}
FLASH = 2
"""Frames: what interrupts a shot for so short is no shot of its own."""
RETURN = 0.7
"""A picture is back where it differs from the one before the change by less than this share of the change."""


class ContentScores:
    """Watches a pass over a video and keeps how far each picture is from the three before it."""

    def __init__(self) -> None:
        self._before: deque[NDArray[np.uint8]] = deque(maxlen=FLASH + 1)
        self._rows: list[list[float]] = []

    def __call__(self, index: int, picture: NDArray[np.uint8]) -> None:
        """Take the next (H, W, 3) RGB picture."""
        hsv: NDArray[np.uint8] = cv2.cvtColor(picture, cv2.COLOR_RGB2HSV)
        row = [cv2.norm(hsv, other, cv2.NORM_L1) / hsv.size for other in self._before]
        self._rows.append(row + [np.inf] * (FLASH + 1 - len(row)))
        self._before.appendleft(hsv)

    @property
    def distances(self) -> NDArray[np.float64]:
        """(n, 3): entry [f, k] is the score between frames f − 1 − k and f, in 8-bit steps; infinite where none is."""
        return np.array(self._rows, np.float64).reshape(-1, FLASH + 1)


class _ScoredAdaptive(AdaptiveDetector):
    """Is shown a score, (1,), where the library's own is shown a picture."""

    def _calculate_frame_score(self, timecode: FrameTimecode, frame_img: NDArray[np.float64]) -> float:
        return float(frame_img[0])


class _ScoredContent(ContentDetector):
    """Is shown a score, (1,), where the library's own is shown a picture."""

    def _calculate_frame_score(self, timecode: FrameTimecode, frame_img: NDArray[np.float64]) -> float:
        return float(frame_img[0])


def adaptive_cuts(distances: NDArray[np.float64]) -> list[int]:
    """Frames that differ from the one before far more than the frames around differ from theirs, (n, 3) → increasing.

    Beyond the video's ends the change is taken to go on as in the frames nearest to them, so that a cut is seen
    wherever it lies; a video of two frames has none. A cut that was found no longer counts as change around others.
    """
    scores = distances[1:, 0].copy()  # scores[i] is of the change to frame i + 1
    found: list[int] = []
    while len(scores) > 1:
        ends = [np.full(WINDOW, _lower_median(end)) for end in (scores[: 2 * WINDOW], scores[-2 * WINDOW :])]
        detector = _ScoredAdaptive(**ADAPTIVE)
        changes = [index - WINDOW for index in _run(detector, np.concatenate([ends[0], scores, ends[1]]))]
        new = [change for change in changes if change not in found and not _returns(distances, change + 1)]
        if not new:
            break
        found += new
        for change in new:
            around = np.delete(scores[max(0, change - WINDOW) : change + WINDOW + 1], min(change, WINDOW))
            scores[change] = around.min()
    return sorted(change + 1 for change in found)


def content_cuts(distances: NDArray[np.float64]) -> list[int]:
    """Frames that differ from the one before by more than a fixed score, (n, 3) → increasing."""
    scores = np.append(0.0, distances[1:, 0])  # the first frame differs from nothing
    return [cut for cut in _run(_ScoredContent(**CONTENT), scores) if not _returns(distances, cut)]


def adaptive_name() -> str:
    """Name, version and parameters."""
    return _name("AdaptiveDetector", ADAPTIVE)


def content_name() -> str:
    """Name, version and parameters."""
    return _name("ContentDetector", CONTENT)


def _name(detector: str, parameters: dict[str, float]) -> str:
    told = ", ".join(f"{name}={value}" for name, value in parameters.items())
    size = f"{SMALL_SIZE[0]}x{SMALL_SIZE[1]}"
    return (
        f"scenedetect {scenedetect.__version__} {detector}({told}) on {size} pictures, flash {FLASH}, return {RETURN}"
    )


def _run(detector: AdaptiveDetector | ContentDetector, scores: NDArray[np.float64]) -> list[int]:
    # the detectors count frames; the rate only completes the type of a position
    return [
        cut.frame_num
        for index in range(len(scores))
        for cut in detector.process_frame(FrameTimecode(index, fps=25.0), scores[index : index + 1])
    ]


def _returns(distances: NDArray[np.float64], frame: int) -> bool:
    """Whether `frame` begins or ends an interruption: a picture before it comes back behind it within a flash."""
    lags = range(1, FLASH + 1)
    nearest = min(
        # the picture before, and what comes after it; the picture itself, and what came before it
        [distances[frame + lag, lag] for lag in lags if frame + lag < len(distances)]
        + [distances[frame, lag] for lag in lags],
        default=np.inf,
    )
    return bool(nearest < RETURN * distances[frame, 0])


def _lower_median(values: NDArray[np.float64]) -> float:
    return float(np.sort(values)[(len(values) - 1) // 2])
