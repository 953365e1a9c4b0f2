# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a picture lies in a camera view: from its pixels to the region's and back.

Places in a picture are kept as shares (u, v) of its width and height from its top left corner, so that they hold for
every size of it. Its pixels are (x, y) with the centre of the top-left one at (0, 0); a region's run from its lower
left corner. Source: Blender's view3d_camera_border and BKE_camera_params_compute_viewplane; lens and shift move the
picture and the view alike, so neither is in here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

Pair = tuple[float, float]


@dataclass(frozen=True)
class CameraView:
    """A region that looks through a camera."""

    region: tuple[int, int]
    """(width, height) in pixels of the screen."""
    picture: Pair
    """Its width and height, in any unit; pixels that are not square count as wide as they are."""
    fit: str = "AUTO"
    """The camera's sensor fit: AUTO, HORIZONTAL or VERTICAL."""
    zoom: float = 0.0
    """`view_camera_zoom`."""
    offset: Pair = (0.0, 0.0)
    """`view_camera_offset`."""

    @property
    def frame(self) -> tuple[float, float, float, float]:
        """Left, bottom, width and height of the picture in the region."""
        factor = (sqrt(2) + self.zoom / 50) ** 2 / 4
        length = factor * self.region[0 if _is_across(self.fit, self.region) else 1]
        across, upright = self.picture
        scale = length / (across if _is_across(self.fit, self.picture) else upright)
        width, height = across * scale, upright * scale
        left, bottom = (
            side * (0.5 - 2 * factor * offset) - extent / 2
            for side, offset, extent in zip(self.region, self.offset, (width, height), strict=True)
        )
        return left, bottom, width, height

    def region_of(self, place: Pair) -> Pair:
        """Where a place (u, v) of the picture is in the region."""
        left, bottom, width, height = self.frame
        return left + place[0] * width, bottom + (1 - place[1]) * height

    def place_of(self, point: Pair) -> Pair:
        """The place (u, v) of the picture at a point of the region."""
        left, bottom, width, height = self.frame
        return (point[0] - left) / width, 1 - (point[1] - bottom) / height


def _is_across(fit: str, size: Pair) -> bool:
    """Whether the sensor spans the width."""
    return size[0] >= size[1] if fit == "AUTO" else fit == "HORIZONTAL"


def pixel_of(place: Pair, size: tuple[int, int]) -> Pair:
    """The pixel coordinates of a place in a picture of `size` (width, height)."""
    return place[0] * size[0] - 0.5, place[1] * size[1] - 0.5


def place_of_pixel(pixel: Pair, size: tuple[int, int]) -> Pair:
    """The place of pixel coordinates in a picture of `size`."""
    return (pixel[0] + 0.5) / size[0], (pixel[1] + 0.5) / size[1]


def region_of_pixel(view: CameraView, pixel: Pair, size: tuple[int, int]) -> Pair:
    """Where a pixel of a picture of `size` is in the region."""
    return view.region_of(place_of_pixel(pixel, size))


def pixel_of_region(view: CameraView, point: Pair, size: tuple[int, int]) -> Pair:
    """The pixel of a picture of `size` at a point of the region."""
    return pixel_of(view.place_of(point), size)


def camera_of_view(scene: Any, space: Any) -> Any:
    """The camera that a 3D view looks through: its own, or the scene's; None where there is none."""
    return space.camera if space.use_local_camera else scene.camera


def camera_view(scene: Any, space: Any, region: Any, region_3d: Any) -> CameraView | None:
    """The camera view that a region of a 3D view shows; None where it looks another way."""
    camera = camera_of_view(scene, space)
    if region_3d is None or region_3d.view_perspective != "CAMERA" or camera is None or camera.type != "CAMERA":
        return None
    return CameraView(
        (region.width, region.height),
        shown_size(scene),
        camera.data.sensor_fit,
        region_3d.view_camera_zoom,
        tuple(region_3d.view_camera_offset),
    )


def shown_size(scene: Any) -> Pair:
    """Width and height of the scene's picture, in units of a pixel's height."""
    render = scene.render
    return render.resolution_x * render.pixel_aspect_x / render.pixel_aspect_y, float(render.resolution_y)
