# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut score` as a program: its answer in three forms, its exit status, and a run that is killed."""

import json
import subprocess
import sys

import pytest
import report_samples as samples
from matchcut.evaluator.cli.score import summary, summary_lines
from matchcut.evaluator.protocol.messages import parse_message
from matchcut.evaluator.results import Results, Unscored
from matchcut.evaluator.scoring.aggregate import score_checklist


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos")
    samples.write_video(folder / "given.mp4", frames=40, cuts=(20,))
    samples.write_video(folder / "mine.mp4", frames=40, cuts=(20,), rate=24)
    return folder


def command(root, videos, out, *more):
    paths = ["--reference", videos / "given.mp4", "--reconstruction", videos / "mine.mp4", "--out", out]
    mode = ["--sgc-mode", "off"]  # estimating geometry from pictures takes its time
    return [sys.executable, str(root / "__main__.py"), "score", *map(str, paths), *mode, *more]


def run(*arguments):
    return subprocess.run(command(*arguments), capture_output=True, text=True, encoding="utf-8", timeout=120)


def test_the_answer_for_people(root, videos, tmp_path):
    done = run(root, videos, tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == f"report  {tmp_path / 'report.html'}"
    assert "timeline  DIFFERS" in lines
    rate = next(line for line in lines if line.startswith("  rate"))
    assert rate.split() == ["rate", "DIFFERS", "24000/1001", "24/1"]
    assert "cuts      agree: 1 of 1 found" in lines
    assert any(line == "SGC       unscored: not asked for" for line in lines)
    assert any(line.startswith("checklist unscored: no checklist given") for line in lines)


def test_json_is_the_results_document(root, videos, tmp_path):
    done = run(root, videos, tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (tmp_path / "results.json").read_text(encoding="utf-8")
    assert Results.from_data(json.loads(done.stdout), "stdout").setting == "proxy"


def test_messages_name_the_results_and_end_with_done(root, videos, tmp_path):
    done = run(root, videos, tmp_path, "--messages")
    messages = [parse_message(line) for line in done.stdout.splitlines()]
    assert None not in messages
    assert (messages[-1].type, messages[-1].exit_status) == ("done", 0)
    plan, result = [message for message in messages if message.type == "result"]
    assert plan.path == str(tmp_path / "plan.json") and plan.data["format"] == "matchcut-score-plan/1"
    assert result.path == str(tmp_path / "results.json")
    assert result.data["report"] == str(tmp_path / "report.html")
    assert (result.data["timeline"], result.data["cuts"], result.data["overall"]) == (False, True, None)
    assert {message.stage for message in messages if message.type == "progress"} >= {"cuts, reference"}


def test_bad_input_ends_with_2_and_one_line(root, videos, tmp_path):
    done = run(root, videos, tmp_path, "--scene", "missing.blend")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "matchcut: --scene missing.blend: there is no such file or folder\n"


def test_a_killed_run_leaves_nothing_that_looks_finished(root, videos, tmp_path):
    (tmp_path / "results.json").write_text("an earlier run's")
    (tmp_path / "report.html").write_text("an earlier run's")
    child = subprocess.Popen(
        command(root, videos, tmp_path, "--messages"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        for line in child.stdout:
            if b'"progress"' in line:
                break
    finally:
        child.kill()
        child.wait(30)
        child.stdout.close()
    assert {path.name for path in tmp_path.iterdir() if not path.name.startswith((".partial", ".lock"))} == set()


def test_summary_of_everything():
    lines = summary_lines(samples.results())
    text = "\n".join(lines)
    assert all("\n" not in line and line == line.rstrip() for line in lines)
    for part in (
        "reference       reference.mp4  160x96, 24000/1001 fps", "offset      2 frames late",
        "frozen      frames 5 to 9 are frozen",
        "black       frames 40 to 43 are black",
        "cuts      DIFFER: 1 of 2 found, 1 late, 1 extra", "late   32 -> 35  +3 frames",
        "extra  - -> 44", "SGC       0.412 (lower is better; 43 of 47 pairs)",
        "checklist partly judged, setting proxy: 1 of 2 clips could not be judged",
    ):  # fmt: skip
        assert part in text, text
    overall = next(line for line in lines if line.startswith("  overall"))
    assert overall.split(maxsplit=2) == ["overall", "50.0", "10 of 20 checks, 1 of 2 clips"]
    assert summary(samples.results())["sgc"] == 0.4123


def test_summary_of_what_is_unscored():
    made = samples.clips()
    results = samples.results(
        sgc=Unscored(reason="no scene"),
        checklist=score_checklist(made, [], [], "proxy", not_judged_reason="not judged: no judge configured"),
    )
    lines = summary_lines(results)
    assert lines[-3:] == ["SGC       unscored: no scene", "", "checklist not judged: no judge configured"]
    assert (summary(results)["sgc"], summary(results)["overall"]) == (None, None)
