# SPDX-License-Identifier: GPL-3.0-or-later
"""Which pixels the rigid world does not explain: what moves by itself, and the sky."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

EVEN = 1e-4
"""Largest structure-tensor eigenvalue around a pixel that has no texture: its flow is a guess."""
BACKDROP = 0.6
"""Of the median inverse depth: an even area whose textured border is nearer than that is no sky."""


def even(texture: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Pixels (h, w) without texture within two pixels of them."""
    return np.asarray(cv2.dilate(texture, np.ones((5, 5), np.uint8)) < EVEN)


def moving(
    residual: NDArray[np.float32], guessed: NDArray[np.bool_], threshold: float, least_area: float
) -> NDArray[np.bool_]:
    """Connected pixels (h, w) whose `residual` in pixels is beyond the threshold.

    Nan, where it is unknown, is not, nor are pixels whose flow is `guessed`. Thin lines go (the edges of what hides
    something), holes close, and what covers less than the share `least_area` of the picture is left out.
    """
    mask = ((np.nan_to_num(residual, nan=0.0) > threshold) & ~guessed).astype(np.uint8)
    mask = cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    mask = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((9, 9), np.uint8))
    return _large(mask, least_area)


def sky(
    inverse_depth: NDArray[np.float32],
    sigma: NDArray[np.float32],
    apart: NDArray[np.bool_],
    guessed: NDArray[np.bool_],
    least_area: float,
) -> NDArray[np.bool_]:
    """Areas at the top of the picture: even ones whose border is far away, and what is infinitely far as it seems.

    What lies below something and seems infinitely far is rather a surface whose depth went wrong: it stays without
    depth, so that a wrong geometry cannot hide there.

    `inverse_depth` and its standard deviation `sigma` (h, w); what moves by itself, `apart`, is no sky; where there is
    no texture the flow is `guessed`.
    """
    known = ~guessed & ~apart & (inverse_depth > 3 * sigma)
    if not known.any():
        return np.zeros(inverse_depth.shape, np.bool_)
    usual = float(np.median(inverse_depth[known]))
    far = ~apart & ~guessed & (np.abs(inverse_depth) < 2 * sigma) & (5 * sigma < usual)
    candidate = (guessed | far).astype(np.uint8)
    candidate = cv2.morphologyEx(candidate, cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
    count, labels = cv2.connectedComponents(candidate)
    found = np.zeros(labels.shape, np.uint8)
    for label in range(1, count):
        area = (labels == label).astype(np.uint8)
        if area.mean() < least_area or not area[:2].any():
            continue
        border = (cv2.dilate(area, np.ones((15, 15), np.uint8)) > 0) & known
        is_backdrop = not border.any() or float(np.median(inverse_depth[border])) < BACKDROP * usual
        if is_backdrop or far[area > 0].mean() > 0.5:
            found |= area
    # even pixels end two pixels before what bounds them
    return np.asarray(cv2.dilate(found, np.ones((5, 5), np.uint8)) > 0) & (guessed | ~known)


def _large(mask: NDArray[np.uint8], least_area: float) -> NDArray[np.bool_]:
    count, labels, statistics, _ = cv2.connectedComponentsWithStats(mask)
    large = np.flatnonzero(statistics[:, cv2.CC_STAT_AREA] >= least_area * mask.size)
    return np.asarray(np.isin(labels, large[large > 0]) if count > 1 else np.zeros(mask.shape), np.bool_)
