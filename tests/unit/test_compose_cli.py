# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut conform`, `encode` and `compare` as a person and as a program run them."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.media.conform import Conformed
from matchcut.evaluator.media.decode import stream
from matchcut.evaluator.media.pairs import pair_image
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.media.records import VideoInfo
from media_samples import pictures, write_video
from PIL import Image


@pytest.fixture
def frames(tmp_path):
    folder = tmp_path / "frames"
    folder.mkdir()
    for number, image in enumerate(pictures(6), start=11):
        Image.fromarray(image).save(folder / f"{number:04d}.png")
    return folder


def messages(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def one_line(capsys):
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("matchcut:")]
    return line


def test_encode_says_what_came_out(frames, tmp_path, capsys):
    out = tmp_path / "out.mp4"
    assert main(["encode", str(frames), "--rate", "24000/1001", "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "0011.png … 0016.png" in text and "24000/1001" in text and "6 decoded" in text and "quantiser 16" in text
    info = probe(out)
    assert (info.timeline.rate, info.timeline.frames) == (Fraction(24000, 1001), 6)
    assert (info.colour.matrix, info.colour.primaries, info.colour.transfer, info.colour.range) == (
        "bt709", "bt709", "bt709", "limited",
    )  # fmt: skip


def test_encode_from_a_number_on_as_json_and_messages(frames, tmp_path, capsys):
    (frames / "notes.txt").touch()
    arguments = ["encode", str(frames), "--rate", "25", "--out", str(tmp_path / "out.mp4"), "--first", "14"]
    assert main([*arguments, "--json"]) == 0
    captured = capsys.readouterr()
    data = json.loads(captured.out)
    assert "notes.txt" in captured.err
    assert VideoInfo.model_validate(data["video"]) == probe(tmp_path / "out.mp4")
    assert (data["first_number"], data["first_picture"], data["passed_over"]) == (14, "0014.png", ["notes.txt"])
    assert data["video"]["timeline"]["frames"] == 3
    assert main([*arguments, "--messages"]) == 0
    told = messages(capsys)
    (result,) = [message for message in told if message["type"] == "result"]
    assert result["data"] == data and told[-1] == {"type": "done", "exit_status": 0}


def test_a_rounded_rate_is_taken_as_written_and_warned_about(frames, tmp_path, capsys):
    assert main(["encode", str(frames), "--rate", "23.976", "--out", str(tmp_path / "out.mp4")]) == 0
    assert "2997/125; write 24000/1001" in capsys.readouterr().err
    assert probe(tmp_path / "out.mp4").timeline.rate == Fraction(2997, 125)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "0013.png").unlink(), "0012.png and 0014.png"),
        (lambda folder: Image.new("RGB", (96, 62)).save(folder / "0014.png"), "0014.png: 96x62"),
        (lambda folder: (folder / "0014.png").write_text("none"), "0014.png: cannot be read"),
        (lambda folder: [Image.new("RGB", (95, 64)).save(path) for path in folder.iterdir()], "0011.png: 95x64 is odd"),
        (lambda folder: Image.new("RGB", (96, 64)).save(folder / "00017.png"), "00017.png"),
        (lambda folder: Image.new("RGBA", (96, 64)).save(folder / "0017.png"), "0017.png: transparent"),
    ],
)
def test_pictures_that_are_no_video_end_with_2_and_leave_nothing(frames, tmp_path, capsys, change, said):
    change(frames)
    assert main(["encode", str(frames), "--rate", "24", "--out", str(tmp_path / "o" / "out.mp4")]) == 2
    assert said in one_line(capsys)
    assert not list((tmp_path / "o").glob("*"))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--rate", "0", "--out", "o.mp4"], "not a positive number"),
        (["--rate", "2000", "--out", "o.mp4"], "beyond 1000"),
        (["--rate", "24", "--out", "o.mov"], "ends in .mp4"),
        (["--rate", "24", "--out", "o.mp4", "--first", "3"], "no picture with the number 3"),
    ],
)
def test_encode_names_a_wrong_argument(frames, capsys, more, said):
    assert main(["encode", str(frames), *more]) == 2
    assert said in one_line(capsys)


def test_conform_lists_its_decisions(tmp_path, capsys):
    source = write_video(
        tmp_path / "phone.mkv", pictures(8), timestamps=[0, 40, 80, 120, 240, 280, 340, 360],
        time_base=Fraction(1, 1000), options={"bf": "0"},
    )  # fmt: skip
    out = tmp_path / "reference.mp4"
    arguments = ["conform", str(source), "--rate", "25", "--size", "48x32", "--out", str(out)]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "25/1 fps: asked for" in text and "10 of 8 in the source" in text and "2 frames of the output: 4, 6" in text
    assert "at most 40.0 ms" in text and "48x32: asked for; scaled from 96x64" in text and "quantiser 8" in text
    record = Conformed.read(tmp_path / "reference.json")
    assert main([*arguments, "--json"]) == 0
    assert Conformed.model_validate(json.loads(capsys.readouterr().out)) == record
    assert main([*arguments, "--messages"]) == 0
    (result,) = [message for message in messages(capsys) if message["type"] == "result"]
    assert result["path"] == str(out) and result["data"]["frames"] == 10 and "source_frames" not in result["data"]


