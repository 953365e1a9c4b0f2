# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairing of cuts: one to one, in order, as many as possible, and the closest; of fades: by their overlap."""

import json
import re
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.shots.compare import compare_shots, on_reference, shot_intervals
from matchcut.evaluator.shots.records import Fade, ShotCheck, Shots


def compare_cuts(reference, reconstruction, **options):
    return compare_shots(shots(reference), shots(reconstruction), **options)


def shots(cuts=(), *fades):
    return Shots(cuts=list(cuts), fades=list(fades), detector="scenedetect")


def fade(first, last, kind="through", shade="black"):
    return Fade(kind=kind, shade=shade, first=first, last=last)


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
    given = shots([30, 75, 76], fade(10, 21, "in", "white"))
    mapped = on_reference(given, own, reference)
    assert (mapped.cuts, mapped.fades) == ([24, 60, 61], [fade(8, 17, "in", "white")])
    assert on_reference(given, own, own) == given
    # two cuts that fall on one frame of a slower reference are one there
    assert on_reference(shots([30, 31]), own, Timeline(8, 8, Fraction(6), 60)).cuts == [6]


@pytest.mark.parametrize(
    ("reference", "reconstruction", "expected"),
    [
        ([], [], []),
        ([fade(10, 20)], [fade(10, 20)], [("found", (0, 0))]),
        ([fade(10, 20)], [fade(12, 18)], [("found", (2, -2))]),
        ([fade(10, 20)], [fade(13, 25)], [("differs", (3, 5))]),
        ([fade(10, 20)], [fade(21, 30)], [("missing", None), ("extra", None)]),
        ([fade(10, 20)], [fade(10, 20, shade="white")], [("missing", None), ("extra", None)]),
        ([fade(10, 20)], [fade(10, 15, "out")], [("missing", None), ("extra", None)]),
        # the longer overlap wins, and each is paired once
        ([fade(10, 20), fade(24, 40)], [fade(18, 40)], [("missing", None), ("differs", (-6, 0))]),
        ([fade(10, 40)], [fade(5, 12), fade(20, 40)], [("extra", None), ("differs", (10, 0))]),
    ],
)
def test_fades_pair_up_by_overlap_with_signed_errors(reference, reconstruction, expected):
    found = compare_shots(shots((), *reference), shots((), *reconstruction))
    assert [(match.verdict, match.errors_frames) for match in found.fade_matches] == expected
    assert found.passed == all(verdict == "found" for verdict, _ in expected)
    assert (found.reference_fades, found.reconstruction_fades) == (reference, reconstruction)


def test_a_record_without_fades_still_reads():
    old = {"reference_cuts": [4], "reconstruction_cuts": [], "detector": "d"}
    check = ShotCheck.from_data(
        {**old, "matches": [{"verdict": "missing", "reference": 4, "reconstruction": None}]}, "old.json"
    )
    assert (check.fade_matches, check.reference_fades, check.passed) == ([], [], False)


def test_the_example_of_the_documents_reads(root):
    text = (root / "docs" / "formats.md").read_text(encoding="utf-8")
    (example,) = [block for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL) if "fade_matches" in block]
    check = ShotCheck.from_data(json.loads(example), "formats.md")
    assert [match.error_frames for match in check.matches] == [2]
    assert check == compare_shots(shots([36], check.reference_fades[0]), shots([38])).model_copy(
        update={"detector": check.detector}
    )


def test_shots_are_bounded_by_cuts_and_by_the_middle_of_a_fade_through_a_shade():
    video = shots([30], fade(10, 20), fade(50, 60, "out"), fade(61, 70, "in"))
    assert video.boundaries == [15, 30]
    assert shot_intervals(video.boundaries, 80) == [(0, 14), (15, 29), (30, 79)]
    assert compare_shots(shots(), video).reconstruction_boundaries == [15, 30]


@given(st.lists(st.integers(-5, 70), max_size=8), st.integers(0, 60))
def test_shots_cover_every_frame_once(boundaries, frames):
    intervals = shot_intervals(boundaries, frames)
    covered = [frame for first, last in intervals for frame in range(first, last + 1)]
    assert covered == list(range(frames))
    assert all(first <= last for first, last in intervals)
    assert {first for first, _ in intervals[1:]} == {frame for frame in boundaries if 0 < frame < frames}
