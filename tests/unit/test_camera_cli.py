# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut camera` and `matchcut camera motion`: requests in, cameras and keyframes out."""

import io
import json
import re
import sys
from itertools import pairwise

import numpy as np
import pytest
from camera_samples import camera, segment, sets_of
from matchcut.evaluator.camera.core.blender import Sensor, focal_of
from matchcut.evaluator.camera.core.pinhole import quaternion_of
from matchcut.evaluator.camera.records import CameraFit, CameraPath, CameraRequest
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.sgc.records import FrameGeometry, Geometry, PairGeometry

SEEN = camera()
CUBE = np.array([(x, y, z) for x in (0, 2) for y in (1, 3) for z in (0, 2)], dtype=float)


def lines_request(**more):
    origin = SEEN.project([(0, 0, 0)])[0].tolist()
    foot, head = segment(SEEN, (1, 2, 0), (1, 2, 1.8))
    request = {
        "format": "matchcut-camera-request/1",
        "size": list(SEEN.size),
        "lines": [{"axis": one.axis, "segments": one.segments.tolist()} for one in sets_of(SEEN, "xy")],
        "origin": origin,
        "length": {"start": foot, "end": head, "along": "z", "length": 1.8},
        "shapes": [{"kind": "person", "pixel": foot}, {"kind": "box", "pixel": foot, "heading_deg": 30}],
    }
    return {**request, **more}


def points_of(seen):
    return [
        {"name": f"corner {index}", "world": world.tolist(), "pixel": pixel.tolist()}
        for index, (world, pixel) in enumerate(zip(CUBE, seen.project(CUBE), strict=True))
    ]


def points_request(**more):
    return {"size": list(SEEN.size), "points": points_of(SEEN), **more}


def frames_request(**more):
    path = [camera(yaw=35 + f, pitch=-20, centre=(3 + 0.1 * f, -8, 4)) for f in range(4)]
    return {
        "size": list(SEEN.size),
        "frames": [{"frame": 10 + f, "points": points_of(c)} for f, c in enumerate(path)],
        **more,
    }


def asked(tmp_path, capsys, request, *options):
    path = tmp_path / "request.json"
    path.write_text(json.dumps(request), encoding="utf-8")
    status = main(["camera", str(path), *options])
    answer = capsys.readouterr()
    return status, answer.out, answer.err


def test_lines_with_an_origin_and_a_length(tmp_path, capsys):
    status, out, _ = asked(tmp_path, capsys, lines_request(), "--json", "--out", str(tmp_path / "fit.json"))
    assert status == 0
    fit = CameraFit.read(tmp_path / "fit.json")
    assert fit == CameraFit.from_data(json.loads(out), "stdout")
    assert fit.camera.focal_px == pytest.approx(SEEN.focal) and fit.camera.focal_sigma_px > 0
    assert np.allclose(fit.camera.centre, SEEN.centre) and np.allclose(fit.camera.world_to_camera, SEEN.world_to_camera)
    assert fit.camera.blender.lens == pytest.approx(1500 * 36 / 1920)
    pose = np.array(fit.camera.blender.matrix_world)
    assert np.allclose(pose[:3, 2], -SEEN.rotation[2]) and np.allclose(pose[:3, 1], -SEEN.rotation[1])
    assert len(fit.shapes) == 2 and len(fit.shapes[1]) == 6
    assert len(fit.covariance) == len(fit.parameters) == 7


@pytest.mark.parametrize(("make", "words"), [
    (lines_request, ("mm on a sensor", "position", "left over")),
    (points_request, ("focal length     1500.00 px", "corner")),
    (frames_request, ("frames 10-13", "4 keyframes", "left over")),
])  # fmt: skip
def test_a_person_reads_what_was_found(tmp_path, capsys, make, words):
    status, out, err = asked(tmp_path, capsys, make())
    assert status == 0 and err == "" and all(word in out for word in words)


def test_a_request_on_standard_input(monkeypatch, capsys):
    text = json.dumps(points_request(lens_mm=1500 * 36 / 1920)).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main(["camera", "-", "--json"]) == 0
    fit = CameraFit.from_data(json.loads(capsys.readouterr().out), "stdout")
    assert fit.camera.focal_sigma_px is None and np.allclose(fit.camera.centre, SEEN.centre)


