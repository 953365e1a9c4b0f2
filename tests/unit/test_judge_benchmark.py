# SPDX-License-Identifier: GPL-3.0-or-later
"""`judge run` over a benchmark: what is judged, what fails, what it costs, and what is left on disk."""

import json
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest
from bench_samples import write_benchmark
from judge_stub import FULL, JudgeStub, asked, error, labels, satisfied
from judge_videos import clip, video
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.judge import evidence as evidence_module
from matchcut.evaluator.judge.records import Judgment
from matchcut.evaluator.judge.units import judge_folder, read_units, unit_path

CLIPS = [clip("c1", 0, 8), clip("c2", 10, 8)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    reference = video(folder / "reference.mp4", 24)
    clips = [one.model_copy(update={"video": name}) for name in ("v", "w") for one in CLIPS]
    references = {name: Path(reference.path) for name in ("v", "w")}
    write_benchmark(folder / "bench", clips, timeline=reference.timeline, references=references)
    for number, configuration in enumerate(("one", "two")):
        for setting in ("proxy", "detailed"):
            for name in ("v", "w"):
                place = folder / "runs" / configuration / setting / name
                place.mkdir(parents=True)
                video(place / "reconstruction.mp4", 24, tint=20 + 20 * number)
    return folder


@pytest.fixture
def runs(made, tmp_path):
    shutil.copytree(made / "runs", tmp_path / "runs")
    return tmp_path / "runs"


def judge(made, runs, out, stub, *options, spec=None):
    return main(
        ["judge", "run", str(made / "bench"), "--runs", str(runs), "--out", str(out), "--no-png", "--json",
         "--judge", spec or stub.spec, *options]
    )  # fmt: skip


def units(out):
    return {(u.configuration, u.setting, u.video, u.repeat): u for u in read_units(out)}


def test_everything_is_judged_once_and_each_unit_names_its_judgments(made, runs, tmp_path, capsys):
    out = tmp_path / "out"
    with JudgeStub() as stub:
        assert judge(made, runs, out, stub) == 0
        answer = json.loads(capsys.readouterr().out)
        assert (answer["judged"], answer["clips"], answer["asked_now"], answer["units"]) == (16, 16, 16, 8)
        assert answer["tokens"] == 16 * 1234 and answer["usd"] == 0 and answer["failed"] == {}
        found = units(out)
        assert set(found) == {(c, s, v, 0) for c in ("one", "two") for s in ("proxy", "detailed") for v in ("v", "w")}
        for unit in found.values():
            assert [one.clip for one in unit.clips] == ["c1", "c2"]
            for one in unit.clips:
                judgment = Judgment.read(out / "judgments" / f"{one.key}.json")
                assert (judgment.clip, judgment.video, judgment.setting) == (one.clip, unit.video, unit.setting)
                assert judgment.judged_at and judgment.schema_sha256 and judgment.evidence[0].seconds == 0
        path = unit_path(out, f"local:{stub.url}:stub", "one", "proxy", "v")
        assert path.is_file() and judge_folder(found["one", "proxy", "v", 0].judge) in str(path)
        assert judge(made, runs, out, stub) == 0
        assert json.loads(capsys.readouterr().out)["asked_now"] == 0 and len(stub.requests) == 16


def test_selection(made, runs, tmp_path):
    out = tmp_path / "out"
    with JudgeStub() as stub:
        options = ["--configuration", "two", "--setting", "proxy", "--video", "w", "--repeats", "2"]
        assert judge(made, runs, out, stub, *options) == 0
        assert set(units(out)) == {("two", "proxy", "w", 0), ("two", "proxy", "w", 1)}
        assert len(stub.requests) == 4
        first, second = (units(out)["two", "proxy", "w", repeat].clips for repeat in (0, 1))
        assert {one.key for one in first}.isdisjoint(one.key for one in second)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--configuration", "three"], "three"),
        (["--video", "x"], "'x'"),
        (["--budget-usd", "0"], "above 0"),
        (["--repeats", "0"], "at least 1"),
        (["--effort", "much"], "much"),
    ],
)
def test_wrong_options_are_one_line(options, words, made, runs, tmp_path, capsys):
    with JudgeStub() as stub:
        try:
            assert judge(made, runs, tmp_path / "out", stub, *options) == 2
        except SystemExit as end:
            assert end.code == 2
        assert stub.requests == []
    assert words in capsys.readouterr().err


