# SPDX-License-Identifier: GPL-3.0-or-later
"""Timeline arithmetic: exact, 0-based, both ends included."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.timeline import Timeline, format_rate, nearest_frame, parse_rate

FILM = Fraction(24000, 1001)
rates = st.fractions(Fraction(1, 10), 240, max_denominator=2000)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("24000/1001", FILM),
        ("24", Fraction(24)),
        ("25/1", Fraction(25)),
        ("23.976", Fraction(2997, 125)),
        (30, Fraction(30)),
        (FILM, FILM),
    ],
)
def test_rates_are_read_exactly(text, rate):
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    "text", ["", "fast", "0", "-24", "24/0", "1/", "nan", "inf", "1e999999999", "1_000", None, [24]]
)
def test_what_is_no_rate_is_refused(text):
    with pytest.raises(BadInputError, match="24000/1001"):
        parse_rate(text)


@given(rates)
def test_rates_are_written_as_they_are_read(rate):
    assert parse_rate(format_rate(rate)) == rate
    assert "/" in format_rate(rate)


@given(rates, st.integers(0, 100_000))
def test_the_frame_nearest_to_a_frames_own_time_is_that_frame(rate, frame):
    timeline = Timeline(16, 16, rate, 1)
    assert nearest_frame(timeline.time_of(frame), rate) == frame


def test_of_two_equally_near_frames_it_is_the_earlier():
    assert nearest_frame(Fraction(3, 2), Fraction(1)) == 1
    assert nearest_frame(Fraction(151, 100), Fraction(1)) == 2
    assert nearest_frame(Fraction(149, 100), Fraction(1)) == 1


def test_an_interval_covers_both_of_its_ends():
    timeline = Timeline(16, 16, FILM, 48)
    assert timeline.interval(0, 47) == (0, timeline.duration)
    assert timeline.interval(5, 5) == (5 / FILM, 6 / FILM)
    first, second = timeline.interval(0, 9), timeline.interval(10, 47)
    assert first[1] == second[0]


@given(rates)
def test_blenders_two_numbers_give_the_rate_exactly(rate):
    timeline = Timeline(16, 16, rate, 1)
    assert timeline.fps >= 1 and timeline.fps / timeline.fps_base == rate


@pytest.mark.parametrize(
    ("rate", "fps", "base"),
    [
        (FILM, 24, Fraction(1001, 1000)),
        (Fraction(30000, 1001), 30, Fraction(1001, 1000)),
        (Fraction(45000, 1499), 30, Fraction(1499, 1500)),
        (Fraction(1, 2), 1, Fraction(2)),
    ],
)
def test_blenders_two_numbers(rate, fps, base):
    timeline = Timeline(16, 16, rate, 1)
    assert (timeline.fps, timeline.fps_base) == (fps, base)


@pytest.mark.parametrize("fields", [(0, 16, 24, 1), (16, 0, 24, 1), (16, 16, 0, 1), (16, 16, 24, 0), (16, 16, -24, 1)])
def test_an_impossible_timeline_is_refused(fields):
    width, height, rate, frames = fields
    with pytest.raises(BadInputError, match="positive"):
        Timeline(width, height, Fraction(rate), frames)


def test_json_and_back():
    timeline = Timeline(480, 270, FILM, 72)
    data = json.loads(json.dumps(timeline.to_json()))
    assert data == {"width": 480, "height": 270, "rate": "24000/1001", "frames": 72}
    assert Timeline.from_json(data) == timeline
    assert str(timeline) == "480x270, 24000/1001 fps (23.976), 72 frames, 3.003 s"


@pytest.mark.parametrize(
    "change",
    [{"rate": "fast"}, {"width": "wide"}, {"frames": None}, {"height": 0}],
    ids=lambda change: next(iter(change)),
)
def test_wrong_json_is_refused(change):
    good = {"width": 480, "height": 270, "rate": "24000/1001", "frames": 72}
    with pytest.raises(BadInputError):
        Timeline.from_json({**good, **change})
    with pytest.raises(BadInputError, match="missing or wrong"):
        Timeline.from_json({name: value for name, value in good.items() if name not in change})
