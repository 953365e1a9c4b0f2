# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole judging runs: real videos, the real openai package, a real server, and what is left on disk."""

import base64
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from judge_stub import FULL, MODEL, JudgeStub, asked, completion, error, labels, right_ratings, satisfied
from judge_videos import clip, video
from matchcut.evaluator.judge.attempts import RetryPolicy
from matchcut.evaluator.judge.evidence import EvidenceStore
from matchcut.evaluator.judge.providers import open_provider
from matchcut.evaluator.judge.records import Judgment, OperationalFailure
from matchcut.evaluator.judge.run import judge_clips
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.scoring.aggregate import score_checklist
from PIL import Image

QUICK = RetryPolicy(first_wait=0.001, longest_wait=0.001)
CLIPS = [clip("c1", 0, 8), clip("c2", 10, 8), clip("c3", 20, 8)]


class Listener(SilentReporter):
    def __init__(self):
        self.steps, self.warnings = [], []

    def progress(self, stage, done, total, text=""):
        self.steps.append((stage, done, total))

    def warning(self, text):
        self.warnings.append(text)


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos")
    return video(folder / "reference.mp4"), video(folder / "reconstruction.mp4", tint=20)


@pytest.fixture(autouse=True, scope="module")
def evidence_made_once(tmp_path_factory):
    """Real evidence, kept between the tests, since most of them ask about the same clips again."""
    folder = tmp_path_factory.mktemp("evidence")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("matchcut.evaluator.judge.run.EvidenceStore", lambda _, lossless: EvidenceStore(folder))
        yield


def judge(stub, videos, store, clips=CLIPS, setting="proxy", reporter=None, provider=None):
    return judge_clips(
        clips, setting, *videos, provider or open_provider(stub.spec), store=store,
        reporter=reporter or Listener(), policy=QUICK,
    )  # fmt: skip


def files(store):
    return sorted(
        str(path.relative_to(store)) for path in store.rglob("*") if path.is_file() and "evidence" not in path.parts
    )


def by_clip(**answers):
    """Answers by the clip that a request's statements name; the others are satisfied."""

    def answer(body):
        name = asked(body)["checks"][0]["statement"].split()[0]
        return answers.get(name) or satisfied(body)

    return answer


def test_one_request_per_clip_and_the_record_says_all(videos, tmp_path):
    listener = Listener()
    with JudgeStub([labels(FULL, "partially_satisfied", "unsatisfied")]) as stub:
        judgments, failures = judge(stub, videos, tmp_path, reporter=listener)
    assert failures == [] and len(stub.requests) == 3
    first = judgments[0]
    assert [(r.check, r.rating, r.value) for r in first.ratings] == [
        ("check-id-c1-0", FULL, 1.0),
        ("check-id-c1-1", "partially_satisfied", 0.5),
        ("check-id-c1-2", "unsatisfied", 0.0),
    ]
    assert (first.requested_model, first.replied_model, first.provider) == ("stub", MODEL, f"local:{stub.url}")
    assert first.request_id == "req-1" and first.usage["prompt_tokens"] == 1200
    assert [attempt.outcome for attempt in first.attempts] == ["accepted"]
    assert files(tmp_path) == sorted(f"judgments/{judgment.key}.json" for judgment in judgments)
    assert all(Judgment.read(tmp_path / name) in judgments for name in files(tmp_path))
    assert listener.steps == [("judge", n, 3) for n in range(4)]
    score = score_checklist(CLIPS, judgments, failures, "proxy")
    assert score.dimensions["camera"].value == 50  # the second check of every clip is a rotation


def test_images_as_sent_are_those_recorded_and_no_check_id_leaks(videos, tmp_path):
    with JudgeStub() as stub:
        judgments, _ = judge(stub, videos, tmp_path)
    for request, judgment in zip(stub.requests, judgments, strict=True):
        *images, _ = request.body["messages"][1]["content"]
        prefix = "data:image/jpeg;base64,"
        urls = [image["image_url"]["url"] for image in images]
        assert all(url.startswith(prefix) for url in urls)
        jpegs = [base64.b64decode(url.removeprefix(prefix), validate=True) for url in urls]
        assert [hashlib.sha256(jpeg).hexdigest() for jpeg in jpegs] == [frame.sha256 for frame in judgment.evidence]
        for jpeg in jpegs:
            image = Image.open(io.BytesIO(jpeg))
            image.load()
            assert image.format == "JPEG" and image.width == 960 and image.height <= 1232
        assert "check-id" not in json.dumps(request.body)
        local = [frame.local_frame for frame in judgment.evidence]
        assert local == sorted(set(local)) and len(local) <= 50


