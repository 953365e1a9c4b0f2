# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark on a cluster of processes: what is lost on the way, and that the tables are those of one machine."""

import itertools
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from bench_agents import __file__ as AGENT_FILE
from bench_cluster import Cluster
from bench_runs import make_benchmark, make_package
from judge_stub import JudgeStub
from matchcut.evaluator.benchmark import run as run_module
from matchcut.evaluator.benchmark.ledger import Ledger
from matchcut.evaluator.cli.main import main
from test_bench_faults import rate

pytest.importorskip("distributed")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals, and a shell's stand-in for Blender")
TASKS, JUDGMENTS = 4, 8
"""Under one setting."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dask")
    make_package(folder / "good")
    make_package(folder / "poor", tint=60)
    make_benchmark(folder)
    fake = folder / "blender"
    fake.write_text("#!/bin/sh\necho Blender 5.2.0\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.fixture(scope="module")
def cluster(made):
    # a path that is short enough for the sockets of tasks, on any machine
    with tempfile.TemporaryDirectory(prefix="mc-", dir=None if len(tempfile.gettempdir()) < 30 else "/tmp") as name:
        folder = Path(name)
        made_of = Cluster(folder, {**os.environ, "BLENDER": str(made / "blender"), "TMPDIR": str(folder)})
        yield made_of
        made_of.end()


@pytest.fixture(scope="module")
def stub():
    with JudgeStub(rate) as found:
        yield found


@pytest.fixture(autouse=True)
def quick(made, monkeypatch):
    monkeypatch.setenv("BLENDER", str(made / "blender"))
    monkeypatch.setattr(run_module, "run_stage", lambda stage, *rest, **options: {"stage": stage})


class Run:
    """One benchmark's run in a folder, from the command line."""

    def __init__(self, folder, made, stub, act, settings=("proxy",)):
        self.folder, self.made, self.marks = folder, made, folder / "marks"
        self.marks.mkdir(parents=True)
        self.ledger = Ledger(folder / "results")
        text = 'format = "matchcut-configurations/1"\n'
        for name in ("good", "poor"):
            text += f'[[configuration]]\nname = "{name}"\nagent = "python:{AGENT_FILE}"\n'
            text += f'environment = {{ PACKAGE = "{made / name}", ACT = "{act}", MARKS = "{self.marks}" }}\n'
        (folder / "mine.toml").write_text(text)
        self.planned = [
            made / "bench", "--runs", folder / "runs", "--out", folder / "results", "--configurations",
            folder / "mine.toml", "--judge", stub.spec, "--attempts", "100",
            *(word for setting in settings for word in ("--setting", setting)),
        ]  # fmt: skip

    def arguments(self, *options):
        return ["bench", "run", *map(str, self.planned), "--isolation", "none", "--json", *map(str, options)]

    def call(self, capsys, *options):
        capsys.readouterr()
        status = main(self.arguments(*options))
        out, err = capsys.readouterr()
        return status, json.loads(out) if out else None, err

    def on(self, cluster):
        return ["--engine", "dask", "--scheduler", cluster.file]

    def table(self, capsys):
        capsys.readouterr()
        assert main(["bench", "table", str(self.folder / "results"), "--format", "csv"]) == 0
        return capsys.readouterr().out

    def wait_for_agents(self, number):
        end = time.monotonic() + 150
        while len(list(self.marks.iterdir())) < number:
            assert time.monotonic() < end
            time.sleep(0.02)

    def starts(self):
        return len(list(self.marks.iterdir()))

    def reasons(self):
        return sorted(failure.reason for failure in self.ledger.all_failures())

    def check_whole(self):
        runs = [path for path in self.ledger.runs.iterdir() if not path.name.startswith(".")]
        assert len(runs) == TASKS and len(list(self.ledger.stages.glob("[0-9a-f]*.json"))) == 5 * TASKS


@pytest.fixture
def make_run(tmp_path, made, stub):
    return lambda act="usage=1:0.5,submit", **options: Run(tmp_path, made, stub, act, **options)


@pytest.fixture(scope="module")
def calm_table(tmp_path_factory, made, stub):
    """Made by threads of one process, undisturbed."""
    found = Run(tmp_path_factory.mktemp("calm") / "run", made, stub, "usage=1:0.5,submit")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BLENDER", str(made / "blender"))
        patch.setattr(run_module, "run_stage", lambda stage, *rest, **options: {"stage": stage})
        assert main(found.arguments("--workers", 2)) == 0

    def table(capsys):
        return found.table(capsys)

    return table


def agents_running(folder):
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in running.splitlines() if AGENT_FILE in line and str(folder) in line]


def test_a_cluster_s_tables_are_those_of_one_machine_and_nothing_is_done_twice(
    cluster, make_run, stub, calm_table, capsys
):
    cluster.ensure(2)
    run, before = make_run(), len(stub.requests)
    status, data, err = run.call(capsys, *run.on(cluster))
    assert status == 0 and data["complete"] and data["tasks"] == {"done": TASKS}, err
    assert run.table(capsys) == calm_table(capsys)
    assert run.starts() == TASKS and len(stub.requests) - before == JUDGMENTS
    assert run.call(capsys, *run.on(cluster))[0] == 0
    assert run.starts() == TASKS and len(stub.requests) - before == JUDGMENTS
    run.check_whole()
    assert len(cluster.machines) == 2
    left = [path for machine in cluster.machines for path in machine.glob("matchcut-task-*")]
    assert left == [], "a machine's own folder keeps nothing of a task that is done"


