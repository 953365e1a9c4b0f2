# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables by hand on a small benchmark, their intervals by a plain loop, and what holds on any benchmark."""

import csv
import io
import json
import random

import numpy as np
import pytest
from bench_samples import clip, judgment, write_benchmark, write_results
from hypothesis import given, settings
from hypothesis import strategies as st
from matchcut.evaluator.checklist.benchmark import load_benchmark
from matchcut.evaluator.checklist.records import DIMENSIONS, SETTINGS
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.judge.units import judgment_path
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.scoring.aggregate import score_checklist
from matchcut.evaluator.scoring.bootstrap import draw_videos, interval, replicates, video_indices
from matchcut.evaluator.scoring.items import CATEGORIES, MEASURES, items_of
from matchcut.evaluator.tables.board import Board, RunKey, RunValues
from matchcut.evaluator.tables.make import (
    ablation_blocks,
    category_blocks,
    gap_blocks,
    own_configurations,
    score_blocks,
)
from matchcut.evaluator.tables.render import FORMATS
from matchcut.evaluator.tables.results import choose_judge, number_items, read_judge

A = clip("a", "v1", "rotation", "object_presence", "action_events")
B = clip("b", "v1", "rotation", "rotation", "object_presence", "subject_motion")
C = clip("c", "v2", "zoom", "object_presence")
CLIPS = [A, B, C]
RATED = {
    "x": {"a": [1, 0.5, 0], "b": [0, 1, 1, 0.5], "c": [1, 0.5]},
    "y": {"a": [0, 0, 0], "b": [1, 1, 1, 1], "c": "timeout"},
}


def rate(configuration, setting, of):
    values = RATED[configuration][of.id]
    return values if isinstance(values, str) else [float(value) for value in values]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """(benchmark's folder, results' folder)"""
    folder = tmp_path_factory.mktemp("small")
    write_results(folder / "results", CLIPS, rate, ["x", "y"], judge="openai:gpt-y")
    return write_benchmark(folder / "bench", CLIPS), folder / "results"


@pytest.fixture(scope="module")
def board(small):
    checks = number_items(load_benchmark(small[0]))
    return checks.board(read_judge(small[1], checks, "openai:gpt-y").runs[0])


def values(block, name):
    row = next(row for row in block.rows if row.name == name)
    return {column: cell.value for column, cell in zip(block.columns, row.cells, strict=True)}


def cell(block, name, column):
    row = next(row for row in block.rows if row.name == name)
    return row.cells[block.columns.index(column)]


def test_scores_by_hand(board):
    blocks = score_blocks(board)
    assert [block.title for block in blocks] == list(SETTINGS)
    for block in blocks:
        # x: camera (1 + 0.5 + 1)/3, static (0.5 + 1 + 0.5)/3, dynamic (0 + 0.5)/2
        camera, static, dynamic = 100 * 2.5 / 3, 100 * 2 / 3, 25
        expected = {"overall": (camera + static + dynamic) / 3, "camera": camera, "static": static, "dynamic": dynamic}
        assert values(block, "x") == pytest.approx(expected, abs=1e-12)
        # y: a gets 0 and b gets 1 everywhere; c has no ratings and is no zero
        assert values(block, "y") == pytest.approx(dict.fromkeys(expected, 50))
        assert values(block, "mean") == pytest.approx({name: (one + 50) / 2 for name, one in expected.items()})
        one = cell(block, "y", "camera")
        assert (one.clips_scored, one.clips_expected, one.checks_scored, one.checks_expected) == (2, 3, 3, 4)
        assert one.reason == "2 of 3 clips judged; failed: timeout (1)"
        assert cell(block, "y", "dynamic").reason == ""
        mean = cell(block, "mean", "camera")
        assert (mean.clips_scored, mean.clips_expected) == (5, 6)


def test_categories_and_gaps_by_hand(board):
    block = category_blocks(board)[0]
    found = {name: value for name, value in values(block, "x").items() if value is not None}
    assert found == pytest.approx(
        {"rotation": 75, "zoom": 100, "object_presence": 200 / 3, "subject_motion": 50, "action_events": 0}
    )
    assert cell(block, "y", "zoom").value is None and "timeout" in cell(block, "y", "zoom").reason
    assert values(block, "mean")["zoom"] == 100
    assert cell(block, "mean", "zoom").reason.startswith("the mean of 1 of 2")
    assert "zoom: the mean of 1 of 2" in block.note
    gaps = gap_blocks(board)
    assert values(gaps[0], "x")["subject motion − action events"] == 50
    assert values(gaps[0], "y")["subject motion − action events"] == 100
    assert values(gaps[0], "mean")["subject motion − action events"] == 75
    assert values(gaps[0], "x")["target − rotation"] is None  # no check of the target
    assert values(gaps[-1], "mean") == {"camera": 0, "dynamic": 0} and gaps[-1].title == "proxy − detailed"


