# SPDX-License-Identifier: GPL-3.0-or-later
"""fit_camera through the SDK's own client: real fits by children, with a stub in place of Blender."""

import asyncio
from fractions import Fraction

import numpy as np
import pytest
from bridge_stub import BridgeStub
from camera_samples import camera, drawn, signed
from classical_scenes import path, video, view
from matchcut.evaluator.camera.core.blender import BlenderCamera, Sensor, from_blender
from matchcut.evaluator.camera.core.pinhole import Pinhole, vector_of
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.mcp_server import camera_tools
from matchcut.mcp_server.camera_answers import _euler, _matrix
from matchcut.mcp_server.camera_paths import held_to
from matchcut.mcp_server.camera_request import asked_for, outside
from matchcut.mcp_server.renders import Renders
from matchcut.mcp_server.server import make_server
from matchcut.mcp_server.session import Session
from matchcut.mcp_server.workplace import Task, Workplace
from mcp import Client

SIZE = (640, 360)
BOX = np.array([(x, y, z) for x in (0, 3) for y in (0, 2) for z in (0, 2.2)], dtype=float)
SENSOR = {"fit": "HORIZONTAL", "width": 32.0, "height": 18.0}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "reference.mp4"
    encode(np.zeros((3, 360, 640, 3), np.uint8), Fraction(24), path, reporter=SilentReporter(), total=3)
    return path


@pytest.fixture
def bridge():
    """A Blender that notes the cameras that it is given."""
    given = []

    def camera_state(name):
        exists = name == "Camera"
        return {"exists": exists, "sensor": SENSOR if exists else None, "size": [1280, 720], "frame_start": 1}

    def set_camera(cameras, sensor, interpolation, label):
        given.append((cameras, sensor, interpolation, label))
        told = []
        for one in cameras:
            frames = [key["frame"] for key in one["keyframes"] if key["frame"] is not None]
            ends = {"first": min(frames, default=None), "last": max(frames, default=None)}
            told.append({"camera": one["name"], "created": True, "keyframes": len(frames), **ends})
        return {"cameras": told, "notes": [], "undo_step": f"Agent: {label}"}

    stub = BridgeStub({"camera_state": camera_state, "set_camera": set_camera})
    stub.given = given
    yield stub
    stub.stop()


def no_launch(label, given_up):
    raise OperationalError("no Blender here; run: matchcut doctor")


def fit(task=None, **arguments):
    """What fit_camera answers, or the error's text."""

    async def main():
        workplace = Workplace([], Task(reference=task))
        async with Client(make_server(Session(no_launch), Renders(workplace))) as client:
            result = await client.call_tool("fit_camera", arguments)
            return "\n".join(one.text for one in result.content) if result.is_error else result.structured_content

    return asyncio.run(main())


def seen(size=SIZE, **options):
    return camera(size, focal=700.0, yaw=40.0, pitch=-18.0, roll=2.0, centre=(-4.0, -7.0, 3.5), **options)


def rows(ours, frame=None):
    pixels = ours.project(BOX)
    front = [] if frame is None else [frame]
    return [[*front, *pixel, *place] for pixel, place in zip(pixels.tolist(), BOX.tolist(), strict=True)]


def laid_down(key, sensor, size=SIZE):
    """The pinhole of what Blender was given."""
    pose = np.eye(4)
    pose[:3, :3] = np.array(_matrix(key["rotation_quaternion"]))
    pose[:3, 3] = key["location"]
    span = Sensor(sensor["fit"], sensor["width"], sensor["height"])
    return from_blender(BlenderCamera(key["lens"], key["shift_x"], key["shift_y"], span, pose), size)


def test_points_of_one_picture_give_a_camera_in_blender_s_words(reference):
    ours = seen()
    answer = fit(reference, points=rows(ours))
    assert answer["rms_px"] < 1e-3 and answer["lens_mm"] == pytest.approx(700 * 36 / 640, rel=1e-5)
    assert np.allclose(answer["location"], ours.centre, atol=1e-4)
    assert answer["applied"] == [] and answer["undo_step"] == ""
    assert answer["sigma"]["lens_mm"] > 0 and len(answer["worst_px"]) == 5


def test_a_fit_is_laid_down_with_the_camera_s_own_sensor(reference, bridge):
    ours = seen()
    answer = fit(reference, points=rows(ours), apply="Camera")
    (cameras, sensor, _, label), *_ = bridge.given
    assert sensor == SENSOR and label == "fit Camera" and answer["undo_step"] == "Agent: fit Camera"
    (key,) = cameras[0]["keyframes"]
    assert key["frame"] is None and answer["applied"] == ["camera 'Camera' was made"]
    assert np.abs(laid_down(key, sensor).project(BOX) - ours.project(BOX)).max() < 1e-3
    assert bridge.ran == ["camera_state", "set_camera"] and answer["notes"] == []


