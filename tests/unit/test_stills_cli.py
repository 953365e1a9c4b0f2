# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut stills`: where both sides' pictures come from, how they are shown, and what is refused."""

import argparse
import json
import subprocess
import sys
from fractions import Fraction

import cv2
import numpy as np
import pytest
from matchcut.evaluator.cli import stills
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.render_job import RenderJob
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.stills.source import our_stills, reference_stills
from matchcut.evaluator.stills.view import GAIN, MODES, comparison
from media_samples import pictures, write_video
from PIL import Image

RATE = Fraction(24000, 1001)


def encoded(path, images, rate=RATE):
    encode(images, rate, path, reporter=SilentReporter(), total=len(images))
    return path


@pytest.fixture(scope="module")
def images():
    return pictures(8, width=192, height=108)


@pytest.fixture(scope="module")
def reference(tmp_path_factory, images):
    return encoded(tmp_path_factory.mktemp("reference") / "reference.mp4", images)


def given(reference, folder, **changes):
    values = {
        "reference": reference, "ours": reference, "frames": "0", "mode": "side", "amount": 0.5, "size": 1024,
        "no_colour": "", "out": folder / "stills.jpg", "json": False, "messages": False,
    }  # fmt: skip
    return argparse.Namespace(**{**values, **changes})


def compared(reference, folder, **changes):
    return stills.compared(given(reference, folder, **changes), SilentReporter())


def numbered(folder, images, *, first=0):
    folder.mkdir(parents=True, exist_ok=True)
    for place, image in enumerate(images):
        Image.fromarray(image).save(folder / f"{first + place:06d}.png")
    return folder


def timeline(frames=8, rate=RATE):
    return Timeline(192, 108, rate, frames)


# --- where the pictures come from -------------------------------------------------------------------------------------


def test_the_reference_comes_with_its_neighbours(reference):
    found, own = reference_stills(reference, [0, 5, 7])
    assert sorted(found) == [0, 1, 4, 5, 6, 7] and own == timeline()
    with pytest.raises(BadInputError, match=r"frame 8 was asked for, but its frames are 0 … 7"):
        reference_stills(reference, [2, 8])


def test_a_video_at_another_rate_is_met_by_time(tmp_path, images):
    twice = encoded(tmp_path / "twice.mp4", [image for image in images for _ in range(2)], RATE * 2)
    found = our_stills(twice, [0, 3], [4], timeline())
    assert found.own == {0: 0, 3: 6, 4: 8}
    half = our_stills(encoded(tmp_path / "half.mp4", images[::2], RATE / 2), [2, 3], [], timeline())
    assert half.own == {2: 1, 3: 1}
    with pytest.raises(BadInputError, match=r"has ended by the reference's frame 6; its last frame is 2 at"):
        our_stills(encoded(tmp_path / "short.mp4", images[:3]), [1, 6], [], timeline())
    assert our_stills(tmp_path / "short.mp4", [2], [3], timeline()).own == {2: 2}


def test_a_job_s_pictures_come_before_its_video(tmp_path, images):
    job = tmp_path / "job"
    numbered(job / "frames", images[2:5], first=2)
    found = our_stills(job, [2, 4], [5, 3], timeline())
    assert sorted(found.pictures) == [2, 3, 4] and (found.pictures[4] == images[4]).all()
    with pytest.raises(BadInputError, match=r"frame 6 is not there; there are 2-4"):
        our_stills(job, [6], [], timeline())
    encoded(job / "reconstruction.mp4", images)
    assert our_stills(job, [4, 6], [], timeline()).own == {4: 4, 6: 6}
    numbered(tmp_path / "plain", images[7:], first=7)
    assert our_stills(tmp_path / "plain", [7], [], timeline()).own == {7: 7}
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInputError, match="the folder has none"):
        our_stills(tmp_path / "empty", [0], [], timeline())
    with pytest.raises(BadInputError, match="no such video or folder"):
        our_stills(tmp_path / "nothing", [0], [], timeline())


def test_a_job_of_another_reference_is_told(tmp_path, images):
    job = tmp_path / "job"
    numbered(job / "frames", images)
    record = RenderJob("scene.blend", timeline(), 0, 7)
    (job / "job.json").write_text(json.dumps(record.to_json()))
    assert our_stills(job, [0], [], timeline()).own == {0: 0}
    with pytest.raises(BadInputError, match=r"rendered at 23.976 frames per second, the reference runs at 25"):
        our_stills(job, [0], [], timeline(rate=Fraction(25)))


def test_pictures_of_16_bits_and_turned_videos_are_read(tmp_path, images):
    folder = tmp_path / "deep"
    folder.mkdir()
    deep = images[0].astype(np.uint16)[..., ::-1] * 257
    (folder / "000000.png").write_bytes(cv2.imencode(".png", deep)[1].tobytes())
    turned = write_video(tmp_path / "turned.mp4", images, rate=RATE, rotation=90)
    assert (our_stills(folder, [0], [], timeline()).pictures[0] == images[0]).all()
    found, own = reference_stills(turned, [1])
    assert (own.width, own.height) == (108, 192) and found[1].shape == (192, 108, 3)
    data = compared(turned, tmp_path, ours=turned, frames="1")
    assert data["frames"][0]["framing"]["score"] > 0.9


# --- how they are shown -----------------------------------------------------------------------------------------------


def flat(colour, width=160, height=90):
    return np.full((height, width, 3), colour, np.uint8)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("count", [1, 3, 8])
