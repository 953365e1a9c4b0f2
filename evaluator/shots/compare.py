# SPDX-License-Identifier: GPL-3.0-or-later
"""How the cuts and fades of a reconstruction agree with those of its reference."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Literal

from ..protocol.timeline import Timeline, nearest_frame
from .records import CutMatch, Fade, FadeMatch, ShotCheck, Shots

FADE_TOLERANCE = 2
"""Frames by which an end of a fade may be off: it is where a brightness levels out, which is less sharp than a cut."""


def compare_shots(reference: Shots, reconstruction: Shots, *, tolerance_frames: int = 12) -> ShotCheck:
    """Pair the cuts and the fades of two videos, one to one, and say of each how far it is off.

    Both are on the reference's timeline. Two cuts may pair up when they lie at most `tolerance_frames` apart. Among
    all pairings that keep the order, as many cuts as possible are paired, and among those the sum of the absolute
    errors is the smallest. Fades of one kind and shade pair up when they overlap, the longest overlap first, and are
    found when neither end is off by more than FADE_TOLERANCE.
    """
    first, second = sorted(set(reference.cuts)), sorted(set(reconstruction.cuts))
    matches = [_match(first[i], second[j]) for i, j in _pairing(first, second, tolerance_frames)]
    paired_first = {match.reference for match in matches}
    paired_second = {match.reconstruction for match in matches}
    matches += [
        CutMatch(verdict="missing", reference=cut, reconstruction=None) for cut in first if cut not in paired_first
    ]
    matches += [
        CutMatch(verdict="extra", reference=None, reconstruction=cut) for cut in second if cut not in paired_second
    ]
    return ShotCheck(
        reference_cuts=first,
        reconstruction_cuts=second,
        matches=sorted(matches, key=_place),
        detector=reference.detector,
        reference_fades=reference.fades,
        reconstruction_fades=reconstruction.fades,
        fade_matches=_match_fades(reference.fades, reconstruction.fades),
    )


def on_reference(shots: Shots, own: Timeline, reference: Timeline) -> Shots:
    """Shots of a video with the timeline `own`, every frame as the reference's frame that is nearest in time."""

    def place(frame: int) -> int:
        return nearest_frame(own.time_of(frame), reference.rate)

    fades = [fade.model_copy(update={"first": place(fade.first), "last": place(fade.last)}) for fade in shots.fades]
    return shots.model_copy(update={"cuts": sorted({place(cut) for cut in shots.cuts}), "fades": fades})


def shot_intervals(boundaries: Iterable[int], frames: int) -> list[tuple[int, int]]:
    """First and last frame of every shot of a video of `frames` frames, both included; their lengths sum to `frames`.

    `boundaries` are first frames of shots, such as `Shots.boundaries`; those outside 1 … frames − 1 bound nothing.
    """
    starts = [0, *sorted({frame for frame in boundaries if 0 < frame < frames})]
    return [(start, end - 1) for start, end in pairwise([*starts, frames])] if frames else []


def _match(reference: int, reconstruction: int) -> CutMatch:
    error = reconstruction - reference
    verdict: Literal["found", "early", "late"] = "found" if error == 0 else "early" if error < 0 else "late"
    return CutMatch(verdict=verdict, reference=reference, reconstruction=reconstruction)


def _match_fades(reference: list[Fade], reconstruction: list[Fade]) -> list[FadeMatch]:
    pairs = [
        (min(given.last, own.last) - max(given.first, own.first), i, j)
        for i, given in enumerate(reference)
        for j, own in enumerate(reconstruction)
        if (given.kind, given.shade) == (own.kind, own.shade)
    ]
    partner: dict[int, int] = {}
    for overlap, i, j in sorted(pairs, key=lambda pair: (-pair[0], *pair[1:])):
        if overlap >= 0 and i not in partner and j not in partner.values():
            partner[i] = j
    matches = []
    for i, given in enumerate(reference):
        own = reconstruction[partner[i]] if i in partner else None
        match = FadeMatch(verdict="missing" if own is None else "found", reference=given, reconstruction=own)
        if match.errors_frames is not None and max(map(abs, match.errors_frames)) > FADE_TOLERANCE:
            match = FadeMatch(verdict="differs", reference=given, reconstruction=own)
        matches.append(match)
    matches += [
        FadeMatch(verdict="extra", reference=None, reconstruction=own)
        for j, own in enumerate(reconstruction)
        if j not in partner.values()
    ]
    return sorted(matches, key=_fade_place)


def _fade_place(match: FadeMatch) -> int:
    fade = match.reference or match.reconstruction
    assert fade is not None
    return fade.first


def _place(match: CutMatch) -> int:
    place = match.reference if match.reference is not None else match.reconstruction
    assert place is not None
    return place


def _pairing(first: list[int], second: list[int], tolerance: int) -> list[tuple[int, int]]:
    """Indices (i, j) of the pairs: an alignment with cost[i][j] = (unpaired cuts, summed error) of the two tails."""
    cost = [[(0, 0)] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i in range(len(first), -1, -1):
        for j in range(len(second), -1, -1):
            options = []
            if i < len(first):
                options.append((cost[i + 1][j][0] + 1, cost[i + 1][j][1]))
            if j < len(second):
                options.append((cost[i][j + 1][0] + 1, cost[i][j + 1][1]))
            if i < len(first) and j < len(second) and abs(first[i] - second[j]) <= tolerance:
                error = abs(first[i] - second[j])
                options.append((cost[i + 1][j + 1][0], cost[i + 1][j + 1][1] + error))
            cost[i][j] = min(options, default=(0, 0))
    pairs = []
    i = j = 0
    while i < len(first) and j < len(second):
        error = abs(first[i] - second[j])
        if error <= tolerance and cost[i][j] == (cost[i + 1][j + 1][0], cost[i + 1][j + 1][1] + error):
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif cost[i][j] == (cost[i + 1][j][0] + 1, cost[i + 1][j][1]):
            i += 1
        else:
            j += 1
    return pairs
