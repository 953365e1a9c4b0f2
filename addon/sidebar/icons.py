# SPDX-License-Identifier: GPL-3.0-or-later
"""The panels' own icons, in the color of the theme's text; their files are read when the add-on is enabled."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import bpy
import bpy.utils.previews
import numpy as np
from numpy.typing import NDArray

FOLDER: Final = Path(__file__).resolve().parents[2] / "assets_ui" / "icons"
SMALL: Final = 32
"""Pixels of an icon beside a text at twice the resolution scale; the files are four times as large."""

_previews: Any = None
_masks: dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]] = {}
"""Alpha of the small and of the large picture, each (N, N), by name."""
_color: tuple[float, ...] = ()


def icon_id(name: str) -> int:
    """The number that a layout takes as `icon_value`; 0, no icon, where there is none of this name."""
    if _previews is None or name not in _masks:
        return 0
    color = tuple(bpy.context.preferences.themes[0].user_interface.wcol_regular.text)
    if color != _color:  # another theme was chosen
        _paint(color)
    return int(_previews[name].icon_id)


def _paint(color: tuple[float, ...]) -> None:
    global _color  # noqa: PLW0603
    _color = color
    for name, masks in _masks.items():
        preview = _previews[name]
        for mask, pixels in zip(masks, ("icon_pixels_float", "image_pixels_float"), strict=True):
            colored = np.empty((*mask.shape, 4), np.float32)
            colored[..., :3], colored[..., 3] = np.multiply.outer(mask, color), mask  # premultiplied
            setattr(preview, pixels, colored.ravel())


def register() -> None:
    """Read the files."""
    global _previews  # noqa: PLW0603
    _previews = bpy.utils.previews.new()
    for path in sorted(FOLDER.glob("*.png")):
        preview = _previews.load(path.stem, str(path), "IMAGE")
        width, height = preview.image_size  # asking for it reads the file
        large = np.array(preview.image_pixels_float, np.float32).reshape(height, width, 4)[..., 3]
        small = large.reshape(SMALL, height // SMALL, SMALL, width // SMALL).mean(axis=(1, 3))
        preview.icon_size = (SMALL, SMALL)
        _masks[path.stem] = small, large


def unregister() -> None:
    """Give the pictures back."""
    global _previews, _color
    if _previews is not None:
        bpy.utils.previews.remove(_previews)
    _previews, _color = None, ()
    _masks.clear()
