# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies of the open scene that are saved before risky calls, the last few of each bridge.

They are found again after a crash by whoever knows the bridge's descriptor. What is open stays as it is.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import bpy

from ...evaluator.protocol.checkpoints import checkpoint_folder, checkpoints
from ...evaluator.protocol.errors import OperationalError
from ..scene_file import without_preview
from .methods import plain_text

KEPT: Final = 5  # of one bridge
DAYS_KEPT: Final = 7  # of Blenders that have ended
SHARE: Final = 0.05  # of the time that checkpoints take which nobody asked for
PAUSE: Final = 30.0  # seconds between those, at least


class Checkpoints:
    """The checkpoints of one bridge."""

    def __init__(self) -> None:
        self.owner = f"{os.getpid()}-0"
        self._saved: tuple[Path, int] | None = None  # the newest one, and the version of the data that it holds
        self._cost = 0.0
        self._ended = -1e9

    def take(self, version: int) -> Path:
        """Save one, or return the newest where nothing has changed since: `version` counts the changes that were seen.

        Raises OperationalError where it cannot be written.
        """
        if self._saved is not None and self._saved[1] == version and self._saved[0].is_file():
            return self._saved[0]
        begun = time.monotonic()
        try:
            path = self._save()
        except (OSError, RuntimeError) as error:
            reason = plain_text(" ".join(str(error).split()))
            raise OperationalError(f"{checkpoint_folder()}: no checkpoint can be saved there: {reason}") from error
        self._ended = time.monotonic()
        self._cost = self._ended - begun
        self._saved = path, version
        return path

    def is_due(self) -> bool:
        """Whether the last one is long enough ago that saving stays a small share of the time."""
        return time.monotonic() - self._ended > max(PAUSE, self._cost / SHARE)

    def _save(self) -> Path:
        folder = checkpoint_folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        own = checkpoints(self.owner)
        number = int(own[-1].stem.rpartition("-")[2]) + 1 if own else 1
        path = folder / f"{self.owner}-{number:06d}.blend"
        partial = path.with_name(f".partial-{path.name}")
        try:
            with in_window(), without_preview():
                bpy.ops.wm.save_as_mainfile(filepath=str(partial), copy=True, relative_remap=True, compress=True)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        for old in [*own[: max(0, len(own) + 1 - KEPT)], *_left_behind(folder)]:
            old.unlink(missing_ok=True)
        return path


def _left_behind(folder: Path) -> list[Path]:
    before = time.time() - DAYS_KEPT * 24 * 3600
    with os.scandir(folder) as entries:
        return [Path(one.path) for one in entries if one.is_file() and one.stat().st_mtime < before]


@contextlib.contextmanager
def in_window() -> Iterator[None]:
    """Give operators the first window, where there is one: a timer has none."""
    windows = bpy.context.window_manager.windows
    with bpy.context.temp_override(window=windows[0]) if windows else contextlib.nullcontext():
        yield


CHECKPOINTS: Final = Checkpoints()
