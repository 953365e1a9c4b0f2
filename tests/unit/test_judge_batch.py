# SPDX-License-Identifier: GPL-3.0-or-later
"""Batches of both services: the same records as one by one, images uploaded once, and nothing lost at a kill."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from bench_samples import write_benchmark
from judge_batches import BatchStub
from judge_stub import FULL
from judge_videos import clip, video
from judge_wires import KEYS, Responses
from matchcut.evaluator.checklist.benchmark import load_benchmark
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.judge.attempts import RetryPolicy
from matchcut.evaluator.judge.batch.run import judge_in_batches
from matchcut.evaluator.judge.benchmark import Selection
from matchcut.evaluator.judge.evidence import EvidenceStore
from matchcut.evaluator.judge.gate import Gate
from matchcut.evaluator.judge.pool import Stop
from matchcut.evaluator.judge.prices import Budget, Price
from matchcut.evaluator.judge.providers import Settings, open_provider
from matchcut.evaluator.judge.records import Judgment, OperationalFailure
from matchcut.evaluator.judge.store import JudgmentStore
from matchcut.evaluator.judge.units import read_units
from matchcut.evaluator.judge.work import Desk
from matchcut.evaluator.protocol.messages import SilentReporter

KEY = "canary-batch-77b2"
CLIPS = [clip(f"c{n}", 4 * n, 8) for n in range(4)]
both = pytest.mark.parametrize("anthropic", [False, True], ids=["openai", "anthropic"])


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    reference = video(folder / "reference.mp4", 30)
    write_benchmark(folder / "bench", CLIPS, timeline=reference.timeline, references={"v": Path(reference.path)})
    place = folder / "runs" / "one" / "proxy" / "v"
    place.mkdir(parents=True)
    video(place / "reconstruction.mp4", 30, tint=20)
    return folder


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name in KEYS:
        monkeypatch.setenv(name, KEY)


def text_of(request):
    content = (request.get("input") or request["messages"])[0]["content"]
    return json.loads(content[-1]["text"])


def name_of(request):
    return text_of(request)["checks"][0]["statement"].split()[0]


def reply(anthropic, key, text, reason=None):
    """One line of results, answered."""
    if anthropic:
        message = {
            "id": "msg_b", "type": "message", "role": "assistant", "model": "replied", "stop_sequence": None,
            "stop_reason": reason or "end_turn", "content": [{"type": "text", "text": text}],
            "usage": {"input_tokens": 1200, "output_tokens": 34},
        }  # fmt: skip
        return {"custom_id": key, "result": {"type": "succeeded", "message": message}}
    wire = Responses()
    body = wire.body(wire.message({"type": "output_text", "text": text, "annotations": []}), model="replied")
    if reason:
        body |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    return {
        "id": "x", "custom_id": key, "error": None,
        "response": {"status_code": 200, "request_id": "req-b", "body": body},
    }  # fmt: skip


def problem(anthropic, key, code):
    if anthropic:
        if code == "expired":
            return {"custom_id": key, "result": {"type": "expired"}}
        error = {"type": "error", "error": {"type": code, "message": "no"}}
        return {"custom_id": key, "result": {"type": "errored", "error": error}}
    code = {"expired": "batch_expired", "invalid_request_error": "invalid_prompt"}.get(code, code)
    return {"id": "x", "custom_id": key, "response": None, "error": {"code": code, "message": "no"}}


def good(request, label=FULL):
    return json.dumps({"results": [label] * len(text_of(request)["checks"])})


class Kill(BaseException):
    """Ends a run in the middle of everything, as far as one process can show it."""


class Quick(Stop):
    def sleep(self, seconds):
        pass


class Killing(Stop):
    def sleep(self, seconds):
        raise Kill


def run(bench, stub, out, *, budget=None, stop=None, repeats=1, configurations=(), effort=None):
    provider = open_provider(
        "anthropic:stub" if stub.anthropic else "openai:stub", Settings(effort, base_url=stub.base, timeout=20)
    )
    stop = Quick() if stop is None else stop
    desk = Desk(
        provider=provider, store=JudgmentStore(out), evidence=EvidenceStore(out), policy=RetryPolicy(first_wait=0.001),
        gate=Gate(2), sleep=stop.sleep, budget=budget,
    )  # fmt: skip
    return judge_in_batches(
        load_benchmark(bench / "bench"), bench / "runs", Selection(configurations, repeats=repeats), desk,
        results=out, reporter=SilentReporter(), concurrency=2, stop=stop, poll=0.01,
    )  # fmt: skip


def judgments(out):
    found = [Judgment.read(path) for path in sorted((out / "judgments").glob("*.json"))]
    return {judgment.clip: judgment for judgment in found}


@both
def test_same_records_and_every_image_uploaded_once(anthropic, bench, tmp_path):
    with BatchStub(anthropic, lambda key, request: reply(anthropic, key, good(request)), ready=3) as stub:
        summary = run(bench, stub, tmp_path, repeats=2)
        assert (summary.judged, summary.expected, summary.asked) == (8, 8, 8)
        images = stub.images()
        assert len(images) == len(set(images)) > 0
        assert len(stub.batches) == 1 and max(Counter(stub.asked).values()) == 1
        again = run(bench, stub, tmp_path, repeats=2)
        assert (again.judged, again.asked, len(stub.batches)) == (8, 0, 1)
    shown = {frame.sha256 for judgment in judgments(tmp_path).values() for frame in judgment.evidence}
    assert len(shown) == len(images)
    one = judgments(tmp_path)["c0"]
    assert {rating.rating for rating in one.ratings} == {FULL} and one.replied_model == "replied"
    assert one.batch == "batch_0" and one.usage["output_tokens"] == 34
    assert [(a.outcome, a.seconds) for a in one.attempts] == [("accepted", None)]
    assert sorted(unit.repeat for unit in read_units(tmp_path)) == [0, 1]
    assert all(clip.key for unit in read_units(tmp_path) for clip in unit.clips)
    assert not list((tmp_path / "batches" / "waiting").glob("*.json"))
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


@both
def test_what_comes_back_unusable_goes_into_a_further_batch(anthropic, bench, tmp_path):
    seen = Counter()

    def answer(key, request):
        name = name_of(request)
        seen[name] += 1
        if name == "c0" and seen[name] == 1:
            return reply(anthropic, key, good(request), reason="max_tokens")  # a success that was cut short
        if name == "c1" and seen[name] == 1:
            return problem(anthropic, key, "expired")
        if name == "c2":
            return reply(anthropic, key, "no JSON")
        if name == "c3":
            return None if seen[name] == 1 else problem(anthropic, key, "invalid_request_error")
        return reply(anthropic, key, good(request))

    with BatchStub(anthropic, answer) as stub:
        summary = run(bench, stub, tmp_path)
    assert (summary.judged, dict(summary.failed)) == (2, {"not_json": 1, "bad_request": 1})
    assert seen == {"c0": 2, "c1": 2, "c2": 3, "c3": 2}
    found = judgments(tmp_path)
    assert [a.outcome for a in found["c0"].attempts] == ["truncated", "accepted"]
    assert [a.outcome for a in found["c1"].attempts] == ["expired", "accepted"]
    failures = {f.clip: f for f in map(OperationalFailure.read, (tmp_path / "operational").glob("*.json"))}
    assert [a.outcome for a in failures["c2"].attempts] == ["not_json"] * 3
    assert [a.outcome for a in failures["c3"].attempts] == ["expired", "bad_request"]


@both
@pytest.mark.parametrize("moment", ["upload", "create", "after create", "waiting", "reading"])
def test_kill_at_every_step(anthropic, moment, bench, tmp_path, monkeypatch):
    """After each kind of kill the same command ends with every judgment, and no batch is paid for twice."""
    from matchcut.evaluator.judge.batch import services
    from matchcut.evaluator.judge.batch.shelf import Shelf

    kind = services.AnthropicBatches if anthropic else services.OpenAIBatches
    armed = {"on": True}

    def die(*_):
        if armed["on"]:
            armed["on"] = False
            raise Kill

    def before(owner, name):
        original = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda self, *a, **k: (die(), original(self, *a, **k))[1])

    if moment == "upload":
        before(kind, "upload")
    elif moment == "create":
        before(kind, "create")
    elif moment == "after create":
        original = kind.create
        monkeypatch.setattr(kind, "create", lambda self, *a: (original(self, *a), die())[0])
    elif moment == "waiting":
        before(kind, "state")
    else:
        original_drop = Shelf.forget
        monkeypatch.setattr(Shelf, "forget", lambda self, key: (original_drop(self, key), die())[0])
    with BatchStub(anthropic, lambda key, request: reply(anthropic, key, good(request))) as stub:
        with pytest.raises(Kill):
            run(bench, stub, tmp_path)
        summary = run(bench, stub, tmp_path)
        assert (summary.judged, summary.expected) == (4, 4)
        assert max(Counter(stub.asked).values()) == 1 and len(stub.batches) == 1
        assert len(stub.images()) == len(set(stub.images()))
    assert len(judgments(tmp_path)) == 4


@both
def test_creation_whose_answer_is_lost_is_found_again(anthropic, bench, tmp_path):
    with BatchStub(anthropic, lambda key, request: reply(anthropic, key, good(request))) as stub:
        stub.lose_create = 1
        assert run(bench, stub, tmp_path).judged == 4
        assert len(stub.batches) == 1


def test_batches_keep_to_the_service_s_limits(bench, tmp_path, monkeypatch):
    from matchcut.evaluator.judge.batch import services

    monkeypatch.setattr(services.OpenAIBatches, "most_requests", 3)
    with BatchStub(False, lambda key, request: reply(False, key, good(request))) as stub:
        assert run(bench, stub, tmp_path).judged == 4
        assert sorted(len(batch["requests"]) for batch in stub.batches.values()) == [1, 3]
    assert services.OpenAIBatches.most_bytes == 200_000_000


def test_budget_of_a_batch(bench, tmp_path):
    price = Price(input=1.0, output=1.0, batch=0.5)
    budget = Budget(tokens=150_000, price=price, batch=True)
    with BatchStub(False, lambda key, request: reply(False, key, good(request))) as stub:
        summary = run(bench, stub, tmp_path, budget=budget)
    assert 0 < summary.judged < 4 and summary.failed.keys() >= {"budget_spent"}
    assert budget.used.total == 1234 * summary.judged
    assert budget.usd == pytest.approx(1234e-6 * 0.5 * summary.judged)


def test_judge_without_batches_is_told_at_once(bench, tmp_path, capsys):
    arguments = ["judge", "run", str(bench / "bench"), "--runs", str(bench / "runs"), "--out", str(tmp_path)]
    assert main([*arguments, "--judge", "local:http://127.0.0.1:9/v1#m", "--batch"]) == 2
    assert "has no batches" in capsys.readouterr().err


@both
def test_batch_of_another_selection_is_read_all_the_same(anthropic, bench, tmp_path):
    """It is paid for: the run that finds it may have been asked for less."""
    place = bench / "runs" / "two" / "proxy" / "v"
    with BatchStub(anthropic, lambda key, request: reply(anthropic, key, good(request)), ready=3) as stub:
        try:
            place.mkdir(parents=True)
            video(place / "reconstruction.mp4", 30, tint=40)
            with pytest.raises(Kill):
                run(bench, stub, tmp_path, stop=Killing())
            assert len(stub.asked) == 8
            (tmp_path / "batches" / "0f.jsonl").write_text("what a kill left while it was staged")
            assert run(bench, stub, tmp_path, configurations=["two"], effort="low").judged == 4
            assert (len(stub.asked), len(stub.batches)) == (12, 2)  # another effort is another judge
            assert run(bench, stub, tmp_path, configurations=["two"]).judged == 4
            summary = run(bench, stub, tmp_path)
        finally:
            shutil.rmtree(bench / "runs" / "two")
        assert (summary.judged, summary.asked) == (8, 0)
        assert (len(stub.asked), len(stub.batches)) == (12, 2)
    assert not (tmp_path / "batches" / "0f.jsonl").exists()
