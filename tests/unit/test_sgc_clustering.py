# SPDX-License-Identifier: GPL-3.0-or-later
"""Depth regions: the clustering is the optimum, and what becomes regions follows the authors' rules."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matchcut.evaluator.sgc import clustering
from matchcut.evaluator.sgc.clustering import depth_regions


def cluster(values: np.ndarray, clusters: int) -> np.ndarray:
    found = clustering.find_clusters(values, clusters)
    labels = found.labels(values)
    assert found.sizes.tolist() == np.bincount(labels, minlength=len(found.sizes)).tolist()
    return labels


def squared_error(values: np.ndarray, labels: np.ndarray) -> float:
    values = values.astype(float)
    return sum(((values[labels == one] - values[labels == one].mean()) ** 2).sum() for one in np.unique(labels))


def best_by_trying_all(values: np.ndarray, clusters: int) -> float:
    """Least squared error over every way to cut the sorted distinct values into at most `clusters` intervals."""
    distinct = np.unique(values)
    position = np.searchsorted(distinct, values)
    cuts = min(clusters, len(distinct)) - 1
    return min(
        squared_error(values, np.searchsorted(np.array(chosen, int), position, side="right"))
        for chosen in itertools.combinations(range(1, len(distinct)), cuts)
    )


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=12),
    st.sampled_from([1.0, 0.1, 1e-3, 37.5]),
    st.integers(2, 6),
)
def test_small_cases_are_optimal(numbers, scale, clusters):
    values = (np.array(numbers) * scale).astype(np.float32)
    labels = cluster(values, clusters)
    assert squared_error(values, labels) <= best_by_trying_all(values, clusters) * (1 + 1e-6) + 1e-9
    assert len(np.unique(labels)) == min(clusters, len(np.unique(values)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1000, width=32), min_size=2, max_size=60), st.integers(2, 10))
def test_labels_are_intervals_numbered_upwards(numbers, clusters):
    values = np.array(numbers, np.float32)
    labels = cluster(values, clusters)
    order = np.argsort(values, kind="stable")
    assert (np.diff(labels[order].astype(int)) >= 0).all() and labels.min() == 0
    assert all(len(np.unique(labels[values == value])) == 1 for value in np.unique(values))


def plain_dynamic_programme(values: np.ndarray, clusters: int) -> float:
    """The O(k n²) textbook recursion over all sorted values."""
    x = np.sort(values.astype(float))
    count = len(x)
    total, squares = np.concatenate([[0], np.cumsum(x)]), np.concatenate([[0], np.cumsum(x * x)])
    error = np.full((clusters + 1, count + 1), np.inf)
    error[0, 0] = 0
    for k in range(1, clusters + 1):
        for j in range(1, count + 1):
            i = np.arange(j)
            cost = squares[j] - squares[i] - (total[j] - total[i]) ** 2 / (j - i)
            error[k, j] = (error[k - 1, :j] + cost).min()
    return error[clusters, count]


def test_many_values_against_the_plain_recursion():
    rng = np.random.default_rng(3)
    values = np.concatenate([rng.gamma(2, 4, 500), rng.uniform(0, 60, 100), np.zeros(80)]).astype(np.float32)
    assert squared_error(values, cluster(values, 10)) == pytest.approx(plain_dynamic_programme(values, 10), rel=1e-9)


def test_binned_values_reach_the_exact_optimum_closely(monkeypatch):
    rng = np.random.default_rng(4)
    values = np.concatenate([rng.gamma(2, 4, 700), rng.uniform(0, 60, 200)]).astype(np.float32)
    exact = squared_error(values, cluster(values, 10))
    monkeypatch.setattr(clustering, "MAX_BINS", 128)
    binned = squared_error(values, cluster(values, 10))
    assert exact <= binned * (1 + 1e-12)
    assert binned <= exact * 1.01


def test_a_far_outlier_does_not_blur_the_rest():
    rng = np.random.default_rng(5)
    values = rng.gamma(2, 4, 30_000).astype(np.float32)
    with_outlier = cluster(np.append(values, np.float32(1e10)), 10)
    assert (with_outlier == with_outlier[-1]).sum() == 1
    without = cluster(values, 9)
    assert squared_error(values, with_outlier[:-1]) == pytest.approx(squared_error(values, without), rel=1e-3)


def test_regions_count_zeros_drop_small_ones_and_leave_moving_pixels_out():
    depth = np.full((60, 100), 5.0, np.float32)
    depth[:20] = 0.0  # sky: a region of its own
    depth[20:22, :] = 9.0  # exactly 200 px
    depth[22, :99] = 14.0  # 99 px, too few
    static = np.ones(depth.shape, bool)
    static[50:] = False
    regions, count = depth_regions(depth, static, clusters=10, minimum_size=200)
    assert count == 3
    assert set(np.unique(regions[:20])) == {1} and set(np.unique(regions[30:50])) == {2}
    assert set(np.unique(regions[20:22])) == {3}
    assert (regions[22, :99] == 0).all() and (regions[50:] == 0).all()


def test_fewer_than_two_pixels_a_cluster_give_no_region():
    depth = np.arange(400, dtype=np.float32).reshape(20, 20)
    static = np.zeros(depth.shape, bool)
    static.ravel()[:19] = True
    assert depth_regions(depth, static, clusters=10, minimum_size=1)[1] == 0
    static.ravel()[19] = True
    assert depth_regions(depth, static, clusters=10, minimum_size=1)[1] == 10


def test_speed_at_480_by_270():
    rng = np.random.default_rng(6)
    values = rng.gamma(2, 4, 480 * 270).astype(np.float32)
    cluster(values, 10)
    seconds = []
    for _ in range(5):
        start = time.process_time()
        cluster(values, 10)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.15  # about 0.03 s; generous, for a machine that is busy with other work
