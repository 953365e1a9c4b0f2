# SPDX-License-Identifier: GPL-3.0-or-later
"""A task takes no more memory, processes and processor time than it may: all together, or each where that is all."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bench_runs import BLENDER, Bench, configuration, make_benchmark, make_package
from matchcut.evaluator.benchmark import resources
from matchcut.evaluator.benchmark import run as run_module
from matchcut.evaluator.benchmark.agent import Settings
from matchcut.evaluator.benchmark.isolation import NO_SANDBOX, find_sandbox
from matchcut.evaluator.benchmark.resources import NO_LIMITS, Allowance, Groups, find_groups, limited
from matchcut.evaluator.protocol.errors import OperationalError

MIB = 2**20
HOG = "kept = []\nfor _ in range(60): kept.append(b'x' * (10 * 2**20))\nprint('ate all')"
"""600 MiB, and no more."""
BOMB = """
import subprocess, sys
made = []
try:
    for _ in range(120): made.append(subprocess.Popen(['sleep', '20']))
except OSError: print('refused at', len(made))
for one in made: one.kill()
"""
"""120 processes, and no more."""


@pytest.fixture(scope="module")
def groups():
    found = find_groups()
    if not found.works:
        pytest.skip(found.note)
    return found


def run(cage, code):
    command = [*cage.prefix, sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def left(groups):
    return [path for folder in set(groups.folders.values()) for path in folder.glob(f"matchcut-{os.getpid()}-*")]


def test_what_takes_too_much_memory_is_ended_and_it_is_written_down(groups):
    with limited(Allowance(memory=200 * MIB), groups, own_processes=False) as cage:
        ended = run(cage, HOG)
        told = cage.record()
    assert ended.returncode == -9 and "ate all" not in ended.stdout
    assert told.kind == "cgroup" and told.memory_bytes == 200 * MIB and told.processes is None
    if not groups.systemd:
        assert told.killed_for_memory >= 1 and told.memory_peak_bytes <= 200 * MIB
    with limited(Allowance(memory=2048 * MIB), groups, own_processes=False) as cage:
        assert "ate all" in run(cage, HOG).stdout and cage.record().killed_for_memory in (0, None)


def test_memory_is_that_of_all_processes_together(groups):
    half = HOG.replace("range(60)", "range(13)") + "\nimport time; time.sleep(3)"
    both = f"import subprocess, sys\nmade = [subprocess.Popen([sys.executable, '-c', {half!r}]) for _ in range(2)]\n"
    both += "print([one.wait() for one in made])"
    with limited(Allowance(memory=200 * MIB), groups, own_processes=False) as cage:
        told = run(cage, both)
    assert "-9" in told.stdout or told.returncode == -9, "130 MiB each, and 200 for both"


def test_more_processes_than_allowed_do_not_start(groups):
    with limited(Allowance(processes=40), groups, own_processes=False) as cage:
        ended = run(cage, BOMB)
        told = cage.record()
    assert "refused at" in ended.stdout and 20 <= int(ended.stdout.split()[-1]) < 40
    if not groups.systemd:
        assert told.refused_processes >= 1
    with limited(Allowance(processes=400), groups, own_processes=False) as cage:
        assert "refused" not in run(cage, BOMB).stdout


def test_processor_time_is_shared_out(groups):
    if not groups.systemd and "cpu" not in groups.folders:
        pytest.skip("no controller of processor time here")
    burn = "import time\nend = time.monotonic() + 1.5\nwhile time.monotonic() < end: pass\nprint(time.process_time())"
    with limited(Allowance(cores=0.2), groups, own_processes=False) as cage:
        used = float(run(cage, burn).stdout)
    assert used < 0.6, "0.3 s of 1.5 s"


def test_nothing_of_a_group_is_left_however_it_ends(groups):
    with limited(Allowance(processes=50), groups, own_processes=False) as cage:
        apart = "start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL"
        assert run(cage, f"import subprocess; subprocess.Popen(['sleep', '61.5'], {apart})").returncode == 0
    time.sleep(0.3)
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    if not groups.systemd:
        assert "sleep 61.5" not in running and left(groups) == []
    with pytest.raises(ZeroDivisionError), limited(Allowance(processes=50), groups, own_processes=False):
        raise ZeroDivisionError
    assert left(groups) == []


def test_a_group_that_cannot_be_made_is_said_in_one_line(tmp_path):
    broken = Groups(2, {"memory": tmp_path / "gone", "pids": tmp_path / "gone"})
    refused = pytest.raises(OperationalError, match="the limits cannot be set")
    with refused as caught, limited(Allowance(memory=MIB), broken, own_processes=False):
        pass
    assert "\n" not in str(caught.value)


def test_version_two_gets_its_own_files_and_its_processes_lie_one_level_below(tmp_path):
    """The files of a group as the kernel would make them, so that it can be looked at without one."""
    made = resources._values(2, Allowance(300, 20, 1.5))
    assert made == [("memory.max", "300"), ("memory.swap.max", "0"), ("pids.max", "20"), ("cpu.max", "150000 100000")]
    folder = tmp_path / "slice"
    folder.mkdir()
    with limited(Allowance(300, 20), Groups(2, dict.fromkeys(("memory", "pids"), folder)), own_processes=False) as cage:
        (inner,) = folder.iterdir()
        assert cage.prefix[2].startswith(f"echo 0 > {inner}/task/cgroup.procs || exit 70; exec")
        (inner / "memory.events").write_text("low 0\noom 2\noom_kill 3\n")
        (inner / "pids.events").write_text("max 4\n")
        (inner / "memory.peak").write_text("299\n")
        told = cage.record()
        for path in inner.glob("*.*"):
            path.unlink()
    assert (told.killed_for_memory, told.refused_processes, told.memory_peak_bytes, told.cores) == (3, 4, 299, None)
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="a script of the shell")
def test_systemd_is_asked_where_we_may_make_no_group(tmp_path, monkeypatch):
    fake = tmp_path / "systemd-run"
    fake.write_text('#!/bin/sh\necho "$@" > "$0.asked"\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    monkeypatch.setattr(os, "getuid", lambda: 7)
    monkeypatch.setattr(resources, "_groups", lambda version: Groups())
    if not sys.platform.startswith("linux"):
        pytest.skip("Linux alone has systemd")
    find_groups.cache_clear()
    try:
        found = find_groups()
    finally:
        find_groups.cache_clear()
    with limited(Allowance(300, 20, 1.5), found, own_processes=True) as cage:
        told = run(cage, "import os; print('XDG_RUNTIME_DIR' in os.environ)")
    assert told.stdout == "False\n", "where the person's systemd listens is not the agent's business"
    asked = Path(f"{fake}.asked").read_text()
    assert asked.startswith("--user --scope --quiet --collect --property MemoryMax=300 --property MemorySwapMax=0 ")
    assert "TasksMax=20" in asked and "CPUQuota=150%" in asked


@pytest.mark.skipif(os.name != "posix", reason="no rlimits")
def test_without_groups_each_process_is_limited_and_the_record_says_why(monkeypatch):
    none = Groups(note="none here")
    monkeypatch.setattr(os, "getuid", lambda: 7)
    with limited(Allowance(100, 20), none, own_processes=True) as cage:
        assert cage.rlimits == {"core": 0, "fsize": resources.FILE_LIMIT, "data": 100, "nproc": 20}
        told = cage.record()
    assert (told.kind, told.memory_bytes, told.processes) == ("rlimit", 100, 20) and "none here" in told.note
    with limited(Allowance(100, 20), none, own_processes=False) as cage:
        assert "nproc" not in cage.rlimits and "their number is not limited" in cage.record().note
    with limited(NO_LIMITS, none, own_processes=True) as cage:
        assert cage.record().kind == "none" and cage.rlimits["core"] == 0


def test_a_system_without_either_says_so(monkeypatch):
    monkeypatch.setattr(resources.os, "name", "nt")
    with limited(Allowance(1, 1), Groups(), own_processes=False) as cage:
        told = cage.record()
    assert told.kind == "none" and told.note == "this system has neither control groups nor rlimits"


@pytest.mark.skipif(os.name != "posix", reason="no rlimits")
def test_a_task_is_run_under_its_limits_and_cannot_raise_them(tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "run_stage", lambda stage, *rest, **options: {})
    make_package(tmp_path / "package")
    hidden = "look=/sys/fs/cgroup" if find_groups().works else "look=/nowhere"
    one = configuration("one", PACKAGE=tmp_path / "package", ACT=f"{hidden},submit")
    bench = Bench(tmp_path, make_benchmark(tmp_path, videos=("v",)), [one])
    sandbox = find_sandbox() if find_sandbox().works else NO_SANDBOX
    settings = Settings(BLENDER, sandbox, allowance=Allowance(2048 * MIB, 500))
    assert bench.runner(settings=settings).work(bench.tasks()[0]) == "done"
    made = bench.run_of()
    assert made.resources.kind == ("cgroup" if find_groups().works else "rlimit")
    assert made.resources.memory_bytes == 2048 * MIB and not made.window
    (said,) = bench.ledger.run_folder(made.key).glob("agent.out")
    if sandbox.works:
        assert '"found": []' in said.read_text(), "no file of a group is there to write to"


def test_an_agent_that_runs_out_of_memory_fails_and_the_line_says_why(groups, tmp_path, monkeypatch):
    if groups.systemd:
        pytest.skip("systemd's groups do not tell what was killed")
    monkeypatch.setattr(run_module, "run_stage", lambda stage, *rest, **options: {})
    bench = Bench(tmp_path, make_benchmark(tmp_path, videos=("v",)), [configuration("one", ACT="eat=600")])
    sandbox = find_sandbox() if find_sandbox().works else NO_SANDBOX
    settings = Settings(BLENDER, sandbox, allowance=Allowance(256 * MIB))
    assert bench.runner(settings=settings).work(bench.tasks()[0]) == "failed"
    (failure,) = bench.ledger.all_failures()
    assert failure.reason == "agent_failed" and "of its processes killed at 0.2 GiB" in failure.detail
