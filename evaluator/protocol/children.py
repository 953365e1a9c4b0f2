# SPDX-License-Identifier: GPL-3.0-or-later
"""Child processes: what they are started with, and how they end with all that they started, on every system."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any


def child_environment(blender: str = "") -> dict[str, str]:
    """The environment of a child: ours without what leads another Python astray, with `blender` as `$BLENDER`."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}
    if blender:
        environment["BLENDER"] = blender
    return environment


def own_group(*, hidden: bool = False) -> dict[str, Any]:
    """The options of `subprocess.Popen` that give a child a process group of its own.

    `hidden` keeps Windows from opening a console for it; such a child cannot be interrupted, only killed.
    """
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | (subprocess.CREATE_NO_WINDOW if hidden else 0)}
    return {"start_new_session": True}


def interrupt(process: subprocess.Popen[bytes]) -> None:
    """Ask a child of `own_group` to stop, as Ctrl-C would; it then ends its own children."""
    if sys.platform == "win32":
        process.send_signal(signal.CTRL_BREAK_EVENT)  # nothing else reaches a process group and nothing beyond it
    else:
        process.send_signal(signal.SIGINT)


def kill_group(process: subprocess.Popen[bytes], *, leftovers: bool = False) -> None:
    """End a child of `own_group` and everything in its group at once, and wait for it.

    With `leftovers` also what a child that has just ended by itself left in its group (POSIX alone can tell).
    """
    if process.poll() is None or (leftovers and sys.platform != "win32"):
        if sys.platform == "win32":
            subprocess.run(["taskkill", "/T", "/F", "/PID", str(process.pid)], capture_output=True, check=False)
            process.kill()
        else:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass  # it ended in between
    process.wait()


def follow_parent(end: Callable[[], None]) -> None:
    """Call `end` from a thread once standard input ends: the parent holds its other end for as long as it lives."""

    def watch() -> None:
        with suppress(OSError):
            while os.read(0, 4096):
                pass
        end()

    threading.Thread(target=watch, name="matchcut parent watch", daemon=True).start()
