# SPDX-License-Identifier: GPL-3.0-or-later
"""Which frames of a video are meant: by number, by time, or those that show it as a whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from ..protocol.errors import BadInputError
from .scan import Scan

_PART: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([1-9][0-9]{0,8}))?)?")
_ROUNDING: Final = Fraction(1, 2000)
"""Seconds by which a time that was read off a label may be too early."""
_MOST: Final = 10_000
"""Frames that one list may name."""


def parse_frames(text: str) -> list[int]:
    """Frame numbers out of `0,12,24-30,40-80:8`; the last is every eighth. Raises BadInputError for anything else."""
    found: list[int] = []
    for part in text.replace(" ", "").split(","):
        match = _PART.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        step = int(match[3] or 1) if match else 1
        if match is None or last < first:
            raise BadInputError(
                f"frames {text!r}: {part!r} is none; frames count from 0 and are written as 0,12,24-30 or 0-96:8"
            )
        if (last - first) // step >= _MOST or len(found) > _MOST:
            raise BadInputError(f"frames {text!r}: more than {_MOST}; name fewer, as 0-96:8")
        found += range(first, last + 1, step)
    return found


def parse_times(text: str) -> list[Fraction]:
    """Seconds out of `0.5,1.25`. Raises BadInputError for what is no number, or negative."""
    found = []
    for part in text.replace(" ", "").split(","):
        if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{0,12})?", part) is None:
            raise BadInputError(
                f"times {text!r}: {part!r} is none; times are seconds from the first frame on, written as 0.5,1.25"
            )
        found.append(Fraction(part.rstrip(".")))
    return found


def frame_seconds(seen: Scan) -> list[float]:
    """When each frame is shown, in seconds from the first one, by the file's own timestamps."""
    return [float(value) for value in (seen.timestamps - seen.timestamps[0]) * float(seen.time_base)]


def frames_at(seen: Scan, times: Sequence[Fraction], end: Fraction, name: str) -> list[int]:
    """The frame that is shown at each of `times`, seconds from the first frame on; `end` is when the last one ends.

    Raises BadInputError, naming the video, for a time at which none is.
    """
    starts = np.maximum.accumulate((seen.timestamps - seen.timestamps[0]).astype(np.float64))
    found = []
    for time in times:
        if not 0 <= time < end:
            raise BadInputError(
                f"{name}: time {float(time):g} s was asked for, but it is shown from 0 to {float(end):.3f} s"
            )
        ticks = float((time + _ROUNDING) / seen.time_base)
        found.append(int(np.searchsorted(starts, ticks, side="right")) - 1)
    return found


def overview(shots: Sequence[tuple[int, int]], most: int) -> tuple[list[int], int]:
    """At most `most` frames that show a video with these shots, and how many ends of shots are not among them.

    First and last frame of every shot, then what lies between, evenly; of too many shots the first frames of some.
    """
    frames = shots[-1][1] + 1
    ends = sorted({frame for shot in shots for frame in shot})
    if len(ends) > most:
        starts = [first for first, _ in shots]
        places = np.linspace(0, len(starts) - 1, min(most, len(starts))).round().astype(int)
        kept = sorted({starts[place] for place in places})
        return kept, len(ends) - len(kept)
    counts = {shot: min(2, shot[1] - shot[0] + 1) for shot in shots}
    for _ in range(min(most, frames) - len(ends)):  # to the shot whose tiles lie farthest apart
        widest = max(shots, key=lambda shot: (shot[1] - shot[0]) / max(1, counts[shot] - 1))
        counts[widest] += 1
    return sorted({
        int(frame) for (first, last), count in counts.items() for frame in np.linspace(first, last, count).round()
    }), 0  # fmt: skip
