# SPDX-License-Identifier: GPL-3.0-or-later
"""Agreement against published examples and by hand; repeats, controls and known ratings of small benchmarks."""

import json
from fractions import Fraction

import numpy as np
import pytest
from bench_samples import NAMES, clip, write_benchmark, write_results
from hypothesis import given, settings
from hypothesis import strategies as st
from matchcut.assets_ui.samples import find_sample
from matchcut.evaluator.checklist.benchmark import load_benchmark
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.reliability.controls import make_controls
from matchcut.evaluator.reliability.measure import accords, majority_labels, repeats, side_by_side
from matchcut.evaluator.reliability.statistics import (
    cohen_kappa,
    coincidences,
    confusions,
    fleiss_kappa,
    fleiss_sums,
    label_counts,
    ordinal_alpha,
)
from matchcut.evaluator.scoring.bootstrap import draw_videos
from matchcut.evaluator.tables.results import number_items, read_judge

CLIPS = [
    clip("a", "v1", "rotation", "object_presence", "action_events"),
    clip("b", "v2", "rotation", "rotation", "object_presence", "subject_motion"),
    clip("c", "v3", "zoom", "object_presence"),
]


def test_alpha_of_the_published_example():
    rows = ["1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 ."]
    labels = np.array([[-1 if one == "." else int(one) - 1 for one in row.split()] for row in rows]).T
    assert ordinal_alpha(coincidences(label_counts(labels, 5)).sum(axis=0)) == pytest.approx(0.815, abs=5e-4)


