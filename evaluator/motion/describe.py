# SPDX-License-Identifier: GPL-3.0-or-later
"""A camera's path through a shot in figures and in the words of film makers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.signal import savgol_filter

from ..camera.core.blender import Sensor
from ..camera.core.pinhole import Pinhole, picture_centre
from ..camera.motion import keyframes, moved
from .records import MotionKey, Three

Array = NDArray[np.float64]
MOST_KEYS: Final = 12
SHAKE_RATE: Final = 7.0
"""Measured frames per second that it takes to tell shake from movement."""

_LEAST_TURN_DEG, _LEAST_MOVE, _LEAST_ZOOM = 1.0, 0.02, 1.02
_LEAST_SHAKE = 0.06  # % of the width
_SIDE_PART = 0.4  # share of a way that goes along an axis, to be named
_LEAST_ORBIT_DEG = 5.0
_KEY_ERROR = 0.002  # of the longer side: keys are added until no frame is further off


@dataclass(frozen=True)
class Way:
    """A camera's way in its first frame's axes (x right, y down, z forward)."""

    pan_deg: float
    tilt_deg: float
    roll_deg: float
    move: Three
    """Right, up, forward."""
    length: float
    orbit_deg: float | None
    orbit_distance: float | None


def way_of(rotations: Array, centres: Array) -> Way:
    """The way of cameras with rotations (n, 3, 3), world to camera, and centres (n, 3)."""
    first = rotations[0]
    turned = rotations @ first.T
    places = (centres - centres[0]) @ first.T
    ahead, right = turned[:, 2], turned[:, 0]
    pan = np.degrees(np.unwrap(np.arctan2(ahead[:, 0], ahead[:, 2])))
    tilt = np.degrees(np.arcsin(np.clip(-ahead[:, 1], -1, 1)))
    level = np.cross([0.0, 1.0, 0.0], ahead)
    level /= np.maximum(np.linalg.norm(level, axis=1, keepdims=True), 1e-9)
    below = np.cross(ahead, level)
    roll = np.degrees(np.unwrap(np.arctan2((right * below).sum(1), (right * level).sum(1))))
    end = places[-1]
    smooth = _smoothed(places)
    orbit = _orbit(places, ahead)
    return Way(
        float(pan[-1] - pan[0]), float(tilt[-1] - tilt[0]), float(roll[-1] - roll[0]),
        (float(end[0]), float(-end[1]), float(end[2])),
        float(np.linalg.norm(np.diff(smooth, axis=0), axis=1).sum()), *(orbit or (None, None)),
    )  # fmt: skip


def _smoothed(values: Array) -> Array:
    """Without the noise of single frames, which would lengthen a way."""
    window = min(7, (len(values) - 1) // 2 * 2 + 1)
    return values if window < 5 else np.asarray(savgol_filter(values, window, 2, axis=0, mode="interp"), np.float64)


def _orbit(places: Array, ahead: Array) -> tuple[float, float] | None:
    """(degrees to the right, distance) of a way around a point that stays in the middle of the picture."""
    across = np.eye(3) - ahead[:, :, None] * ahead[:, None, :]
    normal = across.sum(axis=0)
    if np.linalg.cond(normal) > 1e4:
        return None
    middle = np.linalg.solve(normal, np.einsum("nab,nb->a", across, places))
    arms = middle - places
    distances = np.linalg.norm(arms, axis=1)
    distance = float(distances.mean())
    missed = np.linalg.norm(np.einsum("nab,nb->na", across, arms), axis=1)
    in_front = bool(((arms * ahead).sum(axis=1) > 0).all())
    if not in_front or np.ptp(distances) > 0.35 * distance or float(np.sqrt((missed**2).mean())) > 0.08 * distance:
        return None
    cosine = float(arms[0] @ arms[-1] / (distances[0] * distances[-1]))
    swept = float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))
    if swept < _LEAST_ORBIT_DEG or abs(places[-1][0]) < abs(places[-1][1]):
        return None
    return (swept if places[-1][0] > 0 else -swept), distance


def words_for(way: Way, *, zoom: float | None, shake: float | None, still: bool, moves: bool) -> str:
    """What a camera does, as `dolly in and pan left, handheld`; `moves` where it has a place and not only a turn."""
    parts = []
    if zoom is not None and max(zoom, 1 / zoom) >= _LEAST_ZOOM:
        parts.append("zoom in" if zoom > 1 else "zoom out")
    if moves and way.orbit_deg is not None:
        parts.append("orbit right" if way.orbit_deg > 0 else "orbit left")
    else:
        parts += _moves(way.move) if moves else []
        parts += _turns(way)
    handheld = shake is not None and shake >= _LEAST_SHAKE
    if not parts:
        return "static" if still else "handheld, stays in place" if handheld else "nearly static"
    return " and ".join(parts) + (", handheld" if handheld else "")


def _moves(move: Three) -> list[str]:
    length = float(np.linalg.norm(move))
    if length < _LEAST_MOVE:
        return []
    names = (("truck right", "truck left"), ("pedestal up", "pedestal down"), ("dolly in", "dolly out"))
    named = [(abs(part), pair[part < 0]) for part, pair in zip(move, names, strict=True)
             if abs(part) >= _SIDE_PART * length]  # fmt: skip
    return [name for _, name in sorted(named, reverse=True)]


def _turns(way: Way) -> list[str]:
    named = (
        (way.pan_deg, "pan right", "pan left"), (way.tilt_deg, "tilt up", "tilt down"),
        (way.roll_deg, "roll clockwise", "roll counterclockwise"),
    )  # fmt: skip
    largest = max(abs(turn) for turn, _, _ in named)
    least = max(_LEAST_TURN_DEG, 0.2 * largest)
    found = [(abs(turn), up if turn > 0 else down) for turn, up, down in named if abs(turn) >= least]
    return [name for _, name in sorted(found, reverse=True)]


def shake_of(shift: Array, rate: float, width: int) -> float | None:
    """Root mean square of the picture's place (n, 2) about its smooth way, in % of `width`; None where n is too few.

    The smooth way is a cubic over 0.6 s, so that a movement with a slow start and end is none.
    """
    window = max(7, round(0.6 * rate) | 1)
    if rate < SHAKE_RATE or len(shift) < window + 2:
        return None
    away = shift - savgol_filter(shift, window, 3, axis=0, mode="interp")
    return float(100 * np.sqrt((away**2).sum(axis=1).mean()) / width)


def keys_of(
    frames: Sequence[int], rotations: Array, centres: Array, focals: Array, size: tuple[int, int], *, moves: bool
) -> list[MotionKey]:
    """At most MOST_KEYS keys of cameras with `focals` (n,) in pixels of a picture of `size`, in Blender's words."""
    cameras = [
        Pinhole(size, float(focal), picture_centre(size), rotation, centre)
        for rotation, centre, focal in zip(rotations, centres, focals, strict=True)
    ]
    made = keyframes(tuple(frames), moved(cameras), Sensor())
    matrices = np.array([key.camera.matrix_world for key in made])
    turns = np.unwrap(np.array([_euler(matrix) for matrix in matrices]), axis=0)
    places = matrices[:, :3, 3]
    features = np.column_stack([places, turns, np.log(focals)])
    chosen = _key_places(np.asarray(frames, float), features, _KEY_ERROR * max(size) / float(np.median(focals)))
    return [
        MotionKey(
            frame=frames[place],
            location=_three(places[place], 4) if moves else None,
            rotation_deg=_three(np.degrees(turns[place]), 3),
            lens_mm=round(made[place].camera.lens, 3),
        )
        for place in chosen
    ]


