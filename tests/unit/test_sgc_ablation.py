# SPDX-License-Identifier: GPL-3.0-or-later
"""Every switch of the paper's mode changes what it says and nothing else; failures never look like a good score."""

from dataclasses import fields, replace

import numpy as np
import pytest
import sgc_scenes as scenes
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.sgc.ablation import FIXES, Ablation, Fixes, find_regions
from matchcut.evaluator.sgc.components import global_consistency, warp_depth
from matchcut.evaluator.sgc.paper import PAPER, score_pair, score_paper
from matchcut.evaluator.sgc.poses import PnpSettings, Pose, local_poses
from matchcut.evaluator.sgc.records import COMPONENTS, Tracks

LR, LT, GR, GT, D = COMPONENTS


def fixed(**switches):
    return replace(PAPER, fixes=Fixes(**switches))


def ablated(**parts):
    return replace(PAPER, ablation=Ablation(**parts))


def score(*pairs, settings=PAPER):
    return score_paper(scenes.geometry_of(*pairs), reporter=SilentReporter(), settings=settings)


# ---- names -----------------------------------------------------------------------------------------------------------


def test_every_fix_is_described_and_off_by_default():
    assert [field.name for field in fields(Fixes)] == list(FIXES)
    assert Fixes().names() == [] and Fixes.from_names([""]) == Fixes()
    assert Fixes.from_names(["all"]).names() == list(FIXES)
    assert Fixes.from_names(["zbuffer_near", ""]) == Fixes(zbuffer_near=True)
    with pytest.raises(BadInputError, match="'nearest' is no fix"):
        Fixes.from_names(["nearest"])


def test_what_is_changed_is_recorded():
    parameters = score(scenes.pair(1)).parameters
    assert (parameters["fixes"], parameters["regions"], parameters["masks"]) == ("none", "depth", True)
    settings = replace(fixed(zbuffer_near=True, reject_mirrored_poses=True), ablation=Ablation(masks=False))
    parameters = score(scenes.pair(1), settings=settings).parameters
    assert parameters["fixes"] == "zbuffer_near, reject_mirrored_poses" and parameters["masks"] is False


# ---- fixes -----------------------------------------------------------------------------------------------------------


def test_the_nearest_surface_wins_where_that_is_asked_for():
    K = np.array([[10.0, 0, 2], [0, 10.0, 0], [0, 0, 1]])
    depth = np.array([[0, 0, 5.0, 2.5, 0]], np.float32)
    motion = Pose(np.eye(3), np.array([-0.25, 0.0, 0.0]))
    assert warp_depth(depth, (1, 5), K, K, motion, nearest=True).tolist() == [[0, 0, 2.5, 0, 0]]
    pair = scenes.pair(3)
    far, near = score_pair(pair), score_pair(pair, fixed(zbuffer_near=True))
    assert near.components[D] < far.components[D]
    assert [near.components[name] for name in (LR, LT, GR, GT)] == [far.components[name] for name in (LR, LT, GR, GT)]


def test_small_samples_are_kept_where_that_is_asked_for():
    poses = [Pose(np.eye(3), np.zeros(3)), Pose(np.eye(3), np.ones(3))]
    assert np.isnan(global_consistency(poses, poses[0])[0])
    assert global_consistency(poses, poses[0], keep_small=True) == (0.0, 1.5)
    one = one_region(scenes.pair(1))
    assert score_pair(one).components[GR] is None
    assert score_pair(one, fixed(trim_keeps_small_samples=True)).components[GR] >= 0


def one_region(pair):
    band = pair.current.depth > 25  # the back wall alone stays static
    return scenes.changed(pair, moving=~band, depth=np.where(band, 28.0, pair.current.depth).astype(np.float32))


def test_one_region_alone_has_no_divergence_where_that_is_asked_for():
    pair = one_region(scenes.pair(1))
    assert score_pair(pair).components[LR] == 0
    strict = score_pair(pair, fixed(one_region_undefined=True))
    assert strict.components[LR] is None and strict.components[LT] is None and "no divergence" in strict.reason


def test_pairs_that_repeat_a_frame_are_dropped_where_that_is_asked_for():
    pair = scenes.pair(1)
    repeated = scenes.changed(pair, tracks=replace(pair.tracks, current=pair.tracks.previous.copy()))
    drop = fixed(drop_repeated_track_pairs=True)
    assert score_pair(repeated).components[GT] is not None
    assert score_pair(repeated, drop).reason == "its tracks stand still while the cameras move"
    assert score_pair(pair, drop) == score_pair(pair)
    still = scenes.changed(
        repeated, previous_depth=pair.current.depth, previous_world_to_camera=pair.current.world_to_camera
    )
    assert score_pair(still, drop) == score_pair(still)  # where the camera stands still, tracks may


