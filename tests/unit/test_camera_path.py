# SPDX-License-Identifier: GPL-3.0-or-later
"""The path of a camera through a shot, measured motion as keyframes, and outlines of known things."""

from itertools import pairwise

import numpy as np
import pytest
from camera_samples import SIZES, camera, cameras
from hypothesis import given, settings
from hypothesis import strategies as st
from matchcut.evaluator.camera.core.blender import FITS, Sensor, focal_of, from_blender, resized, to_blender
from matchcut.evaluator.camera.core.pinhole import quaternion_of, rotation_of, vector_of
from matchcut.evaluator.camera.core.shapes import outline
from matchcut.evaluator.camera.motion import LEVEL_ALONG_Y, Measured, cameras_of, keyframes, moved
from matchcut.evaluator.camera.path import Seen, fit_path
from matchcut.evaluator.protocol.errors import BadInputError

POINTS = np.random.default_rng(5).uniform(-2, 2, (8, 3)) + np.array([4, 5, 1])


def shot(frames=12, focal=1800.0, **options):
    return [
        camera(focal=focal, yaw=6 + 0.4 * f, pitch=-12 + 0.1 * f, centre=(3 + 0.05 * f, -8 + 0.1 * f, 4), **options)
        for f in range(frames)
    ]


def seen_by(path, points=POINTS, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return [Seen(f, points, c.project(points) + noise * rng.normal(size=(len(points), 2))) for f, c in enumerate(path)]


@pytest.mark.parametrize("principal", [None, (700.0, 600.0)])
def test_a_shot_has_one_focal_length_and_a_pose_a_frame(principal):
    path = shot(principal=principal)
    found = fit_path(path[0].size, seen_by(path), principal=principal)
    assert found.frames == tuple(range(12)) and not found.skipped and found.rms_px < 1e-6
    assert found.cameras[0].focal == pytest.approx(1800, rel=1e-8) and found.focal_sigma > 0
    for one, truth in zip(found.cameras, path, strict=True):
        assert np.allclose(one.centre, truth.centre, atol=1e-6)
        assert np.allclose(one.rotation, truth.rotation, atol=1e-8)


def test_a_known_focal_length_stays():
    path = shot(5)
    found = fit_path(path[0].size, seen_by(path), focal=1800.0)
    assert found.focal_sigma is None and {one.focal for one in found.cameras} == {1800.0}
    assert np.allclose(found.cameras[3].centre, path[3].centre, atol=1e-6)


def test_a_path_s_standard_deviations_are_those_of_repeated_picking():
    path, focals, ways = shot(3), [], []
    for seed in range(10):
        found = fit_path(path[0].size, seen_by(path, noise=0.8, seed=seed), sigma_px=0.8)
        focals.append((found.cameras[0].focal - 1800) / found.focal_sigma)
        for one, truth, sigma in zip(found.cameras, path, found.centre_sigmas, strict=True):
            ways.append((one.centre - truth.centre) / sigma)
    assert 0.5 < np.sqrt(np.mean(np.square(focals))) < 1.5
    assert 0.7 < np.sqrt(np.mean(np.square(ways))) < 1.3


def test_smoothing_takes_out_what_picking_shakes():
    path = shot(10)
    seen = seen_by(path, noise=1.0)
    errors = []
    for smooth in (None, 0.2):
        found = fit_path(path[0].size, seen, smooth_px=smooth)
        errors.append([np.linalg.norm(a.centre - b.centre) for a, b in zip(found.cameras, path, strict=True)])
    assert np.mean(errors[1]) < 0.5 * np.mean(errors[0])
    exact = fit_path(path[0].size, seen_by(path), smooth_px=0.2)  # an even motion is none to be smoothed
    assert exact.rms_px < 0.05


def test_a_plane_seen_from_afar_is_followed_without_a_jump():
    flat = np.array([(x, y, 0) for x in (-1, 1) for y in (-1, 1)], dtype=float)
    path = [camera(focal=9000.0, yaw=2 + 0.5 * f, pitch=-35, centre=(0, 0, 0)) for f in range(10)]
    points = flat * 0.6 + path[5].rotation[2] * 60
    found = fit_path(path[0].size, seen_by(path, points, noise=0.3), focal=9000.0, sigma_px=0.3)
    turns = [
        np.degrees(np.linalg.norm(vector_of(a.rotation @ b.rotation.T)))
        for a, b in zip(found.cameras[:-1], found.cameras[1:], strict=True)
    ]
    assert max(turns) < 15, "the mirrored pose is tens of degrees away"


def test_a_frame_with_too_few_points_is_skipped_and_told():
    path = shot(5)
    seen = seen_by(path)
    seen[2] = Seen(2, POINTS[:2], seen[2].pixels[:2])
    found = fit_path(path[0].size, seen)
    assert found.frames == (0, 1, 3, 4) and found.skipped[0][0] == 2 and "3 at least" in found.skipped[0][1]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda seen: [], "no frames"),
        (lambda seen: [seen[1], seen[0]], "in order"),
        (lambda seen: [Seen(0, POINTS[:3], seen[0].pixels[:3])], "four points"),
        (lambda seen: [Seen(0, POINTS * [1, 0, 0], seen[0].pixels)], "no frame tells a camera; frame 0"),
        (lambda seen: [Seen(0, POINTS, seen[0].pixels[:3])], "one of each"),
    ],
)
def test_frames_that_tell_no_camera_are_refused(change, reason):
    with pytest.raises(BadInputError, match=reason):
        fit_path((1920, 1080), change(seen_by(shot(2))))


