# SPDX-License-Identifier: GPL-3.0-or-later
"""What `matchcut probe` tells a program about a reference besides its record: a picture, and what Conform mends."""

import json
from fractions import Fraction

import cv2
import pytest
from matchcut.addon.sidebar.reference import watch
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.cli.probe import to_conform
from matchcut.evaluator.media.conform import conform
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.messages import SilentReporter
from media_samples import pictures, write_video


@pytest.fixture(scope="module")
def images():
    return pictures(12)


def told(capsys, *arguments):
    """The results that a program hears, in order."""
    assert main([*map(str, arguments), "--messages"]) == 0
    messages = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [message for message in messages if message["type"] == "result"]


def test_the_picture_and_the_size_come_before_the_long_pass(images, tmp_path, capsys):
    path = write_video(tmp_path / "plain.mp4", images)
    first, last = told(capsys, "probe", path, "--shots", "--picture", tmp_path / "cache" / "first.png")
    assert first["data"] == {"size": [96, 64]} and last["data"]["timeline"]["frames"] == 12
    assert last["data"]["shots"]["intervals"] == [[0, 11]] and last["data"]["conform"] == []
    picture = cv2.cvtColor(cv2.imread(first["path"]), cv2.COLOR_BGR2RGB)
    assert picture.shape == (64, 96, 3) and abs(picture.astype(int) - images[0]).mean() < 4


def test_the_picture_is_small_upright_and_kept_in_shape(tmp_path, capsys):
    path = write_video(tmp_path / "turned.mp4", pictures(2, width=640, height=360), rotation=90)
    first, last = told(capsys, "probe", path, "--picture", tmp_path / "first.jpg")
    assert first["data"] == {"size": [360, 640]} and cv2.imread(first["path"]).shape == (256, 144, 3)
    assert any("turned by" in text for text in last["data"]["conform"])


def test_a_picture_needs_the_name_of_one(images, tmp_path, capsys):
    path = write_video(tmp_path / "plain.mp4", images)
    assert main(["probe", str(path), "--picture", str(tmp_path / "first.txt")]) == 2
    assert "a picture is a PNG or a JPEG file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rate": Fraction(60), "time_base": Fraction(1, 60),
          "timestamps": [0, 1, 3, 4, 7, 8, 9, 12, 13, 15, 16, 18]}, "frame rate varies"),
        ({"timestamps": [0, 1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14]}, "1 hole in the timestamps"),
        ({"rotation": -90}, "turned by"),
        ({"aspect": Fraction(4, 3)}, "pixels are not square"),
    ],
)  # fmt: skip
def test_conform_mends_what_it_says_it_would(images, tmp_path, options, said):
    path = write_video(tmp_path / "odd.mp4", images, **options)
    assert any(said in text for text in to_conform(probe(path))), to_conform(probe(path))
    conform(path, None, tmp_path / "out.mp4", reporter=SilentReporter())
    assert to_conform(probe(tmp_path / "out.mp4")) == []


def test_a_file_is_known_again_by_its_content(tmp_path):
    path, copy = tmp_path / "a.mp4", tmp_path / "b.mp4"
    path.write_bytes(bytes(range(256)) * 2000)
    mark = watch.mark_of(path)
    copy.write_bytes(path.read_bytes())
    assert watch.look(path, mark) == watch.look(copy, mark) == "same"
    assert watch.digest_in(mark) == watch.digest_in(watch.mark_of(copy)) and len(watch.digest_in(mark)) == 32
    copy.write_bytes(path.read_bytes()[:-1] + b"x")
    assert watch.look(copy, mark) == "changed" and watch.known_state(copy, mark) == "changed"
    assert watch.look(tmp_path, mark) == watch.look(tmp_path / "none", mark) == "missing"
    assert watch.look(tmp_path / "a\0b", mark) == "missing"
    assert watch.look(copy, "") == "same", "a file of an earlier version carries no mark"
    watch.forget()
    assert watch.known_state(copy, mark) == "same", "nobody has looked"
