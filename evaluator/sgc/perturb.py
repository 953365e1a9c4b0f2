# SPDX-License-Identifier: GPL-3.0-or-later
"""Corruptions of a video's geometry, or of a video, that grow linearly with time: what a sound metric has to notice.

The first three are those of SGC's controlled validation (section 4): warping (image and tracks, depth held),
perspective squeeze (tracks alone), spatial depth warp (depth, image and tracks). The fourth lets one layer drift.
A shot starts clean; at its last frame a corruption of severity 1 has its whole strength.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

import cv2
import numpy as np
from numpy.typing import NDArray

from ..media.decode import stream
from ..media.encode import NEAR_LOSSLESS, encode
from ..media.probe import probe
from ..media.records import VideoInfo
from ..protocol.errors import BadInputError
from ..protocol.messages import Reporter
from .records import FrameGeometry, Geometry, PairGeometry, Shots

Corruption = Literal["warp", "squeeze", "depth_warp", "drift"]
CORRUPTIONS: Final[tuple[Corruption, ...]] = get_args(Corruption)

Floats = NDArray[np.float64]
Shift = Callable[[Floats], Floats]
"""Displacement (n, 2) in pixels of pixel coordinates (n, 2)."""

WARP = 0.012, 0.25
DEPTH_WARP = 0.02, 0.4
"""Amplitude and wavelength in diagonals of the picture, at severity 1."""
TURN = 2 * math.pi / 24
"""A wave moves on by this angle from frame to frame, and a drifting layer goes round by it."""
SQUEEZE = 0.3
"""Share of its height by which a picture is pressed together at severity 1."""
DRIFT = 0.012
"""Radius of the circle on which a layer drifts, in diagonals."""
LAYER = 0.4
"""Share of the static surfaces that are the drifting layer: the nearest ones."""


@dataclass(frozen=True)
class _Corruption:
    """What is done to the frames of a video of some size."""

    kind: Corruption
    severity: float
    size: tuple[int, int]
    """(width, height)."""
    shots: Shots

    @property
    def diagonal(self) -> float:
        return math.hypot(*self.size)

    def strength(self, number: int) -> float:
        """Severity at frame `number`: 0 at its shot's first frame, growing linearly to the whole at the last one."""
        for first, last in self.shots:
            if first <= number <= last:
                return self.severity * (number - first) / max(1, last - first)
        return 0.0

    def shift(self, number: int) -> Shift:
        """How frame `number` moves what is at pixel coordinates; a drifting layer moves alike everywhere."""
        strength, angle = self.strength(number), TURN * number
        if self.kind == "squeeze":
            middle = (self.size[1] - 1) / 2
            return lambda places: np.stack(
                [np.zeros(len(places)), (middle - places[:, 1]) * SQUEEZE * strength], axis=1
            )
        if self.kind == "drift":
            reach = DRIFT * self.diagonal * strength
            return lambda places: np.tile([reach * math.cos(angle), reach * math.sin(angle)], (len(places), 1))
        amplitude, wavelength = WARP if self.kind == "warp" else DEPTH_WARP
        reach, wave = amplitude * self.diagonal * strength, 2 * math.pi / (wavelength * self.diagonal)
        return lambda places: (
            reach * np.stack([np.sin(wave * places[:, 1] + angle), np.cos(wave * places[:, 0] + angle)], axis=1)
        )


def perturbed(geometry: Geometry, kind: Corruption, severity: float) -> Geometry:
    """`geometry` with a corruption of `severity` 0 … 1; nothing is read before its pairs are walked through.

    Raises BadInputError for another kind or severity.
    """
    _check(kind, severity)
    corruption = _Corruption(kind, severity, geometry.size, geometry.shots)

    def pairs() -> Iterator[PairGeometry]:
        for pair in geometry.pairs():
            yield _perturbed_pair(pair, corruption)

    def images() -> Iterator[NDArray[np.uint8]]:
        assert geometry.images is not None
        numbers = (number for first, last in geometry.shots for number in range(first, last + 1))
        for number, image in zip(numbers, geometry.images(), strict=False):
            yield _moved_picture(image, corruption, number)

    moves_pictures = geometry.images is not None and kind in ("warp", "depth_warp")
    return replace(
        geometry,
        estimator=f"{geometry.estimator}, {kind} {severity:g}",
        pairs=pairs,
        images=images if moves_pictures else geometry.images,
    )


