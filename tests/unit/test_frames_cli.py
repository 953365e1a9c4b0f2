# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut frames`: the frames that are asked for are those that are shown, where the answer says, and no others."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.media.moments import overview, parse_frames
from matchcut.evaluator.media.sheet import MOST_BYTES, Crop, detail, jpeg_within
from matchcut.evaluator.protocol.errors import BadInputError
from media_hostile import make_refused
from media_samples import pictures, write_video
from PIL import Image

FRAMES = 41


def level_of(frame):
    """The grey by which a frame is known: neighbours differ by far more than the codecs change."""
    return 20 + frame * 53 % 211


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    """B-frames, keyframes at odd distances, a rate of 24000/1001; every frame is one even grey."""
    folder = tmp_path_factory.mktemp("frames")
    images = [np.full((90, 160, 3), level_of(frame), np.uint8) for frame in range(FRAMES)]
    options = {"bf": "3", "g": "7", "b_strategy": "0"}
    return write_video(folder / "grey.mp4", images, rate=Fraction(24000, 1001), options=options)


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    """Two shots of 12 and 10 frames."""
    folder = tmp_path_factory.mktemp("cut")
    second = [255 - picture for picture in pictures(10, seed=8)]
    return write_video(folder / "cut.mp4", [*pictures(12), *second], rate=Fraction(24))


