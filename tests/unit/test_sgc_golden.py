# SPDX-License-Identifier: GPL-3.0-or-later
"""The paper's mode against figures that the authors' own functions gave on the same inputs.

The figures come from github.com/tj12323/SGC at 8774363: its functions were run with the clustering of this package in
place of cuML's k-means, which starts at random. Nothing of its code is here.
"""

import platform
from dataclasses import replace

import cv2
import numpy as np
import pytest
import sgc_scenes as scenes
from matchcut.evaluator.sgc.aggregate import sgc_score
from matchcut.evaluator.sgc.components import global_consistency, local_consistency, warp_depth
from matchcut.evaluator.sgc.paper import score_pair
from matchcut.evaluator.sgc.poses import Pose
from matchcut.evaluator.sgc.records import COMPONENTS

SAME_PNP = cv2.__version__ == "5.0.0" and platform.machine() in ("x86_64", "AMD64")
"""Another OpenCV finds the same good poses to about 0.1 %."""


def noise(shape, seed):
    """Values in [-0.5, 0.5) that are the same on every machine."""
    number = np.arange(np.prod(shape), dtype=np.uint64).reshape(shape) + np.uint64(seed * 1_000_003)
    for shift, factor in ((33, 0xFF51AFD7ED558CCD), (29, 0xC4CEB9FE1A85EC53)):
        number = (number ^ (number >> np.uint64(shift))) * np.uint64(factor)
    return ((number >> np.uint64(40)).astype(float) / 2**24) - 0.5


def rotation(x, y, z):
    return cv2.Rodrigues(np.array([x, y, z], float))[0]


def golden_pair(step):
    """A pair of the rigid scene with noise in depth, tracks, confidence, mask, intrinsics and camera."""
    pair = scenes.pair(step)
    count = len(pair.tracks.previous)
    moving = np.zeros(pair.current.depth.shape, bool)
    moving[40:85, 25:60] = True
    tilt = np.eye(4)
    tilt[:3, :3], tilt[:3, 3] = rotation(0.008, -0.005, 0.004 * step), [0.02, -0.01, 0.03]
    before, after = (
        (frame.depth * (1 + 0.06 * noise(frame.depth.shape, 10 * step + place))).astype(np.float32)
        for place, frame in enumerate((pair.previous, pair.current))
    )
    tracks = replace(
        pair.tracks,
        current=pair.tracks.current + 2 * noise((count, 2), 10 * step + 2),
        visibility=np.where(noise(count, 10 * step + 3) < -0.4, 0.0, pair.tracks.visibility),
        confidence=0.65 + 0.6 * noise(count, 10 * step + 4),
    )
    return scenes.changed(
        pair, previous_depth=before, depth=after, moving=moving, tracks=tracks,
        intrinsics=pair.current.intrinsics @ np.diag([1.01, 1.01, 1.0]),
        world_to_camera=tilt @ pair.current.world_to_camera,
    )  # fmt: skip


REFERENCE = Pose(rotation(0.01, -0.02, 0.005), np.array([0.1, -0.02, -0.15]))
TURNS = [(0.01, -0.02, 0.006), (0.013, -0.01, 0.001), (0.3, 0.1, -0.2), (0.02, -0.03, 0.0), (0.0, 3.1, 0.02),
         (0.011, -0.019, 0.005), (-0.05, 0.04, 0.06), (0.012, -0.022, 0.004)]  # fmt: skip
SHIFTS = [(0.1, 0, -0.1), (0.12, -0.01, -0.2), (2.0, 1.0, 5.0), (0.1, -0.02, -0.15), (-60.0, 3.0, 90.0),
          (0.11, -0.03, -0.14), (0.4, 0.2, 0.1), (0.09, -0.02, -0.16)]  # fmt: skip
POSES = [Pose(rotation(*turn), np.array(shift, float)) for turn, shift in zip(TURNS, SHIFTS, strict=True)]
POSE_SETS = {"eight": POSES, "six": POSES[:4] + POSES[5:7], "three": POSES[:3], "two": POSES[:2], "one": POSES[:1]}
SCORED = [
    [11.7, 0.31, 5.2, 0.44, 0.066],
    [6.5223, 0.0182, 2.0900, 0.0220, 0.0331],
    [251.7, 279.0, 310.0, 290.0, 0.04],
    [0.0, 0.0, 0.0, 0.0, 0.0],
    [12.0, 0.5, None, 0.7, 0.2],
    [None, None, None, None, 1.64],
]
NAN = float("nan")

# ---- what the authors' functions gave --------------------------------------------------------------------------------

PAIRS = {  # step: regions with a pose, and the five components
    1: (9, [0.07291601178099738, 0.012281190676070149, 0.6999625257292665, 0.02544509615308605, 0.6219455003738403]),
    4: (9, [0.11213019586046467, 0.010340412174662701, 1.4269571873285078, 0.025144478668496485, 0.5727679133415222]),
    9: (9, [0.11371842794702165, 0.022398241868681317, 4.692041156049386, 0.03833458031054596, 0.5909260511398315]),
}
VARIANCES = {  # local rotation and translation, global rotation and translation
    "eight": [3493.147834586328, 1277.1570234375001, 70.8643465232483, 1472.4416375],
    "six": [71.97900437009018, 4.234761111111111, 6.944934594520964, 5.23],
    "three": [100.64772945758186, 6.913888888888889, 0.20681269316217094, 10.392933333333334],
    "two": [0.10997183625021598, 0.0026250000000000006, NAN, 0.0029500000000000004],
    "one": [0.0, 0.0, NAN, 0.002899999999999999],
}
WARPED = (9282, 167251.9225564003, 615044503.3900337)  # pixels, sum of depths, sum of depth times place
SCORES = [
    0.2015667538599063, 0.05758140221173046, 0.8244871366658114, 0.0, 0.5421804530618769, 14.534394512161857,
]  # fmt: skip


@pytest.mark.parametrize("step", PAIRS)
def test_components_of_a_pair(step):
    result = score_pair(golden_pair(step))
    regions, expected = PAIRS[step]
    values = [result.components[name] for name in COMPONENTS]
    assert result.regions == regions
    assert values[:4] == pytest.approx(expected[:4], rel=1e-6 if SAME_PNP else 2e-2)
    assert values[4] == pytest.approx(expected[4], rel=1e-6)


@pytest.mark.parametrize("name", POSE_SETS)
def test_variances_of_given_poses(name):
    poses = POSE_SETS[name]
    values = [*local_consistency(poses), *global_consistency(poses, REFERENCE)]
    assert values == pytest.approx(VARIANCES[name], rel=1e-9, nan_ok=True)


def test_warped_depth():
    pair = golden_pair(2)
    depth = warp_depth(pair.previous.depth, (90, 110), pair.previous.intrinsics, pair.current.intrinsics, REFERENCE)
    wide = depth.astype(float)
    found = ((depth > 0).sum(), wide.sum(), (wide * np.arange(wide.size).reshape(wide.shape)).sum())
    assert found == pytest.approx(WARPED, rel=1e-6)


@pytest.mark.parametrize(("values", "expected"), list(zip(SCORED, SCORES, strict=True)))
def test_score_of_given_components(values, expected):
    assert sgc_score(dict(zip(COMPONENTS, values, strict=True))) == pytest.approx(expected, rel=1e-12, abs=1e-12)
