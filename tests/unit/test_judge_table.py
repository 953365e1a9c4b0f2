# SPDX-License-Identifier: GPL-3.0-or-later
"""From submissions to a table: a person judges a small benchmark, and the recorded answers judge it again."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from bench_samples import TIMELINE, clip, write_benchmark
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.protocol.messages import SilentReporter
from test_judge_human import call, until

LABELS = ["unsatisfied", "partially_satisfied", "fully_satisfied"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A benchmark of two videos with a submission of each, made of grey frames."""
    folder = tmp_path_factory.mktemp("place")
    shades = {"v1": 40, "v2": 140}
    references = {name: folder / f"{name}.mp4" for name in shades}
    clips = []
    for name, shade in shades.items():
        pictures = [np.full((TIMELINE.height, TIMELINE.width, 3), shade + n // 2, np.uint8) for n in range(96)]
        encode(pictures, TIMELINE.rate, references[name], reporter=SilentReporter(), total=96)
        clips += [clip("a", name, "rotation", "object_presence", "action_events"), clip("b", name, "zoom", offset=40)]
        submission = folder / "runs" / "ours" / "proxy" / name / "reconstruction.mp4"
        submission.parent.mkdir(parents=True)
        submission.write_bytes(references[name].read_bytes())
    write_benchmark(folder / "bench", clips, references=references)
    return folder


def judge(root, place, out, spec):
    return [
        sys.executable, str(root / "__main__.py"), "judge", "run", str(place / "bench"), "--runs", str(place / "runs"),
        "--out", str(place / out), "--judge", spec,
    ]  # fmt: skip


def scores(place, out, capsys):
    capsys.readouterr()
    assert main(["table", str(place / out), "--benchmark", str(place / "bench"), "--format", "json"]) == 0
    (block,) = json.loads(capsys.readouterr().out)["blocks"]
    (row,) = block["rows"]
    return block["title"], row["name"], [(cell["value"], cell["clips_scored"]) for cell in row["cells"]]


def test_a_person_judges_and_the_record_judges_again(root, place, capsys):
    command = judge(root, place, "first", "human:ann")
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, encoding="utf-8"
    ) as run:
        said = ""
        while (found := re.search(r"http://127\.0\.0\.1:\S+/", said)) is None:
            line = run.stderr.readline()
            assert line, said
            said += line
        address = found[0]
        for number in range(4):
            task = until(lambda: call(address, "state")[1].get("task"))
            for index in range(len(task["checks"])):
                label = LABELS[2 - index]
                assert call(address, "rate", {"key": task["key"], "index": index, "label": label})[0] == 200
            if number < 3:
                assert call(address, "submit", {"key": task["key"]})[0] == 200
            else:
                call(address, "decline", {"key": task["key"], "reason": "too dark to see"})
        assert run.wait(60) == 3, run.stderr.read()  # one clip has no judgment
    first = scores(place, "first", capsys)
    assert first[:2] == ("proxy", "ours")
    # a is rated fully, partially, unsatisfied in the order of its checks; the last zoom was declined
    assert first[2] == [(pytest.approx(50), 3), (100, 3), (50, 2), (0, 2)]
    done = subprocess.run(
        judge(root, place, "second", f"replay:{place / 'first'}"),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 3, done.stderr  # what the person declined has no record
    assert scores(place, "second", capsys) == first
