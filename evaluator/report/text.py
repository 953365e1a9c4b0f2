# SPDX-License-Identifier: GPL-3.0-or-later
"""How values are named and written wherever a person reads them: the page and the command line say the same."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from ..judge.records import Rating
from ..media.records import TimelineCheck
from ..protocol.timeline import format_rate
from ..scoring.records import Score
from ..sgc.records import Component
from ..shots.records import Fade, FadeMatch, ShotCheck

COMPONENT_LABELS: Final[dict[Component, str]] = {
    "average_local_rotation_variance": "Local rotation variance",
    "average_local_translation_variance": "Local translation variance",
    "average_global_rotation_variance": "Global rotation variance",
    "average_global_translation_variance": "Global translation variance",
    "average_depth_consistency_error": "Depth consistency error",
}
COMPONENT_UNITS: Final[dict[Component, str]] = {
    "average_local_rotation_variance": "deg²",
    "average_local_translation_variance": "scene units²",
    "average_global_rotation_variance": "deg²",
    "average_global_translation_variance": "scene units²",
    "average_depth_consistency_error": "scene units",
}
RATING_LABELS: Final[dict[Rating | None, str]] = {
    "unsatisfied": "Unsatisfied",
    "partially_satisfied": "Partially satisfied",
    None: "Not judged",
    "fully_satisfied": "Fully satisfied",
}
"""In the order in which a reader needs them: failing first."""
RATING_MARKS: Final[dict[Rating | None, str]] = {
    "unsatisfied": "○", "partially_satisfied": "◐", None: "–", "fully_satisfied": "●",
}  # fmt: skip


def words(name: str) -> str:
    """A name of the formats as words: `shot_transitions` becomes `shot transitions`."""
    return name.replace("_", " ")


def significant(value: float) -> str:
    """A value with three significant digits; with an exponent where it would be long."""
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e5:
        return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
    return f"{value:.2e}"


def rate_text(rate: Fraction) -> str:
    """A rate as people say it, with the exact fraction where it is none of the whole ones: `23.976 (24000/1001)`."""
    return str(rate.numerator) if rate.denominator == 1 else f"{float(rate):.3f} ({format_rate(rate)})"


def coverage(score: Score) -> str:
    """What stands beside a score: how much of it was scored."""
    checks = f"{score.checks_scored} of {score.checks_expected} checks"
    return f"{checks}, {score.clips_scored} of {score.clips_expected} clips"


def offset_text(check: TimelineCheck) -> str:
    """The global shift in words; frame f of the reference looks like frame f + offset of the reconstruction."""
    offset = check.offset_frames
    if offset is None:
        return f"not decided by the content{': ' + check.offset_reason if check.offset_reason else ''}"
    if offset == 0:
        return "none: frames look alike at the same time"
    frames = "1 frame" if abs(offset) == 1 else f"{abs(offset)} frames"
    return f"{frames} {'late' if offset > 0 else 'early'} (not corrected)"


def cuts_text(shots: ShotCheck) -> str:
    """How many cuts agree, then what is wrong with the others: `1 of 2 found, 1 late`; the fades likewise, if any."""
    text = _cuts_alone(shots)
    if shots.fade_matches:
        found = sum(match.verdict == "found" for match in shots.fade_matches)
        wrong = len(shots.fade_matches) - found
        text += f"; fades: {found} of {len(shots.reference_fades)} found" + (f", {wrong} not right" if wrong else "")
    return text


def fade_text(fade: Fade) -> str:
    """A fade in words: `fade in from black`."""
    way = {"in": "in from", "out": "out to", "through": "through"}[fade.kind]
    return f"fade {way} {fade.shade}"


def frames_text(fade: Fade | None) -> str:
    """The frames of a fade, both ends included, or that there is none: `frames 8-19`."""
    return "none" if fade is None else f"frames {fade.first}-{fade.last}"


def fade_errors(match: FadeMatch) -> str:
    """By how much the ends of a fade are off: `+1 and -3 frames`; empty where one of the two is missing."""
    if match.errors_frames is None:
        return ""
    start, end = match.errors_frames
    return f"{start:+d} and {end:+d} frames"


def _cuts_alone(shots: ShotCheck) -> str:
    if not shots.matches:
        return "no cut in either video"
    count = dict.fromkeys(("found", "early", "late", "missing", "extra"), 0)
    for match in shots.matches:
        count[match.verdict] += 1
    parts = [f"{count['found']} of {len(shots.reference_cuts)} found"]
    parts += [f"{number} {verdict}" for verdict, number in count.items() if number and verdict != "found"]
    return ", ".join(parts)
