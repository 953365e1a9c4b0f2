# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps a render child's status file true: which frame it works on, how many are there, how long one takes."""

from __future__ import annotations

import os
import time
from pathlib import Path

from ...evaluator.protocol.memory import peak_memory_bytes
from ...evaluator.protocol.render_job import RenderStatus

WINDOWS_TRIES = 20


class Clock:
    """Counts frames in a status and writes it to `folder / name` whenever another frame is begun."""

    def __init__(self, folder: Path, name: str, status: RenderStatus) -> None:
        self.status = status
        self._folder = folder
        self._name = name
        self._spent: list[float] = []
        self._begun = 0.0

    def write(self) -> None:
        """Replace the status file. On Windows that fails for the instant in which the parent reads it: try again."""
        self.status.peak_memory_bytes = peak_memory_bytes()
        for attempt in range(WINDOWS_TRIES):
            try:
                self.status.write(self._folder, self._name)
                return
            except PermissionError:
                if os.name != "nt" or attempt == WINDOWS_TRIES - 1:
                    raise
                time.sleep(0.05)

    def enter(self, state: str) -> None:
        """Begin another part of the work, whose time for a frame is its own."""
        self.status.state, self.status.frame = state, None
        self._spent.clear()
        self.write()

    def begin(self, frame: int) -> None:
        """Reference frame `frame` is worked on from now."""
        self.status.frame = frame
        self.write()
        self._begun = time.monotonic()

    def end(self) -> None:
        """The frame that was begun is there."""
        self._spent.append(time.monotonic() - self._begun)
        self.status.seconds_per_frame = round(sum(self._spent) / len(self._spent), 4)
        self.status.done += 1
        self.status.rendered += 1

    def skip(self, frames: int = 1) -> None:
        """So many frames were there already."""
        self.status.done += frames
