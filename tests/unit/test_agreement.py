# SPDX-License-Identifier: GPL-3.0-or-later
"""Agreement with people: balanced sampling, win rates by hand, and a known truth that comes out of synthetic raters."""

import json
import random
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from bench_samples import TIMELINE, clip, write_benchmark, write_results
from matchcut.evaluator.agreement.aggregate import aggregate, correlation, majority, study_key
from matchcut.evaluator.agreement.automatic import automatic_scores
from matchcut.evaluator.agreement.page import moments
from matchcut.evaluator.agreement.records import Study, Task, Vote, Votes, WinRate
from matchcut.evaluator.agreement.sample import sample_study
from matchcut.evaluator.checklist.benchmark import Benchmark, BenchmarkVideo, LoadedBenchmark, LoadedVideo
from matchcut.evaluator.checklist.records import DIMENSIONS, SETTINGS
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.tables.board import RunKey, RunValues
from matchcut.evaluator.tables.results import number_items

MODELS = [f"m{number:02d}" for number in range(12)]


@pytest.fixture(scope="module")
def bench():
    """As many videos and clips as in the paper, three videos without any dynamic check."""
    chance = random.Random(3)
    videos = []
    for number in range(50):
        name, categories = (
            f"v{number:02d}",
            ["rotation", "object_presence", *(["action_events"] if number >= 3 else [])],
        )
        clips = tuple(clip(f"c{index}", name, *categories) for index in range(chance.randint(3, 13)))
        record = BenchmarkVideo(id=name, timeline=TIMELINE, sha256="0" * 64, source="s", licence="l")
        videos.append(LoadedVideo(Path(), record, clips))
    whole = Benchmark(name="large", version="1", licence="l", videos=[video.id for video in videos])
    return LoadedBenchmark(Path(), whole, tuple(videos))


@pytest.fixture(scope="module")
def study(bench):
    return sample_study(bench, MODELS, lambda *_: True, seed=1)


def test_exposure_is_as_even_as_in_the_paper(study):
    assert len(study.tasks) == 1440 and len({task.id for task in study.tasks}) == 1440
    for dimension in DIMENSIONS:
        tasks = [task for task in study.tasks if task.dimension == dimension]
        assert len(tasks) == 480
        assert Counter(task.setting for task in tasks) == dict.fromkeys(SETTINGS, 160)
        videos = Counter(task.video for task in tasks)
        assert len(videos) == (47 if dimension == "dynamic" else 50)
        assert set(videos.values()) <= ({9, 10, 11} if dimension == "dynamic" else {9, 10})
        models = Counter(name for task in tasks for name in (task.a, task.b))
        assert set(models) == set(MODELS) and set(models.values()) <= {79, 80, 81}
        pairs = Counter(frozenset((task.a, task.b)) for task in tasks)
        assert len(pairs) == 66 and set(pairs.values()) <= {7, 8}
        first = Counter(task.a for task in tasks)
        assert all(abs(2 * first[name] - models[name]) <= 2 for name in MODELS)


def test_only_what_is_there_is_compared_and_the_seed_decides(bench):
    def available(configuration, setting, video):
        return configuration != "m00" or (setting == "proxy" and video < "v10")

    found = sample_study(bench, MODELS[:4], available, tasks=60, seed=2)
    for task in found.tasks:
        if "m00" in (task.a, task.b):
            assert task.setting == "proxy" and task.video < "v10"
    assert found == sample_study(bench, MODELS[:4][::-1], available, tasks=60, seed=2)
    assert found != sample_study(bench, MODELS[:4], available, tasks=60, seed=3)
    with pytest.raises(BadInputError, match="two configurations"):
        sample_study(bench, MODELS, lambda configuration, *_: configuration == "m01", tasks=5)


def test_frames_that_a_rater_sees():
    one = clip("a", "v", "rotation", "object_presence", ("object_appearance", ("detailed",)), frames=24)
    checks = [check.model_copy(update={"start": 7, "end": 7, "evidence_frames": [7]}) if n == 2 else check
              for n, check in enumerate(one.checks)]  # fmt: skip
    one = one.model_copy(update={"checks": checks})
    assert moments(one, "detailed", "camera") == list(range(24))
    assert moments(one, "proxy", "static") == [0] and moments(one, "detailed", "static") == [0, 7]


@pytest.mark.parametrize(
    ("choices", "label", "reason"),
    [
        (["a", "a", "b"], "a", ""),
        (["tie", "b", "tie"], "tie", ""),
        (["a", "tie", "b"], None, "no majority"),
        (["a", "a", "issue"], None, "issue reported"),
        (["a", "a"], None, "too few votes"),
        ([], None, "too few votes"),
        (["a", "a", "b", "b"], None, "no majority"),
    ],
)
def test_majority_of_three(choices, label, reason):
    assert majority(choices) == (label, reason)