def test_videos_that_are_missing_or_broken_are_failures_of_their_own(made, runs, tmp_path, capsys):
    (runs / "one" / "proxy" / "v" / "reconstruction.mp4").unlink()
    (runs / "one" / "proxy" / "w" / "reconstruction.mp4").write_bytes(b"no video")
    video(runs / "two" / "proxy" / "v" / "reconstruction.mp4", 12)
    shutil.rmtree(runs / "two" / "detailed")
    out = tmp_path / "out"
    with JudgeStub() as stub:
        assert judge(made, runs, out, stub) == 3
    failed = json.loads(capsys.readouterr().out)["failed"]
    assert failed == {"missing_video": 2, "undecodable": 2, "interval_unavailable": 1}
    found = units(out)
    assert [one.reason for one in found["one", "proxy", "v", 0].clips] == ["missing_video"] * 2
    assert [(one.key is None, one.reason) for one in found["two", "proxy", "v", 0].clips] == [
        (False, ""), (True, "interval_unavailable"),
    ]  # fmt: skip
    assert not any(key[:2] == ("two", "detailed") for key in found)  # a setting that was not run
    assert len(list((out / "operational").glob("*.json"))) == 5


def test_reference_that_is_not_the_benchmark_s(made, runs, tmp_path, capsys):
    shutil.copytree(made / "bench", tmp_path / "bench")
    shutil.copyfile(runs / "one" / "proxy" / "v" / "reconstruction.mp4", tmp_path / "bench/videos/v/reference.mp4")
    with JudgeStub() as stub:
        arguments = ["judge", "run", str(tmp_path / "bench"), "--runs", str(runs), "--out", str(tmp_path / "out")]
        assert main([*arguments, "--judge", stub.spec]) == 2
        assert stub.requests == []
    assert "not the video that video.json names" in capsys.readouterr().err


def test_second_judge_reuses_images_and_opens_no_video(made, runs, tmp_path, monkeypatch):
    out, opened = tmp_path / "out", []
    with JudgeStub() as stub:
        assert judge(made, runs, out, stub) == 0
        before = sorted(path.name for path in (out / "evidence").rglob("*"))
        original = evidence_module.pick_pictures
        monkeypatch.setattr(evidence_module, "pick_pictures", lambda *a: (opened.append(a), original(*a))[1])
        monkeypatch.setattr("matchcut.evaluator.judge.benchmark.probe", lambda path: opened.append(path))
        assert judge(made, runs, out, stub, spec=f"local:{stub.url}#other") == 0
        assert judge(made, runs, out, stub, "--repeats", "2") == 0
        assert len(stub.requests) == 16 + 16 + 16
    assert opened == []
    assert sorted(path.name for path in (out / "evidence").rglob("*")) == before
    assert len({unit.judge for unit in read_units(out)}) == 2


def test_lossless_images_are_kept_beside_those_that_are_sent(made, runs, tmp_path):
    out = tmp_path / "out"
    arguments = ["judge", "run", str(made / "bench"), "--runs", str(runs), "--out", str(out), "--video", "v"]
    with JudgeStub() as stub:
        assert main([*arguments, "--configuration", "one", "--setting", "proxy", "--judge", stub.spec]) == 0
    for path in (out / "judgments").glob("*.json"):
        for frame in Judgment.read(path).evidence:
            for name in (f"{frame.sha256}.jpg", f"{frame.png_sha256}.png"):
                assert (out / "evidence" / name).is_file()


def test_damaged_image_is_made_again_before_it_is_sent(made, runs, tmp_path):
    out, options = tmp_path / "out", ["--configuration", "one", "--setting", "proxy", "--video", "v"]
    with JudgeStub() as stub:
        assert judge(made, runs, out, stub, *options) == 0
        for path in (out / "evidence").glob("*.jpg"):
            path.write_bytes(path.read_bytes()[:-1])
        first = [request.body["messages"][1]["content"] for request in stub.requests]
        assert judge(made, runs, out, stub, *options, "--repeats", "2") == 0
        assert [request.body["messages"][1]["content"] for request in stub.requests[2:]] == first


def test_nothing_more_is_sent_after_a_refused_key_and_what_was_judged_stays(made, runs, tmp_path, capsys):
    out = tmp_path / "out"
    with JudgeStub() as stub:
        assert judge(made, runs, out, stub, "--configuration", "one") == 0
        stub._answers = [error(401)]
        assert judge(made, runs, out, stub) == 2
        assert len(stub.requests) == 9
    answer = json.loads(capsys.readouterr().out.split("\n}\n")[1] + "\n}")
    assert answer["judged"] == 8 and answer["failed"] == {"unauthorized": 8}
    assert answer["ended"].startswith("unauthorized")
    reasons = Counter(one.reason for unit in units(out).values() for one in unit.clips)
    assert reasons == {"": 8, "unauthorized": 8}


