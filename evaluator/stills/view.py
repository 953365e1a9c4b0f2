# SPDX-License-Identifier: GPL-3.0-or-later
"""Reference and ours in one picture: beside each other, wiped, laid over each other, or what differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from ..media.labels import label_bar
from ..media.resize import resized
from ..media.sheet import sheet, tile_size

Mode = Literal["side", "wipe", "overlay", "difference"]
MODES: Final[tuple[Mode, ...]] = ("side", "wipe", "overlay", "difference")
GAIN: Final = 2
"""By which differences are shown larger."""
_BAR, _GAP, _TYPE = 18, 4, 13
_LINE: Final = (255, 220, 0)

Picture = NDArray[np.uint8]


def comparison(
    pairs: Sequence[tuple[Picture, Picture]], frames: Sequence[int], own: Sequence[int], seconds: Sequence[float],
    *, mode: Mode, amount: float, longest: int,
) -> Picture:  # fmt: skip
    """One picture of all pairs of (reference, ours), (H, W, 3) uint8 RGB of any sizes, its longer side `longest`.

    `frames` and `seconds` are the reference's, `own` ours. `amount` from 0 to 1 is where a wipe goes over from the
    reference, at the left, to ours, and how much of ours an overlay holds. Ours is stretched to the reference's shape,
    but beside each other, where each keeps its own.
    """
    height, width = pairs[0][0].shape[:2]
    layouts = [(2, 1), (1, 2)] if mode == "side" else [(1, 1)]
    sizes = [_panel(width, height, layout, len(pairs), longest) for layout in layouts]
    place = max(range(len(layouts)), key=lambda index: sizes[index][0])
    (columns, _), size = layouts[place], sizes[place]
    cells = [
        _side(pair, size, columns, number) if mode == "side" else _over(pair, size, mode, amount, number)
        for pair, number in zip(pairs, own, strict=True)
    ]
    shape = (cells[0].shape[1], cells[0].shape[0])
    return sheet(cells, frames, seconds, (), shape, longest)[0]


def _panel(width: int, height: int, layout: tuple[int, int], count: int, longest: int) -> tuple[int, int]:
    """(width, height) of one picture, as large as lets `count` cells of `layout` = (columns, rows) fit."""
    columns, rows = layout
    low, high = 1, longest
    while low < high:  # widths: what fits is found by halving, as labels and gaps do not grow with the pictures
        middle = (low + high + 1) // 2
        tall = max(1, round(middle * height / width))
        cell = columns * middle + (columns - 1) * _GAP, rows * (tall + _BAR) + (rows - 1) * _GAP
        low, high = (middle, high) if tile_size(count, cell, longest) == cell else (low, middle - 1)
    return low, max(1, round(low * height / width))


def _side(pair: tuple[Picture, Picture], size: tuple[int, int], columns: int, own: int) -> Picture:
    panels = [
        _labelled(_within(picture, size), *words)
        for picture, words in zip(pair, (("REFERENCE", ""), ("OURS", f"frame {own}")), strict=True)
    ]
    between = (len(panels[0]), _GAP, 3) if columns == 2 else (_GAP, panels[0].shape[1], 3)
    join = np.hstack if columns == 2 else np.vstack
    return np.ascontiguousarray(join([panels[0], np.zeros(between, np.uint8), panels[1]]))


def _over(pair: tuple[Picture, Picture], size: tuple[int, int], mode: Mode, amount: float, own: int) -> Picture:
    given, made = (resized(picture, size) for picture in pair)
    if mode == "wipe":
        split = round(amount * size[0])
        shown = given.copy()
        shown[:, split:] = made[:, split:]
        shown[:, max(0, split - 1) : split + 1] = _LINE
        return _labelled(shown, "< REFERENCE", f"OURS {own} >")
    if mode == "overlay":
        mixed = (1 - amount) * given.astype(np.float32) + amount * made.astype(np.float32)
        return _labelled(mixed.round().astype(np.uint8), f"REFERENCE {1 - amount:.0%}", f"OURS {own} {amount:.0%}")
    apart = np.abs(given.astype(np.int16) - made.astype(np.int16))
    return _labelled((apart * GAIN).clip(0, 255).astype(np.uint8), f"DIFFERENCE x{GAIN}", f"OURS {own}")


def _within(picture: Picture, size: tuple[int, int]) -> Picture:
    """The picture in its own shape on black."""
    scale = min(size[0] / picture.shape[1], size[1] / picture.shape[0])
    inner = max(1, min(size[0], round(picture.shape[1] * scale))), max(1, min(size[1], round(picture.shape[0] * scale)))
    shown = np.zeros((size[1], size[0], 3), np.uint8)
    left, top = (size[0] - inner[0]) // 2, (size[1] - inner[1]) // 2
    shown[top : top + inner[1], left : left + inner[0]] = resized(picture, inner)
    return shown


def _labelled(picture: Picture, left: str, right: str) -> Picture:
    return np.vstack([label_bar(picture.shape[1], _BAR, left, right, size=_TYPE, margin=4), picture])
