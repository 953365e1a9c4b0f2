# SPDX-License-Identifier: GPL-3.0-or-later
"""Depth regions: k-means in one dimension, solved to its optimum instead of from random starts.

In one dimension the clusters of an optimal k-means are intervals of the sorted values, so dynamic programming finds
them: the best split of the first j values into m clusters is the best split of the first i into m − 1 plus the cluster
[i, j). The best i never decreases with j, which lets every layer be solved by divide and conquer, a whole level of it
in one array operation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_BINS = 4096
"""With at most this many distinct values the clustering is exactly optimal; with more, optimal over this many bins."""


@dataclass(frozen=True)
class Clusters:
    """Clusters of values on a line: intervals, in ascending order."""

    lowest: NDArray[np.float32]
    """(k,) least value of each cluster; a value belongs to the last cluster that does not begin above it."""
    sizes: NDArray[np.intp]
    """(k,) how many values each has."""

    def labels(self, values: NDArray[np.float32]) -> NDArray[np.uint8]:
        """The cluster of each value, 0 … k − 1, in the shape of `values`; 0 also for what lies below all."""
        found = np.zeros(values.shape, dtype=np.uint8)
        for lowest in self.lowest[1:]:  # a few comparisons of whole arrays beat a search for each value
            found += values >= lowest
        return found


def cluster(values: NDArray[np.float32], clusters: int) -> NDArray[np.intp]:
    """Labels (n,) of a 1-D k-means of the finite `values` (n,): 0 … k − 1 by ascending value; see `find_clusters`."""
    return find_clusters(values, clusters).labels(values).astype(np.intp)


def find_clusters(values: NDArray[np.float32], clusters: int) -> Clusters:
    """The 1-D k-means of the finite `values` (n,), n ≥ 1, into k ≤ `clusters` ≤ 255.

    There are fewer than `clusters` where there are fewer distinct values. With more than MAX_BINS distinct values,
    cluster borders are first restricted to MAX_BINS candidates (half of them equally spaced in value, half in count),
    and Lloyd's iteration on all values then moves them to where it converges.
    """
    ordered = np.sort(values)
    sums = np.zeros(len(ordered) + 1)
    centred = ordered.astype(np.float64)
    centred -= centred.mean()
    np.cumsum(centred, out=sums[1:])
    starts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    candidates = starts if len(starts) < MAX_BINS else _thinned(starts, ordered)
    borders = np.concatenate([[0], candidates, [len(ordered)]])
    breaks = candidates if len(candidates) < clusters else borders[_optimal_splits(borders, sums[borders], clusters)]
    if len(candidates) < len(starts):
        breaks = _lloyd(ordered, sums, breaks)
    edges = np.concatenate([[0], breaks, [len(ordered)]])
    return Clusters(ordered[edges[:-1]], np.diff(edges))


def depth_regions(
    depth: NDArray[np.float32], static: NDArray[np.bool_], *, clusters: int, minimum_size: int
) -> tuple[NDArray[np.int32], int]:
    """Number the depth regions of a frame's static pixels: (H, W) int32 with 0 = none, and how many there are.

    Every static pixel takes part, those of depth 0 (sky, invalid) included, as in the authors' code; regions below
    `minimum_size` pixels are dropped, and a frame with fewer than 2 · `clusters` static pixels has none. Regions are
    numbered from 1 by ascending depth (the authors number them in the arbitrary order of their k-means; no component
    depends on it). Source: SGC, section 3.3 and table 3 of appendix C.3.
    """
    values = depth[static]
    if len(values) < 2 * clusters:
        return np.zeros(depth.shape, dtype=np.int32), 0
    found = find_clusters(values, clusters)
    kept = found.sizes >= minimum_size
    numbers = np.where(kept, np.cumsum(kept), 0).astype(np.int32)
    regions = numbers[found.labels(depth)]
    regions *= static
    return regions, int(kept.sum())


def _thinned(starts: NDArray[np.intp], ordered: NDArray[np.float32]) -> NDArray[np.intp]:
    # equal spacing alone would put everything into one bin beside a single far outlier, equal counts alone would lump
    # a sparse far range together
    half = MAX_BINS // 2
    by_count = starts[np.linspace(0, len(starts) - 1, half).astype(np.intp)]
    levels = np.linspace(float(ordered[0]), float(ordered[-1]), half + 1)[1:]
    by_value = np.searchsorted(ordered, levels.astype(np.float32), side="left")
    return np.unique(np.concatenate([by_count, by_value[by_value > 0]]))


def _optimal_splits(counts: NDArray[np.intp], sums: NDArray[np.float64], clusters: int) -> NDArray[np.intp]:
    """Indices of the `clusters` − 1 inner borders of the optimal partition of B bins.

    `counts` and `sums` (B + 1,) are running totals of the bins. Minimising the squared error is maximising the sum of
    S² / n over the clusters, S being a cluster's sum and n its count.
    """
    bins = len(counts) - 1
    number = counts.astype(np.float64)
    gain = np.full(bins + 1, -np.inf)
    gain[1:] = sums[1:] ** 2 / number[1:]
    choices = []
    for layer in range(2, clusters):
        gain, choice = _next_layer(gain, number, sums, layer)
        choices.append(choice)
    inner = np.arange(clusters - 1, bins)
    last = gain[inner] + (sums[bins] - sums[inner]) ** 2 / (number[bins] - number[inner])
    splits = [int(inner[np.argmax(last)])]
    for choice in reversed(choices):
        splits.append(int(choice[splits[-1]]))
    return np.array(splits[::-1], dtype=np.intp)


def _next_layer(
    gain: NDArray[np.float64], number: NDArray[np.float64], sums: NDArray[np.float64], layer: int
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Best gain of splitting the first j bins into `layer` clusters, for every j, and where the last cluster starts."""
    bins = len(gain) - 1
    best = np.full(bins + 1, -np.inf)
    choice = np.full(bins + 1, layer - 1, dtype=np.intp)
    stride = 1 << bins.bit_length()
    while stride >= 1:
        ends = np.arange(stride, bins + 1, 2 * stride)
        ends = ends[ends >= layer]
        if len(ends):
            after = ends + stride
            lower = choice[ends - stride]
            upper = np.where(after <= bins, choice[np.minimum(after, bins)], bins)
            upper = np.minimum(upper, ends - 1)
            lengths = upper - lower + 1
            begins = np.cumsum(lengths) - lengths
            start = np.arange(lengths.sum()) + np.repeat(lower - begins, lengths)
            difference = np.repeat(sums[ends], lengths) - sums[start]
            value = gain[start] + difference * difference / (np.repeat(number[ends], lengths) - number[start])
            best[ends] = np.maximum.reduceat(value, begins)
            hits = np.flatnonzero(value == np.repeat(best[ends], lengths))
            choice[ends] = start[hits[np.searchsorted(hits, begins)]]
        stride //= 2
    return best, choice


def _lloyd(ordered: NDArray[np.float32], sums: NDArray[np.float64], breaks: NDArray[np.intp]) -> NDArray[np.intp]:
    """Move the borders between clusters halfway between their means until nothing changes."""
    offset = float(ordered.mean(dtype=np.float64))
    for _ in range(300):
        edges = np.concatenate([[0], breaks, [len(ordered)]])
        means = np.diff(sums[edges]) / np.diff(edges) + offset
        moved = np.searchsorted(ordered, ((means[1:] + means[:-1]) / 2).astype(np.float32), side="left")
        if np.array_equal(moved, breaks) or np.any(np.diff(moved) <= 0) or moved[0] == 0 or moved[-1] == len(ordered):
            break
        breaks = moved
    return breaks