def make_study(*tasks):
    made = [Task(id=f"t{n}", dimension=d, setting=s, video=v, clip="c", a=a, b=b)
            for n, (d, s, v, a, b) in enumerate(tasks)]  # fmt: skip
    names = sorted({name for task in made for name in (task.a, task.b)})
    return Study(benchmark="b 1", seed=0, configurations=names, tasks=made)


def votes(study, rater, choices):
    cast = [Vote(task=f"t{n}", choice=choice) for n, choice in enumerate(choices) if choice]
    return Votes(rater=rater, study=study_key(study), votes=cast)


def test_win_rates_by_hand():
    study = make_study(
        ("camera", "proxy", "v1", "p", "q"),
        ("camera", "proxy", "v1", "q", "p"),
        ("camera", "detailed", "v2", "p", "q"),
        ("static", "proxy", "v1", "p", "q"),
        ("dynamic", "proxy", "v1", "p", "q"),
        ("dynamic", "detailed", "v2", "p", "r"),
        ("static", "proxy", "v1", "p", "q"),
        ("static", "proxy", "v1", "p", "q"),
    )
    cast = [votes(study, "ann", ["a", "a", "tie", "b", "a", "a", "issue", "a"]),
            votes(study, "bob", ["a", "b", "tie", "b", "a", "a", "a", "tie"]),
            votes(study, "cat", ["b", "a", "a", "b", "tie", "a", "a", "b"])]  # fmt: skip
    scores = {"t0": (0.9, 0.1), "t1": (0.2, 0.2), "t2": (0.1, 0.4), "t3": (0.5, 0.75), "t4": (1.0, 0.0)}
    found = aggregate(study, cast, scores, judge="local:m")
    assert found.excluded == {"issue reported": 1, "no automatic score": 1, "no majority": 1}
    assert found.valid == {"camera": 3, "static": 1, "dynamic": 1}
    rates = {name: {one.configuration: (one.human, one.automatic, one.tasks) for one in of}
             for name, of in found.win_rates.items()}  # fmt: skip
    # p in camera, proxy: people 1 and 0, judge 1 and 0.5; detailed: people 0.5, judge 0; both settings weigh the same
    assert rates["camera"]["p"] == (pytest.approx(50), pytest.approx(37.5), 3)
    assert rates["camera"]["q"] == (pytest.approx(50), pytest.approx(62.5), 3)
    assert rates["static"]["p"] == (0, 0, 1) and rates["dynamic"]["p"] == (100, 100, 1)
    assert rates["overall"]["p"] == (pytest.approx(50), pytest.approx((37.5 + 0 + 100) / 3), 5)
    assert rates["camera"]["r"] == (None, None, 0)  # its only task has no score
    assert {(one.video, one.tasks, one.same) for one in found.videos} == {("v1", 4, 3), ("v2", 1, 0)}
    assert found.correlations["overall"].points == 2 and found.correlations["overall"].spearman is None


def test_votes_that_do_not_belong_here():
    study, other = make_study(("camera", "proxy", "v", "p", "q")), make_study(("static", "proxy", "v", "p", "q"))
    with pytest.raises(BadInputError, match="of another study"):
        aggregate(study, [votes(other, "ann", ["a"])], {}, judge="j")
    with pytest.raises(BadInputError, match="two files of votes by 'ann'"):
        aggregate(study, [votes(study, "ann", ["a"])] * 2, {}, judge="j")


def test_a_later_vote_takes_the_place_of_the_earlier():
    study = make_study(("camera", "proxy", "v", "p", "q"))
    cast = [votes(study, name, ["a"]) for name in ("ann", "bob", "cat")]
    changed = cast[0].model_copy(update={"votes": [*cast[0].votes, Vote(task="t0", choice="b")]})
    found = aggregate(study, [changed, *cast[1:]], {"t0": (1.0, 0.0)}, judge="j")
    assert found.valid["camera"] == 1 and found.win_rates["camera"][0].human == 100


def test_correlations_of_known_points():
    def of(*points):
        return correlation([WinRate(configuration="c", human=h, automatic=a, tasks=1) for h, a in points])

    assert (of((1, 10), (2, 20), (3, 40)).spearman, of((1, 10), (2, 20), (3, 30)).pearson) == pytest.approx((1, 1))
    assert of((1, 3), (2, 2), (3, 1)).pearson == pytest.approx(-1)
    assert of((1, 1), (1, 2), (1, 3)).spearman is None and of((1, 1), (2, 2)).spearman is None


