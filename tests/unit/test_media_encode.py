# SPDX-License-Identifier: GPL-3.0-or-later
"""Encoding: the exact rate, every picture once, the right colours, the same bytes, and nothing left of a failure."""

from fractions import Fraction

import av
import cv2
import numpy as np
import pytest
from matchcut.evaluator.media.decode import stream
from matchcut.evaluator.media.encode import check_rate, check_size, encode, meant_rate
from matchcut.evaluator.media.pictures import common_size, picture_sequence, read_picture
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


@pytest.mark.parametrize("rate", ["2997/125", "24", "2399/100"])
def test_two_pictures_may_have_a_rate_beside_a_usual_one(tmp_path, rate):
    info = encode(pictures(2), Fraction(rate), tmp_path / "out.mp4", reporter=SilentReporter(), total=2)
    assert info.timeline.rate == Fraction(rate)


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


@pytest.mark.parametrize(
    ("size", "said"),
    [
        ((33, 32), "33x32 is odd"),
        ((32, 33), "32x33 is odd"),
        ((0, 32), "no size"),
        ((16386, 32), "16384"),
        ((32, 16386), "16384"),
        ((8192, 4400), "139,264"),
    ],
)
def test_a_size_that_cannot_be_held_is_named_with_its_limit(size, said):
    with pytest.raises(BadInputError, match=said) as caught:
        check_size(*size, "scene.blend")
    assert str(caught.value).startswith("scene.blend: ") and "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [(2, 2), (7680, 4320), (4096, 8192), (16384, 2176)])
def test_sizes_that_can_be_held(size):
    check_size(*size, "x")


def test_the_smallest_and_the_longest_picture_are_encoded(tmp_path):
    for width, height in ((2, 2), (16384, 2), (2, 16384)):
        image = np.zeros((height, width, 3), np.uint8)
        info = encode([image], Fraction(24), tmp_path / "out.mp4", reporter=SilentReporter(), total=1)
        assert (info.timeline.width, info.timeline.height) == (width, height)


@pytest.mark.parametrize("rate", ["1000", "1/10000", "7/100000", "268435455/268435456", "1610612737/67108864"])
def test_the_outermost_rates_are_held_exactly(tmp_path, rate):
    info = encode(pictures(6), Fraction(rate), tmp_path / "out.mp4", reporter=SilentReporter(), total=6)
    assert (info.timeline.rate, info.timeline.frames) == (Fraction(rate), 6)


@pytest.mark.parametrize("rate", ["1001", "1/100000", "536870911/536870912", "5000000000/2500000001", "10000000000"])
def test_a_rate_beyond_is_refused_before_any_work(tmp_path, rate):
    with pytest.raises(BadInputError, match="rate"):
        check_rate(Fraction(rate))
    refused(tmp_path, pictures(1), 1, "rate", rate=Fraction(rate))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("23.976", "24000/1001"), ("23.98", "24000/1001"), ("29.97", "30000/1001"), ("59.94", "60000/1001"),
        ("24000/1001", None), ("24", None), ("25", None), ("23.5", None), ("30.01", None), ("23040000/767849", None),
    ],
)  # fmt: skip
def test_a_rounded_rate_is_told_from_an_exact_one(text, meant):
    assert meant_rate(Fraction(text)) == (None if meant is None else Fraction(meant))


def put(folder, *names, size=(4, 2)):
    folder.mkdir(exist_ok=True)
    for name in names:
        Image.new("RGB", size).save(folder / name)
    return folder


def test_pictures_come_in_the_order_of_their_numbers(tmp_path):
    plain = put(tmp_path / "plain", *(f"shot2 {number}.png" for number in range(8, 12)))
    assert [path.name for path in picture_sequence(plain).files] == [f"shot2 {n}.png" for n in (8, 9, 10, 11)]
    padded = put(tmp_path / "padded", *(f"v2_{number:03d}_left.PNG" for number in range(998, 1002)))
    (padded / ".DS_Store").touch()
    (padded / "Thumbs.db").touch()
    (padded / "notes.txt").touch()
    found = picture_sequence(padded)
    assert [path.name for path in found.files] == [f"v2_{n}_left.PNG" for n in (998, 999, 1000, 1001)]
    assert (found.first, found.passed_over) == (998, ("notes.txt",))
    later = picture_sequence(padded, first=1000)
    assert (later.first, len(later.files)) == (1000, 2)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a1.png", "a2.png", "a4.png", "a7.png"], ["3 missing", "a2.png", "a4.png", "--first 4"]),
        (["a01.png", "a1.png"], ["a01.png", "same digits"]),
        (["a08.png", "a09.png", "a010.png"], ["a010.png", "same digits"]),
        (["a1.png", "b2.png"], ["b2.png", "a1.png", "another sequence"]),
        (["a1.png", "a2.jpg"], ["a2.jpg", "another sequence"]),
        (["a1.png", "cover.png"], ["cover.png", "no number"]),
        ([], ["holds no pictures"]),
    ],
)
def test_a_folder_that_is_no_sequence_is_named(tmp_path, names, said):
    folder = put(tmp_path / "frames", *names)
    with pytest.raises(BadInputError) as caught:
        picture_sequence(folder)
    assert all(part in str(caught.value) for part in said) and "\n" not in str(caught.value)


