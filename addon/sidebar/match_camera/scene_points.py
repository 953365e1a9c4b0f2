# SPDX-License-Identifier: GPL-3.0-or-later
"""Places in the scene that one can click on: vertices, origins of objects, and the 3D cursor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ....evaluator.camera.core.pinhole import Array
from .view import Pair

HOVER_LIMIT: Final = 150_000
"""Places among which the one under the mouse is looked for with every move of it; beyond, with a click alone."""


@dataclass(frozen=True, eq=False)
class Places:
    """All that can be clicked on."""

    world: Array
    """(n, 3)."""
    owners: tuple[tuple[int, str, bool], ...]
    """First index, name, and whether vertices follow or this one place alone."""

    def name_of(self, index: int) -> str:
        """What a place is, for a person."""
        first, name, vertices = next(entry for entry in reversed(self.owners) if entry[0] <= index)
        return f"{name} v{index - first}" if vertices else name


def gather(context: Any) -> Places:
    """The places of everything that is visible."""
    graph = context.evaluated_depsgraph_get()
    found, owners, count = [], list[tuple[int, str, bool]](), 0
    for item in context.visible_objects:
        if item.type == "CAMERA":
            continue
        matrix = np.array(item.evaluated_get(graph).matrix_world, np.float64)
        if item.type == "MESH":
            mesh = item.evaluated_get(graph).data
            flat = np.empty(3 * len(mesh.vertices), np.float32)
            mesh.vertices.foreach_get("co", flat)
            if len(flat):
                found.append(flat.reshape(-1, 3).astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3])
                owners.append((count, item.name, True))
                count += len(found[-1])
        found.append(matrix[None, :3, 3])
        owners.append((count, f"{item.name} origin", False))
        count += 1
    found.append(np.array(context.scene.cursor.location, np.float64)[None])
    owners.append((count, "3D cursor", False))
    return Places(np.concatenate(found), tuple(owners))


def to_region(points: Array, matrix: Any, region: tuple[int, int]) -> Array:
    """Where world points (n, 3) are in a region (n, 2) with a perspective matrix (4, 4); NaN behind the viewer."""
    clip = np.column_stack([points, np.ones(len(points))]) @ np.array(matrix, np.float64).T
    w = np.where(clip[:, 3:] > 1e-9, clip[:, 3:], np.nan)
    result: Array = (clip[:, :2] / w + 1) / 2 * np.array(region, np.float64)
    return result


def place_at(places: Places, matrix: Any, region: tuple[int, int], point: Pair, reach: float) -> int | None:
    """The index of the place nearest to a point of the region, within `reach` pixels.

    Of those that lie on top of each other there it is the one nearest to the viewer.
    """
    seen = to_region(places.world, matrix, region)
    away = np.hypot(*(seen - point).T)
    near = np.flatnonzero(away <= reach)
    if not len(near):
        return None
    depth = np.column_stack([places.world[near], np.ones(len(near))]) @ np.array(matrix, np.float64)[3]
    on_top = np.flatnonzero(away[near] <= away[near].min() + 1.5)
    return int(near[on_top[np.argmin(depth[on_top])]])
