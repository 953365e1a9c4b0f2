# SPDX-License-Identifier: GPL-3.0-or-later
"""What is drawn over a 3D view: two pictures in one of five ways, a thin frame, and what each of them is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import bpy
import gpu
from bpy.app.translations import pgettext_iface, pgettext_n

from . import feeds, follow
from .marks import draw_border, draw_box, draw_label, draw_line
from .placement import Rect, place, seen
from .shaders import WHOLE, draw_difference, draw_picture, forget
from .timings import measured
from .views import view_picture

GAP: Final = 4
"""Pixels at resolution scale 1 between pictures that lie side by side."""
BACKING: Final = (0.05, 0.05, 0.05, 1.0)

_handle: Any = None
_drawing = False
lit_in: set[int] = set()
"""Regions whose wipe's line is under the mouse: their gizmo says so before the pictures are drawn."""


@dataclass(frozen=True)
class Shown:
    """A picture at the present frame; `texture` is None where the view itself is it, or where there is none yet."""

    name: str
    texture: Any = None
    is_view: bool = False
    frame: int | None = None
    """Which is shown, as the scene's timeline counts."""
    note: str = ""
    """What is odd about it, for the label."""

    @property
    def label(self) -> str:
        """What stands in the picture's corner."""
        number = "" if self.frame is None else f" {self.frame}"
        return f"{pgettext_iface(self.name)}{number}" + (f" · {pgettext_iface(self.note)}" if self.note else "")


def _draw() -> None:
    """Called by Blender after it has drawn a 3D view."""
    global _drawing  # noqa: PLW0603
    context = bpy.context
    scene = context.scene
    if _drawing or not scene.matchcut.compare.show or context.region_data is None:
        return
    follow.wake()
    _drawing = True  # the view is drawn once more inside this for some modes
    try:
        with measured("draw"):
            _draw_over(context)
    finally:
        _drawing = False


def rect_in(context: Any) -> Rect | None:
    """Where the reference lies in the region that the context is in; None where it is not shown there."""
    scene, view = context.scene, context.region_data
    wanted = follow.reference_wanted(scene)
    feed = feeds.find(wanted) if wanted is not None else None
    if feed is None or view is None:
        return None
    through_camera = view.view_perspective == "CAMERA"
    if not through_camera and (scene.matchcut.compare.camera_only or _is_side_of_quad_view(context.region)):
        return None
    aspect = feed.store.width / feed.store.height if feed.store is not None else _aspect_of(scene)
    return place(context.area, context.region, context.space_data, view, scene, aspect, _scale(context))


def _is_side_of_quad_view(region: Any) -> bool:
    return bool(region.alignment == "QUAD_SPLIT")


def _aspect_of(scene: Any) -> float:
    render = scene.render
    return float(render.resolution_x * render.pixel_aspect_x / (render.resolution_y * render.pixel_aspect_y))


def _scale(context: Any) -> float:
    return float(context.preferences.system.ui_scale)


def _draw_over(context: Any) -> None:
    rect = rect_in(context)
    if rect is None:
        wanted = follow.reference_wanted(context.scene)
        if wanted is not None and feeds.find(wanted) is None:  # just switched on: the timer has not made it yet
            follow.waiting.add("VIEW_3D")
        return
    compare = context.scene.matchcut.compare
    region = Rect(0, 0, context.region.width, context.region.height)
    visible = rect.within(region)
    if visible.width < 1 or visible.height < 1:
        return
    gpu.state.depth_test_set("NONE")
    reference = _video(context.scene, follow.reference_wanted(context.scene), pgettext_n("Reference"))
    other = Shown(pgettext_n("Viewport"), is_view=True)
    if compare.source == "RENDER":
        other = _video(context.scene, follow.render_wanted(context.scene), pgettext_n("Render"))
    labels = _MODES[compare.mode](context, rect, visible, reference, other)
    draw_border(rect, _scale(context))
    inner = visible.within(seen(context.area, context.region))
    for shown, corner, box in labels:
        draw_label(shown.label, box.within(inner), corner, _scale(context))


def _video(scene: Any, wanted: Any, name: str) -> Shown:
    feed = feeds.find(wanted) if wanted is not None else None
    if feed is None:
        return Shown(name, note=pgettext_n("none yet"))
    if feed.store is None:
        follow.waiting.add("VIEW_3D")
        return Shown(name, note=pgettext_n("unavailable") if feed.error else pgettext_n("decoding"))
    frame = follow.frame_of(scene, feed)
    if frame is None:
        return Shown(name, note=pgettext_n("no frame here"))
    found = feed.texture(frame)
    if found is None or found[0] != frame:
        follow.waiting.add("VIEW_3D")
        note = pgettext_n("decoding") if frame not in feed.reader.there else ""
        if found is None:
            return Shown(name, note=note)
        return Shown(
            name, found[1], frame=feed.scene_frame(found[0], scene.frame_start, follow.rate_of(scene)), note=note
        )
    return Shown(name, found[1], frame=scene.frame_current)


