# SPDX-License-Identifier: GPL-3.0-or-later
"""The timeline check on pairs with one known fault each, and on real clips."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from matchcut.evaluator.media import scan as scans
from matchcut.evaluator.media.align import align
from matchcut.evaluator.media.check import check_timeline, on_grid, within_drift
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


def told(found):
    """Shift, and (kind, first, last) of every fault."""
    return found.offset_frames, [(fault.kind, fault.first, fault.last) for fault in found.faults]


def differing(found):
    return [item.name for item in found.comparisons if not item.agrees]


def other_look(image):
    """As a proxy render may look: other colours, less contrast, darker."""
    grey = image[..., ::-1].astype(float)
    return (30 + 0.5 * grey).astype(np.uint8)


def test_the_same_video_agrees_in_everything(reference):
    found = compare(reference, reference)
    assert found.passed and [item.name for item in found.comparisons] == ["resolution", "rate", "frames", "duration"]
    assert told(found) == (0, [])


def test_another_look_is_no_fault_of_the_timeline(reference, images, folder):
    found = compare(reference, video(folder, "look", [other_look(image) for image in images]))
    assert found.passed and told(found) == (0, [])


@pytest.mark.parametrize("rate", [Fraction(24), Fraction(25), Fraction(23)])
def test_another_rate_fails_rate_and_duration_but_not_the_count(reference, images, folder, rate):
    found = compare(reference, video(folder, f"rate{rate}", images, rate))
    assert differing(found) == ["rate", "duration"]
    assert [fault.speed for fault in found.faults] == ([] if rate == 24 else [pytest.approx(rate / FILM, rel=0.01)])
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
    ("name", "change", "offset", "failed", "faults"),
    [
        ("first missing", lambda images: images[1:], -1, ["frames", "duration"], []),
        ("first held", lambda images: [images[0], *images[:-1]], 1, [], ["repeated"]),
        ("last missing", lambda images: images[:-1], 0, ["frames", "duration"], []),
        ("five early", lambda images: images[5:] + images[-1:] * 5, -5, [], ["frozen"]),
        ("twelve late", lambda images: images[:1] * 12 + images[:-12], 12, [], ["repeated"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("look", [lambda image: image, other_look], ids=["same look", "other look"])
def test_a_shift_is_found_with_its_sign(reference, images, folder, name, change, offset, failed, faults, look):
    found = compare(reference, video(folder, name, [look(image) for image in change(images)]))
    assert found.offset_frames == offset
    assert differing(found) == failed
    assert [fault.kind for fault in found.faults] == faults


def test_held_frames_are_frozen_stretches(reference, images, folder):
    held = [*images[:30], *images[30:31] * 11, *images[41:]]
    found = compare(reference, video(folder, "frozen", held))
    assert told(found) == (0, [("frozen", 30, 40)])
    (fault,) = found.faults
    assert (fault.reference_first, fault.reference_last) == (30, 40)
    assert fault.detail == "frames 30 to 40 hold one picture while the reference moves; what follows is on time"
    assert differing(found) == [] and not found.passed


def test_pictures_on_twos_are_one_stretch(reference, images, folder):
    twos = [images[index // 2 * 2] for index in range(40)] + images[40:]
    offset, faults = told(compare(reference, video(folder, "twos", twos)))
    assert offset == 0
    assert [kind for kind, _, _ in faults] == ["frozen"] and faults[0][1] <= 2 and 38 <= faults[0][2] <= 40


def test_a_whole_still_is_frozen_and_has_no_offset(reference, images, folder):
    found = compare(reference, video(folder, "still", images[:1] * COUNT))
    assert (found.offset_frames, found.offset_reason) == (None, "the reconstruction hardly moves")
    assert {fault.kind for fault in found.faults} == {"frozen"}
    assert sum(fault.last - fault.first for fault in found.faults) > 0.8 * COUNT


def test_a_still_reference_freezes_nothing(images, folder):
    still = video(folder, "still reference", images[:1] * COUNT)
    found = compare(still, still)
    assert found.passed and told(found) == (None, [])
    assert found.offset_reason == "the reference hardly moves"


def test_black_frames_are_found(reference, images, folder):
    black = [np.zeros_like(images[0])] * 8
    found = compare(reference, video(folder, "black", [*images[:50], *black, *images[58:]]))
    assert told(found) == (0, [("black", 50, 57)])
    found = compare(reference, video(folder, "late after black", [*images[:50], *black, *images[50:-8]]))
    assert told(found) == (0, [("black", 50, 57)])
    assert found.faults[0].detail.endswith("; what follows lies 8 frames late")
    found = compare(reference, video(folder, "all black", black * 12))
    assert told(found) == (None, [("black", 0, COUNT - 1)])


def test_strange_pictures_that_push_the_rest_are_inserted(reference, images, folder):
    strange = pictures(10, seed=99)
    found = compare(reference, video(folder, "inserted", [*images[:50], *strange, *images[50:]]))
    assert told(found) == (0, [("inserted", 50, 59)])
    assert found.faults[0].reference_first is None


def test_what_is_black_in_both_is_no_fault(images, folder):
    faded = video(folder, "faded", [np.zeros_like(images[0])] * 10 + images[10:])
    assert compare(faded, faded).faults == []


def test_another_size_differs(reference, folder):
    found = compare(reference, video(folder, "narrow", pictures(COUNT, seed=5, width=94)))
    assert differing(found) == ["resolution"]
    assert found.comparisons[0].reconstruction == "94x64"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_very_short_videos_compare(reference, images, folder, count):
    short = video(folder, f"short {count}", images[:count])
    assert compare(short, short).passed
    for found in (compare(short, short), compare(reference, short), compare(short, reference)):
        assert told(found) == (None, []) and found.offset_reason


def test_unrelated_pictures_have_no_offset(reference, folder):
    found = compare(reference, video(folder, "unrelated", pictures(COUNT, seed=77)))
    assert told(found) == (None, [])
    assert found.offset_reason == "the pictures do not move alike"


def test_a_motion_that_repeats_itself_decides_nothing(images):
    cycle = np.stack([image[::4, ::3, 1] for image in images[:8]] * 12)
    assert align(cycle, cycle, 24.0).reason == "the motion looks the same 8 frames apart"
    assert align(cycle, cycle[3:], 24.0).reason.startswith("the motion looks the same")


def test_noise_decides_nothing():
    random = np.random.default_rng(2)
    first, second = random.integers(0, 256, (2, COUNT, 18, 32), np.uint8)
    assert align(first, second, 25.0).reason == "the pictures do not move alike"


def test_a_long_video_is_searched_around_its_time():
    """Longer than the reach of the search, whose window then moves on; a stretch is missing in the middle."""
    random = np.random.default_rng(4)
    steps = random.normal(0, 12, (2150, 18, 32)).cumsum(axis=0)
    shown = (128 + 100 * np.sin(steps / 60)).astype(np.uint8)
    found = align(shown, np.concatenate([shown[:1300], shown[1340:]]), 25.0)
    assert found.reason == ""
    assert np.array_equal(found.shown, np.where(found.frames < 1300, found.frames, found.frames + 40))


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
    assert told(found) == (-6, [])
    found = compare(half, whole)
    assert told(found) == (3, [])


@pytest.mark.parametrize("name", ["bigbuckbunny.mp4", "bedroom.mp4", "Tokyo-Walk_rgb.mp4", "03_blocks.mp4"])
def test_real_clips_against_themselves_shifted(media, tmp_path, name):
    shown = [frame.image for frame in stream(media / name, size=(160, 90))]
    info = probe(media / name)
    rebuilt = encode(
        [other_look(image) for image in shown[4:]], info.timeline.rate, tmp_path / "late.mp4",
        reporter=SilentReporter(), total=len(shown) - 4,
    )  # fmt: skip
    found = compare(info, rebuilt)
    assert told(found) == (-4, [])
    assert differing(found) == ["resolution", "frames", "duration"]


def test_a_badly_compressed_twin_is_no_fault(media):
    found = compare(probe(media / "carphone_pristine.mp4"), probe(media / "carphone_distorted.mp4"))
    assert found.passed and told(found) == (0, [])


@pytest.mark.parametrize("pair", [("bigbuckbunny", "bedroom"), ("carphone_pristine", "nasa_13013")])
def test_unrelated_real_clips_have_no_offset(media, pair):
    for first, second in (pair, pair[::-1]):
        found = compare(probe(media / f"{first}.mp4"), probe(media / f"{second}.mp4"))
        assert found.offset_frames is None and found.offset_reason
        assert {fault.kind for fault in found.faults} <= {"frozen", "black"}  # what the one shows while the other moves


def test_each_video_is_decoded_once(reference, images, folder, capsys, monkeypatch):
    """By the whole command: the cuts, the facts and the comparison ride on one pass."""
    from matchcut.evaluator.cli.main import main
    from matchcut.evaluator.media.source import Source

    other = video(folder, "decoded once", [other_look(image) for image in images])
    decoded = Counter()
    frames = Source.decoded

    def counting(self, *arguments, **options):
        for item in frames(self, *arguments, **options):
            decoded[self.path.name] += 1
            yield item

    monkeypatch.setattr(Source, "decoded", counting)
    scans._scans.clear()
    assert main(["check", "--reference", reference.path, "--reconstruction", other.path]) == 0
    assert capsys.readouterr().out.endswith("the timelines agree\n")
    assert decoded == {"decoded once.mp4": COUNT, "reference.mp4": COUNT}
