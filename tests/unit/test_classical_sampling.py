# SPDX-License-Identifier: GPL-3.0-or-later
"""The first relative pose by random sampling: the same motion from every library that can give it."""

import importlib.util

import cv2
import numpy as np
import pytest
from matchcut.evaluator.sgc.classical import sampling
from matchcut.evaluator.sgc.classical.two_view import relative_pose

FOCAL = 900.0
ROTATION = cv2.Rodrigues(np.array([0.01, 0.03, -0.02]))[0]
TRANSLATION = np.array([0.3, 0.05, 0.1])


@pytest.fixture(params=["", "poselib", "pycolmap"])
def sampler(request, monkeypatch):
    if request.param and importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    monkeypatch.setattr(sampling, "extra", lambda: f"{request.param} 1" if request.param else "")


def seen(outliers=0.2, noise=0.15):
    rng = np.random.default_rng(0)
    count = 800
    points = np.column_stack([rng.uniform(-4, 4, count), rng.uniform(-2, 2, count), rng.uniform(4, 12, count)])
    moved = points @ ROTATION.T + TRANSLATION
    first, second = (FOCAL * one[:, :2] / one[:, 2:] for one in (points, moved))
    second = second + rng.normal(0, noise, second.shape)
    wild = int(outliers * count)
    second[:wild] += rng.uniform(-20, 20, (wild, 2))
    return first, second


def test_the_motion_is_found_among_points_that_do_not_follow_it(sampler):
    first, second = seen()
    found = sampling.sampled_pose(first, second, FOCAL)
    again = sampling.sampled_pose(first, second, FOCAL)
    refined = relative_pose(first, second, FOCAL)
    assert found is not None and again is not None and refined is not None
    assert np.array_equal(found.rotation, again.rotation) and np.array_equal(found.translation, again.translation)
    for pose, turn, direction in ((found, 0.05, 0.5), (refined.pose, 0.01, 0.15)):
        assert np.degrees(np.linalg.norm(cv2.Rodrigues(pose.rotation @ ROTATION.T)[0])) < turn
        cosine = pose.translation @ TRANSLATION / np.linalg.norm(TRANSLATION)
        assert np.degrees(np.arccos(min(1.0, cosine))) < direction


def test_points_that_are_all_one_give_no_pose(sampler):
    assert sampling.sampled_pose(np.zeros((20, 2)), np.zeros((20, 2)), FOCAL) is None
