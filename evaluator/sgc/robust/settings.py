# SPDX-License-Identifier: GPL-3.0-or-later
"""The robust mode's settings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RobustSettings:
    """Lengths in pixels are for a picture whose diagonal has 1000 pixels, and grow with it."""

    minimum_confidence: float = 0.5
    """Of a track."""
    minimum_tracks: int = 30
    """Of a region, and of a pair."""
    bands: int = 10
    """Depth bands of a frame, by k-means of the logarithm of the tracks' depths."""
    rows: int = 3
    columns: int = 4
    """Cells of the picture into which a band is divided where enough tracks lie in them."""
    iterations: int = 6
    """Gauss–Newton steps of the regions' poses."""
    least_noise_px: float = 0.1
    """The tracks' noise is taken to be at least this, so that exact input does not make the prior vanish."""
    prior_rotation_deg: float = 2.0
    prior_translation: float = 0.1
    """Standard deviations of a region's pose about the camera's; the second in median static depths."""
    minimum_in_front: float = 0.9
    """Share of a region's points that its pose has to leave in front of the camera."""
    cap_px: float = 20.0
    """No point diverges by more: lost tracks shall not decide a mean."""
    explained_px: float = 1.0
    """A track that misses by this much counts as half unexplained: share = e² / (e² + explained²)."""
    minimum_parallax_px: float = 0.25
    """Upper quartile of the parallax from which on depth and translation count as observable."""
    maximum_depth_sigma: float = 0.1
    """A depth whose own standard deviation is a larger share of it is not used where it matters."""
    occlusion: float = 0.03
    """A point is hidden where another one lands on its pixel that is nearer by this share."""
    edge: float = 0.1
    """Where depth differs by this share between neighbours there is an edge, and no depth in between."""
    window: int = 8
    """Pairs, about, over which a focal length is estimated."""
    minimum_observable: float = 0.1
    """Share of the expected pairs that has to have parallax for a score."""
    bootstrap: int = 1000
    seed: int = 0


ROBUST = RobustSettings()
