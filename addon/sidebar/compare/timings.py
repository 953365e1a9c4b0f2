# SPDX-License-Identifier: GPL-3.0-or-later
"""How long the main thread is held by drawing, by uploading a frame, and by the timer."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

KEPT: Final = 2000
"""Newest slices of each kind."""

BLENDERS: Final = "viewport"
"""The kind that is Blender's own drawing of a view; it is counted by itself, and not in what it is called from."""

_slices: dict[str, deque[tuple[float, float]]] = {}
_blenders = [0.0, 0.0]


@contextmanager
def measured(kind: str) -> Iterator[None]:
    """Note how long the block takes under `kind`."""
    begun, before = (time.perf_counter(), time.thread_time()), tuple(_blenders)
    try:
        yield
    finally:
        taken = [time.perf_counter() - begun[0], time.thread_time() - begun[1]]
        for clock in range(2):
            if kind == BLENDERS:
                _blenders[clock] += taken[clock]
            else:
                taken[clock] -= _blenders[clock] - before[clock]
        _slices.setdefault(kind, deque(maxlen=KEPT)).append((taken[0], taken[1]))


def timings() -> dict[str, dict[str, float]]:
    """By kind (`draw`, `viewport`, `filmstrip`, `tick`, `upload`): `count`, and `median`, `p99`, `longest` in seconds.

    `cpu_median`, `cpu_p99` and `cpu_longest` are what the thread computed in it, which other programs do not lengthen.
    `draw` holds `upload`; `viewport` is Blender's own drawing of the view into a picture, which is in no other.
    """
    found = {}
    for kind, values in _slices.items():
        ordered, busy = sorted(wall for wall, _ in values), sorted(cpu for _, cpu in values)
        last = len(ordered) - 1
        found[kind] = {
            "count": float(len(ordered)), "median": ordered[last // 2], "p99": ordered[round(last * 0.99)],
            "longest": ordered[last], "cpu_median": busy[last // 2], "cpu_p99": busy[round(last * 0.99)],
            "cpu_longest": busy[last],
        }  # fmt: skip
    return found


def forget() -> None:
    """Begin anew."""
    _slices.clear()
