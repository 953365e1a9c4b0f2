# SPDX-License-Identifier: GPL-3.0-or-later
"""Lays a fitted camera down in the scene: lens, shift and place, or keyframes of them, of that camera alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import bpy
from mathutils import Quaternion, Vector

from ...evaluator.protocol.bridge import BridgeCallError
from .methods import current_scene, plain_text
from .undo import HISTORY

LARGEST: Final = 1e9
MOST_KEYFRAMES: Final = 100_000
LABEL_LIMIT: Final = 48
FIELDS: Final = {"frame": 0, "location": 3, "rotation_quaternion": 4, "lens": 1, "shift_x": 1, "shift_y": 1}
INTERPOLATIONS: Final = ("LINEAR", "BEZIER", "CONSTANT")
ROTATION_PATHS: Final = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
LENS_PATHS: Final = ("lens", "shift_x", "shift_y")


@dataclass(frozen=True)
class Plan:
    """What is to be laid down, checked whole."""

    cameras: tuple[tuple[str, Sequence[Key], Any], ...]
    """Name, keys, and the object where there is one."""
    sensor: tuple[str, float, float]
    """Fit, width and height in mm."""
    interpolation: str


@dataclass(frozen=True)
class Key:
    """A camera at one frame of the reference; `frame` is None where it stands still."""

    frame: int | None
    location: Vector
    rotation: Quaternion
    lens: tuple[float, float, float]
    """Lens in mm, shift x, shift y."""


def camera_state(name: str) -> dict[str, Any]:
    """What has to be known before a camera is fitted for this scene: whether `name` is there, and its sensor.

    Raises BridgeCallError `bad_params` where `name` cannot take a fit, and says why.
    """
    scene = _scene()
    item = _existing(scene, name)
    render = scene.render
    return {
        "exists": item is not None,
        "sensor": None if item is None else {
            "fit": item.data.sensor_fit, "width": item.data.sensor_width, "height": item.data.sensor_height,
        },
        "size": [render.resolution_x, render.resolution_y],
        "frame_start": scene.frame_start,
    }  # fmt: skip


def set_camera(
    cameras: list[dict[str, Any]],
    sensor: dict[str, Any],
    interpolation: str = "LINEAR",
    label: str = "",
) -> dict[str, Any]:
    """Give every one of `cameras`, `{"name", "keyframes": […]}`, its place and lens; missing ones are made.

    A keyframe has `frame` (of the reference, from 0; null: no keyframe, the camera stands still), `location` and
    `rotation_quaternion` (w, x, y, z) of camera to world in Blender's axes, `lens` (mm), `shift_x` and `shift_y`. Keys
    between the first and the last frame are replaced, others stay. Several cameras are bound by markers, each from
    its first frame on. Everything is checked before anything is changed; in a window the whole is one undo step.
    """
    scene = _scene()
    plan = planned(scene, cameras, sensor, interpolation)
    HISTORY.begin()
    step = ""
    try:
        told, notes = lay_down(scene, plan)
    finally:  # what was done before an unforeseen error can be taken back too
        step = HISTORY.end(f"Agent: {plain_text(label).strip() or 'camera'}"[:LABEL_LIMIT])
    return {"cameras": told, "notes": [plain_text(note) for note in notes], "undo_step": step}


def planned(scene: Any, cameras: list[dict[str, Any]], sensor: dict[str, Any], interpolation: str = "LINEAR") -> Plan:
    """What `set_camera` is asked for, checked. Raises BridgeCallError `bad_params`; nothing is changed."""
    wanted = [(entry["name"], _keys(entry)) for entry in _checked(cameras)]
    if interpolation not in INTERPOLATIONS:
        raise BridgeCallError("bad_params", f"interpolation is {interpolation!r}; expected {', '.join(INTERPOLATIONS)}")
    span = _sensor(sensor)
    return Plan(tuple((name, keys, _existing(scene, name)) for name, keys in wanted), span, interpolation)


def lay_down(scene: Any, plan: Plan) -> tuple[list[dict[str, Any]], list[str]]:
    """Do what is planned; what became of every camera, and what has to be said. Undo is the caller's."""
    told, notes = [], list[str]()
    for name, keys, item in plan.cameras:
        camera = item if item is not None else _made(scene, name)
        notes += _make_own(camera)
        camera.data.type = "PERSP"
        camera.data.sensor_fit, camera.data.sensor_width, camera.data.sensor_height = plan.sensor
        camera.scale = (1.0, 1.0, 1.0)
        notes += _set_or_key(scene, camera, keys, plan.interpolation)
        frames = [key.frame for key in keys if key.frame is not None]
        told.append(_told(camera, frames, created=item is None))
        if len(plan.cameras) > 1 and frames:
            _bind(scene, camera, scene.frame_start + frames[0])
        if scene.camera is None:
            scene.camera = camera
            notes.append(f"{camera.name} is now the scene's camera: it had none")
    for layer in scene.view_layers:
        layer.update()
    return told, list(dict.fromkeys(notes))