def test_fleiss_kappa_of_the_published_example():
    counts = np.array(
        [[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
         [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]], float,
    )  # fmt: skip
    assert fleiss_kappa(fleiss_sums(counts).sum(axis=0)) == pytest.approx(0.210, abs=5e-4)


def test_cohen_kappa_by_hand():
    # observed (20 + 15)/50 = 0.7; by chance (25·30 + 25·20)/50² = 0.5
    assert cohen_kappa(np.array([[20.0, 5], [10, 15]])) == pytest.approx(0.4)


def test_agreement_that_is_not_defined_is_nan():
    assert np.isnan(cohen_kappa(np.zeros((3, 3)))) and np.isnan(cohen_kappa(np.diag([5.0, 0, 0])))
    assert np.isnan(ordinal_alpha(np.diag([5.0, 0, 0]))) and np.isnan(fleiss_kappa(np.zeros(5)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30))
def test_agreement_is_symmetric_bounded_and_one_for_equal_ratings(pairs):
    first, second = np.array(pairs).T
    for one, other in ((first, second), (second, first)):
        confusion = confusions(one, other, 3).sum(axis=0)
        assert confusion.sum() == len(pairs)
        kappa = cohen_kappa(confusion)
        assert np.isnan(kappa) or -1 - 1e-9 <= kappa <= 1 + 1e-9
        np.testing.assert_allclose(kappa, cohen_kappa(confusion.T))
    alpha = ordinal_alpha(coincidences(label_counts(np.column_stack([first, first]), 3)).sum(axis=0))
    assert np.isnan(alpha) or alpha == pytest.approx(1)


def test_a_confusion_of_neighbours_weighs_less_than_one_of_the_ends():
    near = coincidences(label_counts(np.array([[0, 0], [1, 1], [2, 2], [1, 2]] * 9), 3)).sum(axis=0)
    far = coincidences(label_counts(np.array([[0, 0], [1, 1], [2, 2], [0, 2]] * 9), 3)).sum(axis=0)
    assert ordinal_alpha(near) > ordinal_alpha(far)


def test_majority_needs_more_than_half():
    labels = np.array([[0, 0, 1], [0, 1, 2], [2, 2, 2], [0, 0, -1], [-1, -1, 0]])
    assert majority_labels(labels).tolist() == [0, -1, 2, 0, -1]
    assert majority_labels(labels[:, :2]).tolist() == [0, -1, 2, 0, -1]


@pytest.fixture
def bench(tmp_path):
    return write_benchmark(tmp_path / "bench", CLIPS)


def test_repeats_by_hand(bench, tmp_path):
    # 9 items under one setting; the judge changes its mind on the first item of a, and on both rotations of b
    times = [{"a": [0, 1, 1], "b": [0, 0.5, 1, 1], "c": [1, 0]},
             {"a": [1, 1, 1], "b": [0.5, 0.5, 1, 1], "c": [1, 0]},
             {"a": [1, 1, 1], "b": [1, 1, 1, 1], "c": [1, 0]}]  # fmt: skip
    results = tmp_path / "results"
    for number, rated in enumerate(times):
        write_results(results, CLIPS, lambda c, s, one, r=rated: [float(v) for v in r[one.id]], ["x"],
                      settings=["proxy"], repeat=number)  # fmt: skip
    rows = tmp_path / "items.csv"
    command = ["judge", "reliability", str(results), "--benchmark", str(bench), "--items", str(rows)]
    assert main(command) == 0
    head, *lines = rows.read_text().splitlines()
    assert head == "configuration,setting,video,clip,check,category,rating_0,rating_1,rating_2,majority"
    assert lines[0] == "x,proxy,v1,a,k0,rotation,unsatisfied,fully_satisfied,fully_satisfied,fully_satisfied"
    assert lines[3] == "x,proxy,v2,b,k0,rotation,unsatisfied,partially_satisfied,fully_satisfied,"
    assert len(lines) == 9
    checks = number_items(load_benchmark(bench))
    found = repeats(checks, read_judge(results, checks, "local:m", repeats=True), draw_videos(3, samples=200))
    assert (found.times, found.items, found.items_expected, found.no_majority) == (3, 9, 9, 1)
    assert found.flip_rate.value == pytest.approx(3 / 9)
    assert {name: figure.value for name, figure in found.flip_rates.items()} == pytest.approx(
        {"camera": 3 / 4, "static": 0, "dynamic": 0}
    )
    # camera of a, b, c: 0, 0.25, 1; then 1, 0.5, 1; then 1, 1, 1; of the majorities 1, 0.5 (one item without), 1
    static, dynamic = 2 / 3, 1
    expected = [100 * (camera + static + dynamic) / 3 for camera in (1.25 / 3, 2.5 / 3, 1, 2.5 / 3)]
    assert found.overall == {"x, proxy": pytest.approx(expected)}
    one = fleiss_sums(label_counts(np.array([[0, 2, 2], [2, 2, 2]]), 3)).sum(axis=0)
    assert one.tolist() == pytest.approx([1 / 3, 0, 5 / 3, 4 / 3, 2])  # shares, agreeing pairs, items


def test_one_time_alone_is_no_repeat(bench, tmp_path):
    results = write_results(tmp_path / "r", CLIPS, lambda c, s, one: [1.0] * len(one.applicable(s)), ["x"])
    checks = number_items(load_benchmark(bench))
    assert repeats(checks, read_judge(results, checks, "local:m", repeats=True), draw_videos(3, samples=200)) is None


def test_two_judges_by_hand(bench, tmp_path):
    results = tmp_path / "results"
    rated = {"local:m": {"a": [1, 1, 0], "b": [0.5, 0, 1, 0], "c": [1, 1]},
             "local:n": {"a": [1, 0.5, 0], "b": [0.5, 1, 1, 0], "c": "timeout"}}  # fmt: skip
    for judge, values in rated.items():
        write_results(results, CLIPS, lambda c, s, one, v=values: v[one.id] if isinstance(v[one.id], str)
                      else [float(value) for value in v[one.id]], ["x"], settings=["proxy"], judge=judge)  # fmt: skip
    checks = number_items(load_benchmark(bench))
    first, second = (read_judge(results, checks, judge).runs[0] for judge in rated)
    found = accords(side_by_side(checks, [first, second], list(first)), draw_videos(3, samples=200))
    assert (found["all"].items, found["all"].items_expected) == (7, 9)
    assert found["all"].confusion == [[2, 0, 1], [0, 1, 0], [0, 1, 2]]
    assert found["all"].same.value == pytest.approx(5 / 7)
    # by chance (3·2 + 1·2 + 3·3)/49
    assert found["all"].kappa.value == pytest.approx((5 / 7 - 17 / 49) / (1 - 17 / 49))
    assert found["dynamic"].same.value == 1 and found["dynamic"].items == 2
    assert found["dynamic"].kappa.value is None and found["dynamic"].kappa.reason
    assert found["all"].same.low <= found["all"].same.value <= found["all"].same.high


def test_command_says_what_is_known_and_what_is_missing(bench, tmp_path, capsys):
    results = tmp_path / "results"
    for name, value in (("gpt-x-high", 0.5), ("control-ceiling", 1.0), ("control-floor", 0.0)):
        write_results(results, CLIPS, lambda c, s, one, v=value: [v] * len(one.applicable(s)), [name],
                      judge="openai:gpt-x")  # fmt: skip
    right = {"a": [1.0, 0.5, 0.5], "b": [0.5, 0.5, 0.5, 0.0], "c": [0.5, 0.5]}
    known = tmp_path / "known.json"
    ratings = {
        one.id: {check.id: NAMES[value] for check, value in zip(one.checks, right[one.id], strict=True)}
        for one in CLIPS
    }
    data = {"format": "matchcut-ratings/1", "sample": "s", "variant": "x", "ratings": {"proxy": ratings}}
    known.write_text(json.dumps(data), encoding="utf-8")
    command = ["judge", "reliability", str(results), "--benchmark", str(bench)]
    assert main([*command, "--known", str(known), "--of", "gpt-x-high", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["own_configurations"] == ["gpt-x-high"]
    assert [one["overall"]["value"] for one in found["ceiling"]] == [100] * 3
    assert [one["overall"]["value"] for one in found["floor"]] == [0] * 3
    accuracy = found["known"]["accords"]["all"]
    assert (accuracy["items"], accuracy["same"]["value"]) == (9, pytest.approx(7 / 9))
    assert accuracy["confusion"] == [[0, 1, 0], [0, 7, 0], [0, 1, 0]]
    assert [line.split(":")[0] for line in found["missing"]] == ["repeats", "second"]
    assert main([*command, "--second", "openai:gpt-x", "--out", str(tmp_path / "r.json")]) == 0
    text = capsys.readouterr().out
    assert "the judge's own model is among the contestants: gpt-x-high" in text and "agree 100.0%" in text
    assert json.loads((tmp_path / "r.json").read_text())["format"] == "matchcut-reliability/1"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--known", "x.json"], "belong together"),
        (["--known", "KNOWN", "--of", "x"], "0 clips of the benchmark are called 'z'"),
        (["--second", "local:n"], "did not rate anything"),
        (["--contestant", "z"], "'z' was not judged"),
    ],
)
def test_wrong_options_say_what_to_do(bench, tmp_path, capsys, options, why):
    results = write_results(tmp_path / "r", CLIPS, lambda c, s, one: [1.0] * len(one.applicable(s)), ["x"])
    known = tmp_path / "known.json"
    known.write_text(json.dumps({"format": "matchcut-ratings/1", "sample": "s", "variant": "x",
                                 "ratings": {"proxy": {"z": {"k0": "unsatisfied"}}}}))  # fmt: skip
    options = [str(known) if one == "KNOWN" else one for one in options]
    assert main(["judge", "reliability", str(results), "--benchmark", str(bench), *options]) == 2
    assert why in capsys.readouterr().err


def test_controls_are_the_reference_and_a_foreign_video_of_its_length(tmp_path):
    references = {}
    for name, shade, frames in (("v1", 40, 30), ("v2", 200, 12)):
        references[name] = tmp_path / f"{name}.mp4"
        pictures = [np.full((48, 64, 3), shade, np.uint8)] * frames
        encode(pictures, Fraction(24), references[name], reporter=SilentReporter(), total=frames)
    timeline = probe(references["v1"]).timeline
    made = [clip("a", "v1", "rotation"), clip("b", "v2", "rotation")]
    bench = write_benchmark(tmp_path / "bench", made, timeline=timeline, references=references)
    files = make_controls(load_benchmark(bench), tmp_path / "runs", settings=["proxy"], reporter=SilentReporter())
    assert len(files) == 4
    ceiling = tmp_path / "runs/control-ceiling/proxy/v1/reconstruction.mp4"
    floor = tmp_path / "runs/control-floor/proxy/v1/reconstruction.mp4"
    assert ceiling.read_bytes() == references["v1"].read_bytes()
    assert probe(floor).timeline == timeline  # played again from its start
    before = floor.stat().st_mtime_ns
    assert main(["judge", "controls", str(bench), "--out", str(tmp_path / "runs"), "--setting", "proxy"]) == 0
    assert floor.stat().st_mtime_ns == before
    alone = write_benchmark(tmp_path / "alone", made[:1], timeline=timeline, references=references)
    assert main(["judge", "controls", str(alone), "--out", str(tmp_path / "other")]) == 2


def test_the_sample_as_a_benchmark_and_a_judge_that_is_right(tmp_path, capsys):
    sample, demo, trial = find_sample("two_shots"), tmp_path / "demo", tmp_path / "trial"
    line = sample.timeline
    for name in ("reference.mp4", "renders/reconstruction/reconstruction.mp4"):
        grey = [np.full((line.height, line.width, 3), 90, np.uint8)] * line.frames
        encode(grey, line.rate, demo / name, reporter=SilentReporter(), total=line.frames)
    command = ["judge", "sample", "--demo", str(demo), "--out", str(trial)]
    assert main(command) == main(command) == 0
    bench = load_benchmark(trial / "bench")
    assert main(["checklist", "validate", str(trial / "bench"), "--no-videos"]) == 0
    right = json.loads((trial / "ratings.json").read_text())["ratings"]
    values = {label: value for value, label in NAMES.items()}

    def rate(configuration, setting, one):
        assert (trial / "runs" / configuration / setting / "two_shots" / "reconstruction.mp4").is_file()
        return [values[right[setting][one.id][check.id]] for check in one.applicable(setting)]

    results = write_results(trial / "results", bench.clips, rate, ["reconstruction"])
    capsys.readouterr()
    known = ["--known", str(trial / "ratings.json"), "--of", "reconstruction", "--json"]
    assert main(["judge", "reliability", str(results), "--benchmark", str(trial / "bench"), *known]) == 0
    accords = json.loads(capsys.readouterr().out)["known"]["accords"]
    assert all(one["same"]["value"] == 1 and one["items"] == one["items_expected"] > 20 for one in accords.values())
    assert accords["all"]["kappa"]["value"] == pytest.approx(1) and accords["all"]["same"]["low"] is None
    (demo / "reference.mp4").unlink()
    assert main(command) == 2 and "run matchcut demo" in capsys.readouterr().err
