# SPDX-License-Identifier: GPL-3.0-or-later
"""The estimator without weights: its parts on exact data, whole videos with known geometry, and bad input."""

import itertools

import classical_scenes as scenes
import cv2
import numpy as np
import pytest
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.sgc.classical import adjust, certainty, chain, flow, focal, two_view
from matchcut.evaluator.sgc.classical.depth import View, inverse_depth
from matchcut.evaluator.sgc.classical.motion import sky
from matchcut.evaluator.sgc.classical.settings import Settings
from matchcut.evaluator.sgc.estimators import classical, open_geometry

SILENT = SilentReporter()
FRAMES = 10
SEEN = 200, 200


def degrees(first, second):
    return float(np.degrees(np.linalg.norm(cv2.Rodrigues(first[:3, :3] @ second[:3, :3].T)[0])))


def aligned(found, exact):
    """Scale of the found camera path to the exact one, and the largest distance of the two over the path's length."""
    a, b = (np.stack([np.linalg.inv(pose)[:3, 3] for pose in poses]) for poses in (found, exact))
    length = np.linalg.norm(np.diff(b, axis=0), axis=1).sum()
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    left, values, right = np.linalg.svd(b.T @ a)
    values[-1] *= (sign := np.sign(np.linalg.det(left @ right)))
    scale = values.sum() / (a**2).sum()
    turned = scale * a @ (left @ np.diag([1, 1, sign]) @ right).T
    return scale, float(np.linalg.norm(turned - b, axis=1).max() / length)


def frames_of(geometry):
    pairs = list(geometry.pairs())
    return [pairs[0].previous, *(pair.current for pair in pairs)]


def test_only_what_touches_the_top_is_sky():
    """A block below it that seems infinitely far is one whose depth went wrong: as sky it would not be measured."""
    inverse, none = np.full((60, 80), 0.2, np.float32), np.zeros((60, 80), bool)
    inverse[:20, :50] = inverse[30:45, 20:40] = 0
    found = sky(inverse, np.full((60, 80), 0.01, np.float32), none, none, 0.002)
    assert found[:18, :48].all() and not found[24:].any()


def estimate(video, shots=None, **options):
    return classical.estimate(video, shots, reporter=SILENT, **options)


def all_finite(geometry):
    for pair in geometry.pairs():
        for frame in (pair.previous, pair.current):
            assert np.isfinite(frame.depth).all() and (frame.depth >= 0).all()
            assert np.isfinite(frame.intrinsics).all() and np.isfinite(frame.world_to_camera).all()
            assert not np.isnan(frame.depth_sigma).any() and (np.isfinite(frame.depth_sigma) == (frame.depth > 0)).all()
        tracks = pair.tracks
        assert all(np.isfinite(values).all() for values in (tracks.current, tracks.visibility, tracks.confidence))
    return geometry


# ---- parts -----------------------------------------------------------------------------------------------------------


def points_in_two_views(random, motion, count=400, length=300.0):
    space = np.column_stack([random.uniform(-2, 2, (count, 2)), random.uniform(4, 12, count)])
    moved = space @ motion[:3, :3].T + motion[:3, 3]
    return length * space[:, :2] / space[:, 2:], length * moved[:, :2] / moved[:, 2:], space[:, 2]


def test_a_relative_pose_is_found_among_outliers():
    random = np.random.default_rng(1)
    motion = scenes.pose((0.3, 0.05, 0.1), (0.01, -0.03, 0.02))
    first, second, _ = points_in_two_views(random, motion)
    second = second + random.normal(0, 0.05, second.shape)
    second[:80] += random.uniform(-30, 30, (80, 2))
    found = two_view.relative_pose(first, second, 300.0)
    direction = motion[:3, 3] / np.linalg.norm(motion[:3, 3])
    assert degrees(found.pose.rotation, motion) < 0.02
    assert np.degrees(np.arccos(found.pose.translation @ direction)) < 0.5
    assert 0.75 < found.rigid_share < 0.85


