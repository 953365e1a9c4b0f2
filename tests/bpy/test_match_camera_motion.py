# SPDX-License-Identifier: GPL-3.0-or-later
"""The measured motion as keyframes of the shot's camera: where it starts, its scale, and what is told of it."""

import json
import math
import sys
import textwrap

import bpy
import numpy as np
import pytest
from match_camera_scenes import (  # noqa: F401 (the fixture is found by its name)
    draw_lines,
    known,
    matching_scene,
    sees_as,
    state,
)
from matchcut.addon import jobs
from matchcut.addon.agent.camera import curves_of
from matchcut.addon.sidebar.match_camera import apply, motion
from mathutils import Euler, Matrix, Quaternion

MOVING = {
    "first": 0, "last": 20, "kind": "dolly in and pan right", "notes": [],
    "camera": {"pan_deg": -10.0, "move": [0.0, 0.0, 0.4], "reason": "a zoom during a move cannot be told from it"},
    "focal": {"px": 1200.0, "mm": 45.0, "sigma_mm": 1.5, "assumed_mm": None, "reason": ""},
    "keys": [
        {"frame": 0, "location": [0, 0, 0], "rotation_deg": [90, 0, 0], "lens_mm": 45.0},
        {"frame": 10, "location": [0, 0.2, 0], "rotation_deg": [90, 0, -5], "lens_mm": 45.0},
        {"frame": 20, "location": [0, 0.4, 0], "rotation_deg": [90, 0, -10], "lens_mm": 45.0},
    ],
}  # fmt: skip
TURNING = {
    **MOVING, "kind": "pan right",
    "camera": {"pan_deg": -10.0, "move": None, "reason": "the camera only turns: no parallax tells a path"},
    "keys": [{**key, "location": None} for key in MOVING["keys"]],
}  # fmt: skip
STATIC = {
    **MOVING, "kind": "static", "keys": [], "camera": {"pan_deg": 0.0, "move": [0, 0, 0], "reason": ""},
    "focal": {"px": None, "mm": None, "sigma_mm": None, "assumed_mm": 36.0, "reason": "the camera stands still"},
}  # fmt: skip
EVALUATOR = """
import json, sys
from pathlib import Path
here = Path(__file__).parent
with (here / "asked.jsonl").open("a") as asked:
    asked.write(json.dumps(sys.argv[1:]) + chr(10))
name = "path.json" if sys.argv[1] == "camera" else "motion.json"
print(json.dumps({"type": "result", "path": "", "data": json.loads((here / name).read_text())}), flush=True)
"""


@pytest.fixture
def evaluator(scene, tmp_path, monkeypatch):
    """A stand-in that answers with what is given to it; what it was asked."""
    script = tmp_path / "stand_in.py"
    script.write_text(textwrap.dedent(EVALUATOR))
    monkeypatch.setattr(jobs, "find_evaluator", lambda: [sys.executable, str(script)])
    video = tmp_path / "reference.mp4"
    video.write_bytes(b"")
    scene.matchcut.reference.path = str(video)

    def answer(shot, path=None):
        (tmp_path / "motion.json").write_text(json.dumps({"shots": [shot]}))
        (tmp_path / "path.json").write_text(json.dumps({"shots": [path]}))
        asked = tmp_path / "asked.jsonl"
        return lambda: [json.loads(line) for line in asked.read_text().splitlines()] if asked.exists() else []

    return answer


def keyed(item, path, index=0):
    owner = item.data if path in ("lens", "shift_x") else item
    found = [one for one in curves_of(owner) if (one.data_path, one.array_index) == (path, index)]
    return [(point.co.x, round(point.co.y, 5), point.interpolation) for one in found for point in one.keyframe_points]


def test_the_measured_path_starts_at_the_present_camera_and_is_scaled_by_the_distance(scene, evaluator):
    asked = evaluator(MOVING)
    item = scene.camera
    item.location, item.rotation_euler = (1, 2, 3), (math.pi / 2, 0, math.pi / 2)  # level, looking along -x
    scene.matchcut.match_camera.distance = 10
    scene.frame_set(16)
    assert bpy.ops.matchcut.use_measured_motion() == {"FINISHED"}
    (command,) = asked()
    assert command[:1] == ["motion"] and "--at=5" in command
    assert keyed(item, "location", 0) == [(11, 1, "LINEAR"), (21, -1, "LINEAR"), (31, -3, "LINEAR")]
    assert keyed(item, "location", 2) == [(frame, 3, "LINEAR") for frame in (11, 21, 31)]
    assert [round(math.degrees(value), 3) for _, value, _ in keyed(item, "rotation_euler", 2)] == [90, 85, 80]
    assert keyed(item, "lens") == [], "a lens that does not change needs no keys"
    measured = motion.measured_of(scene)
    assert measured.kind == "dolly in and pan right" and "a zoom during a move" in measured.unknown


