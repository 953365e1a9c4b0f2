# SPDX-License-Identifier: GPL-3.0-or-later
"""Encoding: the exact rate, every picture once, the right colours, the same bytes, and nothing left of a failure."""

from fractions import Fraction

import av
import numpy as np
import pytest
from matchcut.evaluator.media.decode import stream
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.messages import SilentReporter
from media_samples import HEIGHT, WIDTH, pictures
from PIL import Image

RATES = ["24000/1001", "30000/1001", "2997/125", "24", "25", "15", "45000/1499", "60", "1", "23040000/767849"]


class Counting(SilentReporter):
    def __init__(self):
        self.steps = []

    def progress(self, stage, done, total, text=""):
        self.steps.append((stage, done, total))


@pytest.mark.parametrize("rate", RATES)
def test_rate_count_and_first_time_are_exact(tmp_path, rate):
    rate, out, reporter = Fraction(rate), tmp_path / "deep" / "out.mp4", Counting()
    info = encode(pictures(30), rate, out, reporter=reporter, total=30)
    assert info == probe(out)
    assert (info.timeline.rate, info.timeline.frames) == (rate, 30)
    assert (info.timeline.width, info.timeline.height) == (WIDTH, HEIGHT)
    assert info.constant_rate and info.start_seconds == 0 and info.header_frames == 30 and not info.warnings
    assert reporter.steps == [("encode", done, 30) for done in range(1, 31)]
    times = [frame.time for frame in stream(out)]
    assert times == [index / rate for index in range(30)]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_very_short_videos(tmp_path, count):
    info = encode(pictures(count), Fraction(24000, 1001), tmp_path / "out.mp4", reporter=SilentReporter(), total=count)
    assert (info.timeline.frames, info.timeline.rate) == (count, Fraction(24000, 1001))


def test_pictures_come_back_in_order_and_colour(tmp_path):
    images = pictures(20)
    files = []
    for index, image in enumerate(images):
        files.append(tmp_path / f"ü {index:06d}.png")
        Image.fromarray(image).save(files[-1])
    out = tmp_path / "out.mp4"
    encode(files, Fraction(24), out, reporter=SilentReporter(), total=20)
    for image, frame in zip(images, stream(out), strict=True):
        difference = np.abs(image.astype(float) - frame.image).mean()
        assert difference < 4, frame.index
    with av.open(str(out)) as container:
        frame = next(container.decode(video=0))
        assert (frame.colorspace, frame.color_range, frame.color_primaries, frame.color_trc) == (1, 1, 1, 1)
        assert container.streams.video[0].codec_context.pix_fmt == "yuv420p"
    data = out.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")


@pytest.mark.parametrize("colour", [(200, 60, 30), (20, 200, 90), (0, 0, 0), (255, 255, 255), (128, 128, 128)])
def test_flat_colours_survive(tmp_path, colour):
    image = np.full((32, 32, 3), colour, np.uint8)
    encode([image] * 3, Fraction(24), tmp_path / "out.mp4", reporter=SilentReporter(), total=3)
    for frame in stream(tmp_path / "out.mp4"):
        assert np.abs(frame.image.astype(int) - colour).max() <= 3


def test_equal_pictures_give_equal_bytes(tmp_path):
    images = pictures(40, width=192, height=128)
    for name in ("a.mp4", "b.mp4"):
        encode(images, Fraction(24000, 1001), tmp_path / name, reporter=SilentReporter(), total=40)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()


def refused(tmp_path, given, total, *parts, rate=Fraction(24), error=BadInputError):
    with pytest.raises(error) as caught:
        encode(given, rate, tmp_path / "out" / "out.mp4", reporter=SilentReporter(), total=total)
    text = str(caught.value)
    assert "\n" not in text and all(part in text for part in parts), text
    assert not list((tmp_path / "out").glob("*"))


def test_an_odd_size_is_refused_before_any_work(tmp_path):
    image = np.zeros((33, 32, 3), np.uint8)
    path = tmp_path / "odd.png"
    Image.fromarray(image).save(path)
    refused(tmp_path, [path] * 3, 3, str(path), "32x33", "even")
    assert not (tmp_path / "out").exists()


def test_another_size_among_the_pictures_names_the_file(tmp_path):
    good, other = tmp_path / "good.png", tmp_path / "other.png"
    Image.new("RGB", (32, 32)).save(good)
    Image.new("RGB", (32, 34)).save(other)
    refused(tmp_path, [good, other], 2, str(other), "32x34", "32x32")


def test_too_few_and_too_many_pictures_are_refused(tmp_path):
    refused(tmp_path, pictures(3), 4, "3 pictures", "4")
    refused(tmp_path, pictures(3), 2, "picture 2", "2 pictures")
    refused(tmp_path, [], 1, "no pictures")
    refused(tmp_path, [], 0, "no pictures")


def test_pictures_that_cannot_be_read_are_named(tmp_path):
    good = tmp_path / "good.png"
    Image.new("RGB", (32, 32)).save(good)
    cut = tmp_path / "cut.png"
    Image.fromarray(pictures(1)[0]).save(cut)
    cut.write_bytes(cut.read_bytes()[:200])
    text = tmp_path / "text.png"
    text.write_text("no picture")
    refused(tmp_path, [good, tmp_path / "missing.png"], 2, "missing.png", "no such picture")
    refused(tmp_path, [cut, good], 2, "cut.png", "cannot be read")
    refused(tmp_path, [text, good], 2, "text.png", "cannot be read")
    refused(tmp_path, [np.zeros((32, 32), np.uint8)], 1, "picture 0", "(32, 32)")


def test_a_rate_that_no_file_can_hold_is_refused(tmp_path):
    refused(tmp_path, pictures(1), 1, "too large", rate=Fraction(10**12, 10**11 + 1))


def test_an_interrupt_leaves_nothing(tmp_path):
    def interrupted():
        yield from pictures(5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode(interrupted(), Fraction(24), tmp_path / "out" / "out.mp4", reporter=SilentReporter(), total=50)
    assert not list((tmp_path / "out").iterdir())


def test_a_file_that_is_not_what_was_asked_for_is_not_kept(tmp_path, monkeypatch):
    from matchcut.evaluator.media import encode as module

    def other(path):
        info = probe(path)
        return info.model_copy(update={"start_seconds": 0.04})

    monkeypatch.setattr(module, "probe", other)
    refused(tmp_path, pictures(3), 3, "was asked for", error=OperationalError)


def test_a_missing_encoder_is_named(tmp_path, monkeypatch):
    from matchcut.evaluator.media import encode as module

    monkeypatch.setattr(module, "ENCODER", "libx264_that_is_not_there")
    refused(tmp_path, pictures(3), 3, "libx264_that_is_not_there", "PyAV", error=OperationalError)
