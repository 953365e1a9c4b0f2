# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion of one shot, from small grey pictures of some of its frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from ..camera.core.pinhole import rotation_of, vector_of
from ..sgc.classical.adjust import inverse
from ..sgc.classical.flow import Workers
from ..sgc.classical.settings import DEFAULT, Settings
from ..sgc.classical.window import BARELY, STILL, TURNING, Outcome, estimate_shot
from .describe import Array, Way, keys_of, shake_of, way_of, words_for
from .look import Grey, Look, apart, look
from .records import CameraMotion, FocalLength, MotionKey, Region, ShotMotion
from .regions import blobs_of, follow, step_of
from .turn import USUAL, WORST_SIGMA, fit_turn, focal_of_turns

STEP_MOTION: Final = 2.0
"""Pixels that the picture should move from frame to frame where a path is estimated."""
LEAST_PATH_FRAMES: Final = 20
TOO_FEW: Final = "one frame has no motion"
NO_TEXTURE: Final = "too little texture, or frames that show nothing in common"
TURNS: Final = "the camera only turns, or what is seen lies flat or far away: no parallax tells a path"
NO_LENS: Final = "turns as small as these, a zoom, or a move along what is nearly flat do not tell it"
STANDS: Final = "the camera stands still"
USELESS: Final = "no rigid motion explains enough of the picture"

_TRUST = 2.0  # times that an estimated sigma of a focal length is too small, at worst, on rendered scenes
_LEAST_SIGMA = 0.03
_LEAST_TURN_DEG = 1.0  # with which a path tells a focal length
_UNKNOWN_SHARE = 0.5  # of the frames: with more that have no path the shot has none


class _Common(NamedTuple):
    """What is told of every camera; see CameraMotion."""

    shift_percent: tuple[float, float] | None
    shake_percent: float | None


@dataclass(frozen=True)
class Frames:
    """The measured frames of a shot."""

    numbers: tuple[int, ...]
    pictures: tuple[Grey, ...]
    stride: int
    first: int
    last: int
    size: tuple[int, int]
    """(width, height) of the whole picture as shown."""
    rate: float

    @property
    def grid(self) -> tuple[int, int]:
        """(width, height) of the small pictures."""
        height, width = self.pictures[0].shape
        return width, height

    @property
    def scale(self) -> float:
        """Pixels of the whole picture for one of a small one."""
        return max(self.size) / max(self.grid)


