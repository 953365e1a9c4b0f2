# SPDX-License-Identifier: GPL-3.0-or-later
"""The evaluator's data is unreadable to an agent: a canary in the benchmark shows nowhere that it can look."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from bench_runs import BLENDER, Bench, configuration, make_benchmark, make_package
from matchcut.evaluator.benchmark import isolation
from matchcut.evaluator.benchmark import run as run_module
from matchcut.evaluator.benchmark.agent import Settings
from matchcut.evaluator.benchmark.isolation import (
    NO_SANDBOX,
    Sandbox,
    blender_script,
    blender_without_network,
    check_places,
    choose_sandbox,
    find_sandbox,
)
from matchcut.evaluator.benchmark.records import Limits
from matchcut.evaluator.protocol.errors import BadInputError

CANARY = "canary-3f1bb0"


@pytest.fixture(scope="module")
def sandbox():
    found = find_sandbox()
    if not found.works:
        pytest.skip(found.note)
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("isolated")
    make_package(folder / "package")
    bench = make_benchmark(folder, videos=("v",))
    path = bench / "videos" / "v" / "clips" / "c1.json"
    path.write_text(path.read_text().replace("the red one", CANARY))
    return folder


@pytest.fixture(autouse=True)
def quick_stages(monkeypatch):
    monkeypatch.setattr(run_module, "run_stage", lambda stage, *rest, **options: {})


def settings(sandbox, made, folder):
    return Settings(BLENDER, sandbox, hide=(made / "bench", folder / "results", folder / "runs"))


def run_one(sandbox, made, folder, act, **options):
    limits = options.pop("limits", Limits())
    one = configuration("one", PACKAGE=made / "package", ACT=act).model_copy(update=options)
    bench = Bench(folder, made / "bench", [one], limits=limits)
    (folder / "results" / "judgments").mkdir(parents=True)
    (folder / "results" / "judgments" / "k.json").write_text(CANARY)
    state = bench.runner(settings=settings(sandbox, made, folder)).work(bench.tasks()[0])
    return bench, state


def everything_of(bench):
    return [path for path in bench.ledger.run_folder(bench.run_of().key).rglob("*") if path.is_file()]


def test_a_canary_in_the_benchmark_shows_nowhere(sandbox, made, tmp_path):
    looks = [made / "bench", tmp_path / "results", tmp_path / "runs", Path("/proc/1/root") / str(made)[1:] / "bench"]
    act = ",".join([*(f"look={place}" for place in looks), "around", "submit"])
    bench, state = run_one(sandbox, made, tmp_path, act)
    assert state == "done"
    run = bench.run_of()
    assert run.isolation.kind == "namespaces" and run.isolation.hidden == 4
    files = everything_of(bench)
    text = next(path for path in files if path.name == "agent.out").read_text()
    *found, around = [json.loads(line) for line in text.splitlines()]
    assert [one["found"] for one in found] == [[]] * 4 and all(one["there"] for one in found[:3])
    assert CANARY not in json.dumps(around)
    assert all(CANARY.encode() not in path.read_bytes() for path in files)
    if run.isolation.processes:
        assert "bench_runs" not in text


def test_the_same_look_without_a_sandbox_finds_it(made, tmp_path):
    bench, _ = run_one(NO_SANDBOX, made, tmp_path, f"look={made / 'bench'},submit")
    assert any(
        CANARY in path.read_text("utf-8", "replace") for path in everything_of(bench) if path.name == "agent.out"
    )


def test_what_is_hidden_cannot_be_uncovered(sandbox, tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "a").write_text(CANARY)
    tries = (
        f"umount {secret}; umount -l {secret}; mount --bind {tmp_path} {tmp_path}; mount -t tmpfs none {tmp_path}/x;"
        f"unshare --user --map-root-user --mount sh -c 'umount {secret}; cat {secret}/a';"
        f"for p in /proc/[0-9]*; do cat $p/root{secret}/a; done; cat {secret}/a; rm -rf {secret}/a; echo over"
    )
    command = sandbox.command(tmp_path / "spec.json", ["/bin/sh", "-c", tries], hide=[secret], limits={}, network=True)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=threading_pipe(), check=False)
    assert "over" in done.stdout and CANARY not in done.stdout and (secret / "a").read_text() == CANARY


def test_nothing_that_an_agent_started_is_left(sandbox, made, tmp_path):
    if "--pid" not in sandbox.outer:
        pytest.skip("no process namespace here")
    bench, state = run_one(sandbox, made, tmp_path, "spawn,sleep=0.5,submit")
    assert state == "done" and bench.run_of().isolation.processes
    time.sleep(0.5)
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "time.sleep(60)  #" not in running


def test_at_a_limit_an_agent_in_a_sandbox_ends_in_good_order_and_soon(sandbox, made, tmp_path):
    begun = time.monotonic()
    bench, state = run_one(sandbox, made, tmp_path, "submit,sleep=60", limits=Limits(seconds=1.5))
    assert state == "done" and time.monotonic() - begun < 12
    text = next(path for path in everything_of(bench) if path.name == "agent.err").read_text()
    assert "KeyboardInterrupt" in text, "it was interrupted, and not killed"


def test_it_ends_with_whoever_started_it(sandbox, tmp_path):
    command = sandbox.command(tmp_path / "spec.json", ["/bin/sleep", "61.37"], hide=[], limits={}, network=True)
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    time.sleep(1.0)
    assert process.poll() is None
    process.stdin.close()
    assert process.wait(20) != 0
    time.sleep(0.3)
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "/bin/sleep 61.37" not in running


@pytest.mark.parametrize("network", [True, False])
def test_the_agent_s_network_is_as_its_configuration_says(sandbox, tmp_path, network):
    code = "import socket; print([name for _, name in socket.if_nameindex()])"
    command = sandbox.command(tmp_path / "spec.json", [sys.executable, "-c", code], hide=[], limits={}, network=network)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=threading_pipe(), check=True)
    here = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert done.stdout == (here if network else "['lo']\n")


def threading_pipe():
    """A standard input that stays open while the child runs."""
    read, write = os.pipe()
    threading.Timer(30, lambda: os.close(write)).start()
    return read


def test_limits_hold(sandbox, tmp_path):
    code = f"with open({str(tmp_path / 'big')!r}, 'wb') as file: file.write(bytes(2000))"
    command = sandbox.command(
        tmp_path / "spec.json", [sys.executable, "-c", code], hide=[], limits={"fsize": 1000, "core": 0}, network=True
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=threading_pipe(), check=False)
    assert done.returncode != 0 and (tmp_path / "big").stat().st_size <= 1000


@pytest.mark.skipif(os.name != "posix", reason="a script of the shell")
def test_blender_gets_what_it_needs_and_no_network(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    fake = tmp_path / "blender"
    fake.write_text("#!/bin/sh\necho $CUDA_VISIBLE_DEVICES $HOME $*; ls /sys/class/net; cat /proc/net/dev\n")
    fake.chmod(0o755)
    place = tmp_path / "record"
    script = blender_script(place, fake.name, [str(fake)])
    assert Path(script).name == "blender" and CANARY not in Path(script).read_text()
    done = subprocess.run(
        [script, "-b", "a b"],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": "/x"},
        check=True,
    )
    assert done.stdout.splitlines()[0] == f"3 {os.environ['HOME']} -b a b"
    if blender_without_network():
        devices = [line.split(":")[0].strip() for line in done.stdout.splitlines() if ":" in line and "|" not in line]
        assert set(devices) <= {"lo"}


def test_where_nothing_can_be_hidden_it_is_refused_with_the_reason_unless_it_is_allowed(monkeypatch):
    monkeypatch.setattr(isolation, "find_sandbox", lambda: Sandbox(note="this system has no namespaces (unshare)"))
    with pytest.raises(BadInputError, match=r"no namespaces .*--isolation none"):
        choose_sandbox(allow_none=False)
    allowed = choose_sandbox(allow_none=True)
    assert not allowed.works and "no namespaces" in allowed.record([], network=True).note
    monkeypatch.setattr(isolation, "find_sandbox", lambda: Sandbox(("unshare",), ("unshare",)))
    monkeypatch.setattr(isolation, "blender_without_network", lambda: ())
    with pytest.raises(BadInputError, match="Blender's children cannot be kept from the network"):
        choose_sandbox(allow_none=False)


def test_a_trial_that_fails_says_why(monkeypatch):
    assert "could be read" in isolation._trial(Sandbox())
    assert isolation._trial(Sandbox(("/bin/false",), ())) == "it said nothing"


def test_folders_within_hidden_ones_are_hidden_with_them(sandbox, made, tmp_path):
    for name in ("a/b/c", "a/d", "e"):
        (tmp_path / name).mkdir(parents=True)
    found = isolation.outermost([tmp_path / name for name in ("a/b/c", "e", "a", "a/d", "a", "gone")])
    assert found == (tmp_path / "a", tmp_path / "e")
    (tmp_path / "results" / "inner").mkdir(parents=True)
    one = configuration("one", PACKAGE=made / "package", ACT=f"look={tmp_path / 'results'},submit")
    bench = Bench(tmp_path, made / "bench", [one])
    hide = (tmp_path / "results" / "inner", tmp_path / "results", tmp_path / "runs")
    assert bench.runner(settings=Settings(BLENDER, sandbox, hide=hide)).work(bench.tasks()[0]) == "done"
    assert bench.run_of().isolation.hidden == 3


def test_work_within_what_is_hidden_is_refused(tmp_path):
    with pytest.raises(BadInputError, match="which is hidden from agents"):
        check_places(tmp_path / "results" / "work", [tmp_path / "results"], [])
    with pytest.raises(BadInputError, match="which is hidden from agents"):
        check_places(tmp_path / "work", [tmp_path / "code"], [tmp_path / "code" / "matchcut"])