@pytest.mark.parametrize("shape", [(1920, 1080), (108, 192), (64, 64), (400, 50)])
def test_every_picture_stays_within_its_size_and_uses_it(mode, count, shape):
    pair = (flat(200, *shape), flat(60, *shape))
    whole = comparison([pair] * count, range(count), range(count), [0.0] * count, mode=mode, amount=0.5, longest=1024)
    assert max(whole.shape[:2]) <= 1024 and whole.dtype == np.uint8
    bright, dark = ((np.abs(whole.astype(int) - grey).max(axis=2) <= 2).mean() for grey in (200, 60))
    used = {"side": bright + dark, "wipe": bright + dark, "overlay": (whole == 130).mean(), "difference": 1}[mode]
    assert max(whole.shape[:2]) > 900 or count > 1
    assert used > 0.35
    if mode in ("side", "wipe"):
        assert bright == pytest.approx(dark, abs=0.05)


def test_each_mode_shows_what_it_says(artifacts):
    pair = [(flat((200, 40, 40)), flat((40, 40, 220)))]

    def shown(mode, amount=0.5):
        return comparison(pair, [3], [7], [0.125], mode=mode, amount=amount, longest=512)

    wipe = shown("wipe", 0.25)
    middle = wipe[wipe.shape[0] * 2 // 3]
    red, blue = (middle[:, 0] > 150) & (middle[:, 1] < 60), (middle[:, 2] > 150) & (middle[:, 1] < 60)
    assert red.mean() == pytest.approx(0.25, abs=0.03) and blue.mean() == pytest.approx(0.75, abs=0.03)
    assert np.flatnonzero(red).max() < np.flatnonzero(blue).min(), "the reference is at the left"
    assert (shown("wipe", 0.0)[-9, 9:-9] == (40, 40, 220)).all() and (
        shown("wipe", 1.0)[-9, 9:-9] == (200, 40, 40)
    ).all()
    assert (shown("overlay", 0.25)[-9, 99] == (160, 40, 85)).all()
    assert (shown("difference")[-9, 99] == np.minimum((160 * GAIN, 0, 180 * GAIN), 255)).all()
    same = comparison([(pair[0][0], pair[0][0])], [0], [0], [0.0], mode="difference", amount=0, longest=256)
    assert (same[-9, 20:-20] == 0).all()


def test_pictures_of_another_shape_keep_it_beside_each_other():
    whole = comparison(
        [(flat(200), flat((10, 200, 90), 90, 90))], [0], [0], [0.0], mode="side", amount=0.5, longest=1024
    )
    rows, columns = np.nonzero((whole == (10, 200, 90)).all(axis=2))
    assert np.ptp(rows) == pytest.approx(np.ptp(columns), abs=2)


# --- the command ------------------------------------------------------------------------------------------------------


def test_a_video_against_itself_is_alike_in_everything(reference, tmp_path):
    data = compared(reference, tmp_path, frames="0,4,7")
    image = Image.open(data["file"])
    assert image.size == (data["width"], data["height"]) and image.format == "JPEG"
    assert [one["frame"] for one in data["frames"]] == [0, 4, 7] == [one["own_frame"] for one in data["frames"]]
    for one in data["frames"]:
        assert one["framing"]["score"] == pytest.approx(1) and one["silhouette"]["overlap"] == 1
        assert one["colour"]["difference"] == 0 and one["motion"]["error"] == 0
    assert len(data["lines"]) == 15 and data["lines"][5] == "frame 4 (0.167 s) against ours 4:"
    json.dumps(data, allow_nan=False)


def test_a_video_of_half_the_rate_has_no_motion_of_its_own(reference, tmp_path, images):
    half = encoded(tmp_path / "half.mp4", images[::2], RATE / 2)
    data = compared(reference, tmp_path, ours=half, frames="2")
    motion = data["frames"][0]["motion"]
    assert motion["error"] is None and "its rate is lower" in motion["reason"]


def test_a_reference_of_one_frame_has_no_motion(tmp_path, images):
    one = encoded(tmp_path / "one.mp4", images[:1])
    assert compared(one, tmp_path, ours=one)["frames"][0]["motion"]["reason"] == "the reference has one frame"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"frames": "0,x"}, "frames count from 0"),
        ({"frames": "0-8"}, "9 frames were asked for"),
        ({"frames": "8"}, "its frames are 0 … 7"),
        ({"size": 2000}, "from 64 to 1024"),
        ({"amount": 1.5}, "--amount 1.5"),
        ({"amount": float("nan")}, "--amount nan"),
        ({"out": "stills.png"}, "ends in .jpg"),
        ({"ours": "nothing.mp4"}, "no such video or folder"),
        ({"reference": "nothing.mp4"}, "nothing.mp4"),
    ],
)
def test_bad_input_is_one_line(reference, tmp_path, changes, text):
    paths = {name: tmp_path / value for name, value in changes.items() if name in ("out", "ours", "reference")}
    with pytest.raises(BadInputError) as caught:
        stills.compared(
            argparse.Namespace(**{**vars(given(reference, tmp_path)), **changes, **paths}), SilentReporter()
        )
    assert text in str(caught.value) and len(str(caught.value).splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_command_says_the_numbers_and_writes_the_picture(root, reference, tmp_path):
    out = tmp_path / "stills.jpg"
    command = [sys.executable, str(root / "__main__.py"), "stills", "--reference", reference, "--ours", reference]
    done = subprocess.run(
        [*map(str, command), "--frames", "1", "--mode", "wipe", "--out", str(out)], capture_output=True, text=True,
        timeout=120, check=True,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert lines[0] == str(out) and lines[1].startswith("frame 1 (0.042 s)") and lines[2].startswith("framing: ours")
    assert out.stat().st_size < 700_000
