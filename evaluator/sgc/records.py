# SPDX-License-Identifier: GPL-3.0-or-later
"""What SGC needs to know of a video's geometry, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..records import Record

DepthScale = Literal["metric", "shared_with_poses", "affine_inverse"]
"""metric: metres or scene units, in which the cameras are too; shared_with_poses: up to one factor that the cameras
share; affine_inverse: 1 / depth is a·(true inverse depth) + b with one unknown a and b for the video."""


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
class FrameGeometry:
    """One frame's geometry, on the grid of its depth: the centre of the top-left pixel is at (0, 0)."""

    number: int
    """Index of the frame in the video."""
    depth: NDArray[np.float32]
    """(H, W) along the optical axis, 0 = invalid or none."""
    sky: NDArray[np.bool_]
    """(H, W) pixels that nothing was hit by, or that lie too far away to have a depth."""
    moving: NDArray[np.bool_]
    """(H, W) pixels of what moves by itself."""
    intrinsics: NDArray[np.float64]
    """(3, 3) for this grid."""
    world_to_camera: NDArray[np.float64]
    """(4, 4), OpenCV axes (x right, y down, z forward)."""
    depth_sigma: NDArray[np.float32] | None = None
    """(H, W) standard deviation of the depth as a share of it, where the estimator knows one; inf where invalid."""


@dataclass(frozen=True)
class PairGeometry:
    """Two consecutive frames of one shot and the tracks between them."""

    previous: FrameGeometry
    current: FrameGeometry
    tracks: Tracks

    @property
    def frame(self) -> int:
        """Index of the current frame in the video; the previous one is frame − 1."""
        return self.current.number


Shots = tuple[tuple[int, int], ...]
"""First and last frame of every shot, both included, in order."""


@dataclass(frozen=True)
class Geometry:
    """What an estimator knows of a video. Nothing of it is in memory until `pairs` is walked through."""

    estimator: str
    """Name and version of what gave it, with the settings that change its values."""
    scale: DepthScale
    """What the depth's scale is: metres or scene units, unknown but that of the cameras, or inverse up to a line."""
    size: tuple[int, int]
    """(width, height) of the grid of depths, masks and tracks."""
    shots: Shots
    pairs: Callable[[], Iterator[PairGeometry]]
    """The pairs of consecutive frames in order, none across a cut; may be called again, and gives the same again."""
    pairs_expected: int
    depth_unit: str
    """What a depth of 1 means, in words."""
    notes: tuple[str, ...] = ()
    """What a reader of a score has to know of how the geometry was made."""
    images: Callable[[], Iterator[NDArray[np.uint8]]] | None = None
    """RGB pictures (H, W, 3) of all frames of all shots in order, as seen on the grid, where there are any."""
    masks: Literal["given", "residuals"] = "given"
    """Whether `moving` comes from elsewhere (identities, a segmentation), or is what the cameras did not explain."""


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
    camera_rotation_deg: float | None = None
    camera_translation: float | None = None
    """How far the camera turned and moved from frame to frame, by the global pose; in units of the cameras' gauge."""
    parallax_px: float | None = None
    """Median displacement of the tracks that the camera's translation accounts for."""
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
    camera_rotation_deg: float | None = None
    camera_translation: float | None = None
    """Means over the pairs."""
    pairs: list[PairResult]
    reason: str = ""
    notes: list[str] = []
    """What a reader of the score has to know: components that are missing, how the geometry was read."""
    parameters: dict[str, float | int | str | bool]
