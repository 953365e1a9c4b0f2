# SPDX-License-Identifier: GPL-3.0-or-later
"""One gauge for depth and cameras: the depths of a shot are fitted to what its tracks and cameras triangulate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..poses import Pose, relative_pose
from ..records import DepthScale, FrameGeometry, Geometry, PairGeometry
from .points import Floats, fault_of, points_of, rays, static_tracks, usable_tracks
from .records import Gauge
from .settings import RobustSettings

POINTS_PER_PAIR = 400
POINTS_PER_SHOT = 40_000
FIT_STEPS = 20


@dataclass
class _Shot:
    """Samples of one shot: inverse depths (n,) as they are and as triangulated, their weights, and frames' medians."""

    given: list[Floats] = field(default_factory=list)
    triangulated: list[Floats] = field(default_factory=list)
    weights: list[Floats] = field(default_factory=list)
    medians: list[float] = field(default_factory=list)


def fit_gauges(geometry: Geometry, settings: RobustSettings, told: Callable[[int], None]) -> list[Gauge]:
    """The gauge of every shot, from one walk through the pairs; `told` is called with the number of pairs walked.

    The scale is the weighted median of ratios of inverse depths, for affine inverse depth scale and shift by least
    absolute deviations. Where too few points have parallax the depth is taken as it is.
    """
    shots = [_Shot() for _ in geometry.shots]
    for number, (place, pair) in enumerate(_by_shot(geometry)):
        told(number + 1)
        shot = shots[place]
        if fault_of(pair):
            continue
        _add_median(shot, pair.previous)
        if sum(map(len, shot.given)) < POINTS_PER_SHOT:
            _add_points(shot, pair, settings)
    return [_fit(shot, borders, geometry.scale) for shot, borders in zip(shots, geometry.shots, strict=True)]


def depth_in_gauge(frame: FrameGeometry, gauge: Gauge) -> NDArray[np.float32]:
    """The frame's depth (H, W) in its cameras' gauge, 0 where it is none: not finite, not positive, or sky."""
    depth = frame.depth
    valid = np.isfinite(depth) & (depth > 0) & ~frame.sky
    safe = np.where(valid, depth, np.float32(1))
    if gauge.shift:
        inverse = gauge.scale / safe + gauge.shift
        valid &= inverse > 0
        safe = 1 / np.where(valid, inverse, np.float32(1))
    else:
        safe = safe * np.float32(gauge.scale)
    return np.where(valid, safe, 0).astype(np.float32)


def triangulate(previous_rays: Floats, current_rays: Floats, motion: Pose) -> tuple[Floats, Floats]:
    """Inverse depth (n,) in the previous frame of points seen along (n, 3) rays of depth 1, and its information (n,).

    Minimises ‖x′ × (R x + ρ t)‖ over the inverse depth ρ; the information grows with the parallax.
    """
    turned = previous_rays @ motion.rotation.T
    across = np.cross(current_rays, motion.translation)
    information = (across**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = -(np.cross(current_rays, turned) * across).sum(axis=1) / information
    return inverse, information


def _by_shot(geometry: Geometry) -> Iterator[tuple[int, PairGeometry]]:
    place = 0
    for pair in geometry.pairs():
        while place + 1 < len(geometry.shots) and pair.frame > geometry.shots[place][1]:
            place += 1
        yield place, pair


def _add_median(shot: _Shot, frame: FrameGeometry) -> None:
    depth = frame.depth[~(frame.moving | frame.sky)]
    depth = depth[np.isfinite(depth) & (depth > 0)]
    if len(depth):
        shot.medians.append(float(np.median(depth)))


def _add_points(shot: _Shot, pair: PairGeometry, settings: RobustSettings) -> None:
    static = static_tracks(pair, usable_tracks(pair, settings.minimum_confidence))
    depth = depth_in_gauge(pair.previous, Gauge(first=0, last=0, scale=1.0, unit=1.0, points=0))
    found = points_of(pair, static, depth, settings.edge)
    if not len(found.points):
        return
    chosen = np.unique(np.linspace(0, len(found.points) - 1, POINTS_PER_PAIR).astype(np.intp))
    motion = relative_pose(pair.previous.world_to_camera, pair.current.world_to_camera)
    inverse, information = triangulate(
        rays(found.previous[chosen], pair.previous.intrinsics),
        rays(found.current[chosen], pair.current.intrinsics),
        motion,
    )
    z = found.points[chosen][:, 2]
    focal = float(pair.current.intrinsics[0, 0])
    # a point serves where its parallax can be told from the tracks' noise, by a length that no gauge changes
    parallax = focal * np.abs(inverse) * np.sqrt(information)
    kept = np.isfinite(inverse) & (inverse > 0) & (parallax > 4 * settings.minimum_parallax_px)
    kept &= found.sigma[chosen] < settings.maximum_depth_sigma
    shot.given.append(1 / z[kept])
    shot.triangulated.append(inverse[kept])
    shot.weights.append(np.sqrt(information[kept]))


def _fit(shot: _Shot, borders: tuple[int, int], scale: DepthScale) -> Gauge:
    given, triangulated, weights = (
        np.concatenate(parts) if parts else np.zeros(0) for parts in (shot.given, shot.triangulated, shot.weights)
    )
    factor, shift, points = 1.0, 0.0, 0
    if len(given) >= POINTS_PER_PAIR // 4:
        # ρ_triangulated = factor · ρ_given (+ shift)
        factor, points = weighted_median(triangulated / given, weights * given), len(given)
        if scale == "affine_inverse":
            factor, shift = _line(given, triangulated, weights, factor)
    median = float(np.median(shot.medians)) if shot.medians else 1.0
    if scale == "affine_inverse":
        inverse = factor / median + shift
        unit = 1 / inverse if inverse > 0 else median / factor
        return Gauge(first=borders[0], last=borders[1], scale=factor, shift=shift, unit=unit, points=points)
    return Gauge(first=borders[0], last=borders[1], scale=1 / factor, unit=median / factor, points=points)


def _line(x: Floats, y: Floats, weights: Floats, start: float) -> tuple[float, float]:
    """Slope and offset with the least Σ w |y − a x − b|, by reweighted least squares."""
    slope, offset = start, 0.0
    for _ in range(FIT_STEPS):
        misses = np.abs(y - slope * x - offset) * weights
        robust = weights**2 / np.maximum(misses, 1e-3 * float(np.median(misses)) + 1e-12)
        total, mean_x, mean_y = robust.sum(), np.average(x, weights=robust), np.average(y, weights=robust)
        spread = (robust * (x - mean_x) ** 2).sum()
        if spread <= 1e-9 * total * mean_x**2:
            return start, 0.0  # all at one depth: a line through it is not determined
        slope = float((robust * (x - mean_x) * (y - mean_y)).sum() / spread)
        offset = float(mean_y - slope * mean_x)
    return (slope, offset) if slope > 0 else (start, 0.0)


def weighted_median(values: Floats, weights: Floats) -> float:
    """The value of `values` (n,) on either side of which lies half of the `weights` (n,)."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, total[-1] / 2)])
