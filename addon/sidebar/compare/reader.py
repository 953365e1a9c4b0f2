# SPDX-License-Identifier: GPL-3.0-or-later
"""A thread that reads cached frames into memory, so that drawing never waits for a disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

MEMORY: Final = 192 * 1024**2
"""Bytes of frames that one reader holds."""
WATCH_SECONDS: Final = 2.0
"""How often it is seen whether the video is still the same file."""

Identity = tuple[int, int]
"""Size in bytes and time of change of a file."""


@dataclass(frozen=True)
class Store:
    """Where the cached frames of a video lie, as `matchcut decode` tells it."""

    folder: Path
    width: int
    """Of a cached frame in pixels."""
    height: int
    frames: int
    """That the video has."""


class FrameReader:
    """Reads frames in the order that is wanted; what it holds is looked at without waiting."""

    def __init__(self, video: Path) -> None:
        """Start the thread. Frames come once `open` has told where they lie."""
        self.there: frozenset[int] = frozenset()
        """Frames that are decoded."""
        self.identity: Identity | None = None
        """Of the video as it is now; None where it is gone."""
        self.watched = False
        """Whether the video has been looked at yet."""
        self.version = 0
        """Grows with everything that comes in."""
        self._video = video
        self._store: Store | None = None
        self._held: dict[int, NDArray[np.float32]] = {}
        self._wanted: tuple[int, ...] = ()
        self._stale = False
        self._closed = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="matchcut frames", daemon=True)
        self._thread.start()

    def open(self, store: Store) -> None:
        """Read from this place from now on."""
        if store != self._store:
            self._held, self.there = {}, frozenset()
            self._store = store
        self.look()

    def look(self) -> None:
        """More frames may be there: see which."""
        self._stale = True
        self._wake.set()

    def want(self, frames: Sequence[int]) -> None:
        """Read these first, in this order, and keep them; others stay while there is room."""
        wanted = tuple(frames)
        if wanted != self._wanted:
            self._wanted = wanted
            self._wake.set()

    def frame(self, index: int) -> NDArray[np.float32] | None:
        """(H * W,) float32, rows from the top, as the evaluator packs pixels; None where it has not been read."""
        return self._held.get(index)

    def nearest(self, index: int) -> int | None:
        """The frame in memory that is nearest to `index`; the earlier one of two."""
        return min(list(self._held), key=lambda other: (abs(other - index), other), default=None)

    def close(self) -> None:
        """End the thread; it is not waited for, as its disk may hang."""
        self._closed = True
        self._wake.set()

    def _run(self) -> None:
        looked = -WATCH_SECONDS
        while not self._closed:
            if time.monotonic() - looked >= WATCH_SECONDS:
                looked = time.monotonic()
                self._watch()
            store = self._store
            if store is not None and self._stale:
                self._stale = False
                self._list(store)
            index = self._next()
            if store is not None and index is not None:
                self._read(store, index)
            else:
                self._wake.wait(WATCH_SECONDS)
                self._wake.clear()

    def _next(self) -> int | None:
        there, held = self.there, self._held
        return next((index for index in self._wanted if index in there and index not in held), None)

    def _watch(self) -> None:
        try:
            stat = self._video.stat()
            found: Identity | None = (stat.st_size, stat.st_mtime_ns)
        except (OSError, ValueError):
            found = None
        if found != self.identity or not self.watched:
            self.identity, self.watched = found, True
            self.version += 1

    def _list(self, store: Store) -> None:
        try:
            names = [path.name for path in store.folder.iterdir()]
        except OSError:
            names = []
        stems = (name.removesuffix(".f32") for name in names if name.endswith(".f32") and not name.startswith("."))
        self.there = frozenset(int(stem) for stem in stems if stem.isdecimal())
        self.version += 1

    def _read(self, store: Store, index: int) -> None:
        try:
            pixels = np.fromfile(store.folder / f"{index:06d}.f32", "<f4")
        except OSError:
            pixels = np.empty(0, np.float32)
        if pixels.size != store.width * store.height:  # dropped from the cache meanwhile
            self.there -= {index}
            return
        if store is not self._store:
            return
        held = dict(self._held)
        held[index] = pixels
        most, kept = max(4, MEMORY // pixels.nbytes), set(self._wanted)
        for other in list(held):
            if len(held) <= most:
                break
            if other not in kept:
                del held[other]
        self._held = held
        self.version += 1
