# SPDX-License-Identifier: GPL-3.0-or-later
"""How many requests may be on their way at once: as many as allowed, fewer while the service says that it is busy.

Additive increase, multiplicative decrease, as TCP does it (Chiu and Jain, 1989).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

BUSY: Final = frozenset({"rate_limited", "overloaded", "http_503", "timeout"})
"""Reasons after which fewer requests are sent at once."""


class Gate:
    """Lets at most `most` threads through at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._limit = float(most)
        self._inside = 0
        self._not_before = self._last_cut = 0.0
        self._changed = threading.Condition()
        self._closed = False

    @property
    def limit(self) -> int:
        """How many may be on their way now."""
        return max(1, int(self._limit))

    @contextmanager
    def passage(self) -> Iterator[None]:
        """Wait for a place, and hold it for as long as the block runs."""
        with self._changed:
            while not self._closed:
                wait = self._not_before - time.monotonic()
                if wait <= 0 and self._inside < self.limit:
                    break
                self._changed.wait(max(0.01, min(0.5, wait)) if wait > 0 else 0.5)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def answered(self) -> None:
        """A request came back with a reply: one more at once after a whole round of them."""
        with self._changed:
            self._limit = min(float(self._most), self._limit + 1 / self._limit)
            self._changed.notify_all()

    def busy(self, sent_at: float, pause: float) -> None:
        """A request that was sent at `sent_at` (time.monotonic) met a busy service: half as many, none for `pause` s.

        Those that were on their way together count once.
        """
        with self._changed:
            now = time.monotonic()
            self._not_before = max(self._not_before, now + pause)
            if sent_at >= self._last_cut:
                self._limit, self._last_cut = max(1.0, self._limit / 2), now

    def close(self) -> None:
        """Let everybody through, since the run ends."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