def _told(camera: Any, frames: Sequence[int], *, created: bool) -> dict[str, Any]:
    ends = (frames[0], frames[-1]) if frames else (None, None)
    return {
        "camera": plain_text(camera.name), "created": created, "keyframes": len(frames), "first": ends[0],
        "last": ends[1],
    }  # fmt: skip


# --- what is asked for ------------------------------------------------------------------------------------------------


def _scene() -> Any:
    scene = current_scene()
    if scene is None:
        raise BridgeCallError("failed", "this Blender has no scene; open a file or make a scene")
    return scene


def _checked(cameras: Any) -> list[dict[str, Any]]:
    if not isinstance(cameras, list) or not cameras:
        raise BridgeCallError("bad_params", "cameras has to be a list of at least one camera")
    for entry in cameras:
        if not isinstance(entry, dict) or not isinstance(entry.get("keyframes"), list) or not entry["keyframes"]:
            raise BridgeCallError("bad_params", "a camera has to have a name and at least one keyframe")
        if len(entry["keyframes"]) > MOST_KEYFRAMES:
            raise BridgeCallError("bad_params", f"a camera has more than {MOST_KEYFRAMES} keyframes")
    names = [entry.get("name") for entry in cameras]
    if len(set(map(str, names))) < len(names):
        raise BridgeCallError("bad_params", "every camera has to have a name of its own")
    return cameras


def _keys(entry: dict[str, Any]) -> list[Key]:
    keys = [_key(one) for one in entry["keyframes"]]
    frames = [key.frame for key in keys]
    if frames != [None] and (None in frames or any(b <= a for a, b in pairwise(frames))):  # type: ignore[operator]
        raise BridgeCallError("bad_params", "frames of keyframes have to increase; only a single one may have none")
    return keys


def _key(one: Any) -> Key:
    if not isinstance(one, dict) or not FIELDS.keys() <= one.keys():
        raise BridgeCallError("bad_params", f"a keyframe has to have {', '.join(FIELDS)}")
    frame = one["frame"]
    if frame is not None and (isinstance(frame, bool) or not isinstance(frame, int) or not 0 <= frame < 10**6):
        raise BridgeCallError("bad_params", f"frame is {frame!r}; expected a whole number from 0, or null")
    values = {name: _numbers(name, one[name], count) for name, count in FIELDS.items() if count}
    rotation = Quaternion(values["rotation_quaternion"])
    if not 0.5 < rotation.magnitude < 2:
        raise BridgeCallError("bad_params", "rotation_quaternion has to be of length 1")
    if not 1 <= values["lens"][0] <= 1e6:
        raise BridgeCallError("bad_params", f"lens is {values['lens'][0]:g} mm; Blender takes none below 1")
    lens = (values["lens"][0], values["shift_x"][0], values["shift_y"][0])
    return Key(frame, Vector(values["location"]), rotation.normalized(), lens)


