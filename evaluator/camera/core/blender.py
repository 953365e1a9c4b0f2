# SPDX-License-Identifier: GPL-3.0-or-later
"""A pinhole camera as Blender writes it: lens, sensor, shift, and camera-to-world with y up and -z forward.

The exact inverse of addon/render/camera.py. Source: Blender's BKE_camera_params_compute_viewplane: the sensor spans
the side that the fit names (the longer one for AUTO, then by its width), and shifts are in parts of that side. Pixels
are square: a reference's timeline makes them so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from ...protocol.errors import BadInputError
from .pinhole import Array, Pinhole, check_positive, check_size

SensorFit = Literal["AUTO", "HORIZONTAL", "VERTICAL"]
FITS: Final = ("AUTO", "HORIZONTAL", "VERTICAL")
OPENCV_TO_BLENDER: Final = np.diag([1.0, -1.0, -1.0, 1.0])
SHORTEST_LENS: Final = 1.0
"""In mm; Blender takes no shorter one."""
LARGEST_SHIFT: Final = 10.0
"""Blender takes no larger one."""


@dataclass(frozen=True)
class Sensor:
    """A camera's sensor in Blender's words."""

    fit: SensorFit = "AUTO"
    width: float = 36.0
    """In mm."""
    height: float = 24.0
    """In mm; counts for the fit VERTICAL alone."""

    def __post_init__(self) -> None:
        if self.fit not in FITS:
            raise BadInputError(f"sensor fit {self.fit!r}: has to be one of {', '.join(FITS)}")
        check_positive("sensor width", self.width)
        check_positive("sensor height", self.height)


@dataclass(frozen=True, eq=False)
class BlenderCamera:
    """What to set on a camera object."""

    lens: float
    """Focal length in mm."""
    shift_x: float
    shift_y: float
    sensor: Sensor
    matrix_world: Array
    """(4, 4) camera to world."""


def spans(size: tuple[int, int], sensor: Sensor) -> tuple[float, float]:
    """What the sensor spans: (pixels, mm)."""
    width, height = size
    across = width >= height if sensor.fit == "AUTO" else sensor.fit == "HORIZONTAL"
    return float(width if across else height), sensor.height if sensor.fit == "VERTICAL" else sensor.width


def lens_of(focal: float, size: tuple[int, int], sensor: Sensor) -> float:
    """The lens in mm of a focal length in pixels."""
    pixels, length = spans(size, sensor)
    return focal * length / pixels


def focal_of(lens: float, size: tuple[int, int], sensor: Sensor) -> float:
    """The focal length in pixels of a lens in mm."""
    check_size(size)
    pixels, length = spans(size, sensor)
    return check_positive("lens", lens) * pixels / length


def to_blender(camera: Pinhole, sensor: Sensor) -> BlenderCamera:
    """A camera in Blender's words. Raises BadInputError where Blender takes no such lens or shift."""
    width, height = camera.size
    pixels, _ = spans(camera.size, sensor)
    lens = lens_of(camera.focal, camera.size, sensor)
    if lens < SHORTEST_LENS:
        raise BadInputError(
            f"focal length {camera.focal:.4g} px is a lens of {lens:.3g} mm on this sensor, and Blender takes none "
            f"below {SHORTEST_LENS:g} mm; give a larger sensor"
        )
    shift_x = ((width - 1) / 2 - camera.principal[0]) / pixels
    shift_y = (camera.principal[1] - (height - 1) / 2) / pixels
    if max(abs(shift_x), abs(shift_y)) > LARGEST_SHIFT:
        raise BadInputError(
            f"the principal point lies {max(abs(shift_x), abs(shift_y)):.3g} pictures off the middle, and Blender "
            f"shifts by {LARGEST_SHIFT:g} at most"
        )
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = camera.rotation.T, camera.centre
    return BlenderCamera(lens, shift_x, shift_y, sensor, pose @ OPENCV_TO_BLENDER)


def from_blender(camera: BlenderCamera, size: tuple[int, int]) -> Pinhole:
    """The pinhole that Blender renders a picture of `size` (width, height) with."""
    width, height = size
    pixels, _ = spans(size, camera.sensor)
    pose = camera.matrix_world @ OPENCV_TO_BLENDER
    return Pinhole(
        size,
        focal_of(camera.lens, size, camera.sensor),
        ((width - 1) / 2 - camera.shift_x * pixels, (height - 1) / 2 + camera.shift_y * pixels),
        pose[:3, :3].T.copy(),
        pose[:3, 3].copy(),
    )


def resized(camera: Pinhole, size: tuple[int, int]) -> Pinhole:
    """The camera for the same picture at another `size` of the same shape, its focal length by the widths' ratio."""
    scale = size[0] / camera.size[0]
    upright = size[1] / camera.size[1]
    x, y = camera.principal
    return replace(
        camera, size=size, focal=camera.focal * scale, principal=((x + 0.5) * scale - 0.5, (y + 0.5) * upright - 0.5)
    )
