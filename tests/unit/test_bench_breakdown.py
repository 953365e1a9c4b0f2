# SPDX-License-Identifier: GPL-3.0-or-later
"""Cost and time against score, failures by cause, and the audit's verdict, out of raw records."""

import csv
import io
import json

import pytest
from bench_samples import clip, write_benchmark, write_results
from matchcut.evaluator.benchmark.agents.records import Configuration
from matchcut.evaluator.benchmark.breakdown import cost_sheet, failure_sheet, points, spent
from matchcut.evaluator.benchmark.plot import scatter
from matchcut.evaluator.benchmark.raw import Raw, audit_faults, disqualified
from matchcut.evaluator.benchmark.records import AgentRun, Failure, Isolation, Limits, Plan, StageRecord, Usage
from matchcut.evaluator.benchmark.sheet import FORMATS
from matchcut.evaluator.checklist.benchmark import load_benchmark
from matchcut.evaluator.tables.records import Cell
from matchcut.evaluator.tables.results import choose_judge, number_items, read_judge

NAMES = ("cheap", "middling", "dear", "beaten")
SCORE = {"cheap": 0.0, "middling": 0.5, "dear": 1.0, "beaten": 0.5}
USD = {"cheap": 0.1, "middling": 1.0, "dear": 4.0, "beaten": 2.0}
VIDEO = {"name": "reconstruction.mp4", "bytes": 1, "sha256": "1" * 64}
CHECK = {
    "passed": False,
    "timeline": {
        "comparisons": [{"name": "rate", "reference": "24/1", "reconstruction": "24/1", "agrees": True}],
        "offset_frames": 0, "offset_reason": "", "faults": [],
    },
    "shots": {
        "reference_cuts": [4], "reconstruction_cuts": [], "detector": "d",
        "matches": [{"verdict": "missing", "reference": 4, "reconstruction": None}],
    },
}  # fmt: skip
KEY = {name: f"{number:064x}" for number, name in enumerate(NAMES)}


def run(name, **fields):
    told = {
        "key": KEY[name], "configuration": name, "setting": "proxy", "video": "v", "reference_sha256": "0" * 64,
        "agent": "Own", "agent_version": None, "model": "m", "effort": "", "no_refine": False, "limits": Limits(),
        "ended": "finished", "exit_status": 0, "submission": [VIDEO],
        "usage": Usage(usd=USD[name], turns=4, input_tokens=900, output_tokens=100), "started_at": "",
        "wall_seconds": 120, "calls": {}, "renders": [], "isolation": Isolation(kind="none"), "blender": "",
        "matchcut": "1",
    }  # fmt: skip
    return AgentRun(**{**told, **fields})


def stage(name, kind, result, number=9):
    return StageRecord(
        key=f"{number:064x}", stage=kind, configuration=name, setting="proxy", video="v", run=KEY[name], seconds=1,
        finished_at="", matchcut="1", result=result,
    )  # fmt: skip


def failure(name, kind, reason, key, attempt=0, usd=None):
    return Failure(
        key=key, stage=kind, configuration=name, setting="proxy", video="v", attempt=attempt, reason=reason, detail="d",
        failed_at="", seconds=60, usage=None if usd is None else Usage(usd=usd), matchcut="1",
    )  # fmt: skip


@pytest.fixture
def raw(tmp_path):
    clips = [clip("c1", "v", "rotation", "object_presence", "action_events"),
             clip("c2", "w", "rotation", "object_presence", "action_events")]  # fmt: skip
    bench = write_benchmark(tmp_path / "bench", clips)
    results = write_results(
        tmp_path / "results", clips, lambda name, setting, one: [SCORE[name]] * 3, NAMES, settings=("proxy",)
    )
    plan = Plan(
        benchmark=str(bench), benchmark_name="small 1", runs="", settings=["proxy"], videos=["v", "w"],
        configurations=[Configuration(name=name, agent="python:m") for name in NAMES],
    )  # fmt: skip
    failures = [
        failure("cheap", "agent", "agent_failed", KEY["cheap"], usd=0.25),
        failure("cheap", "agent", "agent_failed", KEY["cheap"], 1, usd=0.25),
        failure("dear", "judge", "timeout", "f" * 64),
    ]
    stages = [
        stage("dear", "audit", {"passed": False, "rerender": {"verdict": "differ"},
              "findings": [{"severity": "forbidden", "kind": "movie_file"}, {"severity": "note", "kind": "x"}]}),
        stage("cheap", "audit", {"passed": True, "findings": []}, 8),
        stage("cheap", "check", CHECK, 7),
        stage("beaten", "audit", {"not_handed_in": "scene.blend"}, 6),
    ]  # fmt: skip
    runs = [run(name) for name in NAMES[:3]] + [run("beaten", ended="limit_time", submission=[])]
    return Raw(load_benchmark(bench), results, plan, runs, stages, failures, None)