def _numbers(name: str, value: Any, count: int) -> list[float]:
    values = [value] if count == 1 else value
    good = isinstance(values, list) and len(values) == count
    if not good or not all(type(one) in (int, float) and abs(one) <= LARGEST for one in values):
        raise BridgeCallError("bad_params", f"{name} is {value!r:.80}; expected {count} finite numbers")
    return [float(one) for one in values]


def _sensor(sensor: Any) -> tuple[str, float, float]:
    if not isinstance(sensor, dict) or sensor.get("fit") not in ("AUTO", "HORIZONTAL", "VERTICAL"):
        raise BridgeCallError("bad_params", "sensor has to have fit (AUTO, HORIZONTAL or VERTICAL), width and height")
    width, height = (_numbers(side, sensor.get(side), 1)[0] for side in ("width", "height"))
    if min(width, height) < 1:
        raise BridgeCallError("bad_params", "the sensor's width and height have to be at least 1 mm")
    return sensor["fit"], width, height


def _existing(scene: Any, name: Any) -> Any:
    """The camera of that name, None where there is none. Raises BridgeCallError where it cannot take a fit."""
    if not isinstance(name, str) or not name.strip() or len(name.encode("utf-8", "replace")) > 60:
        raise BridgeCallError("bad_params", f"{name!r:.80} is no name of a camera; give 1 to 60 letters")
    item = bpy.data.objects.get(name)
    if item is None:
        return None
    why = next(_obstacles(scene, item), "")
    if why:
        raise BridgeCallError("bad_params", f"{name!r} cannot take a fitted camera: {why}; mend that, or name another")
    return item


def _obstacles(scene: Any, item: Any) -> Iterator[str]:
    """Why what is set would not be what renders."""
    if item.type != "CAMERA":
        yield f"it is of type {item.type}"
        return
    if not item.is_editable or not item.data.is_editable:
        yield "it is linked from another file"
    if scene.objects.get(item.name) != item:
        yield "it is not in this scene"
    if item.parent is not None:
        yield f"it has the parent {plain_text(item.parent.name)!r}"
    active = [one.name for one in item.constraints if not one.mute]
    if active:
        yield f"it has the constraint {plain_text(active[0])!r}"
    if item.delta_location.length or item.delta_rotation_euler[:] != (0, 0, 0) or item.delta_scale[:] != (1, 1, 1):
        yield "it has delta transforms"
    for owner in (item, item.data):
        animation = owner.animation_data
        if animation is None:
            continue
        if len(animation.drivers):
            yield "it has drivers"
        if any(not track.mute and len(track.strips) for track in animation.nla_tracks):
            yield "it has NLA strips"
        if any(len(curve.modifiers) for curve in curves_of(owner)):
            yield "its animation has modifiers"


# --- what is done -----------------------------------------------------------------------------------------------------


def _made(scene: Any, name: str) -> Any:
    item = bpy.data.objects.new(name, bpy.data.cameras.new(name))
    scene.collection.objects.link(item)
    return item


def _make_own(camera: Any) -> Iterator[str]:
    """Give a camera data and actions that nobody else uses, so that nothing else changes with it."""
    if camera.data.users > 1:
        camera.data = camera.data.copy()
        yield f"{camera.name} has camera data of its own now: others shared it"
    for owner in (camera, camera.data):
        animation = owner.animation_data
        action = animation.action if animation is not None else None
        if action is None:
            continue
        if action.users - action.use_fake_user > 1 or not action.is_editable:
            handle = animation.action_slot_handle
            copy = action.copy()
            animation.action = copy
            animation.action_slot = next((slot for slot in copy.slots if slot.handle == handle), None)
            yield f"{camera.name} has an action of its own now: others shared it"