def test_preflight_refuses_too_many_images_and_too_large_a_request(made, runs, tmp_path, capsys):
    for options, reason in ((["--max-images", "3"], "too_many_images"), (["--max-request-mb", "0.01"], "too_large")):
        with JudgeStub() as stub:
            assert judge(made, runs, tmp_path / reason, stub, "--video", "v", *options) == 3
            assert stub.requests == []
        assert json.loads(capsys.readouterr().out)["failed"] == {reason: 8}


def test_budget_in_tokens_stops_cleanly_and_the_next_run_goes_on(made, runs, tmp_path, capsys):
    out, options = tmp_path / "out", ["--max-output-tokens", "1000", "--budget-tokens", "30000"]
    with JudgeStub() as stub:
        assert judge(made, runs, out, stub, *options) == 3
        answer = json.loads(capsys.readouterr().out)
        assert 0 < answer["judged"] < 16 and answer["ended"].startswith("budget_spent")
        assert answer["tokens"] <= 30000
        sent = len(stub.requests)
        assert judge(made, runs, out, stub, "--max-output-tokens", "1000") == 0
        assert len(stub.requests) == 16 and sent == answer["judged"]


def test_budget_in_dollars(made, runs, tmp_path, capsys):
    prices = {
        "format": "matchcut-prices/1",
        "checked": "2026-11-30",
        "models": {"local:stub": {"input": 1000, "output": 0}},
    }
    (tmp_path / "prices.json").write_text(json.dumps(prices))
    options = ["--prices", str(tmp_path / "prices.json"), "--budget-usd", "25", "--max-output-tokens", "10"]
    with JudgeStub() as stub:
        assert judge(made, runs, tmp_path / "out", stub, *options) == 3
    answer = json.loads(capsys.readouterr().out)
    assert 0 < answer["usd"] == pytest.approx(1.2 * answer["judged"]) and answer["usd"] <= 25


def test_budget_in_dollars_without_a_price(made, runs, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert judge(made, runs, tmp_path / "out", None, "--budget-usd", "1", spec="openai:nobody-knows") == 2
    assert "--prices" in capsys.readouterr().err


def test_missing_key_is_told_before_anything_is_done(made, runs, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setattr("matchcut.evaluator.judge.providers.keys._from_keyring", lambda _: "")
    assert judge(made, runs, tmp_path / "out", None, spec="anthropic:model") == 2
    assert "ANTHROPIC_API_KEY" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_settings_that_change_answers_are_another_judge(made, runs, tmp_path):
    out, options = tmp_path / "out", ["--configuration", "one", "--setting", "proxy", "--video", "v"]
    with JudgeStub() as stub:
        judge(made, runs, out, stub, *options)
        judge(made, runs, out, stub, *options, "--effort", "high")
        assert len(stub.requests) == 4 and stub.requests[2].body["reasoning_effort"] == "high"
    judges = [unit.judge for unit in read_units(out)]
    assert len(judges) == 2 and any(judge.endswith(" effort=high") for judge in judges)
    configurations = {tuple(Judgment.read(path).configuration.items()) for path in (out / "judgments").glob("*.json")}
    assert configurations == {(), (("effort", "high"),)}


def test_requests_go_out_together(made, runs, tmp_path):
    inside, most = [], []

    def slow(body):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.3)
        inside.pop()
        return satisfied(body)

    with JudgeStub(slow) as stub:
        assert judge(made, runs, tmp_path / "out", stub, "--concurrency", "4") == 0
        assert len(stub.requests) == 16
    assert 2 <= max(most) <= 4


def test_replayed_judgments(made, runs, tmp_path):
    def by_statement(body):
        return labels(*[FULL if "0" in check["statement"] else "unsatisfied" for check in asked(body)["checks"]])

    with JudgeStub(by_statement) as stub:
        assert judge(made, runs, tmp_path / "out", stub) == 0
    assert judge(made, runs, tmp_path / "again", None, spec=f"replay:{tmp_path / 'out'}") == 0

    def values(out):
        return sorted(
            (unit.configuration, unit.setting, unit.video, one.clip, r.check, r.value)
            for unit in read_units(out) for one in unit.clips
            for r in Judgment.read(out / "judgments" / f"{one.key}.json").ratings
        )  # fmt: skip

    assert values(tmp_path / "out") == values(tmp_path / "again")


@pytest.mark.parametrize("name", ["two words", "zwei-ä", "x" * 81])
def test_configuration_whose_name_no_record_can_hold(name, made, runs, tmp_path, capsys):
    (runs / "two").rename(runs / name)
    with JudgeStub() as stub:
        assert judge(made, runs, tmp_path / "out", stub) == 2
        said = capsys.readouterr().err
        assert name in said and "rename" in said and len(said.splitlines()) == 1 and stub.requests == []
        assert judge(made, runs, tmp_path / "out", stub, "--configuration", "one") == 0
