# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut motion` on videos whose motion is known, on bad ones, and its cache."""

import json
from fractions import Fraction

import classical_scenes as scenes
import motion_samples as samples
import numpy as np
import pytest
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.motion import measure
from matchcut.evaluator.motion.measure import measure_motion
from matchcut.evaluator.motion.records import Motion
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter
from media_samples import write_video

SILENT = SilentReporter()
LENS = 36 * scenes.FOCAL / scenes.WIDTH


def measured(folder, pictures, **options):
    return measure_motion(scenes.video(folder, pictures), reporter=SILENT, **options)


def only_shot(folder, pictures):
    (shot,) = measured(folder, pictures).shots
    return shot


def test_a_pan_and_a_zoom_with_a_cut_between(tmp_path):
    turned = samples.turning(14, pan_deg=12)
    # another room, so that the cut is one
    zoomed = [255 - picture[:, ::-1] for picture in samples.zooming(12, 1.4)]
    found = measured(tmp_path, [*turned, *zoomed])
    assert found.cuts == [14] and [(one.first, one.last) for one in found.shots] == [(0, 13), (14, 25)]
    pan, zoom = found.shots
    assert pan.kind == "pan right" and abs(pan.camera.pan_deg - 12) < 0.6 and abs(pan.camera.tilt_deg) < 0.2
    assert abs(pan.focal.mm / LENS - 1) < 0.06 and abs(pan.focal.mm - LENS) < 3 * pan.focal.sigma_mm
    assert pan.camera.move is None and "no parallax" in pan.camera.reason and pan.camera.parallax is False
    assert pan.keys[-1].location is None and abs(pan.keys[-1].rotation_deg[2] + 12) < 0.6
    assert -24 < pan.camera.shift_percent[0] < -16, "the picture goes to the left"
    assert zoom.kind == "zoom in" and abs(zoom.camera.zoom_factor - 1.4) < 0.02
    assert zoom.focal.mm is None and zoom.focal.reason and "something flat" in zoom.notes[-1]
    assert abs(zoom.keys[-1].lens_mm / zoom.keys[0].lens_mm - 1.4) < 0.02
    assert [one.kind for one in measure_motion(tmp_path / "video.mp4", at=20, reporter=SILENT).shots] == ["zoom in"]


@pytest.mark.parametrize(
    ("way", "kind", "axis"),
    [({"forward": 1.0}, "dolly in", 2), ({"right": -0.7}, "truck left", 0), ({"up": 0.6}, "pedestal up", 1)],
)
def test_a_straight_move_has_its_direction_and_length(tmp_path, way, kind, axis):
    shot = only_shot(tmp_path, samples.going(14, **way))
    depth = float(np.median(scenes.view(np.eye(4))[1]))
    (length,) = way.values()
    assert shot.kind == kind and shot.camera.parallax
    along = shot.camera.move[axis]
    # without a turn the focal length is unknown, and what is across the line of sight goes with it
    assert np.sign(along) == np.sign(length) and 0.6 < abs(along) * depth / abs(length) < 1.5
    assert abs(along) > 0.97 * np.linalg.norm(shot.camera.move)
    assert max(abs(shot.camera.pan_deg), abs(shot.camera.tilt_deg)) < 0.7
    assert shot.focal.mm is None and shot.focal.assumed_mm and shot.focal.reason


def test_an_orbit_has_its_angle_distance_and_lens(tmp_path):
    shot = only_shot(tmp_path, samples.orbiting(20, 18))
    depth = float(np.median(scenes.view(np.eye(4))[1]))
    assert shot.kind == "orbit right" and abs(shot.camera.orbit_deg - 18) < 1.5
    assert abs(shot.camera.pan_deg + 18) < 1.5 and abs(shot.camera.orbit_distance * depth / 5 - 1) < 0.15
    assert abs(shot.focal.mm / LENS - 1) < 0.1 and abs(shot.focal.mm - LENS) < 3 * shot.focal.sigma_mm
    assert len(shot.keys) <= 12 and shot.keys[0].location == (0, 0, 0) and shot.keys[-1].location[0] > 0


def test_a_static_camera_sees_two_things_move(tmp_path):
    ground = scenes.view(np.eye(4))[0]
    shot = only_shot(tmp_path, samples.with_discs([ground] * 8, [(50, 40, 14, 3, 0), (180, 95, 18, 0, -2)]))
    assert shot.kind == "static" and shot.camera.path_length == 0 and shot.keys == []
    assert shot.focal.mm is None and "stands still" in shot.focal.reason
    up, across = shot.regions
    assert across.direction == "right" and abs(across.speed_percent / (100 * 3 * 24 / 240) - 1) < 0.1
    assert up.direction == "up" and abs(up.speed_percent / (100 * 2 * 24 / 240) - 1) < 0.1
    left, top, width, height = across.boxes[0].box
    assert abs(left - 36 / 240) < 0.03 and abs(top - 26 / 136) < 0.05
    assert abs(width - 28 / 240) < 0.04 and abs(height - 28 / 136) < 0.07
    assert (across.first, across.last) == (0, 7)


def test_what_moves_is_found_behind_a_camera_that_turns(tmp_path):
    shot = only_shot(tmp_path, samples.with_discs(samples.turning(8, pan_deg=-7), [(90, 60, 16, -2.5, 0)]))
    assert shot.kind == "pan left" and abs(shot.camera.pan_deg + 7) < 0.5
    region = shot.regions[0]
    assert region.direction == "left" and abs(region.speed_percent / (100 * 2.5 * 24 / 240) - 1) < 0.15
    assert region.against_background_percent > 1.2 * region.speed_percent, "the ground goes to the right"


