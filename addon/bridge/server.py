# SPDX-License-Identifier: GPL-3.0-or-later
"""The running bridge of this Blender, and what drives it: a timer in the window, else a loop, as timers never fire."""

from __future__ import annotations

import argparse
import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any, Final

import bpy

from ...evaluator.protocol.bridge import (
    BridgeCallError,
    BridgeKind,
    Descriptor,
    new_nonce,
    remove_descriptor,
    write_descriptor,
)
from ...evaluator.protocol.children import follow_parent
from ...evaluator.protocol.errors import OperationalError
from .copies import save_copy, scene_place
from .dispatcher import Dispatcher, Method
from .listener import Listener
from .methods import hello, plain_text, scene_summary
from .preview import render_frame
from .python_code import run_python

TICK_BUDGET: Final = 0.02  # seconds that one tick gives to requests before the window is drawn again
TICK_BUSY: Final = 0.005  # seconds between ticks while a client is at work
TICK_IDLE: Final = 0.1
BUSY_FOR: Final = 2.0  # seconds after the last request in which the next one is expected
REDRAW_EVERY: Final = 1.0
HEADLESS_WAIT: Final = 0.5
END_GRACE: Final = 5.0  # seconds that running code gets after the parent has ended


class Bridge:
    """One listening bridge: token, socket, queue, and the descriptor file by which clients find it."""

    def __init__(self, kind: BridgeKind, *, label: str = "", allow_python: bool = False) -> None:
        self.allow_python = allow_python
        self.dispatcher = Dispatcher(self._methods())
        token = new_nonce()
        self._listener = Listener(token, self.dispatcher)
        port = self._listener.start()
        scene = plain_text(bpy.data.filepath)
        self.descriptor = Descriptor(os.getpid(), port, token, bpy.app.version_string, scene, kind, label)
        try:
            write_descriptor(self.descriptor)
        except BaseException:
            self._listener.stop()
            raise

    def _methods(self) -> dict[str, Method]:
        def guarded_python(code: str, label: str = "") -> dict[str, Any]:
            if not self.allow_python:
                raise BridgeCallError(
                    "not_allowed",
                    "Python is not allowed in this Blender: its user has to switch on Allow Python in the Matchcut tab "
                    "(panel Agent)",
                )
            return run_python(code, label)

        return {
            "hello": hello,
            "scene_summary": scene_summary,
            "render_frame": render_frame,
            "scene_place": scene_place,
            "save_copy": save_copy,
            "run_python": guarded_python,
        }

    @property
    def clients(self) -> int:
        """How many clients are connected."""
        return self._listener.clients

    def close(self) -> None:
        """Stop listening, drop every client and remove the descriptor."""
        remove_descriptor(self.descriptor)
        self._listener.stop()

    def run_pending(self, budget: float) -> bool:
        """On the main thread: run waiting requests until `budget` seconds are used; whether there were any."""
        self._follow_file()
        # a render in the window reads the scene from another thread: code that changes it now could crash both
        rendering = bpy.app.is_job_running("RENDER")
        self.dispatcher.hold = "a render in the window" if rendering else ""
        begun = time.monotonic()
        worked = False
        while not rendering and time.monotonic() - begun < budget and self.dispatcher.run_next():
            worked = True
        return worked

    def _follow_file(self) -> None:
        scene = plain_text(bpy.data.filepath)
        if scene != self.descriptor.scene:
            self.descriptor = replace(self.descriptor, scene=scene)
            try:
                write_descriptor(self.descriptor)
            except OperationalError as error:  # the old one leads here as well: only the file's name in it is old
                sys.stderr.write(f"matchcut: bridge: {error}\n")


# --- in the window ----------------------------------------------------------------------------------------------------

_bridge: Bridge | None = None
_last_request = 0.0
_shown: tuple[object, ...] = ()
_drawn = 0.0


def running_bridge() -> Bridge | None:
    """The window's bridge, or None while it is off."""
    return _bridge


def is_running() -> bool:
    """Whether the window's bridge listens."""
    return _bridge is not None