def test_a_named_frame_becomes_a_keyframe(reference, bridge):
    fit(reference, points=rows(seen(), 2), apply="New")
    fit(reference, points=rows(seen()), apply="New", options={"frame": 1, "interpolation": "constant"})
    assert [given[0][0]["keyframes"][0]["frame"] for given in bridge.given] == [2, 1]
    assert bridge.given[0][1] == {"fit": "AUTO", "width": 36.0, "height": 24.0}
    assert bridge.given[1][2] == "CONSTANT"


def test_points_of_several_frames_give_a_path(bridge):
    cameras = [
        camera(SIZE, focal=700.0, yaw=40.0 + step, pitch=-18.0, centre=(-4 + 0.1 * step, -7, 3.5)) for step in (0, 1, 2)
    ]
    given = [row for frame, ours in zip((4, 5, 9), cameras, strict=True) for row in rows(ours, frame)]
    answer = fit(points=given, apply="Camera", options={"size": SIZE})
    assert [key["frame"] for key in answer["path"]] == [4, 5, 9] and answer["rms_px"] < 1e-3
    assert answer["path"][2]["lens_mm"] == pytest.approx(700 * 32 / 640, rel=1e-4)
    keys = bridge.given[0][0][0]["keyframes"]
    for key, ours in zip(keys, cameras, strict=True):
        assert np.abs(laid_down(key, SENSOR).project(BOX) - ours.project(BOX)).max() < 0.01
    assert "3 keyframes, frames 4 to 9" in answer["applied"][0]


def test_lines_with_an_origin_and_a_length_give_a_camera(bridge):
    ours = seen()
    lines = {signed(ours, axis): drawn(ours, axis, seed=index).tolist() for index, axis in enumerate("xyz")}
    start, end = ours.project([(0, 0, 0), (0, 0, 2.2)]).tolist()
    options = {"size": SIZE, "origin": start, "length": [*start, *end, "z", 2.2]}
    answer = fit(lines=lines, options=options, apply="New")
    assert answer["lens_mm"] == pytest.approx(700 * 36 / 640, rel=1e-3)
    assert np.allclose(answer["location"], ours.centre, atol=0.01)
    key = bridge.given[0][0][0]["keyframes"][0]
    assert np.abs(laid_down(key, bridge.given[0][1]).project(BOX) - ours.project(BOX)).max() < 0.1


def test_lines_without_an_origin_are_told_but_set_nothing(bridge):
    ours = seen()
    lines = {signed(ours, axis): drawn(ours, axis).tolist() for axis in "xy"}
    told = fit(lines=lines, options={"size": SIZE})
    assert told["location"] is None and told["lens_mm"] > 0
    refused = fit(lines=lines, options={"size": SIZE}, apply="New")
    assert "bad_params: " in refused and "no position" in refused and bridge.given == []


def test_three_points_with_a_known_lens_name_the_other_cameras():
    ours = seen()
    answer = fit(points=rows(ours)[:3], options={"size": SIZE, "lens_mm": 700 * 36 / 640})
    assert answer["rms_px"] < 1e-3 and answer["others"] and "mm at" in answer["others"][0]


