# SPDX-License-Identifier: GPL-3.0-or-later
"""Probe: the real clips' right values, rates out of timestamps, and what cannot be read."""

import os
import sys
from fractions import Fraction

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.media.rate import fit_rate, simplest_between
from matchcut.evaluator.protocol.errors import BadInputError
from media_samples import pictures, write_video

NTSC = Fraction(30000, 1001)
FILM = Fraction(24000, 1001)


def assert_refused(path, *parts):
    with pytest.raises(BadInputError) as caught:
        probe(path)
    text = str(caught.value)
    assert text.startswith(str(path)) and "\n" not in text
    assert all(part in text for part in parts), text


def test_what_is_no_video_is_refused(tmp_path):
    empty = tmp_path / "empty.mp4"
    empty.touch()
    assert_refused(empty, "empty")
    text = tmp_path / "text.mp4"
    text.write_text("#EXTM3U\n" + "this is no video\n" * 200)
    assert_refused(text)
    assert_refused(tmp_path, "folder")
    assert_refused(tmp_path / "missing.mp4", "no such file")
    random = tmp_path / "noise.mov"
    random.write_bytes(np.random.default_rng(0).bytes(20000))
    assert_refused(random)


def test_sound_alone_is_refused(tmp_path):
    path = tmp_path / "sound.m4a"
    with av.open(str(path), "w") as out:
        stream = out.add_stream("aac", rate=48000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 4800), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 48000
        out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    assert_refused(path, "no video stream")


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes are no files there")
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path):
    pipe = tmp_path / "pipe.mp4"
    os.mkfifo(pipe)
    assert_refused(pipe, "not a regular file")


def test_a_playlist_cannot_make_us_read_another_place(tmp_path):
    playlist = tmp_path / "list.m3u8"
    playlist.write_text("#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\nhttp://127.0.0.1:9/a.ts\n#EXT-X-ENDLIST\n")
    assert_refused(playlist)


def test_odd_names_are_files_and_nothing_else(tmp_path):
    images = pictures(4)
    for name in ("100% ü %05d.mp4", "a:b.mp4" if sys.platform != "win32" else "a;b.mp4"):
        assert probe(write_video(tmp_path / name, images)).timeline.frames == 4


def test_a_file_that_ends_early_gives_what_decodes_and_says_where_it_ends(tmp_path):
    whole = write_video(
        tmp_path / "whole.mp4", pictures(100), options={"g": "10", "bf": "0"}, container={"movflags": "+faststart"}
    )  # fmt: skip
    assert not probe(whole).warnings
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 6 // 10])
    info = probe(cut)
    assert 30 < info.timeline.frames < 90
    assert info.timeline.rate == 25
    assert info.header_frames == 100
    last = info.timeline.frames - 1
    (warning,) = info.warnings
    assert f"frame {last} at {last / 25:.3f} s is the last" in warning and "100 frames" in warning


def test_a_damaged_middle_is_warned_of(tmp_path):
    whole = write_video(tmp_path / "whole.mp4", pictures(100, width=192, height=128), options={"g": "10"})
    data = bytearray(whole.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 4000] = np.random.default_rng(0).bytes(4000)
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(data)
    info = probe(broken)
    assert info.timeline.frames > 50
    assert any("damaged" in warning or "ends early" in warning for warning in info.warnings)


def test_a_single_frame(tmp_path):
    info = probe(write_video(tmp_path / "one.mp4", pictures(1), rate=FILM))
    assert (info.timeline.frames, info.timeline.rate, info.rate_source) == (1, FILM, "container")
    assert "single frame" in info.warnings[0]


def test_a_late_start_is_kept_apart_from_the_rate(tmp_path):
    path = write_video(tmp_path / "late.mkv", pictures(20), timestamps=range(25, 45))
    info = probe(path)
    assert info.start_seconds == pytest.approx(1.0)
    assert (info.timeline.rate, info.timeline.frames, info.constant_rate) == (25, 20, True)


@pytest.mark.parametrize("rate", [FILM, NTSC, Fraction(2997, 125), Fraction(24), Fraction(45000, 1499)])
def test_rate_written_to_mp4_comes_back_exactly(tmp_path, rate):
    info = probe(write_video(tmp_path / "clip.mp4", pictures(30), rate=rate))
    assert (info.timeline.rate, info.constant_rate, info.rate_source) == (rate, True, "timestamps")


def rounded(rate, count, ticks, *, down=False):
    exact = [Fraction(index) / rate * ticks for index in range(count)]
    return np.array([int(value) if down else round(value) for value in exact], np.int64)


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("ticks", [600, 1000, 1001, 90000])
@pytest.mark.parametrize("rate", [FILM, NTSC, Fraction(60000, 1001), Fraction(25), Fraction(24), Fraction(15)])
def test_rate_from_coarse_timestamps(rate, ticks, down):
    fit = fit_rate(rounded(rate, 300, ticks, down=down), Fraction(1, ticks), declared=Fraction(90000))
    assert (fit.rate, fit.source, fit.constant) == (rate, "timestamps", True)


def test_a_lying_header_does_not_count():
    fit = fit_rate(rounded(FILM, 240, 1000), Fraction(1, 1000), declared=Fraction(24))
    assert fit.rate == FILM
    assert fit_rate(rounded(Fraction(24), 240, 1000), Fraction(1, 1000), declared=FILM).rate == 24


def test_the_header_decides_between_rates_that_the_timestamps_allow():
    few = rounded(FILM, 5, 1000)
    assert fit_rate(few, Fraction(1, 1000), declared=FILM).rate == FILM
    assert fit_rate(few, Fraction(1, 1000), declared=Fraction(24)).rate == 24


def test_holes_are_counted_and_do_not_change_the_rate():
    stamps = np.delete(rounded(NTSC, 200, 90000), [50, 51, 120])
    fit = fit_rate(stamps, Fraction(1, 90000))
    assert (fit.rate, fit.constant) == (NTSC, False)
    assert np.flatnonzero(fit.steps > 1).tolist() == [49, 117]
    assert int((fit.steps - 1).sum()) == 3


def test_jitter_keeps_the_rate_but_not_its_constancy():
    random = np.random.default_rng(3)
    stamps = rounded(Fraction(25), 100, 90000) + random.integers(-500, 500, 100)
    fit = fit_rate(stamps - stamps[0], Fraction(1, 90000))
    assert (fit.rate, fit.constant) == (25, False)
    assert 0.002 < fit.jitter_seconds < 0.012


def test_a_varying_rate_is_an_average():
    stamps = np.cumsum([0, 9000, 9000, 4000, 6500, 12000, 3000])
    fit = fit_rate(stamps, Fraction(1, 90000), last_duration=5000)
    assert (fit.rate, fit.source, fit.constant) == (Fraction(7 * 90000, 48500), "average_rate", False)


def test_repeated_and_backward_timestamps_are_no_constant_rate():
    fit = fit_rate(np.array([0, 10, 10, 20, 15, 30]), Fraction(1, 100))
    assert not fit.constant
    assert not fit_rate(np.array([0, 0, 0]), Fraction(1, 100)).constant


@given(st.fractions(Fraction(1, 100), 300), st.fractions(0, 1))
def test_simplest_fraction_lies_between_and_is_simplest(low, width):
    found = simplest_between(low, low + width)
    assert low <= found <= low + width
    for denominator in range(1, min(found.denominator, 200)):
        above = -(-low.numerator * denominator // low.denominator)
        assert Fraction(above, denominator) > low + width