def test_a_hand_that_shakes_is_told_and_a_tripod_is_not(tmp_path):
    shot = only_shot(tmp_path, samples.shaking(samples.turning(20)))
    assert "handheld" in shot.kind and 0.3 < shot.camera.shake_percent < 1.2


@pytest.mark.parametrize("count", [1, 2])
def test_one_and_two_frames_are_measured_as_far_as_they_go(tmp_path, count):
    shot = only_shot(tmp_path, samples.turning(count, pan_deg=2))
    assert shot.measured_frames == count and (shot.first, shot.last) == (0, count - 1)
    if count == 1:
        assert shot.kind == "one frame" and shot.camera.pan_deg is None and shot.camera.reason
    else:
        assert "pan right" in shot.kind


@pytest.mark.parametrize("level", [0, 128])
def test_what_shows_nothing_is_not_known_and_says_why(tmp_path, level):
    shot = only_shot(tmp_path, np.full((8, 136, 240, 3), level, np.uint8))
    assert shot.kind == "not known" and "too little texture" in shot.camera.reason
    assert shot.camera.pan_deg is None and shot.focal.mm is None and shot.keys == [] and shot.regions == []


def test_portrait_odd_and_turned_videos_are_measured_as_shown(tmp_path):
    pictures = [np.ascontiguousarray(np.rot90(one, -1)) for one in samples.turning(8, tilt_deg=0, pan_deg=6)]
    # shown upright the camera pans again
    path = write_video(tmp_path / "turned.mp4", pictures, rotation=90, pixels="yuv444p", rate=Fraction(24))
    found = measure_motion(path, reporter=SILENT)
    assert found.size == (240, 136) and found.shots[0].kind.startswith(("pan right", "pan left"))
    odd = write_video(tmp_path / "odd.mp4", [one[:101, :135] for one in samples.turning(8)], pixels="yuv444p")
    assert measure_motion(odd, reporter=SILENT).size == (135, 101)


def test_what_cannot_be_measured_is_one_line_and_a_status(tmp_path, capsys):
    video = scenes.video(tmp_path, samples.turning(3))
    tiny = write_video(tmp_path / "tiny.mp4", np.zeros((3, 16, 64, 3), np.uint8))
    (tmp_path / "text.mp4").write_text("no video")
    for arguments, said in (
        ([str(video), "--shot", "1"], "its shots are 0 to 0"),
        ([str(video), "--shot", "-1"], "its shots are 0 to 0"),
        ([str(video), "--at", "3"], "its frames are 0 to 2"),
        ([str(video), "--at", "0", "--shot", "0"], "leave out one"),
        ([str(video), "--most", "1"], "from 2 to 240"),
        ([str(tiny)], "too small"),
        ([str(tmp_path / "text.mp4")], "cannot be opened as a video"),
        ([str(tmp_path / "missing.mp4")], "there is no such file"),
    ):
        assert main(["motion", *arguments, "--cache", str(tmp_path / "cache")]) == 2
        error = capsys.readouterr().err
        lines = [line for line in error.splitlines() if line.startswith("matchcut: ")]
        assert len(lines) == 1 and said in lines[0] and "Traceback" not in error


def test_a_measured_shot_is_kept_and_a_damaged_one_is_measured_again(tmp_path, monkeypatch, capsys):
    video = scenes.video(tmp_path, samples.turning(6, pan_deg=3))
    command = ["motion", str(video), "--cache", str(tmp_path / "cache"), "--json"]
    assert main(command) == 0
    first = json.loads(capsys.readouterr().out)
    assert Motion.from_data(first, "test").shots[0].kind == "pan right"
    with monkeypatch.context() as patched:
        patched.setattr(measure, "measure_shot", lambda *_: pytest.fail("it was known"))
        assert main(command) == 0
    assert json.loads(capsys.readouterr().out) == first
    (kept,) = (tmp_path / "cache").iterdir()
    kept.write_text("{}")
    assert main([*command, "--out", str(tmp_path / "motion.json")]) == 0
    assert json.loads(capsys.readouterr().out) == first == json.loads((tmp_path / "motion.json").read_text())


def test_long_shots_are_measured_with_a_stride_that_is_said(tmp_path):
    found = measured(tmp_path, samples.turning(12, pan_deg=8), most=6)
    (shot,) = found.shots
    assert (shot.stride, shot.measured_frames) == (2, 7) and any("stride" in note for note in found.notes)
    assert shot.keys[-1].frame == 11 and abs(shot.camera.pan_deg - 8) < 0.6
    with pytest.raises(BadInputError, match="its shots are 0 to 0"):
        measure_motion(tmp_path / "video.mp4", shot=3, reporter=SILENT)


def test_a_lens_that_zooms_while_the_camera_turns_is_no_dolly(tmp_path):
    shot = only_shot(tmp_path, samples.zooming(10, 1.15, pan_deg=-6))
    assert shot.kind == "zoom in and pan left" and shot.camera.move is None
    assert abs(shot.camera.zoom_factor - 1.15) < 0.02 and abs(shot.camera.pan_deg + 6) < 0.5
    assert abs(shot.focal.mm - LENS) < 3 * shot.focal.sigma_mm


def test_a_phone_video_of_a_varying_rate_and_a_walk_are_measured(media):
    walk = measure_motion(media / "Tokyo-Walk_rgb.mp4", most=20, reporter=SILENT).shots[0]
    assert "dolly out" in walk.kind, "the camera goes back before the woman who walks towards it"
    fire = measure_motion(media / "fire2.mp4", most=8, reporter=SILENT)
    assert fire.size == (1280, 720) and any("rate varies" in note for note in fire.notes)