def test_second_run_sends_nothing_and_finds_the_same(videos, tmp_path):
    with JudgeStub() as stub:
        first = judge(stub, videos, tmp_path)
        assert judge(stub, videos, tmp_path) == first
        assert len(stub.requests) == 3


def test_what_decides_an_answer_is_in_the_key(videos, tmp_path):
    reference, _ = videos
    with JudgeStub() as stub, JudgeStub() as other:
        judge(stub, videos, tmp_path, CLIPS[:1])
        keys = [set(files(tmp_path))]
        for change in (
            lambda: judge(stub, videos, tmp_path, CLIPS[:1], setting="simplified"),
            lambda: judge(stub, (reference, reference), tmp_path, CLIPS[:1]),
            lambda: judge(stub, videos, tmp_path, [clip("c1", 0, 8, statement="tells")]),
            lambda: judge(stub, videos, tmp_path, [clip("c1", 1, 8)]),
            lambda: judge(stub, videos, tmp_path, CLIPS[:1], provider=open_provider(f"local:{stub.url}#two")),
            lambda: judge(other, videos, tmp_path, CLIPS[:1]),
        ):
            change()
            keys.append(set(files(tmp_path)))
        assert [len(found) for found in keys] == [1, 2, 3, 4, 5, 6, 7]
        assert (len(stub.requests), len(other.requests)) == (6, 1)


def test_unusable_reply_of_one_clip_leaves_the_others_alone(videos, tmp_path):
    answers = by_clip(c2=completion(None, refusal="I cannot."))
    with JudgeStub(answers) as stub:
        judgments, (failure,) = judge(stub, videos, tmp_path)
        assert len(stub.requests) == 5  # twice asked again, with the same evidence
        assert stub.requests[1].body == stub.requests[2].body == stub.requests[3].body
    assert [judgment.clip for judgment in judgments] == ["c1", "c3"]
    assert (failure.clip, failure.reason, len(failure.attempts)) == ("c2", "refused", 3)
    assert OperationalFailure.read(tmp_path / "operational" / f"{failure.key}.json") == failure
    score = score_checklist(CLIPS, judgments, [failure], "proxy")
    assert (score.state, score.overall.clips_scored, score.overall.clips_expected) == ("partly_judged", 2, 3)


def test_failure_is_never_found_as_an_answer_and_goes_once_it_is_over(videos, tmp_path):
    with JudgeStub([error(400, "too many images")]) as stub:
        provider = open_provider(stub.spec)
        judgments, failures = judge(stub, videos, tmp_path, provider=provider)
        assert (judgments, [f.reason for f in failures], len(stub.requests)) == ([], ["bad_request"] * 3, 3)
        stub._answers = satisfied
        judgments, failures = judge(stub, videos, tmp_path, provider=provider)
        assert (len(judgments), failures, len(stub.requests)) == (3, [], 6)
    assert [name.split("/")[0] for name in files(tmp_path)] == ["judgments"] * 3


def test_recoverable_failures_are_recorded_on_the_judgment(videos, tmp_path):
    with JudgeStub([error(503), error(429), labels(FULL), labels(FULL, FULL, FULL)]) as stub:
        (judgment,), failures = judge(stub, videos, tmp_path, CLIPS[:1])
    assert failures == []
    outcomes = [(attempt.outcome, attempt.request_id) for attempt in judgment.attempts]
    assert outcomes == [
        ("http_503", "req-1"),
        ("rate_limited", "req-2"),
        ("missing_ratings", "req-3"),
        ("accepted", "req-4"),
    ]


