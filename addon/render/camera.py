# SPDX-License-Identifier: GPL-3.0-or-later
"""The camera that Blender renders with, as the field writes it: intrinsics and world-to-camera with OpenCV axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...evaluator.protocol.errors import BadInputError

# Blender's camera looks along -z with y up; OpenCV's along +z with y down
BLENDER_TO_OPENCV = np.diag([1.0, -1.0, -1.0, 1.0])


def camera_at(scene: Any, frame: int) -> Any:
    """The camera object that is active at reference frame `frame`: that of the markers, else the scene's own.

    Blender passes over a marker whose camera is hidden from renders.
    """
    bound = [marker for marker in scene.timeline_markers if marker.camera and not marker.camera.hide_render]
    if not bound:
        return scene.camera
    number = scene.frame_start + frame
    past = [marker for marker in bound if marker.frame <= number]
    # before the first marker Blender shows the earliest one's camera
    return (max(past, key=lambda marker: marker.frame) if past else min(bound, key=lambda marker: marker.frame)).camera


def check_pinhole(camera: Any) -> None:
    """Raise BadInputError where a camera object has no intrinsic matrix."""
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
    """World-to-camera (4, 4), x_cam = R x_world + t, of an evaluated camera object without its scale, as it renders.

    Raises BadInputError where R is no rotation: a scaled and turned parent can shear or mirror a camera.
    """
    pose = np.array(camera.matrix_world.normalized(), dtype=np.float64)
    if not np.allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=1e-4) or np.linalg.det(pose[:3, :3]) < 0:
        raise BadInputError(
            f"camera {camera.name!r} is sheared or mirrored by a scale; apply the scale of its parents, or render "
            "without passes"
        )
    inverse: NDArray[np.float64] = BLENDER_TO_OPENCV @ np.linalg.inv(pose)
    return inverse
