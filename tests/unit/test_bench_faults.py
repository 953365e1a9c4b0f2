# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that are killed at random, two at a time: in the end the tables are those of an undisturbed run."""

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from bench_runs import Bench, configuration, make_benchmark, make_package
from judge_stub import JudgeStub, asked, error, labels
from matchcut.evaluator.benchmark import judging as judging_module
from matchcut.evaluator.benchmark import run as run_module
from matchcut.evaluator.benchmark.agent import Settings
from matchcut.evaluator.benchmark.isolation import NO_SANDBOX
from matchcut.evaluator.benchmark.records import JudgeChoice
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.environment.blender import Blender
from matchcut.evaluator.judge import store as store_module
from matchcut.evaluator.judge.attempts import RetryPolicy
from matchcut.evaluator.judge.providers import StoppedError
from matchcut.evaluator.judge.store import JudgmentStore

LABELS = ("unsatisfied", "partially_satisfied", "fully_satisfied")
CHILD = """
import sys, threading
sys.path[:0] = [{tests!r}, {unit!r}]
import conftest
from pathlib import Path
from test_bench_faults import work
work(Path({folder!r}), Path({made!r}), {spec!r})
"""


def rate(body):
    """A rating that depends on the statement alone, so that every run gets the same."""
    return labels(*[LABELS[sum(map(ord, check["statement"])) % 3] for check in asked(body)["checks"]])


def bench_of(folder, made, spec):
    several = [
        configuration(name, PACKAGE=made / name, ACT="sleep=0.2,usage=1:0.5,submit", MARKS=folder / "marks")
        for name in ("good", "poor")
    ]
    return Bench(
        folder, made / "bench", several, settings=("proxy", "detailed"), videos=("v", "w"), attempts=1000,
        judge=JudgeChoice(spec=spec),
    )  # fmt: skip


def work(folder, made, spec):
    """What `bench run` does, with later stages that answer at once and leases of a second."""
    import threading

    from matchcut.evaluator.benchmark import run as run_module
    from matchcut.evaluator.benchmark.engine import run_tasks
    from matchcut.evaluator.benchmark.judging import Judging
    from matchcut.evaluator.protocol.messages import SilentReporter

    run_module.run_stage = lambda stage, *rest, **options: {"stage": stage}
    bench, stop = bench_of(folder, made, spec), threading.Event()
    judging = Judging(bench.plan.judge, bench.ledger.results, stop, reporter=SilentReporter())
    runner = bench.runner(term=1.0, judging=judging, stop=stop)
    summary = run_tasks(runner, bench.tasks(), workers=2, wait=True, reporter=SilentReporter())
    judging.close()
    print(json.dumps(dict(summary.states)), flush=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    make_package(folder / "good")
    make_package(folder / "poor", tint=60)
    make_benchmark(folder)
    return folder


def start(folder, made, spec):
    """`work` as a process of its own."""
    (folder / "marks").mkdir(parents=True, exist_ok=True)
    unit = Path(__file__).parent
    code = CHILD.format(tests=str(unit.parent), unit=str(unit), folder=str(folder), made=str(made), spec=spec)
    environment = {**os.environ, "TMPDIR": str(folder)}  # a killed run leaves its task's folder
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)


@pytest.fixture(scope="module")
def calm(made, tmp_path_factory):
    """The folder of a run that nobody disturbs."""
    folder = tmp_path_factory.mktemp("calm")
    with JudgeStub(rate) as stub:
        assert json.loads(start(folder, made, stub.spec).communicate(timeout=120)[0]) == {"done": 8}
        assert len(stub.requests) == 16
    return folder


