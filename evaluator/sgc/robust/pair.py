# SPDX-License-Identifier: GPL-3.0-or-later
"""What one pair of frames measures: numbers for the result, and the points and regions behind them for pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ..poses import Pose, relative_pose
from ..records import PairGeometry
from .depth import DepthErrors, depth_errors
from .gauge import depth_in_gauge
from .local import LocalPoses, Regions, divide, focal_information, local_poses, turned_only, whole_pose
from .points import (
    NEAR,
    Flags,
    Floats,
    Points,
    cell_of,
    diagonal_scale,
    fault_of,
    finite_rows,
    points_of,
    project,
    rays,
    static_tracks,
    usable_tracks,
)
from .records import Gauge, RobustPair
from .settings import RobustSettings

RAYLEIGH_MEDIAN = 1.1774
"""Median length of a two-dimensional error, in its standard deviations per axis."""
PARALLAX_POINTS = 1500
NO_PARALLAX = "no parallax: the camera stands still, only turns, or sees everything at one depth"


@dataclass(frozen=True)
class Details:
    """What a picture of a pair is drawn from.

    `places` (n, 2) are the tracks' previous pixel coordinates, `divergence` (n,) px, `misses` (n, 2) px from where the
    camera puts a point to where its track ends, `labels` (n,) the region or −1.
    """

    places: Floats
    divergence: Floats
    misses: Floats
    labels: NDArray[np.intp]
    regions: Regions
    depth: NDArray[np.float32]
    """(H, W) of the previous frame in the gauge."""
    depth_errors: DepthErrors | None


@dataclass(frozen=True)
class Measured:
    """A pair's numbers, the information (2, parts) on the focal length in noise of 1, and its details."""

    result: RobustPair
    focal: Floats | None = None
    details: Details | None = None


def measure_pair(pair: PairGeometry, gauge: Gauge, mask_from_residuals: bool, settings: RobustSettings) -> Measured:
    """Measure one pair; whatever cannot be measured stays None, with the reason."""
    fault = fault_of(pair)
    if fault:
        return _unmeasured(RobustPair(frame=pair.frame, reason=fault))
    previous_depth, depth = depth_in_gauge(pair.previous, gauge), depth_in_gauge(pair.current, gauge)
    seen = ~pair.previous.sky
    masked = float((pair.previous.moving & seen).sum() / seen.sum()) if seen.any() else 0.0
    result = RobustPair(frame=pair.frame, masked_share=masked)
    usable = usable_tracks(pair, settings.minimum_confidence)
    static = static_tracks(pair, usable)
    reason = _too_little(seen, pair.previous.moving, usable, static, settings)
    if reason:
        return _unmeasured(result.model_copy(update={"reason": reason}))
    found = points_of(pair, static, previous_depth, settings.edge)
    motion = relative_pose(pair.previous.world_to_camera, pair.current.world_to_camera)
    scale = diagonal_scale(depth.shape)
    if len(found.points) < settings.minimum_tracks:
        return _without_depth(pair, static, len(found.points), result, scale, settings)
    return _measure(pair, found, previous_depth, depth, motion, gauge, result, scale, mask_from_residuals, settings)


