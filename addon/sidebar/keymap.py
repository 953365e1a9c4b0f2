# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyboard shortcuts of the 3D view, in the add-on's keymap: artists change them in Preferences > Keymap.

All are Shift Alt and a letter, a combination of which Blender's own keymaps use none of these.
"""

from __future__ import annotations

from typing import Any, Final

import bpy

SHORTCUTS: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    ("matchcut.compare", "C", {}),
    ("matchcut.compare_mode", "V", {}),
    ("matchcut.compare_source", "X", {}),
    ("matchcut.next_check", "N", {}),
    ("matchcut.next_check", "P", {"backwards": True}),
    ("matchcut.render", "F", {}),
    ("matchcut.score", "K", {}),
)
"""Operator, key, and what it is called with."""

_items: list[tuple[Any, Any]] = []


def register() -> None:
    """Add the shortcuts; there is no keymap in background mode."""
    configuration = bpy.context.window_manager.keyconfigs.addon
    if configuration is None or bpy.app.background:
        return
    keymap = configuration.keymaps.new("3D View", space_type="VIEW_3D")
    for operator, key, options in SHORTCUTS:
        item = keymap.keymap_items.new(operator, key, "PRESS", shift=True, alt=True)
        for name, value in options.items():
            setattr(item.properties, name, value)
        _items.append((keymap, item))


def unregister() -> None:
    """Take them away again."""
    for keymap, item in _items:
        keymap.keymap_items.remove(item)
    _items.clear()