def table(folder, capsys):
    capsys.readouterr()
    assert main(["bench", "table", str(folder / "results"), "--format", "csv"]) == 0
    return capsys.readouterr().out


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_killed_runs_end_in_the_tables_of_an_undisturbed_one(made, calm, tmp_path, capsys):
    chance = random.Random(3)
    disturbed = tmp_path / "disturbed"
    with JudgeStub(rate) as stub:
        kills = 0
        for _ in range(5):
            running = [start(disturbed, made, stub.spec) for _ in range(2)]
            for process in running:
                time.sleep(chance.uniform(1.0, 2.5))
                kills += process.poll() is None
                process.send_signal(signal.SIGKILL)
                process.communicate()
        last = start(disturbed, made, stub.spec)
        assert json.loads(last.communicate(timeout=180)[0]) == {"done": 8}

    bench = bench_of(disturbed, made, stub.spec)
    reasons = [failure.reason for failure in bench.ledger.all_failures()]
    assert kills >= 5 and set(reasons) <= {"abandoned", "lease_lost"}
    assert table(disturbed, capsys) == table(calm, capsys)
    runs = [path for path in bench.ledger.runs.iterdir() if not path.name.startswith(".")]
    assert len(runs) == 8 and len(list(bench.ledger.stages.glob("[0-9a-f]*.json"))) == 40
    # what was published was never done again; what a kill cut short was, and is listed
    starts = len(list((disturbed / "marks").iterdir()))
    assert 8 <= starts <= 8 + reasons.count("abandoned") + reasons.count("lease_lost") + kills
    assert len(stub.requests) <= 16 + kills * 4


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_run_that_sleeps_past_its_term_loses_what_it_had_and_publishes_nothing_of_it(made, calm, tmp_path, capsys):
    folder = tmp_path / "slept"
    with JudgeStub(rate) as stub:
        sleeper = start(folder, made, stub.spec)
        end = time.monotonic() + 60
        while len(list((folder / "marks").iterdir())) < 2:
            assert time.monotonic() < end
            time.sleep(0.01)
        sleeper.send_signal(signal.SIGSTOP)  # its agents go on
        other = start(folder, made, stub.spec)
        assert json.loads(other.communicate(timeout=120)[0]) == {"done": 8}
        sleeper.send_signal(signal.SIGCONT)
        states = json.loads(sleeper.communicate(timeout=120)[0])
        assert states["done"] >= 6 and sum(states.values()) == 8, "what it lost it does not try again itself"
    reasons = [failure.reason for failure in bench_of(folder, made, stub.spec).ledger.all_failures()]
    assert reasons and set(reasons) <= {"abandoned", "lease_lost"} and reasons.count("abandoned") <= 2
    assert table(folder, capsys) == table(calm, capsys)
    assert len(list((folder / "marks").iterdir())) <= 8 + len(reasons) and len(stub.requests) == 16


def test_a_run_and_a_judge_beside_it_ask_for_each_clip_once(made, calm, tmp_path, capsys):
    folder = tmp_path / "beside"
    for name, setting, video in itertools.product(("good", "poor"), ("proxy", "detailed"), ("v", "w")):
        place = folder / "runs" / name / setting / video
        shutil.copytree(made / name, place)

    def slow(body):
        time.sleep(0.1)
        return rate(body)

    with JudgeStub(slow) as stub:
        running = start(folder, made, stub.spec)
        answers = [["--configuration", name] for name in ("poor", "good")]
        line = ["judge", "run", str(made / "bench"), "--runs", str(folder / "runs"), "--out", str(folder / "results")]
        statuses = [main([*line, "--judge", stub.spec, "--concurrency", "3", *some]) for some in answers]
        assert json.loads(running.communicate(timeout=120)[0]) == {"done": 8} and statuses == [0, 0]
    assert len(stub.requests) == 16 and list((folder / "results" / "evidence" / "asking").iterdir()) == []
    assert table(folder, capsys) == table(calm, capsys)


def test_a_judgment_is_asked_for_by_one_at_a_time_and_another_one_meanwhile(tmp_path):
    inside, most = [], []

    def ask(key):
        with JudgmentStore(tmp_path).asking(key, time.sleep):
            inside.append(key)
            most.append((inside.count(key), len(set(inside))))
            time.sleep(0.05)
            inside.remove(key)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, ["one", "other"] * 4))
    assert max(same for same, _ in most) == 1 and max(keys for _, keys in most) == 2

    def stopped(seconds):
        raise StoppedError

    store = JudgmentStore(tmp_path)
    with store.asking("one", time.sleep), pytest.raises(StoppedError), store.asking("one", stopped):
        pass
    assert list((tmp_path / "evidence" / "asking").iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="Windows says the same of a file that is being removed")