def _measure(
    pair: PairGeometry,
    found: Points,
    previous_depth: NDArray[np.float32],
    depth: NDArray[np.float32],
    motion: Pose,
    gauge: Gauge,
    result: RobustPair,
    scale: float,
    mask_from_residuals: bool,
    settings: RobustSettings,
) -> Measured:
    intrinsics, unit = pair.current.intrinsics, gauge.unit
    by_camera = project(found.points @ motion.rotation.T + motion.translation, intrinsics, NEAR * unit)
    misses = found.current - by_camera
    in_front = finite_rows(misses)
    lengths = np.where(in_front, np.linalg.norm(np.where(in_front[:, None], misses, 0), axis=1), np.inf)
    residual = float(np.median(lengths))
    noise = max(settings.least_noise_px * scale, min(residual, settings.cap_px * scale) / RAYLEIGH_MEDIAN)
    regions = divide(found, (depth.shape[1], depth.shape[0]), settings)
    labels = regions.of(found.previous, found.points[:, 2])
    poses = local_poses(found, labels, regions.count, intrinsics, motion, unit, noise, settings)
    divergence = _divergence(found, labels, poses, by_camera, lengths, intrinsics, unit)
    divergence = np.minimum(divergence, settings.cap_px * scale)
    parallax, observable = _parallax(found, by_camera, in_front, motion, intrinsics, noise, unit, scale, settings)
    errors = depth_errors(pair, previous_depth, depth, motion, unit, settings) if observable else None
    translation_spread, rotation_spread = _spreads(poses, motion, unit)
    share = lengths**2 / (lengths**2 + (settings.explained_px * scale) ** 2)
    unexplained = float(np.where(np.isfinite(lengths), share, 1.0).mean())
    if mask_from_residuals:  # what a mask made of residuals removes is motion that the camera did not explain
        unexplained = result.masked_share + (1 - result.masked_share) * unexplained
    reasons = [] if observable else [NO_PARALLAX]
    if not poses.valid.any():
        reasons.append(f"none of {regions.count} regions gave a valid pose")
    if errors is not None and not len(errors.errors):
        reasons.append("no static surface is seen in both frames with a depth")
    measured = result.model_copy(
        update={
            "divergence_px": float(np.sqrt((divergence**2).mean())),
            "divergence_noise_px": _noise(poses),
            "depth_log_error": float(errors.errors.mean()) if errors is not None and len(errors.errors) else None,
            "unexplained_share": unexplained,
            "invalid_share": _invalid_share(pair, previous_depth, regions, poses.valid),
            "translation_spread": translation_spread if observable else None,
            "rotation_spread_deg": rotation_spread,
            "observable": observable,
            "parallax_px": parallax,
            "residual_px": residual if math.isfinite(residual) else None,
            "tracks": len(found.points),
            "regions": regions.count,
            "regions_valid": int(poses.valid.sum()),
            "depth_points": len(errors.errors) if errors is not None else 0,
            "reason": "; ".join(reasons),
        }
    )
    focal = None
    if observable:
        parts = cell_of(found.previous, (depth.shape[1], depth.shape[0]), settings.rows, settings.columns)
        focal = (
            focal_information(found, intrinsics, motion, unit, noise, parts, settings.rows * settings.columns)
            / noise**2
        )
    details = Details(found.previous, divergence, misses, labels, regions, previous_depth, errors)
    return Measured(measured, focal, details)


def _divergence(
    found: Points, labels: NDArray[np.intp], poses: LocalPoses, by_camera: Floats, lengths: Floats, intrinsics: Floats,
    unit: float,
) -> Floats:  # fmt: skip
    """Distance (n,) px between a point by its region's pose and by the camera's; inf where neither can be told.

    A point of no valid region counts with how far its track is from the camera's motion, so that no failure helps.
    """
    divergence = lengths.copy()
    inside = labels >= 0
    inside[inside] = poses.valid[labels[inside]]
    by_region = project(poses.move(found.points[inside], labels[inside]), intrinsics, NEAR * unit)
    own = np.linalg.norm(by_region - by_camera[inside], axis=1)
    divergence[inside] = np.where(np.isfinite(own), own, np.inf)
    return divergence


