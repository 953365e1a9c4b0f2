# SPDX-License-Identifier: GPL-3.0-or-later
"""The sample benchmark end to end without a model: from what is handed in to tables equal to the known answers."""

import functools
import json
import shutil
import stat
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from deliver_samples import make_job
from judge_stub import JudgeStub
from matchcut.assets_ui.samples.films import FILMS
from matchcut.evaluator.benchmark import run as run_module
from matchcut.evaluator.benchmark.sample import VARIANTS, hand_in, make_sample, package
from matchcut.evaluator.checklist.records import SETTINGS
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.deliver.validate import validate_folder
from matchcut.evaluator.judge import evidence
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter
from sample_judge import SampleJudge
from sample_stand_ins import DIMENSIONS, known_row, known_score, make_stand_ins

CATEGORIES = [category for group in DIMENSIONS.values() for category in group]
FINDINGS = [{"severity": "forbidden", "kind": "reference_movie"}, {"severity": "note", "kind": "x"}]
SHOWN = {"format": "matchcut-audit/1", "passed": False, "rerender": None, "findings": FINDINGS}
CLEAN = {"format": "matchcut-audit/1", "passed": True, "rerender": None, "findings": []}


def stage_result(stage, plan, task, run, folder, **options):
    """Later stages that answer at once; the audit tells the cheat, as the real one does (tests/blender)."""
    if stage == "audit":
        return SHOWN if task.configuration.name == "cheating" else CLEAN
    return {"passed": True}


def small_pair(above, below, local_frame, seconds):
    """The pictures as they are: scaled up and with labels they would cost most of the time here."""
    return np.hstack((above, below))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """(folder, judge): the sample, judged under every setting by one that sees nothing but pictures and checks."""
    folder = tmp_path_factory.mktemp("sample")
    sample = make_stand_ins(folder / "sample")
    blender = folder / "blender"
    blender.write_text("#!/bin/sh\necho Blender 5.2.0\n")
    blender.chmod(blender.stat().st_mode | stat.S_IXUSR)
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setattr(evidence, "pair_image", small_pair)
        judge = SampleJudge(sample, folder / "results")  # the pictures that it made serve the judging too
        stub = stack.enter_context(JudgeStub(judge))
        patch.setenv("BLENDER", str(blender))
        patch.setattr(run_module, "run_stage", stage_result)
        status = main(
            [
                "bench", "run", str(sample / "benchmark"), "--runs", str(folder / "runs"), "--out",
                str(folder / "results"), "--configurations", str(sample / "configurations.toml"), "--judge", stub.spec,
                "--isolation", "none", "--workers", "2",
            ]
        )  # fmt: skip
    assert status == 0
    return folder, judge


def make_table(capsys, place, kind, *options, form="json"):
    capsys.readouterr()
    arguments = ["bench", "table", str(place), "--kind", kind, "--samples", "200", "--format", form]
    assert main([*arguments, *map(str, options)]) == 0
    out = capsys.readouterr().out
    return json.loads(out) if form == "json" else out


@pytest.fixture
def table(finished, capsys):
    return functools.partial(make_table, capsys, finished[0] / "results")


def rows_of(block):
    return {row["name"]: [cell["value"] for cell in row["cells"]] for row in block["rows"]}


def test_every_reconstruction_was_recognised_by_its_pictures(finished):
    _, judge = finished
    assert judge.seen == dict.fromkeys(VARIANTS, 20 * 3)


def test_overall_and_dimensions_equal_the_known_answers_under_every_setting(table):
    blocks = table("scores")["blocks"]
    assert [block["title"] for block in blocks] == list(SETTINGS)
    for block in blocks:
        found = rows_of(block)
        assert list(found) == [*sorted(VARIANTS), "mean"]
        for variant in VARIANTS:
            assert found[variant] == pytest.approx(known_row(variant, block["title"]), abs=1e-9), block["title"]
        for row in block["rows"][:-1]:
            assert all((c["clips_scored"], c["clips_expected"]) == (20, 20) for c in row["cells"])
            checks = row["cells"][0]
            assert checks["checks_scored"] == checks["checks_expected"]
            assert checks["low"] <= checks["value"] <= checks["high"]
    assert blocks[2]["rows"][0]["cells"][0]["checks_expected"] == 600


def test_a_disqualified_configuration_is_marked_and_counts_in_no_mean(table):
    found = table("scores")
    for block in found["blocks"]:
        marks = {row["name"]: row["is_disqualified"] for row in block["rows"]}
        assert marks == {"cheating": True, "good": False, "middle": False, "poor": False, "mean": False}
        honest = [known_row(name, block["title"]) for name in ("good", "middle", "poor")]
        mean = [sum(column) / 3 for column in zip(*honest, strict=True)]
        assert rows_of(block)["mean"] == pytest.approx(mean, abs=1e-9)
        assert rows_of(block)["cheating"] == [100, 100, 100, 100]
    assert found["notes"][0] == "‡ cheating: forbidden in 18 of 18 submissions looked through: reference movie"
    text = table("scores", form="text")
    assert "cheating ‡" in text and "good ‡" not in text
    assert "cheating,overall,no,yes,100.0" in table("scores", form="csv")