def settings_for(grid: tuple[int, int]) -> Settings:
    """The estimator's constants for small pictures: about 600 samples, fewer where there is no room for them."""
    cell = int(np.clip(np.sqrt(grid[0] * grid[1] / 600), 5, 12))
    room = grid[0] * grid[1] // cell**2
    return replace(DEFAULT, cell=cell, least_samples=int(np.clip(room // 8, 12, 60)), offsets=(1, 3, 8))


def measure_shot(frames: Frames, threads: Workers, tell: Callable[[float], None]) -> ShotMotion:
    """The motion of a shot; `tell` is given the share that is done."""
    if len(frames.pictures) < 2:
        return _shot(frames, "one frame", _unknown(TOO_FEW), _no_focal(TOO_FEW), [], [], [])
    settings = settings_for(frames.grid)
    count = len(frames.pictures)
    seen = look(frames.pictures, settings, threads, lambda done: tell(0.3 * done / count))
    shift = 100 * seen.shift / frames.grid[0]
    shake = shake_of(seen.shift, frames.rate / frames.stride, frames.grid[0])
    common = _Common(
        (round(float(shift[-1, 0]), 2), round(float(shift[-1, 1]), 2)), None if shake is None else round(shake, 3)
    )
    notes = [] if seen.connected else ["some frames have too little texture, or show another scene than the one before"]
    if shake is None:
        notes.append("too few measured frames to tell shake; a shot that is measured alone has more")
    if not seen.pairs:
        return _shot(frames, "not known", _unknown(NO_TEXTURE), _no_focal(NO_TEXTURE), [], [], notes)
    reason = TURNS
    if seen.parallax:
        path, reason, moving = _path(frames, seen, settings, threads, lambda share: tell(0.3 + 0.6 * share))
        if path is not None:
            return _moving(frames, path, common, moving, notes)
    blobs = apart(frames.pictures, seen, settings, threads, lambda done: tell(0.9 + 0.1 * done / count))
    regions = follow(blobs, frames.numbers, 1 / frames.rate, frames.grid)
    if reason == USELESS:
        return _shot(frames, "not known", _unknown(USELESS, common), _no_focal(USELESS), [], regions, notes)
    return _turning(frames, seen, common, regions, notes)


def _turning(frames: Frames, seen: Look, common: _Common, regions: list[Region], notes: list[str]) -> ShotMotion:
    """A camera that stands still, or turns and zooms where it stands."""
    side, count = max(frames.grid), len(frames.pictures)
    if seen.still:
        focal = _no_focal(f"{STANDS}; fit it to lines or points of one frame", frames)
        way = way_of(np.tile(np.eye(3), (count, 1, 1)), np.zeros((count, 3)))
        camera = CameraMotion(
            pan_deg=0.0, tilt_deg=0.0, roll_deg=0.0, move=(0.0, 0.0, 0.0), path_length=0.0, orbit_deg=None,
            orbit_distance=None, zoom_factor=1.0, parallax=False, reason="", **common._asdict(),
        )  # fmt: skip
        kind = words_for(way, zoom=1.0, shake=None, still=True, moves=False)
        return _shot(frames, kind, camera, focal, [], regions, notes)
    logs = np.concatenate([[0.0], np.cumsum([step.log_zoom if step else 0.0 for step in seen.steps])])
    zooms = abs(logs[-1]) > 0.02 or float(np.ptp(logs)) > 0.04
    told = focal_of_turns(seen.pairs[:: max(1, len(seen.pairs) // 6)], frames.grid, zooms=zooms)
    # what is not quite a turn is explained best by a wrong lens
    known = told.sigma <= WORST_SIGMA and not seen.parallax
    length = told.length if known else USUAL * side
    rotations, logs = _chained(seen, length, zooms)
    way = way_of(rotations, np.zeros((count, 3)))
    factor = float(np.exp(logs[-1])) if zooms else 1.0
    sigma = max(_LEAST_SIGMA, told.sigma)
    if known:
        focal = _focal(frames, length * frames.scale, sigma)
    else:
        focal = _no_focal(f"{NO_LENS}; degrees hold for assumed_mm", frames)
    kind = words_for(way, zoom=factor, shake=common.shake_percent, still=False, moves=False)
    if zooms:
        notes = [*notes, "A zoom; a straight move towards something flat would look the same"]
    elif not known:
        notes = [*notes, "A turn; a move along something flat would look the same"]
    camera = CameraMotion(
        pan_deg=round(way.pan_deg, 2), tilt_deg=round(way.tilt_deg, 2), roll_deg=round(way.roll_deg, 2), move=None,
        path_length=None, orbit_deg=None, orbit_distance=None, zoom_factor=round(factor, 4), parallax=seen.parallax,
        reason=TURNS, **common._asdict(),
    )  # fmt: skip
    focals = length * frames.scale * np.exp(logs)
    keys = keys_of(frames.numbers, rotations, np.zeros((count, 3)), focals, frames.size, moves=False)
    return _shot(frames, kind, camera, focal, keys, regions, notes)


def _chained(seen: Look, length: float, zooms: bool) -> tuple[Array, Array]:
    """Rotations (n, 3, 3) and logarithms of the zoom (n,) since the first frame, step by step."""
    rotations, logs = [np.eye(3)], [0.0]
    for pair in seen.near:
        turn = None if pair is None else fit_turn(pair, length * np.exp(logs[-1]), zooms=zooms)
        rotations.append(rotations[-1] if turn is None else turn.rotation @ rotations[-1])
        logs.append(logs[-1] if turn is None else logs[-1] + turn.log_zoom)
    return np.array(rotations), np.array(logs)


@dataclass(frozen=True)
class _Path:
    places: tuple[int, ...]
    """Of the measured frames."""
    rotations: Array
    centres: Array
    focal: float
    """In pixels of the grid."""
    sigma: float
    notes: tuple[str, ...]


def _path(
    frames: Frames, seen: Look, settings: Settings, threads: Workers, tell: Callable[[float], None]
) -> tuple[_Path | None, str, list[Region]]:
    """The path that the classical estimator finds, or why there is none, and the regions that do not follow it."""
    count, usual = len(frames.pictures), USUAL * max(frames.grid)
    thin = int(np.clip(round(STEP_MOTION / max(seen.pace, 1e-3)), 1, max(1, count // LEAST_PATH_FRAMES)))
    places = tuple(dict.fromkeys([*range(0, count, thin), count - 1]))
    # where most points follow a turn, as before a wall, the estimator takes it for one unless the focal length is given
    for given in (None, usual) if seen.rigid else (None,):
        outcome, poses, blobs, focal = Outcome(), [], [], usual
        pictures = ((index, frames.pictures[place]) for index, place in enumerate(places))
        for found in estimate_shot(pictures, settings, threads, outcome, given):
            poses.append(found.world_to_camera)
            focal = found.focal
            flow, place = found.following, places[found.number]
            step = None if flow is None else step_of(frames.pictures, place, places[found.number + 1], flow)
            blobs.append(blobs_of(found.moving, step))
            tell(len(poses) / len(places))
        lost = sum(last - first + 1 for first, last, _ in outcome.unobservable)
        if lost <= _UNKNOWN_SHARE * len(places):
            break
    else:
        useless = any(reason not in (STILL, TURNING, BARELY) for _, _, reason in outcome.unobservable)
        return None, USELESS if useless else TURNS, []
    numbers = tuple(frames.numbers[place] for place in places)
    notes = [
        f"frames {numbers[first]} to {numbers[last]}: no path of their own, {reason}"
        for first, last, reason in outcome.unobservable
    ]
    matrices = np.array(poses)
    sigma = max((_TRUST * one for _, one in outcome.focals), default=float("inf"))
    # a straight way is explained by every focal length, and what draws to the usual one would pass for knowledge
    if _turned_deg(matrices) < _LEAST_TURN_DEG:
        sigma = float("inf")
    if sigma > WORST_SIGMA:
        matrices, focal = _as_if(matrices, focal, usual), usual
    centres = np.array([inverse(pose)[:3, 3] for pose in matrices])
    regions = follow(blobs, numbers, 1 / frames.rate, frames.grid)
    return _Path(places, matrices[:, :3, :3], centres, focal, sigma, tuple(notes)), "", regions


def _turned_deg(poses: Array) -> float:
    """The largest angle between where the cameras (n, 4, 4) look and where the first one does."""
    ahead = poses[:, 2, :3]
    return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(ahead, ahead[0]), axis=1), ahead @ ahead[0])).max())


def _as_if(poses: Array, focal: float, other: float) -> Array:
    """Poses (n, 4, 4) for another focal length under which the pictures are nearly the same.

    Without turns they are exactly so (points and ways are stretched across the line of sight); where turns are large,
    the focal length is known.
    """
    stretch = focal / other
    made = np.tile(np.eye(4), (len(poses), 1, 1))
    first = inverse(poses[0])
    for pose, result in zip(poses, made, strict=True):
        motion = pose @ first
        x, y, z = vector_of(motion[:3, :3])
        result[:3, :3] = rotation_of(np.array([x * stretch, y * stretch, z]))
        result[:3, 3] = motion[:3, 3] * (stretch, stretch, 1.0)
    return made


def _moving(frames: Frames, path: _Path, common: _Common, regions: list[Region], notes: list[str]) -> ShotMotion:
    way = way_of(path.rotations, path.centres)
    known = path.sigma <= WORST_SIGMA
    if known:
        focal = _focal(frames, path.focal * frames.scale, max(_LEAST_SIGMA, path.sigma))
    else:
        focal = _no_focal("the motion hardly tells it; lengths and turns hold for assumed_mm", frames)
    kind = words_for(way, zoom=None, shake=common.shake_percent, still=False, moves=True)
    camera = _moving_record(way, common)
    numbers = [frames.numbers[place] for place in path.places]
    focals = np.full(len(numbers), path.focal * frames.scale)
    keys = keys_of(numbers, path.rotations, path.centres, focals, frames.size, moves=True)
    return _shot(frames, kind, camera, focal, keys, regions, [*notes, *path.notes])


def _moving_record(way: Way, common: _Common) -> CameraMotion:
    right, up, forward = (round(part, 4) + 0.0 for part in way.move)
    return CameraMotion(
        pan_deg=round(way.pan_deg, 2), tilt_deg=round(way.tilt_deg, 2), roll_deg=round(way.roll_deg, 2),
        move=(right, up, forward), path_length=round(way.length, 4),
        orbit_deg=None if way.orbit_deg is None else round(way.orbit_deg, 2),
        orbit_distance=None if way.orbit_distance is None else round(way.orbit_distance, 3),
        zoom_factor=None, parallax=True, reason="a zoom during a move cannot be told from it", **common._asdict(),
    )  # fmt: skip


def _unknown(reason: str, common: _Common | None = None) -> CameraMotion:
    known = common or _Common(None, None)
    return CameraMotion(
        pan_deg=None, tilt_deg=None, roll_deg=None, move=None, path_length=None, orbit_deg=None, orbit_distance=None,
        zoom_factor=None, parallax=None, reason=reason, **known._asdict(),
    )  # fmt: skip


def _focal(frames: Frames, length: float, sigma: float) -> FocalLength:
    mm = length * 36 / max(frames.size)
    return FocalLength(
        px=round(length, 1), mm=round(mm, 2), sigma_px=round(length * sigma, 1), sigma_mm=round(mm * sigma, 2)
    )


def _no_focal(reason: str, frames: Frames | None = None) -> FocalLength:
    """None, and with `frames` what turns and lenses are given for instead."""
    assumed = None if frames is None else round(36 * USUAL, 2)
    return FocalLength(px=None, mm=None, sigma_px=None, sigma_mm=None, assumed_mm=assumed, reason=reason)


def _shot(
    frames: Frames, kind: str, camera: CameraMotion, focal: FocalLength, keys: Sequence[MotionKey],
    regions: Sequence[Region], notes: Sequence[str],
) -> ShotMotion:  # fmt: skip
    return ShotMotion(
        first=frames.first, last=frames.last, seconds=round((frames.last - frames.first + 1) / frames.rate, 3),
        kind=kind, camera=camera, focal=focal, keys=list(keys), regions=list(regions),
        measured_frames=len(frames.numbers), stride=frames.stride, notes=list(notes),
    )  # fmt: skip
