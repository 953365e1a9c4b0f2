# SPDX-License-Identifier: GPL-3.0-or-later
"""The right rating of a reconstruction, from what is measured on it and on the reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Rating = Literal["unsatisfied", "partially_satisfied", "fully_satisfied"]

NO: Rating = "unsatisfied"
PARTLY: Rating = "partially_satisfied"
YES: Rating = "fully_satisfied"


def change(reference: Sequence[float], ours: Sequence[float], least: float) -> Rating:
    """A change of several numbers: its direction and its amount; below `least` it counts as rest.

    Full within 26° of the direction and 0.6 to 1.6 times the amount, partly within 60° and at least a fifth of it.
    """
    wanted, got = _length(reference), _length(ours)
    if wanted <= least:
        return YES if got <= 2 * least else PARTLY if got <= 6 * least else NO
    if got == 0:
        return NO
    cosine = sum(a * b for a, b in zip(reference, ours, strict=True)) / (wanted * got)
    if cosine >= 0.9 and 0.6 <= got / wanted <= 1.6:
        return YES
    return PARTLY if cosine >= 0.5 and got / wanted >= 0.2 else NO


def amount(reference: float, ours: float, tolerance: float) -> Rating:
    """A number: full within the tolerance, partly within two and a half times it."""
    off = abs(ours - reference)
    return YES if off <= tolerance else PARTLY if off <= 2.5 * tolerance else NO


def order(reference: float, ours: float, least: float) -> Rating:
    """Which of two comes first, told by the sign of a difference; partly where they are level."""
    if abs(ours) < least:
        return PARTLY
    return YES if (ours > 0) == (reference > 0) else NO


def _length(values: Sequence[float]) -> float:
    return float(sum(value * value for value in values) ** 0.5)