def test_ablation_compares_what_both_have(board):
    whole, difference = ablation_blocks(board, "x", ["y"])
    assert values(whole, "x")["camera"] == pytest.approx(100 * 2.5 / 3)
    # of a and b alone: x has (1 + 0.5)/2 for the camera
    assert values(difference, "y − x")["camera"] == pytest.approx(50 - 75)
    assert cell(difference, "y − x", "camera").clips_scored == 2 * 2 * 3
    assert values(difference, "y − x")["dynamic"] == pytest.approx(50 - 25)
    with pytest.raises(BadInputError, match="'z' was not judged; there are: x, y"):
        ablation_blocks(board, "x", ["z"])


# intervals


def random_board(seed, videos=7, configurations=("p", "q"), holes=0.1):
    chance = random.Random(seed)
    clips = [
        clip(f"c{n}", f"v{video}", *chance.choices(CATEGORIES, k=chance.randint(1, 6)))
        for video in range(videos)
        for n in range(chance.randint(1, 4))
    ]
    items = {setting: items_of(clips, setting) for setting in SETTINGS}
    runs = {}
    for name in configurations:
        for setting, one in items.items():
            rated = np.array(chance.choices([0.0, 0.5, 1.0], k=len(one)))
            gone = {index for index in range(len(one.clips)) if chance.random() < holes}
            rated[np.isin(one.clip, list(gone))] = np.nan
            reasons = {"timeout": len(gone)} if gone else {}
            runs[RunKey(name, setting)] = RunValues(rated, len(one.clips) - len(gone), reasons)
    names = [f"v{video}" for video in range(videos)]
    video_of = {setting: video_indices(one.clips, names) for setting, one in items.items()}
    return clips, Board(items, runs, video_of, draw_videos(videos, samples=200, seed=3))


def test_replicates_are_those_of_a_plain_loop():
    _, board = random_board(5)
    key = RunKey("p", "detailed")
    items = board.items["detailed"]
    tally = items.tally(board.runs[key].values)
    fast = replicates(tally, board.video_of["detailed"], board.draws)
    for draw, found in zip(board.draws[:40], fast[:40], strict=True):
        drawn = [clip for video, count in enumerate(draw)
                 for clip in np.flatnonzero(board.video_of["detailed"] == video).tolist() * int(count)]  # fmt: skip
        with np.errstate(all="ignore"):
            slow = [np.nanmean(column) * 100 if not np.isnan(column).all() else np.nan
                    for column in (tally.means[drawn, measure] if drawn else np.array([np.nan])
                                   for measure in range(len(MEASURES)))]  # fmt: skip
        np.testing.assert_allclose(found, [*slow, np.mean(slow[:3])])


def test_draws_are_repeatable_and_hold_whole_videos():
    draws = draw_videos(50, samples=300, seed=1)
    assert (draws.sum(axis=1) == 50).all() and (draws == np.round(draws)).all()
    assert (draws == draw_videos(50, samples=300, seed=1)).all() and (draws != draw_videos(50, samples=300)).any()


def test_interval_needs_scores_in_nearly_every_draw():
    assert interval(np.arange(101.0)) == pytest.approx((2.5, 97.5))
    assert interval(np.r_[np.full(4, np.nan), np.ones(96)]) == (1, 1)
    assert interval(np.r_[np.full(6, np.nan), np.ones(94)]) is None
    assert interval(np.full(9, np.nan)) is None


def test_difference_of_a_run_with_itself_has_no_spread():
    _, board = random_board(2, holes=0)
    key = RunKey("p", "proxy")
    same = board.cell([(1.0, key, "overall"), (-1.0, key, "overall")])
    assert (same.value, same.low, same.high) == (0, 0, 0)
    other = board.cell([(1.0, key, "overall")])
    assert other.low < other.value < other.high


def test_one_video_has_no_interval(small):
    checks = number_items(load_benchmark(small[0], videos=["v1"]))
    board = checks.board(read_judge(small[1], checks, "openai:gpt-y").runs[0])
    assert all((c.low, c.high) == (None, None) for b in score_blocks(board) for r in b.rows for c in r.cells)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 0.9]))