def flat_in_two_views(random, motion, count=400, length=300.0):
    """Points near a tilted plane: two poses explain them almost alike."""
    across = random.uniform(-2, 2, (count, 2))
    z = 6 + 0.8 * across[:, 1] + random.normal(0, 0.15, count)
    space = np.column_stack([across, z])
    moved = space @ motion[:3, :3].T + motion[:3, 3]
    noise = random.normal(0, 0.05, (count, 2))
    return length * space[:, :2] / z[:, None], length * moved[:, :2] / moved[:, 2:] + noise


def test_what_is_nearly_flat_has_its_right_pose():
    random = np.random.default_rng(7)
    for _ in range(6):
        motion = scenes.pose(random.normal(0, 0.3, 3), random.normal(0, 0.03, 3))
        found = two_view.relative_pose(*flat_in_two_views(random, motion), 300.0)
        direction = motion[:3, 3] / np.linalg.norm(motion[:3, 3])
        assert degrees(found.pose.rotation, motion) < 0.5
        assert np.degrees(np.arccos(np.clip(found.pose.translation @ direction, -1, 1))) < 10


def test_a_pair_that_went_astray_learns_from_its_neighbours(monkeypatch):
    random = np.random.default_rng(8)
    motions = [scenes.pose((0.3, 0.02 * index, 0.1), (0.01, -0.03, 0.02)) for index in range(4)]
    pairs = [points_in_two_views(random, motion)[:2] for motion in motions]
    astray = two_view.Pose(cv2.Rodrigues(np.array([0.4, 0.3, -0.2]))[0], np.array([0.0, 0.0, -1.0]))
    search = two_view.relative_pose

    def relative_pose(first, second, length, guesses=()):
        if first is pairs[2][0] and not guesses:
            return two_view.TwoView(astray, 0.1, 0.9)
        return search(first, second, length, guesses)

    monkeypatch.setattr(chain, "relative_pose", relative_pose)
    with flow.workers() as threads:
        views = chain.agreed([*pairs, None], 300.0, threads)
    assert views[-1] is None
    assert all(degrees(view.pose.rotation, motion) < 0.05 for view, motion in zip(views[:-1], motions, strict=True))


@pytest.mark.parametrize("count", [0, 5, 20])
def test_too_few_or_coincident_points_have_no_pose(count):
    points = np.ones((count, 2))
    found = two_view.relative_pose(points, points, 300.0)
    assert found is None or np.isfinite(found.pose.rotation).all()


def test_a_turn_leaves_no_parallax_and_a_step_does():
    random = np.random.default_rng(2)
    turned = points_in_two_views(random, scenes.pose((0, 0, 0), (0.02, 0.05, -0.03)))
    stepped = points_in_two_views(random, scenes.pose((0.3, 0, 0), (0.02, 0.05, -0.03)))
    assert two_view.parallax(*turned[:2], 300.0) < 1e-6
    assert two_view.parallax(*stepped[:2], 300.0) > 1


def test_inverse_depth_is_exact_and_wide_where_nothing_moves():
    random = np.random.default_rng(3)
    motions = [scenes.pose((0.2 * i, 0.02, 0.05), (0.01 * i, 0, 0)) for i in (-1, 1)]
    first, _, z = points_in_two_views(random, np.eye(4), length=1.0)
    space = np.column_stack([first * z[:, None], z])
    views = []
    for motion in motions:
        moved = space @ motion[:3, :3].T + motion[:3, 3]
        views.append(View(motion, (moved[:, :2] / moved[:, 2:]).astype(np.float32), np.ones(len(z), np.float32)))
    rays = first.astype(np.float32)
    found = inverse_depth(rays, views, 0.001)
    assert np.allclose(found.values * z, 1, atol=1e-4)
    still = inverse_depth(rays, [View(np.eye(4), rays, np.ones(len(z), np.float32))], 0.001)
    assert (still.information == 0).all() and np.isfinite(still.values).all()
    assert np.isnan(still.earlier).all()  # no earlier frame was given


