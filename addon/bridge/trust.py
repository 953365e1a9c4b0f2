# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether agents may run Python in this Blender, and until when. Needs no Blender."""

from __future__ import annotations

import functools
import math
import time

from ...evaluator.protocol.bridge import BridgeCallError
from .dispatcher import Method


class Trust:
    """Off at first; what switches it on says for how long. It ends by itself, and with the bridge it belongs to."""

    def __init__(self) -> None:
        self._until = -math.inf

    def allow(self, seconds: float = math.inf) -> None:
        """Allow it from now on for so long; without an end of its own where `seconds` is infinite."""
        self._until = time.monotonic() + seconds

    def withdraw(self) -> None:
        """Allow it no more; code that runs already runs on."""
        self._until = -math.inf

    @property
    def seconds_left(self) -> float:
        """Seconds until it ends: 0 where it is off, infinite where only the bridge's end ends it."""
        return max(0.0, self._until - time.monotonic())

    def guard(self, method: Method) -> Method:
        """The method, refused with BridgeCallError `not_allowed` while trust is off."""

        @functools.wraps(method)
        def guarded(**params: object) -> dict[str, object]:
            if not self.seconds_left:
                raise BridgeCallError(
                    "not_allowed",
                    "Python is not allowed in this Blender at present: its user has to press one of the buttons below "
                    "Allow Python in the Matchcut tab (panel Agent)",
                )
            return method(**params)

        return guarded


def left_text(seconds: float) -> str:
    """What is left of an allowance, for the panel: whole minutes rounded up, in the last minute seconds in tens."""
    if math.isinf(seconds):
        return "until the bridge stops"
    if seconds > 60:
        return f"{math.ceil(seconds / 60)} min left"
    return f"{math.ceil(seconds / 10) * 10} s left"
