# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut sgc` and its commands: what is printed and kept, what is known already, and what is refused."""

import csv
import json
from fractions import Fraction

import numpy as np
import pytest
import sgc_scenes as scenes
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.messages import SilentReporter, parse_message
from matchcut.evaluator.report.text import COMPONENT_LABELS, COMPONENT_UNITS, significant
from matchcut.evaluator.sgc import measure as measuring
from matchcut.evaluator.sgc.ablation import FIXES
from matchcut.evaluator.sgc.estimators import blender
from matchcut.evaluator.sgc.measure import Measured, unique_names
from matchcut.evaluator.sgc.records import COMPONENTS

PAPER = ["--mode", "paper"]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """Two jobs of the same name in two folders, of six and of four frames; not to be changed."""
    folder = tmp_path_factory.mktemp("jobs")
    return scenes.Job().write(folder / "one" / "job"), scenes.Job(frames=4).write(folder / "two" / "job")


def printed(capsys):
    return capsys.readouterr().out


def result_of(job, cuts=()):
    return scenes.measure_render(job, cuts=list(cuts), reporter=SilentReporter())


# ---- one source ------------------------------------------------------------------------------------------------------


def test_components_are_printed_with_units(jobs, capsys):
    assert main(["sgc", str(jobs[0]), "--cuts", "3", *PAPER]) == 0
    shown = printed(capsys)
    assert "pairs scored: 4 of 4" in shown and blender.ESTIMATOR in shown
    result = result_of(jobs[0], [3])
    rows = {label: line for line in shown.splitlines() for label in COMPONENT_LABELS.values() if line.startswith(label)}
    assert len(rows) == 5 and significant(result.score) in shown.splitlines()[0]
    for name in COMPONENTS:
        row = rows[COMPONENT_LABELS[name]]
        assert significant(result.components[name]) in row and COMPONENT_UNITS[name] in row and row.endswith(" 4")


def test_the_same_result_is_written_and_printed(jobs, tmp_path, capsys):
    assert main(["sgc", str(jobs[0]), "--out", str(tmp_path), "--json", "--no-pictures", *PAPER]) == 0
    (video,) = json.loads(printed(capsys))["videos"]
    assert Measured.from_data(video, "printed") == Measured.read(tmp_path / "job-paper.json")
    assert Measured.from_data(video, "printed").result == result_of(jobs[0])
    assert video["shots"] == [[0, 5]] and video["name"] == "job"


def test_with_messages_nothing_else_is_printed(jobs, tmp_path, capsys):
    assert main(["sgc", str(jobs[0]), "--out", str(tmp_path), "--no-pictures", "--messages", *PAPER]) == 0
    messages = [parse_message(line) for line in printed(capsys).splitlines()]
    assert None not in messages
    assert [message.type for message in messages] == ["progress"] * 5 + ["result", "done"]
    assert messages[-2].path == str(tmp_path) and messages[-2].data["videos"][0]["scored"] == 5


def test_why_nothing_was_scored_is_told(tmp_path, capsys):
    objects = [entry | {"static": False} for entry in scenes.OBJECTS]
    job = scenes.Job(frames=2, objects=objects).write(tmp_path / "job")
    assert main(["sgc", str(job), *PAPER]) == 0
    shown = printed(capsys)
    assert "unscored" in shown and "reason: none of 1 pairs" in shown


def test_the_robust_mode_is_the_default(jobs, capsys):
    assert main(["sgc", str(jobs[1])]) == 0
    assert "robust mode" in printed(capsys).splitlines()[0]


# ---- several, and again ----------------------------------------------------------------------------------------------


def test_several_make_a_table_and_files(jobs, tmp_path, capsys):
    assert main(["sgc", *map(str, jobs), "--out", str(tmp_path), "--no-pictures", *PAPER]) == 0
    head, *lines = printed(capsys).splitlines()
    assert head.split() == ["video", "SGC", "LocRot", "LocTra", "GloRot", "GloTra", "Depth", "pairs", "reason"]
    scores = {"one-job": result_of(jobs[0]).score, "two-job": result_of(jobs[1]).score}
    assert [line.split()[0] for line in lines] == sorted(scores, key=scores.get)
    with (tmp_path / "sgc-table.csv").open(encoding="utf-8") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert {name: float(row["score"]) for name, row in rows.items()} == pytest.approx(scores)
    table = json.loads((tmp_path / "sgc-table.json").read_text(encoding="utf-8"))
    assert [row["scored"] for row in table["videos"]] == [5, 3]
    assert {path.name for path in tmp_path.glob("*.json")} == {
        "one-job-paper.json",
        "two-job-paper.json",
        "sgc-table.json",
    }


