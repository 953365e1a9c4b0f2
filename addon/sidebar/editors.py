# SPDX-License-Identifier: GPL-3.0-or-later
"""The panels that are of use beside a video too: in the sidebars of the sequencer and of the movie clip editor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import bpy

EDITORS: Final = {"SEQUENCE_EDITOR": "sequencer", "CLIP_EDITOR": "clip_editor"}
"""What the name of a panel's class ends in there."""


def elsewhere(panels: Iterable[type[Any]]) -> tuple[type[Any], ...]:
    """A class like each of these for every other editor; parents have to come before their children.

    Blender knows a panel by its class, and a class lies in one editor. What is drawn is the same code. Classes that
    are no panels, and panels of other regions, are left out.
    """
    chosen = [cls for cls in panels if issubclass(cls, bpy.types.Panel) and cls.bl_region_type == "UI"]
    return tuple(_copy(cls, editor) for editor in EDITORS for cls in chosen)


def _copy(cls: type[Any], editor: str) -> type[Any]:
    suffix = f"__{EDITORS[editor]}"
    own = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__", "bl_rna")}
    own |= {"bl_space_type": editor, "bl_idname": cls.__name__ + suffix}
    parent = getattr(cls, "bl_parent_id", "")
    if parent:
        own["bl_parent_id"] = parent + suffix
    return type(cls.__name__ + suffix, cls.__bases__, own)
