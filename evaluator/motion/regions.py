# SPDX-License-Identifier: GPL-3.0-or-later
"""Regions that move by themselves: connected parts of the motion masks, followed from frame to frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from ..sgc.classical.flow import Flow
from .records import Region, RegionBox

MOST_REGIONS: Final = 12
LEAST_SHARE: Final = 0.0015
"""Of the picture; a smaller part is noise."""
LEAST_SEEN: Final = 3
"""Frames in which a region has to be seen, where the shot has as many."""

_SOUND = 1.0  # pixels by which a flow may miss its start on the way back
_CONTRAST = 2.5  # grey levels, on average, by which its own motion has to explain a part better than that around it
_OVERLAP = 0.15  # intersection over union of a region's box, carried on by its flow, with the next one
_PATIENCE = 3  # measured frames in which a region may be missed
_DIRECTIONS = (
    "right", "down and right", "down", "down and left", "left", "up and left", "up", "up and right",
)  # fmt: skip


@dataclass(frozen=True)
class Blob:
    """A connected part of one frame's mask, in pixels of the grid."""

    box: tuple[float, float, float, float]
    """Left, top, right, bottom."""
    area: int
    flow: tuple[float, float] | None
    """Median motion to the next measured frame."""
    around: tuple[float, float] | None
    """The same of what is around it."""


@dataclass(frozen=True)
class Step:
    """From one measured frame to the next: the pictures (h, w), and the flow (h, w, 2) and where it is `sound`."""

    now: NDArray[np.uint8]
    then: NDArray[np.uint8]
    flow: NDArray[np.float32]
    sound: NDArray[np.bool_]


def step_of(pictures: Sequence[NDArray[np.uint8]], now: int, then: int, flow: Flow) -> Step:
    """The step between two of the pictures."""
    return Step(pictures[now], pictures[then], flow.field.astype(np.float32), flow.error < _SOUND)


@dataclass
class _Track:
    places: list[int] = field(default_factory=list)
    blobs: list[Blob] = field(default_factory=list)


