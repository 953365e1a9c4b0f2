# SPDX-License-Identifier: GPL-3.0-or-later
"""The bridge of this Blender, and the loop that drives it where there is no window, as timers never fire there."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Final

import bpy

from ...evaluator.protocol.bridge import (
    BridgeKind,
    Descriptor,
    new_nonce,
    new_socket_path,
    remove_descriptor,
    write_descriptor,
)
from ...evaluator.protocol.checkpoints import checkpoint_owner
from ...evaluator.protocol.children import follow_parent
from ...evaluator.protocol.errors import OperationalError
from ..agent.api_help import api_help, prepare_index
from ..agent.camera import camera_state, set_camera
from ..agent.checkpoint import CHECKPOINTS
from ..agent.copies import save_copy, scene_place
from ..agent.inspection import inspect_data
from ..agent.methods import hello, plain_text, scene_summary
from ..agent.python_code import run_python
from ..agent.scene_check import check_scene
from ..agent.undo import HISTORY, undo
from ..look.look import look, look_sheet
from .dispatcher import Dispatcher, Method
from .listener import Listener
from .trust import Trust

HEADLESS_WAIT: Final = 0.5
END_GRACE: Final = 5.0  # seconds that running code gets after the parent has ended


class Bridge:
    """One listening bridge: token, socket, queue, and the descriptor file by which clients find it."""

    def __init__(self, kind: BridgeKind, *, label: str = "") -> None:
        self.trust = Trust()
        self.dispatcher = Dispatcher(self._methods(), {"api_help": prepare_index})
        token = new_nonce()
        self._listener = Listener(token, self.dispatcher, new_socket_path())
        self._listener.start()
        scene = plain_text(bpy.data.filepath)
        path = self._listener.socket_path
        self.descriptor = Descriptor(
            os.getpid(), self._listener.port, token, bpy.app.version_string, scene, kind, label,
            path.name if path is not None else "",
        )  # fmt: skip
        try:
            write_descriptor(self.descriptor)
        except BaseException:
            self._listener.stop()
            raise
        CHECKPOINTS.owner = checkpoint_owner(self.descriptor)
        HISTORY.watch(self.dispatcher.running)

    def _methods(self) -> dict[str, Method]:
        return {
            "hello": lambda: {**hello(), "python": self.trust.seconds_left > 0},
            "scene_summary": scene_summary,
            "look": look,
            "look_sheet": look_sheet,
            "scene_place": scene_place,
            "save_copy": save_copy,
            "camera_state": camera_state,
            "check_scene": check_scene,
            "set_camera": self.trust.guard(set_camera),
            "run_python": self.trust.guard(run_python),
            "undo": self.trust.guard(undo),
            "inspect": inspect_data,
            "api_help": api_help,
        }

    @property
    def clients(self) -> tuple[str, ...]:
        """The names of the clients that are connected."""
        return self._listener.clients

    def close(self) -> None:
        """Stop listening, drop every client and remove the descriptor."""
        HISTORY.unwatch()
        remove_descriptor(self.descriptor)
        self._listener.stop()

    def run_pending(self, budget: float, linger: float = 0.0) -> bool:
        """On the main thread: run waiting requests until `budget` seconds are used; whether there were any.

        Where none waits it waits for the next one, at most `linger` seconds.
        """
        # a render in the window reads the scene from another thread: code that changes it now could crash both
        rendering = bpy.app.is_job_running("RENDER")
        self.dispatcher.hold = "a render in the window" if rendering else ""
        worked, end = False, time.monotonic() + budget
        while not rendering and (left := end - time.monotonic()) > 0 and self.dispatcher.wait(min(linger, left)):
            worked = True
            if not self.dispatcher.run_next():
                break
        return worked

    def follow_file(self) -> None:
        """On the main thread: tell clients of a new name of the open file."""
        scene = plain_text(bpy.data.filepath)
        if scene != self.descriptor.scene:
            self.descriptor = replace(self.descriptor, scene=scene)
            try:
                write_descriptor(self.descriptor)
            except OperationalError as error:  # the old one leads here as well: only the file's name in it is old
                sys.stderr.write(f"matchcut: bridge: {error}\n")


# --- without a window -------------------------------------------------------------------------------------------------


def parse_bridge(arguments: list[str]) -> argparse.Namespace:
    """The options of `bridge`."""
    parser = argparse.ArgumentParser(
        prog="bridge", description="Serve this scene to `matchcut mcp` until interrupted.", allow_abbrev=False
    )
    parser.add_argument("--label", default="", help="how the process that starts this Blender finds its bridge")
    parser.add_argument("--end-with-stdin", action="store_true", help="end when standard input ends")
    return parser.parse_args(arguments)


def serve_headless(arguments: list[str]) -> int:
    """Serve until asked to end: `bridge [--label TEXT] [--end-with-stdin]`. Returns the exit status.

    With `--end-with-stdin` it ends when its standard input does, that is with the process that holds the other end of
    the pipe, however that ends. Python is allowed: whoever started this Blender could run it anyway.
    """
    parsed = parse_bridge(arguments)
    ended = threading.Event()
    bridge = Bridge("background" if _is_program() else "wheel", label=parsed.label)
    bridge.trust.allow()
    end = _ender(ended, bridge.dispatcher)

    def on_signal(signum: int, frame: FrameType | None) -> None:
        end()
        if bridge.dispatcher.running():
            raise KeyboardInterrupt  # ends the code that runs, which might not end by itself

    previous = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        if parsed.end_with_stdin:
            follow_parent(lambda: end_orphan(end, bridge))
        sys.stderr.write(f"matchcut: bridge: {bridge.descriptor}\n")
        while not ended.is_set():
            bridge.follow_file()
            bridge.run_pending(HEADLESS_WAIT, HEADLESS_WAIT)
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


def end_orphan(end: Callable[[], None], bridge: Bridge) -> None:
    """End the loop, or Blender itself where code runs on."""
    end()
    time.sleep(END_GRACE)
    # still here: an endless loop holds the main thread, and nobody is left who could wait for it
    remove_descriptor(bridge.descriptor)
    os._exit(1)