@pytest.fixture
def board(raw):
    return made_board(raw, {})


def made_board(raw, barred):
    checks = number_items(raw.benchmark)
    ratings = read_judge(raw.results, checks, choose_judge(raw.results, None))
    return checks.board(ratings.runs[0], samples=100, disqualified=barred)


def test_the_front_holds_those_that_nobody_beats_at_their_price(raw, board):
    found = {one.configuration: one for one in points(raw, board, "proxy")}
    assert {name for name, one in found.items() if one.cheapest} == {"cheap", "middling", "dear"}
    assert {name for name, one in found.items() if one.fastest} == {"dear"}, "all took two minutes"
    assert found["dear"].score.value == 100 and found["dear"].spent.usd == 4


def test_a_disqualified_one_is_on_no_front(raw):
    barred = disqualified(raw)
    assert barred == {
        "dear": "forbidden in 1 of 1 submissions looked through: frames rendered again differ, movie file"
    }
    found = {one.configuration: one for one in points(raw, made_board(raw, barred))}
    assert not found["dear"].cheapest and not found["dear"].fastest and found["middling"].fastest


def test_what_nobody_told_is_unknown_and_no_zero(raw):
    person = run("cheap", agent="artist", wall_seconds=0.0, usage=Usage(note="a person made it"))
    used = spent(Raw(raw.benchmark, raw.results, raw.plan, [person], [], [], None), "cheap")
    assert (used.usd, used.minutes, used.turns, used.tokens) == (None, None, None, None)
    assert (used.tasks, used.usd_known, used.minutes_known, used.lost_usd) == (1, 0, 0, 0)
    assert spent(raw, "cheap").lost_usd == 0.5 and spent(raw, "beaten").limits == 1


def test_failures_are_counted_by_stage_and_cause_apart_from_what_is_seen(raw):
    checks = number_items(raw.benchmark)
    sheet = failure_sheet(raw, checks, read_judge(raw.results, checks, choose_judge(raw.results, None)))
    operational, handed, visual = sheet.blocks
    assert operational.rows == [
        ["agent", "agent_failed", 2, 1, 0, 0.5, 2.0, "cheap"], ["judge", "timeout", 1, 1, 1, 0.0, 1.0, "dear"],
    ]  # fmt: skip
    assert [row[:3] for row in handed.rows] == [
        ["agent", "limit time", 1], ["agent", "no video handed in", 1], ["audit", "frames rendered again differ", 1],
        ["audit", "movie file", 1], ["check", "cuts or fades differ", 1],
    ]  # fmt: skip
    rows = {row[0]: dict(zip(visual.columns, row, strict=True)) for row in visual.rows}
    assert rows["rotation"] == {
        "category": "rotation", "beaten": "0 + 2 / 2", "cheap": "2 + 0 / 2", "dear": "0 + 0 / 2",
        "middling": "0 + 2 / 2",
    }  # fmt: skip
    assert rows["zoom"]["cheap"] == "0 + 0 / 0"
    assert len(failure_sheet(raw, checks, None).blocks) == 2


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_a_sheet_is_written_in_every_form(raw, board, form):
    sheet = cost_sheet(raw, board)
    text = FORMATS[form](sheet)
    assert ("middling" in text and "Cost and time" in text) or form == "csv"
    if form == "csv":
        lines = list(csv.DictReader(io.StringIO(text)))
        assert [one["value"] for one in lines if one["name"] == "dear" and one["column"] == "usd per task"] == ["4.0"]
    if form == "json":
        assert json.loads(text)["blocks"][0]["rows"][0][0] == "beaten"
    if form == "latex":
        assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 1


def test_an_audit_that_could_not_look_forbids_nothing():
    assert audit_faults({"not_handed_in": "scene.blend"}) == []
    assert audit_faults({"passed": True, "findings": [], "rerender": None}) == []


def test_a_plot_keeps_its_points_inside_and_names_what_is_unknown():
    def cell(value):
        return Cell(value=value, clips_scored=1, clips_expected=1, checks_scored=1, checks_expected=1)

    made = scatter("USD", [("a", 0.02, cell(100), True), ("b", 7.5, cell(0), True), ("c", None, cell(50), False)])
    assert made.is_log and made.unknown == ["c"] and made.front.startswith("M") and "L" in made.front
    assert all(made.left <= dot.x <= made.right and made.top <= dot.y <= made.bottom for dot in made.dots)
    plain = scatter("USD", [("a", 3.0, cell(40), False), ("b", 0.0, cell(None), False)])
    assert not plain.is_log and plain.x_ticks[0][1] == "0" and plain.unknown == ["b"] and plain.front == ""
    assert scatter("USD", []).dots == []
