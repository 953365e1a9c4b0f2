# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut probe` and `matchcut check` as a person and as a program run them."""

import json
import re
from fractions import Fraction

import pytest
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.media.records import TimelineCheck, VideoInfo
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.shots.records import ShotCheck
from media_samples import pictures


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="module")
def shots():
    size = {"width": 192, "height": 128}
    return pictures(30, seed=1, **size) + [255 - image for image in pictures(30, seed=2, **size)]


@pytest.fixture(scope="module")
def reference(folder, shots):
    encode(shots, Fraction(24000, 1001), folder / "reference.mp4", reporter=SilentReporter(), total=60)
    return folder / "reference.mp4"


@pytest.fixture(scope="module")
def wrong(folder, shots):
    """24 frames a second, and everything three frames late."""
    late = shots[:1] * 3 + shots[:-3]
    encode(late, Fraction(24), folder / "wrong.mp4", reporter=SilentReporter(), total=60)
    return folder / "wrong.mp4"


def lines(text):
    return {line.split("  ")[0]: line for line in text.splitlines()}


def test_probe_prints_an_aligned_table(reference, capsys):
    assert main(["probe", str(reference)]) == 0
    found = lines(capsys.readouterr().out)
    assert "24000/1001 fps (23.976), constant, from the timestamps" in found["rate"]
    assert "192x128 as shown" in found["size"]
    assert "60 decoded (the header says 60)" in found["frames"]
    assert len({len(line) - len(line.split("  ", 1)[1].lstrip()) for line in found.values()}) == 1


def test_probe_as_json_is_the_record(reference, capsys):
    assert main(["probe", str(reference), "--json"]) == 0
    assert VideoInfo.model_validate(json.loads(capsys.readouterr().out)) == probe(reference)


def test_the_example_in_the_documents_has_every_field(root):
    page = (root / "docs" / "formats.md").read_text(encoding="utf-8")
    example = json.loads(re.search(r"## A video: .*?```json\n(.*?)```", page, re.DOTALL)[1])
    assert VideoInfo.from_data(example, "formats.md").model_dump(mode="json") == example
    assert list(example) == list(VideoInfo.model_fields)


def test_probe_of_what_is_no_video_is_one_line_and_status_2(folder, capsys):
    path = folder / "text.mp4"
    path.write_text("no video at all")
    for arguments in (["probe", str(path)], ["check", "--reference", str(path), "--reconstruction", str(path)]):
        assert main(arguments) == 2
        output = capsys.readouterr()
        assert output.out == ""
        (line,) = [line for line in output.err.splitlines() if line.startswith("matchcut:")]
        assert str(path) in line


def test_messages_hold_the_answer_and_nothing_else_is_printed(reference, capsys):
    assert main(["probe", str(reference), "--messages"]) == 0
    messages = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [message["type"] for message in messages] == ["result", "done"]
    assert messages[0]["data"]["timeline"]["frames"] == 60


def test_check_of_a_video_against_itself(reference, capsys):
    assert main(["check", "--reference", str(reference), "--reconstruction", str(reference)]) == 0
    text = capsys.readouterr().out
    assert text.endswith("the timelines agree\n") and text.count("agrees") == 6
    assert "cut         frame 30    frame 30        agrees" in text


def test_check_names_every_fault_and_still_ends_with_0(reference, wrong, capsys):
    assert main(["check", "--reference", str(reference), "--reconstruction", str(wrong)]) == 0
    text = capsys.readouterr().out
    found = lines(text)
    assert "24000/1001" in found["rate"] and "24/1" in found["rate"] and "DIFFERS" in found["rate"]
    assert "DIFFERS" in found["duration"] and "agrees" in found["frames"] and "agrees" in found["resolution"]
    assert "+3 frames" in found["offset"] and "LATE by 0.125 s" in found["offset"]
    assert "frame 0" in found["repeated"] and "frames 1 to 3" in found["repeated"] and "REPEATED" in found["repeated"]
    assert "  frames 1 to 3 show the reference's frame 0 again; what follows lies 3 frames late\n" in text
    assert "frame 30" in found["cut"] and "frame 33" in found["cut"] and "LATE +3" in found["cut"]
    assert text.endswith("the timelines DO NOT agree\n")


def test_check_as_json_and_as_messages_say_the_same(reference, wrong, capsys):
    arguments = ["check", "--reference", str(reference), "--reconstruction", str(wrong)]
    assert main([*arguments, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["passed"] is False
    timeline = TimelineCheck.model_validate(data["timeline"])
    assert timeline.offset_frames == 3
    assert [(fault.kind, fault.first, fault.last) for fault in timeline.faults] == [("repeated", 1, 3)]
    assert [match.verdict for match in ShotCheck.model_validate(data["shots"]).matches] == ["late"]
    assert main([*arguments, "--messages"]) == 0
    messages = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (result,) = [message for message in messages if message["type"] == "result"]
    assert result["data"] == data
    assert {message["stage"] for message in messages if message["type"] == "progress"} == {
        "cuts, reference", "cuts, reconstruction"
    }  # fmt: skip


def test_check_needs_both_videos(reference, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["check", "--reference", str(reference)])
    assert stopped.value.code == 2
    assert "--reconstruction" in capsys.readouterr().err