def test_board_says_what_the_score_of_one_run_says(seed, holes):
    clips, board = random_board(seed, videos=3, configurations=("p",), holes=holes)
    for setting in SETTINGS:
        run, items = board.runs[RunKey("p", setting)], board.items[setting]
        judged = []
        for one in clips:
            rated = [run.values[number] for number in items.numbers.get((one.video, one.id), {}).values()]
            if rated and not np.isnan(rated).any():
                judged.append(judgment(one, setting, rated, "k"))
        score = score_checklist(clips, judged, [], setting)
        for name in ("overall", *DIMENSIONS, *CATEGORIES):
            part = score.overall if name == "overall" else {**score.dimensions, **score.categories}[name]
            found = board.cell([(1.0, RunKey("p", setting), name)])
            assert found.value == part.value
            assert (found.clips_scored, found.checks_scored) == (part.clips_scored, part.checks_scored)
            assert (found.clips_expected, found.checks_expected) == (part.clips_expected, part.checks_expected)
            assert found.value is not None or found.reason


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_coverage_adds_up(seed):
    _, board = random_board(seed, videos=3)
    for block in score_blocks(board) + category_blocks(board)[:-1]:
        *rows, mean = block.rows
        for column, of_mean in enumerate(mean.cells):
            counted = [row.cells[column] for row in rows]
            if of_mean.reason.startswith("the mean of"):
                counted = [one for one in counted if one.value is not None]
            assert of_mean.checks_scored == sum(one.checks_scored for one in counted)
            assert of_mean.clips_expected == sum(one.clips_expected for one in counted)
        for row in rows:
            dimensions = row.cells[1:4] if block.columns[0] == "overall" else row.cells
            whole = board.runs[RunKey(row.name, block.title)]
            assert sum(one.checks_scored for one in dimensions) == int((~np.isnan(whole.values)).sum())


# reading


def test_same_numbers_whatever_the_order_of_videos(small, tmp_path):
    folder = write_benchmark(tmp_path / "bench", CLIPS[::-1])
    found = []
    for bench in (small[0], folder):
        checks = number_items(load_benchmark(bench))
        board = checks.board(read_judge(small[1], checks, "openai:gpt-y").runs[0])
        found.append([[cell.value for row in block.rows for cell in row.cells] for block in score_blocks(board)])
    assert found[0] == found[1]


def test_why_a_clip_has_no_ratings(tmp_path):
    bench = write_benchmark(tmp_path / "bench", CLIPS)
    results = write_results(tmp_path / "results", [A, B], rate, ["x"], settings=["proxy"])
    checks = number_items(load_benchmark(bench))
    key = RunKey("x", "proxy")

    def reasons():
        return dict(read_judge(results, checks, "local:m").runs[0][key].reasons)

    assert reasons() == {"not_run": 1}
    files = sorted((results / "judgments").iterdir())
    first = json.loads(files[0].read_text())
    first["ratings"] = first["ratings"][:-1]
    files[0].write_text(json.dumps(first))
    assert reasons() == {"not_run": 1, "checks_changed": 1}
    files[0].unlink()
    assert reasons() == {"not_run": 1, "judgment_missing": 1}
    other = json.loads(files[1].read_text())
    files[1].write_text(json.dumps({**other, "setting": "detailed"}))
    with pytest.raises(BadInputError, match="is not the judgment of v1"):
        reasons()
    files[1].write_text("{}")
    with pytest.raises(BadInputError, match="is damaged"):
        reasons()


def test_which_judge_and_which_configurations(small, tmp_path):
    bench, results = small
    checks = number_items(load_benchmark(bench))
    assert choose_judge(results, None) == "openai:gpt-y"
    with pytest.raises(BadInputError, match=r"did not rate anything in .*; there are: openai:gpt-y"):
        choose_judge(results, "local:m")
    with pytest.raises(BadInputError, match="holds nothing that was judged"):
        choose_judge(tmp_path, None)
    only = read_judge(results, checks, "openai:gpt-y", configurations=["y"]).runs[0]
    assert {key.configuration for key in only} == {"y"}
    with pytest.raises(BadInputError, match="rated nothing of the configuration 'z'"):
        read_judge(results, checks, "openai:gpt-y", configurations=["x", "z"])
    both = write_results(tmp_path / "r", CLIPS, rate, ["x"], settings=["proxy"])
    write_results(tmp_path / "r", CLIPS, rate, ["x"], settings=["proxy"], judge="local:n")
    with pytest.raises(BadInputError, match="choose one by --judge: local:m, local:n"):
        choose_judge(both, None)
    assert judgment_path(both, "k").parent.is_dir()


