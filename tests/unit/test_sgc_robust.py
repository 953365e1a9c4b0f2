# SPDX-License-Identifier: GPL-3.0-or-later
"""The robust mode: exact input is clean, corruption raises it strictly, and nothing that fails looks good."""

import math
from dataclasses import replace

import numpy as np
import pytest
import sgc_scenes as scenes
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.sgc.perturb import CORRUPTIONS, perturbed
from matchcut.evaluator.sgc.poses import Pose, relative_pose
from matchcut.evaluator.sgc.records import Tracks
from matchcut.evaluator.sgc.robust import gauge as gauges
from matchcut.evaluator.sgc.robust.floors import same_stack
from matchcut.evaluator.sgc.robust.gauge import fit_gauges, triangulate, weighted_median
from matchcut.evaluator.sgc.robust.local import divide, focal_information, local_poses
from matchcut.evaluator.sgc.robust.pair import NO_PARALLAX, measure_pair
from matchcut.evaluator.sgc.robust.points import cell_of, points_of, project, rays, static_tracks, usable_tracks
from matchcut.evaluator.sgc.robust.records import ROBUST_COMPONENTS, Gauge, NoiseFloor, RobustResult
from matchcut.evaluator.sgc.robust.score import focal_error, score_robust, window_of
from matchcut.evaluator.sgc.robust.settings import ROBUST
from matchcut.evaluator.sgc.robust.summary import DEFAULT_SCALE, drawn, levels, score_of, table_of

SILENT = SilentReporter()
FRAMES = 7
UNIT = Gauge(first=0, last=FRAMES - 1, scale=1.0, unit=10.0, points=1)


@pytest.fixture(scope="module")
def exact():
    """Exact pairs of consecutive frames, with a track from every other pixel of every other row."""
    grid = np.arange(scenes.H * scenes.W).reshape(scenes.H, scenes.W)[::2, ::2].ravel()
    return tuple(thinned(scenes.pair(step), grid) for step in range(1, FRAMES))


def thinned(pair, kept):
    """The pair with the `kept` of its tracks alone."""
    tracks = pair.tracks
    fields = (tracks.previous, tracks.current, tracks.visibility, tracks.confidence)
    return scenes.changed(pair, tracks=Tracks(*(values[kept] for values in fields)))


def measured(*pairs, **changes):
    return score_robust(replace(scenes.geometry_of(*pairs), **changes), reporter=SILENT)


def level(result):
    return dict(zip(ROBUST_COMPONENTS, levels(table_of(result.pairs)), strict=True))


def points(pair):
    static = static_tracks(pair, usable_tracks(pair, ROBUST.minimum_confidence))
    return points_of(pair, static, pair.previous.depth, ROBUST.edge)


def motion(pair):
    return relative_pose(pair.previous.world_to_camera, pair.current.world_to_camera)


# --- what it measures --------------------------------------------------------------------------------------------


def test_exact_geometry_is_clean(exact):
    result = measured(*exact)
    found = level(result)
    assert found["divergence_px"] < 0.002 and found["depth_log_error"] < 0.003 and found["focal_error"] < 1e-3
    assert found["unexplained_share"] < 1e-4 and found["invalid_share"] < 0.1
    assert (result.pairs_scored, result.pairs_observable, result.pairs_expected) == (FRAMES - 1,) * 3
    assert 0 <= result.score < 0.1 and result.score_low <= result.score <= result.score_high
    assert result.gauges[0].scale == pytest.approx(1, abs=1e-3) and result.gauges[0].points > 500


@pytest.mark.parametrize("kind", CORRUPTIONS)
def test_every_corruption_raises_the_score_strictly(exact, kind):
    geometry = scenes.geometry_of(*exact)
    results = [
        score_robust(perturbed(geometry, kind, severity), reporter=SILENT) for severity in (0, 0.25, 0.5, 0.75, 1)
    ]
    scores = [result.score for result in results]
    assert scores == sorted(set(scores)), scores
    divergence = [level(result)["divergence_px"] for result in results]
    assert divergence == sorted(set(divergence)), divergence
    assert scores[-1] > scores[0] + 0.05


def test_a_warp_of_the_tracks_shows_in_pixels(exact):
    values = [measured(*(scenes.warped(pair, pixels) for pair in exact)).components["divergence_px"].median
              for pixels in (0, 0.5, 1, 2, 4)]  # fmt: skip
    assert values == sorted(values)
    assert 0.2 < values[2] / 1 < 1.5 and values[4] / values[2] == pytest.approx(4, rel=0.5)