def test_a_program_gets_the_answer_in_a_message(tmp_path, capsys):
    status, out, _ = asked(tmp_path, capsys, points_request(), "--messages")
    (result, done) = (json.loads(line) for line in out.splitlines())
    assert status == 0 and done["type"] == "done"
    assert CameraFit.from_data(result["data"], "message").camera.focal_px == pytest.approx(1500)


def test_frames_give_keyframes(tmp_path, capsys):
    status, out, _ = asked(tmp_path, capsys, frames_request(), "--json")
    path = CameraPath.from_data(json.loads(out), "stdout")
    (shot,) = path.shots
    assert status == 0 and [key.frame for key in shot.keyframes] == [10, 11, 12, 13]
    assert shot.focal_px == pytest.approx(1500) and path.rms_px < 1e-6
    assert shot.keyframes[3].location == pytest.approx((3.3, -8, 4))


BAD = {
    "nothing": ({"size": [64, 48]}, "the request has nothing"),
    "both": (lines_request(points=points_request()["points"]), "lines and points"),
    "unknown field": (points_request(focal=3), "request.json: focal"),
    "two focal lengths": (points_request(focal_px=3, lens_mm=3), "leave out one"),
    "no size": (points_request(size=[0, 5]), "size"),
    "not finite": (points_request(focal_px=float("nan")), "NaN is no number"),
    "a length without an origin": (lines_request(origin=None, shapes=[]), "give the origin"),
    "a shape without a place": (lines_request(origin=None, length=None), "placed camera"),
    "an origin with points": (points_request(origin=[3, 4]), "go with lines"),
    "shapes with frames": (frames_request(shapes=[{"kind": "box", "pixel": [3, 4]}]), "one picture"),
    "free with frames": (frames_request(principal="free"), "known principal point"),
    "smooth without frames": (points_request(smooth_px=1), "goes with frames"),
    "a tiny sensor": (points_request(sensor={"width": 0.5}), "larger sensor"),
    "above the horizon": (lines_request(shapes=[{"kind": "box", "pixel": [900, -500]}]), "below the horizon"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_requests_are_refused_in_one_line(tmp_path, capsys, name):
    request, reason = BAD[name]
    status, out, err = asked(tmp_path, capsys, request)
    assert status == 2 and out == "" and reason in err and len(err.splitlines()) == 1


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, "3"])
def test_what_is_no_request_is_refused(monkeypatch, capsys, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["camera", "-"]) == 2
    assert "standard input" in capsys.readouterr().err


def cameras_file(folder, size=(960, 540), frames=5):
    path = [camera(size, 750.0, yaw=2.0 * f, pitch=0, roll=0, centre=(0.1 * f, 0, 0)) for f in range(frames)]
    data = {
        "format": "matchcut-cameras/1",
        "frames": [f"{f:04d}" for f in range(frames)],
        "intrinsics": [path[0].intrinsics.tolist()],
        "intrinsics_size": list(size),
        "world_to_camera": [one.world_to_camera.tolist() for one in path],
    }
    (folder / "cameras.json").write_text(json.dumps(data), encoding="utf-8")
    return path


def test_measured_cameras_become_keyframes(tmp_path, capsys):
    path = cameras_file(tmp_path)
    options = ["--size", "1920x1080", "--scale", "3", "--sensor-width", "24", "--json"]
    assert main(["camera", "motion", str(tmp_path / "cameras.json"), *options]) == 0
    found = CameraPath.from_data(json.loads(capsys.readouterr().out), "stdout")
    (shot,) = found.shots
    assert found.size == (1920, 1080) and (shot.first, shot.last) == (0, 4)
    for key, truth in zip(shot.keyframes, path, strict=True):
        assert focal_of(key.lens, found.size, Sensor("AUTO", 24.0)) == pytest.approx(2 * truth.focal)
        assert key.location == pytest.approx(3 * truth.centre)  # its world was level and along +y already
        assert abs(key.shift_x) < 1e-9
    assert all(np.dot(a.rotation_quaternion, b.rotation_quaternion) > 0.9 for a, b in pairwise(shot.keyframes))


