# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks whether the references are still the files that were read: when a .blend is opened, and every few seconds.

Only where there is a window: elsewhere buttons look when they are pressed.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Final

import bpy
from bpy.app.handlers import persistent

from ... import jobs
from ..paths import absolute
from . import picture, watch

INTERVAL: Final = 2.0
"""Seconds between two looks."""
SHARE: Final = 0.005
"""Of the main thread's time that looking may take: where a disk is slow, it looks less often."""

slices: deque[float] = deque(maxlen=1000)
"""Seconds that the latest looks took."""


def look_at_all() -> None:
    """Look at the reference of every scene, and have its picture in memory."""
    for scene in bpy.data.scenes:
        reference = scene.matchcut.reference
        if not reference.read or not reference.read_mark:
            continue
        file, before = absolute(reference.path), reference.state
        if watch.look(file, reference.read_mark) != before:
            jobs.redraw()
        if reference.known:
            picture.show(watch.digest_in(reference.read_mark), file)


def _tick() -> float:
    began = time.perf_counter()
    look_at_all()
    took = time.perf_counter() - began
    slices.append(took)
    return max(INTERVAL, took / SHARE)


@persistent  # type: ignore[untyped-decorator]
def _loaded(*_: Any) -> None:
    watch.forget()
    if bpy.app.background:
        return
    if bpy.app.timers.is_registered(_tick):
        bpy.app.timers.unregister(_tick)
    bpy.app.timers.register(_tick, first_interval=0.1, persistent=True)


def register() -> None:
    """Listen for files being opened, and begin to look."""
    bpy.app.handlers.load_post.append(_loaded)
    if not bpy.app.background:
        bpy.app.timers.register(_tick, first_interval=INTERVAL, persistent=True)


def unregister() -> None:
    """Look no longer."""
    if _loaded in bpy.app.handlers.load_post:  # other code may have emptied the list
        bpy.app.handlers.load_post.remove(_loaded)
    if bpy.app.timers.is_registered(_tick):
        bpy.app.timers.unregister(_tick)
    picture.forget()
    watch.forget()
