# SPDX-License-Identifier: GPL-3.0-or-later
"""Which local frames of a clip the judge is shown (CineRecon, appendix C.1)."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from ..checklist.records import Clip, Setting
from ..protocol.timeline import nearest_frame

MOST_FRAMES = 50
SAMPLES_PER_SECOND = 8


class Candidates(NamedTuple):
    """Local frames of a clip, both lists increasing and without repeats."""

    mandatory: list[int]
    """First and last frame of the clip; evidence frames and both ends of each applicable check; the frames before, at
    and after each shot transition."""
    additional: list[int]
    """Midpoints of the applicable checks' intervals (the earlier frame of two), the sample frames that their
    annotations name, and the frames nearest to every eighth of a second; without the mandatory ones."""


def select_frames(mandatory: Iterable[int], candidates: Iterable[int], *, limit: int = MOST_FRAMES) -> list[int]:
    """Choose at most `limit` frames, in increasing order and without repeats.

    All mandatory frames stay, even where they alone are more than `limit`. Where not everything fits, the remaining
    places go one after another to the candidate farthest from its nearest selected frame; the earlier one wins a tie.
    """
    selected = set(mandatory)
    left = sorted(set(candidates) - selected)
    if len(selected) + len(left) <= limit:
        return sorted(selected.union(left))
    distance = {frame: min((abs(frame - other) for other in selected), default=sys.maxsize) for frame in left}
    while len(selected) < limit and distance:
        farthest = max(distance, key=distance.__getitem__)  # the first of several, and they lie in increasing order
        selected.add(farthest)
        del distance[farthest]
        distance = {frame: min(apart, abs(frame - farthest)) for frame, apart in distance.items()}
    return sorted(selected)


def clip_candidates(clip: Clip, setting: Setting, rate: Fraction) -> Candidates:
    """The local frames that a request for `clip` under `setting` may show; `rate` is the reference's.

    Frames outside the clip are left out.
    """
    last = clip.frame_count - 1
    checks = clip.applicable(setting)
    mandatory = {0, last}
    additional: set[int] = set()
    for check in checks:
        mandatory.update((check.start, check.end, *check.evidence_frames))
        additional.update(((check.start + check.end) // 2, *check.sample_frames))
    for transition in clip.shot_transitions:
        mandatory.update((transition - 1, transition, transition + 1))
    samples = int(last / rate * SAMPLES_PER_SECOND) + 1
    additional.update(nearest_frame(Fraction(sample, SAMPLES_PER_SECOND), rate) for sample in range(samples))
    mandatory = {frame for frame in mandatory if 0 <= frame <= last}
    additional = {frame for frame in additional if 0 <= frame <= last}
    return Candidates(sorted(mandatory), sorted(additional - mandatory))


def clip_frames(clip: Clip, setting: Setting, rate: Fraction) -> list[int]:
    """The local frames that one request shows, in increasing order."""
    return select_frames(*clip_candidates(clip, setting, rate))