def test_measured_cameras_begin_at_a_fit_or_stay(tmp_path, capsys):
    path = cameras_file(tmp_path)
    source = str(tmp_path / "cameras.json")
    asked(tmp_path, capsys, points_request(), "--out", str(tmp_path / "fit.json"))
    assert main(["camera", "motion", source, "--start", str(tmp_path / "fit.json"), "--json"]) == 0
    found = CameraPath.from_data(json.loads(capsys.readouterr().out), "stdout")
    assert found.shots[0].keyframes[0].location == pytest.approx(SEEN.centre)
    assert "750 px was measured, and 1500 px fitted" in found.notes[0]
    assert main(["camera", "motion", source, "--start", str(tmp_path / "fit.json"), "--at", "3", "--json"]) == 0
    later = CameraPath.from_data(json.loads(capsys.readouterr().out), "stdout").shots[0].keyframes
    assert later[3].location == pytest.approx(SEEN.centre) and later[0].location != pytest.approx(SEEN.centre)
    assert main(["camera", "motion", source, "--at", "9"]) == 2
    assert "--at 9: no camera was measured at this frame; there are some in frames 0-4" in capsys.readouterr().err
    assert main(["camera", "motion", source, "--world", "keep", "--json"]) == 0
    kept = CameraPath.from_data(json.loads(capsys.readouterr().out), "stdout").shots[0].keyframes[4]
    turned = path[4].rotation.T @ np.diag([1.0, -1, -1])
    assert np.abs(np.dot(kept.rotation_quaternion, quaternion_of(turned))) == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--size", "big"], "1920x1080"),
        (["--scale", "0"], "positive"),
        (["--scale", "nan"], "positive"),
        (["--sensor-width", "-3"], "positive"),
        (["--start", "missing.json"], "missing.json"),
        (["--start", "missing.json", "--world", "keep"], "leave out one"),
    ],
)
def test_bad_options_of_motion_are_refused(tmp_path, capsys, options, reason):
    cameras_file(tmp_path)
    assert main(["camera", "motion", str(tmp_path / "cameras.json"), *options]) == 2
    err = capsys.readouterr().err
    assert reason in err and len(err.splitlines()) == 1


def test_cameras_of_no_known_size_need_one(tmp_path, capsys):
    cameras_file(tmp_path)
    path = tmp_path / "cameras.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["intrinsics_size"] = None
    path.write_text(json.dumps(data), encoding="utf-8")
    assert main(["camera", "motion", str(path)]) == 2
    assert "--size" in capsys.readouterr().err


def test_defaults_of_a_request_are_those_of_the_docs():
    request = CameraRequest.from_data({"size": [64, 48]}, "here")
    assert request.sigma_px == 1 and request.principal is None and request.sensor.width == 36


def test_the_docs_show_what_their_requests_give(root, monkeypatch, capsys):
    text = (root / "docs" / "camera.md").read_text(encoding="utf-8")
    shown = re.findall(r"```json\n(.*?)```\n```text\n(.*?)```", text, re.DOTALL)
    assert len(shown) == 2
    for request, answer in shown:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(request.encode())))
        assert main(["camera", "-"]) == 0
        assert capsys.readouterr().out == answer


def test_every_shot_of_an_estimate_is_a_path_of_its_own(tmp_path, monkeypatch, capsys):
    path = [camera((96, 54), 80.0, yaw=3.0 * f, pitch=5, centre=(f, 2, 1)) for f in range(5)]

    def pairs():
        for first, last in ((0, 1), (2, 3)):
            frames = [
                FrameGeometry(f, *[np.zeros((54, 96))] * 3, path[f].intrinsics, path[f].world_to_camera)
                for f in (first, last)
            ]
            yield PairGeometry(*frames, None)

    shots = ((0, 1), (2, 3), (4, 4))
    geometry = Geometry("stub/1", "shared_with_poses", (96, 54), shots, pairs, 2, "a unit", notes=("a note",))
    monkeypatch.setattr("matchcut.evaluator.sgc.estimators.open_geometry", lambda *given, **options: geometry)
    monkeypatch.setattr("matchcut.evaluator.sgc.measure.find_shots", lambda *given: shots)
    (tmp_path / "cameras.json").write_text("{}", encoding="utf-8")
    assert main(["camera", "motion", str(tmp_path), "--world", "keep", "--json"]) == 0
    found = CameraPath.from_data(json.loads(capsys.readouterr().out), "stdout")
    assert [(shot.first, shot.last) for shot in found.shots] == [(0, 1), (2, 3)]
    assert found.shots[1].keyframes[1].location == pytest.approx(path[3].centre)
    assert found.source == "stub/1" and found.unit == "a unit" and found.notes == ["a note"]
    main(["camera", "motion", str(tmp_path)])
    assert "frames 2-3" in capsys.readouterr().out
