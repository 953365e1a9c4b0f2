# SPDX-License-Identifier: GPL-3.0-or-later
"""Small pieces of work on files beside the window: done in a thread, what they found taken in by a timer.

Without a window, where timers do not run, both happen at once.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, Final

import bpy

INTERVAL: Final = 0.05

_done: queue.SimpleQueue[tuple[str, int, Callable[[], None]]] = queue.SimpleQueue()
_latest: dict[str, int] = {}
"""By key: number of the last piece of work; what an earlier one found is dropped."""
_waiting = 0


def look(key: str, work: Callable[[], Any], take: Callable[[Any], None]) -> None:
    """Call `work()` in a thread and `take` with what it returned on the main thread; a later one of a key replaces it.

    `work` touches nothing of Blender's and raises nothing.
    """
    global _waiting  # noqa: PLW0603
    if bpy.app.background:
        take(work())
        return
    number = _latest[key] = _latest.get(key, 0) + 1
    _waiting += 1

    def run() -> None:
        found = work()
        _done.put((key, number, lambda: take(found)))

    threading.Thread(target=run, name=f"matchcut {key}", daemon=True).start()
    if not bpy.app.timers.is_registered(_tick):
        bpy.app.timers.register(_tick, first_interval=INTERVAL, persistent=True)


def forget() -> None:
    """Take in nothing of what is being looked at."""
    _latest.clear()


def _tick() -> float | None:
    global _waiting  # noqa: PLW0603
    try:
        key, number, take = _done.get_nowait()
    except queue.Empty:
        return INTERVAL if _waiting else None
    _waiting -= 1
    if _latest.get(key) == number:
        take()
    return INTERVAL if _waiting else None


def unregister() -> None:
    """Leave no timer."""
    global _waiting  # noqa: PLW0603
    forget()
    _waiting = 0
    if bpy.app.timers.is_registered(_tick):
        bpy.app.timers.unregister(_tick)
