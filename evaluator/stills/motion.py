# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether two videos move alike from one frame to the next: their optical flow, where both can be followed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from ..sgc.classical.flow import Flow, Workers, flows, texture

LEAST_SHARE: Final = 0.02
"""Of the pixels that are followed."""
MOST_ERROR: Final = 1.0
"""Pixels by which the way forth and back may miss its start."""
TEXTURED: Final = 1e-5
"""Of the structure tensor's smaller eigenvalue: below, noise decides."""
STILL: Final = 0.06
"""Pixels: a mean motion that the flow's own noise reaches."""

Pair = tuple[NDArray[np.uint8], NDArray[np.uint8]]


@dataclass(frozen=True)
class Motion:
    """How ours moves against the reference from one frame to its neighbour; None with a `reason` where unknown.

    `error` is the mean distance of the flow vectors in per cent of the picture's width, `direction` the cosine between
    them (1 the same, -1 opposite) and `speed` the ratio of their lengths, ours to the reference's. The last two are
    None where the reference stands still.
    """

    error: float | None
    direction: float | None
    speed: float | None
    reason: str = ""


def measure_motion(reference: Pair, ours: Pair, threads: Workers) -> Motion:
    """Compare the flow between each pair's first and second picture, (h, w) uint8 grey of one size."""
    pictures = dict(enumerate((*reference, *ours)))
    found = flows(pictures, [(0, 1), (2, 3)], threads)
    known = []
    for name, pair in (("the reference", (0, 1)), ("ours", (2, 3))):
        followed = _followed(pictures[pair[0]], pictures[pair[1]], found[pair])
        if followed.mean() < LEAST_SHARE:
            return Motion(None, None, None, f"too little of {name} can be followed to the next frame")
        known.append(followed)
    both = known[0] & known[1]
    if both.mean() < LEAST_SHARE:
        return Motion(None, None, None, "too little can be followed in both at the same place")
    given, made = (found[pair].field[both].astype(np.float64) for pair in ((0, 1), (2, 3)))
    error = 100 * float(np.linalg.norm(made - given, axis=1).mean()) / reference[0].shape[1]
    lengths = np.linalg.norm(given, axis=1), np.linalg.norm(made, axis=1)
    if lengths[0].mean() < STILL:
        return Motion(error, None, None, "the reference stands still here, so it has no direction")
    if lengths[1].mean() < STILL:
        return Motion(error, None, float(lengths[1].sum() / lengths[0].sum()), "ours stands still here")
    together = float((given * made).sum() / max(float((lengths[0] * lengths[1]).sum()), 1e-9))
    return Motion(error, together, float(lengths[1].sum() / lengths[0].sum()))


def _followed(first: NDArray[np.uint8], second: NDArray[np.uint8], flow: Flow) -> NDArray[np.bool_]:
    """(h, w) whether a pixel has a pattern to follow, here and where it goes, and the way back leads to its start."""
    rows, columns = np.indices(first.shape, np.float32)
    field = flow.field.astype(np.float32)
    there = cv2.remap(texture(second), columns + field[..., 0], rows + field[..., 1], cv2.INTER_LINEAR)
    sure = flow.error.astype(np.float32) < MOST_ERROR
    return np.asarray((texture(first) > TEXTURED) & (there > TEXTURED) & sure, np.bool_)
