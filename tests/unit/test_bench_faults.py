# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that are killed at random, two at a time: in the end the tables are those of an undisturbed run."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest
from bench_runs import Bench, configuration, make_benchmark, make_package
from judge_stub import JudgeStub, asked, error, labels
from matchcut.evaluator.benchmark import judging as judging_module
from matchcut.evaluator.benchmark import run as run_module
from matchcut.evaluator.benchmark.records import JudgeChoice
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.judge.attempts import RetryPolicy

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


def table(folder, capsys):
    capsys.readouterr()
    assert main(["bench", "table", str(folder / "results"), "--format", "csv"]) == 0
    return capsys.readouterr().out


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_killed_runs_end_in_the_tables_of_an_undisturbed_one(made, root, tmp_path, capsys):
    chance = random.Random(3)
    disturbed, calm = tmp_path / "disturbed", tmp_path / "calm"
    for folder in (disturbed, calm):
        (folder / "marks").mkdir(parents=True)
    with JudgeStub(rate) as stub:

        def start(folder):
            paths = {"tests": str(root / "tests"), "unit": str(root / "tests" / "unit")}
            code = CHILD.format(**paths, folder=str(folder), made=str(made), spec=stub.spec)
            environment = {**os.environ, "TMPDIR": str(tmp_path)}  # a killed run leaves its task's folder
            return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)

        assert json.loads(start(calm).communicate(timeout=120)[0]) == {"done": 8}
        asked_calm = len(stub.requests)
        kills = 0
        for _ in range(5):
            running = [start(disturbed) for _ in range(2)]
            for process in running:
                time.sleep(chance.uniform(1.0, 2.5))
                kills += process.poll() is None
                process.send_signal(signal.SIGKILL)
                process.communicate()
        last = start(disturbed)
        assert json.loads(last.communicate(timeout=180)[0]) == {"done": 8}
        asked_disturbed = len(stub.requests) - asked_calm

    bench = bench_of(disturbed, made, stub.spec)
    reasons = [failure.reason for failure in bench.ledger.all_failures()]
    assert kills >= 5 and set(reasons) <= {"abandoned", "lease_lost"}
    assert table(disturbed, capsys) == table(calm, capsys)
    runs = [path for path in bench.ledger.runs.iterdir() if not path.name.startswith(".")]
    assert len(runs) == 8 and len(list(bench.ledger.stages.glob("[0-9a-f]*.json"))) == 40
    # what was published was never done again; what a kill cut short was, and is listed
    starts = len(list((disturbed / "marks").iterdir()))
    assert 8 <= starts <= 8 + reasons.count("abandoned") + reasons.count("lease_lost") + kills
    assert asked_calm == 16 and asked_disturbed <= 16 + kills * 4


QUICK = RetryPolicy(tries=2, first_wait=0.05)


def test_a_judge_that_dies_in_the_middle_and_comes_back_is_asked_for_the_rest_alone(
    made, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(judging_module, "RetryPolicy", lambda: QUICK)
    monkeypatch.setattr(run_module, "run_stage", None)  # `work` sets its own, which is gone afterwards
    disturbed, calm = tmp_path / "disturbed", tmp_path / "calm"
    for folder in (disturbed, calm):
        (folder / "marks").mkdir(parents=True)
    with JudgeStub(rate) as stub:
        port = int(stub.url.split(":")[2].split("/")[0])
        work(calm, made, stub.spec)
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
