# SPDX-License-Identifier: GPL-3.0-or-later
"""The window's bridge: off until it is started, then driven by a timer that shares the main thread with the artist."""

from __future__ import annotations

import atexit
import sys
import threading
import time
from typing import Final

import bpy

from ...evaluator.protocol.children import follow_parent
from ..agent.api_help import warm_up
from ..sidebar.base import SidebarPanel
from .server import Bridge, end_orphan, parse_bridge
from .trust import left_text

TICK_BUDGET: Final = 0.02  # seconds that one tick gives to requests before the window is drawn again
# Blender's own loop, which calls the ticks, sleeps for 5 ms at a time. While a client is at work each tick waits this
# long for a request, so that one that comes at once need not wait for the loop
TICK_LINGER: Final = 0.005
LINGER_FOR: Final = 2.0  # seconds after the last request in which ticks wait so
NEAR_FOR: Final = 30.0  # seconds after it in which every turn of the loop ticks: agents think between their calls
TICK_IDLE: Final = 0.1  # seconds between ticks after that
WARM_UP_AFTER: Final = 2.0  # seconds from the start until what api_help needs is made, in slices
LOOK_EVERY: Final = 1.0  # seconds between looks at what the panel shows and at the file's name

_bridge: Bridge | None = None
_last_request = -NEAR_FOR
_shown: tuple[object, ...] = ()
_looked = 0.0


def running_bridge() -> Bridge | None:
    """The window's bridge, or None while it is off."""
    return _bridge


def is_running() -> bool:
    """Whether the window's bridge listens."""
    return _bridge is not None


def start(label: str = "") -> Bridge:
    """Start the window's bridge, or return the one that runs. Raises OperationalError where it cannot listen.

    With a `label` it is for the process alone that knows it.
    """
    global _bridge  # noqa: PLW0603
    if _bridge is None:
        _bridge = Bridge("window", label=label)
        # persistent: it goes on when another file is opened
        bpy.app.timers.register(_tick, persistent=True)
        bpy.app.timers.register(warm_up, first_interval=WARM_UP_AFTER, persistent=True)
        atexit.register(stop)
    return _bridge


def stop() -> None:
    """Stop the window's bridge; nothing happens where it is off."""
    global _bridge
    if _bridge is None:
        return
    bridge, _bridge = _bridge, None
    atexit.unregister(stop)
    for timer in (_tick, warm_up):
        if bpy.app.timers.is_registered(timer):
            bpy.app.timers.unregister(timer)
    bridge.close()


def serve_in_window(arguments: list[str]) -> None:
    """As `serve_headless`, in a Blender whose window an agent has for itself: it returns, and Blender's loop goes on.

    Python is allowed, as without a window.
    """
    parsed = parse_bridge(arguments)
    bpy.context.preferences.view.show_splash = False  # it would stand in every picture of the window
    bridge = start(parsed.label)
    bridge.trust.allow()
    ended = threading.Event()

    def quit_when_ended() -> float | None:
        if not ended.is_set():
            return TICK_IDLE
        stop()
        bpy.ops.wm.quit_blender()
        return None

    if parsed.end_with_stdin:
        bpy.app.timers.register(quit_when_ended, persistent=True)
        follow_parent(lambda: end_orphan(ended.set, bridge))
    sys.stderr.write(f"matchcut: bridge: {bridge.descriptor}\n")


def _tick() -> float | None:
    global _last_request
    bridge = _bridge
    if bridge is None:
        return None
    since = time.monotonic() - _last_request
    try:
        # most ticks find nothing to do, and there are many
        if (since < LINGER_FOR or bridge.dispatcher.wait(0)) and bridge.run_pending(TICK_BUDGET, TICK_LINGER):
            _last_request, since = time.monotonic(), 0.0
        if time.monotonic() - _looked >= LOOK_EVERY:
            _look(bridge)
    except Exception as error:  # noqa: BLE001  an exception would end the timer, and every client would wait for ever
        sys.stderr.write(f"matchcut: bridge: {type(error).__name__}: {error}\n")
        return TICK_IDLE
    return 0.0 if since < NEAR_FOR else TICK_IDLE


def _look(bridge: Bridge) -> None:
    """Follow the file's name, and draw the panel anew where it is shown and would show something else.

    The 3D view beside it is drawn with it, which can take long.
    """
    global _shown, _looked  # noqa: PLW0603
    _looked = time.monotonic()
    bridge.follow_file()
    shows = (bridge.clients, bridge.dispatcher.calls, left_text(bridge.trust.seconds_left))
    if shows == _shown:
        return
    _shown = shows
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            for region in area.regions if area.type == "VIEW_3D" else ():
                if region.type == "UI" and region.active_panel_category == SidebarPanel.bl_category:
                    region.tag_redraw()
