# SPDX-License-Identifier: GPL-3.0-or-later
"""The timeline check on pairs with one known fault each, and on real clips."""

from fractions import Fraction

import numpy as np
import pytest
from matchcut.evaluator.media.check import check_timeline, content_offset, on_grid, within_drift
from matchcut.evaluator.media.decode import stream
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.timeline import Timeline
from media_samples import pictures

FILM = Fraction(24000, 1001)
COUNT = 96


@pytest.fixture(scope="module")
def images():
    return pictures(COUNT, seed=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pairs")


@pytest.fixture(scope="module")
def reference(images, folder):
    return video(folder, "reference", images)


def video(folder, name, images, rate=FILM):
    return encode(images, rate, folder / f"{name}.mp4", reporter=SilentReporter(), total=len(images))


def compare(reference, reconstruction):
    return check_timeline(reference, reconstruction, reporter=SilentReporter())


def differing(found):
    return [item.name for item in found.comparisons if not item.agrees]


def other_look(image):
    """As a proxy render may look: other colours, less contrast, darker."""
    grey = image[..., ::-1].astype(float)
    return (30 + 0.5 * grey).astype(np.uint8)


def test_the_same_video_agrees_in_everything(reference):
    found = compare(reference, reference)
    assert found.passed and [item.name for item in found.comparisons] == ["resolution", "rate", "frames", "duration"]
    assert (found.offset_frames, found.frozen, found.black) == (0, [], [])


def test_another_look_is_no_fault_of_the_timeline(reference, images, folder):
    found = compare(reference, video(folder, "look", [other_look(image) for image in images]))
    assert found.passed and (found.offset_frames, found.frozen, found.black) == (0, [], [])


@pytest.mark.parametrize("rate", [Fraction(24), Fraction(25), Fraction(23)])
def test_another_rate_fails_rate_and_duration_but_not_the_count(reference, images, folder, rate):
    found = compare(reference, video(folder, f"rate{rate}", images, rate))
    assert differing(found) == ["rate", "duration"]
    rates = found.comparisons[1]
    assert (rates.reference, rates.reconstruction) == ("24000/1001", f"{rate}/1")


def test_a_rounded_rate_is_accepted(reference, images, folder):
    found = compare(reference, video(folder, "rounded", images, Fraction(2997, 125)))
    assert found.passed
    assert found.comparisons[1].reconstruction == "2997/125"


@pytest.mark.parametrize("frames", [1, 3, 72, 240, 10_000, 200_000])
def test_24_is_never_24000_1001(frames):
    assert not within_drift(FILM, Fraction(24), frames)
    assert within_drift(FILM, FILM, frames)
    assert within_drift(FILM, Fraction(2997, 125), min(frames, 80_000))


@pytest.mark.parametrize(
    ("name", "change", "offset", "failed"),
    [
        ("first missing", lambda images: images[1:], -1, ["frames", "duration"]),
        ("first held", lambda images: [images[0], *images[:-1]], 1, []),
        ("last missing", lambda images: images[:-1], 0, ["frames", "duration"]),
        ("five early", lambda images: images[5:] + images[-1:] * 5, -5, []),
        ("twelve late", lambda images: images[:1] * 12 + images[:-12], 12, []),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("look", [lambda image: image, other_look], ids=["same look", "other look"])
def test_a_shift_is_found_with_its_sign(reference, images, folder, name, change, offset, failed, look):
    found = compare(reference, video(folder, name, [look(image) for image in change(images)]))
    assert found.offset_frames == offset
    assert differing(found) == failed


def test_held_frames_are_frozen_stretches(reference, images, folder):
    held = [*images[:30], *images[30:31] * 11, *images[41:]]
    found = compare(reference, video(folder, "frozen", held))
    assert found.frozen == [(30, 40)]
    assert (found.passed, found.offset_frames, found.black) == (True, 0, [])


def test_one_held_frame_is_found(reference, images, folder):
    assert compare(reference, video(folder, "held", [images[0], *images[:-1]])).frozen[:1] == [(0, 1)]


def test_a_whole_still_is_frozen_and_has_no_offset(reference, images, folder):
    found = compare(reference, video(folder, "still", images[:1] * COUNT))
    assert found.offset_frames is None
    frozen = sum(last - first for first, last in found.frozen)
    assert frozen > 0.8 * COUNT


def test_a_still_reference_freezes_nothing(images, folder):
    still = video(folder, "still reference", images[:1] * COUNT)
    found = compare(still, still)
    assert (found.passed, found.offset_frames, found.frozen) == (True, None, [])


def test_black_frames_are_found(reference, images, folder):
    black = [np.zeros_like(images[0])] * 8
    found = compare(reference, video(folder, "black", [*images[:50], *black, *images[58:]]))
    assert found.black == [(50, 57)]
    found = compare(reference, video(folder, "all black", black * 12))
    assert found.black == [(0, COUNT - 1)]


def test_what_is_black_in_both_is_no_fault(images, folder):
    faded = video(folder, "faded", [np.zeros_like(images[0])] * 10 + images[10:])
    assert compare(faded, faded).black == []


def test_another_size_differs(reference, folder):
    found = compare(reference, video(folder, "narrow", pictures(COUNT, seed=5, width=94)))
    assert differing(found) == ["resolution"]
    assert found.comparisons[0].reconstruction == "94x64"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_very_short_videos_compare(reference, images, folder, count):
    short = video(folder, f"short {count}", images[:count])
    assert compare(short, short).passed
    for found in (compare(short, short), compare(reference, short), compare(short, reference)):
        assert (found.offset_frames, found.frozen, found.black) == (None, [], [])


def test_unrelated_pictures_have_no_offset(reference, folder):
    assert compare(reference, video(folder, "unrelated", pictures(COUNT, seed=77))).offset_frames is None


def test_a_motion_that_repeats_itself_decides_nothing(images):
    from matchcut.evaluator.media.check import LONGEST_SHIFT_SECONDS

    cycle = np.stack([image[::4, ::3, 1] for image in images[:8]] * 12)
    assert content_offset(cycle, cycle, longest=24 * LONGEST_SHIFT_SECONDS) is None


def test_frames_match_by_time_where_the_rates_differ():
    grid = on_grid(Timeline(8, 8, Fraction(30), 24), Fraction(24))
    assert grid[:5].tolist() == [0, 1, 2, 4, 5]
    assert grid[-1] == 22 and len(grid) == 19  # the next would be frame 24, which it has not
    assert on_grid(Timeline(8, 8, Fraction(24), 24), Fraction(24)).tolist() == list(range(24))


def test_a_shift_at_another_rate_is_told_in_frames_of_the_reference(folder):
    images = pictures(120, seed=9)
    whole = video(folder, "fast", images, Fraction(30))
    half = video(folder, "slow", images[6::2], Fraction(15))
    found = compare(whole, half)
    assert (found.offset_frames, found.frozen) == (-6, [])
    found = compare(half, whole)
    assert (found.offset_frames, found.frozen) == (3, [])


@pytest.mark.parametrize("name", ["bigbuckbunny.mp4", "bedroom.mp4", "Tokyo-Walk_rgb.mp4", "03_blocks.mp4"])
def test_real_clips_against_themselves_shifted(media, tmp_path, name):
    shown = [frame.image for frame in stream(media / name, size=(160, 90))]
    info = probe(media / name)
    rebuilt = encode(
        [other_look(image) for image in shown[4:]], info.timeline.rate, tmp_path / "late.mp4",
        reporter=SilentReporter(), total=len(shown) - 4,
    )  # fmt: skip
    found = compare(info, rebuilt)
    assert found.offset_frames == -4
    assert (found.frozen, found.black) == ([], [])
    assert differing(found) == ["resolution", "frames", "duration"]


def test_a_badly_compressed_twin_is_no_fault(media):
    found = compare(probe(media / "carphone_pristine.mp4"), probe(media / "carphone_distorted.mp4"))
    assert found.passed and (found.offset_frames, found.frozen, found.black) == (0, [], [])


def test_unrelated_real_clips_have_no_offset(media):
    assert compare(probe(media / "bigbuckbunny.mp4"), probe(media / "bedroom.mp4")).offset_frames is None
