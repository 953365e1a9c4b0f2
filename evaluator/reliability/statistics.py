# SPDX-License-Identifier: GPL-3.0-or-later
"""Agreement of ratings beyond chance: Cohen's and Fleiss' kappa, Krippendorff's alpha for ordered labels.

Every function takes sums that are additive over items, so that a bootstrap by video weighs the sums of each video.
Arrays end in the category axes; leading axes are carried along. NaN stands for a value that is not defined: there is
nothing to compare, or only one label ever occurs.

Cohen, Educational and Psychological Measurement 20 (1960); Fleiss, Psychological Bulletin 76 (1971); Krippendorff,
Computing Krippendorff's alpha-reliability (2011).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def label_counts(labels: NDArray[np.int64], categories: int) -> Floats:
    """How often each item got each label: labels (items, raters), −1 where a rater is missing → (items, categories)."""
    found: Floats = (labels[:, :, None] == np.arange(categories)).sum(axis=1).astype(np.float64)
    return found


def confusions(first: NDArray[np.int64], second: NDArray[np.int64], categories: int) -> Floats:
    """One-hot pairs (items, categories, categories) of two raters' labels (items,); all zero where one is missing."""
    known = np.arange(categories)
    pairs: Floats = ((first[:, None, None] == known[:, None]) & (second[:, None, None] == known)).astype(np.float64)
    return pairs


def cohen_kappa(confusion: Floats) -> Floats:
    """Cohen's kappa of confusions (…, categories, categories), rows the one rater and columns the other."""
    total = confusion.sum(axis=(-2, -1))
    agreed = np.trace(confusion, axis1=-2, axis2=-1)
    by_chance = (confusion.sum(axis=-1) * confusion.sum(axis=-2)).sum(axis=-1)
    return _over(total * agreed - by_chance, total**2 - by_chance)


def fleiss_sums(counts: Floats) -> Floats:
    """Sums (items, categories + 2) that `fleiss_kappa` adds up: label shares, agreeing share of pairs, 1.

    `counts` (items, categories) of at least two raters each; other items add nothing.
    """
    raters = counts.sum(axis=-1, keepdims=True)
    pairs = np.maximum(raters * (raters - 1), 1)
    agreeing = (counts * (counts - 1)).sum(axis=-1, keepdims=True) / pairs
    sums = np.concatenate([counts / np.maximum(raters, 1), agreeing, np.ones_like(raters)], axis=-1)
    return np.where(raters >= 2, sums, 0.0)


def fleiss_kappa(sums: Floats) -> Floats:
    """Fleiss' kappa of the added sums (…, categories + 2)."""
    number = sums[..., -1]
    observed = _over(sums[..., -2], number)
    shares = _over(sums[..., :-2], number[..., None])
    by_chance = (shares**2).sum(axis=-1)
    return _over(observed - by_chance, 1 - by_chance)


def coincidences(counts: Floats) -> Floats:
    """Coincidence matrices (items, categories, categories) of label counts; an item with one label adds nothing."""
    raters = counts.sum(axis=-1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[-1])
    return np.where((raters >= 2)[:, None, None], pairs / np.maximum(raters - 1, 1)[:, None, None], 0.0)


def ordinal_alpha(coincidence: Floats) -> Floats:
    """Krippendorff's alpha with the ordinal metric, of added coincidences (…, categories, categories)."""
    margin = coincidence.sum(axis=-1)
    total = margin.sum(axis=-1)
    # ranks: the distance of two labels is how many values lie between their middles
    middle = np.cumsum(margin, axis=-1) - margin / 2
    squared = (middle[..., :, None] - middle[..., None, :]) ** 2
    observed = (coincidence * squared).sum(axis=(-2, -1))
    expected = (margin[..., :, None] * margin[..., None, :] * squared).sum(axis=(-2, -1))
    return 1 - _over((total - 1) * observed, expected)


def _over(numerator: Floats, denominator: Floats) -> Floats:
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    result = np.full(shape, np.nan)
    # what chance leaves open may be a rounding error instead of nothing
    np.divide(numerator, denominator, out=result, where=np.broadcast_to(np.abs(denominator) > 1e-12, shape))
    return result
