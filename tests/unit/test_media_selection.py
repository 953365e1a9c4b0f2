# SPDX-License-Identifier: GPL-3.0-or-later
"""Frame selection: the sentences of CineRecon's appendix C.1, one by one."""

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matchcut.evaluator.checklist.records import Check, Clip
from matchcut.evaluator.judge.evidence import reconstruction_frame
from matchcut.evaluator.media.records import VideoInfo
from matchcut.evaluator.media.selection import MOST_FRAMES, clip_candidates, clip_frames, select_frames
from matchcut.evaluator.protocol.timeline import Timeline


def check(start, end, evidence, *, samples=(), settings=("proxy",)):
    return Check(
        id=f"c{start}-{end}", category="subject_motion", settings=list(settings), subjects=[], start=start, end=end,
        evidence_frames=list(evidence), sample_frames=list(samples), statement="it moves",
    )  # fmt: skip


def clip(count, checks=(), cuts=()):
    return Clip(
        id="c",
        video="v",
        frame_offset=0,
        frame_count=count,
        shot_transitions=list(cuts),
        entities=[],
        checks=list(checks),
    )


def test_mandatory_frames_are_those_of_the_paper():
    checks = [check(3, 20, [7, 11]), check(30, 30, [30], settings=("detailed",))]
    found = clip_candidates(clip(48, checks, cuts=[25]), "proxy", Fraction(24))
    assert found.mandatory == [0, 3, 7, 11, 20, 24, 25, 26, 47]
    assert 30 not in found.additional or 30 % 3 == 0  # the other setting's check adds nothing of its own
    assert clip_candidates(clip(48, checks, cuts=[25]), "detailed", Fraction(24)).mandatory == [0, 24, 25, 26, 30, 47]


def test_additional_frames_are_midpoints_samples_and_eight_a_second():
    found = clip_candidates(clip(48, [check(4, 10, [5], samples=[17])]), "proxy", Fraction(24))
    assert found.mandatory == [0, 4, 5, 10, 47]
    assert found.additional == sorted({7, 17} | set(range(3, 48, 3)))
    # an interval of even length has two middles: the earlier
    assert 5 in clip_candidates(clip(48, [check(4, 7, [])]), "proxy", Fraction(24)).additional


def test_eight_a_second_at_a_rate_that_eight_does_not_divide():
    found = clip_candidates(clip(59), "proxy", Fraction(30000, 1001))
    exact = [Fraction(step, 8) * Fraction(30000, 1001) for step in range(16)]
    frames = found.mandatory + found.additional
    assert all(min(abs(frame - place) for frame in frames) <= Fraction(1, 2) for place in exact if place <= 58)
    assert len(frames) == 17


def test_frames_outside_the_clip_are_left_out():
    found = clip_candidates(clip(10, [check(5, 30, [12])], cuts=[0, 9]), "proxy", Fraction(8))
    assert found.mandatory == [0, 1, 5, 8, 9]
    assert all(0 <= frame < 10 for frame in found.additional)


def test_a_clip_of_one_frame():
    assert clip_frames(clip(1, [check(0, 0, [0])], cuts=[0]), "proxy", Fraction(24)) == [0]


def test_two_seconds_of_a_bare_clip():
    assert clip_frames(clip(48), "proxy", Fraction(24)) == [*range(0, 48, 3), 47]


def test_the_farthest_candidate_comes_first_and_the_earlier_one_of_two():
    assert select_frames([0, 10], [2, 4, 5, 6, 8], limit=3) == [0, 5, 10]
    assert select_frames([0, 10], [4, 6], limit=3) == [0, 4, 10]
    # after 5, the frames 2 and 8 are equally far from the selected ones
    assert select_frames([0, 10], [2, 4, 5, 6, 8], limit=4) == [0, 2, 5, 10]


def test_mandatory_frames_stay_even_beyond_the_limit():
    assert select_frames(range(60), [100, 200]) == list(range(60))
    assert select_frames(range(50), [100]) == list(range(50))


sets = st.sets(st.integers(0, 120), max_size=90)


@given(sets, sets, st.integers(0, 60))
def test_properties(mandatory, candidates, limit):
    selected = select_frames(mandatory, candidates, limit=limit)
    assert selected == sorted(set(selected))
    assert mandatory <= set(selected) <= mandatory | candidates
    assert len(selected) == max(len(mandatory), min(limit, len(mandatory | candidates)))
    assert selected == select_frames(sorted(mandatory, reverse=True), list(candidates) * 2, limit=limit)


