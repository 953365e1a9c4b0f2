# SPDX-License-Identifier: GPL-3.0-or-later
"""The timer that follows the playhead: it has frames decoded and read, and views redrawn when there is more to see."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any, Final

import bpy
from bpy.app.handlers import persistent
from bpy.app.translations import pgettext_iface

from ..paths import absolute
from . import feeds, lacking
from .feeds import Feed, Wanted
from .timings import measured

QUICK: Final = 1 / 30
"""Seconds between looks while frames come in or a picture is waited for."""
IDLE: Final = 0.2
TELL_SECONDS: Final = 0.5
"""Between two looks of the panel at how many frames are there."""
UNUSED_SECONDS: Final = 10.0
"""After which a video that nothing shows is let go."""
STRIP_SIZE: Final = 128
"""Pixels of the longer side of a picture of the filmstrip."""
STRIP_PICTURES: Final = 400
"""Of one video, at most."""
AREAS: Final = frozenset({"VIEW_3D", "DOPESHEET_EDITOR"})

_seen_version = -1
_seen_phase = -1
_told: tuple[float, int, tuple[Any, ...]] = (0.0, -1, ())
"""When the panel was last drawn again, and what it told."""
waiting: set[str] = set()
"""Types of areas that were drawn without the picture that they should show."""
_again: set[str] = set()
"""Types of areas to draw once more, whatever there is to see."""
strip_frames: dict[Wanted, list[int]] = {}
"""Frames that the filmstrips showed when they were last drawn."""


def reference_wanted(scene: Any) -> Wanted | None:
    """The scene's reference at the size of the overlay; None where none is picked."""
    path = scene.matchcut.reference.path
    return Wanted(absolute(path), int(scene.matchcut.compare.size)) if path else None


def render_wanted(scene: Any) -> Wanted | None:
    """The video of the scene's last render; None where there is none."""
    path = scene.matchcut.render.video
    return Wanted(absolute(path), int(scene.matchcut.compare.size)) if path else None


def strip_wanted(scene: Any) -> Wanted | None:
    """The scene's reference as the pictures of a filmstrip."""
    reference = scene.matchcut.reference
    if not reference.path:
        return None
    frames = reference.frames if reference.known else 0
    return Wanted(absolute(reference.path), STRIP_SIZE, max(1, -(-frames // STRIP_PICTURES)))


def rate_of(scene: Any) -> float:
    """Frames per second of a scene."""
    return float(scene.render.fps / scene.render.fps_base)


def frame_of(scene: Any, feed: Feed) -> int | None:
    """The video's frame at the scene's current one."""
    return feed.frame_at(scene.frame_current, scene.frame_start, rate_of(scene))


def phase(interval: float) -> int:
    """0 and 1 in turns of `interval` seconds."""
    return int(time.monotonic() / interval) % 2


def wake() -> None:
    """See that the timer runs. It ends by itself once nothing is shown."""
    if not bpy.app.background and not bpy.app.timers.is_registered(_tick):
        bpy.app.timers.register(_tick, persistent=True)


def redraw(areas: Collection[str] = AREAS, regions: Collection[str] = ("WINDOW", "UI")) -> None:
    """Have the views, the timelines and the panel drawn again, or some of them."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type in areas:
                for region in area.regions:
                    if region.type in regions:
                        region.tag_redraw()


def _tick() -> float | None:
    with measured("tick"):
        scenes = {window.scene for window in bpy.context.window_manager.windows}
        shown = [scene for scene in scenes if scene.matchcut.compare.show]
        strips = [scene for scene in scenes if scene.matchcut.compare.filmstrip]
        for scene in shown:
            _follow(scene)
        for scene in strips:
            wanted = strip_wanted(scene)
            if wanted is not None:
                feeds.feed(wanted).follow_all(strip_frames.get(wanted, []))
        feeds.close_unused(UNUSED_SECONDS)
        _again.update(lacking.make_one())
        _redraw_what_is_old(sum(phase(scene.matchcut.compare.interval) for scene in shown if _flickers(scene)))
    if not shown and not strips:
        feeds.close_all()
        return None
    hurry = (
        feeds.busy() or waiting or _again or lacking.waits() or any(_flickers(scene) for scene in shown) or _playing()
    )
    return QUICK if hurry else IDLE


def _redraw_what_is_old(turn: int) -> None:
    global _seen_version, _seen_phase, _told  # noqa: PLW0603
    version, state = feeds.version(), feeds.state()
    if waiting and version != _seen_version:
        redraw(tuple(waiting), ("WINDOW",))
        waiting.clear()
    if _again:
        redraw(tuple(_again), ("WINDOW",))
        _again.clear()
    if turn != _seen_phase:
        redraw(("VIEW_3D",), ("WINDOW",))
    _seen_version, _seen_phase = version, turn
    if state != _told[2] or (version != _told[1] and time.monotonic() - _told[0] > TELL_SECONDS):
        _told = (time.monotonic(), version, state)
        redraw(("VIEW_3D",), ("UI",))


def _follow(scene: Any) -> None:
    for wanted in (reference_wanted(scene), render_wanted(scene) if _needs_render(scene) else None):
        if wanted is not None:
            feed = feeds.feed(wanted)
            frame = frame_of(scene, feed)
            feed.follow(max(0, scene.frame_current - scene.frame_start) if frame is None else frame)
            if frame is not None:
                feed.upload(frame)


def _needs_render(scene: Any) -> bool:
    return bool(scene.matchcut.compare.source == "RENDER")


def _flickers(scene: Any) -> bool:
    return bool(scene.matchcut.compare.mode == "FLICKER")


def _playing() -> bool:
    return any(window.screen.is_animation_playing for window in bpy.context.window_manager.windows)


@persistent  # type: ignore[untyped-decorator]
def _loaded(*_: Any) -> None:
    feeds.close_all()
    strip_frames.clear()


def register() -> None:
    """Listen for files being opened."""
    bpy.app.handlers.load_post.append(_loaded)


def unregister() -> None:
    """Leave neither timer, handler, thread nor texture."""
    if bpy.app.timers.is_registered(_tick):
        bpy.app.timers.unregister(_tick)
    if _loaded in bpy.app.handlers.load_post:  # other code may have emptied the list
        bpy.app.handlers.load_post.remove(_loaded)
    feeds.close_all()
    lacking.forget()
    strip_frames.clear()


def problem(feed: Feed | None, name: str) -> str:
    """What the artist should know of a video that is shown, in one line; empty where all is well."""
    if feed is None:
        return ""
    if feed.error:
        return feed.error
    if feed.missing:
        return str(pgettext_iface("{0} is not where it was; frames decoded before are shown").format(name))
    return ""
