# SPDX-License-Identifier: GPL-3.0-or-later
"""Fades of a video to black or white and from it, found in the signatures of its frames."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scenedetect
from numpy.typing import NDArray
from scenedetect import FrameTimecode
from scenedetect.detectors import ThresholdDetector

from .records import Fade

LEVEL = 25
"""Grey levels: a frame is nothing but black where its brightest cell stays below, and likewise white."""
LEAST_STEPS = 3
"""Steps that a fade takes at least; what gets there in one or two is a cut."""
LARGEST_STEP = 0.6
"""Share of the whole way that a fade takes in one step at most."""

_LEVELLED = 1.0  # grey levels of the mean within which a frame of the shade is as far as it gets
_RISE = 0.5  # grey levels of the mean that a picture gains in _LOOK_AHEAD frames while it fades
_LOOK_AHEAD = 4  # frames; a slow fade stands still for some where things move against it
_DRIFT = 0.25  # share of the fade's own slope; what changes slower is the picture behind it
_FULL = 0.03  # share of the way that is left to the full picture


def find_fades(signatures: NDArray[np.uint8]) -> list[Fade]:
    """The fades of a video, by their first frames; `signatures` (n, h, w) are luma averaged over a grid of cells.

    A fade is a way in steps between a picture and an even shade that it reaches, as far as the mean of the luma keeps
    going. A jump to the shade or from it is a cut, a shade that stands at either end of the video is none of both, and
    a dissolve from picture to picture is not looked for.
    """
    fades = _to_black(signatures, "black") + _to_black(255 - signatures, "white")
    return sorted(fades, key=lambda fade: fade.first)


def fades_name() -> str:
    """Name, version and parameters."""
    return (
        f"fades by scenedetect {scenedetect.__version__} ThresholdDetector(threshold={LEVEL}) on the brightest of 32x18"
        f" cells, least steps {LEAST_STEPS}, largest step {LARGEST_STEP}"
    )


def _to_black(signatures: NDArray[np.uint8], shade: Literal["black", "white"]) -> list[Fade]:
    mean = signatures.mean(axis=(1, 2))
    fades = []
    for start, end in _dark_runs(signatures.max(axis=(1, 2))):
        out = _ramp(mean[: end + 1][::-1], end + 1 - start)
        into = _ramp(mean[start:], end + 1 - start)
        first = None if out is None else end - out[1]
        last = None if into is None else start + into[1]
        if first is not None and last is not None:
            fades.append(Fade(kind="through", shade=shade, first=first, last=last))
        elif first is not None and out is not None:
            fades.append(Fade(kind="out", shade=shade, first=first, last=end - out[0]))
        elif last is not None and into is not None:
            fades.append(Fade(kind="in", shade=shade, first=start + into[0], last=last))
    return fades


def _dark_runs(brightest: NDArray[np.uint8]) -> list[tuple[int, int]]:
    """First and last frame of every stretch that the detector calls faded out."""
    if not (brightest < LEVEL).any():
        return []
    # a bright frame before the first and after the last lets it see a shade that stands at the ends
    padded = np.concatenate([[255], brightest, [255]])
    detector = ThresholdDetector(threshold=LEVEL, min_scene_len=0, fade_bias=-1.0)
    starts = [
        cut.frame_num - 1
        for index, value in enumerate(padded)
        for cut in detector.process_frame(FrameTimecode(index, fps=25.0), value[None])
    ]
    bright = np.append(np.flatnonzero(brightest >= LEVEL), len(brightest))
    return [(start, int(bright[np.searchsorted(bright, start)]) - 1) for start in starts]


def _ramp(mean: NDArray[np.float64], dark: int) -> tuple[int, int] | None:
    """(last index of nothing but the shade, last index before the full picture) of a fade in, None where there is none.

    `mean` (n,) is the luma from the start of the shade on, which lasts `dark` frames.
    """
    floor = mean[:dark].min()
    bottom = int(np.flatnonzero(mean[:dark] <= floor + _LEVELLED)[-1])
    top = bottom
    while True:
        ahead = mean[top + 1 : top + 1 + _LOOK_AHEAD]
        if not len(ahead):
            break
        steps = 1 + int(ahead.argmax())
        rise, so_far = ahead.max() - mean[top], (mean[top] - mean[bottom]) / max(1, top - bottom)
        if rise < max(_RISE, _DRIFT * so_far * steps):
            break
        top += steps
    way = mean[top] - mean[bottom]
    full = bottom + int(np.flatnonzero(mean[bottom : top + 1] >= mean[top] - _FULL * way)[0])
    if full - bottom < LEAST_STEPS or np.diff(mean[bottom : full + 1]).max() > LARGEST_STEP * way:
        return None
    return bottom, full - 1