def test_a_folder_in_which_nothing_may_be_written_is_told_and_not_waited_for(tmp_path, monkeypatch):
    def refused(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(store_module, "hold", refused)
    with pytest.raises(PermissionError), JudgmentStore(tmp_path).asking("one", time.sleep):
        pass


def test_a_blender_that_is_killed_fails_its_stage_alone_with_its_cause(made, tmp_path, monkeypatch):
    (tmp_path / "marks").mkdir()
    killed = tmp_path / "blender"
    killed.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Blender 5.2.0 && exit\nkill -9 $$\n')
    killed.chmod(0o755)
    bench = bench_of(tmp_path, made, NOBODY)
    task = bench.tasks()[0]
    real = run_module.run_stage

    def only_audit(stage, *rest, **options):
        return real(stage, *rest, **options) if stage == "audit" else {"stage": stage}

    monkeypatch.setattr(run_module, "run_stage", only_audit)
    settings = Settings(Blender(str(killed), "program", "5.2.0"), NO_SANDBOX)
    assert bench.runner(settings=settings).work(task) == "failed"
    (failure,) = bench.ledger.all_failures()
    assert (failure.stage, failure.reason) == ("audit", "failed") and "Blender" in failure.detail, failure
    assert len(list(bench.ledger.stages.glob("[0-9a-f]*.json"))) == 3, "validate, check and sgc"
    monkeypatch.setattr(run_module, "run_stage", lambda stage, *rest, **options: {"stage": stage})
    assert bench.runner().work(task) == "done"


@pytest.mark.parametrize("left", [b"", None])
def test_what_a_power_failure_left_empty_is_done_again(made, tmp_path, monkeypatch, left):
    (tmp_path / "marks").mkdir()
    monkeypatch.setattr(run_module, "run_stage", lambda stage, *rest, **options: {"stage": stage})
    bench = bench_of(tmp_path, made, NOBODY)
    task = bench.tasks()[0]
    assert bench.runner().work(task) == "done"
    before = {path: path.read_bytes() for path in bench.ledger.stages.iterdir()}
    for path in before:
        path.unlink()
        if left is not None:
            path.write_bytes(left)
    assert bench.runner().work(task) == "done" and len(list((tmp_path / "marks").iterdir())) == 1
    assert {path: json.loads(path.read_text())["result"] for path in bench.ledger.stages.iterdir()} == {
        path: json.loads(text)["result"] for path, text in before.items()
    }


QUICK = RetryPolicy(tries=2, first_wait=0.05)


def test_a_judge_that_dies_in_the_middle_and_comes_back_is_asked_for_the_rest_alone(
    made, calm, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(judging_module, "RetryPolicy", lambda: QUICK)
    monkeypatch.setattr(run_module, "run_stage", None)  # `work` sets its own, which is gone afterwards
    disturbed = tmp_path / "disturbed"
    (disturbed / "marks").mkdir(parents=True)
    with JudgeStub(rate) as stub:
        port = int(stub.url.split(":")[2].split("/")[0])
    answered = []

    def dying(body):
        if len(answered) >= 5:
            return error(503)
        answered.append(body)
        return rate(body)

    with JudgeStub(dying, port=port) as stub:
        work(disturbed, made, stub.spec)
    work(disturbed, made, stub.spec)  # nobody listens at all
    bench = bench_of(disturbed, made, stub.spec)
    failures = list(bench.ledger.all_failures())
    assert {failure.stage for failure in failures} == {"judge"} and len(failures) >= 6
    assert all(failure.detail for failure in failures), "each with its cause"
    with JudgeStub(rate, port=port) as stub:
        work(disturbed, made, stub.spec)
    assert len(answered) + len(stub.requests) == 16, "no clip was paid for twice"
    assert len(list((disturbed / "marks").iterdir())) == 8, "and no agent"
    assert table(disturbed, capsys) == table(calm, capsys)


FULL = """
import sys
sys.path[:0] = [{tests!r}, {unit!r}]
import conftest
from pathlib import Path
from bench_runs import BLENDER
from matchcut.evaluator.benchmark.agent import Settings
from matchcut.evaluator.benchmark.isolation import NO_SANDBOX
from test_bench_faults import bench_of
bench = bench_of(Path({folder!r}), Path({made!r}), {spec!r})
runner = bench.runner(settings=Settings(BLENDER, NO_SANDBOX, work=Path({work!r})))
print(*[runner.work(task) for task in bench.tasks()])
"""
NOBODY = "local:http://127.0.0.1:9/v1#stub"


@pytest.mark.skipif(shutil.which("unshare") is None, reason="a full disk is made in a mount namespace")
def test_a_worker_whose_disk_is_full_fails_with_that_cause_and_another_does_its_tasks(
    made, root, tmp_path, monkeypatch
):
    folder, place = tmp_path / "run", tmp_path / "small"
    (folder / "marks").mkdir(parents=True)
    place.mkdir()
    words = {"tests": str(root / "tests"), "unit": str(root / "tests" / "unit"), "spec": NOBODY}
    program = tmp_path / "program.py"
    program.write_text(FULL.format(**words, folder=str(folder), made=str(made), work=str(place)))
    small = f"mount -t tmpfs -o size=16k full {place} || exit 77; exec {sys.executable} {program}"
    answer = subprocess.run(["unshare", "-rm", "sh", "-c", small], capture_output=True, text=True, check=False)
    if answer.returncode == 77 or "unshare" in answer.stderr:
        pytest.skip("no mount namespace here")
    assert answer.stdout.split() == ["failed"] * 8, answer.stderr
    bench = bench_of(folder, made, NOBODY)
    failures = list(bench.ledger.all_failures())
    assert {failure.reason for failure in failures} == {"disk_full"} and len(failures) == 8
    assert all("No space left" in failure.detail for failure in failures)
    monkeypatch.setattr(run_module, "run_stage", lambda stage, *rest, **options: {"stage": stage})
    runner = bench.runner()
    assert [runner.work(task) for task in bench.tasks()] == ["done"] * 8
