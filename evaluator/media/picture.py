# SPDX-License-Identifier: GPL-3.0-or-later
"""From a decoded frame to the picture as shown: colours converted by the frame's tags, stretched, mirrored, turned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from av.filter import Graph
from av.video.frame import VideoFrame
from numpy.typing import NDArray

_Step = tuple[str, str | None]  # a filter and its options

_UNSPECIFIED_MATRIX = 2  # AVCOL_SPC_UNSPECIFIED
_LIMITED_RANGE = 1  # AVCOL_RANGE_MPEG
_STRETCH = ":".join(f"{channel}=(val-16)*255/219+0.5" for channel in "rgb")
# hflip comes last: vflip alone leaves the rows from bottom to top in memory
_TURNS: dict[int, list[_Step]] = {
    0: [],
    90: [("transpose", "clock")],
    180: [("vflip", None), ("hflip", None)],
    270: [("transpose", "cclock")],
}


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


class Converter:
    """Makes pictures of the frames of one pass over a video.

    A filter graph of FFmpeg does the work. Its buffers go back to a pool when their pictures are dropped, and serve the
    next ones: allocating some megabytes for every picture costs a third of the time in page faults.
    """

    def __init__(self, size: tuple[int, int], *, averaged: bool = False) -> None:
        """`size` = (width, height) as shown; `averaged` shrinks by the means of areas, as small pictures need it."""
        self._size = size
        self._averaged = averaged
        self._graph: Graph | None = None
        self._made_for: tuple[str, int, int, Geometry] | None = None

    def __call__(self, frame: VideoFrame, geometry: Geometry) -> NDArray[np.uint8]:
        """The frame as shown, (H, W, 3) uint8 RGB, contiguous and read-only; it stays as it is while it is held.

        Matrix and range (ITU-T H.273) are those that the frame is tagged with. Without a matrix, 1280 wide or 577 high
        and more is BT.709, smaller is BT.601: what players assume. Transfer and primaries stay as they are, and
        transparency is dropped. Raises av.FFmpegError where FFmpeg has no conversion.
        """
        kind = (frame.format.name, frame.colorspace, frame.color_range, geometry)
        if self._graph is None or kind != self._made_for:
            self._graph, self._made_for = self._make(frame, geometry), kind
        self._graph.vpush(frame)
        image = np.ascontiguousarray(self._graph.vpull().to_ndarray(), np.uint8)
        image.flags.writeable = False  # where nothing had to be converted it is the decoder's own
        return image

    def _make(self, frame: VideoFrame, geometry: Geometry) -> Graph:
        width, height = self._size if geometry.rotation_deg in (0, 180) else self._size[::-1]
        matrix = "auto"
        if frame.colorspace == _UNSPECIFIED_MATRIX:
            matrix = "bt709" if frame.width >= 1280 or frame.height > 576 else "bt601"
        limited = frame.color_range == _LIMITED_RANGE
        levels = "full" if frame.format.name.startswith("yuvj") else "auto"
        grows = width * height > frame.width * frame.height
        scaling = "area" if self._averaged else "bicubic" if grows else "bilinear"
        steps: list[_Step] = [
            ("buffer", f"video_size={frame.width}x{frame.height}:pix_fmt={frame.format.name}:time_base=1"),
            # neither is converted, and scale refuses frames whose tags are reserved, or logarithmic
            ("setparams", "color_primaries=unknown:color_trc=unknown"),
            ("scale", f"{width}:{height}:flags={scaling}:in_color_matrix={matrix}:in_range={levels}"),
            ("format", "rgb24"),
            # FFmpeg's scaler takes all grey for full range
            *([("lutrgb", _STRETCH)] if frame.format.name.startswith("gray") and limited else []),
            *([("hflip", None)] if geometry.mirrored else []),
            *_TURNS[geometry.rotation_deg],
            ("buffersink", None),
        ]
        graph = Graph()
        graph.link_nodes(*(graph.add(name, options) for name, options in steps)).configure()
        return graph


def to_rgb(frame: VideoFrame, geometry: Geometry, size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """A single frame as a Converter makes it; `size` = (width, height) as shown scales it on the way."""
    return Converter(size or geometry.shown_size)(frame, geometry)
