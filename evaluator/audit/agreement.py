# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a frame of a submitted video is from a picture that was rendered again.

An honest frame differs from it by the loss of H.264 and, where samples, device or version are others, by noise: both
average out over the cells of a grid, apart from small biases. Another light, another moment, another scene and pasted
pictures do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
Floats = NDArray[np.float32]

CELLS: Final = 16
"""Along the longer side of a picture."""
SMALLEST_CELL: Final = 4
"""Pixels."""
ERRORS: Final = 4.0
"""Standard errors of a cell's mean that noise is granted."""
LEVELS: Final = 6.0
"""Levels of 255 that a cell's mean colour may differ by beyond that; docs/deliver.md has what was measured."""
NEIGHBOUR: Final = 0.6
"""A neighbour is what is shown when its mean squared difference is below so much of the frame's own."""
LEAST: Final = 1.0
"""Squared levels: a difference below it is the encoder's."""
AVERAGED: Final = 128
"""Pixels of the longer side at which neighbours are compared: noise averages out."""


@dataclass(frozen=True)
class Distance:
    """Of two pictures of one size."""

    psnr_db: float | None
    """Over RGB; None where they are equal."""
    ssim: float
    """Of luma; 1 where they are equal (Wang et al. 2004, window 11×11, sigma 1.5)."""
    levels: float
    """Of the cell whose mean colour differs most, beyond what noise is granted, in levels of 255."""
    cell: tuple[int, int, int, int]
    """That cell: left, top, right, bottom in pixels; the last two are excluded."""
    differing: float
    """Share of the cells that differ by more than LEVELS."""


def distance(submitted: Image, rendered: Image) -> Distance:
    """Compare two (H, W, 3) uint8 RGB pictures of one size."""
    error = submitted.astype(np.float32) - rendered
    squared = mean_square(error)
    excess, edges = cell_excess(error)
    row, column = (int(place) for place in np.unravel_index(int(excess.argmax()), excess.shape))
    rows, columns = edges
    return Distance(
        psnr_db=None if squared == 0 else float(10 * np.log10(255**2 / squared)),
        ssim=_ssim(*(cv2.cvtColor(each, cv2.COLOR_RGB2GRAY).astype(np.float32) for each in (submitted, rendered))),
        levels=float(excess[row, column]),
        cell=(columns[column], rows[row], columns[column + 1], rows[row + 1]),
        differing=float((excess > LEVELS).mean()),
    )


def cell_excess(error: Floats) -> tuple[Floats, tuple[list[int], list[int]]]:
    """(rows, columns) levels by which each cell's mean differs beyond noise, and the edges of rows and columns.

    `error` is (H, W, 3); of a cell's three channels the one that differs most counts. The noise of a mean is estimated
    from the spread of the error within the cell.
    """
    height, width = error.shape[:2]
    size = max(SMALLEST_CELL, -(-max(height, width) // CELLS))
    rows, columns = _edges(height, size), _edges(width, size)
    excess = np.zeros((len(rows) - 1, len(columns) - 1), np.float32)
    for row in range(len(rows) - 1):
        for column in range(len(columns) - 1):
            cell = error[rows[row] : rows[row + 1], columns[column] : columns[column + 1]].reshape(-1, 3)
            noise = ERRORS * cell.std(0) / np.sqrt(len(cell))
            excess[row, column] = max(0.0, float((np.abs(cell.mean(0)) - noise).max()))
    return excess, (rows, columns)


def nearest_neighbour(submitted: Sequence[Image], rendered: Image, own: int) -> int | None:
    """Index of the picture among `submitted` that shows what was rendered where it is clearly not the one at `own`.

    None where that one is as good as any. All are (H, W, 3) uint8 RGB of one size.
    """
    goal = _averaged(rendered)
    squares = [mean_square(_averaged(picture) - goal) for picture in submitted]
    best = min(range(len(squares)), key=lambda place: (squares[place], abs(place - own)))
    clearly = squares[own] > LEAST and squares[best] < NEIGHBOUR * squares[own]
    return best if clearly else None


def mean_square(error: Floats) -> float:
    """Mean of the squares of all values."""
    return float(np.mean(np.square(error, dtype=np.float64)))


def share_of_reference(submitted: Image, rendered: Image, reference: Image) -> float | None:
    """How much of the way from the rendered picture to the reference's frame the submitted one lies.

    0 is as rendered, 1 is the reference; above 0.5 it is nearer to the reference (least squares, over what differs).
    None where rendered picture and reference are the same there. All are (H, W, 3) uint8 RGB of one size.
    """
    way = reference.astype(np.float32) - rendered
    moved = submitted.astype(np.float32) - rendered
    excess, (rows, columns) = cell_excess(moved)
    if (excess > LEVELS).any():  # a part may be pasted
        mask = np.repeat(np.repeat(excess > LEVELS, np.diff(rows), 0), np.diff(columns), 1)
        way, moved = way[mask], moved[mask]
    length = float(np.sum(np.square(way, dtype=np.float64)))
    return None if length == 0 else float(np.sum(way.astype(np.float64) * moved)) / length


def _averaged(picture: Image) -> Floats:
    height, width = picture.shape[:2]
    scale = min(1.0, AVERAGED / max(height, width))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    small: Floats = cv2.resize(picture.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    return small


def _edges(length: int, size: int) -> list[int]:
    cells = max(1, round(length / size))
    return [place * length // cells for place in range(cells + 1)]


def _ssim(first: Floats, second: Floats) -> float:
    def mean(values: Floats) -> Floats:
        blurred: Floats = cv2.GaussianBlur(values, (11, 11), 1.5)
        return blurred

    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    a, b = mean(first), mean(second)
    aa, bb, ab = mean(first * first) - a * a, mean(second * second) - b * b, mean(first * second) - a * b
    score = (2 * a * b + c1) * (2 * ab + c2) / ((a * a + b * b + c1) * (aa + bb + c2))
    return float(score.mean())
