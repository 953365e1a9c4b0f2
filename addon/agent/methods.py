# SPDX-License-Identifier: GPL-3.0-or-later
"""What another process may ask of this Blender: plain functions on the main thread that return JSON values."""

from __future__ import annotations

import fnmatch
import glob
import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

import bpy

from ...evaluator.protocol.bridge import BridgeCallError
from ..timeline import scene_timeline
from .pages import fitting

PAGE_LIMIT: Final = 500  # objects in one answer
LIST_LIMIT: Final = 50  # cameras, markers, collections
OBJECT_FIELDS: Final = 130  # characters of an object besides its names
# characters, so that an answer stays below 4,000 tokens whatever the names are
OBJECTS_BUDGET: Final = 8000
LIST_BUDGET: Final = 1800


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


def scene_summary(offset: int = 0, limit: int = PAGE_LIMIT // 10, match: str = "", kind: str = "") -> dict[str, Any]:
    """The scene as an agent needs it: timeline, cameras, markers, collections, counts, and one page of the objects.

    The objects are those whose name holds `match` (or fits it, with * or ?) and whose type is `kind`; empty is any.
    Lengths in scene units, angles in degrees, locations in the parent's space; frames count from 0 at the scene's
    first frame. `objects.next_offset` is None on the last page; a page ends early, and the lists before it too, where
    long names would make the answer large: `counts` tells how many there are.
    """
    offset = whole("offset", offset, 0, 10**9)
    limit = whole("limit", limit, 0, PAGE_LIMIT)
    if not isinstance(match, str) or not isinstance(kind, str):
        raise BridgeCallError("bad_params", f"match is {match!r:.80}, kind {kind!r:.80}; expected text")
    scene = current_scene()
    if scene is None:
        raise BridgeCallError("failed", "this Blender has no scene; open a file or make a scene")
    first = scene.frame_start
    objects = _matching(scene, match, kind) if match or kind else scene.objects
    total = len(objects)
    layer = (_window() or bpy.context).view_layer
    page = list(_object_page(islice(objects, offset, offset + limit), layer))
    collections = scene.collection.children_recursive
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
        "cameras": list(fitting(map(_camera_fields, cameras[:LIST_LIMIT]), LIST_BUDGET)),
        "markers": list(fitting((_marker_fields(one, first) for one in _marker_page(scene)), LIST_BUDGET)),
        "collections": list(fitting(map(_collection_fields, collections[:LIST_LIMIT]), LIST_BUDGET)),
        "counts": {
            "objects": len(scene.objects),
            "cameras": len(cameras),
            "markers": len(scene.timeline_markers),
            "collections": len(collections),
            **{kind: len(getattr(bpy.data, kind)) for kind in ("meshes", "materials", "lights", "actions", "images")},
        },
        "objects": {
            "total": total,
            "offset": offset,
            "items": page,
            "next_offset": offset + len(page) if page and offset + len(page) < total else None,
        },
    }


def _matching(scene: Any, match: str, kind: str) -> list[Any]:
    wanted, kind = match.casefold(), kind.strip().upper()
    pattern = wanted if "*" in wanted or "?" in wanted else f"*{glob.escape(wanted)}*"
    return [
        one for one in scene.objects
        if (not kind or one.type == kind) and (not wanted or fnmatch.fnmatchcase(one.name.casefold(), pattern))
    ]  # fmt: skip


def _object_page(objects: Iterable[Any], layer: Any) -> Iterator[dict[str, Any]]:
    left = OBJECTS_BUDGET
    for number, one in enumerate(objects):
        fields = _object_fields(one, layer)
        left -= OBJECT_FIELDS + len(fields["name"]) + len(fields["parent"] or "")
        if left < 0 and number:
            return
        yield fields


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


def _collection_fields(one: Any) -> dict[str, Any]:
    return {"name": plain_text(one.name), "objects": len(one.objects), "renders": not one.hide_render}


def _marker_page(scene: Any) -> list[Any]:
    return sorted(scene.timeline_markers, key=lambda marker: int(marker.frame))[:LIST_LIMIT]


def _marker_fields(marker: Any, first: int) -> dict[str, Any]:
    camera = plain_text(marker.camera.name) if marker.camera is not None else None
    return {"name": plain_text(marker.name), "frame": marker.frame - first, "camera": camera}


def _number(value: float) -> float | None:
    return round(float(value), 5) if math.isfinite(value) else None


def _numbers(values: Iterable[float]) -> list[float | None]:
    return [_number(value) for value in values]
