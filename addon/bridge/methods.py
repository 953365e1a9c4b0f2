# SPDX-License-Identifier: GPL-3.0-or-later
"""What another process may ask of this Blender: plain functions on the main thread that return JSON values."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

import bpy

from ...evaluator.protocol.bridge import BridgeCallError
from ..timeline import scene_timeline

PAGE_LIMIT: Final = 500  # objects in one answer
LIST_LIMIT: Final = 50  # cameras, markers


def current_scene() -> Any:
    """The scene in the (first) window; where there is none the context's own."""
    return (_window() or bpy.context).scene


def _window() -> Any:
    """The window, the first where none is active (a timer has none), or None."""
    manager = bpy.context.window_manager
    return bpy.context.window or (manager.windows[0] if manager is not None and manager.windows else None)


def whole(name: str, value: Any, low: int, high: int) -> int:
    """Check a whole number in [low, high]. Raises BridgeCallError `bad_params`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise BridgeCallError("bad_params", f"{name} is {value!r}; expected a whole number from {low} to {high}")
    return value


def plain_text(text: str) -> str:
    """The text without lone surrogates, which no UTF-8 stream can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


def hello() -> dict[str, Any]:
    """That the main thread answers, and which Blender it is."""
    scene = current_scene()
    return {
        "blender": bpy.app.version_string,
        "background": bool(bpy.app.background),
        "file": plain_text(bpy.data.filepath),
        "scene": plain_text(scene.name) if scene is not None else "",
    }


def scene_summary(offset: int = 0, limit: int = PAGE_LIMIT // 10) -> dict[str, Any]:
    """The scene as an agent needs it: timeline, cameras, markers, counts, and one page of the objects.

    Lengths in scene units, angles in degrees, locations in the parent's space; frames count from 0 at the scene's
    first frame. `objects.next_offset` is None on the last page.
    """
    offset = whole("offset", offset, 0, 10**9)
    limit = whole("limit", limit, 0, PAGE_LIMIT)
    scene = current_scene()
    if scene is None:
        raise BridgeCallError("failed", "this Blender has no scene; open a file or make a scene")
    first = scene.frame_start
    total = len(scene.objects)
    layer = (_window() or bpy.context).view_layer
    page = [_object_fields(one, layer) for one in islice(scene.objects, offset, offset + limit)]
    cameras = [one for one in scene.objects if one.type == "CAMERA"]
    return {
        **hello(),
        "engine": scene.render.engine,
        "timeline": {
            **scene_timeline(scene).to_json(),
            "current_frame": scene.frame_current - first,
            "first_scene_frame": first,
        },
        "active_camera": plain_text(scene.camera.name) if scene.camera is not None else None,
        "cameras": [_camera_fields(one) for one in cameras[:LIST_LIMIT]],
        "markers": [_marker_fields(one, first) for one in _marker_page(scene)],
        "counts": {
            "objects": total,
            "cameras": len(cameras),
            "markers": len(scene.timeline_markers),
            **{kind: len(getattr(bpy.data, kind)) for kind in ("meshes", "materials", "lights", "actions", "images")},
        },
        "objects": {
            "total": total,
            "offset": offset,
            "items": page,
            "next_offset": offset + len(page) if page and offset + len(page) < total else None,
        },
    }


def _object_fields(one: Any, layer: Any) -> dict[str, Any]:
    return {
        "name": plain_text(one.name),
        "type": one.type,
        "location": _numbers(one.location),
        "parent": plain_text(one.parent.name) if one.parent is not None else None,
        "visible": bool(one.visible_get(view_layer=layer)),
        "renders": not one.hide_render,
        "animated": one.animation_data is not None and one.animation_data.action is not None,
    }


def _camera_fields(one: Any) -> dict[str, Any]:
    return {
        "name": plain_text(one.name),
        "lens_mm": _number(one.data.lens),
        "sensor_width_mm": _number(one.data.sensor_width),
        "horizontal_angle_deg": _number(math.degrees(one.data.angle_x)),
    }


def _marker_page(scene: Any) -> list[Any]:
    return sorted(scene.timeline_markers, key=lambda marker: int(marker.frame))[:LIST_LIMIT]


def _marker_fields(marker: Any, first: int) -> dict[str, Any]:
    camera = plain_text(marker.camera.name) if marker.camera is not None else None
    return {"name": plain_text(marker.name), "frame": marker.frame - first, "camera": camera}


def _number(value: float) -> float | None:
    return round(float(value), 5) if math.isfinite(value) else None


def _numbers(values: Iterable[float]) -> list[float | None]:
    return [_number(value) for value in values]