def observed(random, poses, length, noise=0.0):
    """Every pose sees the points of every other; the exact inverse depths."""
    groups, depths = [], []
    for source, base in enumerate(poses):
        points = random.uniform(-100, 100, (60, 2))
        z = random.uniform(4, 12, 60)
        space = np.column_stack([points / length * z[:, None], z])
        targets = tuple(index for index in range(len(poses)) if index != source)
        seen = []
        for target in targets:
            motion = poses[target] @ np.linalg.inv(base)
            moved = space @ motion[:3, :3].T + motion[:3, 3]
            seen.append(length * moved[:, :2] / moved[:, 2:] + random.normal(0, noise, (60, 2)))
        groups.append(adjust.Observations(source, targets, points, np.array(seen), np.ones((len(targets), 60))))
        depths.append(1 / z)
    return groups, depths


def test_adjustment_finds_poses_depths_and_focal_length():
    random = np.random.default_rng(4)
    exact = np.stack(scenes.path(8, step=0.15))
    groups, depths = observed(random, exact, 250.0, noise=0.02)
    start = np.stack([adjust.exponential(random.normal(0, 0.01, 6)) @ pose for pose in exact])
    start[:2] = exact[:2]
    rough = [values * random.uniform(0.8, 1.2, values.shape) for values in depths]
    plan = adjust.Plan(fixed=2, scales=(4.0, 1.0, 0.25), iterations=8, poses_from=1, focal_from=4)
    found = adjust.adjust(groups, start, rough, 265.0, plan, SEEN)
    assert (found.poses[:2] == exact[:2]).all()
    assert max(degrees(a, b) for a, b in zip(found.poses, exact, strict=True)) < 0.01
    assert abs(found.focal / 250 - 1) < 0.002 and found.focal_sigma < 0.01
    assert np.median(np.abs(np.concatenate(found.inverse_depths) / np.concatenate(depths) - 1)) < 0.01
    assert found.residual < 0.05


def test_a_focal_length_that_hardly_matters_stays_near_the_usual_one():
    random = np.random.default_rng(9)
    exact = np.stack([scenes.pose((0.2 * index, 0, 0), (0, 0, 0)) for index in range(5)])  # sideways: any will do
    groups, depths = observed(random, exact, 250.0, noise=0.1)

    def found(usual, start):
        plan = adjust.Plan(fixed=1, scales=(1.0, 0.25), iterations=10, poses_from=1, focal_from=2, usual=usual)
        return adjust.adjust(groups, exact, depths, start, plan, SEEN)

    free, drawn = found(None, 500.0), found(260.0, 500.0)
    assert abs(np.log(drawn.focal / 260)) < 0.6 * abs(np.log(free.focal / 260))
    assert drawn.residual == pytest.approx(free.residual, rel=0.05)


def test_parts_of_the_picture_that_disagree_make_a_focal_length_uncertain():
    random = np.random.default_rng(10)
    places = [random.uniform(-100, 100, (600, 2))]
    part = certainty.part_of(places[0], SEEN)
    assert sorted(set(part)) == list(range(certainty.ROWS * certainty.COLUMNS))
    alone = [random.normal(0, 1, 600)]
    together = [random.normal(0, 1, 12)[part]]
    assert certainty.spread(places, together, 1e4, SEEN) > 3 * certainty.spread(places, alone, 1e4, SEEN) > 0
    assert certainty.spread(places, alone, 0.0, SEEN) == np.inf


def test_adjustment_without_observations_changes_nothing():
    group = adjust.Observations(0, (1,), np.zeros((0, 2)), np.zeros((1, 0, 2)), np.zeros((1, 0)))
    blind = adjust.Observations(1, (0,), np.ones((3, 2)), np.ones((1, 3, 2)), np.zeros((1, 3)))
    poses = np.tile(np.eye(4), (2, 1, 1))
    plan = adjust.Plan(fixed=1, scales=(1.0,), focal_from=0)
    found = adjust.adjust([group, blind], poses, [np.zeros(0), np.full(3, 0.5)], 100.0, plan, SEEN)
    assert (found.poses == poses).all() and (found.inverse_depths[1] == 0.5).all() and found.residual == 0


