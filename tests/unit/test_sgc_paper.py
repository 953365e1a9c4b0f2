# SPDX-License-Identifier: GPL-3.0-or-later
"""The paper's mode against a plain second implementation of the authors' formulas, and its stated outcomes."""

from dataclasses import replace

import cv2
import numpy as np
import pytest
import sgc_scenes as scenes
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.sgc import paper
from matchcut.evaluator.sgc.aggregate import PUBLISHED, mean_components, normalised, sgc_score
from matchcut.evaluator.sgc.components import local_consistency, trim_outliers, warp_depth
from matchcut.evaluator.sgc.paper import score_pair, score_paper
from matchcut.evaluator.sgc.poses import Pose, relative_pose
from matchcut.evaluator.sgc.records import COMPONENTS

LR, LT, GR, GT, D = COMPONENTS

# ---- the second implementation: numpy, and OpenCV for PnP alone ------------------------------------------------------


def plain_regions(depth, static, k=10, smallest=200):
    values, counts = np.unique(depth[static], return_counts=True)
    x, w = values.astype(float), counts.astype(float)
    W, S, Q = (np.concatenate([[0], np.cumsum(a)]) for a in (w, w * x, w * x * x))
    n = len(x)
    error, choice = np.full((k + 1, n + 1), np.inf), np.zeros((k + 1, n + 1), int)
    error[0, 0] = 0
    for c in range(1, k + 1):
        for j in range(c, n + 1):
            i = np.arange(c - 1, j)
            total = error[c - 1, i] + (Q[j] - Q[i]) - (S[j] - S[i]) ** 2 / (W[j] - W[i])
            choice[c, j], error[c, j] = i[total.argmin()], total.min()
    ends, j = [], n
    for c in range(k, 0, -1):
        ends.append((choice[c, j], j))
        j = choice[c, j]
    regions, number = np.zeros(depth.shape, int), 0
    for first, last in reversed(ends):
        mask = static & (depth >= values[first]) & (depth <= values[last - 1])
        if mask.sum() >= smallest:
            number += 1
            regions[mask] = number
    return regions


def plain_angle(A, B):
    return np.degrees(np.arccos(np.clip((np.trace(A.T @ B) - 1) / 2, -1, 1)))


def plain_log(R):
    angle = np.arccos(np.clip((np.trace(R) - 1) / 2, -1, 1))
    return np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) * angle / (2 * np.sin(angle))


def plain_exp(v):
    angle = np.linalg.norm(v)
    x, y, z = v / angle
    X = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * X + (1 - np.cos(angle)) * X @ X


