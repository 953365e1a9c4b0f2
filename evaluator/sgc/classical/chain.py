# SPDX-License-Identifier: GPL-3.0-or-later
"""First poses of the frames of a window: two views at a time, their lengths tied by the depths of the frame between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from .adjust import inverse
from .depth import View, inverse_depth
from .flow import Workers
from .samples import Samples
from .settings import Settings
from .two_view import TwoView, parallax, relative_pose, rotation_only

_LEAST_RATIOS = 8

Seen = Mapping[tuple[int, int], tuple[NDArray[np.float64], NDArray[np.float64]]]


def key_gap(
    seen: Seen, samples: Mapping[int, Samples], numbers: Sequence[int], settings: Settings, focal: float, side: int
) -> int:
    """The least distance in frames whose parallax, beyond any rotation, is that of two good views."""
    for offset in settings.offsets:
        pairs = [pair for pair in zip(numbers, numbers[offset:], strict=False) if pair in seen]
        apart = []
        for first, second in pairs[:: max(1, len(pairs) // 4)]:
            places, weights = seen[first, second]
            used = np.flatnonzero(weights > 0)[::2]
            apart.append(parallax(samples[first].points[used], places[used], focal))
        if apart and np.median(apart) >= settings.key_parallax * side:
            return offset
    return max((offset for offset in settings.offsets if offset < len(numbers)), default=1)


def chain(
    seen: Seen,
    samples: Mapping[int, Samples],
    numbers: Sequence[int],
    known: Mapping[int, NDArray[np.float64]],
    known_inverse_depths: Mapping[int, NDArray[np.float64]],
    focal: float,
    gap: int,
    threads: Workers,
) -> tuple[dict[int, NDArray[np.float64]], float]:
    """Poses (4, 4) of the frames `numbers` from the last one that is `known` on.

    Also the median, over key pairs, of the share of samples that one rigid motion explains. Frames between two keys are
    interpolated. A pair without a motion of its own goes on as the one before it.
    """
    start = max(known)
    later = [number for number in numbers if number > start]
    keys = [start, *later[gap - 1 :: gap]]
    if later and keys[-1] != later[-1]:
        keys.append(later[-1])
    steps = list(pairwise(keys))
    views = agreed([_matched(seen, samples, pair) for pair in steps], focal, threads)
    poses = dict(known)
    previous: int | None = None
    motion = np.eye(4)
    speed = (
        float(np.linalg.norm((poses[start] @ inverse(poses[start - 1]))[:3, 3])) if start - 1 in poses else 1.0 / gap
    )
    for (first, second), view in zip(steps, views, strict=True):
        if view is not None:
            motion = np.eye(4)
            motion[:3, :3], motion[:3, 3] = view.pose.rotation, view.pose.translation
            length = None
            known_here = known_inverse_depths.get(first)
            if known_here is not None:
                exact = known_here, np.zeros(len(known_here))
                length = _length(_depths(seen, samples, (first, second), motion, focal), exact)
            elif previous is not None:
                back = _depths(seen, samples, (first, previous), poses[previous] @ inverse(poses[first]), focal)
                length = _length(_depths(seen, samples, (first, second), motion, focal), back)
            # without points that tell, the camera keeps its speed
            motion[:3, 3] *= length or speed * (second - first)
            speed = float(np.linalg.norm(motion[:3, 3])) / (second - first)
        poses[second] = motion @ poses[first]
        for number in range(first + 1, second):
            poses[number] = _between(poses[first], poses[second], (number - first) / (second - first))
        previous = first
    return poses, float(np.median([view.rigid_share if view else 0.0 for view in views])) if views else 0.0


def turn(
    seen: Seen,
    samples: Mapping[int, Samples],
    numbers: Sequence[int],
    known: Mapping[int, NDArray[np.float64]],
    focal: float,
) -> dict[int, NDArray[np.float64]]:
    """Poses of a camera that only turns from its last known pose on."""
    poses = dict(known)
    start = max(known)
    for number in (number for number in numbers if number > start):
        points, weights = samples[number - 1].points, seen[number - 1, number][1] > 0
        motion = np.eye(4)
        if weights.any():
            found = rotation_only(points[weights], seen[number - 1, number][0][weights], focal)
            motion[:3, :3] = found.rotation
        poses[number] = motion @ poses[number - 1]
    return poses


Matches = tuple[NDArray[np.float64], NDArray[np.float64]]


def agreed(pairs: Sequence[Matches | None], focal: float, threads: Workers) -> list[TwoView | None]:
    """Poses of consecutive pairs of frames, each the better one of its own and of those its neighbours have.

    A camera goes on as it went: where a pair alone leads the fit astray, its neighbours know the way.
    """
    views = threads.map(lambda pair: relative_pose(*pair, focal) if pair else None, pairs)
    order = range(len(pairs))
    for place, neighbour in [*((b, a) for a, b in pairwise(order)), *((a, b) for a, b in reversed([*pairwise(order)]))]:
        pair, known, own = pairs[place], views[neighbour], views[place]
        if pair is None or known is None:
            continue
        tried = relative_pose(*pair, focal, [known.pose])
        if tried is not None and (own is None or tried.cost < own.cost):
            views[place] = tried
    return views


def _matched(seen: Seen, samples: Mapping[int, Samples], pair: tuple[int, int]) -> Matches | None:
    if pair not in seen:
        return None
    places, weights = seen[pair]
    return samples[pair[0]].points[weights > 0], places[weights > 0]


def _depths(
    seen: Seen, samples: Mapping[int, Samples], pair: tuple[int, int], motion: NDArray[np.float64], focal: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Inverse depths of the samples of a frame from one other, and their standard deviations, inf where unseen."""
    first = samples[pair[0]].points / focal
    if pair not in seen:
        return np.zeros(len(first)), np.full(len(first), np.inf)
    places, weights = seen[pair]
    view = View(motion, (places / focal).astype(np.float32), weights.astype(np.float32))
    found = inverse_depth(first.astype(np.float32), [view], 1 / focal)
    with np.errstate(divide="ignore"):
        sigma = 0.2 / focal / np.sqrt(found.information.astype(np.float64))
    return found.values.astype(np.float64), sigma


def _length(
    depths: tuple[NDArray[np.float64], NDArray[np.float64]], known: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> float | None:
    """How long a translation of length 1 has to be so that its inverse depths become those that are known.

    Only what is known well is looked at, and nothing is asked of the others: choosing among them would favour the near.
    """
    usable = (known[0] > 3 * known[1]) & np.isfinite(depths[1])
    if usable.sum() < _LEAST_RATIOS:
        return None
    ratio = float(np.median(depths[0][usable] / known[0][usable]))
    return ratio if ratio > 0 else None


def _between(first: NDArray[np.float64], second: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """The pose at a share of the way: the camera's place on a line, its rotation about one axis."""
    motion = second @ inverse(first)
    vector, _ = cv2.Rodrigues(motion[:3, :3])
    pose = np.eye(4)
    pose[:3, :3] = cv2.Rodrigues(vector * share)[0] @ first[:3, :3]
    centre = (1 - share) * inverse(first)[:3, 3] + share * inverse(second)[:3, 3]
    pose[:3, 3] = -pose[:3, :3] @ centre
    return pose
