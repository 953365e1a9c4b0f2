# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference along the timeline: small pictures at their frames, with a mark at every cut.

It lies in every timeline and dope sheet that is high enough. Where none is, as in Blender's own layouts, it lies at the
bottom of the largest 3D view, over the scene's frames, with a line at the current one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import bpy
import gpu

from . import feeds, follow
from .feeds import Feed, Wanted
from .marks import draw_border, draw_box, draw_shape
from .placement import Rect, seen
from .shaders import draw_picture
from .timings import measured

HEIGHT: Final = 44
"""Pixels at resolution scale 1 of the strip."""
LOWEST: Final = 22
"""Below which it is not drawn."""
RULER: Final = 26
"""Pixels at resolution scale 1 that the frame numbers take above it."""
BOTTOM: Final = 6
BACKING: Final = (0.03, 0.03, 0.03, 0.8)
CUT: Final = (1.0, 0.55, 0.15, 1.0)
"""Orange, as the sheets of frames mark a cut."""
PLAYHEAD: Final = (0.28, 0.52, 0.9, 1.0)
MOST: Final = 200
"""Pictures of one strip."""

_handles: list[tuple[Any, Any]] = []


@dataclass(frozen=True)
class Axis:
    """Where a strip lies in a region, and which scene frame is where."""

    band: Rect
    origin: float
    """Where the scene's frame 0 begins."""
    per_frame: float
    """Pixels of a scene frame."""


def _draw_in_timeline() -> None:
    """Called by Blender after it has drawn a timeline or a dope sheet."""
    context = bpy.context
    if not context.scene.matchcut.compare.filmstrip:
        return
    follow.wake()
    axis = _timeline_axis(context)
    if axis is not None:
        _draw(context, axis)


def _draw_in_view() -> None:
    """Called by Blender after it has drawn a 3D view."""
    context = bpy.context
    if not context.scene.matchcut.compare.filmstrip or context.region_data is None:
        return
    follow.wake()
    areas = context.screen.areas
    scale = context.preferences.system.ui_scale
    if any(area.type == "DOPESHEET_EDITOR" and _height(_main(area), scale) for area in areas):
        return
    largest = max((area for area in areas if area.type == "VIEW_3D"), key=lambda area: area.width * area.height)
    if context.area != largest or context.region.alignment == "QUAD_SPLIT":
        return
    axis = _view_axis(context, scale)
    _draw(context, axis)
    if axis.band.width > 1:
        draw_border(axis.band, scale)
        x = axis.origin + context.scene.frame_current * axis.per_frame
        draw_box(Rect(x - scale, axis.band.y, 2 * scale, axis.band.height).within(axis.band), PLAYHEAD)


def _main(area: Any) -> Any:
    return next(region for region in area.regions if region.type == "WINDOW")


def _height(region: Any, scale: float) -> float:
    """Of a strip in a timeline's region; 0 where there is no room."""
    height = min(HEIGHT * scale, region.height - (RULER + BOTTOM) * scale)
    return float(height) if height >= LOWEST * scale else 0.0


def _timeline_axis(context: Any) -> Axis | None:
    region, scale = context.region, context.preferences.system.ui_scale
    height = _height(region, scale)
    if not height:
        return None
    origin, after = (region.view2d.view_to_region(frame, 0, clip=False)[0] for frame in (0, 1000))
    return Axis(Rect(0, BOTTOM * scale, region.width, height), origin, (after - origin) / 1000)


def _view_axis(context: Any, scale: float) -> Axis:
    scene, inner = context.scene, seen(context.area, context.region).inset(BOTTOM * scale)
    per_frame = inner.width / max(1, scene.frame_end - scene.frame_start + 1)
    band = Rect(inner.x, inner.y, inner.width, HEIGHT * scale)
    return Axis(band, inner.x - scene.frame_start * per_frame, per_frame)


def _draw(context: Any, axis: Axis) -> None:
    wanted = follow.strip_wanted(context.scene)
    feed = feeds.find(wanted) if wanted is not None else None
    if wanted is None or feed is None or feed.store is None or feed.rate is None:
        follow.waiting.add(context.area.type)
        return
    with measured("filmstrip"):
        follow.strip_frames[wanted] = _draw_strip(context, axis, wanted, feed)


def _draw_strip(context: Any, axis: Axis, wanted: Wanted, feed: Feed) -> list[int]:
    """Draw it; the frames of the video that it shows."""
    store, scene, band = feed.store, context.scene, axis.band
    assert store is not None and feed.rate is not None
    scale = context.preferences.system.ui_scale
    per_frame = axis.per_frame * follow.rate_of(scene) / float(feed.rate)
    start = axis.origin + scene.frame_start * axis.per_frame
    width = band.height * store.width / store.height
    step = wanted.every * max(1, math.floor(width / (per_frame * wanted.every)))  # a picture ends where the next begins
    first = max(0, math.floor((band.x - start) / per_frame / step)) * step
    last = min(store.frames - 1, math.ceil((band.right - start) / per_frame))
    frames = list(range(first, last + 1, step))[:MOST]
    gpu.state.depth_test_set("NONE")
    shown = Rect(start, band.y, store.frames * per_frame, band.height).within(band)
    draw_box(shown, BACKING)
    for frame in frames:
        found = feed.texture(frame)
        if found is None or found[0] != frame:
            follow.waiting.add(context.area.type)
        if found is not None and abs(found[0] - frame) <= step:
            whole = Rect(start + frame * per_frame, band.y, width, band.height)
            seen_part = Rect(whole.x, whole.y, min(width, step * per_frame), whole.height).within(shown)
            if seen_part.width > 0:
                draw_picture(seen_part, found[1], whole.part(seen_part), in_view=context.area.type == "VIEW_3D")
    for cut in cuts_of(scene):
        x = start + cut * per_frame
        if band.x <= x <= band.right:
            _draw_cut(round(x), band, scale)
    return frames


def cuts_of(scene: Any) -> list[int]:
    """The frames of the reference that begin a shot, without the first one; none where its shots are not known."""
    shots = getattr(scene.matchcut.reference, "shots", ())
    return sorted(int(shot.first) for shot in shots if shot.first > 0)


def _draw_cut(x: float, band: Rect, scale: float) -> None:
    draw_box(Rect(x - scale, band.y, 2 * scale, band.height), CUT)
    side, rise = 5 * scale, 4 * scale
    draw_shape([(x - side, band.top + rise), (x + side, band.top + rise), (x, band.top - rise)], CUT, "TRIS")


def register() -> None:
    """Have Blender call us; without a window nothing is drawn."""
    if not bpy.app.background:
        spaces = ((bpy.types.SpaceDopeSheetEditor, _draw_in_timeline), (bpy.types.SpaceView3D, _draw_in_view))
        _handles.extend((space, space.draw_handler_add(call, (), "WINDOW", "POST_PIXEL")) for space, call in spaces)


def unregister() -> None:
    """Take the handlers off again."""
    for space, handle in _handles:
        space.draw_handler_remove(handle, "WINDOW")
    _handles.clear()
