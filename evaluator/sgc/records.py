# SPDX-License-Identifier: GPL-3.0-or-later
"""What SGC needs to know of a video's geometry, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..records import Record

DepthScale = Literal["metric", "shared_with_poses", "affine_inverse"]


@dataclass(frozen=True)
class Tracks:
    """Points followed from one frame to the next.

    `previous` and `current` are (n, 2) float64 pixel coordinates (x, y), `visibility` and `confidence` (n,) in [0, 1]
    for the current frame.
    """

    previous: NDArray[np.float64]
    current: NDArray[np.float64]
    visibility: NDArray[np.float64]
    confidence: NDArray[np.float64]


@dataclass(frozen=True)
class PairGeometry:
    """Two consecutive frames of one shot.

    Depths (H, W) float32 along the optical axis, 0 = invalid; `moving` (H, W) bool of the current frame; intrinsics
    (3, 3) for this grid with the centre of the top-left pixel at (0, 0); world-to-camera (4, 4), OpenCV axes.
    """

    frame: int
    """Index of the current frame in the video; the previous one is frame − 1."""
    previous_depth: NDArray[np.float32]
    depth: NDArray[np.float32]
    moving: NDArray[np.bool_]
    previous_intrinsics: NDArray[np.float64]
    intrinsics: NDArray[np.float64]
    previous_world_to_camera: NDArray[np.float64]
    world_to_camera: NDArray[np.float64]
    tracks: Tracks


Component = Literal[
    "average_local_rotation_variance",
    "average_local_translation_variance",
    "average_global_rotation_variance",
    "average_global_translation_variance",
    "average_depth_consistency_error",
]
"""The key names of the authors' code: deg², depth units², deg², depth units², depth units."""
COMPONENTS: tuple[Component, ...] = (
    "average_local_rotation_variance",
    "average_local_translation_variance",
    "average_global_rotation_variance",
    "average_global_translation_variance",
    "average_depth_consistency_error",
)


class PairResult(Record):
    """The components of one pair; None where one could not be computed, with the reason."""

    frame: int
    regions: int
    """Depth regions whose own camera pose was accepted. One alone makes the local variances 0 by definition."""
    turned_regions: int = 0
    """Those of them turned by more than 90° against the camera: mirrored solutions of PnP, no property of the video."""
    components: dict[Component, float | None]
    reason: str = ""


class SgcResult(Record):
    """SGC of one video. Lower is better; `score` is None with a `reason` where nothing could be measured."""

    mode: Literal["paper"] = "paper"
    estimator: str
    """Name and version of what gave depth, poses and tracks."""
    score: float | None
    components: dict[Component, float | None]
    pairs_scored: int
    pairs_expected: int
    component_pairs: dict[Component, int] = {}
    """How many of the scored pairs each component is the mean of."""
    pairs: list[PairResult]
    reason: str = ""
    notes: list[str] = []
    """What a reader of the score has to know: components that are missing, how the geometry was read."""
    parameters: dict[str, float | int | str | bool]