def blobs_of(mask: NDArray[np.bool_], step: Step | None) -> list[Blob]:
    """The parts of a mask (h, w) that move otherwise than what is around them; without a `step` all of them.

    Flow in what has hardly any texture is a guess, or follows grain: a part counts only where its picture goes along.
    """
    reach = max(3, mask.shape[1] // 64) | 1
    closed = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((reach, reach), np.uint8))
    count, labels, statistics, _ = cv2.connectedComponentsWithStats(closed)
    found = []
    for label in range(1, count):
        left, top, wide, high, _ = (int(value) for value in statistics[label])
        inside = (labels == label) & mask
        area = int(inside.sum())
        if area < LEAST_SHARE * mask.size:
            continue
        margin = max(6, (wide + high) // 8)
        ring = np.zeros_like(mask)
        ring[max(0, top - margin) : top + high + margin, max(0, left - margin) : left + wide + margin] = True
        box = (left, top, left + wide, top + high)
        if step is None:
            found.append(Blob(box, area, None, None))
            continue
        around = _median(step.flow, ring & ~mask & step.sound)
        if around is None or _gain(step, inside, around) > _CONTRAST:
            found.append(Blob(box, area, _median(step.flow, inside & step.sound), around))
    return found


def _median(flow: NDArray[np.float32], where: NDArray[np.bool_]) -> tuple[float, float] | None:
    if where.sum() < 8:
        return None
    x, y = np.median(flow[where], axis=0)
    return float(x), float(y)


def _gain(step: Step, inside: NDArray[np.bool_], around: tuple[float, float]) -> float:
    """By how many grey levels the flow explains the pixels `inside` better than the motion around them."""
    rows, columns = (part.astype(np.float32)[:, None] for part in np.nonzero(inside))
    off = []
    for motion in (np.broadcast_to(np.array(around, np.float32), (len(rows), 2)), step.flow[inside]):
        there = cv2.remap(
            step.then, columns + motion[:, :1], rows + motion[:, 1:], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
        )
        off.append(np.abs(there.ravel().astype(np.float32) - step.now[inside]))
    return float((off[0] - off[1]).mean())


def follow(
    seen: Sequence[Sequence[Blob]], numbers: Sequence[int], seconds_a_frame: float, size: tuple[int, int]
) -> list[Region]:
    """The regions in the blobs of a shot's measured frames, whose numbers these are; `size` is the grid's."""
    open_tracks: list[_Track] = []
    done: list[_Track] = []
    for place, blobs in enumerate(seen):
        open_tracks, old = _still_open(open_tracks, place)
        done += old
        pairs = sorted(
            ((_likeness(track, blob, place), index, other)
             for index, track in enumerate(open_tracks) for other, blob in enumerate(blobs)),
            reverse=True,
        )  # fmt: skip
        used_tracks: set[int] = set()
        used_blobs: set[int] = set()
        for likeness, index, other in pairs:
            if likeness < _OVERLAP or index in used_tracks or other in used_blobs:
                continue
            used_tracks.add(index)
            used_blobs.add(other)
            open_tracks[index].places.append(place)
            open_tracks[index].blobs.append(blobs[other])
        open_tracks += [_Track([place], [blob]) for other, blob in enumerate(blobs) if other not in used_blobs]
    least = min(LEAST_SEEN, max(1, len(seen) - 1))
    kept = [track for track in [*done, *open_tracks] if len(track.places) >= least]
    kept.sort(key=lambda track: -sum(blob.area for blob in track.blobs))
    return [_region(track, numbers, seconds_a_frame, size) for track in kept[:MOST_REGIONS]]


def _still_open(tracks: Sequence[_Track], place: int) -> tuple[list[_Track], list[_Track]]:
    fresh = [track for track in tracks if place - track.places[-1] <= _PATIENCE]
    return fresh, [track for track in tracks if track not in fresh]


def _likeness(track: _Track, blob: Blob, place: int) -> float:
    last, steps = track.blobs[-1], place - track.places[-1]
    x, y = last.flow or (0.0, 0.0)
    left, top, right, bottom = last.box
    carried = (left + x * steps, top + y * steps, right + x * steps, bottom + y * steps)
    return _overlap(carried, blob.box)


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> float:
    across, down = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if across <= 0 or down <= 0:
        return 0.0
    both = across * down
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def _region(track: _Track, numbers: Sequence[int], seconds_a_frame: float, size: tuple[int, int]) -> Region:
    width, height = size
    steps, against = [], []
    for place, blob in zip(track.places, track.blobs, strict=True):
        if blob.flow is None or place + 1 >= len(numbers):
            continue
        seconds = (numbers[place + 1] - numbers[place]) * seconds_a_frame
        steps.append((blob.flow[0] / seconds, blob.flow[1] / seconds))
        if blob.around is not None:
            against.append(np.hypot(blob.flow[0] - blob.around[0], blob.flow[1] - blob.around[1]) / seconds)
    speeds = np.array(steps).reshape(-1, 2)
    speed = float(np.linalg.norm(speeds, axis=1).mean()) if len(speeds) else 0.0
    mean = speeds.mean(axis=0) if len(speeds) else np.zeros(2)
    places = dict.fromkeys((0, len(track.places) // 2, len(track.places) - 1))
    boxes = [RegionBox(frame=numbers[track.places[one]], box=_share(track.blobs[one].box, size)) for one in places]
    return Region(
        first=numbers[track.places[0]],
        last=numbers[track.places[-1]],
        boxes=boxes,
        share_percent=round(100 * float(np.mean([blob.area for blob in track.blobs])) / (width * height), 2),
        speed_percent=round(100 * speed / width, 2),
        direction=_direction(mean, speed),
        against_background_percent=round(100 * float(np.mean(against)) / width, 2) if against else None,
    )


def _share(box: tuple[float, float, float, float], size: tuple[int, int]) -> tuple[float, float, float, float]:
    left, top, right, bottom = box
    width, height = size
    return (
        round(left / width, 4), round(top / height, 4), round((right - left) / width, 4),
        round((bottom - top) / height, 4),
    )  # fmt: skip


def _direction(mean: NDArray[np.float64], speed: float) -> str:
    if speed == 0:
        return "not told"
    if float(np.linalg.norm(mean)) < 0.4 * speed:
        return "back and forth"
    return _DIRECTIONS[round(float(np.arctan2(mean[1], mean[0])) / (np.pi / 4)) % 8]