@pytest.mark.parametrize(
    ("answer", "reason"), [(error(401), "unauthorized"), (error(404, "no such model"), "not_found")]
)
def test_fatal_answer_spares_the_remaining_clips(answer, reason, videos, tmp_path):
    listener = Listener()
    with JudgeStub([answer]) as stub:
        judgments, failures = judge(stub, videos, tmp_path, reporter=listener)
    assert len(stub.requests) == 1
    assert judgments == [] and [failure.reason for failure in failures] == [reason] * 3
    assert [len(failure.attempts) for failure in failures] == [1, 0, 0]
    assert len(files(tmp_path)) == 3 and all(name.startswith("operational/") for name in files(tmp_path))
    assert len(listener.warnings) == 1 and "c1" in listener.warnings[0]
    assert listener.steps[-1] == ("judge", 3, 3)


def test_no_server_is_tried_for_one_clip_only(videos, tmp_path):
    with JudgeStub() as stub:
        provider = open_provider(stub.spec)
    judgments, failures = judge(stub, videos, tmp_path, provider=provider)
    assert judgments == [] and [failure.reason for failure in failures] == ["connection"] * 3
    assert [len(failure.attempts) for failure in failures] == [5, 0, 0]


def test_cached_clips_are_found_after_the_run_has_ended(videos, tmp_path):
    with JudgeStub() as stub:
        provider = open_provider(stub.spec)
        judge(stub, videos, tmp_path, CLIPS[2:], provider=provider)
    judgments, failures = judge(stub, videos, tmp_path, provider=provider)
    assert [judgment.clip for judgment in judgments] == ["c3"]
    assert [failure.clip for failure in failures] == ["c1", "c2"]


def test_clip_beyond_the_reconstruction_fails_without_a_request(videos, tmp_path):
    with JudgeStub() as stub:
        judgments, (failure,) = judge(stub, videos, tmp_path, [clip("long", 30, 20), CLIPS[0]])
        assert len(stub.requests) == 1
    assert [judgment.clip for judgment in judgments] == ["c1"]
    assert (failure.clip, failure.reason, failure.attempts) == ("long", "interval_unavailable", [])


def test_clip_without_applicable_checks_is_not_sent(videos, tmp_path):
    with JudgeStub() as stub:
        assert judge(stub, videos, tmp_path, [clip("c1", 0, checks=0)]) == ([], [])
        assert stub.requests == []


@pytest.mark.parametrize("damage", ["", "{", '{"format": "matchcut-judgment/1"}', "other check", "wrong value"])
def test_damaged_judgment_is_told_and_asked_for_again(damage, videos, tmp_path):
    listener = Listener()
    with JudgeStub() as stub:
        first = judge(stub, videos, tmp_path, CLIPS[:1])
        (name,) = files(tmp_path)
        data = json.loads((tmp_path / name).read_text())
        if damage == "other check":
            data["ratings"][0]["check"] = "another"
        if damage == "wrong value":
            data["ratings"][0]["value"] = 0.5
        (tmp_path / name).write_text(json.dumps(data) if " " in damage and "{" not in damage else damage)
        again = judge(stub, videos, tmp_path, CLIPS[:1], reporter=listener)
        assert len(stub.requests) == 2
    assert again[0][0].ratings == first[0][0].ratings
    assert len(listener.warnings) == 1 and "judged again" in listener.warnings[0]


def test_key_appears_in_no_file(videos, tmp_path, monkeypatch):
    key = "canary-7be1a4c09d"
    monkeypatch.setenv("MATCHCUT_LOCAL_API_KEY", key)
    answers = by_clip(
        c1=completion(f"your key is {key}"),
        c2=error(400, f"bad key {key}"),
        c3=labels(FULL, FULL, FULL),
    )
    with JudgeStub(answers) as stub:
        judgments, failures = judge(stub, videos, tmp_path)
        assert {request.headers["authorization"] for request in stub.requests} == {f"Bearer {key}"}
    assert (len(judgments), len(failures)) == (1, 2)
    contents = [(tmp_path / name).read_text() for name in files(tmp_path)]
    assert len(contents) == 3 and not any(key in content for content in contents)
    assert sum("[key]" in content for content in contents) == 2


