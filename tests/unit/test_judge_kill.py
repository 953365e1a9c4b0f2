# SPDX-License-Identifier: GPL-3.0-or-later
"""A judge that is killed at random moments, again and again: nothing that was answered is lost or paid for twice."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from bench_samples import write_benchmark
from judge_stub import FULL, JudgeStub, asked, labels
from judge_videos import clip, video
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.judge.records import Judgment
from matchcut.evaluator.judge.units import read_units

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forks")
KEY = "canary-kill-3f9a"
CLIPS = [clip(f"c{n}", n, 8) for n in range(20)]
CONCURRENCY = 3
KILLS = 20


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    reference = video(folder / "reference.mp4", 30)
    write_benchmark(folder / "bench", CLIPS, timeline=reference.timeline, references={"v": Path(reference.path)})
    for setting in ("proxy", "simplified"):
        place = folder / "runs" / "one" / setting / "v"
        place.mkdir(parents=True)
        video(place / "reconstruction.mp4", 30, tint=20)
    return folder


class Children:
    """Commands that run in forks of one prepared process."""

    def __init__(self) -> None:
        program = [sys.executable, str(Path(__file__).with_name("judge_child.py"))]
        self.process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self, arguments: list[str]) -> int:
        self.process.stdin.write(json.dumps(arguments) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def ended(self) -> int:
        return int(self.process.stdout.readline())


@pytest.fixture
def children(monkeypatch):
    monkeypatch.setenv("MATCHCUT_LOCAL_API_KEY", KEY)
    children = Children()
    yield children
    children.process.stdin.close()
    children.process.wait(20)


def answer(body):
    """By the statement, so that the same question always gets the same labels."""
    checks = asked(body)["checks"]
    values = [("unsatisfied", "partially_satisfied", FULL)[hash_of(check["statement"]) % 3] for check in checks]
    return labels(*values, delay=0.1)


def hash_of(text):
    return sum(text.encode())


def name(body):
    found = asked(body)
    return found["setting"], found["checks"][0]["statement"].split()[0]


def arguments(bench, stub, out):
    return [
        "judge", "run", str(bench / "bench"), "--runs", str(bench / "runs"), "--out", str(out), "--judge", stub.spec,
        "--concurrency", str(CONCURRENCY), "--no-png", "--messages",
    ]  # fmt: skip


def judged(out):
    """(setting, clip) of every judgment that lies on disk whole."""
    found = set()
    for path in (out / "judgments").glob("[!.]*.json"):
        data = json.loads(path.read_text())
        found.add((data["setting"], data["clip"]))
    return found


def records(out):
    """Every judgment without what differs between two runs that saw the same."""
    found = {}
    for path in (out / "judgments").glob("[!.]*.json"):
        judgment = Judgment.read(path)
        attempts = [attempt.model_copy(update={"seconds": 0, "request_id": None}) for attempt in judgment.attempts]
        found[path.name] = judgment.model_copy(
            update={"attempts": attempts, "request_id": None, "judged_at": None}
        ).model_dump()
    return found


def units(out):
    return [unit.model_dump() for unit in read_units(out)]


def test_twenty_kills_at_random(bench, children, tmp_path):
    chance = random.Random(4)
    late: list[tuple[str, str]] = []
    with JudgeStub(answer) as stub:
        first = children.start(arguments(bench, stub, tmp_path / "undisturbed"))
        assert first and children.ended() == 0
        undisturbed = len(stub.requests)
        assert undisturbed == 40
        stub.requests.clear()
        out, kills, runs = tmp_path / "killed", 0, 0
        kept: set[tuple[str, str]] = set()
        while True:
            before = len(stub.requests)
            child = children.start(arguments(bench, stub, out))
            runs += 1
            if kills < KILLS:
                # from the first milliseconds, with nothing prepared, to the middle of several answers
                until, wanted = time.monotonic() + 30, chance.choice((0, 1, 3, 4, 5))
                while len(stub.requests) < before + wanted and time.monotonic() < until:
                    time.sleep(0.005)
                time.sleep(chance.random() * 0.2)
                os.kill(child, signal.SIGKILL)
                status = children.ended()
                kills += status == -signal.SIGKILL
            else:
                status = children.ended()
            late += [found for found in map(name, (r.body for r in stub.requests[before:])) if found in kept]
            kept = judged(out)
            if status == 0:
                break
            assert status == -signal.SIGKILL and runs < 60
        counts = Counter(name(request.body) for request in stub.requests)
        assert late == []  # what was on disk at a kill was never asked again
        assert set(counts) == {(s, c.id) for s in ("proxy", "simplified") for c in CLIPS}
        assert len(stub.requests) <= undisturbed + kills * CONCURRENCY  # a kill loses what is in flight, no more
        assert kills == KILLS
        assert records(out) == records(tmp_path / "undisturbed")
        assert units(out) == units(tmp_path / "undisturbed") and len(units(out)) == 2
        before = len(stub.requests)
        children.start(arguments(bench, stub, out))
        assert children.ended() == 0
        assert len(stub.requests) == before  # all is there
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_interrupt_ends_at_once_and_keeps_what_was_answered(bench, children, tmp_path):
    held = threading.Event()

    def slow(body):
        if name(body)[1] == "c9":
            held.set()
            time.sleep(30)
        return answer(body)

    with JudgeStub(slow) as stub:
        child = children.start(arguments(bench, stub, tmp_path))
        assert held.wait(60)
        time.sleep(0.5)
        started = time.monotonic()
        os.kill(child, signal.SIGINT)
        assert children.ended() == 130
        assert time.monotonic() - started < 8
        kept = judged(tmp_path)
        assert kept
        assert not list(tmp_path.rglob(".partial*"))


def test_run_in_a_folder_that_another_run_holds(bench, tmp_path, monkeypatch, capsys):
    from matchcut.evaluator.protocol.lock import sole_user

    with JudgeStub(answer) as stub, sole_user(tmp_path):
        assert main(arguments(bench, stub, tmp_path)) == 2
    assert "another run" in capsys.readouterr().out