def plain_components(pair):
    Z, Zp = pair.current.depth, pair.previous.depth
    height, width = Z.shape
    Kp, Kc = pair.previous.intrinsics, pair.current.intrinsics
    static = pair.current.moving == 0
    seen = (pair.tracks.visibility > 0) & (pair.tracks.confidence >= 0.5)
    p, q = pair.tracks.previous[seen].astype(np.float32), pair.tracks.current[seen].astype(np.float32)
    regions = plain_regions(Z, static)
    poses = []
    z = np.array([Zp[min(max(int(v), 0), height - 1), min(max(int(u), 0), width - 1)] for u, v in p], float)
    X = np.stack([(p[:, 0] - Kp[0, 2]) * z / Kp[0, 0], (p[:, 1] - Kp[1, 2]) * z / Kp[1, 1], z], 1)
    of = np.array([regions[min(max(int(v), 0), height - 1), min(max(int(u), 0), width - 1)] for u, v in q])
    for j in range(1, regions.max() + 1):
        chosen = (of == j) & (z > 1e-5)
        n = chosen.sum()
        if n < 4:
            continue
        ok, r, t, inliers = cv2.solvePnPRansac(
            X[chosen].astype(np.float32)[:, None], q[chosen][:, None], Kc, None,
            iterationsCount=100, reprojectionError=8.0, confidence=0.99, flags=cv2.SOLVEPNP_ITERATIVE,
        )  # fmt: skip
        if ok and len(inliers) >= max(4, int(0.3 * n)):
            poses.append((plain_exp(r.ravel()), t.ravel()))
    Rg = pair.current.world_to_camera[:3, :3] @ pair.previous.world_to_camera[:3, :3].T
    tg = pair.current.world_to_camera[:3, 3] - Rg @ pair.previous.world_to_camera[:3, 3]
    mean = plain_exp(np.mean([plain_log(R) for R, _ in poses], 0))
    lr = np.mean([plain_angle(R, mean) ** 2 for R, _ in poses])
    centre = np.mean([t for _, t in poses], 0)
    lt = np.mean([np.linalg.norm(t - centre) ** 2 for _, t in poses])
    squares = np.array([plain_angle(R, Rg) ** 2 for R, _ in poses])
    q1, q3, q98 = np.percentile(squares, 25), np.percentile(squares, 75), np.percentile(squares, 98)
    gr = np.mean([s for s in squares if q1 - (q98 - q3) <= s <= q98])
    gt = np.mean([np.linalg.norm(t - tg) ** 2 for _, t in poses])
    landed = np.zeros((height, width))
    for v in range(height):
        for u in range(width):
            if Zp[v, u] > 1e-5:
                P = np.array([(u - Kp[0, 2]) / Kp[0, 0], (v - Kp[1, 2]) / Kp[1, 1], 1]) * float(Zp[v, u])
                P = Rg @ P + tg
                if P[2] > 1e-5:
                    a = int(np.round(P[0] * Kc[0, 0] / P[2] + Kc[0, 2]))
                    b = int(np.round(P[1] * Kc[1, 1] / P[2] + Kc[1, 2]))
                    if 0 <= a < width and 0 <= b < height:
                        landed[b, a] = max(landed[b, a], P[2])
    both = (landed > 1e-5) & (Z > 1e-5) & static
    return [lr, lt, gr, gt, np.abs(landed[both] - Z[both]).mean()], len(poses)


def disturbed(step, seed):
    """A pair with noise in everything: depth in steps, tracks, visibility, confidence, mask, poses, intrinsics."""
    rng = np.random.default_rng(seed)
    pair = scenes.pair(step)
    count = len(pair.tracks.previous)

    def rough(depth):
        return (np.round(depth * rng.normal(1, 0.02, depth.shape) / 0.1) * 0.1).astype(np.float32)

    moving = np.zeros(pair.current.depth.shape, bool)
    moving[40:85, 25:60] = True
    zoom = np.diag([1.01, 1.01, 1.0])
    tilt = np.eye(4)
    tilt[:3, :3], tilt[:3, 3] = plain_exp(rng.normal(0, 0.01, 3)), rng.normal(0, 0.02, 3)
    tracks = replace(
        pair.tracks,
        current=pair.tracks.current + rng.normal(0, 0.7, (count, 2)),
        visibility=np.where(rng.random(count) < 0.1, 0.0, pair.tracks.visibility),
        confidence=rng.uniform(0.3, 1.0, count),
    )
    return scenes.changed(
        pair, previous_depth=rough(pair.previous.depth), depth=rough(pair.current.depth), moving=moving,
        intrinsics=pair.current.intrinsics @ zoom, world_to_camera=tilt @ pair.current.world_to_camera, tracks=tracks,
    )  # fmt: skip


@pytest.mark.parametrize(("step", "seed"), [(1, 0), (4, 1), (9, 2)])
def test_components_equal_the_plain_implementation(step, seed):
    pair = disturbed(step, seed)
    result = score_pair(pair)
    expected, regions = plain_components(pair)
    assert result.regions == regions >= 5
    assert [result.components[name] for name in COMPONENTS] == pytest.approx(expected, rel=1e-6)
    assert result.reason == ""


