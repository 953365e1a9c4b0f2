# SPDX-License-Identifier: GPL-3.0-or-later
"""Conforming: every output frame is the decoded frame nearest to its time, upright, and every decision is told."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matchcut.evaluator.media import conform as module
from matchcut.evaluator.media.conform import Conformed, conform, nearest_frames
from matchcut.evaluator.media.decode import stream
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter
from media_samples import pictures, write_video

STEP = 7


def greys(count, *, width=64, height=48):
    """Picture f is grey 20 + STEP · f."""
    return [np.full((height, width, 3), 20 + STEP * frame, np.uint8) for frame in range(count)]


def shown(path):
    """Which of the greys each frame of a video is."""
    return [round((float(frame.image.mean()) - 20) / STEP) for frame in stream(path)]


def run(path, out, rate=None, **more):
    return conform(path, rate, out, reporter=SilentReporter(), **more)


ticks = st.lists(st.integers(-5, 200), max_size=30).map(lambda gaps: np.cumsum([0, *gaps]))
rates = st.sampled_from([Fraction(24000, 1001), Fraction(25), Fraction(30), Fraction(7, 3), Fraction(120)])


@given(ticks, rates, st.fractions(0, 3, max_denominator=100))
def test_every_frame_is_the_nearest_one_and_of_two_the_earlier(ticks, rate, duration):
    base = Fraction(1, 1000)
    # a frame whose time does not lie after all those before it is never shown
    able = [frame for frame in range(len(ticks)) if all(ticks[other] < ticks[frame] for other in range(frame))]
    expected = [
        min(able, key=lambda frame: (abs(int(ticks[frame]) * base - place / rate), frame))
        for place in range(max(1, round(duration * rate)))
    ]
    assert nearest_frames(ticks, base, rate, duration, "x") == expected


def test_a_varying_rate_by_time(tmp_path):
    # 40 ms a frame, but frame 3 is held for 120 ms and frame 6 comes 20 ms late
    times = [0, 40, 80, 120, 240, 280, 340, 360, 400, 440]
    path = write_video(
        tmp_path / "v.mkv", greys(10), timestamps=times, time_base=Fraction(1, 1000), options={"bf": "0"}
    )
    record = run(path, tmp_path / "out.mp4", Fraction(25))
    # at 160 ms frame 3 is nearest, at 200 ms frame 4; at 320 ms frame 6
    assert record.source_frames == [0, 1, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9] == shown(tmp_path / "out.mp4")
    assert (record.repeated, record.dropped) == ([4, 6], [])
    assert record.time_errors_seconds == [0, 0, 0, 0, -0.04, 0.04, 0, 0, 0.02, 0, 0, 0]
    assert record.largest_error_seconds == 0.04
    info = probe(tmp_path / "out.mp4")
    assert (info.timeline.rate, info.timeline.frames, info.constant_rate) == (25, 12, True)
    assert (info.start_seconds, info.pixel_aspect, info.rotation_deg) == (0, "1:1", 0)


def test_a_lower_rate_drops_and_says_so(tmp_path):
    path = write_video(tmp_path / "v.mp4", greys(12), rate=Fraction(24))
    record = run(path, tmp_path / "out.mp4", Fraction(8))
    assert record.source_frames == [0, 3, 6, 9] == shown(tmp_path / "out.mp4")
    assert record.dropped == [1, 2, 4, 5, 7, 8, 10, 11] and record.rate_reason == "asked for"


def test_halfway_between_two_the_earlier(tmp_path):
    path = write_video(tmp_path / "v.mp4", greys(4), rate=Fraction(25))
    assert run(path, tmp_path / "out.mp4", Fraction(50)).source_frames == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("rate", ["24000/1001", "25", "30000/1001", "15", "60"])
def test_a_constant_rate_is_kept_with_every_frame(tmp_path, rate):
    path = write_video(tmp_path / "v.mkv", greys(20), rate=Fraction(rate), time_base=Fraction(1, 90000),
                       timestamps=[round(frame / Fraction(rate) * 90000) for frame in range(20)])  # fmt: skip
    record = run(path, tmp_path / "out.mp4")
    assert record.rate == Fraction(rate) and record.source_frames == list(range(20))
    assert "constant" in record.rate_reason and record.largest_error_seconds < 0.001


def test_a_late_start_begins_at_the_first_frame(tmp_path):
    path = write_video(tmp_path / "v.mkv", greys(6), rate=Fraction(25), timestamps=range(10, 16))
    record = run(path, tmp_path / "out.mp4")
    assert record.start_seconds == pytest.approx(0.4) and record.source_frames == list(range(6))
    assert probe(tmp_path / "out.mp4").start_seconds == 0


def test_a_hole_is_filled_and_a_clock_that_runs_backwards_is_named(tmp_path):
    path = write_video(tmp_path / "v.mkv", greys(10), rate=Fraction(25), timestamps=[0, 1, 2, 3, 4, 8, 9, 10, 11, 12])
    record = run(path, tmp_path / "out.mp4")
    assert record.rate == 25 and len(record.source_frames) == 13 and record.repeated == [5, 6, 8]
    found = nearest_frames(np.array([0, 40, 20, 40, 80]), Fraction(1, 1000), Fraction(25), Fraction(3, 25), "x")
    assert found == [0, 1, 4]


def test_the_usual_rate_for_a_varying_one(tmp_path):
    # mostly 1/30 s, between long holds: the average would be 12
    gaps = [33, 34, 33, 138, 29, 33, 500, 33, 34, 127, 33, 40, 33, 234, 33, 21, 33, 45]
    path = write_video(
        tmp_path / "v.mkv", greys(19), timestamps=[0, *np.cumsum(gaps).tolist()], time_base=Fraction(1, 1000),
        options={"bf": "0"},
    )  # fmt: skip
    record = run(path, tmp_path / "out.mp4")
    assert record.rate in (30, Fraction(30000, 1001)) and set(record.source_frames) | set(record.dropped) == {
        *range(19)
    }
    assert not record.source_constant_rate and probe(tmp_path / "out.mp4").constant_rate


@pytest.mark.parametrize(("turn", "size"), [(90, (48, 64)), (180, (64, 48)), (270, (48, 64))])
def test_turned_videos_come_out_upright(tmp_path, turn, size):
    images = pictures(3, width=64, height=48)
    path = write_video(tmp_path / "v.mp4", images, rotation=turn)
    record = run(path, tmp_path / "out.mp4")
    assert record.rotation_deg != 0 and record.size == size
    for given_frame, frame in zip(stream(path), stream(tmp_path / "out.mp4"), strict=True):
        assert np.abs(given_frame.image.astype(int) - frame.image).mean() < 4


def test_pixels_become_square_and_odd_sizes_even(tmp_path):
    wide = run(write_video(tmp_path / "w.mp4", greys(2), aspect=Fraction(4, 3)), tmp_path / "a.mp4")
    assert (wide.shown_size, wide.size, wide.pixel_aspect) == ((85, 48), (84, 48), "4:3")
    assert "last column is cut off" in wide.size_reason
    odd = write_video(tmp_path / "odd.mkv", greys(2, width=51, height=33), codec="libx264rgb", pixels="rgb24")
    record = run(odd, tmp_path / "b.mp4")
    assert record.size == (50, 32) and "last column and row is cut off" in record.size_reason
    assert probe(tmp_path / "b.mp4").timeline.width == 50


def test_a_size_that_is_asked_for(tmp_path):
    path = write_video(tmp_path / "v.mp4", greys(2))
    scaled = run(path, tmp_path / "out.mp4", size=(32, 24))
    assert scaled.size == (32, 24) and "scaled from 64x48" in scaled.size_reason
    assert "proportions" not in scaled.size_reason
    assert "proportions" in run(path, tmp_path / "out.mp4", size=(64, 24)).size_reason
    with pytest.raises(BadInputError, match="33x24 is odd"):
        run(path, tmp_path / "out.mp4", size=(33, 24))


def test_the_quality_is_that_of_8_bit_420(tmp_path):
    images = pictures(6, width=192, height=128)
    path = write_video(tmp_path / "v.mkv", images, codec="ffv1", pixels="yuv420p", options={})
    run(path, tmp_path / "out.mp4")
    for first, second in zip(stream(path), stream(tmp_path / "out.mp4"), strict=True):
        error = np.mean((first.image.astype(float) - second.image) ** 2)
        assert 10 * np.log10(255**2 / error) > 38


def test_the_record_is_read_back_and_says_no_folder(tmp_path):
    record = run(write_video(tmp_path / "v.mp4", greys(3)), tmp_path / "deep" / "out.mp4")
    text = (tmp_path / "deep" / "out.json").read_text(encoding="utf-8")
    assert Conformed.read(tmp_path / "deep" / "out.json") == record and str(tmp_path) not in text
    assert (record.source, record.output) == ("v.mp4", "out.mp4")
    assert record.output_sha256 == probe(tmp_path / "deep" / "out.mp4").sha256


def test_the_source_is_never_written_over(tmp_path):
    path = write_video(tmp_path / "v.mp4", greys(3))
    before = path.read_bytes()
    link = tmp_path / "link.mp4"
    link.hardlink_to(path)
    for out in (path, link):
        with pytest.raises(BadInputError, match="source itself"):
            run(path, out)
    record = tmp_path / "x.json"
    record.hardlink_to(path)
    with pytest.raises(BadInputError, match="source itself"):
        run(path, tmp_path / "x.mp4")
    with pytest.raises(BadInputError, match=r"ends in \.mp4"):
        run(path, tmp_path / "out.mov")
    assert path.read_bytes() == before


def test_an_output_that_cannot_be_written_is_named_before_any_work(tmp_path):
    path = write_video(tmp_path / "v.mp4", greys(3))
    (tmp_path / "out.json").mkdir()
    with pytest.raises(BadInputError, match=r"out\.json: this is a folder"):
        run(path, tmp_path / "out.mp4")
    with pytest.raises(BadInputError, match=r"ends in \.mp4"):
        run(path, Path())
    assert sorted(item.name for item in tmp_path.iterdir()) == ["out.json", "v.mp4"]


def test_what_is_no_video_and_what_lasts_for_ever(tmp_path, monkeypatch):
    with pytest.raises(BadInputError, match="no such file"):
        run(tmp_path / "none.mp4", tmp_path / "out.mp4")
    path = write_video(tmp_path / "v.mp4", greys(3))
    with pytest.raises(BadInputError, match="beyond 1000"):
        run(path, tmp_path / "out.mp4", Fraction(10**6))
    monkeypatch.setattr(module, "MOST_FRAMES", 2)
    with pytest.raises(BadInputError, match="at most 2"):
        run(path, tmp_path / "out.mp4")
    assert not (tmp_path / "out.mp4").exists() and not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("name", "rate", "asked", "size", "frames"),
    [
        ("fire2.mp4", 10, (160, 90), (160, 90), 24),
        ("sample.avi", Fraction(24000, 1001), (192, 80), (192, 80), 98),
        ("pigs_in_a_polka.gif", 10, None, (314, 272), 30),
        ("video_90.mov", 30, None, (320, 568), 3),
    ],
)
def test_real_references(media, tmp_path, name, rate, asked, size, frames):
    record = run(media / name, tmp_path / "out.mp4", size=asked)
    info = probe(tmp_path / "out.mp4")
    assert (record.rate, record.size, len(record.source_frames)) == (rate, size, frames)
    assert (info.timeline.rate, info.timeline.frames, info.constant_rate) == (rate, frames, True)
    assert abs(float(info.timeline.duration) - record.duration_seconds) <= 0.5 / float(rate)