def _key_places(frames: Array, features: Array, tolerance: float) -> list[int]:
    """Places of the first, the last, and those where straight lines between them are worst, until all are within."""
    chosen = [0, len(frames) - 1] if len(frames) > 1 else [0]
    while len(chosen) < min(MOST_KEYS, len(frames)):
        away = np.zeros(len(frames))
        for a, b in pairwise(chosen):
            share = ((frames[a : b + 1] - frames[a]) / max(1.0, frames[b] - frames[a]))[:, None]
            between = (1 - share) * features[a] + share * features[b]
            away[a : b + 1] = np.linalg.norm(features[a : b + 1] - between, axis=1)
        worst = int(away.argmax())
        if away[worst] <= tolerance:
            break
        chosen = sorted([*chosen, worst])
    return chosen


def _euler(matrix: Array) -> tuple[float, float, float]:
    """Blender's Euler angles XYZ of a rotation: R = Rz Ry Rx."""
    return (
        float(np.arctan2(matrix[2, 1], matrix[2, 2])), float(np.arcsin(np.clip(-matrix[2, 0], -1, 1))),
        float(np.arctan2(matrix[1, 0], matrix[0, 0])),
    )  # fmt: skip


def _three(values: Array, digits: int) -> Three:
    x, y, z = (round(float(value), digits) + 0.0 for value in values)
    return x, y, z