def test_killed_run_keeps_what_was_answered(videos, tmp_path, root):
    """A run is killed in the middle of its second request; the next one pays only for what was not answered."""
    slow = {"on": True}

    def answers(body):
        if slow["on"] and asked(body)["checks"][0]["statement"].startswith("c2"):
            time.sleep(60)
        return satisfied(body)

    code = f"""
import sys; sys.path[:0] = [{str(root / "tests")!r}, {str(root / "tests/unit")!r}]
import conftest, test_judge_run as t
from judge_stub import JudgeStub
from pathlib import Path
from matchcut.evaluator.media.probe import probe
videos = [probe(Path(p)) for p in sys.argv[2:4]]
t.judge(None, videos, Path(sys.argv[4]), provider=t.open_provider(sys.argv[1]))
"""
    with JudgeStub(answers) as stub:
        paths = [info.path for info in videos]
        child = subprocess.Popen([sys.executable, "-c", code, stub.spec, *paths, str(tmp_path)])
        try:
            deadline = time.monotonic() + 60
            while len(stub.requests) < 2 and time.monotonic() < deadline:
                time.sleep(0.05)
            assert child.poll() is None
        finally:
            child.kill()
            child.wait()
        assert len(files(tmp_path)) == 1 and files(tmp_path)[0].startswith("judgments/")
        slow["on"] = False
        judgments, failures = judge(stub, videos, tmp_path)
        assert (len(judgments), failures) == (3, [])
        assert len(stub.requests) == 4  # c1, the killed c2, then c2 and c3


def test_stub_answers_a_sample_with_its_right_ratings(videos, tmp_path):
    ratings = {
        "format": "matchcut-ratings/1",
        "ratings": {
            setting: {
                one.id: {check.id: "unsatisfied" if "says 1" in check.statement else FULL for check in one.checks}
                for one in CLIPS
            }
            for setting in ("proxy", "detailed")
        },
    }
    (tmp_path / "clips").mkdir()
    (tmp_path / "ratings.json").write_text(json.dumps(ratings))
    for one in CLIPS:
        one.write(tmp_path / "clips" / f"{one.id}.json")
    with JudgeStub(right_ratings(tmp_path / "ratings.json")) as stub:
        for setting in ("proxy", "detailed"):
            judgments, failures = judge(stub, videos, tmp_path / "store", setting=setting)
            assert failures == []
            found = {r.check: r.rating for judgment in judgments for r in judgment.ratings}
            right = {name: rating for of in ratings["ratings"][setting].values() for name, rating in of.items()}
            assert found == {name: right[name] for name in found}
            assert len(found) == (9 if setting == "proxy" else 12)
        _, failures = judge(stub, videos, tmp_path / "store", [clip("c9", 0, 8)])
        assert [failure.reason for failure in failures] == ["bad_request"]


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT to a child")
def test_stub_as_a_program(tmp_path, root, videos):
    (tmp_path / "clips").mkdir()
    CLIPS[0].write(tmp_path / "clips" / "c1.json")
    right = {check.id: "partially_satisfied" for check in CLIPS[0].checks}
    ratings = {"format": "matchcut-ratings/1", "ratings": {"proxy": {"c1": right}}}
    (tmp_path / "ratings.json").write_text(json.dumps(ratings))
    program = [sys.executable, str(root / "tests" / "unit" / "judge_stub.py"), "--ratings", tmp_path / "ratings.json"]
    child = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    try:
        url = child.stdout.readline().strip()
        provider = open_provider(f"local:{url}#stub")
        (judgment,), _ = judge(None, videos, tmp_path / "store", CLIPS[:1], provider=provider)
        assert {rating.rating for rating in judgment.ratings} == {"partially_satisfied"}
        child.send_signal(signal.SIGINT)
        assert child.wait(10) == 0
    finally:
        child.kill()
        child.wait()


def test_right_ratings_of_the_sample_are_complete_where_it_is_there(root):
    sample = Path(root) / "assets_ui" / "samples" / "two_shots"
    if not (sample / "ratings.json").is_file():
        pytest.skip("the sample's checklist is not there")
    from matchcut.evaluator.checklist.load import load_clips

    ratings = json.loads((sample / "ratings.json").read_text(encoding="utf-8"))["ratings"]
    for setting in ("proxy", "simplified", "detailed"):
        for one in load_clips(sample, None):
            assert [check.id for check in one.applicable(setting) if check.id not in ratings[setting][one.id]] == []
