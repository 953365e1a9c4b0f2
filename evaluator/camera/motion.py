# SPDX-License-Identifier: GPL-3.0-or-later
"""A measured path of a camera as keyframes of a Blender camera, put where one wants it to begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from ..protocol.errors import BadInputError
from .core.blender import BlenderCamera, Sensor, to_blender
from .core.pinhole import Array, Pinhole, check_positive, check_size, nearest_rotation, quaternion_of

LEVEL_ALONG_Y: Final = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])
"""World to camera of a level camera that looks along +y."""


@dataclass(frozen=True, eq=False)
class Measured:
    """A camera's path through one shot."""

    frames: tuple[int, ...]
    """Numbers of the frames in the video, in order."""
    intrinsics: Array
    """(n, 3, 3) for a picture of `size`."""
    world_to_camera: Array
    """(n, 4, 4), OpenCV axes, in whatever world and unit it was measured in."""
    size: tuple[int, int]
    """(width, height) of the picture that the intrinsics are for."""


@dataclass(frozen=True, eq=False)
class Keyframe:
    """A Blender camera at one frame."""

    frame: int
    camera: BlenderCamera
    quaternion: Array
    """(4,) w, x, y, z of the camera's turn in the world, its sign as near to the keyframe's before as can be."""


def cameras_of(path: Measured, size: tuple[int, int]) -> tuple[list[Pinhole], float]:
    """The path's cameras for pictures of `size`, and how far off square pixels without skew make them, in pixels.

    Raises BadInputError where a matrix is no camera.
    """
    check_size(size)
    count = len(path.frames)
    if path.intrinsics.shape != (count, 3, 3) or path.world_to_camera.shape != (count, 4, 4):
        raise BadInputError(
            f"{count} frames with intrinsics {path.intrinsics.shape} and world_to_camera {path.world_to_camera.shape}; "
            "give one (3, 3) and one (4, 4) matrix a frame"
        )
    if not (np.isfinite(path.intrinsics).all() and np.isfinite(path.world_to_camera).all()):
        raise BadInputError("a matrix of the cameras holds values that are not finite; measure the path again")
    scale = np.array([size[0] / path.size[0], size[1] / path.size[1]])
    corners = np.array([(x, y) for x in (-0.5, size[0] - 0.5) for y in (-0.5, size[1] - 0.5)])
    cameras, worst = [], 0.0
    for frame, K, pose in zip(path.frames, path.intrinsics, path.world_to_camera, strict=True):
        R = pose[:3, :3]
        if K[0, 0] <= 0 or K[1, 1] <= 0 or not np.allclose(R @ R.T, np.eye(3), atol=1e-3) or np.linalg.det(R) < 0:
            raise BadInputError(f"frame {frame}: its matrices are no perspective camera; measure the path again")
        focals = np.array([K[0, 0], K[1, 1]]) / K[2, 2] * scale
        focal = float(np.sqrt(focals[0] * focals[1]))
        principal = (K[:2, 2] / K[2, 2] + 0.5) * scale - 0.5
        cameras.append(
            Pinhole(
                size, focal, (float(principal[0]), float(principal[1])), nearest_rotation(R),
                -R.T @ pose[:3, 3],
            )
        )  # fmt: skip
        skew = K[0, 1] / K[2, 2] * scale[0]
        flat = (corners - principal) / focals
        flat[:, 0] -= skew * flat[:, 1] / focals[0]
        worst = max(worst, float(np.abs(flat * focal + principal - corners).max()))
    return cameras, worst


def moved(cameras: list[Pinhole], start: Pinhole | None = None, scale: float = 1.0, *, at: int = 0) -> list[Pinhole]:
    """The cameras with the one of index `at` where `start` is, all ways `scale` times as long.

    Without a `start` that one stands at the world's origin, level, and looks along +y.
    """
    check_positive("scale", scale)
    if not cameras:
        return []
    first = cameras[at]
    rotation = LEVEL_ALONG_Y if start is None else start.rotation
    centre = np.zeros(3) if start is None else start.centre
    turn = rotation.T @ first.rotation
    return [
        Pinhole(
            camera.size, camera.focal, camera.principal, nearest_rotation(camera.rotation @ turn.T),
            turn @ (camera.centre - first.centre) * scale + centre,
        )
        for camera in cameras
    ]  # fmt: skip


def keyframes(frames: tuple[int, ...], cameras: list[Pinhole], sensor: Sensor) -> list[Keyframe]:
    """The cameras in Blender's words. Raises BadInputError where Blender takes no such lens."""
    result: list[Keyframe] = []
    for frame, camera in zip(frames, cameras, strict=True):
        found = to_blender(camera, sensor)
        quaternion = quaternion_of(found.matrix_world[:3, :3])
        if result and quaternion @ result[-1].quaternion < 0:
            quaternion = -quaternion
        result.append(Keyframe(frame, found, quaternion))
    return result
