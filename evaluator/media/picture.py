# SPDX-License-Identifier: GPL-3.0-or-later
"""From a decoded frame to the picture as shown: colours converted by the frame's tags, stretched, mirrored, turned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import ColorRange, Colorspace, Interpolation
from numpy.typing import NDArray

_UNSPECIFIED_MATRIX = 2  # AVCOL_SPC_UNSPECIFIED


@dataclass(frozen=True)
class Geometry:
    """How a coded picture becomes the shown one: stretched to square pixels, then mirrored, then turned clockwise."""

    coded_width: int
    coded_height: int
    pixel_aspect: Fraction
    rotation_deg: int
    mirrored: bool

    @property
    def square_size(self) -> tuple[int, int]:
        """(width, height) with square pixels, before the turn. The short side of a pixel is stretched, never shrunk."""
        width, height = Fraction(self.coded_width), Fraction(self.coded_height)
        if self.pixel_aspect >= 1:
            width *= self.pixel_aspect
        else:
            height /= self.pixel_aspect
        return math.floor(width + Fraction(1, 2)), math.floor(height + Fraction(1, 2))

    @property
    def shown_size(self) -> tuple[int, int]:
        """(width, height) as shown; may be odd."""
        width, height = self.square_size
        return (height, width) if self.rotation_deg in (90, 270) else (width, height)

    def upright(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Mirror and turn an image (H, W) or (H, W, 3) that is still in coded orientation."""
        if self.mirrored:
            image = image[:, ::-1]
        return np.ascontiguousarray(np.rot90(image, -self.rotation_deg // 90))


def to_rgb(frame: VideoFrame, geometry: Geometry, size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """The frame as shown, (H, W, 3) uint8 RGB; `size` = (width, height) as shown scales it on the way.

    Matrix and range are those that the frame is tagged with. Without a tag, 1280 wide or 577 high and more is BT.709,
    smaller is BT.601: what players assume.
    """
    width, height = _before_turn(geometry, size or geometry.shown_size)
    scaled = (width, height) != (frame.width, frame.height)
    shrinks = width * height < frame.width * frame.height
    return _convert(
        frame, geometry, width, height, Interpolation.BICUBIC if scaled and not shrinks else Interpolation.BILINEAR
    )


def to_small(frame: VideoFrame, geometry: Geometry, size: tuple[int, int]) -> NDArray[np.uint8]:
    """The frame as shown, averaged down to `size` = (width, height): (height, width, 3) uint8 RGB."""
    return _convert(frame, geometry, *_before_turn(geometry, size), Interpolation.AREA)


def _convert(
    frame: VideoFrame, geometry: Geometry, width: int, height: int, interpolation: Interpolation
) -> NDArray[np.uint8]:
    matrix = None
    if frame.colorspace == _UNSPECIFIED_MATRIX and not frame.format.is_rgb:
        matrix = Colorspace.ITU709 if frame.width >= 1280 or frame.height > 576 else Colorspace.ITU601
    image = frame.to_ndarray(
        format="rgb24",
        width=width,
        height=height,
        src_colorspace=matrix,
        src_color_range=ColorRange.JPEG if frame.format.name.startswith("yuvj") else None,
        interpolation=interpolation,
    )
    return geometry.upright(image.astype(np.uint8, copy=False))


def _before_turn(geometry: Geometry, size: tuple[int, int]) -> tuple[int, int]:
    return (size[1], size[0]) if geometry.rotation_deg in (90, 270) else size
