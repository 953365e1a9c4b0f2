# SPDX-License-Identifier: GPL-3.0-or-later
"""From where a look is taken: through a camera, as the 3D view shows it, or from a side of an object or the scene.

A sight is two matrices, so that the same one serves the 3D view's drawing and a camera made for a render.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ...evaluator.protocol.bridge import BridgeCallError
from ..agent.methods import plain_text
from .bounds import Boxes, boxes_of
from .offscreen import Space

SIDES: Final = {
    "front": (0.0, 0.0), "right": (90.0, 0.0), "back": (180.0, 0.0), "left": (270.0, 0.0), "top": (0.0, 90.0),
    "bottom": (0.0, -90.0),
}  # fmt: skip
"""Azimuth and elevation in degrees of the places to look from; azimuth 0 is before the front (−Y), 90 at its right."""
ORBIT: Final = re.compile(r"orbit[ :]\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)")
ORBIT_ANGLE: Final = math.radians(40.0)
"""Of the longer side of a look in perspective."""
MARGIN: Final = 1.08
KINDS: Final = f"camera, viewport, {', '.join(SIDES)}, or orbit:AZIMUTH,ELEVATION in degrees, as orbit:45,30"


@dataclass(frozen=True)
class Sight:
    """Where from (`matrix`, world from view, OpenGL axes), how (`projection`, view to clip), and what to call it.

    `aspect` is width / height, `camera` the scene's camera object where it is one, `lens` its lens in words.
    """

    matrix: Matrix
    projection: Matrix
    aspect: float
    words: str
    camera: Any = None
    lens: str = ""
    notes: tuple[str, ...] = ()

    @property
    def matrices(self) -> tuple[Matrix, Matrix]:
        """World to view, and view to clip."""
        return self.matrix.inverted(), self.projection


def scene_aspect(scene: Any) -> float:
    """Width / height of the scene's pictures as shown."""
    render = scene.render
    return float(render.resolution_x * render.pixel_aspect_x / (render.resolution_y * render.pixel_aspect_y))


def camera_at(scene: Any, scene_frame: int) -> Any:
    """The camera that renders a frame: that of the last marker with one up to it, else of the first, else the scene's.

    Raises BridgeCallError `failed` where there is none.
    """
    bound = [one for one in scene.timeline_markers if one.camera is not None and not one.camera.hide_render]
    before = [one for one in bound if one.frame <= scene_frame]
    if before:
        return max(before, key=lambda one: int(one.frame)).camera
    if bound:
        return min(bound, key=lambda one: int(one.frame)).camera
    if scene.camera is None:
        raise BridgeCallError("failed", "the scene has no camera; add one and set scene.camera, or look from the front")
    return scene.camera


def camera_sight(scene: Any, camera: Any, depsgraph: Any) -> Sight:
    """Through a camera, at the scene's shape. Raises BridgeCallError `failed` where it stands nowhere."""
    name = plain_text(camera.name)
    if camera.type != "CAMERA":
        raise BridgeCallError("failed", f"the active camera {name!r} is a {camera.type}; set scene.camera to a camera")
    evaluated, render = camera.evaluated_get(depsgraph), scene.render
    matrix = evaluated.matrix_world.copy()
    if not is_usable(matrix):
        raise BridgeCallError(
            "failed", f"camera {name!r} has a matrix with no place or no direction (not a number, or scale 0); set its "
            "location, rotation and scale, and look at the constraints and drivers on it"
        )  # fmt: skip
    projection = evaluated.calc_matrix_camera(
        depsgraph, x=render.resolution_x, y=render.resolution_y, scale_x=render.pixel_aspect_x,
        scale_y=render.pixel_aspect_y,
    )  # fmt: skip
    data = evaluated.data
    lens = f"{data.lens:.1f} mm on a sensor of {data.sensor_width:g} mm"
    notes: tuple[str, ...] = ()
    if data.type == "ORTHO":
        lens = f"orthographic, scale {data.ortho_scale:g}"
    elif data.type != "PERSP":
        notes = (f"camera {name!r} is a {data.type.lower()} one; only shading rendered shows its own projection",)
    place, rotation, _ = matrix.decompose()
    return Sight(
        Matrix.LocRotScale(place, rotation, None),
        projection,
        scene_aspect(scene),
        f"camera {name}",
        camera,
        lens,
        notes,
    )


def viewport_sight(space: Space) -> Sight:
    """As a 3D view shows it."""
    region, view = space.region, space.space.region_3d
    matrix, projection = view.view_matrix.copy(), view.window_matrix.copy()
    if not (is_usable(matrix) and is_usable(projection)):
        raise BridgeCallError(
            "failed", "the 3D view has not been drawn yet; look from the front, or through the camera"
        )
    words = "3D view" + (" (through the camera)" if view.view_perspective == "CAMERA" else "")
    lens = "orthographic" if projection[3][3] else f"{space.space.lens:.1f} mm"
    return Sight(matrix.inverted(), projection, max(region.width, 1) / max(region.height, 1), words, None, lens)


