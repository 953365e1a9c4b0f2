# SPDX-License-Identifier: GPL-3.0-or-later
"""SGC in the paper's mode: what the authors' code computes (github.com/tj12323/SGC), on any estimator's geometry.

Where code and paper differ the code is followed, since the published constants come from it; docs/sgc.md lists where.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import cv2
import numpy as np

from ..protocol.messages import Reporter
from .ablation import VISIBLE, Ablation, Fixes, find_regions, tracks_stand_still
from .aggregate import PUBLISHED, Normalisation, mean_components, sgc_score
from .components import angular_distance, depth_consistency, global_consistency, local_consistency
from .poses import MINIMUM_DEPTH, PnpSettings, Pose, back_project, local_poses, relative_pose, within_measure
from .records import COMPONENTS, Component, Geometry, PairGeometry, PairResult, SgcResult, Tracks


@dataclass(frozen=True)
class PaperSettings:
    """The published parameters (SGC, table 3 of appendix C.3, and the authors' run_sgc.sh), and what is changed."""

    clusters: int = 10
    minimum_region_pixels: int = 200
    minimum_confidence: float = 0.5
    minimum_tracks: int = 4
    pnp: PnpSettings = field(default_factory=PnpSettings)
    fixes: Fixes = field(default_factory=Fixes)
    ablation: Ablation = field(default_factory=Ablation)
    scale: Mapping[Component, Normalisation] = field(default_factory=lambda: PUBLISHED)
    """How components become a score: the published constants, or those of a calibration."""
    scale_name: str = "published: statistics of 13 data sets measured with VGGT and Video Depth Anything"


PAPER = PaperSettings()
TURNED_DEG = 90.0
"""No camera turns so far from one frame to the next, no region against it: such a pose is told beside the score."""
PARALLAX_PX = 0.5
"""With less of it, hardly any depth would contradict the tracks."""


FARTHEST_PX = 1e6
"""A track that is farther away is none: no picture is so large, and OpenCV's single precision ends there."""


def score_paper(geometry: Geometry, *, reporter: Reporter, settings: PaperSettings = PAPER) -> SgcResult:
    """SGC of one video from its pairs of frames, read one at a time.

    There is no score where no pair has two regions with a pose: the local terms, 0 by definition, would then make a
    good score of a failure. Progress is told as stage `sgc`, a step per pair.
    """
    results = []
    for pair in geometry.pairs():
        results.append(score_pair(pair, settings))
        reporter.progress("sgc", len(results), max(geometry.pairs_expected, len(results)))
    components = mean_components(result.components for result in results)
    scored = [result for result in results if any(value is not None for value in result.components.values())]
    score, reason = None, ""
    if not scored:
        reason = _why_unscored(results)
    elif max(result.regions for result in scored) < 2:
        reason = "no pair of frames has two regions with a camera pose, so that no divergence of poses can be measured"
    else:
        score = sgc_score(components, settings.scale)
        reason = "" if score is not None else "no component that the calibration gives a weight to has a value"
    return SgcResult(
        estimator=geometry.estimator,
        score=score,
        components=components,
        pairs_scored=len(scored),
        pairs_expected=geometry.pairs_expected,
        component_pairs={name: sum(result.components[name] is not None for result in results) for name in COMPONENTS},
        camera_rotation_deg=_mean([result.camera_rotation_deg for result in results]),
        camera_translation=_mean([result.camera_translation for result in results]),
        pairs=results,
        reason=reason,
        notes=[*geometry.notes, *_notes(scored, components)],
        parameters=_parameters(settings, geometry.depth_unit),
    )


def _notes(scored: list[PairResult], components: Mapping[Component, float | None]) -> list[str]:
    """What a reader of the score has to know."""
    count = len(scored)
    missing = [name for name in COMPONENTS if components[name] is None] if scored else []
    told = [f"the score is without {name}, which no pair of frames has" for name in missing]
    single = sum(result.regions == 1 for result in scored)
    if single:
        told.append(f"{single} of {count} pairs have one region only, whose local variances are 0 by definition")
    turned = sum(result.turned_regions for result in scored)
    if turned:
        affected = sum(result.turned_regions > 0 for result in scored)
        told.append(
            f"{turned} of {sum(result.regions for result in scored)} region poses, in {affected} pairs, are turned by "
            "more than 90° against the camera: PnP found a mirrored solution, which dominates the local rotation and "
            "both translation variances"
        )
    still = sum(result.parallax_px is not None and result.parallax_px < PARALLAX_PX for result in scored)
    if still:
        told.append(
            f"in {still} of {count} pairs the camera's translation moves the tracks by less than {PARALLAX_PX} px: "
            "without parallax any depth fits, and low terms say little"
        )
    return told


def score_pair(pair: PairGeometry, settings: PaperSettings = PAPER) -> PairResult:
    """The components of one pair of frames (SGC, algorithm 1), with the reason for every one that is missing."""
    fault = _fault(pair)
    if fault:
        return _unscored(pair, fault)
    before, after = pair.previous, pair.current
    fixes, ablation = settings.fixes, settings.ablation
    tracks = _usable(pair, settings)
    if len(tracks.current) < settings.minimum_tracks:
        return _unscored(pair, f"only {len(tracks.current)} usable tracks, {settings.minimum_tracks} are needed")
    motion = relative_pose(before.world_to_camera, after.world_to_camera)
    if fixes.drop_repeated_track_pairs and tracks_stand_still(pair, tracks, motion):
        return _unscored(pair, "its tracks stand still while the cameras move")
    static = ~after.moving if ablation.masks else np.ones_like(after.moving)
    regions, found = find_regions(
        ablation.regions,
        after.depth,
        static & (after.depth > MINIMUM_DEPTH) if fixes.cluster_valid_depth_only else static,
        clusters=settings.clusters,
        minimum_size=settings.minimum_region_pixels,
    )
    poses = local_poses(
        tracks,
        before.depth,
        before.intrinsics,
        after.intrinsics,
        regions,
        replace(settings.pnp, reject_mirrored=fixes.reject_mirrored_poses),
        motion if fixes.pnp_from_global_pose else None,
    )
    enough = len(poses) > 1 or not fixes.one_region_undefined
    local = local_consistency(poses) if enough else (math.nan, math.nan)
    against = (math.nan, math.nan, math.nan)
    if ablation.global_pose:
        depth_error = depth_consistency(
            before.depth, after.depth, static, before.intrinsics, after.intrinsics, motion, nearest=fixes.zbuffer_near
        )
        against = (*global_consistency(poses, motion, keep_small=fixes.trim_keeps_small_samples), depth_error)
    reasons = []
    if not poses:
        reasons.append(f"none of {found} depth regions gave a camera pose")
    elif ablation.global_pose and math.isnan(against[0]):
        reasons.append(f"trimming leaves nothing of {len(poses)} regions' rotations")
    if not enough and poses:
        reasons.append("one region alone has no divergence")
    if not ablation.global_pose:
        reasons.append("the global pose is left out")
    elif math.isnan(against[2]):
        reasons.append("no static pixel has a depth in both frames")
    return PairResult(
        frame=pair.frame,
        regions=len(poses),
        turned_regions=sum(angular_distance(pose.rotation, motion.rotation) > TURNED_DEG for pose in poses),
        camera_rotation_deg=angular_distance(motion.rotation, np.eye(3)),
        camera_translation=float(np.linalg.norm(motion.translation)),
        parallax_px=_parallax(pair, tracks, motion),
        components={
            name: value if math.isfinite(value) else None
            for name, value in zip(COMPONENTS, (*local, *against), strict=True)
        },
        reason="; ".join(reasons),
    )


def _usable(pair: PairGeometry, settings: PaperSettings) -> Tracks:
    """The tracks that are visible in the current frame, confident enough, and at finite places."""
    tracks, fixes = pair.tracks, settings.fixes
    # not so for NaN either
    finite = (np.abs(tracks.previous) < FARTHEST_PX).all(axis=1) & (np.abs(tracks.current) < FARTHEST_PX).all(axis=1)
    visible = tracks.visibility >= VISIBLE if fixes.require_visible_tracks else tracks.visibility > 0
    kept = finite & visible & (tracks.confidence >= settings.minimum_confidence)
    if fixes.drop_tracks_outside:
        height, width = pair.current.depth.shape
        for points in (tracks.previous, tracks.current):
            kept &= ((points >= -0.5) & (points < (width - 0.5, height - 0.5))).all(axis=1)
    return Tracks(tracks.previous[kept], tracks.current[kept], tracks.visibility[kept], tracks.confidence[kept])


def _parallax(pair: PairGeometry, tracks: Tracks, motion: Pose) -> float | None:
    """Median displacement in pixels that the camera's translation accounts for; None where no track has a depth."""
    points, _ = back_project(tracks.previous.astype(np.float32), pair.previous.depth, pair.previous.intrinsics)
    turned = points @ motion.rotation.T
    moved = turned + motion.translation
    seen = (turned[:, 2] > MINIMUM_DEPTH) & (moved[:, 2] > MINIMUM_DEPTH)
    if not seen.any():
        return None
    focal = pair.current.intrinsics[[0, 1], [0, 1]]
    difference = moved[seen, :2] / moved[seen, 2:] - turned[seen, :2] / turned[seen, 2:]
    return float(np.median(np.linalg.norm(difference * focal, axis=1)))


def _fault(pair: PairGeometry) -> str:
    """What makes a pair's geometry unusable, or nothing."""
    before, after = pair.previous, pair.current
    if not (before.depth.shape == after.depth.shape == after.moving.shape):
        return "depths and motion mask differ in size"
    tracks = pair.tracks
    lengths = {len(array) for array in (tracks.previous, tracks.current, tracks.visibility, tracks.confidence)}
    if len(lengths) > 1:
        return "its tracks differ in number between the two frames"
    if not all(np.isfinite(frame.depth).all() for frame in (before, after)):
        return "its depth holds values that are not finite"
    for name, arrays in (
        ("intrinsics", (before.intrinsics, after.intrinsics)),
        ("camera", (before.world_to_camera, after.world_to_camera)),
    ):
        if not all(map(within_measure, arrays)):
            return f"its {name} holds values that are not finite, or beyond all measure"
    if any(abs(np.linalg.det(frame.intrinsics)) < 1e-12 for frame in (before, after)):
        return "its intrinsics are of no camera"
    return ""


def _unscored(pair: PairGeometry, reason: str) -> PairResult:
    return PairResult(frame=pair.frame, regions=0, components=dict.fromkeys(COMPONENTS), reason=reason)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None and math.isfinite(value)]
    return math.fsum(known) / len(known) if known else None


def _why_unscored(results: Sequence[PairResult]) -> str:
    if not results:
        return "there are no two consecutive frames within one shot"
    reason, count = Counter(result.reason for result in results).most_common(1)[0]
    return f"none of {len(results)} pairs of frames could be measured; in {count}: {reason}"


def _parameters(settings: PaperSettings, depth_unit: str) -> dict[str, float | int | str | bool]:
    single = ("clusters", "minimum_region_pixels", "minimum_confidence", "minimum_tracks")
    return {
        **{name: getattr(settings, name) for name in single},
        **{f"pnp_{name}": value for name, value in asdict(settings.pnp).items() if name != "reject_mirrored"},
        "fixes": ", ".join(settings.fixes.names()) or "none",
        "regions": settings.ablation.regions,
        "masks": settings.ablation.masks,
        "global_pose": settings.ablation.global_pose,
        "opencv": cv2.__version__,
        "constants": settings.scale_name,
        "depth_unit": depth_unit,
        "comparable_with": "results of the same estimator only: the constants were fitted to another one's depth unit",
    }