# ---- aggregation -----------------------------------------------------------------------------------------------------


def test_score_equals_the_published_formula():
    values = dict(zip(COMPONENTS, (11.7, 0.31, 5.2, 0.44, 0.066), strict=True))
    constants = {
        LR: (3.2258150339940843, 0.6421173829859212, -1.8811821698945852, 1.5663181331011482, 0.11669070601277023),
        LT: (1.2007751766455346, 2.407269199126828, -0.4933616123430922, 2.5095090319214615, 0.2402708242167125),
        GR: (2.4288948936491455, 1.3005146413901363, -1.1393520884301584, 1.9477640491063855, 0.1665006451149703),
        GT: (1.259234860929807, 2.489110813263616, -0.49964138243627926, 2.4458262416651646, 0.24587247586980182),
        D: (0.05456999853529613, 0.03658597208691396, -1.2477844994940592, 1.8195708762062759, 0.2306653487857453),
    }
    numerator = denominator = 0.0
    for name, value in values.items():
        mu, sigma, low, high, weight = constants[name]
        v = value if name == D else np.log(1 + value)
        numerator += weight * max(0.0, ((v - mu) / sigma - low) / (high - low))
        denominator += weight
    assert sgc_score(values) == pytest.approx(numerator / denominator, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "zero", "one"),
    [(LR, 6.522, 67.83), (LT, 0.0132, 1395.7), (GR, 1.578, 141.9), (GT, 0.0157, 1550.8), (D, 0.0089, 0.1211)],
)
def test_published_constants_map_the_known_raw_values(name, zero, one):
    # the raw values of the facts have three to five digits
    assert normalised(name, zero) == pytest.approx(0, abs=1e-3)
    assert normalised(name, one) == pytest.approx(1, abs=1e-3)
    assert normalised(name, 0.0) == 0.0
    assert normalised(name, one * 10) > 1  # not clipped above


def test_weights_sum_to_one_and_missing_components_are_left_out():
    assert sum(constants.weight for constants in PUBLISHED.values()) == pytest.approx(1, abs=1e-15)
    only_depth = dict.fromkeys(COMPONENTS) | {D: 0.066}
    assert sgc_score(only_depth) == pytest.approx(normalised(D, 0.066), rel=1e-12)
    assert sgc_score(dict.fromkeys(COMPONENTS)) is None


def test_means_are_over_the_pairs_that_have_the_component():
    nothing = dict.fromkeys(COMPONENTS)
    means = mean_components([nothing | {LR: 1.0}, nothing | {LR: 4.0, D: 0.5}, nothing])
    assert means == nothing | {LR: 2.5, D: 0.5}


# ---- single formulas -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ([], []),
        ([5], []),
        ([1, 2], []),
        ([0, 1, 2], [1]),
        ([3, 3, 3, 3], []),
        (list(range(10)), list(range(1, 9))),
        (list(range(200)), list(range(4, 196))),  # 98 % lies at 195.02, and 49.75 - (195.02 - 149.25) = 3.98
    ],
)
def test_trimming_keeps_what_the_authors_code_keeps(values, kept):
    assert trim_outliers(np.array(values, float)).tolist() == kept


def test_two_rotations_about_one_axis():
    poses = [Pose(plain_exp(np.radians([0, angle, 0])), np.array([x, 0, 0])) for angle, x in ((1.0, 0.0), (3.0, 0.4))]
    assert local_consistency(poses) == pytest.approx((1.0, 0.04), rel=1e-9)  # 1° and 0.2 from their means
    assert local_consistency(poses[:1]) == (0.0, 0.0)
    assert np.isnan(local_consistency([])).all()