def named_sight(view: str, target: Any, scene: Any, depsgraph: Any) -> Sight:
    """From a side (without perspective), or on an orbit (with), around `target` and its children, or the whole scene.

    What stands between it and a target is cut away. Raises BridgeCallError `bad_params` for another view, `failed`
    where there is nothing to look at.
    """
    azimuth, elevation = _direction(view)
    everything = boxes_of(depsgraph)
    chosen = everything if target is None else everything.below(target)
    notes: tuple[str, ...] = ()
    if not len(chosen.corners):
        if target is None:
            raise BridgeCallError("failed", "nothing in the scene has a surface or is switched on; add an object first")
        if not is_usable(target.matrix_world):
            raise BridgeCallError("failed", f"{plain_text(target.name)!r} has a matrix with no place (not a number)")
        chosen = Boxes.around(np.array(target.matrix_world.translation), 0.5)
        notes = (f"{plain_text(target.name)!r} has no surface of its own, or is hidden; shown is its place",)
    name = "the scene" if target is None else plain_text(target.name)
    turn = Matrix.Rotation(math.radians(azimuth), 4, "Z") @ Matrix.Rotation(math.radians(90 - elevation), 4, "X")
    axes = np.array(turn.to_3x3())  # its columns are the view's right, up and backwards
    own = chosen.points @ axes
    middle = (own.max(axis=0) + own.min(axis=0)) / 2
    own = own - middle
    depth = everything.points @ axes - middle if len(everything.corners) else own
    aspect = scene_aspect(scene)
    cut = float(own[:, 2].max()) if target is not None else None
    if view in SIDES:
        distance, projection = _straight(own, depth, aspect, cut)
        lens = "orthographic"
    else:
        distance, projection = _perspective(own, depth, aspect, cut)
        lens = f"{math.degrees(ORBIT_ANGLE):.0f}° wide"
    place = axes @ (middle + np.array([0, 0, distance]))
    words = view if view in SIDES else f"orbit at azimuth {azimuth:g}°, elevation {elevation:g}°"
    size = " x ".join(f"{length:.3g}" for length in np.ptp(chosen.points, axis=0))
    matrix = Matrix.Translation([float(value) for value in place]) @ turn
    notes = (*notes, f"{name} is {size} units (x, y, z)")
    return Sight(matrix, projection, aspect, f"{words} of {name}", None, lens, notes)


def is_usable(matrix: Matrix) -> bool:
    """Whether all numbers are finite and no direction is lost."""
    values = np.array(matrix)
    return bool(np.isfinite(values).all()) and abs(matrix.determinant()) > 1e-30


def _direction(view: str) -> tuple[float, float]:
    if view in SIDES:
        return SIDES[view]
    found = ORBIT.fullmatch(view)
    if found is None or abs(float(found[2])) > 90 or abs(float(found[1])) > 360:
        raise BridgeCallError("bad_params", f"view is {view[:80]!r}; expected {KINDS}")
    return float(found[1]), float(found[2])


def _straight(
    own: NDArray[np.float64], depth: NDArray[np.float64], aspect: float, cut: float | None
) -> tuple[float, Matrix]:
    """Distance and projection without perspective; `own` and `depth` (N, 3) around the middle."""
    half = max(1e-4, float(np.abs(own[:, 0]).max()), float(np.abs(own[:, 1]).max()) * aspect) * MARGIN
    front = float(depth[:, 2].max()) if cut is None else cut
    span = max(front - float(depth[:, 2].min()), 1e-3)
    near, far = span * 0.01, span * 1.03
    across = Matrix.Diagonal((1 / half, aspect / half, -2 / (far - near), 1.0))
    across[2][3] = -(far + near) / (far - near)
    return front + 2 * near, across


def _perspective(
    own: NDArray[np.float64], depth: NDArray[np.float64], aspect: float, cut: float | None
) -> tuple[float, Matrix]:
    half = math.tan(ORBIT_ANGLE / 2)
    wide, high = (half, half / aspect) if aspect >= 1 else (half * aspect, half)
    sides = np.maximum(np.abs(own[:, 0]) / wide, np.abs(own[:, 1]) / high)
    distance = max(1e-3, float((own[:, 2] + sides).max()) * MARGIN)
    near = distance * 1e-3 if cut is None else max(distance * 1e-3, (distance - cut) * 0.98)
    far = max(distance - float(depth[:, 2].min()), near * 2) * 1.05
    through = Matrix.Diagonal((1 / wide, 1 / high, -(far + near) / (far - near), 0.0))
    through[2][3], through[3][2] = -2 * far * near / (far - near), -1.0
    return distance, through