def _set_or_key(scene: Any, camera: Any, keys: Sequence[Key], interpolation: str) -> Iterator[str]:
    """Set or key place, rotation and lens."""
    path = ROTATION_PATHS.get(camera.rotation_mode, "rotation_euler")
    turns = _rotations(camera, keys, path, scene.frame_start)
    channels = [
        *((camera, "location", index, [key.location[index] for key in keys]) for index in range(3)),
        *((camera, path, index, [turn[index] for turn in turns]) for index in range(len(turns[0]))),
        *((camera.data, name, -1, [key.lens[index] for key in keys]) for index, name in enumerate(LENS_PATHS)),
    ]
    for owner, name, index, values in channels:
        curve = next(
            (one for one in curves_of(owner) if (one.data_path, one.array_index) == (name, max(index, 0))), None
        )
        # a lens that does not change needs no keys, where it has none
        still = owner == camera.data and max(values) - min(values) <= 1e-6 * max(1.0, abs(values[0]))
        if keys[0].frame is None or (still and curve is None):
            if curve is None:
                _set(owner, name, index, values[0])
                continue
            numbers, values = [scene.frame_current], values[:1]
            yield f"{camera.name} is animated: its fit is a keyframe at scene frame {scene.frame_current}"
        else:
            numbers = [scene.frame_start + key.frame for key in keys if key.frame is not None]
        if curve is None:
            curve = _new_curve(owner, name, max(index, 0))
        _replace_keys(curve, numbers, values, interpolation)
        _set(owner, name, index, curve.evaluate(scene.frame_current_final))


def _set(owner: Any, name: str, index: int, value: float) -> None:
    if index < 0:
        setattr(owner, name, value)
    else:
        getattr(owner, name)[index] = value


def _rotations(camera: Any, keys: Sequence[Key], path: str, start: int) -> list[Sequence[float]]:
    """The keys' rotations in the camera's own way of writing them, without jumps from one to the next."""
    if path == "rotation_axis_angle":
        return [(angle, *axis) for axis, angle in (key.rotation.to_axis_angle() for key in keys)]
    if path == "rotation_quaternion":
        turns = [key.rotation.copy() for key in keys]
        for before, after in pairwise(turns):
            if before.dot(after) < 0:
                after.negate()
        return turns
    before, eulers = camera.rotation_euler.copy(), []
    for key in keys:
        before = key.rotation.to_euler(camera.rotation_mode, before)
        eulers.append(before)
    return eulers


def curves_of(owner: Any) -> list[Any]:
    """The curves that animate a datablock through its own action."""
    animation = owner.animation_data
    if animation is None or animation.action is None or animation.action_slot is None:
        return []
    return [
        curve
        for layer in animation.action.layers
        for strip in layer.strips
        if (bag := strip.channelbag(animation.action_slot)) is not None
        for curve in bag.fcurves
    ]


def _new_curve(owner: Any, path: str, index: int) -> Any:
    animation = owner.animation_data or owner.animation_data_create()
    if animation.action is None:
        animation.action = bpy.data.actions.new(f"{owner.name}Action")
    return animation.action.fcurve_ensure_for_datablock(owner, path, index=index)


def _replace_keys(curve: Any, frames: Sequence[int], values: Sequence[float], interpolation: str) -> None:
    """Put these keys in the place of those from the first to the last of the frames."""
    points = curve.keyframe_points
    for point in reversed([one for one in points if frames[0] <= one.co.x <= frames[-1]]):
        points.remove(point, fast=True)
    kept = len(points)
    points.add(len(frames))
    for point, frame, value in zip(points[kept:], frames, values, strict=True):
        point.co, point.interpolation = (frame, value), interpolation
        point.handle_left_type = point.handle_right_type = "AUTO_CLAMPED"
    points.sort()
    points.handles_recalc()
    curve.mute = False
    curve.update()


def _bind(scene: Any, camera: Any, frame: int) -> None:
    """A marker at a scene frame from which on the camera is seen: the one that binds another there, else a new one."""
    there = [marker for marker in scene.timeline_markers if marker.frame == frame and marker.camera is not None]
    marker = there[0] if there else scene.timeline_markers.new(camera.name, frame=frame)
    marker.camera = camera