def test_what_is_known_is_not_measured_again(jobs, tmp_path, capsys, monkeypatch):
    job = scenes.Job(frames=3).write(tmp_path / "job")
    command = ["sgc", str(job), "--out", str(tmp_path / "out"), "--no-pictures", "--json", *PAPER]
    scored = []
    plain = measuring.score_geometry
    monkeypatch.setattr(
        measuring, "score_geometry", lambda *arguments: scored.append(arguments[1].mode) or plain(*arguments)
    )
    assert main(command) == 0
    first = printed(capsys)
    assert main(command) == 0
    assert printed(capsys) == first and len(scored) == 1
    assert main([*command, "--cuts", "2"]) == 0 and len(scored) == 2  # other shots
    assert main([*command, "--fix", "zbuffer_near"]) == 0 and len(scored) == 3  # another setting
    path = job / "geometry" / "000000.npz"
    scenes.Job(frames=3, sky=True).write(tmp_path / "other")
    path.write_bytes((tmp_path / "other" / "geometry" / "000000.npz").read_bytes())
    assert main([*command, "--fix", "zbuffer_near"]) == 0 and len(scored) == 4  # another content
    (tmp_path / "out" / "job-paper.json").write_text("{")  # what a crash of the disk left
    assert main(command) == 0 and len(scored) == 5
    command.remove("--no-pictures")
    assert main(command) == 0 and len(scored) == 6 and (tmp_path / "out" / "job-paper" / "components.svg").is_file()
    assert main(command) == 0 and len(scored) == 6


def test_one_bad_source_of_many_does_not_stop_the_others(jobs, tmp_path, capsys):
    assert main(["sgc", str(tmp_path / "nothing.mp4"), str(jobs[1]), *PAPER]) == 2
    captured = capsys.readouterr()
    assert "there is no such file" in captured.err
    first, last = captured.out.splitlines()[1:]
    assert first.startswith("job") and last.split()[:2] == ["nothing", "—"] and "there is no such file" in last


def test_names_are_told_apart(tmp_path):
    paths = [
        tmp_path / name for name in ("a/shot.mp4", "b/shot.mp4", "b/other.mp4", "b/shot.mp4", "B/Other.mp4", "v1.2")
    ]
    names = list(unique_names(paths))
    assert names[:5] == ["a-shot", "b-shot", "other", "b-shot-2", "Other-2"]
    assert len({name.casefold() for name in names}) == 6


# ---- what changes the paper's mode -----------------------------------------------------------------------------------


def test_fixes_and_ablations_are_recorded(jobs, capsys):
    changes = ["--fix", "all", "--regions", "grid", "--without", "masks", "--without", "global-pose"]
    assert main(["sgc", str(jobs[1]), "--json", *PAPER, *changes]) == 0
    (video,) = json.loads(printed(capsys))["videos"]
    parameters = video["result"]["parameters"]
    assert parameters["fixes"] == ", ".join(FIXES)
    assert (parameters["regions"], parameters["masks"], parameters["global_pose"]) == ("grid", False, False)
    assert video["result"]["components"][COMPONENTS[4]] is None