def perturb_video(
    video: Path, kind: Corruption, severity: float, out: Path, *, reporter: Reporter, shots: Shots | None = None
) -> VideoInfo:
    """Write `video` with a corruption of its pictures to the MP4 file `out`, nearly lossless, and say what came out.

    Pictures have no depth: `depth_warp` moves them by its waves, and what drifts is the picture's middle, with a soft
    edge. `shots` are the first and last frame of every shot; None makes all frames one. Raises BadInputError.
    """
    _check(kind, severity)
    timeline = probe(video).timeline
    even = timeline.width - timeline.width % 2, timeline.height - timeline.height % 2
    corruption = _Corruption(kind, severity, even, shots or ((0, timeline.frames - 1),))
    pictures = (_moved_picture(frame.image[: even[1], : even[0]], corruption, frame.index) for frame in stream(video))
    return encode(pictures, timeline.rate, out, reporter=reporter, total=timeline.frames, quantiser=NEAR_LOSSLESS)


def _check(kind: str, severity: float) -> None:
    if kind not in CORRUPTIONS:
        raise BadInputError(f"{kind!r} is no corruption; they are: {', '.join(CORRUPTIONS)}")
    if not 0 <= severity <= 1:
        raise BadInputError(f"severity {severity:g}: it lies between 0 and 1")


def _perturbed_pair(pair: PairGeometry, corruption: _Corruption) -> PairGeometry:
    before, after = pair.previous, pair.current
    moves_before, moves_after = corruption.shift(before.number), corruption.shift(after.number)
    tracks = pair.tracks
    start = moves_before(tracks.previous)
    end = moves_after(tracks.current)
    if corruption.kind == "drift":
        layer = _layer(before, tracks.previous)
        start, end = start * layer[:, None], end * layer[:, None]
    moved = replace(tracks, previous=tracks.previous + start, current=tracks.current + end)
    if corruption.kind == "depth_warp":
        before, after = _moved_frame(before, corruption), _moved_frame(after, corruption)
    return PairGeometry(before, after, moved)


def _layer(frame: FrameGeometry, places: Floats) -> NDArray[np.bool_]:
    """Which tracks (n,) start on the nearest static surfaces of the frame."""
    known = (frame.depth > 0) & np.isfinite(frame.depth) & ~frame.sky & ~frame.moving
    if not known.any():
        return np.zeros(len(places), dtype=np.bool_)
    limit = np.quantile(frame.depth[known], LAYER)
    inside = np.nan_to_num(np.clip(np.rint(places), 0, (frame.depth.shape[1] - 1, frame.depth.shape[0] - 1)))
    rows, columns = inside[:, 1].astype(np.intp), inside[:, 0].astype(np.intp)
    near: NDArray[np.bool_] = known[rows, columns] & (frame.depth[rows, columns] <= limit)
    return near


def _moved_frame(frame: FrameGeometry, corruption: _Corruption) -> FrameGeometry:
    """The frame with its depth and masks moved along; nothing is interpolated across an edge."""
    columns, rows = _origins(frame.depth.shape, corruption.shift(frame.number))

    def moved(plane: NDArray[Any], border: float) -> NDArray[Any]:
        outside = cv2.BORDER_CONSTANT
        return np.asarray(cv2.remap(plane, columns, rows, cv2.INTER_NEAREST, borderMode=outside, borderValue=border))

    sigma = frame.depth_sigma
    return replace(
        frame,
        depth=moved(frame.depth, 0).astype(np.float32),
        sky=moved(frame.sky.astype(np.uint8), 1) > 0,
        moving=moved(frame.moving.astype(np.uint8), 0) > 0,
        depth_sigma=moved(sigma, math.inf).astype(np.float32) if sigma is not None else None,
    )


def _moved_picture(picture: NDArray[np.uint8], corruption: _Corruption, number: int) -> NDArray[np.uint8]:
    shift = corruption.shift(number)
    if corruption.kind == "drift":
        width, height = corruption.size
        alike = shift

        def shift(places: Floats) -> Floats:
            away = np.hypot((places[:, 0] / width - 0.5) / 0.3, (places[:, 1] / height - 0.5) / 0.3)
            return alike(places) * (1 / (1 + away**8))[:, None]

    columns, rows = _origins(picture.shape, shift)
    moved = cv2.remap(picture, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101)
    return np.asarray(moved, dtype=np.uint8)


def _origins(shape: tuple[int, ...], shift: Shift) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(columns, rows), (H, W) each, of what the displacement brings to every pixel: its inverse, by iteration."""
    height, width = shape[:2]
    rows, columns = np.mgrid[0:height, 0:width]
    places = np.stack([columns.ravel(), rows.ravel()], axis=1).astype(np.float64)
    origins = places
    for _ in range(6):
        origins = places - shift(origins)
    maps = origins.astype(np.float32).reshape(height, width, 2)
    return np.ascontiguousarray(maps[..., 0]), np.ascontiguousarray(maps[..., 1])