def test_an_exponential_undoes_its_negative():
    change = np.array([0.3, -0.2, 0.1, 0.4, 0.5, -0.6])
    assert np.allclose(adjust.exponential(change) @ adjust.exponential(-change), np.eye(4))
    assert np.allclose(adjust.inverse(adjust.exponential(change)), adjust.exponential(-change))


def test_focal_search_finds_it_and_takes_the_usual_one_without_points():
    random = np.random.default_rng(5)
    pairs = []
    for index in range(4):
        motion = scenes.pose((0.5, 0.1 * index, 0.4), (0.02 * index, -0.08, 0.03))
        pairs.append(points_in_two_views(random, motion, length=300.0)[:2])
    with flow.workers() as threads:
        assert abs(focal.search(pairs, 400, threads).length / 300 - 1) < 0.1
        assert focal.search([], 400, threads) == focal.Focal(400 * focal.USUAL, 0.0)


def test_flow_leaves_opencvs_threads_as_they_were():
    before = cv2.getNumThreads()
    pictures = {0: scenes.view(scenes.path(1)[0])[0][..., 0]}
    pictures[1] = np.roll(pictures[0], 3, axis=1)
    with flow.workers() as threads:
        found = flow.flows(pictures, [(0, 1)], threads)
    assert cv2.getNumThreads() == before
    inner = found[0, 1].field[20:-20, 20:-20]
    assert np.abs(np.median(inner.reshape(-1, 2), axis=0) - (3, 0)).max() < 0.05
    assert np.isinf(found[0, 1].error[:, -3:]).all() and np.median(found[0, 1].error[20:-20, 20:-20]) < 0.1


# ---- whole videos ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """Two shots of a room: the same walk twice, the second from elsewhere; exact cameras and depths."""
    folder = tmp_path_factory.mktemp("room")
    cameras = scenes.path(FRAMES)
    views = [scenes.view(camera, grain=index) for index, camera in enumerate(cameras)]
    back = [scenes.view(camera, grain=50 + index) for index, camera in enumerate(reversed(cameras))]
    video = scenes.video(folder, [picture for picture, _ in [*views, *back]])
    shots = ((0, FRAMES - 1), (FRAMES, 2 * FRAMES - 1))
    return folder, video, shots, cameras, [depth for _, depth in views]


@pytest.fixture(scope="module")
def measured(room):
    folder, video, shots, _, _ = room
    return open_geometry("classical", video, shots=shots, reporter=SILENT, cache=folder / "cache")


def test_cameras_focal_length_and_depth_are_found(room, measured):
    _, _, _, cameras, depths = room
    frames = frames_of(measured)[:FRAMES]
    relative = [b.world_to_camera @ np.linalg.inv(a.world_to_camera) for a, b in itertools.pairwise(frames)]
    exact = [b @ np.linalg.inv(a) for a, b in itertools.pairwise(cameras)]
    assert np.median([degrees(a, b) for a, b in zip(relative, exact, strict=True)]) < 0.03
    scale, error = aligned([frame.world_to_camera for frame in frames], cameras)
    assert error < 0.01
    assert abs(frames[0].intrinsics[0, 0] / scenes.FOCAL - 1) < 0.05
    wrong, valid = [], []
    for frame, depth in zip(frames, depths, strict=True):
        both = (frame.depth > 0) & (depth > 0)
        wrong.append(np.abs(frame.depth[both] * scale / depth[both] - 1))
        valid.append(both.sum() / (depth > 0).sum())
    assert np.median(np.concatenate(wrong)) < 0.03 and np.mean(valid) > 0.9


def test_depth_knows_how_wrong_it_is(room, measured):
    _, _, _, cameras, depths = room
    frames = frames_of(measured)[:FRAMES]
    scale, _ = aligned([frame.world_to_camera for frame in frames], cameras)
    frame, depth = frames[5], depths[5]
    both = (frame.depth > 0) & (depth > 0)
    pull = np.abs(frame.depth[both] * scale / depth[both] - 1) / frame.depth_sigma[both]
    assert 0.2 < np.median(pull) < 2