def test_folders_that_cannot_be_taken(tmp_path):
    with pytest.raises(BadInputError, match="no such folder"):
        picture_sequence(tmp_path / "none")
    folder = put(tmp_path / "frames", "1.png", "2.png")
    with pytest.raises(BadInputError, match="no picture with the number 3"):
        picture_sequence(folder, first=3)
    (folder / "0001.exr").touch()
    with pytest.raises(BadInputError, match=r"0001\.exr: scene-linear"):
        picture_sequence(folder)


def test_one_size_for_all(tmp_path):
    folder = put(tmp_path / "frames", "1.png", "2.png")
    put(folder, "3.png", size=(4, 6))
    with pytest.raises(BadInputError, match=r"3\.png: 4x6, but 1\.png is 4x2"):
        common_size(picture_sequence(folder).files)
    (folder / "3.png").write_text("no picture")
    with pytest.raises(BadInputError, match=r"3\.png: cannot be read"):
        common_size(picture_sequence(folder).files)


@pytest.mark.parametrize("ending", ["png", "tiff"])
def test_16_bits_are_rounded_and_not_cut_off(tmp_path, ending):
    values = np.array([0, 128, 129, 256, 257, 385, 386, 32767, 32768, 65406, 65407, 65535], np.uint16)
    expected = np.round(values / 257).astype(np.uint8)
    path = tmp_path / f"ü.{ending}"
    colours = np.stack([values, values[::-1], np.full_like(values, 20000)], axis=-1)[None]
    path.write_bytes(cv2.imencode(f".{ending}", colours[..., ::-1])[1].tobytes())
    image = read_picture(path)
    assert image.dtype == np.uint8 and image.shape == (1, 12, 3)
    assert (image[0, :, 0] == expected).all() and (image[0, :, 1] == expected[::-1]).all()
    path.write_bytes(cv2.imencode(f".{ending}", values[None])[1].tobytes())  # one channel
    assert (read_picture(path) == expected[None, :, None]).all()


def test_transparency_is_named_and_an_opaque_alpha_is_taken(tmp_path):
    image = np.full((4, 4, 4), 255, np.uint8)
    path = tmp_path / "1.png"
    Image.fromarray(image).save(path)
    assert (read_picture(path) == 255).all()
    deep = image.astype(np.uint16) * 257
    path.write_bytes(cv2.imencode(".png", deep)[1].tobytes())
    assert (read_picture(path) == 255).all()
    deep[0, 0, 3] = 65534
    path.write_bytes(cv2.imencode(".png", deep)[1].tobytes())
    with pytest.raises(BadInputError, match=r"1\.png: transparent pixels"):
        read_picture(path)
    image[0, 0, 3] = 254
    Image.fromarray(image).save(path)
    with pytest.raises(BadInputError, match=r"1\.png: transparent pixels"):
        read_picture(path)
    Image.fromarray(np.ones((4, 4), np.float32)).save(tmp_path / "2.tiff")
    with pytest.raises(BadInputError, match="neither 8 nor 16 bits"):
        read_picture(tmp_path / "2.tiff")


def test_every_kind_of_picture_that_is_named_is_read(tmp_path):
    for mode in ("RGB", "RGBA", "L", "P", "1"):
        Image.new(mode, (6, 4), 255 if mode in "1L" else None).save(tmp_path / "1.png")
        if mode != "RGBA":  # new ones are transparent
            assert read_picture(tmp_path / "1.png").shape == (4, 6, 3)
    for ending in ("jpg", "tif"):
        Image.new("RGB", (6, 4), (200, 100, 50)).save(tmp_path / f"1.{ending}")
        assert np.abs(read_picture(tmp_path / f"1.{ending}").astype(int) - (200, 100, 50)).max() <= 3


def test_a_finer_quantiser_is_nearer_to_the_pictures(tmp_path):
    images = pictures(4, width=96, height=64)
    errors = []
    for quantiser in (30, 16, 8):
        encode(images, Fraction(24), tmp_path / "out.mp4", reporter=SilentReporter(), total=4, quantiser=quantiser)
        shown = stream(tmp_path / "out.mp4")
        errors.append(np.mean([np.mean((a.astype(float) - b.image) ** 2) for a, b in zip(images, shown, strict=True)]))
    assert errors == sorted(errors, reverse=True)