SENSORS = st.builds(Sensor, st.sampled_from(FITS), st.floats(5, 70), st.floats(5, 70))


@settings(max_examples=100)
@given(cameras(off_centre=True), SENSORS)
def test_blender_s_words_come_back(seen, sensor):
    try:
        written = to_blender(seen, sensor)
    except BadInputError as error:
        assert "larger sensor" in str(error)
        return
    back = from_blender(written, seen.size)
    assert back.focal == pytest.approx(seen.focal, rel=1e-12)
    assert back.principal == pytest.approx(seen.principal, abs=1e-8)
    assert np.allclose(back.rotation, seen.rotation, atol=1e-15) and np.allclose(back.centre, seen.centre)
    assert focal_of(written.lens, seen.size, sensor) == pytest.approx(seen.focal, rel=1e-12)


def test_a_lens_and_a_shift_that_blender_does_not_take_are_refused():
    with pytest.raises(BadInputError, match="larger sensor"):
        to_blender(camera(focal=40.0), Sensor())
    with pytest.raises(BadInputError, match="shifts by"):
        to_blender(camera(principal=(90_000.0, 0.0)), Sensor())
    for wrong in ({"fit": "BOTH"}, {"width": 0.0}, {"height": -1.0}, {"width": float("nan")}):
        with pytest.raises(BadInputError):
            Sensor(**wrong)


@settings(max_examples=100)
@given(st.tuples(*[st.floats(-3, 3)] * 3))
def test_rotations_come_back(vector):
    vector = np.array(vector)
    if np.linalg.norm(vector) > 3:
        vector = vector / np.linalg.norm(vector) * 3
    rotation = rotation_of(vector)
    assert np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-14)
    assert np.allclose(vector_of(rotation), vector, atol=1e-9)
    w, *xyz = quaternion_of(rotation)
    assert w >= 0 and np.hypot(w, np.linalg.norm(xyz)) == pytest.approx(1)
    assert np.allclose(2 * np.arccos(min(w, 1.0)), np.linalg.norm(vector), atol=1e-6)


def measured(path, size=None):
    seen = [resized(one, size) for one in path] if size else path
    return Measured(
        tuple(range(len(path))),
        np.array([one.intrinsics for one in seen]),
        np.array([one.world_to_camera for one in seen]),
        seen[0].size,
    )


