# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairing of cuts: one to one, in order, as many as possible, and the closest."""

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.shots.compare import compare_cuts, on_reference


def verdicts(reference, reconstruction, **options):
    found = compare_cuts(reference, reconstruction, **options)
    return [(match.verdict, match.error_frames) for match in found.matches]


@pytest.mark.parametrize(
    ("reference", "reconstruction", "expected"),
    [
        ([], [], []),
        ([127, 202], [127, 202], [("found", 0), ("found", 0)]),
        ([127, 202], [126, 204], [("early", -1), ("late", 2)]),
        ([127, 202], [202], [("missing", None), ("found", 0)]),
        ([127], [60, 127], [("extra", None), ("found", 0)]),
        ([100], [113], [("missing", None), ("extra", None)]),
        ([100], [112], [("late", 12)]),
        # the closest of two wins, whichever comes first
        ([100], [95, 101], [("extra", None), ("late", 1)]),
        ([100], [99, 105], [("early", -1), ("extra", None)]),
        # greedily pairing the closest two first would leave two cuts alone
        ([100, 110], [106, 121], [("late", 6), ("late", 11)]),
    ],
)
def test_verdicts(reference, reconstruction, expected):
    assert verdicts(reference, reconstruction) == expected


def test_passed_only_where_every_cut_is_at_its_frame():
    assert compare_cuts([], []).passed
    assert compare_cuts([5], [5]).passed
    assert not compare_cuts([5], [6]).passed
    assert not compare_cuts([5], []).passed
    assert not compare_cuts([], [5]).passed
    assert "scenedetect" in compare_cuts([], []).detector


def test_the_tolerance_is_a_parameter():
    assert verdicts([10], [13], tolerance_frames=2) == [("missing", None), ("extra", None)]


cuts = st.lists(st.integers(1, 60), max_size=5, unique=True)


@given(cuts, cuts, st.integers(0, 15))
def test_every_cut_appears_once_and_the_pairing_is_the_best(reference, reconstruction, tolerance):
    found = compare_cuts(reference, reconstruction, tolerance_frames=tolerance)
    assert [match.reference for match in found.matches if match.reference is not None] == sorted(reference)
    own = [match.reconstruction for match in found.matches if match.reconstruction is not None]
    assert sorted(own) == sorted(reconstruction)
    errors = [abs(match.error_frames) for match in found.matches if match.error_frames is not None]
    assert all(error <= tolerance for error in errors)
    assert (-len(errors), sum(errors)) == best_by_trying_all(sorted(reference), sorted(reconstruction), tolerance)


def best_by_trying_all(first, second, tolerance):
    best = (0, 0)
    for size in range(1, min(len(first), len(second)) + 1):
        for left in combinations(first, size):
            for right in combinations(second, size):
                errors = [abs(a - b) for a, b in zip(left, right, strict=True)]
                if max(errors) <= tolerance:
                    best = min(best, (-size, sum(errors)))
    return best


def test_cuts_at_another_rate_are_placed_by_time():
    own, reference = Timeline(8, 8, Fraction(30), 300), Timeline(8, 8, Fraction(24), 240)
    assert on_reference([30, 75], own, reference) == [24, 60]
    assert on_reference([30, 75], own, own) == [30, 75]
