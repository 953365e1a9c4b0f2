# SPDX-License-Identifier: GPL-3.0-or-later
"""Coloured points in space as small pictures."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

LONGEST_SIDE: Final = 256
LEAST_COVERED: Final = 0.3
"""Share of a picture's cells that have a point; clustered points make no picture."""

Array = NDArray[np.float32]


def draw(points: Array, colours: Array) -> list[NDArray[np.uint8]]:
    """Pictures (H, W, 3) uint8 of points (N, 3) with colours (N, 3) in 0 … 1.

    The points are seen along the shortest of their principal axes and, where that is another view, along the shortest
    side of their own box. Which way is up is not known: whoever compares tries all eight orientations.
    """
    centred = np.nan_to_num(points - points.mean(0), posinf=0, neginf=0)
    pictures = []
    for plane in _planes(centred):
        image = _rasterise(plane, colours)
        if image is not None:
            pictures.append(image)
    return pictures


def is_flat(points: Array) -> bool:
    """Whether points (N, 3) lie in a plane to within 2 % of their shorter extent in it."""
    centred = np.nan_to_num(points - points.mean(0), posinf=0, neginf=0)
    spread = np.sqrt(np.linalg.eigvalsh(np.cov(centred.T)).clip(0))
    return bool(spread[0] <= 0.02 * spread[1])


def heights(points: Array) -> Array:
    """(N, 1) distances of points (N, 3) from the plane that they lie nearest to, above 0 on one of its sides."""
    centred = np.nan_to_num(points - points.mean(0), posinf=0, neginf=0)
    _, axes = np.linalg.eigh(np.cov(centred.T))
    return np.asarray(centred @ axes[:, :1], np.float32)


def seen(points: NDArray[np.float64], colours: Array, aspect: float) -> NDArray[np.uint8] | None:
    """A picture (H, W, 3) uint8 of points (N, 4) in a camera's clip space with colours (N, 3) in 0 … 1.

    Of the points in one cell the nearest is seen. None where they cover too little of the picture.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        place = points[:, :2] / points[:, 3:]
    inside = (points[:, 3] > 0) & (np.abs(place) < 1).all(1)
    width = int(np.clip(round(float(inside.sum() * aspect) ** 0.5), 8, LONGEST_SIDE))
    height = int(np.clip(round(width / aspect), 8, LONGEST_SIDE))
    order = np.flatnonzero(inside)[np.argsort(-points[inside, 3], kind="stable")]
    x, y = ((place[order] * (1, -1) + 1) / 2 * (width, height)).astype(np.int64).T
    image, known = np.zeros((height, width, 3)), np.zeros((height, width), bool)
    image[y, x], known[y, x] = colours[order], True  # of several the last one stays
    if known.mean() < LEAST_COVERED:
        return None
    return np.asarray((_filled(image, known).clip(0, 1) * 255).round(), np.uint8)


def _planes(centred: Array) -> list[Array]:
    """(N, 2) views of the points; along the axes of their box they are not turned within the plane."""
    extent = np.ptp(centred, axis=0)
    kept = np.sort(np.argsort(extent)[1:])
    views: list[Array] = [centred[:, kept]]
    spread, axes = np.linalg.eigh(np.cov(centred.T))
    # a square's axes are arbitrary, and a sheet that lies along its box's axes is seen already
    aligned = np.abs(axes).max() > 0.999 and np.abs(axes).max(0).min() > 0.999
    if not aligned and spread[2] > 1.05 * spread[1]:
        views.append((centred @ axes[:, [2, 1]]).astype(np.float32))
    return views


def _rasterise(plane: Array, colours: Array) -> NDArray[np.uint8] | None:
    low, extent = plane.min(0), np.ptp(plane, axis=0)
    if not (extent > 0).all():
        return None
    unique = len(np.unique(np.round((plane - low) / extent * 4096).astype(np.int64) @ np.array([8192, 1])))
    aspect = float(np.clip(extent[0] / extent[1], 0.05, 20))
    width = int(np.clip(round((unique * aspect) ** 0.5), 8, LONGEST_SIDE))
    height = int(np.clip(round(width / aspect), 8, LONGEST_SIDE))
    x = ((plane[:, 0] - low[0]) / extent[0] * (width - 1)).round().astype(np.int64)
    y = ((plane[:, 1] - low[1]) / extent[1] * (height - 1)).round().astype(np.int64)
    cell = (height - 1 - y) * width + x
    count = np.bincount(cell, minlength=width * height).reshape(height, width)
    if (count > 0).mean() < LEAST_COVERED:
        return None
    sums = np.stack([np.bincount(cell, colours[:, c], width * height) for c in range(3)], -1).reshape(height, width, 3)
    image = sums / np.maximum(count, 1)[..., None]
    return np.asarray((_filled(image, count > 0).clip(0, 1) * 255).round(), np.uint8)


def _filled(image: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The picture with its empty cells taken from their neighbours, ring by ring."""
    for _ in range(8):
        if known.all():
            break
        padded = np.pad(image * known[..., None], ((1, 1), (1, 1), (0, 0)))
        weight = np.pad(known.astype(float), 1)
        shifts = [(y, x) for y in range(3) for x in range(3)]
        rows, columns = known.shape
        total = sum(padded[y : y + rows, x : x + columns] for y, x in shifts)
        near = sum(weight[y : y + rows, x : x + columns] for y, x in shifts)
        grown = ~known & (near > 0)
        image = np.where(grown[..., None], total / np.maximum(near, 1)[..., None], image)
        known = known | grown
    return image
