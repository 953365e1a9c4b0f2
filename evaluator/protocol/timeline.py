# SPDX-License-Identifier: GPL-3.0-or-later
"""Timeline arithmetic: the one place that says which frame is shown when.

Frames count from 0 in display order, intervals include both ends, rates are exact fractions of frames per second.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .errors import BadInputError

_RATE = re.compile(r"\s*[0-9]+(/[0-9]+|\.[0-9]+)?\s*")  # no exponent: Python would write 1e999999999 out in digits


def parse_rate(text: str | int | Fraction) -> Fraction:
    """Read a rate such as `24000/1001`, `24` or `23.976` as an exact fraction of frames per second.

    Raises BadInputError where it is no positive number.
    """
    try:
        rate = Fraction(text) if not isinstance(text, str) or _RATE.fullmatch(text) else Fraction(0)
    except (ValueError, ZeroDivisionError, TypeError, OverflowError):
        rate = Fraction(0)
    if rate <= 0:
        raise BadInputError(f"rate {text!r}: not a positive number of frames per second; write it as 24000/1001 or 25")
    return rate


def format_rate(rate: Fraction) -> str:
    """Write a rate as every file of the project stores it: `24000/1001`, or `25/1`."""
    return f"{rate.numerator}/{rate.denominator}"


def nearest_frame(time: Fraction, rate: Fraction) -> int:
    """Index of the frame whose start is nearest to `time` seconds; the earlier one where two are equally near."""
    position = time * rate
    lower = position.numerator // position.denominator
    return lower if position - lower <= Fraction(1, 2) else lower + 1


@dataclass(frozen=True)
class Timeline:
    """What a reference prescribes: size in pixels as shown (rotation and pixel aspect applied), rate, frame count."""

    width: int
    height: int
    rate: Fraction
    frames: int

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1 or self.frames < 1 or self.rate <= 0:
            fields = f"{self.width}x{self.height}, {format_rate(self.rate)} fps, {self.frames} frames"
            raise BadInputError(f"timeline {fields}: size, rate and frame count have to be positive")

    @property
    def duration(self) -> Fraction:
        """Length in seconds, frames / rate."""
        return self.frames / self.rate

    @property
    def fps(self) -> int:
        """Blender's `render.fps`: the rate rounded to a whole number, at least 1."""
        return max(1, round(self.rate))

    @property
    def fps_base(self) -> Fraction:
        """Blender's `render.fps_base`: fps / rate, so that fps / fps_base is the rate exactly."""
        return self.fps / self.rate

    def time_of(self, frame: int) -> Fraction:
        """Start of frame `frame` in seconds, frame / rate."""
        return frame / self.rate

    def interval(self, first: int, last: int) -> tuple[Fraction, Fraction]:
        """Seconds `[start, end)` covered by the frames `first … last`, both included (paper, appendix C.1)."""
        return self.time_of(first), self.time_of(last + 1)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; `from_json` reads it back."""
        return {"width": self.width, "height": self.height, "rate": format_rate(self.rate), "frames": self.frames}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Timeline:
        """From what `to_json` wrote. Raises BadInputError where a field is missing or wrong."""
        try:
            return cls(int(data["width"]), int(data["height"]), parse_rate(data["rate"]), int(data["frames"]))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise BadInputError(f"timeline {data!r}: {error} is missing or wrong") from error

    def __str__(self) -> str:
        rate = format_rate(self.rate)
        size = f"{self.width}x{self.height}"
        return f"{size}, {rate} fps ({float(self.rate):.3f}), {self.frames} frames, {float(self.duration):.3f} s"