_Label = tuple[Shown, str, Rect]


def _put(rect: Rect, shown: Shown, part: Any = WHOLE, opacity: float = 1.0) -> None:
    """A video's frame; where there is none, what lies below stays as it is."""
    if shown.texture is not None:
        draw_picture(rect, shown.texture, part, opacity=opacity)


def _onion(context: Any, rect: Rect, visible: Rect, reference: Shown, other: Shown) -> list[_Label]:
    _put(rect, other)
    _put(rect, reference, opacity=context.scene.matchcut.compare.opacity)
    return [(reference, "LEFT", visible), (other, "RIGHT", visible)]


def _flicker(context: Any, rect: Rect, visible: Rect, reference: Shown, other: Shown) -> list[_Label]:
    shown = (reference, other)[follow.phase(context.scene.matchcut.compare.interval)]
    _put(rect, shown)
    return [(shown, "LEFT", visible)]


def _wipe(context: Any, rect: Rect, visible: Rect, reference: Shown, other: Shown) -> list[_Label]:
    share = context.scene.matchcut.compare.wipe
    line = rect.x + share * rect.width
    left = Rect(rect.x, rect.y, line - rect.x, rect.height)
    right = Rect(line, rect.y, rect.right - line, rect.height)
    if left.width > 0:
        _put(left, reference, (0.0, 0.0, share, 1.0))
    if right.width > 0:
        _put(right, other, (share, 0.0, 1.0, 1.0))
    region = context.region.as_pointer()
    draw_line(line, visible, _scale(context), lit=region in lit_in)
    lit_in.discard(region)
    return [(reference, "LEFT", left.within(visible)), (other, "RIGHT", right.within(visible))]


def _side(context: Any, rect: Rect, visible: Rect, reference: Shown, other: Shown) -> list[_Label]:
    halves = rect.halves(GAP * _scale(context))
    aspect = rect.width / rect.height
    draw_box(rect, BACKING)
    left, right = (half.fitted(aspect) for half in halves)
    _put(left, reference)
    if other.is_view:
        size = (max(1, min(2048, round(right.width))), max(1, min(2048, round(right.height))))
        picture = view_picture(context, rect, size)
        if picture is not None:
            draw_picture(right, picture, of_view=True)
    else:
        _put(right, other)
    return [(reference, "LEFT", left.within(visible)), (other, "RIGHT", right.within(visible))]


def _difference(context: Any, rect: Rect, visible: Rect, reference: Shown, other: Shown) -> list[_Label]:
    if reference.texture is None or (other.texture is None and not other.is_view):
        return [(reference, "LEFT", visible), (other, "RIGHT", visible)]
    gain = context.scene.matchcut.compare.gain
    if other.is_view:  # pixel for pixel, of what is seen alone
        left, bottom = int(visible.x), int(visible.y)
        whole = Rect(left, bottom, int(visible.right) - left, int(visible.top) - bottom)
        picture = view_picture(context, whole, (max(1, int(whole.width)), max(1, int(whole.height))))
        if picture is None:
            return [(reference, "LEFT", visible)]
        draw_difference(whole, reference.texture, picture, rect.part(whole), gain=gain, of_view=True)
    else:
        draw_difference(rect, reference.texture, other.texture, WHOLE, gain=gain, of_view=False)
    return [
        (Shown(pgettext_n("Difference"), frame=reference.frame, note=reference.note or other.note), "LEFT", visible)
    ]


_MODES: Final = {
    "WIPE": _wipe, "ONION": _onion, "SIDE": _side, "DIFFERENCE": _difference, "FLICKER": _flicker
}  # fmt: skip


def register() -> None:
    """Have Blender call us; without a window nothing is drawn."""
    global _handle  # noqa: PLW0603
    if not bpy.app.background:
        _handle = bpy.types.SpaceView3D.draw_handler_add(_draw, (), "WINDOW", "POST_PIXEL")


def unregister() -> None:
    """Take the handler off, and give back what the graphics card holds."""
    global _handle  # noqa: PLW0603
    if _handle is not None:
        bpy.types.SpaceView3D.draw_handler_remove(_handle, "WINDOW")
        _handle = None
    forget()