def test_the_truth_comes_out_of_synthetic_raters(bench, study):
    """Models differ in quality; the judge's ratings and three raters both see it through noise of their own."""
    quality = {name: 0.1 + 0.07 * rank for rank, name in enumerate(random.Random(4).sample(MODELS, 12))}
    chance = np.random.default_rng(5)

    checks = number_items(bench)
    runs = {
        RunKey(name, setting): RunValues(
            (chance.random(len(items)) < quality[name]).astype(float), len(items.clips), {}
        )
        for name in MODELS
        for setting, items in checks.items.items()
    }
    scores = automatic_scores(study, checks, runs)
    assert all(a in (0, 1) and b in (0, 1) for a, b in scores.values())
    cast = []
    for rater in ("ann", "bob", "cat"):
        made = []
        for task in study.tasks:
            seen = quality[task.a] - quality[task.b] + chance.normal(0, 0.15)
            choice = "issue" if chance.random() < 0.005 else "tie" if abs(seen) < 0.05 else "a" if seen > 0 else "b"
            made.append(Vote(task=task.id, choice=choice, explanation="x" if choice == "issue" else ""))
        cast.append(Votes(rater=rater, study=study_key(study), votes=made))
    found = aggregate(study, cast, scores, judge="local:m")
    truth = sorted(MODELS, key=quality.__getitem__)
    order = [one.configuration for one in sorted(found.win_rates["overall"], key=lambda one: one.human)]
    assert sum(a != b for a, b in zip(order, truth, strict=True)) <= 4
    assert found.correlations["overall"].spearman > 0.9 and found.correlations["overall"].pearson > 0.9
    assert all(found.correlations[name].spearman > 0.75 for name in DIMENSIONS)
    assert sum(found.valid.values()) + sum(found.excluded.values()) == 1440
    assert found.raters_alpha > 0.4 and found.by_video_correlation.pearson > 0.2
    for name in ("overall", *DIMENSIONS):  # every point that one wins another one loses
        assert np.mean([one.human for one in found.win_rates[name]]) == pytest.approx(50, abs=1.5)
    # a judge that rates at random agrees with nobody
    blind = {task.id: tuple(chance.random(2)) for task in study.tasks}
    assert abs(aggregate(study, cast, blind, judge="x").correlations["overall"].spearman) < 0.8


def test_command_from_sampling_to_the_answer(tmp_path, capsys):
    clips = [clip(f"c{n}", "v", "rotation", "object_presence", "action_events") for n in range(3)]
    bench, runs, folder = write_benchmark(tmp_path / "bench", clips), tmp_path / "runs", tmp_path / "study"
    names = ["p", "q", "r", "control-floor"]
    for name in names:
        for setting in SETTINGS:
            (runs / name / setting / "v").mkdir(parents=True)
            (runs / name / setting / "v" / "reconstruction.mp4").touch()
    results = write_results(tmp_path / "results", clips, lambda c, s, one: [names.index(c) / 2] * 3, names[:3])
    sample = ["agreement", "sample", str(folder), "--benchmark", str(bench), "--runs", str(runs)]
    assert main([*sample, "--tasks", "18"]) == 0
    assert "54 comparisons of 3 configurations" in capsys.readouterr().out
    assert main(sample) == 2 and "is there already" in capsys.readouterr().err
    study = Study.read(folder / "study.json")
    assert {frozenset((task.a, task.b)) for task in study.tasks} == set(map(frozenset, combinations("pqr", 2)))
    score = ["agreement", "score", str(folder), "--benchmark", str(bench), "--results", str(results)]
    assert main(score) == 2 and "holds no votes" in capsys.readouterr().err
    for rater in ("ann", "bob", "cat"):
        made = [Vote(task=task.id, choice="a" if task.a > task.b else "b") for task in study.tasks]
        Votes(rater=rater, study=study_key(study), votes=made).write(folder / "votes" / f"{rater}.json")
    assert main([*score, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {one["configuration"]: one["human"] for one in found["win_rates"]["overall"]} == {"p": 0, "q": 50, "r": 100}
    assert found["correlations"]["overall"] == pytest.approx({"points": 3, "spearman": 1, "pearson": 1})
    assert main(score) == 0
    text = capsys.readouterr().out
    assert "54 of 54 comparisons count (camera 18, static 18, dynamic 18)" in text
    rate = ["agreement", "rate", str(folder), "--benchmark", str(bench), "--runs", str(runs)]
    assert main(rate) == 2 and "--rater is missing" in capsys.readouterr().err
    assert main([*rate, "--rater", "../ann"]) == 2 and "--rater ../ann: a name has" in capsys.readouterr().err
    (runs / "my model").mkdir()
    assert main([*sample[:2], str(tmp_path / "other"), *sample[3:]]) == 2
    assert "my model: a configuration's name has" in capsys.readouterr().err