def test_the_farthest_surface_wins_in_the_warp():
    K = np.array([[10.0, 0, 2], [0, 10.0, 0], [0, 0, 1]])
    depth = np.array([[0, 0, 5.0, 2.5, 0]], np.float32)
    # both land on column 2: depth 5 at 2 − 0.5, rounded to even, and depth 2.5 at 3 − 1
    motion = Pose(np.eye(3), np.array([-0.25, 0.0, 0.0]))
    assert warp_depth(depth, (1, 5), K, K, motion).tolist() == [[0, 0, 5.0, 0, 0]]


def test_relative_pose_takes_previous_camera_points_to_the_current_camera():
    before, after = scenes.camera(2), scenes.camera(3)
    point = np.array([0.3, -0.2, 7.0, 1.0])
    motion = relative_pose(before, after)
    assert motion.rotation @ (before @ point)[:3] + motion.translation == pytest.approx((after @ point)[:3], abs=1e-12)


# ---- behaviour -------------------------------------------------------------------------------------------------------


def medians(pixels):
    results = [score_pair(scenes.warped(scenes.pair(step), pixels)) for step in range(1, 6)]
    # on exact input the angles may all be 0, of which trimming leaves nothing
    return {name: np.median([result.components[name] or 0.0 for result in results]) for name in COMPONENTS}


def test_rigid_scene_is_consistent_and_a_warp_is_not():
    exact, slight, strong = medians(0.0), medians(0.5), medians(4.0)
    for name in (LR, LT, GR, GT):
        assert exact[name] < 1e-6
        assert 1e-3 < slight[name] < strong[name]
    assert exact[D] == slight[D] == strong[D]  # a warp of the tracks leaves the depth alone


def score(*pairs):
    return score_paper(scenes.geometry_of(*pairs), reporter=SilentReporter())


def test_same_input_same_bytes():
    pairs = [disturbed(1, 5), disturbed(2, 6)]
    assert score(*pairs).model_dump_json() == score(*pairs).model_dump_json()


def test_static_camera_measures_nothing_and_says_zero():
    pair = scenes.pair(1)
    still = scenes.changed(
        pair, previous_depth=pair.current.depth, previous_world_to_camera=pair.current.world_to_camera,
        tracks=replace(pair.tracks, current=pair.tracks.previous),
    )  # fmt: skip
    result = score_pair(still)
    assert result.components[D] == 0.0
    assert result.components[LR] < 1e-6 and result.components[GT] < 1e-6
    assert score(still).score == pytest.approx(0.0, abs=1e-9)  # the paper's mode cannot tell; docs/sgc.md says so


def test_mirrored_poses_are_counted_and_told(monkeypatch):
    pair = scenes.pair(1)
    motion = relative_pose(pair.previous.world_to_camera, pair.current.world_to_camera)
    mirrored = Pose(plain_exp(np.array([0, 3.1, 0])) @ motion.rotation, -motion.translation)
    monkeypatch.setattr(paper, "local_poses", lambda *arguments: [motion, motion, mirrored, motion])
    result = score(pair, pair)
    assert [only.turned_regions for only in result.pairs] == [1, 1]
    assert any("2 of 8 region poses, in 2 pairs" in note for note in result.notes)
    monkeypatch.setattr(paper, "local_poses", lambda *arguments: [motion, motion, motion])
    assert score(pair).pairs[0].turned_regions == 0
    assert not any("region poses" in note for note in score(pair).notes)


def test_one_region_has_zero_local_variance_and_no_global_rotation():
    pair = scenes.pair(1)
    band = pair.current.depth > 25  # the back wall alone stays static
    result = score(
        scenes.changed(pair, moving=~band, depth=np.where(band, 28.0, pair.current.depth).astype(np.float32))
    )
    (only,) = result.pairs
    assert only.regions == 1
    assert (only.components[LR], only.components[LT], only.components[GR]) == (0.0, 0.0, None)
    assert only.components[GT] is not None and "trimming" in only.reason
    assert result.component_pairs[GR] == 0 and result.component_pairs[LR] == 1
    assert any("one region" in note for note in result.notes) and any(GR in note for note in result.notes)


