# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the reference lies in a region: exactly over the camera's frame, else fitted into what is seen.

Coordinates are pixels of the region from its lower left corner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mathutils import Vector

SAME_ASPECT_PX = 1.0
"""A picture fills the frame where that distorts it by no more than this."""
MARGIN = 12
"""Pixels at resolution scale 1 around a picture that is fitted into the region."""


@dataclass(frozen=True)
class Rect:
    """A rectangle in a region: its lower left corner and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.x + self.width

    @property
    def top(self) -> float:
        """Its upper edge."""
        return self.y + self.height

    def fitted(self, aspect: float) -> Rect:
        """The largest rectangle of `aspect` (width / height) in the middle; itself where it is so within a pixel."""
        width, height = self.height * aspect, self.width / aspect
        if abs(width - self.width) <= SAME_ASPECT_PX or abs(height - self.height) <= SAME_ASPECT_PX:
            return self
        if width < self.width:
            return Rect(self.x + (self.width - width) / 2, self.y, width, self.height)
        return Rect(self.x, self.y + (self.height - height) / 2, self.width, height)

    def inset(self, by: float) -> Rect:
        """Smaller by this on each side."""
        return Rect(self.x + by, self.y + by, max(1.0, self.width - 2 * by), max(1.0, self.height - 2 * by))

    def within(self, other: Rect) -> Rect:
        """The part that lies in `other`; of no size where none does."""
        x, y = max(self.x, other.x), max(self.y, other.y)
        return Rect(x, y, max(0.0, min(self.right, other.right) - x), max(0.0, min(self.top, other.top) - y))

    def part(self, inner: Rect) -> tuple[float, float, float, float]:
        """(left, bottom, right, top) of `inner` as shares of this one."""
        return (
            (inner.x - self.x) / self.width, (inner.y - self.y) / self.height,
            (inner.right - self.x) / self.width, (inner.top - self.y) / self.height,
        )  # fmt: skip

    def halves(self, gap: float) -> tuple[Rect, Rect]:
        """Left and right half with a gap between."""
        width = max(1.0, (self.width - gap) / 2)
        return Rect(self.x, self.y, width, self.height), Rect(self.right - width, self.y, width, self.height)


def place(area: Any, region: Any, space: Any, view: Any, scene: Any, aspect: float, scale: float) -> Rect:
    """Where a picture of this aspect lies in a 3D view: `view` is its RegionView3D, `scale` the resolution scale."""
    frame = camera_frame(region, space, view, scene)
    if frame is None:
        frame = seen(area, region).inset(MARGIN * scale)
    return frame.fitted(aspect)


def camera_frame(region: Any, space: Any, view: Any, scene: Any) -> Rect | None:
    """The camera's frame in the region; None where the view is not through a camera.

    Through the view's own projection, so that zoom, offset, lens shift and a portrait format are Blender's.
    """
    camera = space.camera if space.use_local_camera else scene.camera
    if view.view_perspective != "CAMERA" or camera is None or camera.type != "CAMERA":
        return None
    corners = [view.window_matrix @ corner.to_4d() for corner in camera.data.view_frame(scene=scene)]
    if any(corner.w == 0 for corner in corners):
        return None
    x = [(corner.x / corner.w + 1) * region.width / 2 for corner in corners]
    y = [(corner.y / corner.w + 1) * region.height / 2 for corner in corners]
    if max(x) - min(x) < 1 or max(y) - min(y) < 1:
        return None
    return Rect(min(x), min(y), max(x) - min(x), max(y) - min(y))


def seen(area: Any, region: Any) -> Rect:
    """The part of a region that no header or sidebar of its area lies over."""
    left, bottom, right, top = 0.0, 0.0, float(region.width), float(region.height)
    for other in area.regions:
        if (
            other.type not in ("HEADER", "TOOL_HEADER", "TOOLS", "UI", "ASSET_SHELF")
            or min(other.width, other.height) < 2
        ):
            continue
        x, y = other.x - region.x, other.y - region.y
        if x + other.width <= 0 or y + other.height <= 0 or x >= region.width or y >= region.height:
            continue  # beside the region, or of another part of a quad view
        if other.alignment == "LEFT":
            left = max(left, x + other.width)
        elif other.alignment == "RIGHT":
            right = min(right, x)
        elif other.alignment == "TOP":
            top = min(top, y)
        elif other.alignment == "BOTTOM":
            bottom = max(bottom, y + other.height)
    return Rect(left, bottom, max(1.0, right - left), max(1.0, top - bottom))


def cropped_projection(projection: Any, region: Any, part: Rect) -> Any:
    """The projection (view to clip) whose picture is `part` of the region alone."""
    from mathutils import Matrix

    across, up = region.width / part.width, region.height / part.height
    middle_x = (part.x + part.width / 2) * 2 / region.width - 1
    middle_y = (part.y + part.height / 2) * 2 / region.height - 1
    crop = Matrix.Diagonal(Vector((across, up, 1.0, 1.0)))
    crop[0][3], crop[1][3] = -middle_x * across, -middle_y * up
    return crop @ projection
