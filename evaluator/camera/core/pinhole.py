# SPDX-License-Identifier: GPL-3.0-or-later
"""A pinhole camera with square pixels, and rotations.

Axes of the camera as in OpenCV: x to the right, y down, z forward. Pixel coordinates (x, y) in which the centre of the
top-left pixel is (0, 0). The world is right-handed, and z is up in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...protocol.errors import BadInputError

Array = NDArray[np.float64]
LARGEST = 1e9
"""No coordinate or size that somebody gives may be larger; what comes of it stays far from overflow."""


@dataclass(frozen=True, eq=False)
class Pinhole:
    """A camera: x_cam = R (x_world − c)."""

    size: tuple[int, int]
    """(width, height) of the picture."""
    focal: float
    """Focal length in pixels."""
    principal: tuple[float, float]
    """Principal point in pixels."""
    rotation: Array
    """(3, 3) R, from the world to the camera."""
    centre: Array
    """(3,) c, where the camera is in the world."""

    @property
    def intrinsics(self) -> Array:
        """The intrinsic matrix (3, 3)."""
        return np.array([[self.focal, 0, self.principal[0]], [0, self.focal, self.principal[1]], [0, 0, 1.0]])

    @property
    def world_to_camera(self) -> Array:
        """The matrix (4, 4) of x_cam = R x_world + t."""
        matrix = np.eye(4)
        matrix[:3, :3] = self.rotation
        matrix[:3, 3] = -self.rotation @ self.centre
        return matrix

    def in_camera(self, points: ArrayLike) -> Array:
        """World points (n, 3) in the camera's axes (n, 3)."""
        result: Array = (np.asarray(points, dtype=np.float64) - self.centre) @ self.rotation.T
        return result

    def project(self, points: ArrayLike) -> Array:
        """Pixel coordinates (n, 2) of world points (n, 3); NaN for those that are not in front of the camera."""
        return self.to_pixels(self.in_camera(points))

    def to_pixels(self, points: Array) -> Array:
        """Pixel coordinates (n, 2) of points (n, 3) in the camera's axes; NaN for those that are not in front of it."""
        z = np.where(points[:, 2:] > 0, points[:, 2:], np.nan)
        result: Array = self.focal * points[:, :2] / z + np.array(self.principal)
        return result

    def rays(self, pixels: ArrayLike) -> Array:
        """Directions (n, 3) in the camera's axes, with z = 1, of pixel coordinates (n, 2)."""
        pixels = np.asarray(pixels, dtype=np.float64).reshape(-1, 2)
        return np.column_stack([(pixels - self.principal) / self.focal, np.ones(len(pixels))])


def picture_centre(size: tuple[int, int]) -> tuple[float, float]:
    """The pixel coordinates of a picture's middle."""
    return ((size[0] - 1) / 2, (size[1] - 1) / 2)


def half_diagonal(size: tuple[int, int]) -> float:
    """Half of a picture's diagonal in pixels."""
    return float(np.hypot(*size)) / 2


def check_size(size: tuple[int, int]) -> None:
    """Raise BadInputError where a size is none of a picture."""
    if not (0 < size[0] <= LARGEST and 0 < size[1] <= LARGEST):
        raise BadInputError(f"size {size[0]}x{size[1]}: width and height have to be positive pixels")


def check_numbers(what: str, values: ArrayLike, columns: int) -> Array:
    """`values` as an array (n, columns). Raises BadInputError where they are none, infinite, or beyond LARGEST."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInputError(f"{what}: not numbers; give {columns} of them each") from error
    if array.size == 0:
        return np.zeros((0, columns))
    if array.ndim != 2 or array.shape[1] != columns:
        raise BadInputError(f"{what}: shape {array.shape}; give rows of {columns} numbers")
    if not (np.abs(array) <= LARGEST).all():
        raise BadInputError(f"{what}: a number is infinite, not a number or above {LARGEST:g}; correct it")
    return array


def check_positive(what: str, value: float) -> float:
    """`value`, where it is positive and of a sensible size. Raises BadInputError otherwise."""
    if not 1e-9 <= value <= LARGEST:
        raise BadInputError(f"{what} {value:g}: has to be a positive number")
    return float(value)


def cross_matrix(vectors: Array) -> Array:
    """(…, 3, 3) matrices [v]× of vectors (…, 3)."""
    x, y, z = vectors[..., 0], vectors[..., 1], vectors[..., 2]
    zero = 0 * x
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*vectors.shape[:-1], 3, 3)


def rotation_of(vector: Array) -> Array:
    """exp([v]×): the rotation (3, 3) about `vector` (3,) by its length in radians."""
    angle = float(np.linalg.norm(vector))
    K = cross_matrix(vector)
    half = np.sinc(angle / 2 / np.pi)  # sin(angle/2)/(angle/2): no loss of digits at small angles
    return np.eye(3) + np.sinc(angle / np.pi) * K + half * half / 2 * (K @ K)


def vector_of(rotation: Array) -> Array:
    """The inverse of rotation_of: axis times angle (3,), the angle at most π."""
    w, x, y, z = quaternion_of(rotation)
    sine = float(np.sqrt(x * x + y * y + z * z))
    scale = 2.0 if sine < 1e-12 else 2 * float(np.arctan2(sine, w)) / sine
    return scale * np.array([x, y, z])


def quaternion_of(rotation: Array) -> Array:
    """Unit quaternion (w, x, y, z) of a rotation (3, 3), w ≥ 0 (Bar-Itzhack 2000: also of nearly orthonormal ones)."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation
    K = np.array(
        [
            [xx - yy - zz, 0, 0, 0],
            [xy + yx, yy - xx - zz, 0, 0],
            [xz + zx, yz + zy, zz - xx - yy, 0],
            [zy - yz, xz - zx, yx - xy, xx + yy + zz],
        ]
    )
    x, y, z, w = np.linalg.eigh(K, UPLO="L")[1][:, 3]
    return np.array([w, x, y, z]) * (-1.0 if w < 0 else 1.0)


def nearest_rotation(matrix: Array) -> Array:
    """The rotation (3, 3) nearest to a matrix in the sense of least squares."""
    left, _, right = np.linalg.svd(matrix)
    left[:, 2] *= np.sign(np.linalg.det(left @ right))
    result: Array = left @ right
    return result