def test_the_same_geometry_twice_gives_the_same_bytes(exact):
    first, second = (measured(*exact).model_dump_json() for _ in range(2))
    assert first == second
    assert RobustResult.model_validate_json(first).model_dump_json() == first


def test_the_scale_of_depth_and_of_cameras_do_not_matter(exact):
    def scaled(pair, depth, cameras):
        frames = []
        for frame in (pair.previous, pair.current):
            camera = frame.world_to_camera.copy()
            camera[:3, 3] *= cameras
            frames.append(replace(frame, depth=frame.depth * np.float32(depth), world_to_camera=camera))
        return type(pair)(*frames, pair.tracks)

    pairs = [scenes.warped(pair, 1.0) for pair in exact]
    reference = measured(*pairs)
    other = measured(*(scaled(pair, 4.0, 0.25) for pair in pairs))
    assert other.gauges[0].scale == pytest.approx(reference.gauges[0].scale / 16, rel=1e-5)
    for name in ROBUST_COMPONENTS:
        one, two = reference.components[name], other.components[name]
        assert (one is None) == (two is None)
        assert one is None or two.median == pytest.approx(one.median, rel=2e-2, abs=1e-5)


def test_affine_inverse_depth_is_brought_into_the_gauge(exact):
    def inverse(frame):
        depth = np.where(frame.depth > 0, 1 / (0.7 / np.maximum(frame.depth, 1e-6) + 0.02), 0)
        return replace(frame, depth=depth.astype(np.float32))

    pairs = [type(pair)(inverse(pair.previous), inverse(pair.current), pair.tracks) for pair in exact]
    result = measured(*pairs, scale="affine_inverse")
    assert result.gauges[0].scale == pytest.approx(1 / 0.7, rel=2e-2)
    assert result.gauges[0].shift == pytest.approx(-0.02 / 0.7, rel=5e-2)
    assert level(result)["divergence_px"] < 0.02
    assert level(measured(*pairs))["divergence_px"] > 0.05  # taken for depth up to a scale it does not fit


def test_triangulation_inverts_a_projection():
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (50, 3)) + np.array([0, 0, 6])
    pose = Pose(np.eye(3), np.array([0.3, -0.1, 0.2]))
    moved = x + pose.translation
    inverse, information = triangulate(x / x[:, 2:], moved / moved[:, 2:], pose)
    assert inverse == pytest.approx(1 / x[:, 2]) and (information > 0).all()


def test_local_poses_find_a_region_that_moves_by_itself(exact):
    pair = exact[2]
    found, camera = points(pair), motion(pair)
    regions = divide(found, (scenes.W, scenes.H), ROBUST)
    labels = regions.of(found.previous, found.points[:, 2])
    one = int(np.argmax(np.bincount(labels[labels >= 0])))
    shift = np.array([0.05, 0.0, 0.0])
    moved = found.points @ camera.rotation.T + camera.translation
    current = np.where((labels == one)[:, None], project(moved + shift, scenes.K, 1e-3), project(moved, scenes.K, 1e-3))
    poses = local_poses(replace(found, current=current), labels, regions.count, scenes.K, camera, 10.0, 0.1, ROBUST)
    offsets = poses.translation - camera.translation
    assert poses.valid[one] and offsets[one] == pytest.approx(shift, abs=0.02)
    others = [region for region in range(regions.count) if region != one and poses.valid[region]]
    assert len(others) > 5 and np.abs(offsets[others]).max() < 1e-3
    assert np.linalg.eigvalsh(poses.covariance[one]).min() > 0


def test_the_focal_length_that_the_tracks_ask_for(exact):
    pair = exact[2]
    found, camera = points(pair), motion(pair)
    wrong = scenes.K * np.array([[1.03], [1.03], [1]])
    wrong[:, 2] = scenes.K[:, 2]
    taken = rays(found.previous, wrong) * found.points[:, 2:]
    parts = cell_of(found.previous, (scenes.W, scenes.H), 3, 4)
    information, pulls = focal_information(replace(found, points=taken), wrong, camera, 10.0, 0.1, parts, 12)
    assert information.min() >= 0 and pulls.sum() / information.sum() == pytest.approx(-math.log(1.03), rel=0.15)


def test_a_focal_length_is_wrong_where_all_parts_of_the_picture_say_so():
    information = np.full(12, 1e5)
    wrong = np.stack([information, 0.05 * information])
    assert focal_error([wrong, wrong]) == pytest.approx(0.05, rel=0.01)
    apart = np.random.default_rng(0).normal(0, 0.05, 12)
    alone = np.stack([information, apart * information])
    assert focal_error([alone, alone]) < 0.02
    assert focal_error([np.stack([information, 10 * apart * information])]) is None  # too far apart to say anything
    assert focal_error([np.stack([np.full(12, 1e-3), np.zeros(12)])]) is None and focal_error([]) is None