def test_tracks_follow_the_points(room, measured):
    _, _, _, cameras, depths = room
    pair = next(measured.pairs())
    start = pair.tracks.previous
    z = depths[0][start[:, 1].astype(int), start[:, 0].astype(int)]
    middle = np.array([(scenes.WIDTH - 1) / 2, (scenes.HEIGHT - 1) / 2])
    space = np.column_stack([(start - middle) / scenes.FOCAL * z[:, None], z])
    moved = space @ (cameras[1] @ np.linalg.inv(cameras[0]))[:3, :3].T + (cameras[1] @ np.linalg.inv(cameras[0]))[:3, 3]
    with np.errstate(invalid="ignore", divide="ignore"):
        exact = scenes.FOCAL * moved[:, :2] / moved[:, 2:] + middle
    good = (pair.tracks.visibility > 0) & (pair.tracks.confidence > 0.5) & (z > 0)
    assert good.mean() > 0.6
    assert np.median(np.linalg.norm(pair.tracks.current - exact, axis=1)[good]) < 0.15


def test_no_pair_crosses_a_cut_and_every_shot_has_its_gauge(room, measured):
    assert [pair.frame for pair in measured.pairs()] == [*range(1, FRAMES), *range(FRAMES + 1, 2 * FRAMES)]
    assert measured.pairs_expected == 2 * FRAMES - 2
    pairs = list(measured.pairs())
    assert np.allclose(pairs[FRAMES - 1].previous.world_to_camera, np.eye(4))
    assert sum("focal length" in note for note in measured.notes) == 2
    assert sum("taken for moving" in note for note in measured.notes) == 2
    assert len(list(measured.images())) == 2 * FRAMES
    all_finite(measured)


def test_the_same_video_gives_the_same_bytes(room, measured, tmp_path):
    folder, video, shots, _, _ = room
    again = estimate(video, shots[:1], cache=tmp_path)
    assert again.notes == measured.notes[: len(again.notes)]
    written = sorted(tmp_path.rglob("*.npz"))
    assert written
    for path in written:
        assert path.read_bytes() == (folder / "cache" / path.relative_to(tmp_path)).read_bytes()


def test_what_was_estimated_is_not_estimated_again(room, measured, monkeypatch):
    folder, video, shots, _, _ = room
    monkeypatch.setattr(classical, "estimate_shot", lambda *_: pytest.fail("estimated again"))
    again = estimate(video, shots, cache=folder / "cache")
    assert again.notes == measured.notes
    assert np.array_equal(next(again.pairs()).current.depth, next(measured.pairs()).current.depth)


def test_a_damaged_chunk_is_named(room, measured, tmp_path):
    _, video, _, _, _ = room
    geometry = estimate(video, ((0, 1),), cache=tmp_path)
    chunk = next(tmp_path.rglob("*.npz"))
    chunk.write_bytes(chunk.read_bytes()[:1000])
    with pytest.raises(OperationalError, match=chunk.name):
        list(geometry.pairs())


def test_a_gauge_goes_on_through_windows(tmp_path):
    cameras = scenes.path(20, step=0.03)
    video = scenes.video(tmp_path, [scenes.view(camera, grain=index)[0] for index, camera in enumerate(cameras)])
    settings = Settings(window=8, overlap=4, offsets=(1, 2, 4), focal_segments=2)
    geometry = all_finite(estimate(video, cache=tmp_path / "cache", settings=settings))
    frames = frames_of(geometry)
    assert len(frames) == 20
    _, error = aligned([frame.world_to_camera for frame in frames], cameras)
    assert error < 0.02
    assert "apart between 2 windows" in " ".join(geometry.notes)


# ---- bad input -------------------------------------------------------------------------------------------------------