def test_a_camera_that_only_turns_keeps_its_place_and_the_panel_says_so(scene, evaluator):
    evaluator(TURNING)
    scene.camera.location = (1, 2, 3)
    assert bpy.ops.matchcut.use_measured_motion() == {"FINISHED"}
    assert {value for _, value, _ in keyed(scene.camera, "location", 1)} == {2}
    assert "only the rotation is keyed" in motion.measured_of(scene).unknown


def test_a_camera_that_stands_still_gets_no_keys(scene, evaluator):
    evaluator(STATIC)
    assert bpy.ops.matchcut.use_measured_motion() == {"FINISHED"}
    assert keyed(scene.camera, "location") == [] and motion.measured_of(scene).kind == "static"
    assert "focal length is not known" in motion.measured_of(scene).unknown


def test_a_motion_that_is_not_known_is_an_error_with_its_reason(scene, evaluator):
    evaluator({**STATIC, "kind": "not known", "camera": {"pan_deg": None, "move": None, "reason": "no texture"}})
    with pytest.raises(RuntimeError, match="no motion of this shot is known: no texture"):
        bpy.ops.matchcut.use_measured_motion()
    assert keyed(scene.camera, "location") == []


def test_keys_on_the_way_are_replaced_and_others_stay(scene, evaluator):
    evaluator(MOVING)
    item = scene.camera
    for frame in (15, 22, 50):
        item.location.x = frame
        item.keyframe_insert("location", index=0, frame=frame)
    assert bpy.ops.matchcut.use_measured_motion() == {"FINISHED"}
    assert [frame for frame, _, _ in keyed(item, "location")] == [11, 21, 31, 50]
    assert keyed(item, "location")[0][1] == 15, "it starts where the camera was at the first frame"


def test_every_frame_is_laid_down_where_that_is_wanted(scene, evaluator):
    frames = [
        {"frame": frame, "location": [0, 0.02 * frame, 0], "lens": 30.0 + frame,
         "rotation_quaternion": list(Euler((math.pi / 2, 0, -0.01 * frame)).to_quaternion())}
        for frame in range(21)
    ]  # fmt: skip
    asked = evaluator(MOVING, {"first": 0, "last": 20, "keyframes": frames})
    scene.matchcut.match_camera.keys = "EVERY"
    scene.camera.data.lens = 60.0
    assert bpy.ops.matchcut.use_measured_motion() == {"FINISHED"}
    assert [command[0] for command in asked()] == ["motion", "camera"] and "--at=0" in asked()[1]
    assert len(keyed(scene.camera, "location", 1)) == 21
    assert keyed(scene.camera, "lens")[-1][1] == pytest.approx(60 * 50 / 30), "a zoom goes on from the camera's lens"


def test_the_path_goes_through_the_camera_at_the_frame_that_was_matched(scene):
    theirs = known(scene)
    scene.frame_set(16)
    draw_lines(scene, theirs)
    apply.apply(scene)
    before = state(scene.camera)
    assert motion.lay_steps(scene, 5, motion.few_steps(MOVING), 3.0) == 5
    scene.frame_set(16)
    bpy.context.view_layer.update()
    assert sees_as(scene, scene.camera, theirs) < 0.05
    assert state(scene.camera)[:3] == pytest.approx(before[:3], abs=1e-4)


@pytest.mark.parametrize("turn", ["XYZ", "ZYX", "QUATERNION", "AXIS_ANGLE"])
def test_a_camera_is_read_at_a_frame_in_every_way_of_writing_rotations(scene, turn):
    item = scene.camera
    item.rotation_mode = turn
    wanted = Quaternion((0.3, 0.5, -0.7, 0.4)).normalized()
    for frame, rotation in ((11, Quaternion()), (31, wanted)):
        if turn == "QUATERNION":
            item.rotation_quaternion = rotation
        elif turn == "AXIS_ANGLE":
            axis, angle = rotation.to_axis_angle()
            item.rotation_axis_angle = (angle, *axis)
        else:
            item.rotation_euler = rotation.to_euler(turn)
        path = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}.get(turn, "rotation_euler")
        item.location.x = frame
        item.keyframe_insert(path, frame=frame)
        item.keyframe_insert("location", frame=frame)
    start = motion.start_of(item, 31)
    assert start.rotation.rotation_difference(wanted).angle == pytest.approx(0, abs=1e-3)
    assert start.location.x == pytest.approx(31)
    scene.frame_set(18)
    there = motion.start_of(item, 18)
    bpy.context.view_layer.update()
    found = Matrix.LocRotScale(there.location, there.rotation, None)
    assert np.array(found) == pytest.approx(np.array(item.matrix_world), abs=1e-4)


def test_a_camera_that_cannot_take_keys_is_refused_before_anything_is_measured(scene, evaluator):
    asked = evaluator(MOVING)
    scene.camera.parent = bpy.data.objects.new("Rig", None)
    with pytest.raises(RuntimeError, match="parent 'Rig'"):
        bpy.ops.matchcut.use_measured_motion()
    assert asked() == []
