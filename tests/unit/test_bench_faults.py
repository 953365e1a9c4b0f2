# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that are killed at random, two at a time: in the end the tables are those of an undisturbed run."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from bench_runs import Bench, configuration, make_benchmark, make_package
from judge_stub import JudgeStub, asked, labels
from matchcut.evaluator.benchmark.records import JudgeChoice
from matchcut.evaluator.cli.main import main

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
