# SPDX-License-Identifier: GPL-3.0-or-later
"""A first look at a shot: whether its picture moves, whether a turn and a zoom explain that, and what does not follow.

All is measured on small grey pictures (h, w) uint8 of the measured frames; pixels are theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from ..sgc.classical.flow import Flow, Workers, flows, texture
from ..sgc.classical.motion import even, moving
from ..sgc.classical.samples import Samples, choose, matched
from ..sgc.classical.settings import Settings
from ..sgc.classical.two_view import INLIER, relative_pose
from .regions import LEAST_SHARE, Blob, blobs_of, step_of
from .turn import USUAL, Array, Matches, Turn, fit_turn

Grey = NDArray[np.uint8]
FAR: Final = 4
"""Measured frames over which slow things are seen to move."""
TEST_MOTION: Final = 8.0
"""Pixels that the picture should have moved between two frames in which parallax is looked for."""

_BATCH = 8
_PAIRS = 10
_FOCALS = np.geomspace(0.4, 8, 13)  # over the longer side; parallax is what none of them explains
_FIXED = 0.6  # pixels over the longest way that can be compared, below which a camera stands still
_PARALLAX, _PARALLAX_SHARE = 0.25, 0.03  # pixels, and share of the motion, that no turn explains
_LEAST_OFF, _RIGID = 0.2, 0.95  # shares of the points: off the best turn, and explained by a move


@dataclass(frozen=True)
class Look:
    """What was seen of n measured frames."""

    connected: bool
    """Whether all of them show the same scene with enough texture."""
    near: tuple[Matches | None, ...]
    """(n − 1) points of each frame and where they are in the next one."""
    steps: tuple[Turn | None, ...]
    """(n − 1) what explains these best with the usual focal length."""
    pace: float
    """Median motion from each frame to the next, in pixels."""
    shift: Array
    """(n, 2) where the picture's middle has been carried, in pixels."""
    pairs: tuple[Matches, ...]
    """Points of some pairs of frames that lie far enough apart for the motion to show."""
    motion: float
    """Median motion over these pairs, in pixels."""
    parallax: bool
    """Whether near and far things shift against each other."""
    rigid: bool
    """Whether, where they do, a move of the camera explains nearly all of it."""
    still: bool
    """Whether the camera stands still."""
    textures: tuple[NDArray[np.float32], ...]
    flows: Mapping[tuple[int, int], Flow]
    """Between neighbours, both ways."""


def look(pictures: Sequence[Grey], settings: Settings, threads: Workers, tell: Callable[[int], None]) -> Look:
    """Look at the pictures of one shot, two at least; `tell` is given the number of those that are done."""
    count, side = len(pictures), max(pictures[0].shape)
    textures = threads.map(texture, pictures)
    samples = [choose(one, settings) for one in textures]
    found: dict[tuple[int, int], Flow] = {}
    for start in range(1, count, _BATCH):
        new = range(start, min(start + _BATCH, count))
        found.update(flows(dict(enumerate(pictures)), [(number - 1, number) for number in new], threads))
        tell(new[-1] + 1)
    near = [_matches(samples[number - 1], found[number - 1, number], settings) for number in range(1, count)]
    steps = [None if pair is None else fit_turn(pair, USUAL * side) for pair in near]
    shift = np.vstack([np.zeros(2), np.cumsum([_carried(step, USUAL * side) for step in steps], axis=0)])
    paces = [float(np.median(np.linalg.norm(b - a, axis=1))) for a, b in filter(None, near)]
    pace = max(1e-3, float(np.median(paces))) if paces else 0.0
    pairs = _test_pairs(pictures, samples, pace, settings, threads)
    motion = float(np.median(np.concatenate([np.linalg.norm(b - a, axis=1) for a, b in pairs]))) if pairs else 0.0
    still = bool(pairs) and motion < _FIXED and float(np.ptp(shift, axis=0).max()) < 2 * _FIXED
    parallax, rigid = (False, False) if not pairs or still else _parallax(pairs, motion, side)
    connected = all(step is not None for step in steps) and bool(pairs)
    return Look(
        connected, tuple(near), tuple(steps), pace, shift, tuple(pairs), motion, parallax, rigid, still,
        tuple(textures), found,
    )  # fmt: skip


def apart(
    pictures: Sequence[Grey], seen: Look, settings: Settings, threads: Workers, tell: Callable[[int], None]
) -> list[tuple[Blob, ...]]:
    """What does not follow one homography a pair, picture by picture; of use where there is no parallax."""
    count = len(pictures)
    far = min(FAR, count - 1)
    samples = [choose(one, settings) for one in seen.textures]
    found: dict[tuple[int, int], Flow] = {}
    blobs: list[tuple[Blob, ...]] = []
    for start in range(far, count + far, _BATCH):
        new = range(start, min(start + _BATCH, count))
        if far > 1:
            found.update(flows(dict(enumerate(pictures)), [(number - far, number) for number in new], threads))
        ready = range(len(blobs), count if start + _BATCH >= count else start + _BATCH - far)
        blobs += threads.map(
            partial(_blobs, far, pictures, samples, seen.textures, {**seen.flows, **found}, settings), ready
        )
        found = {pair: flow for pair, flow in found.items() if max(pair) >= len(blobs)}
        tell(len(blobs))
    return blobs