def _parallax(
    found: Points, by_camera: Floats, in_front: Flags, motion: Pose, intrinsics: Floats, noise: float, unit: float,
    scale: float, settings: RobustSettings,
) -> tuple[float | None, bool]:  # fmt: skip
    """Upper quartile in px of the camera's motion that no rotation explains, and whether the tracks show it too."""
    if not in_front.any():
        return None, False
    chosen = np.flatnonzero(in_front)[:: max(1, int(in_front.sum()) // PARALLAX_POINTS)]
    found = Points(found.points[chosen], found.previous[chosen], found.current[chosen], found.sigma[chosen])
    points, by_camera = found.points, by_camera[chosen]
    turned = turned_only(points, by_camera, intrinsics, settings.least_noise_px * scale, unit)
    parallax = np.linalg.norm(by_camera - turned, axis=1)
    parallax = parallax[np.isfinite(parallax)]
    amount = float(np.percentile(parallax, 75)) if len(parallax) else 0.0
    # a translation that the tracks contradict is one that an estimator made up: their own has to show parallax too
    own = whole_pose(found, motion, intrinsics, noise, unit, settings)
    by_tracks = project(own.move(points, np.zeros(len(points), dtype=np.intp)), intrinsics, NEAR * unit)
    followed = turned_only(points, by_tracks, intrinsics, settings.least_noise_px * scale, unit)
    shown = np.linalg.norm(by_tracks - followed, axis=1)
    shown = shown[np.isfinite(shown)]
    least = settings.minimum_parallax_px * scale
    return amount, amount >= least and len(shown) > 0 and float(np.percentile(shown, 75)) >= least / 2


def _noise(poses: LocalPoses) -> float | None:
    """RMS divergence in px that the covariance of the valid regions' poses explains."""
    if not poses.valid.any():
        return None
    squares = np.einsum("rij,rji->r", poses.covariance[poses.valid], poses.information[poses.valid])
    return math.sqrt(max(0.0, float(squares.sum() / poses.counts[poses.valid].sum())))


def _spreads(poses: LocalPoses, motion: Pose, unit: float) -> tuple[float | None, float | None]:
    """RMS deviation of the valid regions' poses from the camera's, by their tracks: median depths, and degrees."""
    if not poses.valid.any():
        return None, None
    weights = poses.counts[poses.valid]
    offsets = ((poses.translation[poses.valid] - motion.translation) ** 2).sum(axis=1) / unit**2
    turns = Rotation.from_matrix(poses.rotation[poses.valid] @ motion.rotation.T).magnitude() ** 2
    return (
        math.sqrt(float(np.average(offsets, weights=weights))),
        math.degrees(math.sqrt(float(np.average(turns, weights=weights)))),
    )


def _invalid_share(pair: PairGeometry, depth: NDArray[np.float32], regions: Regions, valid: Flags) -> float:
    """Share of the previous frame's static pixels without sky that lie in no region with a depth and a valid pose."""
    step = 2 if min(depth.shape) >= 64 else 1
    wanted = ~(pair.previous.sky | pair.previous.moving)[::step, ::step]
    number = regions.map_of(depth, step)
    covered = (number >= 0) & np.append(valid, False)[number]
    return float(1 - covered[wanted].mean()) if wanted.any() else 1.0


def _too_little(seen: Flags, moving: Flags, usable: Flags, static: Flags, settings: RobustSettings) -> str:
    """Why a pair cannot be measured at all, or nothing."""
    if not seen.any():
        return "all is sky"
    if not (seen & ~moving).any():
        return "all that is seen moves by itself"
    if usable.sum() < settings.minimum_tracks:
        return f"only {int(usable.sum())} usable tracks, {settings.minimum_tracks} are needed"
    if static.sum() < settings.minimum_tracks:
        return (
            f"only {int(static.sum())} of {int(usable.sum())} tracks are static, {settings.minimum_tracks} are needed"
        )
    return ""


def _without_depth(
    pair: PairGeometry, static: Flags, count: int, result: RobustPair, scale: float, settings: RobustSettings
) -> Measured:
    """A pair whose tracks have no depth: where a rotation explains them there is no parallax to have one from."""
    start, end = pair.tracks.previous[static], pair.tracks.current[static]
    points = rays(start, pair.previous.intrinsics)
    turned = turned_only(points, end, pair.current.intrinsics, settings.least_noise_px * scale, 1.0)
    left = np.linalg.norm(end - turned, axis=1)
    reason = f"only {count} of {len(start)} static tracks have a depth, {settings.minimum_tracks} are needed"
    if np.isfinite(left).any() and float(np.nanmedian(left)) <= settings.explained_px * scale:
        reason = NO_PARALLAX
    return _unmeasured(result.model_copy(update={"tracks": count, "reason": reason}))


def _unmeasured(result: RobustPair) -> Measured:
    return Measured(result)
