# SPDX-License-Identifier: GPL-3.0-or-later
"""The constants of the classical estimator; pixels are those of the flow's grid."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """What decides the estimator's values; every result names them."""

    working_side: int = 960
    """Longest side of the grid that is handed out; a larger video is averaged down to it."""
    flow_side: int = 512
    """Above this longest side flow is computed on half the working grid: DIS gains nothing from the finest level."""
    offsets: tuple[int, ...] = (1, 2, 4, 8)
    """Distances in frames over which flow is computed, both ways."""
    window: int = 24
    """Frames that one bundle adjustment moves."""
    overlap: int = 8
    """Frames before them that hold the gauge; the largest offset."""
    cell: int = 10
    """One sample a cell of this side, at its best corner."""
    texture: float = 1e-4
    """Least eigenvalue of the structure tensor (OpenCV's scale) of a sample."""
    consistency: float = 0.5
    """Largest forward-backward distance of a flow that is used."""
    least_samples: int = 60
    """A pair of frames with fewer usable samples is not connected."""
    least_motion: float = 0.1
    """Median flow over the largest offset below which the camera counts as still."""
    least_parallax: float = 0.3
    """Median distance from what a rotation explains, over the largest offset, below which there is no parallax."""
    key_parallax: float = 0.004
    """Parallax of two frames that a first pose is estimated from, over the picture's longer side."""
    rigid_share: float = 0.35
    """Of the samples of a pair, that one rigid motion has to explain: else there is no depth, or it is said."""
    keeps_loose: bool = False
    """Whether there is a depth all the same where no rigid motion explains enough: how much it leaves can be asked."""
    determined_share: float = 0.4
    """Of the samples, that need an inverse depth other than 0; with fewer there is no depth at all."""
    moving_residual: float = 0.5
    """Pixels that what moves by itself has to miss the rigid world by."""
    focal_segments: int = 3
    """Windows of a long shot that its focal length is measured in."""
    moving_area: float = 0.002
    """Share of the picture below which an independent motion is noise."""


DEFAULT = Settings()
