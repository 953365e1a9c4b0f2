# SPDX-License-Identifier: GPL-3.0-or-later
"""What the robust mode answers."""

from __future__ import annotations

from typing import Final, Literal

from ...records import Record

RobustComponent = Literal["divergence_px", "depth_log_error", "unexplained_share", "invalid_share", "focal_error"]
ROBUST_COMPONENTS: Final[tuple[RobustComponent, ...]] = (
    "divergence_px",
    "depth_log_error",
    "unexplained_share",
    "invalid_share",
    "focal_error",
)
"""Lower is better for all. Pixels of the grid; mean |log(z_warped / z)|; shares of the picture; share of the focal."""

ROBUST_LABELS: Final[dict[RobustComponent, str]] = {
    "divergence_px": "Local motion against the camera's",
    "depth_log_error": "Depth carried into the next frame",
    "unexplained_share": "Motion that no camera explains",
    "invalid_share": "Picture without a valid region",
    "focal_error": "Focal length over sub-windows",
}
ROBUST_UNITS: Final[dict[RobustComponent, str]] = {
    "divergence_px": "px",
    "depth_log_error": "|log ratio|",
    "unexplained_share": "share",
    "invalid_share": "share",
    "focal_error": "share of focal",
}


class RobustPair(Record):
    """One pair of consecutive frames. None stands where something could not be measured; `reason` says why."""

    frame: int
    """Of the current frame; the previous one is frame − 1."""
    divergence_px: float | None = None
    """RMS distance between where the regions' own poses and where the camera's pose put their points."""
    divergence_noise_px: float | None = None
    """What the covariance of the regions' poses alone lets it be."""
    depth_log_error: float | None = None
    """Mean |log(z_warped / z)|, each at most 1, of static surfaces seen in both frames; None without parallax."""
    unexplained_share: float | None = None
    """Share of the motion that the camera does not explain, what a mask from residuals hides included."""
    invalid_share: float = 1.0
    """Share of the static picture, without sky, that lies in no region with a depth and a valid pose."""
    focal_error: float | None = None
    """|log| of the factor on the focal length that the tracks of the pair's sub-window ask for beyond their spread."""
    translation_spread: float | None = None
    """RMS of the regions' translations about the camera's, in median static depths; None without parallax."""
    rotation_spread_deg: float | None = None
    """RMS of the regions' rotations about the camera's, in degrees."""
    observable: bool = False
    """Whether there is parallax: without it any depth and any small translation fit."""
    parallax_px: float | None = None
    """Upper quartile of the motion, by camera and depth, that no rotation explains."""
    residual_px: float | None = None
    """Median distance between the tracks and where the camera's pose puts their points."""
    masked_share: float = 0.0
    """Share of the picture, without sky, that the motion mask removes."""
    tracks: int = 0
    """Static tracks with a depth: the support of every component but the depth term."""
    regions: int = 0
    regions_valid: int = 0
    depth_points: int = 0
    """Support of the depth term."""
    reason: str = ""


class ComponentSummary(Record):
    """One component over the pairs that have it."""

    median: float
    p90: float
    low: float | None
    high: float | None
    """95 % interval of the median, by a bootstrap over blocks of consecutive pairs; None with a single pair."""
    pairs: int


class Gauge(Record):
    """How the depths of one shot were brought into the gauge of its cameras."""

    first: int
    last: int
    scale: float
    """depth in the cameras' gauge = scale × depth; for affine inverse depth 1/(scale / depth + shift)."""
    shift: float = 0.0
    unit: float
    """Median static depth in the cameras' gauge: lengths are told in it."""
    points: int
    """Triangulated points that the fit rests on; 0 where there is no parallax and the depth was taken as it is."""


class RobustResult(Record):
    """SGC of one video in the robust mode. Lower is better; `score` is None with a `reason` where there is none."""

    mode: Literal["robust"] = "robust"
    estimator: str
    """Name and version of what gave depth, poses and tracks."""
    score: float | None
    """In [0, 1): the quadratic mean over the components of 1 − exp(−level / scale)."""
    score_low: float | None = None
    score_high: float | None = None
    """95 % interval of the score, by the same bootstrap."""
    floor: float | None = None
    """What clean renders score with this estimator; None where nobody measured it."""
    excess: float | None = None
    """How far the score is above the floor; 0 below it."""
    floor_source: str = ""
    """Which estimator stack and scenes the floor and the scales come from."""
    components: dict[RobustComponent, ComponentSummary | None]
    pairs_scored: int
    """Pairs with a divergence."""
    pairs_observable: int = 0
    """Pairs with parallax, which alone have a depth term."""
    pairs_expected: int
    pairs: list[RobustPair]
    worst: list[int] = []
    """Frames of the worst pairs, worst first."""
    gauges: list[Gauge] = []
    reason: str = ""
    notes: list[str] = []
    parameters: dict[str, float | int | str | bool]


class NoiseFloor(Record):
    """What an estimator stack measures on clean renders (the zero) and on injected corruptions (the scale)."""

    format: Literal["matchcut-sgc-floor/1"] = "matchcut-sgc-floor/1"
    estimator: str
    """As `Geometry.estimator` tells it."""
    size: tuple[int, int]
    """(width, height) of the grid on which it was measured."""
    zero: dict[RobustComponent, float]
    """Median over the clean scenes of each component's level."""
    scale: dict[RobustComponent, float]
    """Mean rise of each component's level by the injected corruptions at severity 1; at least the general scale."""
    scenes: list[FloorScene]
    parameters: dict[str, float | int | str | bool] = {}


class FloorScene(Record):
    """One scene of a noise floor: the levels of the components, clean and with each corruption at severity 1."""

    scene: str
    pairs: int
    clean: dict[RobustComponent, float | None]
    corrupted: dict[str, dict[RobustComponent, float | None]] = {}


NoiseFloor.model_rebuild()