@given(sets.filter(bool), sets, st.integers(1, 60))
def test_the_filling_is_the_papers_greedy_rule(mandatory, candidates, limit):
    chosen = set(mandatory)
    while len(chosen) < limit and candidates - chosen:
        distances = {frame: min(abs(frame - other) for other in chosen) for frame in candidates - chosen}
        chosen.add(min(frame for frame in distances if distances[frame] == max(distances.values())))
    assert select_frames(mandatory, candidates, limit=limit) == sorted(chosen)


@given(sets, sets, st.integers(0, 60))
def test_each_step_takes_the_middle_of_the_widest_gap(mandatory, candidates, limit):
    """The rule once more by other means: a table of all distances, of which rows are struck out."""
    everything = np.array(sorted(mandatory | candidates), int)
    taken = np.isin(everything, sorted(mandatory))
    apart = np.abs(everything[:, None] - everything[None, :]).astype(float)
    while taken.sum() < min(limit, len(everything)):
        to_taken = np.where(taken[None, :], apart, np.inf).min(axis=1, initial=np.inf)
        to_taken[taken] = -1
        taken[int(np.argmax(to_taken))] = True  # the first of several
    assert select_frames(mandatory, candidates, limit=limit) == everything[taken].tolist()


def test_two_seconds_at_240_frames_a_second_take_no_time():
    checks = [check(start, start + 100, [start + 50], samples=range(start, start + 100)) for start in range(0, 300, 90)]
    fast = clip(480, checks, cuts=[240])
    start = time.perf_counter()
    for _ in range(10):
        assert len(clip_frames(fast, "proxy", Fraction(240))) == MOST_FRAMES
    assert time.perf_counter() - start < 2


@given(st.integers(1, 120), st.data(), st.sampled_from([Fraction(24000, 1001), Fraction(25), Fraction(60)]))
def test_a_request_keeps_what_the_checklist_needs(count, data, rate):
    frame = st.integers(0, count - 1)
    checks = []
    for index in range(data.draw(st.integers(0, 6))):
        start, end = sorted(data.draw(st.tuples(frame, frame)))
        evidence = data.draw(st.lists(frame, max_size=3))
        checks.append(check(start, end, evidence).model_copy(update={"id": f"c{index}"}))
    cuts = data.draw(st.lists(frame, max_size=2))
    selected = clip_frames(clip(count, checks, cuts), "proxy", rate)
    assert len(selected) <= MOST_FRAMES
    assert {0, count - 1} <= set(selected) <= set(range(count))
    for item in checks:
        assert {item.start, item.end, *item.evidence_frames} <= set(selected)
    for cut in cuts:
        assert {place for place in (cut - 1, cut, cut + 1) if 0 <= place < count} <= set(selected)


@pytest.mark.parametrize("rate", [Fraction(24), Fraction(30000, 1001), Fraction(60)])
def test_two_seconds_fit_the_limit(rate):
    count = int(2 * rate)
    checks = [check(start, min(count - 1, start + 9), [start]) for start in range(0, count, 10)]
    assert len(clip_frames(clip(count, checks), "proxy", rate)) <= MOST_FRAMES


def video(rate, frames):
    return VideoInfo(
        path="v.mp4", sha256="", timeline=Timeline(64, 48, Fraction(rate), frames), rate_source="timestamps",
        constant_rate=True, start_seconds=0, coded_width=64, coded_height=48, rotation_deg=0, mirrored=False,
        pixel_aspect="1:1", codec="h264", pixel_format="yuv420p", bit_depth=8, header_frames=frames,
    )  # fmt: skip


some_rates = st.sampled_from(["24000/1001", "2997/125", "24", "25", "12", "30000/1001", "60", "240", "7/2"])


@given(some_rates, some_rates, st.integers(0, 40), st.integers(1, 12), st.integers(1, 60))
def test_another_rate_maps_by_nearest_time_and_never_past_the_end(own, other, offset, count, frames):
    shot = clip(count).model_copy(update={"frame_offset": offset})
    reference, rebuilt = video(own, offset + count), video(other, frames)
    found = [reconstruction_frame(shot, frame, reference, rebuilt) for frame in range(count)]
    assert found == sorted(found)
    for frame, place in enumerate(found):
        when = (offset + frame) / Fraction(own)
        if own == other:
            assert place == offset + frame
        elif when < frames / Fraction(other):  # the reconstruction shows something then
            distances = [abs(index / Fraction(other) - when) for index in range(frames)]
            assert place == distances.index(min(distances))  # the earlier of two
        else:
            assert place >= frames


def test_a_slower_reconstruction_of_the_same_length_has_the_whole_clip():
    # 39 frames at 24 are 13 at 8; the last one, at 1.583 s, is nearest to a 14th that there is not
    assert reconstruction_frame(clip(39), 38, video(24, 39), video(8, 13)) == 12
    assert reconstruction_frame(clip(39), 38, video(24, 39), video(8, 12)) == 13  # this one has ended by then