def _parallax(pairs: Sequence[Matches], motion: float, side: int) -> tuple[bool, bool]:
    """Whether there is parallax, and whether a move explains it.

    There is where the median point is off every turn and zoom; or where a part of the points are, and a move explains
    nearly all. That most follow a turn is no proof of one: a wall may fill the background.
    """
    tried = [[fit_turn(pair, focal * side).distances for pair in pairs] for focal in _FOCALS]
    apart = [float(np.percentile([np.median(one) for one in of_pairs], 75)) for of_pairs in tried]
    best = int(np.argmin(apart))
    off = float(np.median([np.mean(one > max(INLIER, _PARALLAX_SHARE * motion)) for one in tried[best]]))
    moves = [relative_pose(*pair, USUAL * side) for pair in pairs] if off >= _LEAST_OFF else []
    rigid = bool(moves) and float(np.median([one.rigid_share if one else 0.0 for one in moves])) > _RIGID
    return rigid or apart[best] > max(_PARALLAX, _PARALLAX_SHARE * motion), rigid


def _matches(samples: Samples, flow: Flow, settings: Settings) -> Matches | None:
    first, second = matched(samples, flow, settings.consistency)
    return (first, second) if len(first) >= settings.least_samples else None


def _carried(step: Turn | None, focal: float) -> Array:
    """Where a step carries the picture's middle, in pixels."""
    if step is None:
        return np.zeros(2)
    return np.asarray(focal * np.exp(step.log_zoom) * step.rotation[:2, 2] / step.rotation[2, 2], np.float64)


def _test_pairs(
    pictures: Sequence[Grey], samples: Sequence[Samples], pace: float, settings: Settings, threads: Workers
) -> list[Matches]:  # fmt: skip
    """Matches of pairs so far apart that the picture moves by TEST_MOTION, or as far as it can be followed."""
    if not pace:
        return []
    gap = int(np.clip(math.ceil(TEST_MOTION / max(pace, 1e-3)), 1, len(pictures) - 1))
    while gap:
        starts = np.unique(np.linspace(0, len(pictures) - 1 - gap, _PAIRS).round().astype(int)).tolist()
        wanted = [(start, start + gap) for start in starts]
        found = flows(dict(enumerate(pictures)), wanted, threads)
        pairs = [pair for a, b in wanted if (pair := _matches(samples[a], found[a, b], settings)) is not None]
        if 2 * len(pairs) > len(wanted):
            return pairs
        gap //= 2
    return []


def _blobs(
    far: int, pictures: Sequence[Grey], samples: Sequence[Samples], textures: Sequence[NDArray[np.float32]],
    found: Mapping[tuple[int, int], Flow], settings: Settings, number: int,
) -> tuple[Blob, ...]:  # fmt: skip
    """What moves by itself in a frame if one homography a pair explains the rest: by steps of one frame, and of `far`.

    The smaller residual of the earlier and the later frames counts, so that the edges of what is hidden do not.
    """
    guessed = even(textures[number])
    mask = np.zeros(guessed.shape, np.bool_)
    for gap in {1, far}:
        residuals = [
            _residual(samples[number], found[number, other], settings)
            for other in (number - gap, number + gap)
            if (number, other) in found
        ]
        known = [one for one in residuals if one is not None]
        if not known:
            continue
        # nan where either is: it enters or leaves
        residual = _inner(known[0]) if len(known) == 1 else np.minimum(*known)
        usual = float(np.nanmedian(residual)) if np.isfinite(residual).any() else 1.0
        mask |= moving(residual, guessed, max(settings.moving_residual, 5 * usual), LEAST_SHARE)
    following = found.get((number, number + 1))
    return tuple(blobs_of(mask, None if following is None else step_of(pictures, number, number + 1, following)))


def _inner(residual: NDArray[np.float32]) -> NDArray[np.float32]:
    """Without the picture's edge, where the flow of what enters and leaves is a guess."""
    kept = np.full_like(residual, np.nan)
    down, across = (side // 10 for side in residual.shape)
    kept[down:-down, across:-across] = residual[down:-down, across:-across]
    return kept


def _residual(samples: Samples, flow: Flow, settings: Settings) -> NDArray[np.float32] | None:
    """How far (h, w) each pixel's flow is from the homography that most samples follow; nan where it is no flow."""
    first, second = matched(samples, flow, settings.consistency)
    if len(first) < settings.least_samples:
        return None
    homography, _ = cv2.findHomography(first, second, cv2.RANSAC, 1.0, maxIters=500)
    if homography is None:
        return None
    height, width = flow.error.shape
    y, x = np.mgrid[0:height, 0:width]
    grid = np.stack([x - (width - 1) / 2, y - (height - 1) / 2], axis=-1).reshape(-1, 1, 2)
    there = cv2.perspectiveTransform(grid, homography) - grid
    apart = flow.field.astype(np.float32) - there.reshape(height, width, 2).astype(np.float32)
    distance = np.hypot(apart[..., 0], apart[..., 1])
    return np.where(flow.error < 4 * settings.consistency, distance, np.nan).astype(np.float32)
