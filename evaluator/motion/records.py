# SPDX-License-Identifier: GPL-3.0-or-later
"""What is measured of a video's motion. A figure that the pictures do not tell is None, with a reason beside it."""

from __future__ import annotations

from typing import Literal

from ..records import Rate, Record
from ..shots.records import Fade

Box = tuple[float, float, float, float]
"""Left, top, width and height as shares of the picture."""
Three = tuple[float, float, float]


class CameraMotion(Record):
    """How the camera moves from the first to the last measured frame of a shot.

    Lengths are in scene depths: 1 is the median depth of the points that are followed in the shot's first frames. Turns
    are those of the camera, in its first frame's axes.
    """

    pan_deg: float | None
    """To the right."""
    tilt_deg: float | None
    """Up."""
    roll_deg: float | None
    """Clockwise."""
    move: Three | None
    """To the right, up and forward, from where it starts to where it ends."""
    path_length: float | None
    """Of the whole way."""
    orbit_deg: float | None
    """Angle of the way around a point that stays in the middle of the picture, to the right; None where it is none."""
    orbit_distance: float | None
    zoom_factor: float | None
    """Focal length at the end over that at the start."""
    parallax: bool | None
    """Whether near and far things shift against each other, which alone tells a move from a turn."""
    shift_percent: tuple[float, float] | None
    """How far the picture's middle is carried in all, to the right and down, in % of the picture's width."""
    shake_percent: float | None
    """Root mean square of the picture's place about its smooth way, in % of the width."""
    reason: str = ""
    """Why what is None is not known."""


class FocalLength(Record):
    """A shot's focal length at its first frame; None where the motion does not tell it."""

    px: float | None
    """For the picture as shown."""
    mm: float | None
    """On a sensor of 36 mm with Blender's fit AUTO."""
    sigma_px: float | None
    sigma_mm: float | None
    assumed_mm: float | None = None
    """What turns and lenses are given for where it is not told."""
    reason: str = ""


class MotionKey(Record):
    """The camera at one frame, for a Blender camera; between keys it goes straight on."""

    frame: int
    location: Three | None
    """In scene depths, the first frame's camera at the origin; None where the camera only turns."""
    rotation_deg: Three
    """Euler angles XYZ; (90, 0, 0) is level, looking along +y, as the first frame's camera does."""
    lens_mm: float


class RegionBox(Record):
    """Where a region is in one frame."""

    frame: int
    box: Box


class Region(Record):
    """A part of the picture that moves by itself."""

    first: int
    last: int
    """Frames in which it was seen to move first and last."""
    boxes: list[RegionBox]
    """At its first, middle and last frame."""
    share_percent: float
    """Of the picture that moves there, on average."""
    speed_percent: float
    """On the picture, in % of its width per second."""
    direction: str
    """On the picture, in words; `back and forth` where it ends up near where it began."""
    against_background_percent: float | None
    """Its speed against what is seen around it, in % of the width per second."""


class ShotMotion(Record):
    """One shot."""

    first: int
    last: int
    seconds: float
    kind: str
    """What the camera does, in words."""
    camera: CameraMotion
    focal: FocalLength
    keys: list[MotionKey]
    """At most 12; none where the camera is not known."""
    regions: list[Region]
    """The largest ones, at most 12."""
    measured_frames: int
    stride: int
    """Every so many frames one was measured."""
    notes: list[str]


class Motion(Record):
    """The motion in a video. Frames count from 0, both ends are included."""

    format: Literal["matchcut-motion/1"] = "matchcut-motion/1"
    video: str
    sha256: str
    size: tuple[int, int]
    """(width, height) as shown."""
    rate: Rate
    frames: int
    cuts: list[int]
    """First frame of every shot but the first."""
    fades: list[Fade]
    detector: str
    shots: list[ShotMotion]
    """Those that were asked for."""
    notes: list[str]