def shown(capsys, out, *arguments):
    """The answer as data, and the pictures."""
    assert main(["frames", *map(str, arguments), "--out", str(out), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    return data, [np.asarray(Image.open(path)) for path in data["files"]]


def test_every_tile_of_a_sheet_is_the_frame_that_it_says(video, tmp_path, capsys):
    data, (sheet,) = shown(capsys, tmp_path / "sheet.jpg", video, "--frames", "0-40")
    assert [tile["frame"] for tile in data["tiles"]] == list(range(FRAMES))
    assert (sheet.shape[1], sheet.shape[0]) == (data["width"], data["height"]) and max(sheet.shape) <= 1024
    for tile in data["tiles"]:
        left, top, width, height = tile["box"]
        middle = sheet[top + 3 : top + height - 3, left + 3 : left + width - 3]
        assert abs(float(middle.mean()) - level_of(tile["frame"])) < 4, tile
        assert abs(tile["seconds"] - tile["frame"] * 1001 / 24000) < 1e-4


@pytest.mark.parametrize("wanted", ["3,17,5", "39", "6,7,8,13,14,15", "40,0"])
def test_single_frames_out_of_groups_with_b_frames_are_the_right_ones(video, tmp_path, capsys, wanted):
    data, images = shown(capsys, tmp_path / "one.jpg", video, "--frames", wanted, "--layout", "single")
    assert [tile["frame"] for tile in data["tiles"]] == sorted(map(int, wanted.split(",")))
    for tile, image in zip(data["tiles"], images, strict=True):
        assert abs(float(image.mean()) - level_of(tile["frame"])) < 4
    if len(images) > 1:
        assert Path(data["files"][0]).name == f"frame-{data['tiles'][0]['frame']:06d}.jpg"


def test_times_name_the_frame_that_is_shown_then_also_as_a_label_has_rounded_them(video, tmp_path, capsys):
    for frame in (0, 1, 5, 6, 23, 40):
        for seconds in (f"{frame * 1001 / 24000:.3f}", f"{(frame + 0.6) * 1001 / 24000:.4f}"):
            data, _ = shown(capsys, tmp_path / "t.jpg", video, "--times", seconds, "--layout", "single")
            assert [tile["frame"] for tile in data["tiles"]] == [frame], seconds


def test_times_of_a_varying_rate_are_the_file_s_own(tmp_path, capsys):
    images = [np.full((48, 64, 3), level_of(frame), np.uint8) for frame in range(6)]
    path = write_video(
        tmp_path / "vfr.mp4", images, rate=Fraction(25), time_base=Fraction(1, 1000),
        timestamps=[0, 40, 200, 240, 900, 940],
    )  # fmt: skip
    data, _ = shown(capsys, tmp_path / "t.jpg", path, "--times", "0.19,0.2,0.5,0.93")
    assert [tile["frame"] for tile in data["tiles"]] == [1, 2, 3, 4]
    assert [tile["seconds"] for tile in data["tiles"]] == [0.04, 0.2, 0.24, 0.9]


def test_an_overview_has_the_ends_of_every_shot_and_marks_the_cut(cut, tmp_path, capsys):
    data, (sheet,) = shown(capsys, tmp_path / "sheet.jpg", cut)
    frames = [tile["frame"] for tile in data["tiles"]]
    assert data["cuts"] == [12] and {0, 11, 12, 21} <= set(frames) and frames == sorted(frames)
    assert [tile["frame"] for tile in data["tiles"] if tile["cut"]] == [12] and "CUT 12 (0.500 s)" in data["text"]
    orange = (sheet[..., 0] > 200) & (sheet[..., 2] < 90)
    left, top, _, height = next(tile["box"] for tile in data["tiles"] if tile["cut"])
    assert orange[top : top + height, left - 4 : left].mean() > 0.5
    other = next(tile["box"] for tile in data["tiles"] if not tile["cut"])
    assert orange[other[1] : other[1] + other[3], other[0] - 4 : other[0]].mean() < 0.1


def test_an_overview_of_many_shots_says_what_it_leaves_out():
    shots = [(3 * index, 3 * index + 2) for index in range(40)]
    frames, left_out = overview(shots, 24)
    assert len(frames) == 24 and left_out == 80 - 24 and set(frames) <= {first for first, _ in shots}
    assert overview([(0, 0)], 24) == ([0], 0) and overview([(0, 3)], 24) == ([0, 1, 2, 3], 0)
    even, _ = overview([(0, 99), (100, 299)], 24)
    assert len(even) == 24 and {0, 99, 100, 299} <= set(even)
    steps = np.diff(even)
    assert steps[steps > 1].min() > 0.6 * steps.max(), "what lies between is spread evenly"


def marked(tmp_path):
    """A video of 320x180 with one white pixel block at (200, 60), 4x4."""
    image = np.full((180, 320, 3), 30, np.uint8)
    image[60:64, 200:204] = 255
    return write_video(tmp_path / "marked.mp4", [image] * 3, pixels="yuv444p")


@pytest.mark.parametrize("crop", ["160,45,80,45", "0.5,0.25,0.25,0.25"])
def test_a_crop_is_in_pixels_or_in_shares_and_its_pixels_lead_back(tmp_path, capsys, crop):
    data, (image,) = shown(
        capsys, tmp_path / "c.jpg", marked(tmp_path), "--frames", 1, "--layout", "single", "--crop", crop
    )
    assert data["crop"] == [160, 45, 80, 45] and data["scale"] == 8.0 and image.shape == (360, 640, 3)
    rows, columns = np.nonzero(image[..., 0] > 150)
    x, y = (columns.mean() + 0.5) / data["scale"] - 0.5 + 160, (rows.mean() + 0.5) / data["scale"] - 0.5 + 45
    assert abs(x - 201.5) < 0.3 and abs(y - 61.5) < 0.3
    assert "160 + (x + 0.5)/8 - 0.5" in data["text"]


def test_the_grid_s_lines_are_at_the_pixels_that_they_name():
    picture = np.full((180, 320, 3), 90, np.uint8)
    shown_picture, scale = detail(picture, Crop(100, 40, 100, 100), 800, grid=True)
    bright = (shown_picture[300:, :, 0] > 120).mean(axis=0) > 0.9
    wanted = [round((value + 0.5 - 100) * scale - 0.5) for value in (100, 120, 140, 160, 180)]
    assert np.flatnonzero(bright).tolist() == wanted
    plain, _ = detail(picture, Crop(100, 40, 100, 100), 800, grid=False)
    assert (plain == 90).all()


def test_pictures_are_small_enough_whatever_they_show(tmp_path, capsys):
    noise = np.random.default_rng(0).integers(0, 256, (1024, 1024, 3), np.uint8)
    assert len(jpeg_within(noise)) <= MOST_BYTES
    video = write_video(tmp_path / "noise.mp4", [noise[:576]] * 2, options={"crf": "1"})
    data, images = shown(capsys, tmp_path / "n.jpg", video, "--frames", "0,1", "--layout", "single")
    assert sum(Path(path).stat().st_size for path in data["files"]) <= MOST_BYTES
    assert all(max(image.shape) <= 1024 for image in images)


def test_turned_portrait_and_odd_videos_are_shown_upright(tmp_path, capsys):
    portrait = write_video(tmp_path / "p.mp4", pictures(4, width=64, height=150))
    data, _ = shown(capsys, tmp_path / "p.jpg", portrait)
    assert data["size"] == [64, 150] and all(tile["box"][3] > tile["box"][2] for tile in data["tiles"])
    turned = write_video(tmp_path / "r.mp4", pictures(4), rotation=90)
    data, _ = shown(capsys, tmp_path / "r.jpg", turned, "--frames", 3)
    assert data["size"] == [64, 96] and data["tiles"][0]["box"][3] > data["tiles"][0]["box"][2]
    odd = write_video(tmp_path / "o.mp4", pictures(2, width=95, height=63), pixels="yuv444p")
    data, (image,) = shown(capsys, tmp_path / "o.jpg", odd, "--frames", 1, "--layout", "single")
    assert data["size"] == [95, 63] and image.shape[1::-1] == (760, 504)
    one = write_video(tmp_path / "1.mp4", pictures(1))
    assert [tile["frame"] for tile in shown(capsys, tmp_path / "1.jpg", one)[0]["tiles"]] == [0]


def test_lists_of_frames_are_read_strictly():
    assert parse_frames("0,12,24-26,30-50:10") == [0, 12, 24, 25, 26, 30, 40, 50]
    for text in ("", "-1", "1.5", "a", "5-3", "1,,2", "0-99999999", "3:2"):
        with pytest.raises(BadInputError, match="frames"):
            parse_frames(text)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--frames", "41"], "its frames are 0 to 40"),
        (["--frames=-1"], "frames count from 0"),
        (["--times=-0.5"], "times are seconds"),
        (["--times", "1.72"], "it is shown from 0 to 1.710 s"),
        (["--times", "nan"], "times are seconds"),
        (["--frames", "1", "--times", "1"], "give one of them"),
        (["--frames", "0-8", "--layout", "single"], "8 are shown at most"),
        (["--crop", "0,0,161,90"], "which is 160x90 pixels"),
        (["--crop=-4,0,30,30"], "reaches beyond the picture"),
        (["--crop", "10,10,4,4"], "8 is least"),
        (["--crop", "1,2,3"], "x,y,width,height"),
        (["--crop", "nan,0,1,1"], "no number"),
        (["--crop", "0.5,0.5,0,0"], "8 is least"),
        (["--grid"], "--layout single"),
        (["--size", "4000"], "from 64 to 1024"),
    ],
)
def test_what_cannot_be_shown_is_one_line_and_nothing_is_written(video, tmp_path, capsys, arguments, said):
    out = tmp_path / "out" / "x.jpg"
    assert main(["frames", str(video), *arguments, "--out", str(out)]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("matchcut: ")]
    assert len(lines) == 1 and said in lines[0]
    assert not out.parent.exists()


def test_files_that_are_no_videos_are_refused(tmp_path, capsys):
    for name, said in make_refused(tmp_path, pictures(4), write_video):
        assert main(["frames", str(tmp_path / name), "--out", str(tmp_path / "out" / "x.jpg")]) == 2, name
        error = capsys.readouterr().err
        assert said in error and "Traceback" not in error and sum(
            line.startswith("matchcut: ") for line in error.splitlines()
        ) == 1  # fmt: skip
    assert not (tmp_path / "out").exists()


def test_every_command_of_the_page_about_studying_runs(root, cut, tmp_path, capsys, monkeypatch):
    (tmp_path / "shot.mp4").write_bytes(cut.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MATCHCUT_CACHE_FOLDER", str(tmp_path / "cache"))
    page = (root / "docs" / "study.md").read_text(encoding="utf-8")
    commands = [line.split("#")[0].split() for line in page.splitlines() if line.startswith("matchcut ")]
    assert len(commands) >= 5
    for command in commands:
        assert main(command[1:]) == 0, command
    capsys.readouterr()
    assert (tmp_path / "sheet.jpg").is_file() and (tmp_path / "corner.jpg").is_file()
    assert len(list((tmp_path / "moments").iterdir())) == 2
