# SPDX-License-Identifier: GPL-3.0-or-later
"""What a camera is fitted to, and what comes of it, as files.

Pixel coordinates in which the centre of the top-left pixel is (0, 0); OpenCV axes in `world_to_camera`, Blender's in
`matrix_world` and in keyframes.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..records import Record

Pixel = tuple[float, float]
Place = tuple[float, float, float]
Matrix3 = tuple[Place, Place, Place]
Row4 = tuple[float, float, float, float]
Matrix4 = tuple[Row4, Row4, Row4, Row4]
Side = Annotated[int, Field(ge=1, le=65536)]
Positive = Annotated[float, Field(gt=0)]
SetAxis = Literal["x", "+x", "-x", "y", "+y", "-y", "z", "+z", "-z"]


class SensorRecord(Record):
    """A camera's sensor in Blender's words, in mm."""

    fit: Literal["AUTO", "HORIZONTAL", "VERTICAL"] = "AUTO"
    width: Positive = 36.0
    height: Positive = 24.0


class LinesRecord(Record):
    """Lines of the picture along one axis of the world; a sign says how they recede from the viewer."""

    axis: SetAxis
    segments: list[tuple[float, float, float, float]] = Field(min_length=2, max_length=10_000)


class LengthRecord(Record):
    """A known length that starts on the ground (z = 0), along an axis or to another point of the ground."""

    start: Pixel
    end: Pixel
    along: Literal["x", "y", "z", "ground"]
    length: Positive


class PointRecord(Record):
    """A point of the world and where it is seen."""

    world: Place
    pixel: Pixel
    name: str = Field(default="", max_length=200)


class FrameRecord(Record):
    """The points that are seen in one frame."""

    frame: int = Field(ge=0)
    points: list[PointRecord] = Field(max_length=10_000)


class ShapeRecord(Record):
    """A thing that stands on the ground at a pixel: `size` is (width, depth, height); a person takes the height."""

    kind: Literal["box", "person"]
    pixel: Pixel
    size: tuple[Positive, Positive, Positive] = (1.0, 1.0, 1.75)
    heading_deg: float = 0.0


class CameraRequest(Record):
    """One of `lines` and `horizon`, `points`, or `frames`, and what else is known."""

    format: Literal["matchcut-camera-request/1"] = "matchcut-camera-request/1"
    size: tuple[Side, Side]
    """(width, height) of the picture as shown."""
    lines: list[LinesRecord] = Field(default=[], max_length=3)
    horizon: tuple[float, float, float, float] | None = None
    """x, y of two points of it."""
    origin: Pixel | None = None
    """Where the world's origin is seen (with lines)."""
    length: LengthRecord | None = None
    points: list[PointRecord] = Field(default=[], max_length=10_000)
    frames: list[FrameRecord] = Field(default=[], max_length=100_000)
    smooth_px: Positive | None = None
    """With frames: by how many pixels a frame the motion may change from one frame to the next (1 σ)."""
    focal_px: Positive | None = None
    lens_mm: Positive | None = None
    """The same on the sensor."""
    principal: Pixel | Literal["free"] | None = None
    """None: the picture's middle."""
    sigma_px: Positive = 1.0
    """How well lines and points are picked: one standard deviation of a coordinate."""
    sensor: SensorRecord = SensorRecord()
    shapes: list[ShapeRecord] = Field(default=[], max_length=1000)


class BlenderRecord(Record):
    """What to set on a Blender camera."""

    lens: float
    shift_x: float
    shift_y: float
    sensor_fit: Literal["AUTO", "HORIZONTAL", "VERTICAL"]
    sensor_width: float
    sensor_height: float
    matrix_world: Matrix4
    """Where the position is unknown, its last column is that of the origin."""


class ResidualRecord(Record):
    """What is left over at a point (found − picked) or a line (how far either end lies off), in pixels."""

    name: str
    x: float
    y: float


class CameraRecord(Record):
    """A camera and how well it is known; a standard deviation is null for what was given, or is not known."""

    focal_px: float
    focal_sigma_px: float | None
    field_of_view_deg: tuple[float, float]
    """Across and down the picture."""
    principal: Pixel
    principal_sigma_px: Pixel | None
    rotation: Matrix3
    """World to camera."""
    rotation_sigma_deg: Place | None
    """About the camera's own axes."""
    centre: Place | None
    """Where the camera stands; null where nothing tells it."""
    centre_sigma: Place | None
    world_to_camera: Matrix4 | None
    rms_px: float
    blender: BlenderRecord


class CameraFit(Record):
    """The camera of one picture."""

    format: Literal["matchcut-camera-fit/1"] = "matchcut-camera-fit/1"
    size: tuple[int, int]
    camera: CameraRecord
    others: list[CameraRecord]
    """Cameras that fit as well within 3 σ, best first."""
    residuals: list[ResidualRecord]
    parameters: list[str]
    covariance: list[list[float]]
    """Of `parameters`: rotations in radians, focal length and principal point in pixels, centre in world units."""
    sigma_px: float
    """What it is for: the one asked for, or that of the residuals where it is larger."""
    assumed: list[str]
    shapes: list[list[list[Pixel]]]
    """For every shape its polylines in pixels."""
    notes: list[str]


class KeyframeRecord(Record):
    """A Blender camera at one frame of the reference."""

    frame: int
    location: Place
    rotation_quaternion: Row4
    """w, x, y, z."""
    lens: float
    shift_x: float
    shift_y: float
    rms_px: float | None = None
    location_sigma: Place | None = None
    rotation_sigma_deg: Place | None = None


class ShotRecord(Record):
    """A shot's keyframes; its cameras share one world."""

    first: int
    last: int
    focal_px: float
    """Of its first keyframe."""
    focal_sigma_px: float | None
    keyframes: list[KeyframeRecord]


class SkippedFrame(Record):
    """A frame without a camera."""

    frame: int
    reason: str


class CameraPath(Record):
    """Keyframes of one camera a shot."""

    format: Literal["matchcut-camera-path/1"] = "matchcut-camera-path/1"
    source: str
    """`points`, or the estimator that measured the motion."""
    size: tuple[int, int]
    sensor: SensorRecord
    unit: str
    """What a length of 1 means."""
    shots: list[ShotRecord]
    skipped: list[SkippedFrame] = []
    rms_px: float | None = None
    notes: list[str] = []