@pytest.mark.parametrize("size", ["48", "48x", "x32", "-48x32", "48x32x1", "4.8x3"])
def test_conform_names_a_wrong_size(tmp_path, capsys, size):
    source = write_video(tmp_path / "v.mp4", pictures(2))
    assert main(["conform", str(source), f"--size={size}", "--out", str(tmp_path / "out.mp4")]) == 2
    assert "1920x1080" in one_line(capsys)


def test_conform_never_writes_over_its_input(tmp_path, capsys):
    source = write_video(tmp_path / "v.mp4", pictures(2))
    before = source.read_bytes()
    assert main(["conform", str(source), "--out", str(source)]) == 2
    assert "source itself" in one_line(capsys) and source.read_bytes() == before


def test_compare_writes_a_video_and_a_sheet(tmp_path, capsys):
    shots = [*pictures(12, seed=1), *(255 - image for image in pictures(12, seed=2))]
    reference = write_video(tmp_path / "r.mp4", shots, rate=Fraction(24))
    rebuilt = write_video(tmp_path / "b.mp4", shots[:18], rate=Fraction(25))
    out = tmp_path / "deep" / "compared"
    arguments = ["compare", "--reference", str(reference), "--reconstruction", str(rebuilt), "--out", str(out)]
    assert main([*arguments, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert sorted(path.name for path in out.iterdir()) == ["comparison.mp4", "contact_sheet.png"]
    assert data["cuts"] == [12] and data["video"]["timeline"]["frames"] == 24
    shown = {moment["reference_frame"]: moment["reconstruction_frame"] for moment in data["moments"]}
    assert {0, 11, 12, 23} <= set(shown) and (shown[0], shown[12], shown[23]) == (0, 12, None)


def test_compare_tells_a_person_and_a_program_the_same(tmp_path, capsys):
    reference = write_video(tmp_path / "r.mp4", pictures(2), rate=Fraction(24))
    rebuilt = write_video(tmp_path / "b.mp4", pictures(2), rate=Fraction(25))
    arguments = [
        "compare",
        "--reference",
        str(reference),
        "--reconstruction",
        str(rebuilt),
        "--out",
        str(tmp_path / "o"),
    ]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "comparison.mp4" in text and "contact_sheet.png: 2 moments, frames 0, 1" in text and "25/1 fps" in text
    assert main([*arguments, "--messages"]) == 0
    told = messages(capsys)
    (result,) = [message for message in told if message["type"] == "result"]
    assert result["path"].endswith("comparison.mp4") and "encode" in {message.get("stage") for message in told}
    assert [moment["reference_frame"] for moment in result["data"]["moments"]] == [0, 1]


def test_compare_never_writes_over_an_input(tmp_path, capsys):
    source = write_video(tmp_path / "comparison.mp4", pictures(2))
    before = source.read_bytes()
    assert main(["compare", "--reference", str(source), "--reconstruction", str(source), "--out", str(tmp_path)]) == 2
    assert "written over" in one_line(capsys) and source.read_bytes() == before
    assert not (tmp_path / "contact_sheet.png").exists()


def test_compare_writes_the_pairs_that_a_judge_would_see(tmp_path, capsys):
    reference, mine = write_video(tmp_path / "a.mp4", pictures(6)), write_video(tmp_path / "b.mp4", pictures(6, seed=2))
    command = ["compare", "--reference", str(reference), "--reconstruction", str(mine), "--out", str(tmp_path / "c")]
    assert main([*command, "--pairs", "4,1-2", "--json"]) == 0
    written = [Path(name) for name in json.loads(capsys.readouterr().out)["pairs"]]
    assert [path.name for path in written] == ["000001.png", "000002.png", "000004.png"]
    given, rebuilt = list(stream(reference)), list(stream(mine))
    for path in written:
        frame = int(path.stem)
        shown = pair_image(given[frame].image, rebuilt[frame].image, frame, float(given[frame].time))
        assert (np.asarray(Image.open(path)) == shown).all()
    for pairs, said in (("6", "frames are 0 … 5"), ("2-1", "write frames as"), ("x", "write frames as"), ("", "write")):
        assert main([*command, "--pairs", pairs]) == 2 and said in one_line(capsys)