@pytest.mark.parametrize("size", SIZES)
def test_a_measured_path_keeps_its_picture_at_any_size(size):
    path = shot(3, principal=(700.0, 500.0))
    path = [resized(one, size) for one in path] if size[0] * 9 == size[1] * 16 else [camera(size), camera(size, yaw=36)]
    small = (size[0] // 4, size[1] // 4)
    found, off = cameras_of(measured(path, small), size)
    assert off < 1e-6
    for one, truth in zip(found, path, strict=True):
        assert np.allclose(one.project(POINTS), truth.project(POINTS), atol=1e-6, equal_nan=True)


def test_pixels_that_are_not_square_are_told():
    path = measured(shot(2))
    path.intrinsics[:, 1, 1] *= 1.01
    _, off = cameras_of(path, path.size)
    assert 4 < off < 6  # half of a percent of half of the width


@pytest.mark.parametrize("spoil", ["nan", "mirror", "focal", "shape"])
def test_what_is_no_camera_is_refused(spoil):
    path = measured(shot(2))
    if spoil == "nan":
        path.world_to_camera[1, 0, 0] = np.nan
    elif spoil == "mirror":
        path.world_to_camera[1, 0] *= -1
    elif spoil == "focal":
        path.intrinsics[1, 0, 0] = 0
    else:
        path = Measured(path.frames, path.intrinsics[:1], path.world_to_camera, path.size)
    with pytest.raises(BadInputError):
        cameras_of(path, (1920, 1080))


def test_a_path_begins_where_it_is_put_and_moves_as_before():
    path, start = shot(6), camera(yaw=200, pitch=10, centre=(1, 2, 3))
    for anchor, rotation, centre in ((start, start.rotation, start.centre), (None, LEVEL_ALONG_Y, np.zeros(3))):
        found = moved(path, anchor, 2.5)
        assert np.allclose(found[0].rotation, rotation, atol=1e-12) and np.allclose(found[0].centre, centre)
        # seen from the first camera, all is as it was, 2.5 times as large
        for one, truth in zip(found, path, strict=True):
            before = path[0].rotation @ (truth.centre - path[0].centre)
            assert np.allclose(found[0].rotation @ (one.centre - centre), 2.5 * before)
            assert np.allclose(one.rotation @ found[0].rotation.T, truth.rotation @ path[0].rotation.T)
    later = moved(path, start, 2.5, at=4)
    assert np.allclose(later[4].rotation, start.rotation) and np.allclose(later[4].centre, start.centre)
    again = moved(later, found[0])
    assert np.allclose(again[5].centre, found[5].centre), "the same path, put elsewhere"
    with pytest.raises(BadInputError):
        moved(path, None, 0.0)


def test_quaternions_of_keyframes_take_the_short_way():
    path = [camera(yaw=yaw, pitch=0, roll=0) for yaw in range(0, 720, 20)]
    keys = keyframes(tuple(range(len(path))), path, Sensor())
    turns = [a.quaternion @ b.quaternion for a, b in pairwise(keys)]
    assert min(turns) > 0.9


def test_a_box_is_seen_where_its_corners_are():
    seen = camera()
    lines = outline(seen, tuple(seen.project([(1, 2, 0)])[0]), "box", (2.0, 1.0, 3.0), np.radians(90))
    corners = np.unique(np.round(np.vstack(lines), 6), axis=0)
    box = [(1 + x, 2 + y, z) for x in (-0.5, 0.5) for y in (-1, 1) for z in (0, 3)]  # turned by 90°
    assert np.allclose(corners, np.unique(np.round(seen.project(box), 6), axis=0), atol=1e-4)


def test_a_person_stands_on_the_point_and_is_as_tall_as_said():
    seen = camera(pitch=-10)
    foot, head = seen.project([(1, 2, 0), (1, 2, 1.8)])
    (line,) = outline(seen, tuple(foot), "person", (1.0, 1.0, 1.8))
    assert np.abs(line - head).sum(axis=1).min() < 1e-6
    tall = foot[1] - head[1]
    assert line[:, 1].max() < foot[1] + 0.05 * tall and line[:, 1].min() > head[1] - 0.05 * tall
    assert np.ptp(line[:, 0]) < 0.5 * tall


@settings(max_examples=60)
@given(cameras(), st.floats(0, 1), st.floats(0, 1), st.sampled_from(("box", "person")), st.floats(0.01, 50))
def test_outlines_are_cut_off_at_the_camera(seen, across, down, kind, length):
    try:
        lines = outline(seen, (across * seen.size[0], down * seen.size[1]), kind, (length, length, length), 0.7)
    except BadInputError as error:
        assert "horizon" in str(error)
        return
    assert all(np.isfinite(line).all() and len(line) > 1 for line in lines)


def test_a_shape_of_no_size_or_kind_is_refused():
    for kind, size in (("tree", (1, 1, 1)), ("box", (0, 1, 1)), ("person", (1, 1, -2))):
        with pytest.raises(BadInputError):
            outline(camera(), (900, 800), kind, size)
