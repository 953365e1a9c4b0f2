# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws the icons of the tab's panels: `python -m matchcut.assets_ui.icons.make`.

Each is a mask of 128×128 pixels, one stroke thick, white on transparent: the add-on gives it the color of the theme's
text. Coordinates are in sixteenths of the icon, x to the right and y down, as Blender's own icons are 16 pixels wide.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SIZE, OVERSAMPLED, STROKE = 128, 4, 1.3
Mask = NDArray[np.float64]

_axis = (np.arange(SIZE * OVERSAMPLED) + 0.5) * 16 / (SIZE * OVERSAMPLED)
X, Y = np.meshgrid(_axis, _axis)


def line(x0: float, y0: float, x1: float, y1: float, width: float = STROKE) -> Mask:
    """A stroke with round ends."""
    along = np.array([x1 - x0, y1 - y0])
    share = np.clip(((X - x0) * along[0] + (Y - y0) * along[1]) / (along @ along), 0, 1)
    return np.asarray(np.hypot(X - x0 - share * along[0], Y - y0 - share * along[1]) <= width / 2, np.float64)


def lines(*points: tuple[float, float]) -> Mask:
    """Strokes from point to point."""
    return union(*(line(*first, *second) for first, second in pairwise(points)))


def outline(x0: float, y0: float, x1: float, y1: float) -> Mask:
    """A frame."""
    return lines((x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0))


def block(x0: float, y0: float, x1: float, y1: float) -> Mask:
    """A filled rectangle."""
    return ((x0 <= X) & (x1 >= X) & (y0 <= Y) & (y1 >= Y)).astype(float)


def ring(x: float, y: float, radius: float) -> Mask:
    """A circle's line."""
    return (np.abs(np.hypot(X - x, Y - y) - radius) <= STROKE / 2).astype(float)


def disc(x: float, y: float, radius: float) -> Mask:
    """A filled circle."""
    return np.asarray(np.hypot(X - x, Y - y) <= radius, np.float64)


def triangle(*corners: tuple[float, float]) -> Mask:
    """A filled triangle, its corners in the order of the clock."""
    inside = np.ones_like(X, bool)
    for (x0, y0), (x1, y1) in zip(corners, [*corners[1:], corners[0]], strict=True):
        inside &= (x1 - x0) * (Y - y0) - (y1 - y0) * (X - x0) >= 0
    return np.asarray(inside, np.float64)


def union(*masks: Mask) -> Mask:
    """All of them."""
    return np.asarray(np.maximum.reduce(masks), np.float64)


def without(mask: Mask, *others: Mask) -> Mask:
    """The first where none of the others is."""
    return mask * (1 - union(*others))


def reference() -> Mask:
    """A strip of film."""
    holes = [block(x, y, x + 1.4, y + 1.4) for x in (3, 7.3, 11.6) for y in (2.6, 12)]
    return union(outline(1.6, 1.6, 14.4, 14.4), *holes, line(1.6, 5, 14.4, 5), line(1.6, 11, 14.4, 11))


def setting() -> Mask:
    """Steps."""
    return union(block(1.6, 10, 5.2, 14.4), block(6.2, 6, 9.8, 14.4), block(10.8, 2, 14.4, 14.4))


def match_camera() -> Mask:
    """Two lines that meet on a horizon."""
    return union(line(1, 5, 15, 5, 0.9), line(8, 5, 1.5, 14), line(8, 5, 14.5, 14), disc(8, 5, 1.8))


def compare() -> Mask:
    """A picture with a wipe through it."""
    return union(outline(1.6, 3, 14.4, 13), block(1.6, 3, 8, 13), line(8, 1, 8, 15))


def render() -> Mask:
    """A frame that plays."""
    return union(outline(1.6, 3, 14.4, 13), triangle((6.2, 5.2), (11, 8), (6.2, 10.8)))


def score() -> Mask:
    """A target."""
    return union(ring(8, 8, 6.3), ring(8, 8, 3.3), disc(8, 8, 1.1))


def progress() -> Mask:
    """An hourglass."""
    glass = lines((3.5, 2), (12.5, 2), (8.6, 8), (12.5, 14), (3.5, 14), (7.4, 8), (3.5, 2))
    return union(glass, triangle((8, 10), (11, 13.6), (5, 13.6)))


def results() -> Mask:
    """Bars of different length."""
    return union(*(line(2, y, x, y, 2.2) for y, x in ((3, 13.5), (8, 8), (13, 11))))


def agent() -> Mask:
    """A head with an antenna."""
    face = union(outline(2.5, 5.5, 13.5, 13.5), line(8, 5.5, 8, 2.6), disc(8, 2.2, 1.3))
    return union(face, disc(5.8, 9.2, 1.2), disc(10.2, 9.2, 1.2))


def evaluator() -> Mask:
    """A ruler."""
    marks = [line(x, 4.6, x, 8.2 if number % 2 else 7, 1.1) for number, x in enumerate((4, 6.6, 9.2, 11.8))]
    return union(outline(1.4, 4.6, 14.6, 11.4), *marks)


ICONS: dict[str, Callable[[], Mask]] = {
    one.__name__: one
    for one in (reference, setting, match_camera, compare, render, score, progress, results, agent, evaluator)
}
"""By the panel's name."""


def png(mask: Mask) -> bytes:
    """The mask as a PNG, white with the mask as alpha."""
    small = mask.reshape(SIZE, OVERSAMPLED, SIZE, OVERSAMPLED).mean(axis=(1, 3))
    alpha = np.rint(255 * small).astype(np.uint8)
    rows = np.zeros((SIZE, 1 + 2 * SIZE), np.uint8)  # a row's filter, then grey and alpha
    rows[:, 1::2], rows[:, 2::2] = 255, alpha
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", SIZE, SIZE, 8, 4, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    chunks = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def main() -> None:
    """Write every icon beside this file."""
    for name, draw in ICONS.items():
        (Path(__file__).parent / f"{name}.png").write_bytes(png(draw()))


if __name__ == "__main__":
    main()