GOOD = [[x, y, *place] for (x, y), place in zip(seen().project(BOX).tolist(), BOX.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "give points"),
        ({"points": []}, "give points"),
        ({"points": GOOD[:3]}, "3 points"),
        ({"points": [[10 * n, 20 * n, n, n, n] for n in range(6)]}, "line"),
        ({"points": [*GOOD[:5], [1, 2, 3]]}, "point 5"),
        ({"points": [*GOOD[:5], ["a", 2, 3, 4, 5]]}, "point 5"),
        ({"points": [*GOOD[:5], [True, 2, 3, 4, 5]]}, "point 5"),
        ({"points": [*GOOD[:5], [1e300, 2, 3, 4, 5]]}, "point 5"),
        ({"points": [*GOOD[:5], [None, 2, 3, 4, 5]]}, "point 5"),
        ({"points": "abc"}, "expected a list"),
        ({"points": ["abc"]}, "point 0"),
        ({"points": [[1, 2, 3, 4, 5, 6, 7]]}, "point 0"),
        ({"points": [[0.5, *row] for row in GOOD]}, "whole number"),
        ({"points": [*GOOD[:7], [700, 20, 1, 1, 1]]}, "outside of the picture"),
        ({"points": GOOD, "lines": {"x": [[0, 0, 1, 1], [0, 5, 5, 5]]}}, "give one of them"),
        ({"lines": {"q": [[0, 0, 1, 1], [0, 5, 5, 5]]}}, "axis"),
        ({"lines": {"x": [[0, 0, 100, 1], [0, 5, 50, 5]]}}, "focal"),
        ({"lines": {"x": [[0, 0, 100, 1]], "y": [[0, 5, 50, 5]]}}, "lines"),
        ({"lines": {"x": "abc"}}, "expected a list"),
        ({"points": GOOD, "options": {"nonsense": 1}}, "'nonsense' is unknown"),
        ({"points": GOOD, "options": {"focal_px": -5}}, "focal_px"),
        ({"points": GOOD, "options": {"scale": 2}}, "motion=true"),
        ({"points": GOOD, "options": {"frame": -1}}, "frame"),
        ({"points": GOOD, "options": {"interpolation": "wavy"}}, "interpolation"),
        ({"points": GOOD, "options": {"sensor": {"fit": "NONE"}}}, "sensor"),
        ({"points": [[f, *row] for f in (0, 1) for row in GOOD], "motion": True, "options": {"scale": 2}}, "leave out"),
    ],
)
def test_bad_input_is_one_line_that_says_what_to_do(arguments, said):
    options = {"size": SIZE, **arguments.pop("options", {})}
    refused = fit(**arguments, options=options)
    assert isinstance(refused, str) and "bad_params: " in refused and said in refused, refused
    assert len(refused.splitlines()) == 1 and len(refused) < 600
    assert "/tmp" not in refused and "request.json" not in refused


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400])
def test_numbers_that_are_none_are_refused(value):
    with pytest.raises(BadInputError, match="point 0"):
        asked_for([[value, 0, 0, 0, 0]], None, False, None)


def test_a_camera_that_cannot_take_a_fit_is_said_before_the_work(bridge, reference):
    def refuse(name):
        raise BadInputError(
            f"{name!r} cannot take a fitted camera: it has the parent 'Rig'; mend that, or name another"
        )

    bridge.dispatcher._methods["camera_state"] = refuse
    refused = fit(reference, points=GOOD, apply="Camera")
    assert "bad_params: " in refused and "parent" in refused and bridge.ran == []


def test_without_a_reference_it_says_so(bridge, tmp_path):
    bridge.dispatcher._methods["scene_place"] = lambda: {"file": "", "reference": "", "blender": ""}
    assert "name the reference video" in fit(points=GOOD)
    assert "not in a folder" in fit(points=GOOD, reference="/none.mp4")
    gone = fit(tmp_path / "gone.mp4", points=GOOD)
    assert "bad_params: " in gone and "the reference cannot be read" in gone


def test_a_scene_of_another_shape_is_told(bridge):
    answer = fit(points=GOOD, apply="Camera", options={"size": [640, 400]})
    assert "the scene renders 1280x720, and the reference is 640x400" in answer["notes"][-1]


def test_pixels_outside_are_named_with_their_frame():
    asked = asked_for([[3, 0, 0, 0, 0, 0], [4, 9, 99, 0, 0, 0]], None, False, {})
    assert outside(asked.request, (10, 100)) == "" and "of frame 4" in outside(asked.request, (10, 99))


def test_euler_angles_are_blender_s():
    rng = np.random.default_rng(1)
    for angles in [*rng.uniform(-89, 89, (50, 3)), (0, 90, 0), (30, -90, 0)]:
        x, y, z = np.radians(angles)
        Rx = np.array([[1, 0, 0], [0, np.cos(x), -np.sin(x)], [0, np.sin(x), np.cos(x)]])
        Ry = np.array([[np.cos(y), 0, np.sin(y)], [0, 1, 0], [-np.sin(y), 0, np.cos(y)]])
        Rz = np.array([[np.cos(z), -np.sin(z), 0], [np.sin(z), np.cos(z), 0], [0, 0, 1]])
        assert np.allclose(_euler((Rz @ Ry @ Rx).tolist()), angles, atol=1e-3)


class Measured:
    """Stands in for the command that measures."""

    def __init__(self, state, error=""):
        self.state, self.error = state, error

    def progress(self):
        return "geometry: 3 of 72, 9 s"


