# SPDX-License-Identifier: GPL-3.0-or-later
"""How the cuts of a reconstruction agree with those of its reference."""

from __future__ import annotations

from typing import Literal

from ..protocol.timeline import Timeline, nearest_frame
from .detect import DETECTOR
from .records import CutMatch, ShotCheck


def compare_cuts(reference: list[int], reconstruction: list[int], *, tolerance_frames: int = 12) -> ShotCheck:
    """Pair the cuts of two videos, one to one and in order, and say of each how far it is off.

    Cuts are first frames of new shots, on the reference's timeline. Two cuts may pair up when they lie at most
    `tolerance_frames` apart. Among all pairings that keep the order, as many cuts as possible are paired, and among
    those the sum of the absolute errors is the smallest.
    """
    first, second = sorted(set(reference)), sorted(set(reconstruction))
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
        detector=DETECTOR,
    )


def on_reference(cuts: list[int], own: Timeline, reference: Timeline) -> list[int]:
    """Cuts of a video with the timeline `own` as the reference's frames that are nearest in time."""
    return [nearest_frame(own.time_of(cut), reference.rate) for cut in cuts]


def _match(reference: int, reconstruction: int) -> CutMatch:
    error = reconstruction - reference
    verdict: Literal["found", "early", "late"] = "found" if error == 0 else "early" if error < 0 else "late"
    return CutMatch(verdict=verdict, reference=reference, reconstruction=reconstruction)


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