def test_a_worker_that_is_killed_in_the_middle_loses_what_it_had_in_hand_and_no_more(
    cluster, make_run, stub, calm_table, capsys
):
    cluster.ensure(2)
    run, before = make_run("usage=1:0.5,sleep=1,submit"), len(stub.requests)
    killed = []

    def kill():
        run.wait_for_agents(3)
        cluster.workers[0].send_signal(signal.SIGKILL)
        killed.append(cluster.workers[0])

    thread = threading.Thread(target=kill)
    thread.start()
    status, data, err = run.call(capsys, *run.on(cluster))
    thread.join()
    assert killed and status == 0 and data["tasks"] == {"done": TASKS}, err
    assert run.table(capsys) == calm_table(capsys)
    lost = run.reasons()
    assert lost and set(lost) == {"abandoned"} and len(lost) <= cluster.threads
    assert run.starts() <= TASKS + len(lost)
    assert len(stub.requests) - before <= JUDGMENTS + cluster.threads
    run.check_whole()


def test_a_run_that_is_called_off_ends_its_agents_and_leaves_the_cluster_to_others(
    cluster, make_run, calm_table, capsys, root, tmp_path
):
    cluster.ensure(2)
    run = make_run("usage=1:0.5,sleep=60,submit")
    command = [sys.executable, str(root / "__main__.py"), *run.arguments(*run.on(cluster))]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    run.wait_for_agents(2)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert agents_running(cluster.folder) == []
    assert set(run.reasons()) == {"stopped"} and len(run.reasons()) >= run.starts()
    assert all(worker.poll() is None for worker in cluster.workers)


def test_a_task_takes_a_slot_of_what_it_is_given(cluster, make_run, capsys):
    cluster.ensure(2)
    cluster.add("gpu=1")
    run = make_run("sleep=0.5,submit")
    status, _, err = run.call(capsys, *run.on(cluster), "--resource", "gpu=1", "--configuration", "good")
    times = sorted(path.stat().st_mtime for path in run.marks.iterdir())
    assert status == 0 and len(times) == TASKS // 2, err
    assert all(after - before > 0.5 for before, after in itertools.pairwise(times))


def test_where_the_only_worker_with_a_slot_lacks_something_the_run_ends(cluster, make_run, capsys):
    cluster.ensure(2)
    cluster.add("gpu=2", BLENDER="/none/blender")
    run = make_run()
    status, _, err = run.call(capsys, *run.on(cluster), "--resource", "gpu=2")
    assert status == 3 and "no worker can do anything: " in err and "/none/blender" in err


def test_a_worker_that_lacks_something_gets_no_tasks(cluster, make_run, capsys):
    cluster.ensure(2)
    cluster.add(BLENDER="/none/blender")
    run = make_run("sleep=0.3,submit", settings=("proxy", "detailed"))  # more tasks than fit workers have threads
    status, data, err = run.call(capsys, *run.on(cluster))
    assert status == 0 and data["complete"], err
    assert "gets no tasks" in err and "/none/blender" in err and run.starts() == 2 * TASKS
    for worker in cluster.workers:
        worker.kill()
    cluster.wait_for(1)
    (run.folder / "mine.toml").write_text((run.folder / "mine.toml").read_text().replace('"good"', '"third"', 1))
    status, _, err = run.call(capsys, *run.on(cluster))
    assert status == 3 and "no worker can do anything: " in err


def test_without_its_scheduler_a_run_ends_and_whoever_is_left_goes_on(
    cluster, make_run, stub, calm_table, capsys, tmp_path
):
    cluster.ensure(2)
    run, before = make_run("usage=1:0.5,sleep=1,submit"), len(stub.requests)

    def kill():
        run.wait_for_agents(3)
        cluster.scheduler.kill()

    thread = threading.Thread(target=kill)
    thread.start()
    status, _, err = run.call(capsys, *run.on(cluster))
    thread.join()
    assert status == 3 and "the scheduler has gone away" in err and err.count("Traceback") == 0
    for worker in cluster.workers:
        assert worker.wait(60) is not None, "a worker ends with its scheduler"
    assert agents_running(cluster.folder) == []
    status, data, err = run.call(capsys, "--workers", 2)
    assert status == 0 and data["complete"], err
    assert run.table(capsys) == calm_table(capsys)
    assert set(run.reasons()) <= {"stopped", "abandoned"}
    assert TASKS < run.starts() <= TASKS + len(run.reasons())
    assert len(stub.requests) - before <= JUDGMENTS + cluster.threads * 2
    run.check_whole()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--engine", "dask"], "--scheduler is missing"),
        (["--scheduler", "tcp://127.0.0.1:1"], "belong to --engine dask"),
        (["--engine", "dask", "--scheduler", "nothing.json"], "neither an address"),
        (["--engine", "dask", "--scheduler", "s.json", "--budget-usd", "3"], "holds in one process"),
        (["--engine", "dask", "--scheduler", "s.json", "--resource", "gpu"], "write it as gpu=1"),
    ],
)
def test_what_does_not_go_together_is_said_in_a_line(make_run, capsys, options, told):
    run = make_run()
    try:
        status, _, err = run.call(capsys, *options)
    except SystemExit as error:
        status, err = error.code, capsys.readouterr().err
    assert status == 2 and told in err and run.starts() == 0
