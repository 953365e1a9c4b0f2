# SPDX-License-Identifier: GPL-3.0-or-later
"""One film of the sample benchmark, rendered for real: the table is the known one, the audit finds the cheat."""

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "unit"))
from judge_stub import JudgeStub
from matchcut.assets_ui.samples.films import find_film
from matchcut.evaluator.benchmark.raw import audit_faults, check_faults
from matchcut.evaluator.benchmark.records import StageRecord
from matchcut.evaluator.benchmark.sample import VARIANTS, make_sample
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.protocol.messages import SilentReporter
from sample_judge import SampleJudge
from sample_stand_ins import known_row

FILM = "dialogue"


def test_a_rendered_film_has_its_known_scores_and_the_cheat_is_found(blender, tmp_path, monkeypatch, capsys):
    if blender.kind == "program":
        pytest.skip("the same frames twice take too long: the bpy wheel renders them")
    monkeypatch.setenv("BLENDER", blender.path)
    sample = tmp_path / "sample"
    make_sample(sample, blender=blender, reporter=SilentReporter(), films=[FILM], samples=1)
    with JudgeStub(SampleJudge(sample, tmp_path / "store")) as stub:
        arguments = [
            "bench", "run", sample / "benchmark", "--runs", tmp_path / "runs", "--out", tmp_path / "results",
            "--configurations", sample / "configurations.toml", "--setting", "proxy", "--judge", stub.spec,
            "--isolation", "none", "--sgc", "off",
        ]  # fmt: skip
        assert main([str(one) for one in arguments]) == 0
    capsys.readouterr()
    assert main(["bench", "table", str(tmp_path / "results"), "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["blocks"][0]["rows"]
    for row in rows[:-1]:
        known = known_row(row["name"], "proxy", (find_film(FILM),))
        assert [cell["value"] for cell in row["cells"]] == pytest.approx(known, abs=1e-9), row["name"]
        assert row["is_disqualified"] is (row["name"] == "cheating")
    records = [StageRecord.read(path) for path in (tmp_path / "results" / "bench" / "stages").glob("*.json")]
    found = {(one.stage, one.configuration): one.result for one in records}
    faults = {name: audit_faults(found["audit", name]) for name in VARIANTS}
    assert faults.pop("cheating") and not any(faults.values()), faults
    wrong = {
        name: {one["where"] for one in found["validate", name]["findings"] if one["severity"] == "fault"}
        for name in VARIANTS
    }
    assert set().union(*wrong.values()) <= {"reconstruction.mp4"}, "of a package nothing but its pictures is wrong"
    assert not wrong["cheating"] and found["validate", "cheating"]["passed"]
    off = {name for name in VARIANTS if "cuts or fades differ" in check_faults(found["check", name])}
    assert off == {"middle", "poor"}, "a cut two frames late, and no cut at all"
