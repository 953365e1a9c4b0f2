# SPDX-License-Identifier: GPL-3.0-or-later
"""The measured motion of a shot's camera as keyframes to start from.

The evaluator measures in a process of its own. Its path has no place and no unit: it is put where the shot's camera is
at one frame, and scaled by how far away is what is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import radians
from typing import Any

import bpy
from mathutils import Euler, Quaternion, Vector

from ....evaluator.camera.core.blender import focal_of
from ....evaluator.protocol.errors import BadInputError, OperationalError
from ....evaluator.protocol.messages import Message
from ... import jobs
from ...agent.camera import ROTATION_PATHS, curves_of, lay_down, planned
from ..kept import keep
from ..paths import scenes_of
from ..reference.file import reference_file
from .apply import redraw, sensor_entry
from .shots import camera_of, frame_of, match_of, picture_size, shot_at
from .solve import sensor_of

TITLE = "Measuring the motion"


@dataclass(frozen=True)
class Step:
    """The measured camera at a frame of the reference; Blender's axes, in the measurement's own world and unit."""

    frame: int
    location: Vector
    rotation: Quaternion
    lens: float
    """In any unit: only its changes count."""


@dataclass(frozen=True)
class Start:
    """A camera object as it is at a frame."""

    location: Vector
    rotation: Quaternion
    lens: float
    shift: tuple[float, float]


def use_measured_motion(scene: Any) -> jobs.Job:
    """Start measuring the present shot; its path is laid down as keyframes of the shot's camera once it is known.

    Raises BadInputError where there is no reference, no camera, or another job runs.
    """
    video = str(reference_file(scene))
    at = frame_of(scene)
    camera = camera_of(scene, at)
    if camera is None:
        raise BadInputError("this shot has no camera; use Add Camera")
    reference = scene.matchcut.reference
    if at < 0 or (reference.known and at >= reference.frames):
        raise BadInputError("the reference has no such frame; go to a frame of the shot first")
    planned(scene, [_still(camera)], sensor_entry(sensor_of(camera)))  # what cannot take it is said before, not after
    every, uid = scene.matchcut.match_camera.keys == "EVERY", scene.session_uid

    def finish(messages: list[Message]) -> None:
        shot = _one_shot(messages)
        if not every or not shot["keys"]:
            _lay(uid, at, shot, few_steps(shot))
            return

        def finish_path(more: list[Message]) -> None:
            _lay(uid, at, shot, every_step(_one_shot(more), moves=shot["camera"]["move"] is not None))

        follow = jobs.start(TITLE, ["camera", "motion", video, f"--at={shot['first']}"], finish_path)
        if bpy.app.background:
            jobs.wait(follow)

    return jobs.start(TITLE, ["motion", video, f"--at={at}"], finish)


def _still(camera: Any) -> dict[str, Any]:
    key = {
        "frame": None, "location": [0, 0, 0], "rotation_quaternion": [1, 0, 0, 0], "lens": 50.0, "shift_x": 0,
        "shift_y": 0,
    }  # fmt: skip
    return {"name": camera.name, "keyframes": [key]}


def _one_shot(messages: list[Message]) -> dict[str, Any]:
    data = next((message.data for message in messages if message.data), None)
    if not data or len(data.get("shots", [])) != 1:
        raise OperationalError("the evaluator told no motion of this shot; see Copy Details")
    shot: dict[str, Any] = data["shots"][0]
    return shot


def few_steps(shot: dict[str, Any]) -> list[Step]:
    """The keys of `matchcut motion`."""
    return [
        Step(
            key["frame"],
            Vector(key["location"] or (0.0, 0.0, 0.0)),
            Euler([radians(value) for value in key["rotation_deg"]]).to_quaternion(),
            key["lens_mm"],
        )
        for key in shot["keys"]
    ]


def every_step(shot: dict[str, Any], *, moves: bool) -> list[Step]:
    """The keyframes of `matchcut camera motion`; without a path of its own the camera stays in its place."""
    return [
        Step(
            key["frame"], Vector(key["location"] if moves else (0.0, 0.0, 0.0)), Quaternion(key["rotation_quaternion"]),
            key["lens"],
        )
        for key in shot["keyframes"]
    ]  # fmt: skip


def _lay(uid: int, at: int, shot: dict[str, Any], steps: Sequence[Step]) -> None:
    """Tell what was measured, and lay its keyframes down as one step of undo."""
    found = list(scenes_of(uid))
    if not found:
        return
    scene = found[0]
    lines = unknown_lines(shot, scene, camera_of(scene, at))
    keep(uid, f"motion {shot['first']}", lambda one: _store(one, shot, lines))
    if len(steps) < 2:
        if shot["kind"] == "static":
            return
        raise OperationalError(f"no motion of this shot is known: {shot['camera']['reason'] or shot['kind']}")
    lay_steps(scene, at, steps, scene.matchcut.match_camera.distance)
    if not bpy.app.background and bpy.context.preferences.edit.use_global_undo:
        bpy.ops.ed.undo_push(message="Use Measured Motion")
    redraw()


def lay_steps(scene: Any, at: int, steps: Sequence[Step], distance: float) -> int:
    """Key the camera of the shot that has frame `at` along a measured path; the frame at which it stays where it is.

    That is the frame whose picture it was matched to, where there is one, else the first; `distance` is what a measured
    unit is. Keys on the way are linear, and take the place of those there. Raises MatchcutError where there is no
    camera, or it cannot take them.
    """
    camera = camera_of(scene, at)
    if camera is None:
        raise OperationalError("this shot has no camera any more; add one, and press Use Measured Motion again")
    anchor = anchor_frame(scene, steps)
    start = start_of(camera, scene.frame_start + anchor)
    if anchor not in [step.frame for step in steps]:  # so that it goes through exactly
        steps = sorted([*steps, at_frame(steps, anchor)], key=lambda step: step.frame)
    keys = [_key(step, start) for step in moved(steps, anchor, start, distance)]
    lay_down(scene, planned(scene, [{"name": camera.name, "keyframes": keys}], sensor_entry(sensor_of(camera))))
    return anchor


def anchor_frame(scene: Any, steps: Sequence[Step]) -> int:
    """The frame at which the path goes through the camera as it is now."""
    match = match_of(scene)
    drawn = match is not None and (len(match.lines) > 1 or len(match.points) > 2)
    if drawn and steps[0].frame <= match.frame <= steps[-1].frame and shot_at(scene, match.frame).first <= match.frame:
        return int(match.frame)
    return steps[0].frame


def moved(steps: Sequence[Step], anchor: int, start: Start, distance: float) -> list[Step]:
    """The steps with the one at frame `anchor` where `start` is, and all ways `distance` times as long."""
    here = at_frame(steps, anchor)
    back = here.rotation.conjugated()
    return [
        Step(
            step.frame,
            start.location + start.rotation @ (back @ (step.location - here.location)) * distance,
            start.rotation @ (back @ step.rotation),
            start.lens * step.lens / here.lens,
        )
        for step in steps
    ]


def at_frame(steps: Sequence[Step], frame: int) -> Step:
    """The step at a frame, straight between two where there is none."""
    after = next((index for index, step in enumerate(steps) if step.frame >= frame), len(steps) - 1)
    a, b = steps[max(0, after - 1)], steps[after]
    share = 1.0 if b.frame == a.frame else min(1.0, max(0.0, (frame - a.frame) / (b.frame - a.frame)))
    lens = a.lens + share * (b.lens - a.lens)
    return Step(frame, a.location.lerp(b.location, share), a.rotation.slerp(b.rotation, share), lens)


def _key(step: Step, start: Start) -> dict[str, Any]:
    return {
        "frame": step.frame, "location": list(step.location), "rotation_quaternion": list(step.rotation.normalized()),
        "lens": step.lens, "shift_x": start.shift[0], "shift_y": start.shift[1],
    }  # fmt: skip


def start_of(camera: Any, number: int) -> Start:
    """A camera object at a scene frame, by its own curves; it has no parent, or it could not take keys."""
    path = ROTATION_PATHS.get(camera.rotation_mode, "rotation_euler")
    location, turn = _values(camera, "location", number), _values(camera, path, number)
    if path == "rotation_euler":
        rotation = Euler(turn, camera.rotation_mode).to_quaternion()
    elif path == "rotation_quaternion":
        rotation = Quaternion(turn).normalized()
    else:
        rotation = Quaternion(turn[1:], turn[0])
    lens, *shift = (_value(camera.data, name, 0, number, getattr(camera.data, name)) for name in _LENS)
    return Start(Vector(location), rotation, lens, (shift[0], shift[1]))


_LENS = ("lens", "shift_x", "shift_y")


def _values(owner: Any, path: str, number: int) -> list[float]:
    return [_value(owner, path, index, number, value) for index, value in enumerate(getattr(owner, path))]


def _value(owner: Any, path: str, index: int, number: int, still: float) -> float:
    curve = next((one for one in curves_of(owner) if (one.data_path, one.array_index) == (path, index)), None)
    return float(still if curve is None or not len(curve.keyframe_points) else curve.evaluate(number))


# --- what is told -----------------------------------------------------------------------------------------------------


def unknown_lines(shot: dict[str, Any], scene: Any, camera: Any) -> list[str]:
    """What the pictures do not tell of a shot's motion, and what that means for the keyframes."""
    told, focal = shot["camera"], shot["focal"]
    lines = []
    if told["pan_deg"] is None:
        lines.append(f"the motion is not known: {told['reason']}")
    elif told["move"] is None:
        lines.append(f"the position is not known, so only the rotation is keyed: {told['reason']}")
    elif told["reason"]:
        lines.append(told["reason"])
    if focal["px"] is None:
        assumed = "" if focal["assumed_mm"] is None else f"; turns hold for {focal['assumed_mm']:.0f} mm"
        lines.append(f"the focal length is not known: {focal['reason']}{assumed}")
    elif camera is not None:
        own = focal_of(camera.data.lens, picture_size(scene), sensor_of(camera)) / max(picture_size(scene))
        if abs(own / (focal["mm"] / 36) - 1) > 0.05:
            measured = f"a focal length of {focal['mm']:.1f} mm ± {focal['sigma_mm']:.1f} on a sensor of 36 mm"
            lines.append(f"{measured} was measured, and the camera's is {own * 36:.1f} mm: match or set it first")
    return [*lines, *shot["notes"]]


def measured_of(scene: Any) -> Any:
    """What was measured of the present shot; None where nothing was."""
    frame = frame_of(scene)
    return next((one for one in scene.matchcut.match_camera.measured if one.first <= frame <= one.last), None)


def _store(scene: Any, shot: dict[str, Any], lines: Sequence[str]) -> None:
    group = scene.matchcut.match_camera.measured
    item = next((one for one in group if one.first == shot["first"]), None) or group.add()
    item.first, item.last, item.kind, item.unknown = shot["first"], shot["last"], shot["kind"], "\n".join(lines)
