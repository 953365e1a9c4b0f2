# SPDX-License-Identifier: GPL-3.0-or-later
"""The camera that Blender renders with, as the field writes it: intrinsics and world-to-camera with OpenCV axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...evaluator.protocol.errors import BadInputError

# Blender's camera looks along -z with y up; OpenCV's along +z with y down
BLENDER_TO_OPENCV = np.diag([1.0, -1.0, -1.0, 1.0])


def check_pinhole(camera: Any) -> None:
    """Raise BadInputError where the camera object has no intrinsic matrix."""
    if camera.data.type != "PERSP":
        raise BadInputError(
            f"camera {camera.name!r} is of type {camera.data.type}; passes need a perspective one: render without them"
        )


def intrinsics(camera: Any, depsgraph: Any, size: tuple[int, int]) -> NDArray[np.float64]:
    """Intrinsic matrix (3, 3) of a camera object for a picture of `size` (width, height) with square pixels.

    For pixel coordinates in which the centre of the top-left pixel is (0, 0). Shift and sensor fit are in it: it comes
    from Blender's own projection, x_ndc = (P00 X + P02 Z) / -Z and y_ndc = (P11 Y + P12 Z) / -Z.
    """
    width, height = size
    projection = np.array(camera.calc_matrix_camera(depsgraph, x=width, y=height, scale_x=1.0, scale_y=1.0))
    return np.array(
        [
            [projection[0, 0] * width / 2, 0.0, (1 - projection[0, 2]) * width / 2 - 0.5],
            [0.0, projection[1, 1] * height / 2, (1 + projection[1, 2]) * height / 2 - 0.5],
            [0.0, 0.0, 1.0],
        ]
    )


def world_to_camera(camera: Any) -> NDArray[np.float64]:
    """World-to-camera (4, 4), x_cam = R x_world + t, of an evaluated camera object without its scale, as it renders."""
    return BLENDER_TO_OPENCV @ np.linalg.inv(np.array(camera.matrix_world.normalized(), dtype=np.float64))