def test_hardly_visible_tracks_are_dropped_where_that_is_asked_for():
    pair = scenes.pair(1)
    hidden = scenes.changed(pair, tracks=replace(pair.tracks, visibility=pair.tracks.visibility * 0.3))
    assert score_pair(hidden).components == score_pair(pair).components
    assert "only 0 usable tracks" in score_pair(hidden, fixed(require_visible_tracks=True)).reason


def test_tracks_outside_are_dropped_where_that_is_asked_for():
    pair = scenes.pair(1)
    shift = np.where(np.arange(len(pair.tracks.current)) % 2 == 0, 0.0, 1e4)[:, None]
    tracks = replace(pair.tracks, current=pair.tracks.current + shift)
    kept = score_pair(scenes.changed(pair, tracks=tracks), fixed(drop_tracks_outside=True))
    half = replace(pair.tracks, visibility=pair.tracks.visibility * (shift[:, 0] == 0))
    assert kept.components == score_pair(scenes.changed(pair, tracks=half)).components
    assert score_pair(scenes.changed(pair, tracks=tracks)).components != kept.components


def test_sky_takes_no_part_in_the_clustering_where_that_is_asked_for():
    pair = scenes.pair(1, sky=True)
    static = np.ones(pair.current.depth.shape, bool)
    depth = pair.current.depth
    options = {"clusters": 10, "minimum_size": 200}
    sky = find_regions("depth", depth, static, **options)[0][depth == 0]
    assert (sky == 1).all()  # a cluster of its own, without points, which leaves nine for the rest
    plain, valid = score_pair(pair), score_pair(pair, fixed(cluster_valid_depth_only=True))
    assert valid.components[D] == plain.components[D] and valid.components[LT] != plain.components[LT]


def test_a_mirrored_pose_is_rejected_where_that_is_asked_for():
    random = np.random.default_rng(1)
    places = random.uniform((0, 0), (scenes.W - 1, scenes.H - 1), (60, 2)).round()
    depth = random.uniform(4, 9, (scenes.H, scenes.W)).astype(np.float32)
    z = depth[places[:, 1].astype(int), places[:, 0].astype(int)].astype(float)
    points = np.column_stack([places, np.ones(60)]) @ np.linalg.inv(scenes.K).T * z[:, None]
    turned = points @ np.diag([-1.0, 1.0, -1.0]) + (0.1, 0.2, 13)  # half a turn
    pixels = turned @ scenes.K.T
    tracks = Tracks(places, pixels[:, :2] / pixels[:, 2:], np.ones(60), np.ones(60))
    regions = np.ones(depth.shape, np.int32)
    (mirrored,) = local_poses(tracks, depth, scenes.K, scenes.K, regions, PnpSettings())
    assert mirrored.rotation == pytest.approx(np.diag([-1.0, 1.0, -1.0]), abs=1e-3)
    assert local_poses(tracks, depth, scenes.K, scenes.K, regions, PnpSettings(reject_mirrored=True)) == []


def test_a_mirrored_solution_of_pnp_does_not_decide_a_mended_pair():
    # with OpenCV 5.0 one of the nine poses is mirrored: a squared distance of 35 instead of 0.015
    pair = scenes.warped(scenes.pair(2), 0.5)
    for name in ("reject_mirrored_poses", "pnp_from_global_pose"):
        mended = score_pair(pair, fixed(**{name: True}))
        assert mended.turned_regions == 0 and mended.regions >= 8
        assert mended.components[LT] < 0.1


# ---- ablations -------------------------------------------------------------------------------------------------------


def test_without_masks_what_moves_counts_as_static():
    pair = scenes.pair(1)
    moving = scenes.changed(pair, moving=np.ones(pair.current.depth.shape, bool))
    assert score_pair(moving).components[D] is None
    assert score_pair(moving, ablated(masks=False)).components == score_pair(pair).components


def test_a_grid_has_as_many_cells_as_there_are_clusters():
    depth = np.ones((120, 160), np.float32)
    static = np.ones(depth.shape, bool)
    static[:60, :32] = False  # the first of two rows of five cells
    regions, count = find_regions("grid", depth, static, clusters=10, minimum_size=200)
    assert count == 9 and (regions[:60, :32] == 0).all()
    assert all((np.bincount(regions.ravel())[1:] == 60 * 32).tolist())
    assert regions[0, 32] == 1 and regions[60, 0] == 5 and regions[-1, -1] == 9