@pytest.mark.parametrize("left", [0, 3])
def test_too_few_tracks_leave_the_pair_unscored(left):
    pair = scenes.pair(1)
    visibility = np.zeros(len(pair.tracks.previous))
    visibility[np.flatnonzero(pair.tracks.visibility)[:left]] = 1
    result = score(scenes.changed(pair, tracks=replace(pair.tracks, visibility=visibility)))
    assert result.score is None and result.pairs_scored == 0 and result.pairs_expected == 1
    assert f"only {left} usable tracks" in result.reason
    assert all(value is None for value in result.components.values())


def test_coincident_points_give_no_pose_and_their_depth_term_alone_no_score():
    pair = scenes.pair(1)
    start, end = pair.tracks.previous[9000], pair.tracks.current[9000]
    tracks = replace(pair.tracks, previous=np.tile(start, (50, 1)), current=np.tile(end, (50, 1)),
        visibility=np.ones(50), confidence=np.ones(50),
    )  # fmt: skip
    result = score(scenes.changed(pair, tracks=tracks))
    (only,) = result.pairs
    assert only.regions == 0 and "gave a camera pose" in only.reason
    assert only.components[LR] is None and only.components[GT] is None and only.components[D] is not None
    assert result.score is None and "no pair of frames has two regions with a camera pose" in result.reason


def test_all_moving_or_all_sky_is_unscored():
    pair = scenes.pair(1)
    moving = score(scenes.changed(pair, moving=np.ones(pair.current.depth.shape, bool)))
    assert moving.score is None and "no static pixel" in moving.reason
    nothing = np.zeros_like(pair.current.depth)
    sky = score(scenes.changed(pair, depth=nothing, previous_depth=nothing))
    assert sky.score is None and "no static pixel has a depth in both frames" in sky.reason


@pytest.mark.parametrize("name", ["depth", "previous_depth", "intrinsics", "world_to_camera"])
def test_values_that_are_not_finite_leave_the_pair_unscored(name):
    pair = scenes.pair(1)
    frame = pair.previous if name.startswith("previous_") else pair.current
    spoilt = getattr(frame, name.removeprefix("previous_")).copy()
    spoilt[1, 1] = np.nan
    result = score(scenes.changed(pair, **{name: spoilt}), pair)
    assert result.pairs_scored == 1 and result.pairs_expected == 2
    assert "not finite" in result.pairs[0].reason
    assert all(value is None for value in result.pairs[0].components.values())
    assert result.score == score(pair).score


@pytest.mark.filterwarnings("error")
def test_a_camera_beyond_all_measure_leaves_the_pair_unscored():
    pair = scenes.pair(1)
    result = score(scenes.changed(pair, world_to_camera=pair.current.world_to_camera * 1e300), pair)
    assert result.pairs_scored == 1 and "beyond all measure" in result.pairs[0].reason
    result.model_dump_json()


def test_tracks_that_are_not_finite_are_left_out():
    pair = scenes.pair(1, sky=True)
    assert np.isnan(pair.tracks.current).any()
    seen = replace(pair.tracks, visibility=np.ones(len(pair.tracks.visibility)))
    known = np.isfinite(pair.tracks.current).all(1)
    left = replace(
        seen, previous=seen.previous[known], current=seen.current[known],
        visibility=seen.visibility[known], confidence=seen.confidence[known],
    )  # fmt: skip
    assert score_pair(scenes.changed(pair, tracks=seen)) == score_pair(scenes.changed(pair, tracks=left))


def test_sizes_that_differ_leave_the_pair_unscored():
    pair = scenes.pair(1)
    result = score(scenes.changed(pair, moving=pair.current.moving[:-1]))
    assert result.score is None and "differ in size" in result.reason


def test_no_pair_at_all_is_unscored():
    result = score()
    assert result.score is None and "no two consecutive frames" in result.reason
