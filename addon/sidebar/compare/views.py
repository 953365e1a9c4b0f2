# SPDX-License-Identifier: GPL-3.0-or-later
"""The picture of a 3D view without what lies over it, drawn into memory and kept until it would look otherwise.

Such a drawing costs as much as the view itself. It is the same picture while neither the scene, the view nor its
settings change, as when frames come in or the mouse moves; solid and wireframe views are kept then. Material and
rendered views are drawn anew each time: they become finer, and their shaders come in, without anybody telling.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import bpy
import gpu
from bpy.app.handlers import persistent

from . import lacking
from .placement import Rect, cropped_projection
from .timings import measured

MOST_VIEWS: Final = 4
"""Views whose pictures are kept to draw into again."""
KEPT_TYPES: Final = ("WIREFRAME", "SOLID")
SIMPLE: Final = {"BOOLEAN", "INT", "FLOAT", "ENUM", "STRING"}

_offscreens: dict[int, Any] = {}
_looks: dict[int, tuple[Any, ...]] = {}
"""By region: what its picture was drawn of."""
_version = 0
"""Grows with every change to any scene."""
_names: dict[str, list[str]] = {}


def view_picture(context: Any, part: Rect, size: tuple[int, int]) -> Any:
    """`part` of the region as the 3D view draws it, without what lies over it: a texture of display bytes.

    None where there is none of any size yet; until one of this `size` (width, height) is made, the last one serves.
    """
    region, view, key = context.region, context.region_data, context.region.as_pointer()
    target = _offscreens.get(key)
    if target is None or (target.width, target.height) != size:
        # made by the timer: Blender binds the window's own framebuffer then, which would take what is drawn after it
        lacking.ask(("picture", key), "VIEW_3D", partial(_make, key, size))
        if target is None:
            return None
    look = _look(context, part)
    if context.space_data.shading.type not in KEPT_TYPES or _looks.get(key) != look:
        with measured("viewport"):
            target.draw_view3d(
                context.scene, context.view_layer, context.space_data, region, view.view_matrix,
                cropped_projection(view.window_matrix, region, part), do_color_management=True, draw_background=True,
            )  # fmt: skip
        _looks[key] = look
    return target.texture_color


def _make(key: int, size: tuple[int, int]) -> None:
    old = _offscreens.pop(key, None)
    if old is not None:
        old.free()
    _looks.pop(key, None)
    _offscreens[key] = gpu.types.GPUOffScreen(*size)  # the newest one is the last
    while len(_offscreens) > MOST_VIEWS:
        oldest = next(iter(_offscreens))
        _looks.pop(oldest, None)
        _offscreens.pop(oldest).free()


def _look(context: Any, part: Rect) -> tuple[Any, ...]:
    """All that the picture of a view depends on."""
    scene, space, view = context.scene, context.space_data, context.region_data
    matrices = (view.view_matrix, view.window_matrix)
    return (
        _version, scene.session_uid, scene.frame_current, context.view_layer.name, context.mode, part,
        tuple(value for matrix in matrices for row in matrix for value in row), space.local_view is not None,
        *(_values(one) for one in (space, space.shading, space.overlay, scene.view_settings, scene.display_settings)),
    )  # fmt: skip


def _values(data: Any) -> tuple[Any, ...]:
    """The settings of one of Blender's groups."""
    kind = type(data).__name__
    if kind not in _names:
        _names[kind] = [one.identifier for one in data.bl_rna.properties if one.type in SIMPLE]
    found = (getattr(data, name) for name in _names[kind])
    return tuple(value if isinstance(value, (bool, int, float, str, set)) else tuple(value) for value in found)


@persistent  # type: ignore[untyped-decorator]
def _changed(*_: Any) -> None:
    global _version  # noqa: PLW0603
    _version += 1


HANDLERS: Final = ("depsgraph_update_post", "frame_change_post", "undo_post", "redo_post", "load_post")


def register() -> None:
    """Listen for changes to scenes."""
    for name in HANDLERS:
        getattr(bpy.app.handlers, name).append(_changed)


def unregister() -> None:
    """Listen no longer, and give back what the graphics card holds."""
    for name in HANDLERS:
        if _changed in getattr(bpy.app.handlers, name):  # other code may have emptied the list
            getattr(bpy.app.handlers, name).remove(_changed)
    for target in _offscreens.values():
        target.free()
    _offscreens.clear()
    _looks.clear()