def test_a_measurement_that_takes_longer_is_waited_for_by_calling_again(reference, monkeypatch):
    async def motion(self, context, video, options, seconds):
        return Measured("running")

    monkeypatch.setattr(camera_tools.Measurements, "motion", motion)
    answer = fit(reference, motion=True)
    assert answer["state"] == "running" and "3 of 72" in answer["note"] and "call again" in answer["note"]
    monkeypatch.setattr(camera_tools.Measurements, "motion", lambda *_: _failed())
    assert "failed: no motion" in fit(reference, motion=True)


async def _failed():
    return Measured("failed", "failed: no motion")


def test_the_measured_motion_is_laid_down_from_fitted_frames_on(tmp_path, bridge):
    """What begins at one frame is the true path but for its scale, which no picture tells; two frames tell it."""
    truth = [Pinhole((240, 136), 220.0, (119.5, 67.5), one[:3, :3], -one[:3, :3].T @ one[:3, 3]) for one in path(10)]
    reference = video(tmp_path, [view(one, grain=index)[0] for index, one in enumerate(path(10))])
    marks = np.array([(x, y, z) for x in (-1, 1.5) for y in (-0.5, 1.2) for z in (4.5, 7)], dtype=float)

    def picked(*frames):
        return [
            [at, *pixel, *place]
            for at in frames
            for pixel, place in zip(truth[at].project(marks).tolist(), marks.tolist(), strict=True)
        ]

    def laid(answer):
        assert answer["state"] == "done" and "10 keyframes, frames 0 to 9" in answer["applied"][0]
        cameras, sensor, *_ = bridge.given.pop()
        return [laid_down(key, sensor, (240, 136)) for key in cameras[0]["keyframes"]]

    found = laid(fit(reference, points=picked(4), motion=True, apply="Match", options={"cuts": []}))
    assert np.abs(found[4].project(marks) - truth[4].project(marks)).max() < 0.1, "it begins at the fit"
    ways = np.array([one.centre - truth[4].centre for one in found])
    true_ways = np.array([one.centre - truth[4].centre for one in truth])
    scale = float((ways * true_ways).sum() / (ways**2).sum())
    assert np.abs(ways * scale - true_ways).max() < 0.05 * np.abs(true_ways).max()
    for one, true in zip(found, truth, strict=True):
        assert np.degrees(np.linalg.norm(vector_of(one.rotation @ true.rotation.T))) < 0.5
    told = fit(reference, points=picked(0, 9), motion=True, apply="Match", options={"cuts": []})
    for one, true in zip(laid(told), truth, strict=True):
        assert np.abs(one.project(marks) - true.project(marks)).max() < 1.5
    assert any("is from the points of frames 9" in note for note in told["notes"])


def measured_path(*places, lens=30.0):
    keys = [
        {
            "frame": number, "location": list(place), "rotation_quaternion": [1, 0, 0, 0], "lens": lens,
            "shift_x": 0.0, "shift_y": 0.0,
        }
        for number, place in enumerate(places)
    ]  # fmt: skip
    shot = {"first": 0, "last": len(keys) - 1, "focal_px": 100.0, "keyframes": keys}
    return {"shots": [shot], "notes": ["Frame 0: a focal length of 9 px was measured"], "unit": "u"}


FITTED = {"camera": {"blender": {"lens": 33.0, "shift_x": 0.1, "shift_y": 0.0}}}


def test_a_measured_path_takes_the_fit_s_lens_and_the_points_scale():
    held = held_to(measured_path((1, 0, 0), (2, 0, 0), (3, 1, 0)), FITTED, 0, {0: (1, 0, 0), 2: (5, 2, 0)})
    keys = held["shots"][0]["keyframes"]
    assert np.allclose([key["location"] for key in keys], [[1, 0, 0], [3, 0, 0], [5, 2, 0]])
    assert (
        {key["lens"] for key in keys} == {33.0} and keys[1]["shift_x"] == 0.1 and held["unit"] == "that of the points"
    )
    assert "33.00 mm; 30.00 mm was measured" in " ".join(held["notes"])
    with pytest.raises(BadInputError, match="against the measured way"):
        held_to(measured_path((0, 0, 0), (1, 0, 0)), FITTED, 0, {1: (-1, 0, 0)})
    bent = held_to(measured_path((0, 0, 0), (1, 0, 0), (2, 0, 0)), FITTED, 0, {0: (0, 0, 0), 2: (4, 1, 0)})
    assert np.allclose([key["location"] for key in bent["shots"][0]["keyframes"]], [(0, 0, 0), (2, 0.5, 0), (4, 1, 0)])
    still = held_to(measured_path((0, 0, 0), (0, 0, 0)), FITTED, 0, {1: (1, 0, 0)})
    assert "tell no scale" in still["notes"][0] and still["unit"] == "u"
