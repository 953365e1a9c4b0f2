# SPDX-License-Identifier: GPL-3.0-or-later
"""Dense optical flow between frames by DIS, checked forwards against backwards.

Kroeger et al., Fast Optical Flow using Dense Inverse Search, ECCV 2016. DIS divides a picture among OpenCV's threads,
and its result depends on how: each flow here is computed by one thread, and several flows at a time.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

MOST_WORKERS = 8

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")
_local = threading.local()


@dataclass(frozen=True)
class Flow:
    """Where the pixels of one frame are in another.

    `field` (h, w, 2) as (x, y) offsets in pixels; `error` (h, w), the distance by which the way forth and back misses
    its start, inf where it leaves the picture. Both are float16: a window holds some two hundred of them, and half
    precision (0.004 px at 8 px) is far below DIS's own noise of 0.05 px.
    """

    field: NDArray[np.float16]
    error: NDArray[np.float16]


class Workers:
    """Threads that map a function over inputs and give the results in order."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool

    def map(self, function: Callable[[_Given], _Made], inputs: Iterable[_Given]) -> list[_Made]:
        """The results in the order of the inputs."""
        return list(self._pool.map(function, inputs))


@contextmanager
def workers() -> Iterator[Workers]:
    """Threads for the time of an estimation, while OpenCV itself uses one: no result depends on their number."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        with ThreadPoolExecutor(max_workers=min(MOST_WORKERS, os.cpu_count() or 1)) as pool:
            yield Workers(pool)
    finally:
        cv2.setNumThreads(before)


def flows(
    pictures: dict[int, NDArray[np.uint8]], pairs: Iterable[tuple[int, int]], threads: Workers
) -> dict[tuple[int, int], Flow]:
    """Flow both ways for each pair of frames; `pictures` (h, w) grey by frame."""
    wanted = [*pairs]

    def both(pair: tuple[int, int]) -> tuple[Flow, Flow]:
        first, second = pictures[pair[0]], pictures[pair[1]]
        forward, backward = _dense(first, second), _dense(second, first)
        return _halved(forward, _round_trip(forward, backward)), _halved(backward, _round_trip(backward, forward))

    found: dict[tuple[int, int], Flow] = {}
    for (first, second), (forward, backward) in zip(wanted, threads.map(both, wanted), strict=True):
        found[first, second], found[second, first] = forward, backward
    return found


def texture(picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Smaller eigenvalue of the structure tensor over 7×7 pixels, (h, w)."""
    return np.asarray(cv2.cornerMinEigenVal(picture, 7), np.float32)


def bilinear(image: NDArray[np.float32], points: NDArray[np.float64]) -> NDArray[np.float32]:
    """Values of an image (h, w[, k]) at pixel coordinates (n, 2), clamped to its edge; (n[, k])."""
    x, y = (np.ascontiguousarray(points[:, axis], np.float32)[:, None] for axis in (0, 1))
    sampled = cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(sampled, np.float32).reshape(len(points), *image.shape[2:])


def _halved(field: NDArray[np.float32], error: NDArray[np.float32]) -> Flow:
    largest = float(np.finfo(np.float16).max)
    return Flow(
        np.clip(field, -largest, largest).astype(np.float16), np.where(error < 1e3, error, np.inf).astype(np.float16)
    )


def _dense(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> NDArray[np.float32]:
    search = getattr(_local, "search", None)
    if search is None:
        search = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
        search.setFinestScale(0)
        _local.search = search
    return np.asarray(search.calc(first, second, None), np.float32)


def _round_trip(forward: NDArray[np.float32], backward: NDArray[np.float32]) -> NDArray[np.float32]:
    height, width = forward.shape[:2]
    x = forward[..., 0] + np.arange(width, dtype=np.float32)
    y = forward[..., 1] + np.arange(height, dtype=np.float32)[:, None]
    back = cv2.remap(backward, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    error = np.hypot(forward[..., 0] + back[..., 0], forward[..., 1] + back[..., 1])
    inside = (x >= 0) & (x <= width - 1) & (y >= 0) & (y <= height - 1)
    return np.where(inside & np.isfinite(error), error, np.float32(np.inf))
