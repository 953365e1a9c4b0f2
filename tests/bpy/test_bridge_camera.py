# SPDX-License-Identifier: GPL-3.0-or-later
"""A fitted camera in a real scene: what renders is what was fitted, and nothing but that camera has changed."""

import bpy
import numpy as np
import pytest
from bpy_extras.object_utils import world_to_camera_view
from matchcut.addon.agent.camera import camera_state, curves_of, set_camera
from matchcut.addon.agent.scene_check import check_scene
from matchcut.addon.render.camera import intrinsics, world_to_camera
from matchcut.evaluator.camera.core.blender import Sensor, to_blender
from matchcut.evaluator.camera.core.pinhole import Pinhole, picture_centre, quaternion_of, rotation_of
from matchcut.evaluator.protocol.bridge import BridgeCallError
from mathutils import Vector

SIZE = (96, 54)
SENSOR = {"fit": "AUTO", "width": 36.0, "height": 24.0}
POINTS = np.random.default_rng(2).uniform(-1, 1, (20, 3))


@pytest.fixture(autouse=True)
def scene():
    bpy.ops.wm.read_factory_settings()
    scene = bpy.context.scene
    scene.render.resolution_x, scene.render.resolution_y = SIZE
    scene.frame_start, scene.frame_end = 11, 60
    scene.frame_set(11)
    return scene


def pinhole(turn=0.0, focal=90.0, shift=(3.5, -2.0)):
    forward = np.array([0.6, 0.7, -0.4]) / np.linalg.norm([0.6, 0.7, -0.4])
    right = np.cross(forward, (0.1, 0, 1))
    right /= np.linalg.norm(right)
    rotation = rotation_of(np.array([0.0, turn, 0.0])) @ np.array([right, np.cross(forward, right), forward])
    x, y = picture_centre(SIZE)
    return Pinhole(SIZE, focal, (x + shift[0], y + shift[1]), rotation, -4 * forward + np.array([0, 0, turn]))


def key(camera, frame=None, sensor=SENSOR):
    written = to_blender(camera, Sensor(sensor["fit"], sensor["width"], sensor["height"]))
    pose = written.matrix_world
    return {
        "frame": frame, "location": pose[:3, 3].tolist(), "rotation_quaternion": quaternion_of(pose[:3, :3]).tolist(),
        "lens": written.lens, "shift_x": written.shift_x, "shift_y": written.shift_y,
    }  # fmt: skip


def path(frames):
    return [pinhole(0.02 * index, 90 + index) for index in range(len(frames))]


def seen(scene, item):
    views = np.array([world_to_camera_view(scene, item, Vector(point)) for point in POINTS])
    return np.column_stack([views[:, 0] * SIZE[0] - 0.5, (1 - views[:, 1]) * SIZE[1] - 0.5])