@pytest.mark.parametrize(("pairs", "sizes"), [(1, [1]), (8, [8]), (11, [11]), (19, [10, 9]), (23, [8, 8, 7])])
def test_no_sub_window_of_a_shot_is_a_rest(pairs, sizes):
    shot = 40, 40 + pairs
    windows = [window_of(frame, shot, 8) for frame in range(shot[0] + 1, shot[1] + 1)]
    assert windows == sorted(windows) and list(np.bincount(windows)) == sizes


def test_what_a_mask_from_residuals_removes_is_scored(exact):
    moving = np.zeros((scenes.H, scenes.W), bool)
    moving[:, : scenes.W // 3] = True
    pairs = [scenes.changed(pair, moving=moving, previous_moving=moving) for pair in exact]
    given, hidden = measured(*pairs), measured(*pairs, masks="residuals")
    assert given.components["unexplained_share"].median < 1e-3
    assert hidden.components["unexplained_share"].median == pytest.approx(1 / 3, abs=0.03)
    assert hidden.score > given.score
    assert any("residuals" in note for note in hidden.notes)


def test_a_region_without_depth_costs(exact):
    def holed(pair):
        depth = pair.previous.depth.copy()
        depth[:, : scenes.W // 2] = 0
        still = np.zeros((scenes.H, scenes.W), bool)
        return scenes.changed(pair, previous_depth=depth, previous_sky=still)

    whole, half = measured(*exact), measured(*(holed(pair) for pair in exact))
    assert half.components["invalid_share"].median > whole.components["invalid_share"].median + 0.4
    assert half.score > whole.score


def test_hidden_surfaces_are_no_depth_error(exact):
    """The panels cover and uncover ground and wall all the time."""
    assert max(pair.depth_log_error for pair in measured(*exact).pairs) < 0.005


def test_depths_that_flicker_are_a_depth_error(exact):
    def flickering(pair):
        factor = np.float32(1.1 if pair.frame % 2 else 1.0), np.float32(1.0 if pair.frame % 2 else 1.1)
        return scenes.changed(
            pair, previous_depth=pair.previous.depth * factor[0], depth=pair.current.depth * factor[1]
        )

    result = measured(*(flickering(pair) for pair in exact))
    assert result.components["depth_log_error"].median == pytest.approx(math.log(1.1), rel=0.1)


# --- bad input: an outcome with its reason, never NaN, never a perfect score by failure ---------------------------


def flat(pair):
    """A camera that stands still."""
    start = pair.tracks.previous
    tracks = Tracks(start, start.copy(), np.ones(len(start)), np.ones(len(start)))
    return type(pair)(pair.previous, replace(pair.previous, number=pair.frame), tracks)


def turning(pair):
    """A camera that only turns."""
    angle = math.radians(0.6)
    turn = np.array([[math.cos(angle), 0, math.sin(angle)], [0, 1, 0], [-math.sin(angle), 0, math.cos(angle)]])
    camera = np.eye(4)
    camera[:3, :3] = turn
    start = pair.tracks.previous
    end = project(rays(start, scenes.K) @ turn.T, scenes.K, 1e-3)
    before = replace(pair.previous, world_to_camera=np.eye(4))
    tracks = Tracks(start, end, np.ones(len(start)), np.ones(len(start)))
    return type(pair)(before, replace(before, number=pair.frame, world_to_camera=camera), tracks)


def without_tracks(pair):
    none = np.zeros((0, 2))
    return scenes.changed(pair, tracks=Tracks(none, none, np.zeros(0), np.zeros(0)))


def with_mask(name, pair):
    whole = np.ones((scenes.H, scenes.W), bool)
    return scenes.changed(pair, **{name: whole, f"previous_{name}": whole})


def with_depth(value, pair):
    depth = np.full((scenes.H, scenes.W), value, np.float32)
    return scenes.changed(pair, depth=depth, previous_depth=depth)


def coincident(pair):
    tracks = pair.tracks
    start, end = np.tile(tracks.previous[:1], (500, 1)), np.tile(tracks.previous[:1] + 1, (500, 1))
    return scenes.changed(pair, tracks=Tracks(start, end, np.ones(500), np.ones(500)))


def few(pair):
    return thinned(pair, slice(0, 20))


UNSCORED = {
    "a static camera": (flat, NO_PARALLAX),
    "pure rotation": (turning, NO_PARALLAX),
    "no texture, or black frames": (without_tracks, "only 0 usable tracks"),
    "all moving": (lambda pair: with_mask("moving", pair), "all that is seen moves"),
    "all sky": (lambda pair: with_mask("sky", pair), "all is sky"),
    "no depth": (lambda pair: with_depth(0, pair), "static tracks have a depth"),
    "NaN as depth": (lambda pair: with_depth(np.nan, pair), "static tracks have a depth"),
    "infinite depth": (lambda pair: with_depth(np.inf, pair), "static tracks have a depth"),
    "fewer tracks than needed": (few, "usable tracks, 30 are needed"),
    "a depth of another size": (
        lambda pair: scenes.changed(pair, previous_depth=np.ones((9, 9), np.float32)), "differ in size",
    ),
    "NaN as intrinsics": (lambda pair: scenes.changed(pair, intrinsics=np.full((3, 3), np.nan)), "not finite"),
    "a camera beyond all measure": (
        lambda pair: scenes.changed(pair, world_to_camera=pair.current.world_to_camera * 1e300), "beyond all measure",
    ),
    "intrinsics of no camera": (lambda pair: scenes.changed(pair, intrinsics=np.zeros((3, 3))), "no camera"),
    "a camera that mirrors": (lambda pair: scenes.changed(pair, world_to_camera=-np.eye(4)), "no rotation"),
    "tracks of unequal number": (
        lambda pair: scenes.changed(pair, tracks=replace(pair.tracks, current=pair.tracks.current[:-3])), "in number",
    ),
}  # fmt: skip


def finite(value):
    """Whether nothing in a result's data is NaN or infinite."""
    if isinstance(value, dict):
        return all(map(finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(finite, value))
    return not isinstance(value, float) or math.isfinite(value)


@pytest.mark.parametrize("fault", UNSCORED)
def test_bad_input_has_an_outcome_with_its_reason(exact, fault):
    change, reason = UNSCORED[fault]
    result = measured(*(change(pair) for pair in exact[:3]))
    assert result.score is None and reason in result.reason
    assert all(reason in pair.reason for pair in result.pairs)
    assert finite(result.model_dump())


@pytest.mark.parametrize("count", [0, 1])
def test_one_frame_and_two_frames(exact, count):
    result = measured(*exact[:count])
    assert finite(result.model_dump()) and result.pairs_expected == count
    if count == 0:
        assert result.score is None and "no two consecutive frames" in result.reason
    else:
        assert result.score is not None and result.score_low is None and result.components["divergence_px"].low is None


def test_coincident_points_are_no_perfect_pair(exact):
    result = measured(*(coincident(pair) for pair in exact[:3]))
    assert finite(result.model_dump())
    assert result.score is None or result.score > 0.1


@pytest.mark.parametrize("fault", UNSCORED)
def test_a_pair_that_fails_costs(exact, fault):
    broken = [UNSCORED[fault][0](pair) if pair.frame in (2, 4) else pair for pair in exact]
    whole, part = measured(*exact), measured(*broken)
    assert finite(part.model_dump()) and part.score is not None
    if UNSCORED[fault][1] is not NO_PARALLAX:
        assert part.score > whole.score
        assert part.pairs_scored == FRAMES - 3
    assert part.pairs_observable == FRAMES - 3


def test_pairs_that_an_estimator_could_not_give_cost(exact):
    whole, part = measured(*exact), measured(*exact, pairs_expected=2 * len(exact))
    assert part.score > whole.score
    assert any(f"{len(exact)} of {2 * len(exact)} pairs" in note for note in part.notes)


def test_single_bad_depths_and_tracks_are_left_out(exact):
    def spoiled(pair):
        depth = pair.previous.depth.copy()
        depth[10:14, 20:40] = np.nan
        depth[50, 50] = np.inf
        depth[60, 60] = -3
        current = pair.tracks.current.copy()
        current[::97] = np.nan
        return scenes.changed(pair, previous_depth=depth, tracks=replace(pair.tracks, current=current))

    result = measured(*(spoiled(pair) for pair in exact))
    assert finite(result.model_dump()) and level(result)["divergence_px"] < 0.005


def test_noise_without_structure_is_finite(exact):
    generator = np.random.default_rng(1)

    def noisy(pair):
        depth = generator.uniform(0.01, 1000, (scenes.H, scenes.W)).astype(np.float32)
        shape = pair.tracks.current.shape
        tracks = replace(pair.tracks, current=generator.uniform(-50, 250, shape))
        return scenes.changed(pair, previous_depth=depth, tracks=tracks)

    result = measured(*(noisy(pair) for pair in exact[:3]))
    assert finite(result.model_dump()) and (result.score is None or result.score > 0.5)


# --- summaries, floors, corruptions -------------------------------------------------------------------------------


def test_score_is_between_0_and_1_and_grows_with_every_component():
    zero = np.zeros(len(ROBUST_COMPONENTS))
    assert score_of(zero, DEFAULT_SCALE) == 0
    for place in range(len(ROBUST_COMPONENTS)):
        raised = zero.copy()
        raised[place] = 1
        assert 0 < score_of(raised, DEFAULT_SCALE) < 1
    assert score_of(zero + 1e9, DEFAULT_SCALE) <= 1


def test_what_cannot_be_measured_any_more_improves_no_score():
    level = np.array([1.0, 0.01, 0.3, 0.1, 0.02])
    for place in range(1, len(level)):  # all but the worst
        unknown = level.copy()
        unknown[place] = np.nan
        assert score_of(unknown, DEFAULT_SCALE) > score_of(level, DEFAULT_SCALE)
    unknown = np.array([np.nan, 0.01, 0.3, 0.1, 0.02])
    parts = 1 - np.exp(-np.array([0.6, 0.1, 0.6, 0.2, 0.1]))
    assert score_of(unknown, DEFAULT_SCALE) == pytest.approx(math.sqrt((parts**2).mean()))
    assert score_of(np.full(5, np.nan), DEFAULT_SCALE) == 0


def test_a_bootstrap_draws_blocks_and_repeats_itself():
    first = drawn(40, ROBUST)
    assert first.shape == (ROBUST.bootstrap, 40) and (first == drawn(40, ROBUST)).all()
    assert (np.diff(first[:, :5]) == 1).all() and first.min() == 0 and first.max() == 39
    assert drawn(1, ROBUST).max() == 0


def test_a_floor_stands_beside_the_score(exact):
    geometry = scenes.geometry_of(*(scenes.warped(pair, 1.0) for pair in exact))
    values = dict.fromkeys(ROBUST_COMPONENTS, 0.001)
    floor = NoiseFloor(estimator="test/1", size=(scenes.W, scenes.H), zero=values, scale=DEFAULT_SCALE, scenes=[])
    result = score_robust(geometry, reporter=SILENT, floor=floor)
    assert 0 < result.floor < 0.02 and result.excess == pytest.approx(result.score - result.floor)
    bare = score_robust(geometry, reporter=SILENT)
    assert bare.floor is None and bare.excess is None and any("no noise floor" in note for note in bare.notes)
    assert same_stack("classical/1 (OpenCV 5.0.0)", "classical/1, warp 0.5") and not same_stack("test/1", "test/2")


def test_weighted_median():
    assert weighted_median(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 5.0])) == 2.0
    assert gauges.weighted_median(np.array([1.0]), np.array([2.0])) == 1.0


def test_a_gauge_per_shot(exact):
    geometry = replace(scenes.geometry_of(*exact), shots=((0, 3), (4, FRAMES - 1)))
    assert [(one.first, one.last) for one in fit_gauges(geometry, ROBUST, lambda done: None)] == [(0, 3), (4, 6)]


@pytest.mark.parametrize(("kind", "severity"), [("melt", 0.5), ("warp", -0.1), ("warp", 1.1), ("warp", math.nan)])
def test_no_such_corruption(exact, kind, severity):
    with pytest.raises(BadInputError):
        perturbed(scenes.geometry_of(*exact), kind, severity)


@pytest.mark.parametrize("kind", CORRUPTIONS)
def test_a_corruption_starts_at_nothing_and_leaves_what_it_does_not_touch(exact, kind):
    geometry = scenes.geometry_of(*exact)
    pairs = list(perturbed(geometry, kind, 1.0).pairs())
    assert pairs[0].tracks.previous == pytest.approx(exact[0].tracks.previous)
    moved = [
        np.nanmax(np.abs(one.tracks.current - other.tracks.current)) for one, other in zip(pairs, exact, strict=True)
    ]
    assert moved == sorted(moved) and moved[0] > 0
    assert (pairs[-1].current.depth == exact[-1].current.depth).all() == (kind != "depth_warp")
    same = list(perturbed(geometry, kind, 0.0).pairs())
    assert all(
        np.array_equal(a.tracks.current, b.tracks.current, equal_nan=True) for a, b in zip(same, exact, strict=True)
    )


def test_measuring_a_pair_gives_what_pictures_need(exact):
    details = measure_pair(scenes.warped(exact[1], 1.0), UNIT, False, ROBUST).details
    assert len(details.places) == len(details.divergence) == len(details.labels) == len(details.misses)
    assert details.depth.shape == (scenes.H, scenes.W) and len(details.depth_errors.errors) > 1000
