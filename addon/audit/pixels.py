# SPDX-License-Identifier: GPL-3.0-or-later
"""What is common to pictures that are no images: values read from geometry, and their drawings for the evaluator."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .files import Exporter
from .findings import Picture, Severity
from .raster import draw
from .reach import Reach

FEWEST_POINTS: Final = 576
"""Fewer colours than a picture of 32x18 make no picture."""
FEWEST_COLOURS: Final = 16
IMAGE_LIKE_POINTS, IMAGE_LIKE_COLOURS = 1024, 256
"""A flat sheet with so many points of so many colours is told even where it matches nothing."""
MOST_POINTS: Final = 4_000_000
MOST_LAYERS: Final = 48
"""Attributes of one file, and drawings of one grease pencil, that are looked at."""

Array = NDArray[np.float32]


def values_of(items: Any, name: str, count: int, width: int, kind: Any = np.float32) -> Array:
    """(count, width) of a property of numbers of `kind` that each of the items has."""
    values = np.empty(count * width, kind)
    items.foreach_get(name, values)
    return np.asarray(values.reshape(count, width), np.float32)


def frames_looked_at(reach: Reach) -> list[tuple[str, int]]:
    """(name, frame) of the first, the middle and the last frame that is rendered."""
    frames = {reach.first, (reach.first + reach.last) // 2, reach.last}
    return [(f"scene frame {frame}", frame) for frame in sorted(frames)]


def drawn(points: Array, colours: Array, exporter: Exporter, name: str = "") -> list[Picture]:
    """Small pictures of points (N, 3) with colours (N, 3), in files for the evaluator."""
    return [saved(image, exporter, name) for image in draw(points, colours)]


def saved(image: NDArray[np.uint8], exporter: Exporter, name: str) -> Picture:
    """A picture (H, W, 3) in a file for the evaluator."""
    path = exporter.path(".npy")
    np.save(path, image)
    return Picture("array", str(path), name)


def matched(reach: Reach, block: Any) -> Severity:
    """How grave it is that what a datablock holds matches the reference."""
    return "forbidden" if reach.state(block) == "rendered" else "suspicious"


def distinct(colours: Array) -> int:
    """How many colours there are with 5 bits a channel."""
    if len(colours) == 0:
        return 0
    bits = (colours.clip(0, 1) * 31).round().astype(np.int32)
    return len(np.unique(bits[:, 0] << 10 | bits[:, 1] << 5 | bits[:, 2]))


def stretched(values: Array) -> Array:
    """Values with their range stretched to 0 … 1."""
    low, high = values.min(), values.max()
    result: Array = (values - low) / max(high - low, np.float32(1e-9))
    return result


def to_srgb(linear: Array) -> Array:
    """Linear colours as pictures store them, closely enough to be compared."""
    encoded: Array = np.clip(linear, 0, 1) ** np.float32(1 / 2.2)
    return encoded
