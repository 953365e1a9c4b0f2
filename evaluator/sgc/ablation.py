# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be changed in the paper's mode: the known defects of the authors' code, and the paper's own ablations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Final, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from ..protocol.errors import BadInputError
from .clustering import depth_regions
from .poses import MINIMUM_DEPTH, Pose, back_project
from .records import PairGeometry, Tracks


@dataclass(frozen=True)
class Fixes:
    """A switch for each known defect of the authors' code; with all of them off it is followed as it is."""

    fix_intrinsics_scale: bool = False
    disparity_to_depth: bool = False
    zbuffer_near: bool = False
    trim_keeps_small_samples: bool = False
    one_region_undefined: bool = False
    drop_repeated_track_pairs: bool = False
    require_visible_tracks: bool = False
    drop_tracks_outside: bool = False
    cluster_valid_depth_only: bool = False
    pnp_from_global_pose: bool = False
    reject_mirrored_poses: bool = False

    def names(self) -> list[str]:
        """The switches that are on."""
        return [field.name for field in fields(self) if getattr(self, field.name)]

    @classmethod
    def from_names(cls, names: Iterable[str]) -> Fixes:
        """These switches on; `all` stands for every one. Raises BadInputError for a name that there is not."""
        chosen = {name for name in names if name}
        if "all" in chosen:
            chosen = set(FIXES)
        unknown = sorted(chosen - set(FIXES))
        if unknown:
            raise BadInputError(f"{unknown[0]!r} is no fix; they are: {', '.join(FIXES)}, or all")
        return replace(cls(), **dict.fromkeys(chosen, True))


FIXES: Final[Mapping[str, str]] = {
    "fix_intrinsics_scale": "intrinsics of the estimator's picture are scaled to the grid of the depths (precomputed)",
    "disparity_to_depth": "relative inverse depth is inverted instead of taken for depth (precomputed)",
    "zbuffer_near": "where several pixels land on one when depth is carried along, the nearest stays",
    "trim_keeps_small_samples": "where trimming the global rotation term would leave nothing, nothing is trimmed",
    "one_region_undefined": "with one region alone the local terms do not exist, instead of being 0",
    "drop_repeated_track_pairs": "pairs whose tracks stand still while the cameras move are left out",
    "require_visible_tracks": "a track counts as visible from 0.5 on, instead of above 0",
    "drop_tracks_outside": "tracks that left the picture are dropped, instead of being moved to its border",
    "cluster_valid_depth_only": "pixels without depth take no part in the clustering",
    "pnp_from_global_pose": "the refinement of a region's pose starts from the global pose",
    "reject_mirrored_poses": "a pose that turns by more than 90° from one frame to the next is rejected",
}
"""What each switch does."""

RegionKind = Literal["depth", "grid", "depth_spatial"]
REGION_KINDS: Final[tuple[RegionKind, ...]] = ("depth", "grid", "depth_spatial")


@dataclass(frozen=True)
class Ablation:
    """What the paper takes away (section 4.5, tables 2 and 3); the defaults take nothing away."""

    masks: bool = True
    """Without, every pixel counts as static."""
    regions: RegionKind = "depth"
    """depth: clusters of depth; grid: equal cells of the picture; depth_spatial: connected parts of the clusters."""
    global_pose: bool = True
    """Without, the two global terms and the depth term, which carries depth along by the global pose, do not exist."""


VISIBLE: Final = 0.5
_MOVED_PX, _STILL_SHARE = 0.5, 0.25


def find_regions(
    kind: RegionKind, depth: NDArray[np.float32], static: NDArray[np.bool_], *, clusters: int, minimum_size: int
) -> tuple[NDArray[np.int32], int]:
    """Number the regions of a frame's `static` pixels: (H, W) int32 with 0 = none, and how many there are.

    A grid has `clusters` cells, as square as their number allows. Connected parts are those of eight neighbours.
    Regions below `minimum_size` pixels are dropped.
    """
    if kind == "grid":
        return _numbered(_cells(depth.shape, clusters), static, minimum_size)
    regions, count = depth_regions(depth, static, clusters=clusters, minimum_size=minimum_size)
    if kind == "depth":
        return regions, count
    parts = np.zeros(depth.shape, dtype=np.int32)
    for number in range(1, count + 1):
        found, labels = cv2.connectedComponents((regions == number).astype(np.uint8), connectivity=8)
        parts = np.where(labels > 0, labels + parts.max(), parts).astype(np.int32) if found > 1 else parts
    return _numbered(parts, parts > 0, minimum_size)


def _cells(shape: tuple[int, ...], count: int) -> NDArray[np.int32]:
    """Cell numbers (H, W) from 1 of a grid of `count` cells."""
    height, width = shape
    splits = [(rows, count // rows) for rows in range(1, count + 1) if count % rows == 0]
    rows, columns = min(splits, key=lambda split: abs(math.log((height / split[0]) / (width / split[1]))))
    row = np.arange(height) * rows // height
    column = np.arange(width) * columns // width
    return (row[:, None] * columns + column + 1).astype(np.int32)


def _numbered(labels: NDArray[np.int32], static: NDArray[np.bool_], minimum_size: int) -> tuple[NDArray[np.int32], int]:
    """The labels (from 1) of static pixels, without small ones, numbered anew in their order."""
    labels = np.where(static, labels, 0)
    kept = np.bincount(labels.ravel()) >= minimum_size
    kept[0] = False
    numbers = np.where(kept, np.cumsum(kept), 0).astype(np.int32)
    return numbers[labels], int(kept.sum())


def tracks_stand_still(pair: PairGeometry, tracks: Tracks, motion: Pose) -> bool:
    """Whether the usable tracks stand still where depth and cameras say that they move.

    So it is where a file of tracks holds the previous frame's points in place of the current one's, which the authors'
    tracker does at every tenth frame: the median track should move by more than half a pixel, and moves by less than a
    quarter of that.
    """
    points, valid = back_project(tracks.previous.astype(np.float32), pair.previous.depth, pair.previous.intrinsics)
    moved = points @ motion.rotation.T + motion.translation
    seen = moved[:, 2] > MINIMUM_DEPTH
    if not seen.any():
        return False
    projected = moved[seen] @ pair.current.intrinsics.T
    start = tracks.previous[valid][seen]
    expected = float(np.median(np.linalg.norm(projected[:, :2] / projected[:, 2:] - start, axis=1)))
    found = float(np.median(np.linalg.norm(tracks.current - tracks.previous, axis=1)))
    return expected > _MOVED_PX and found < _STILL_SHARE * expected
