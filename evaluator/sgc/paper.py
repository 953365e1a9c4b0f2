# SPDX-License-Identifier: GPL-3.0-or-later
"""SGC in the paper's mode: what the authors' code computes (github.com/tj12323/SGC), on any estimator's geometry.

Where code and paper differ the code is followed, since the published constants come from it; docs/sgc.md lists where.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ..protocol.messages import Reporter
from .aggregate import mean_components, sgc_score
from .clustering import depth_regions
from .components import angular_distance, depth_consistency, global_consistency, local_consistency
from .poses import PnpSettings, local_poses, relative_pose
from .records import COMPONENTS, PairGeometry, PairResult, SgcResult, Tracks


@dataclass(frozen=True)
class PaperSettings:
    """The published parameters (SGC, table 3 of appendix C.3, and the authors' run_sgc.sh)."""

    clusters: int = 10
    minimum_region_pixels: int = 200
    minimum_confidence: float = 0.5
    minimum_tracks: int = 4
    pnp: PnpSettings = field(default_factory=PnpSettings)


PAPER = PaperSettings()
TURNED_DEG = 90.0
"""No camera turns so far from one frame to the next, no region against it: such a pose is told beside the score."""


def score_pairs(
    pairs: Iterable[PairGeometry],
    *,
    expected: int,
    estimator: str,
    reporter: Reporter,
    depth_unit: str = "the estimator's own",
    notes: Sequence[str] = (),
    settings: PaperSettings = PAPER,
) -> SgcResult:
    """SGC of one video from its pairs of frames, read one at a time; no pair may cross a cut.

    `expected` is how many pairs the video has, `depth_unit` what a depth of 1 means, and `notes` what has to be told
    with the score. Progress is told as stage `sgc`, a step per pair.
    """
    results = []
    for pair in pairs:
        results.append(score_pair(pair, settings))
        reporter.progress("sgc", len(results), max(expected, len(results)))
    components = mean_components(result.components for result in results)
    scored = [result for result in results if any(value is not None for value in result.components.values())]
    missing = [name for name in COMPONENTS if components[name] is None] if scored else []
    told = [f"the score is without {name}, which no pair of frames has" for name in missing]
    single = sum(result.regions == 1 for result in scored)
    if single:
        told.append(f"{single} of {len(scored)} pairs have one region only, whose local variances are 0 by definition")
    turned = sum(result.turned_regions for result in scored)
    if turned:
        affected = sum(result.turned_regions > 0 for result in scored)
        told.append(
            f"{turned} of {sum(result.regions for result in scored)} region poses, in {affected} pairs, are turned by "
            "more than 90° against the camera: PnP found a mirrored solution, which dominates the local rotation and "
            "both translation variances"
        )
    return SgcResult(
        estimator=estimator,
        score=sgc_score(components),
        components=components,
        pairs_scored=len(scored),
        pairs_expected=expected,
        component_pairs={name: sum(result.components[name] is not None for result in results) for name in COMPONENTS},
        pairs=results,
        reason="" if scored else _why_unscored(results),
        notes=[*notes, *told],
        parameters=_parameters(settings, depth_unit),
    )


def score_pair(pair: PairGeometry, settings: PaperSettings = PAPER) -> PairResult:
    """The components of one pair of frames (SGC, algorithm 1), with the reason for every one that is missing."""
    fault = _fault(pair)
    if fault:
        return _unscored(pair, fault)
    tracks = _usable(pair.tracks, settings.minimum_confidence)
    if len(tracks.current) < settings.minimum_tracks:
        return _unscored(pair, f"only {len(tracks.current)} usable tracks, {settings.minimum_tracks} are needed")
    static = ~pair.moving
    regions, found = depth_regions(
        pair.depth, static, clusters=settings.clusters, minimum_size=settings.minimum_region_pixels
    )
    poses = local_poses(tracks, pair.previous_depth, pair.previous_intrinsics, pair.intrinsics, regions, settings.pnp)
    motion = relative_pose(pair.previous_world_to_camera, pair.world_to_camera)
    local_rotation, local_translation = local_consistency(poses)
    global_rotation, global_translation = global_consistency(poses, motion)
    depth_error = depth_consistency(
        pair.previous_depth, pair.depth, static, pair.previous_intrinsics, pair.intrinsics, motion
    )
    reasons = []
    if not poses:
        reasons.append(f"none of {found} depth regions gave a camera pose")
    elif math.isnan(global_rotation):
        reasons.append(f"trimming leaves nothing of {len(poses)} regions' rotations")
    if math.isnan(depth_error):
        reasons.append("no static pixel has a depth in both frames")
    values = (local_rotation, local_translation, global_rotation, global_translation, depth_error)
    return PairResult(
        frame=pair.frame,
        regions=len(poses),
        turned_regions=sum(angular_distance(pose.rotation, motion.rotation) > TURNED_DEG for pose in poses),
        components={
            name: value if math.isfinite(value) else None for name, value in zip(COMPONENTS, values, strict=True)
        },
        reason="; ".join(reasons),
    )


def _usable(tracks: Tracks, minimum_confidence: float) -> Tracks:
    """The tracks that are visible in the current frame, confident enough, and at finite places."""
    finite = np.isfinite(tracks.previous).all(axis=1) & np.isfinite(tracks.current).all(axis=1)
    kept = finite & (tracks.visibility > 0) & (tracks.confidence >= minimum_confidence)
    return Tracks(tracks.previous[kept], tracks.current[kept], tracks.visibility[kept], tracks.confidence[kept])


def _fault(pair: PairGeometry) -> str:
    """What makes a pair's geometry unusable, or nothing."""
    if not (pair.previous_depth.shape == pair.depth.shape == pair.moving.shape):
        return "depths and motion mask differ in size"
    named: dict[str, tuple[NDArray[Any], NDArray[Any]]] = {
        "depth": (pair.previous_depth, pair.depth),
        "intrinsics": (pair.previous_intrinsics, pair.intrinsics),
        "camera": (pair.previous_world_to_camera, pair.world_to_camera),
    }
    for name, arrays in named.items():
        if not all(np.isfinite(array).all() for array in arrays):
            return f"its {name} holds values that are not finite"
    return ""


def _unscored(pair: PairGeometry, reason: str) -> PairResult:
    return PairResult(frame=pair.frame, regions=0, components=dict.fromkeys(COMPONENTS), reason=reason)


def _why_unscored(results: Sequence[PairResult]) -> str:
    if not results:
        return "there are no two consecutive frames within one shot"
    reason, count = Counter(result.reason for result in results).most_common(1)[0]
    return f"none of {len(results)} pairs of frames could be measured; in {count}: {reason}"


def _parameters(settings: PaperSettings, depth_unit: str) -> dict[str, float | int | str | bool]:
    return {
        **{name: value for name, value in asdict(settings).items() if name != "pnp"},
        **{f"pnp_{name}": value for name, value in asdict(settings.pnp).items()},
        "opencv": cv2.__version__,
        "constants": "published: statistics of 13 data sets measured with VGGT and Video Depth Anything",
        "depth_unit": depth_unit,
        "comparable_with": "results of the same estimator only: the constants were fitted to another one's depth unit",
    }
