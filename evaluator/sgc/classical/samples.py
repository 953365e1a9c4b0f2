# SPDX-License-Identifier: GPL-3.0-or-later
"""A few hundred well-textured pixels of every frame, and where flow says that they are in other frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .adjust import Observations
from .flow import Flow
from .settings import Settings


@dataclass(frozen=True)
class Samples:
    """Pixels of one frame: `rows` and `columns` (m,), `points` (m, 2) float64 from the principal point."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    points: NDArray[np.float64]


def choose(texture: NDArray[np.float32], settings: Settings) -> Samples:
    """The pixel of the most texture in every cell that has enough of it, away from the picture's edge."""
    height, width = texture.shape
    cell, margin = settings.cell, 4
    inner = texture[margin : height - margin, margin : width - margin]
    down, across = (side // cell for side in inner.shape)
    if not down or not across:
        return _samples(np.zeros(0, np.intp), np.zeros(0, np.intp), texture.shape)
    cells = inner[: down * cell, : across * cell].reshape(down, cell, across, cell).transpose(0, 2, 1, 3)
    flat = cells.reshape(down * across, cell * cell)
    best = flat.argmax(axis=1)
    kept = np.flatnonzero(flat[np.arange(len(flat)), best] > settings.texture)
    rows = margin + kept // across * cell + best[kept] // cell
    columns = margin + kept % across * cell + best[kept] % cell
    return _samples(rows, columns, texture.shape)


def _samples(rows: NDArray[np.intp], columns: NDArray[np.intp], shape: tuple[int, ...]) -> Samples:
    centre = np.array([(shape[1] - 1) / 2, (shape[0] - 1) / 2])
    return Samples(rows, columns, np.column_stack([columns, rows]) - centre)


def follow(samples: Samples, flow: Flow, consistency: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where the samples are in the other frame (m, 2), from the principal point, and their weights (m,) in [0, 1]."""
    seen = samples.points + flow.field[samples.rows, samples.columns].astype(np.float64)
    error = flow.error[samples.rows, samples.columns].astype(np.float64)
    return seen, np.where(error < consistency, 1 / (1 + (2 * error / consistency) ** 2), 0.0)


def matched(samples: Samples, flow: Flow, consistency: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The samples that are usable in a pair of frames, and where they are in the other frame: (n, 2) twice."""
    seen, weights = follow(samples, flow, consistency)
    return samples.points[weights > 0], seen[weights > 0]


def observations(
    samples: Mapping[int, Samples],
    seen: Mapping[tuple[int, int], tuple[NDArray[np.float64], NDArray[np.float64]]],
    numbers: Sequence[int],
) -> list[Observations]:
    """All that is seen of the samples of the frames `numbers` among them, as `follow` gives it by pair of frames."""
    place = {number: index for index, number in enumerate(numbers)}
    groups = []
    for number in numbers:
        targets = [other for other in numbers if (number, other) in seen]
        points = samples[number].points
        shape = (len(targets), len(points))
        groups.append(
            Observations(
                source=place[number],
                targets=tuple(place[other] for other in targets),
                points=points,
                seen=np.array([seen[number, other][0] for other in targets]).reshape(*shape, 2),
                weights=np.array([seen[number, other][1] for other in targets]).reshape(shape),
            )
        )
    return groups