def test_categories_gaps_and_the_ablation_equal_the_known_answers(table):
    for block in table("categories")["blocks"][:3]:
        for variant in VARIANTS:
            known = [known_score(variant, block["title"], (category,)) for category in CATEGORIES]
            assert rows_of(block)[variant] == [None if k is None else pytest.approx(k, abs=1e-9) for k in known]
    gaps = table("gaps")["blocks"]
    camera, dynamic = (
        known_score("middle", "proxy", DIMENSIONS[name]) - known_score("middle", "detailed", DIMENSIONS[name])
        for name in ("camera", "dynamic")
    )
    assert rows_of(gaps[-1])["middle"] == pytest.approx([camera, dynamic], abs=1e-9)
    means, differences = table("ablation", "--base", "good", "--variant", "middle")["blocks"]
    known = {name: [sum(column) / 3 for column in zip(*(known_row(name, s) for s in SETTINGS), strict=True)]
             for name in ("good", "middle")}  # fmt: skip
    assert rows_of(means)["good"] == pytest.approx(known["good"], abs=1e-9)
    lost = [middle - good for middle, good in zip(known["middle"], known["good"], strict=True)]
    assert rows_of(differences)["middle − good"] == pytest.approx(lost, abs=1e-9)
    overall = differences["rows"][0]["cells"][0]
    assert overall["low"] <= overall["value"] <= overall["high"] < 0


def test_each_kind_of_video_has_its_known_scores(table):
    found = table("kinds")
    assert [block["title"] for block in found["blocks"]] == [film.kind for film in FILMS.values()]
    for block, film in zip(found["blocks"], FILMS.values(), strict=True):
        for variant in VARIANTS:
            settings = [known_row(variant, setting, (film,)) for setting in SETTINGS]
            known = [sum(column) / 3 for column in zip(*settings, strict=True)]
            assert rows_of(block)[variant] == pytest.approx(known, abs=1e-9)
        assert block["note"] == f"1 video, {len(film.clips)} clips"


def test_every_table_is_the_same_of_an_exported_file_alone(finished, table, capsys, tmp_path):
    exported = tmp_path / "run.json"
    assert main(["bench", "export", str(finished[0] / "results"), "--file", str(exported)]) == 0
    for options in (
        ["scores"],
        ["categories"],
        ["gaps"],
        ["kinds"],
        ["ablation", "--base", "good", "--variant", "poor"],
    ):
        assert make_table(capsys, exported, *options) == table(*options)


def test_a_film_or_a_reconstruction_that_there_is_not_is_told(tmp_path):
    with pytest.raises(BadInputError, match="no film of the sample benchmark"):
        make_sample(tmp_path, blender=None, reporter=None, films=["western"])
    with pytest.raises(BadInputError, match="no reconstruction of the sample"):
        make_sample(tmp_path, blender=None, reporter=None, variants=["perfect"])
    with pytest.raises(SystemExit):
        main(["bench", "sample", "--out", str(tmp_path / "x"), "--samples", "0"])


def test_what_is_handed_in_is_a_package_in_order_under_every_setting(tmp_path):
    job, reference = make_job(tmp_path)
    film, sample = FILMS["cuts"], tmp_path / "sample"
    made = package(sample, film, "good", reference, job, None, SilentReporter())
    written = (made / "submission.json").stat().st_mtime_ns
    assert package(sample, film, "good", reference, job, None, SilentReporter()) == made
    assert (made / "submission.json").stat().st_mtime_ns == written, "what lies there is used again"
    hand_in(sample, film, "good", made)
    for setting in SETTINGS:
        folder = sample / "submissions" / "good" / setting / film.id
        found = validate_folder(folder, reference=reference, reporter=SilentReporter())
        assert found.passed and not [one for one in found.findings if one.severity != "note"], found.findings


def test_a_second_run_asks_nobody(finished, monkeypatch, tmp_path, capsys):
    folder, judge = finished
    results = tmp_path / "results"
    shutil.copytree(folder / "results", results)
    monkeypatch.setenv("BLENDER", str(folder / "blender"))
    before = dict(judge.seen)
    assert main(["bench", "resume", str(results), "--isolation", "none", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["complete"] is True
    assert judge.seen == before
    assert Path(folder / "runs" / "cheating" / "detailed" / "cuts" / "reconstruction.mp4").is_file()