def pictures(kind):
    random = np.random.default_rng(6)
    cameras = scenes.path(8)
    walk = [scenes.view(camera, grain=index)[0] for index, camera in enumerate(cameras)]
    if kind == "still":
        return [scenes.view(cameras[0], grain=index)[0] for index in range(5)]
    if kind == "turn":
        return [scenes.view(scenes.pose((0, 0, 0), (0, 0.01 * i, 0.002 * i)), grain=i)[0] for i in range(6)]
    if kind == "black":
        return [np.zeros_like(walk[0])] * 6
    if kind == "grey":
        return [np.full_like(walk[0], 128)] * 6
    if kind == "noise":
        shape = (scenes.HEIGHT, scenes.WIDTH, 1)
        return [np.repeat(random.integers(0, 255, shape, np.uint8), 3, axis=2) for _ in range(4)]
    if kind == "all moving":  # every plane its own way
        return [
            scenes.view(
                np.eye(4),
                [
                    scenes.Plane(
                        tuple(np.array(plane.centre) + 0.05 * i * random_way(plane.seed)), plane.across, plane.down,
                        plane.seed,
                    )
                    for plane in scenes.ROOM
                ],
            )[0]
            for i in range(6)
        ]  # fmt: skip
    if kind == "one":
        return walk[:1]
    if kind == "two":
        return [walk[0], walk[3]]
    if kind == "black between":
        return [*walk[:4], *[np.zeros_like(walk[0])] * 2, *walk[4:]]
    return [*walk[:4], *(255 - picture[::-1] for picture in walk[4:])]  # a cut that nobody told


def random_way(seed):
    return np.random.default_rng(seed).normal(size=3)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("still", "the camera stands still"),
        ("turn", "the camera only turns"),
        ("black", "no texture"),
        ("grey", "no texture"),
        ("noise", "unobservable"),
        ("all moving", ""),
        ("one", "no frame beside it"),
        ("two", ""),
        ("black between", "no texture"),
        ("cut", ""),
    ],
)
def test_what_cannot_be_seen_is_said_and_never_made_up(tmp_path, kind, reason):
    shown = pictures(kind)
    geometry = all_finite(estimate(scenes.video(tmp_path, shown)))
    assert geometry.pairs_expected == len(shown) - 1 == len(list(geometry.pairs()))
    assert any(reason in note for note in geometry.notes), geometry.notes
    has_depth = any((pair.current.depth > 0).any() for pair in geometry.pairs())
    if kind in ("still", "turn", "black", "grey", "noise", "one"):
        assert not has_depth
        assert any("unobservable" in note for note in geometry.notes)
    if kind in ("two", "black between"):
        assert has_depth


@pytest.mark.parametrize("keeps", [False, True])
def test_what_hardly_any_rigid_motion_explains_is_kept_for_a_metric_of_it(tmp_path, keeps):
    walk = [scenes.view(camera, grain=index)[0] for index, camera in enumerate(scenes.path(6))]
    never = Settings(rigid_share=1.1, keeps_loose=keeps)
    geometry = all_finite(classical.estimate(scenes.video(tmp_path, walk), None, reporter=SILENT, settings=never))
    notes = " ".join(geometry.notes)
    assert any((pair.current.depth > 0).any() for pair in geometry.pairs()) == keeps
    assert ("one rigid motion explains no more than" in notes) == keeps
    assert ("no rigid motion explains enough" in notes) != keeps
    assert classical.SETTINGS.keeps_loose and not Settings().keeps_loose


def test_a_picture_that_is_too_small_is_refused(tmp_path):
    tiny = [np.zeros((16, 64, 3), np.uint8)] * 3
    with pytest.raises(BadInputError, match="too small"):
        estimate(scenes.video(tmp_path, tiny))


@pytest.mark.parametrize("shots", [((0, 20),), ((3, 1),), ((0, 2), (2, 4))])
def test_shots_of_another_video_are_refused(room, shots):
    with pytest.raises(BadInputError):
        estimate(room[1], ((0, 40),) if shots == ((0, 20),) else shots)


@pytest.mark.parametrize(
    ("shown", "grid"),
    [((960, 540), (960, 540)), ((1920, 1080), (960, 540)), ((853, 480), (852, 480)), ((720, 1280), (540, 960))],
)
def test_the_grid_is_the_picture_averaged_down(shown, grid):
    assert classical.working_size(shown) == grid
