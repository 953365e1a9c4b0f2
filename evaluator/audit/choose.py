# SPDX-License-Identifier: GPL-3.0-or-later
"""Which frames are rendered again: chosen by a seed, spread over the shots and within each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import pairwise

from ..shots.compare import shot_intervals


def choose_frames(frames: int, boundaries: Iterable[int], count: int, seed: int) -> list[int]:
    """`count` of the frames 0 … `frames` − 1 (all where there are no more), increasing.

    `boundaries` are first frames of shots but the first. Where there are enough, every shot gets one, and the rest go
    where most frames come upon one chosen (D'Hondt); else the seed says which shots. A shot is cut into as many equal
    parts as it has frames chosen, and the seed says which frame of each part: the first and the last frame of a video
    are as likely as any other. The same arguments give the same frames with every version of Python.
    """
    shots = shot_intervals(boundaries, frames)
    count = min(count, frames)
    if count < len(shots):
        shots = sorted(shots, key=lambda shot: _draw(seed, "shot", shot[0]))[:count]
    dealt = [1] * len(shots)
    for _ in range(count - len(shots)):
        room = [
            _length(shot) / (own + 1) if own < _length(shot) else 0.0 for shot, own in zip(shots, dealt, strict=True)
        ]
        dealt[room.index(max(room))] += 1
    chosen = []
    for shot, own in zip(shots, dealt, strict=True):
        edges = [shot[0] + part * _length(shot) // own for part in range(own + 1)]
        for start, end in pairwise(edges):
            chosen.append(start + _draw(seed, "frame", start) % (end - start))
    return sorted(chosen)


def _length(shot: tuple[int, int]) -> int:
    return shot[1] - shot[0] + 1


def _draw(seed: int, what: str, place: int) -> int:
    """A number below 2^64, each as likely, that only the arguments decide."""
    return int.from_bytes(hashlib.sha256(f"matchcut {seed} {what} {place}".encode()).digest()[:8], "big")