def test_controls_are_no_contestants(tmp_path):
    bench = write_benchmark(tmp_path / "bench", CLIPS)
    names = ["x", "control-ceiling", "control-floor"]
    results = write_results(tmp_path / "r", CLIPS, lambda c, s, one: rate("x", s, one), names)
    ratings = read_judge(results, number_items(load_benchmark(bench)), "local:m")
    assert {key.configuration for key in ratings.contestants().runs[0]} == {"x"}


@pytest.mark.parametrize(
    ("model", "names"),
    [
        ("gpt-5.6-sol", ["gpt-5.6-sol", "GPT-5.6-Sol_high"]),
        ("vendor/GPT-5.6-sol", ["gpt-5.6-sol", "GPT-5.6-Sol_high"]),
        ("gpt-5.6", ["gpt-5.6-sol", "GPT-5.6-Sol_high"]),
        ("gpt-6-astra", ["codex-gpt6-astra-high"]),
        ("stub", []),
    ],
)
def test_the_judges_own_model_among_the_contestants(model, names):
    contestants = ["gpt-5.6-sol", "GPT-5.6-Sol_high", "gpt-5.65-sol", "codex-gpt6-astra-high", "opus-5.5"]
    assert own_configurations(model, contestants) == names


# the command


def table(small, capsys, *options):
    status = main(["table", str(small[1]), "--benchmark", str(small[0]), *options])
    return status, capsys.readouterr()


def test_text_names_coverage_judge_and_what_is_missing(small, capsys):
    status, said = table(small, capsys)
    assert status == 0
    lines = said.out.splitlines()
    assert lines[1] == "small 1; judge openai:gpt-y"
    assert next(line for line in lines if line.startswith("  x")).split()[1:3] == ["58.3", "3/3"]
    assert "y, proxy: 2 of 3 clips judged; timeout (1)" in lines
    _, marked = table(small, capsys, "--contestant", "y")
    assert "  y †" in marked.out and "† the judge's own model" in marked.out and "†" not in said.out
    assert table(small, capsys, "--contestant", "z")[0] == 2


@pytest.mark.parametrize(
    "kind", [[], ["--kind=categories"], ["--kind=gaps"], ["--kind=ablation", "--base=x", "--variant=y"]]
)
def test_every_format_of_every_kind_says_the_same(small, capsys, kind):
    made = {form: table(small, capsys, *kind, "--format", form)[1].out for form in FORMATS}
    data = json.loads(made["json"])
    cells = [
        (block["title"], row["name"], column, cell)
        for block in data["blocks"]
        for row in block["rows"]
        for column, cell in zip(block["columns"], row["cells"], strict=True)
    ]
    rows = list(csv.DictReader(io.StringIO(made["csv"])))
    assert len(rows) == len(cells)
    for row, (block, name, column, one) in zip(rows, cells, strict=True):
        assert (row["block"], row["row"], row["column"]) == (block, name, column)
        assert row["value"] == ("" if one["value"] is None else str(one["value"]))
        assert int(row["clips_expected"]) == one["clips_expected"]
    shown = [f"{one['value']:.1f} " for *_, one in cells if one["value"] is not None and one["low"] is None]
    for form in ("text", "markdown", "latex"):
        assert all(value.strip("+-") in made[form] for value in shown)
    assert made["latex"].count("{") == made["latex"].count("}") and "−" not in made["latex"].split("begin")[1]


def test_written_to_a_file(small, capsys, tmp_path):
    status, said = table(small, capsys, "--format=csv", "--out", str(tmp_path / "t.csv"))
    assert (status, said.out) == (0, "") and (tmp_path / "t.csv").read_text().startswith("block,row,column")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--kind=ablation"], "name the configurations"),
        (["--base=x"], "belong to --kind ablation"),
        (["--samples=5"], "give a number from 100"),
        (["--kind=ablation", "--base=x", "--variant=z"], "'z'"),
        (["--judge=m"], "there are: openai:gpt-y"),
    ],
)
def test_wrong_options_say_what_to_do(small, capsys, options, why):
    status, said = table(small, capsys, *options)
    assert status == 2 and why in said.err and said.err.strip().splitlines()[-1].count("\n") == 0
