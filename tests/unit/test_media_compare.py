# SPDX-License-Identifier: GPL-3.0-or-later
"""Side by side: each frame beside the one of the same time, at any size, rate and length."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matchcut.evaluator.media.compare import (
    MOST_MOMENTS,
    Moment,
    chosen_moments,
    contact_sheet,
    frame_at,
    side_by_side,
)
from matchcut.evaluator.media.decode import stream
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.timeline import Timeline
from media_samples import pictures, write_video
from PIL import Image

STEP = 6


def greys(path, count, *, rate=24, width=96, height=64, hue=0):
    """A video whose frame f is grey 30 + STEP · f, with `hue` more of blue."""
    images = []
    for frame in range(count):
        image = np.full((height, width, 3), 30 + STEP * frame, np.uint8)
        image[..., 2] += hue
        images.append(image)
    return probe(write_video(path, images, rate=Fraction(rate)))


def compare(reference, reconstruction, out):
    info = side_by_side(reference, reconstruction, out, reporter=SilentReporter())
    return info, [frame.image for frame in stream(out)]


def centre(image, left, right):
    """Mean colour (3,) amid the columns `left` to `right`, below the label."""
    middle = (left + right) // 2
    return image[image.shape[0] // 2 : image.shape[0] * 3 // 4, middle - 8 : middle + 8].reshape(-1, 3).mean(axis=0)


def number(colour):
    return round((float(colour[1]) - 30) / STEP)


def test_both_sides_show_the_same_time_and_the_reference_is_left(tmp_path):
    first, second = greys(tmp_path / "r.mp4", 8), greys(tmp_path / "b.mp4", 8, hue=40)
    info, images = compare(first, second, tmp_path / "out.mp4")
    assert (info.timeline.rate, info.timeline.frames) == (24, 8)
    width = info.timeline.width
    for index, image in enumerate(images):
        left, right = centre(image, 0, width // 2), centre(image, width // 2, width)
        assert (number(left), number(right)) == (index, index)
        assert left[2] - left[0] < 10 and right[2] - right[0] > 25


@pytest.mark.parametrize(("rate", "frames"), [("12", 6), ("48", 24), ("30000/1001", 15)])
def test_another_rate_by_nearest_time(tmp_path, rate, frames):
    first, second = greys(tmp_path / "r.mp4", 12), greys(tmp_path / "b.mp4", frames, rate=rate)
    info, images = compare(first, second, tmp_path / "out.mp4")
    assert info.timeline.frames == 12
    for index, image in enumerate(images):
        when = Fraction(index, 24)
        expected = min(range(frames), key=lambda frame: (abs(frame / Fraction(rate) - when), frame))
        assert number(centre(image, info.timeline.width // 2, info.timeline.width)) == expected


@pytest.mark.parametrize(("long", "short"), [("left", 4), ("right", 4)])
def test_after_the_end_of_one_its_panel_says_so(tmp_path, artifacts, long, short):
    counts = (10, short) if long == "left" else (short, 10)
    first, second = greys(tmp_path / "r.mp4", counts[0]), greys(tmp_path / "b.mp4", counts[1])
    info, images = compare(first, second, tmp_path / "out.mp4")
    assert info.timeline.frames == 10
    Image.fromarray(images[-1]).save(artifacts / f"compare_ended_{long}.png")
    half = info.timeline.width // 2
    ended, goes_on = (
        (slice(half, None), slice(0, half - 8)) if long == "left" else (slice(0, half - 8), slice(half, None))
    )
    body = images[short][60:]
    assert np.abs(body[:, ended].astype(int) - images[9][60:, ended]).mean() < 2  # it stands still
    assert (body[:, ended] > 200).any() and not (images[short - 1][60:, ended] > 200).any()  # words
    assert number(centre(images[9], *(((0, half)) if long == "left" else (half, 2 * half)))) == 9
    assert np.abs(images[8][60:, goes_on].astype(int) - images[9][60:, goes_on]).mean() > 3


@pytest.mark.parametrize(
    ("first", "second", "size"),
    [
        ((96, 64), (64, 96), (540 + 440 + 8, 396)),  # landscape against portrait: a label needs its width
        ((32, 18), (16, 16), (640 + 440 + 8, 396)),  # small ones are enlarged
        ((1920, 1080), (640, 360), (2 * 1280 + 8, 770)),
        ((512, 64), (96, 64), (1920 + 540 + 8, 396)),  # wider than a panel may be
        ((51, 33), (50, 50), (556 + 440 + 8, 396)),
    ],
)
def test_sizes_of_their_own_at_one_height(tmp_path, artifacts, first, second, size):
    reference = greys(tmp_path / "r.mkv", 2, width=first[0], height=first[1]) if first[1] % 2 == 0 else probe(
        write_video(tmp_path / "r.mkv", [np.full((33, 51, 3), 90, np.uint8)] * 2, codec="libx264rgb", pixels="rgb24")
    )  # fmt: skip
    rebuilt = greys(tmp_path / "b.mp4", 2, width=second[0], height=second[1], hue=60)
    info, images = compare(reference, rebuilt, tmp_path / "out.mp4")
    Image.fromarray(images[1]).save(artifacts / f"compare_{first[0]}x{first[1]}_{second[0]}x{second[1]}.png")
    assert (info.timeline.width, info.timeline.height) == size
    # the proportions of the right picture, found by its blue
    blue = images[1][..., 2].astype(int) - images[1][..., 0] > 30
    rows, columns = np.flatnonzero(blue.sum(axis=1) > 20), np.flatnonzero(blue.sum(axis=0) > 20)
    height, width = rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1
    assert abs(width / height - second[0] / second[1]) < 0.03


def test_every_side_has_a_legible_label(tmp_path, artifacts):
    first, second = (
        probe(write_video(tmp_path / f"{name}.mp4", pictures(2, seed=seed, width=64, height=96), rate=Fraction(24)))
        for name, seed in (("r", 1), ("b", 2))
    )
    _, images = compare(first, second, tmp_path / "out.mp4")
    Image.fromarray(images[1]).save(artifacts / "compare_portrait.png")
    for bar in (images[1][:36, :440], images[1][:36, 448:]):
        for part in (bar[:, :220], bar[:, 220:]):
            lit = np.flatnonzero((part > 160).all(axis=2).any(axis=1))
            assert lit[-1] - lit[0] >= 11  # letters as high as in a book


def test_frame_at_ends_with_the_video():
    timeline = Timeline(4, 4, Fraction(24), 48)
    assert frame_at(Fraction(2) - Fraction(1, 1000), timeline) == 47
    assert frame_at(Fraction(2), timeline) is None
    assert frame_at(Fraction(1, 48), timeline) == 0  # of two the earlier


@given(st.integers(1, 400), st.lists(st.integers(-1, 420), max_size=30))
def test_moments_hold_both_ends_and_the_cuts_as_far_as_there_is_room(count, cuts):
    moments = chosen_moments(count, cuts)
    assert moments == sorted(set(moments)) and set(moments) <= set(range(count))
    assert {0, count - 1} <= set(moments) and len(moments) <= MOST_MOMENTS
    around = {frame for cut in cuts for frame in (cut - 1, cut) if 0 <= frame < count}
    if len(around) <= MOST_MOMENTS - 2:
        assert around <= set(moments)
    assert len(moments) == min(MOST_MOMENTS, len(moments)) and (count < MOST_MOMENTS) <= (len(moments) == count)


def test_a_sheet_shows_the_moments_it_names(tmp_path, artifacts):
    first, second = greys(tmp_path / "r.mp4", 30), greys(tmp_path / "b.mp4", 20, hue=40)
    moments = contact_sheet(first, second, tmp_path / "deep" / "sheet.png", cuts=[15], reporter=SilentReporter())
    assert {0, 14, 15, 29} <= {moment.reference_frame for moment in moments} and len(moments) == MOST_MOMENTS
    assert all(
        moment == Moment(moment.reference_frame, moment.reference_frame if moment.reference_frame < 20 else None)
        for moment in moments
    )
    sheet = np.asarray(Image.open(tmp_path / "deep" / "sheet.png"))
    Image.fromarray(sheet).save(artifacts / "contact_sheet.png")
    assert max(sheet.shape) <= 4000
    # its first pair: frame 0 of both
    assert (
        number(sheet[120, 200]) == 0 and number(sheet[120, 700]) == 0 and sheet[120, 700, 2] > sheet[120, 700, 0] + 25
    )


def test_a_sheet_of_one_frame(tmp_path):
    only = greys(tmp_path / "r.mp4", 1)
    assert contact_sheet(only, only, tmp_path / "s.png", cuts=[], reporter=SilentReporter()) == [Moment(0, 0)]


def test_equal_videos_give_equal_bytes(tmp_path):
    first = greys(tmp_path / "r.mp4", 3)
    for name in "ab":
        compare(first, first, tmp_path / f"{name}.mp4")
        contact_sheet(first, first, tmp_path / f"{name}.png", cuts=[1], reporter=SilentReporter())
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