def test_a_calibration_changes_the_score_and_is_recorded(jobs, tmp_path, capsys):
    out = tmp_path / "out"
    rows = [{name: (number + 1.0) ** place for place, name in enumerate(COMPONENTS)} for number in range(4)]
    for number, row in enumerate(rows):
        (tmp_path / f"{number}.json").write_text(json.dumps(row))
    found = tmp_path / "calibration" / "mine.json"
    assert main(["sgc", "calibrate", str(tmp_path), "--out", str(found)]) == 0
    assert "4 samples by video" in printed(capsys)
    assert main(["sgc", str(jobs[1]), "--out", str(out), "--no-pictures", *PAPER, "--calibration", str(found)]) == 0
    result = Measured.read(out / "job-paper.json").result
    assert result.score != result_of(jobs[1]).score and result.components == result_of(jobs[1]).components
    assert "mine.json" in result.parameters["constants"] and "4 samples" in result.parameters["constants"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--mode", "paper", "--fix", "everything"], "is no fix; they are: fix_intrinsics_scale"),
        (["--fix", "zbuffer_near"], "give --mode paper"),
        (["--regions", "grid"], "give --mode paper"),
        (["--cuts", "x"], "not frame numbers"),
        (["--cuts", "99"], "cut 99"),
        (["--cuts", "0"], "cut 0"),
        (["--estimator", "precomputed"], "cannot read it"),
        (["--estimator", "learned"], "cannot read it"),
        (["--mode", "paper", "--calibration", "nothing.json"], "no such file"),
    ],
)
def test_options_that_make_no_sense_are_refused(jobs, capsys, options, said):
    assert main(["sgc", str(jobs[0]), *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and said in captured.err and captured.err.count("\n") == 1


def test_what_is_no_source_is_refused_and_nothing_is_written(jobs, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["sgc", str(tmp_path / "nothing"), "--out", str(out)]) == 2
    assert "no such file or folder" in capsys.readouterr().err and not out.exists()
    assert main(["sgc", str(tmp_path)]) == 2
    assert "neither a render job" in capsys.readouterr().err
    assert main(["sgc"]) == 2
    assert main(["sgc", *map(str, jobs), "--scene", str(jobs[0])]) == 2
    (tmp_path / "video.mp4").write_bytes(b"none")
    assert main(["sgc", str(tmp_path / "video.mp4"), "--estimator", "learned", "--cuts", ""]) == 2


def test_a_scene_gives_the_geometry(jobs, capsys):
    assert main(["sgc", "--scene", str(jobs[1]), "--json", *PAPER]) == 0
    (video,) = json.loads(printed(capsys))["videos"]
    assert Measured.from_data(video, "printed").result == result_of(jobs[1])


def test_a_video_of_the_scene_gives_its_cuts(jobs, tmp_path, capsys):
    job = jobs[1]
    video = encoded([np.full((scenes.H, scenes.W, 3), 90, np.uint8)] * 4, tmp_path / "mine.mp4")
    assert main(["sgc", str(video), "--scene", str(job), "--cuts", "2", "--json", *PAPER]) == 0
    (row,) = json.loads(printed(capsys))["videos"]
    assert (row["name"], row["shots"]) == ("mine", [[0, 1], [2, 3]])
    assert Measured.from_data(row, "printed").result == result_of(job, [2])
    short = encoded([np.full((scenes.H, scenes.W, 3), 90, np.uint8)] * 3, tmp_path / "short.mp4")
    assert main(["sgc", str(short), "--scene", str(job)]) == 2
    assert "it has 3 frames, the render job" in capsys.readouterr().err


def encoded(pictures, path):
    encode(pictures, Fraction(24), path, reporter=SilentReporter(), total=len(pictures))
    return path


# ---- validate and perturb --------------------------------------------------------------------------------------------


def test_validate_prints_tables_and_writes_what_it_found(jobs, tmp_path, capsys):
    out = tmp_path / "validation.json"
    options = ["--kinds", "squeeze", "--severities", "0,1", "--out", str(out)]
    assert main(["sgc", "validate", str(jobs[1]), *PAPER, *options]) == 0
    shown = printed(capsys)
    assert "squeeze: strictly monotone" in shown and "correlation of components" in shown
    found = json.loads(out.read_text(encoding="utf-8"))
    clean, squeezed = found["sensitivities"][0]["conditions"]
    assert clean["score"] == pytest.approx(result_of(jobs[1]).score) and squeezed["score"] > clean["score"]
    assert found["camera_dynamics"] == {} and len(found["notes"]) == 0


def test_validate_over_three_videos_correlates_them(jobs, capsys):
    command = ["sgc", "validate", *map(str, jobs), str(jobs[0]), *PAPER, "--kinds", "warp", "--severities", "1"]
    assert main([*command, "--json"]) == 0
    found = json.loads(printed(capsys))
    assert found["correlated"] == "videos" and found["correlations"][COMPONENTS[0]][COMPONENTS[0]] == 1
    assert set(found["camera_dynamics"].values()) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--kinds", "rot"], "the corruptions are warp"),
        (["--severities", "0,2"], "between 0 and 1"),
        (["--severities", "a"], "between 0 and 1"),
        (["--inject", "pictures"], "whose geometry is estimated"),
    ],
)
def test_validate_refuses_what_it_cannot_do(jobs, capsys, options, said):
    assert main(["sgc", "validate", str(jobs[0]), *options]) == 2
    assert said in capsys.readouterr().err


def test_perturb_writes_a_copy(tmp_path, capsys):
    picture = np.zeros((48, 64, 3), np.uint8)
    picture[::8], picture[:, ::8] = 200, 120
    video = encoded([picture] * 5, tmp_path / "video.mp4")
    out = tmp_path / "squeezed.mp4"
    options = ["--kind", "squeeze", "--severity", "1", "--cuts", "", "--out", str(out), "--json"]
    assert main(["sgc", "perturb", str(video), *options]) == 0
    assert json.loads(printed(capsys)) == {"path": str(out), "kind": "squeeze", "severity": 1.0, "frames": 5}
    assert probe(out).timeline.frames == 5


def test_perturb_refuses_what_it_cannot_do(tmp_path, capsys):
    video = tmp_path / "video.mp4"
    assert main(["sgc", "perturb", str(video), "--kind", "warp", "--out", str(tmp_path / "a.mp4")]) == 2
    assert "no such video" in capsys.readouterr().err
    video.write_bytes(b"none")
    assert main(["sgc", "perturb", str(video), "--kind", "warp", "--out", str(video)]) == 2
    assert "the video itself" in capsys.readouterr().err
    assert main(["sgc", "perturb", str(video), "--kind", "blur", "--out", str(tmp_path / "a.mp4")]) == 2
    assert "the corruptions are" in capsys.readouterr().err