def test_connected_parts_of_a_cluster_are_regions_of_their_own():
    depth = np.full((60, 100), 5.0, np.float32)
    depth[:, 40:60] = 9.0
    depth[0:5, 0:5] = 9.0  # the same cluster, too small for itself
    static = np.ones(depth.shape, bool)
    assert find_regions("depth", depth, static, clusters=10, minimum_size=200)[1] == 2
    regions, count = find_regions("depth_spatial", depth, static, clusters=10, minimum_size=200)
    assert count == 3 and (regions[0:5, 0:5] == 0).all()
    assert len({regions[30, 10], regions[30, 50], regions[30, 90]}) == 3


def test_without_the_global_pose_only_the_local_terms_are_left():
    pair = scenes.warped(scenes.pair(1), 1.0)
    plain, without = score_pair(pair), score_pair(pair, ablated(global_pose=False))
    assert [without.components[name] for name in (GR, GT, D)] == [None] * 3
    assert (without.components[LR], without.components[LT]) == (plain.components[LR], plain.components[LT])
    assert score(pair, settings=ablated(global_pose=False)).score is not None


# ---- failures --------------------------------------------------------------------------------------------------------


def test_one_region_in_every_pair_gives_no_score_instead_of_a_good_one():
    pair = one_region(scenes.pair(1))
    result = score(pair, pair)
    assert result.components[LR] == 0 and result.score is None
    assert "no pair of frames has two regions" in result.reason
    assert score(pair, scenes.pair(2)).score is not None


def test_a_camera_that_only_turns_is_told():
    pair = scenes.pair(1)
    matrix = np.eye(4)
    matrix[:3, :3] = scenes.camera(1)[:3, :3]
    rays = np.column_stack([pair.tracks.previous, np.ones(len(pair.tracks.previous))]) @ np.linalg.inv(scenes.K).T
    seen = rays @ matrix[:3, :3].T @ scenes.K.T
    turned = scenes.changed(
        pair, previous_world_to_camera=np.eye(4), world_to_camera=matrix,
        tracks=replace(pair.tracks, current=seen[:, :2] / seen[:, 2:]),
    )  # fmt: skip
    result = score(turned)
    assert result.pairs[0].parallax_px == 0 and result.camera_translation == 0
    assert result.camera_rotation_deg == pytest.approx(0.4272, abs=1e-3)
    assert any("without parallax any depth fits" in note for note in result.notes)
    assert not any("parallax" in note for note in score(pair).notes) and score(pair).pairs[0].parallax_px > 0.5


def spoilt(pair, name):
    count = len(pair.tracks.previous)
    none = Tracks(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0), np.zeros(0))
    return {
        "no texture": lambda: scenes.changed(pair, tracks=none),
        "black": lambda: scenes.changed(pair, depth=0 * pair.current.depth, previous_depth=0 * pair.current.depth),
        "all moving": lambda: scenes.changed(pair, moving=np.ones(pair.current.depth.shape, bool)),
        "other counts": lambda: scenes.changed(pair, tracks=replace(pair.tracks, confidence=np.ones(count - 1))),
        "other sizes": lambda: scenes.changed(pair, depth=pair.current.depth[:, :-3]),
        "no camera": lambda: scenes.changed(pair, intrinsics=np.zeros((3, 3))),
        "not finite": lambda: scenes.changed(pair, previous_depth=np.full_like(pair.current.depth, np.inf)),
        "far outside": lambda: scenes.changed(
            pair, tracks=replace(pair.tracks, current=np.where(np.arange(count)[:, None] % 2, 1e300, -1e300))
        ),
        "in one place": lambda: scenes.changed(
            pair, tracks=replace(pair.tracks, previous=np.full((count, 2), 9.0), current=np.full((count, 2), 9.0))
        ),
        "in one line": lambda: scenes.changed(
            pair,
            tracks=replace(pair.tracks, previous=pair.tracks.previous * (1, 0), current=pair.tracks.current * (1, 0)),
        ),
    }[name]()  # fmt: skip


FAULTS = ["no texture", "black", "all moving", "other counts", "other sizes", "no camera", "not finite", "far outside",
          "in one place", "in one line"]  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("settings", [PAPER, fixed(**dict.fromkeys(FIXES, True))], ids=["plain", "fixed"])
@pytest.mark.filterwarnings("error")
def test_a_failure_has_its_reason_and_no_good_score(name, settings):
    result = score(spoilt(scenes.pair(1), name), settings=settings)
    (pair,) = result.pairs
    missing = [component for component in COMPONENTS if pair.components[component] is None]
    assert pair.reason or not missing
    assert all(value is None or np.isfinite(value) for value in pair.components.values())
    assert result.score is None or (result.score > 0.02 and pair.regions > 1)
    assert result.reason or result.score is not None
    result.model_dump_json()