def sees_as(scene, item, camera):
    """How far off the fit's the pixels are where Blender's camera sees POINTS at the current frame."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    found = item.evaluated_get(depsgraph)
    recorded = (
        intrinsics(found, depsgraph, SIZE)
        @ (world_to_camera(found) @ np.column_stack([POINTS, np.ones(len(POINTS))]).T)[:3]
    )
    own = (recorded[:2] / recorded[2]).T
    wanted = camera.project(POINTS)
    return max(np.abs(seen(scene, item) - wanted).max(), np.abs(own - wanted).max())


def everything():
    """All objects, cameras and actions, as text."""
    return {
        one.name: (
            [list(row) for row in one.matrix_world],
            one.data.name if one.data else "",
            [(c.data_path, c.array_index, [tuple(p.co) for p in c.keyframe_points]) for c in curves_of(one)],
        )
        for one in bpy.data.objects
    }


def test_a_new_camera_sees_as_the_fit_does_and_nothing_else_changes(scene):
    before, was = everything(), scene.camera
    ours = pinhole()
    assert camera_state("Match")["exists"] is False
    result = set_camera([{"name": "Match", "keyframes": [key(ours)]}], SENSOR, label="fit Match")
    item = bpy.data.objects["Match"]
    assert sees_as(scene, item, ours) < 1e-3
    assert result["cameras"] == [{"camera": "Match", "created": True, "keyframes": 0, "first": None, "last": None}]
    after = everything()
    after.pop("Match")
    assert after == before and scene.camera == was and scene.frame_current == 11
    assert result["undo_step"] == "Agent: fit Match"


@pytest.mark.parametrize("fit", ["AUTO", "HORIZONTAL", "VERTICAL"])
def test_an_existing_camera_keeps_its_sensor(scene, fit):
    data = scene.camera.data
    data.sensor_fit, data.sensor_width, data.sensor_height, data.type = fit, 30.0, 17.0, "ORTHO"
    state = camera_state("Camera")
    assert state["sensor"] == {"fit": fit, "width": 30.0, "height": 17.0} and state["size"] == list(SIZE)
    ours = pinhole()
    result = set_camera([{"name": "Camera", "keyframes": [key(ours, sensor=state["sensor"])]}], state["sensor"])
    assert not result["cameras"][0]["created"] and sees_as(scene, scene.camera, ours) < 1e-3
    assert (data.sensor_width, data.type) == (30.0, "PERSP")


@pytest.mark.parametrize("mode", ["XYZ", "ZYX", "QUATERNION", "AXIS_ANGLE"])
def test_a_path_becomes_keyframes_at_the_scene_s_frames(scene, mode):
    item = scene.camera
    item.rotation_mode = mode
    frames = [3, 4, 5, 8]
    cameras = path(frames)
    result = set_camera([{"name": "Camera", "keyframes": [*map(key, cameras, frames)]}], SENSOR)
    assert (result["cameras"][0]["first"], result["cameras"][0]["keyframes"]) == (3, 4)
    for frame, camera in zip(frames, cameras, strict=True):
        scene.frame_set(11 + frame)
        assert sees_as(scene, item, camera) < 2e-3
    for curve in [*curves_of(item), *curves_of(item.data)]:
        assert [point.co.x for point in curve.keyframe_points] == [14, 15, 16, 19]
        assert {point.interpolation for point in curve.keyframe_points} == {"LINEAR"}
    assert item.rotation_mode == mode


def test_keys_in_the_interval_are_replaced_and_those_outside_stay(scene):
    item = scene.camera
    for frame in (11, 13, 20, 40):
        item.location = (frame, 0, 0)
        item.keyframe_insert("location", frame=frame)
    item.location = (1, 2, 3)
    item.keyframe_insert("location", frame=13.5)
    frames = [2, 3, 9]
    set_camera([{"name": "Camera", "keyframes": [*map(key, path(frames), frames)]}], SENSOR, "BEZIER")
    curve = next(one for one in curves_of(item) if (one.data_path, one.array_index) == ("location", 0))
    assert [point.co.x for point in curve.keyframe_points] == [11, 13, 14, 20, 40]
    values = [point.co.y for point in curve.keyframe_points]
    assert (values[0], values[-1]) == (11, 40) and values[1] != 13
    assert [p.interpolation for p in curve.keyframe_points][1:4] == ["BEZIER"] * 3


def test_the_current_frame_shows_the_new_keys_at_once_and_others_keep_what_is_not_keyed(scene):
    cube = bpy.data.objects["Cube"]
    cube.keyframe_insert("location", frame=1)
    cube.location = (7, 8, 9)  # set without a key: evaluating the frame again would lose it
    scene.frame_set(14)
    cube.location = (7, 8, 9)
    frames = [2, 3, 4]
    cameras = path(frames)
    set_camera([{"name": "Camera", "keyframes": [*map(key, cameras, frames)]}], SENSOR)
    assert sees_as(scene, scene.camera, cameras[1]) < 2e-3
    assert tuple(cube.location) == (7, 8, 9)


def test_one_picture_on_an_animated_camera_is_a_key_at_the_current_frame(scene):
    item = scene.camera
    item.keyframe_insert("location", frame=1)
    ours = pinhole()
    result = set_camera([{"name": "Camera", "keyframes": [key(ours)]}], SENSOR)
    assert any("scene frame 11" in note for note in result["notes"])
    scene.frame_set(12)
    scene.frame_set(11)
    assert np.allclose(item.location, key(ours)["location"], atol=1e-5)


def test_shots_get_cameras_of_their_own_bound_by_markers(scene):
    scene.timeline_markers.new("note", frame=31)
    shots = [
        {"name": "Shot", "keyframes": [*map(key, path([0, 1]), [0, 1])]},
        {"name": "Shot 2", "keyframes": [*map(key, path([20, 21]), [20, 21])]},
    ]
    for _ in range(2):  # the second time nothing is added
        set_camera(shots, SENSOR)
    bound = {marker.frame: marker.camera.name for marker in scene.timeline_markers if marker.camera}
    assert bound == {11: "Shot", 31: "Shot 2"} and len(scene.timeline_markers) == 3
    assert [one.name for one in bpy.data.cameras if one.name.startswith("Shot")] == ["Shot", "Shot 2"]


def test_what_others_share_stays_theirs(scene):
    other = bpy.data.objects.new("Other", scene.camera.data)
    scene.collection.objects.link(other)
    scene.camera.keyframe_insert("location", frame=11)
    other.animation_data_create().action = scene.camera.animation_data.action
    other.animation_data.action_slot = scene.camera.animation_data.action_slot
    lens = other.data.lens
    keys = [(c.data_path, [tuple(p.co) for p in c.keyframe_points]) for c in curves_of(other)]
    frames = [0, 1]
    result = set_camera([{"name": "Camera", "keyframes": [*map(key, path(frames), frames)]}], SENSOR)
    assert other.data.lens == lens and other.data != scene.camera.data
    assert [(c.data_path, [tuple(p.co) for p in c.keyframe_points]) for c in curves_of(other)] == keys
    assert len(result["notes"]) == 2
    scene.frame_set(12)
    assert sees_as(scene, scene.camera, path(frames)[1]) < 2e-3


def test_a_scene_without_a_camera_gets_this_one(scene):
    bpy.data.objects.remove(scene.camera)
    result = set_camera([{"name": "Match", "keyframes": [key(pinhole())]}], SENSOR)
    assert scene.camera.name == "Match" and "it had none" in result["notes"][0]


def blocked(scene, how):
    item, cube = scene.camera, bpy.data.objects["Cube"]
    if how == "parent":
        item.parent = cube
    elif how == "constraint":
        item.constraints.new("TRACK_TO").target = cube
    elif how == "driver":
        item.driver_add("location", 0)
    elif how == "delta":
        item.delta_location.x = 1
    elif how == "modifiers":
        item.keyframe_insert("location", frame=1)
        curves_of(item)[0].modifiers.new("NOISE")
    elif how == "not in this scene":
        item.users_collection[0].objects.unlink(item)
    elif how == "NLA":
        item.keyframe_insert("location", frame=1)
        track = item.animation_data.nla_tracks.new()
        track.strips.new("strip", 1, item.animation_data.action)
    return "Camera"


@pytest.mark.parametrize("how", ["parent", "constraint", "driver", "delta", "modifiers", "not in this scene", "NLA"])
def test_a_camera_that_would_not_hold_a_fit_says_why_and_stays(scene, how):
    name = blocked(scene, how)
    before = everything()
    for method in (
        lambda: camera_state(name),
        lambda: set_camera([{"name": name, "keyframes": [key(pinhole())]}], SENSOR),
    ):
        with pytest.raises(BridgeCallError, match=how) as caught:
            method()
        assert caught.value.code == "bad_params" and "\n" not in str(caught.value)
    assert everything() == before


GOOD = key(pinhole())


@pytest.mark.parametrize(
    ("cameras", "sensor", "said"),
    [
        ([], SENSOR, "at least one"),
        ([{"name": "Cube", "keyframes": [GOOD]}], SENSOR, "type MESH"),
        ([{"name": " ", "keyframes": [GOOD]}], SENSOR, "no name"),
        ([{"name": "x" * 61, "keyframes": [GOOD]}], SENSOR, "no name"),
        ([{"name": "A", "keyframes": []}], SENSOR, "keyframe"),
        ([{"name": "A", "keyframes": [GOOD]}] * 2, SENSOR, "of its own"),
        ([{"name": "A", "keyframes": [{**GOOD, "location": [0, float("nan"), 0]}]}], SENSOR, "location"),
        ([{"name": "A", "keyframes": [{**GOOD, "location": "abc"}]}], SENSOR, "location"),
        ([{"name": "A", "keyframes": [{**GOOD, "rotation_quaternion": [0, 0, 0, 0]}]}], SENSOR, "length 1"),
        ([{"name": "A", "keyframes": [{**GOOD, "lens": 0.5}]}], SENSOR, "lens"),
        ([{"name": "A", "keyframes": [{**GOOD, "frame": -1}]}], SENSOR, "frame"),
        ([{"name": "A", "keyframes": [{**GOOD, "frame": 3}, {**GOOD, "frame": 3}]}], SENSOR, "increase"),
        ([{"name": "A", "keyframes": [GOOD, GOOD]}], SENSOR, "increase"),
        ([{"name": "A", "keyframes": [GOOD]}], {"fit": "NONE"}, "sensor"),
        ([{"name": "A", "keyframes": [GOOD]}], {**SENSOR, "width": float("inf")}, "width"),
    ],
)
def test_bad_cameras_change_nothing(cameras, sensor, said):
    before = everything()
    with pytest.raises(BridgeCallError, match=said) as caught:
        set_camera(cameras, sensor)
    assert caught.value.code == "bad_params" and everything() == before
    assert not [one for one in bpy.data.cameras if one.name == "A"]


TIMELINE = {"width": 96, "height": 54, "rate": "24/1", "frames": 50}


def test_the_scene_s_own_timeline_is_held_against_the_reference(scene):
    assert check_scene(TIMELINE, [])["problems"] == []
    found = check_scene({**TIMELINE, "rate": "25/1", "frames": 40, "width": 100}, [20])["problems"]
    assert len(found) == 4 and "cuts at frame 20 (scene frame 31)" in found[-1]
    other = bpy.data.objects.new("Other", bpy.data.cameras.new("Other"))
    scene.collection.objects.link(other)
    scene.timeline_markers.new("one", frame=11).camera = scene.camera
    scene.timeline_markers.new("two", frame=31).camera = other
    assert check_scene(TIMELINE, [20])["problems"] == []
    (late,) = check_scene(TIMELINE, [20, 21])["problems"]
    assert "frame 21" in late
    early = check_scene(TIMELINE, [22])["problems"]
    assert len(early) == 2 and "nearest is at frame 22" in early[1]


def test_a_jump_of_one_camera_is_a_cut_and_a_move_is_none(scene):
    frames = list(range(50))
    moving = [pinhole(0.01 * frame + (1.5 if frame >= 20 else 0), 90) for frame in frames]
    set_camera([{"name": "Camera", "keyframes": [*map(key, moving, frames)]}], SENSOR)
    assert check_scene(TIMELINE, [20])["problems"] == []
    assert "frame 25" in check_scene(TIMELINE, [20, 25])["problems"][0]


@pytest.mark.parametrize("cuts", [[0], [50], ["a"], [1.5], None])
def test_cuts_that_are_none_are_refused(cuts):
    with pytest.raises(BridgeCallError, match="cuts"):
        check_scene(TIMELINE, cuts)
