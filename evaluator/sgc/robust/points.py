# SPDX-License-Identifier: GPL-3.0-or-later
"""Points of a pair of frames: what its static tracks say, with depth sampled between pixel centres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..poses import within_measure
from ..records import FrameGeometry, PairGeometry

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NEAR = 1e-3
"""A point nearer to the camera than this share of the median static depth cannot be projected."""


@dataclass(frozen=True)
class Points:
    """Static tracks with a depth: points (n, 3) in the previous camera's axes and where they are followed to.

    `previous` and `current` are (n, 2) pixel coordinates, `sigma` (n,) the depth's relative standard deviation.
    """

    points: Floats
    previous: Floats
    current: Floats
    sigma: Floats


def sample_depth(depth: NDArray[np.float32], places: Floats, edge: float) -> Floats:
    """Depth (n,) at pixel coordinates (n, 2); 0 outside, where a neighbour has none, and across an edge.

    Inverse depth is linear across the picture of a plane, so it is what is interpolated between pixel centres.
    """
    height, width = depth.shape
    inside = (places >= -0.5).all(axis=1) & (places <= (width - 0.5, height - 0.5)).all(axis=1)
    x = np.clip(np.where(inside, places[:, 0], 0.0), 0, width - 1)
    y = np.clip(np.where(inside, places[:, 1], 0.0), 0, height - 1)
    column, row = np.floor(x).astype(np.intp), np.floor(y).astype(np.intp)
    right, below = np.minimum(column + 1, width - 1), np.minimum(row + 1, height - 1)
    corners = np.stack([depth[row, column], depth[row, right], depth[below, column], depth[below, right]])
    corners = corners.astype(np.float64)
    lowest, highest = corners.min(axis=0), corners.max(axis=0)
    valid = inside & (lowest > 0) & (highest <= lowest * (1 + edge))
    u, v = x - column, y - row
    weights = np.stack([(1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v])
    inverse = (weights / np.where(corners > 0, corners, 1.0)).sum(axis=0)
    return np.where(valid, 1 / inverse, 0.0)


def pixels(places: Floats, shape: tuple[int, ...]) -> tuple[NDArray[np.intp], NDArray[np.intp], Flags]:
    """Nearest (rows, columns) to pixel coordinates (n, 2), clipped to the picture, and which of them lie in it."""
    finite = finite_rows(places)
    rounded = np.rint(np.where(finite[:, None], np.clip(places, -1e6, 1e6), -1.0)).astype(np.intp)
    inside: Flags = ((rounded >= 0) & (rounded < (shape[1], shape[0]))).sum(axis=1) == 2
    return np.clip(rounded[:, 1], 0, shape[0] - 1), np.clip(rounded[:, 0], 0, shape[1] - 1), inside


def rays(places: Floats, intrinsics: Floats) -> Floats:
    """Points (n, 3) of depth 1 that a camera sees at pixel coordinates (n, 2)."""
    solved = np.linalg.solve(intrinsics, np.column_stack([places, np.ones(len(places))]).T).T
    return (solved / solved[:, 2:]).astype(np.float64)


def finite_rows(values: Floats) -> Flags:
    """Which rows (n,) of `values` (n, m) are finite throughout."""
    return np.asarray(np.isfinite(values).all(axis=1), dtype=np.bool_)


def project(points: Floats, intrinsics: Floats, nearest: float) -> Floats:
    """Pixel coordinates (n, 2) of points (n, 3); NaN for those nearer than `nearest`, or behind the camera."""
    seen = points @ intrinsics.T
    with np.errstate(divide="ignore", invalid="ignore"):
        places: Floats = seen[:, :2] / seen[:, 2:]
    places[~(points[:, 2] > nearest)] = np.nan
    return places


def usable_tracks(pair: PairGeometry, minimum_confidence: float) -> Flags:
    """Which tracks (n,) are visible, confident, at finite places, and start and end inside the picture."""
    tracks = pair.tracks
    seen = (tracks.visibility > 0) & (tracks.confidence >= minimum_confidence)
    for places, frame in ((tracks.previous, pair.previous), (tracks.current, pair.current)):
        seen &= pixels(places, frame.depth.shape)[2]
    return seen


def static_tracks(pair: PairGeometry, kept: Flags) -> Flags:
    """Which of the `kept` tracks (n,) start and end on what neither moves by itself nor is sky."""
    static = kept.copy()
    for places, frame in ((pair.tracks.previous, pair.previous), (pair.tracks.current, pair.current)):
        rows, columns, _ = pixels(places, frame.depth.shape)
        static &= ~(frame.moving[rows, columns] | frame.sky[rows, columns])
    return static


def points_of(pair: PairGeometry, static: Flags, depth: NDArray[np.float32], edge: float) -> Points:
    """The `static` (n,) tracks of a pair that have a depth, `depth` (H, W) being that of the previous frame."""
    previous, current = pair.tracks.previous[static], pair.tracks.current[static]
    z = sample_depth(depth, previous, edge)
    sigma = np.zeros(len(z))
    if pair.previous.depth_sigma is not None:
        rows, columns, _ = pixels(previous, depth.shape)
        sigma = pair.previous.depth_sigma[rows, columns].astype(np.float64)
    found = (z > 0) & np.isfinite(sigma)
    points = rays(previous[found], pair.previous.intrinsics) * z[found, None]
    return Points(points, previous[found], current[found], sigma[found])


def cell_of(places: Floats, size: tuple[int, int], rows: int, columns: int) -> NDArray[np.intp]:
    """The cell (n,) of a picture of `size` (width, height), row by row, that pixel coordinates (n, 2) lie in."""
    row = np.clip(((places[:, 1] + 0.5) * rows / size[1]).astype(np.intp), 0, rows - 1)
    column = np.clip(((places[:, 0] + 0.5) * columns / size[0]).astype(np.intp), 0, columns - 1)
    return np.asarray(row * columns + column, dtype=np.intp)


def diagonal_scale(size: tuple[int, ...]) -> float:
    """Pixels of a picture of `size` (two sides) per pixel of one whose diagonal has 1000."""
    return float(np.hypot(size[0], size[1])) / 1000


def fault_of(pair: PairGeometry) -> str:
    """What makes a pair's geometry unusable as a whole, or nothing."""
    for frame in (pair.previous, pair.current):
        fault = _fault_of_frame(frame)
        if fault:
            return f"frame {frame.number}: {fault}"
    if pair.previous.depth.shape != pair.current.depth.shape:
        return "its two frames differ in size"
    tracks = pair.tracks
    counts = {len(tracks.previous), len(tracks.current), len(tracks.visibility), len(tracks.confidence)}
    if len(counts) > 1 or tracks.previous.shape[1:] != (2,) or tracks.current.shape[1:] != (2,):
        return "its tracks differ in number"
    return ""


def _fault_of_frame(frame: FrameGeometry) -> str:
    if frame.depth.ndim != 2 or not (frame.depth.shape == frame.sky.shape == frame.moving.shape):
        return "depth and masks differ in size"
    if min(frame.depth.shape) < 2:
        return "its picture has less than two rows or columns"
    if frame.depth_sigma is not None and frame.depth_sigma.shape != frame.depth.shape:
        return "depth and its deviation differ in size"
    if frame.intrinsics.shape != (3, 3) or not within_measure(frame.intrinsics):
        return "its intrinsics hold values that are not finite, or beyond all measure"
    if abs(float(np.linalg.det(frame.intrinsics))) < 1e-9:
        return "its intrinsics are those of no camera"
    if frame.world_to_camera.shape != (4, 4) or not within_measure(frame.world_to_camera):
        return "its camera holds values that are not finite, or beyond all measure"
    if abs(float(np.linalg.det(frame.world_to_camera[:3, :3])) - 1) > 1e-2:
        return "its camera is turned by no rotation"
    return ""
