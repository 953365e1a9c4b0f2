# SPDX-License-Identifier: GPL-3.0-or-later
"""The camera that was found is given to the shot's own: when one says so, or while one drags."""

from __future__ import annotations

from typing import Any, Final

import bpy

from ....evaluator.camera.core.blender import BlenderCamera, Sensor
from ....evaluator.camera.core.pinhole import quaternion_of
from ....evaluator.protocol.errors import BadInputError, MatchcutError
from ...agent.camera import curves_of, lay_down, planned
from ..base import check_own
from .finding import is_searching, solution_of
from .shots import camera_of, match_of
from .solve import Solution, blender_of, sensor_of

KEPT: Final = ("location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle", "scale")
KEPT_DATA: Final = ("type", "lens", "shift_x", "shift_y")

_following: set[int] = set()
"""Session ids of scenes whose camera is to follow once it is found."""


def changed(scene: Any) -> None:
    """After something that the panel shows was changed: draw anew, and have the camera follow where it is live."""
    follow(scene)
    redraw()


def found(scene: Any) -> None:
    """After the camera was found in the end: as `changed`, but it follows only where it was to."""
    if scene.session_uid in _following:
        follow(scene)
    redraw()


def redraw() -> None:
    """Have the 3D views and their sidebars drawn again."""
    manager = bpy.context.window_manager
    for window in manager.windows if manager is not None else ():
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


def follow(scene: Any) -> None:
    """Put the shot's camera where what is drawn says, if it is to follow, can, and anything is said."""
    match = match_of(scene)
    if match is None or why_not_live(scene):
        return
    solution = solution_of(scene, match)
    if is_searching(scene, match):
        _following.add(scene.session_uid)  # and until then where the one before says: one drags on meanwhile
    else:
        _following.discard(scene.session_uid)
    if solution.fit is not None:
        try:
            _put(scene, match, solution)
        except MatchcutError:
            pass  # the panel tells why; Apply says it again


def why_not_live(scene: Any) -> str:
    """Why the shot's camera does not follow; empty where it does."""
    match = match_of(scene)
    camera = None if match is None else camera_of(scene, match.frame)
    if not scene.matchcut.match_camera.live or camera is None:
        return "it is not live"
    if is_animated(camera):
        return f"{camera.name} is animated; Apply sets a keyframe"
    return ""


def is_animated(camera: Any) -> bool:
    """Whether a camera has curves of its own."""
    return bool(curves_of(camera) or curves_of(camera.data))


def apply(scene: Any) -> list[str]:
    """Give the shot's camera the lens, shift, rotation and location that were found; what has to be said of it.

    An animated camera gets a keyframe at the frame that was drawn on. Raises MatchcutError where nothing was found, or
    the camera cannot take it.
    """
    match = match_of(scene)
    if match is None:
        raise BadInputError("nothing is drawn for this shot yet; use Edit Lines or Pick Points")
    return _put(scene, match, solution_of(scene, match, final=True))


def _put(scene: Any, match: Any, solution: Solution) -> list[str]:
    camera = camera_of(scene, match.frame)
    if camera is None:
        raise BadInputError("this shot has no camera; use Add Camera")
    written = blender_of(solution, camera)
    entry = keyframe(written, match.frame if is_animated(camera) else None)
    notes = []
    if not solution.placed:
        entry["location"] = list(camera.location)
        notes.append("the position is not known: the camera stays where it is")
    sensor = sensor_of(camera)
    plan = planned(scene, [{"name": camera.name, "keyframes": [entry]}], sensor_entry(sensor))
    return [*notes, *lay_down(scene, plan)[1]]


def keyframe(written: BlenderCamera, frame: int | None) -> dict[str, Any]:
    """A camera as addon/agent/camera.py takes it; `frame` of the reference, None where it stands still."""
    pose = written.matrix_world
    return {
        "frame": frame,
        "location": [float(value) for value in pose[:3, 3]],
        "rotation_quaternion": [float(value) for value in quaternion_of(pose[:3, :3])],
        "lens": float(written.lens),
        "shift_x": float(written.shift_x),
        "shift_y": float(written.shift_y),
    }


def sensor_entry(sensor: Sensor) -> dict[str, Any]:
    """A sensor as addon/agent/camera.py takes it."""
    return {"fit": sensor.fit, "width": sensor.width, "height": sensor.height}


def snapshot(scene: Any) -> dict[str, Any]:
    """The shot's camera as it is, to go back to."""
    match = match_of(scene)
    camera = None if match is None else camera_of(scene, match.frame)
    if camera is None:
        return {}
    own = {name: _plain(getattr(camera, name)) for name in KEPT}
    return {"camera": camera.name, "own": own, "data": {name: getattr(camera.data, name) for name in KEPT_DATA}}


def restore(kept: dict[str, Any]) -> None:
    """Put a camera back as it was."""
    _following.clear()
    camera = bpy.data.objects.get(kept.get("camera", ""))
    if camera is None or camera.type != "CAMERA":
        return
    for owner, values in ((camera, kept["own"]), (camera.data, kept["data"])):
        for name, value in values.items():
            setattr(owner, name, value)


def _plain(value: Any) -> tuple[float, ...]:
    return tuple(value)


def add_camera(scene: Any) -> Any:
    """A camera where the viewer of an interior or a street would stand, and the scene's own from now on.

    Raises BadInputError where the scene is another file's.
    """
    check_own(scene)
    item = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(item)
    item.location, item.rotation_euler = (0.0, -5.0, 1.6), (1.5707963, 0.0, 0.0)
    scene.camera = item
    return item