def start(*, allow_python: bool = False) -> Bridge:
    """Start the window's bridge, or return the one that runs. Raises OperationalError where it cannot listen."""
    global _bridge  # noqa: PLW0603
    if _bridge is None:
        _bridge = Bridge("window", allow_python=allow_python)
        # persistent: it goes on when another file is opened
        bpy.app.timers.register(_tick, persistent=True)
        atexit.register(stop)
    return _bridge


def stop() -> None:
    """Stop the window's bridge; nothing happens where it is off."""
    global _bridge
    if _bridge is None:
        return
    bridge, _bridge = _bridge, None
    atexit.unregister(stop)
    if bpy.app.timers.is_registered(_tick):
        bpy.app.timers.unregister(_tick)
    bridge.close()


def _tick() -> float | None:
    global _last_request  # noqa: PLW0603
    if _bridge is None:
        return None
    try:
        worked = _bridge.run_pending(TICK_BUDGET)
    except Exception as error:  # noqa: BLE001  an exception would end the timer, and every client would wait for ever
        sys.stderr.write(f"matchcut: bridge: {type(error).__name__}: {error}\n")
        return TICK_IDLE
    _redraw_when_changed()
    if worked:
        _last_request = time.monotonic()
    return TICK_BUSY if time.monotonic() - _last_request < BUSY_FOR else TICK_IDLE


def _redraw_when_changed() -> None:
    """Draw the sidebars anew, at most once in REDRAW_EVERY seconds: the 3D view beside them can take long to draw."""
    global _shown, _drawn
    bridge = _bridge
    now = (bridge.clients, bridge.dispatcher.calls, bridge.allow_python) if bridge is not None else ()
    if now == _shown or time.monotonic() - _drawn < REDRAW_EVERY:
        return
    _shown, _drawn = now, time.monotonic()
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            for region in area.regions if area.type == "VIEW_3D" else ():
                if region.type == "UI":
                    region.tag_redraw()


# --- without a window -------------------------------------------------------------------------------------------------


def serve_headless(arguments: list[str]) -> int:
    """Serve until asked to end: `bridge [--label TEXT] [--end-with-stdin]`. Returns the exit status.

    With `--end-with-stdin` it ends when its standard input does, that is with the process that holds the other end of
    the pipe, however that ends. Python is allowed: whoever started this Blender could run it anyway.
    """
    parser = argparse.ArgumentParser(
        prog="bridge", description="Serve this scene to `matchcut mcp` until interrupted.", allow_abbrev=False
    )
    parser.add_argument("--label", default="", help="how the process that starts this Blender finds its bridge")
    parser.add_argument("--end-with-stdin", action="store_true", help="end when standard input ends")
    parsed = parser.parse_args(arguments)
    ended = threading.Event()
    bridge = Bridge("background" if _is_program() else "wheel", label=parsed.label, allow_python=True)
    end = _ender(ended, bridge.dispatcher)

    def on_signal(signum: int, frame: FrameType | None) -> None:
        end()
        if bridge.dispatcher.running():
            raise KeyboardInterrupt  # ends the code that runs, which might not end by itself

    previous = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        if parsed.end_with_stdin:
            follow_parent(lambda: _end_orphan(end, bridge))
        sys.stderr.write(f"matchcut: bridge: {bridge.descriptor}\n")
        while not ended.is_set():
            if not bridge.run_pending(HEADLESS_WAIT):
                bridge.dispatcher.wait(HEADLESS_WAIT)
    finally:
        for number, handler in previous.items():
            # None is a handler that Blender set without Python, which cannot be put back
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        bridge.close()
    return 0


def _is_program() -> bool:
    return not bpy.app.module


def _ender(ended: threading.Event, dispatcher: Dispatcher) -> Callable[[], None]:
    def end() -> None:
        ended.set()
        dispatcher.wake()

    return end


def _end_orphan(end: Callable[[], None], bridge: Bridge) -> None:
    """End the loop, or Blender itself where code runs on."""
    end()
    time.sleep(END_GRACE)
    # still here: an endless loop holds the main thread, and nobody is left who could wait for it
    remove_descriptor(bridge.descriptor)
    os._exit(1)
