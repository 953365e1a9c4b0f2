# SPDX-License-Identifier: GPL-3.0-or-later
"""Tasks from the agent's start to its records: limits, failures, deaths, and that nothing is done twice."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from bench_agents import __file__ as AGENT_FILE
from bench_runs import BLENDER, Bench, configuration, hashes, make_benchmark, make_package
from matchcut.evaluator.benchmark import agent as agent_module
from matchcut.evaluator.benchmark import run as run_module
from matchcut.evaluator.benchmark.agent import Settings
from matchcut.evaluator.benchmark.agents.records import Configuration
from matchcut.evaluator.benchmark.engine import run_tasks
from matchcut.evaluator.benchmark.isolation import NO_SANDBOX
from matchcut.evaluator.benchmark.ledger import Ledger
from matchcut.evaluator.benchmark.plan import save_plan
from matchcut.evaluator.benchmark.records import Limits, Usage
from matchcut.evaluator.benchmark.stages import StageFailedError
from matchcut.evaluator.benchmark.status import read_status, status_lines
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.messages import SilentReporter


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    make_package(folder / "package")
    make_package(folder / "other", tint=60)
    make_benchmark(folder)
    return folder


@pytest.fixture(autouse=True)
def quick_stages(monkeypatch, request):
    """The later stages answer at once, but where a test wants the real ones."""
    if "real_stages" not in request.keywords:
        monkeypatch.setattr(run_module, "run_stage", lambda stage, *rest, **options: {"stage": stage})


@pytest.fixture
def bench(made, tmp_path):
    def make(*configurations, **options):
        return Bench(tmp_path, made / "bench", configurations, **options)

    return make


@pytest.fixture
def marks(tmp_path):
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


def one(made, name="one", **environment):
    return configuration(name, PACKAGE=made / "package", **environment)


def work(bench, runner=None):
    return [(runner or bench.runner()).work(task) for task in bench.tasks()]


def status(bench):
    return read_status(bench.plan, bench.benchmark, bench.ledger, bench.runner().leases)


def test_a_submission_is_published_with_all_that_is_known_of_its_making(made, bench):
    made_by = bench(one(made, ACT="usage=3:0.5,submit,say=ready,write=notes.txt"))
    assert work(made_by) == ["done"]
    run = made_by.run_of()
    assert (run.ended, run.exit_status, run.submitted, run.agent) == ("finished", 0, True, "Python")
    assert (run.usage.turns, run.usage.usd, run.usage.usd_source, run.usage.input_tokens) == (3, 0.5, "agent", 100)
    assert run.isolation.kind == "none" and run.isolation.note == "--isolation none" and run.wall_seconds > 0
    place = made_by.runs / "one" / "proxy" / "v"
    assert hashes(place) == hashes(made / "package") == {file.name: file.sha256 for file in run.submission}
    folder = made_by.ledger.run_folder(run.key)
    assert "ready" in (folder / "agent.out").read_text()
    assert (folder / "task" / "out" / "notes.txt").read_text() == "made by the agent"
    assert not (folder / "task" / "reference.mp4").exists() and "# Rebuild" in (folder / "prompt.md").read_text()
    assert sorted(path.name for path in made_by.ledger.runs.iterdir()) == [run.key], "nothing is left half-made"
    assert len(list(made_by.ledger.stages.iterdir())) == 4 and made_by.failures() == []
    assert list(made_by.ledger.leases.glob("*.0")) == [] and status(made_by).complete


def test_what_is_done_is_never_done_again(made, bench, marks):
    made_by = bench(one(made, MARKS=marks), settings=("proxy", "detailed"), videos=("v", "w"))
    assert work(made_by) == ["done"] * 4
    assert work(made_by) == ["done"] * 4
    assert len(list(marks.iterdir())) == 4


def test_the_agent_gets_the_reference_the_prompt_and_an_output_folder_and_nothing_else(made, bench, monkeypatch):
    for name in ("BENCH_SECRET", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "secret-of-the-runner")
    made_by = bench(one(made, ACT="around,submit"))
    work(made_by)
    text = (made_by.ledger.run_folder(made_by.run_of().key) / "agent.out").read_text()
    said = json.loads(text)
    assert said["files"] == ["out", "prompt.md", "reference.mp4", "task.json"]
    assert "secret-of-the-runner" not in text and str(made_by.folder) not in json.dumps([said["argv"], said["files"]])
    home = said["env"]["HOME"]
    assert Path(home).name == "home" and not Path(home).exists(), "its folders are gone afterwards"
    leads = {name for name, value in said["env"].items() if str(made_by.folder) in value or str(made) in value}
    assert leads == {"PACKAGE"}, "but for what its configuration gives it"


def test_an_agent_that_does_nothing_at_all_has_failed_and_what_it_said_is_kept(made, bench):
    made_by = bench(one(made, ACT="say=which server?"))
    assert work(made_by) == ["failed"]
    (failure,) = made_by.ledger.all_failures()
    assert failure.reason == "no_tools" and "which server?" in failure.detail
    assert "which server?" in (made_by.ledger.failures / f"{failure.key}.0.txt").read_text()


def test_an_agent_that_hands_in_nothing_is_a_result_and_not_tried_again(made, bench, marks, monkeypatch):
    monkeypatch.setattr(agent_module, "_told", lambda transcript: ({"look": 2}, []))
    made_by = bench(one(made, ACT="say=I give up", MARKS=marks))
    assert work(made_by) == ["done"] and work(made_by) == ["done"]
    run = made_by.run_of()
    assert not run.submitted and run.submission == [] and len(list(marks.iterdir())) == 1
    assert not (made_by.runs / "one" / "proxy" / "v").exists()


@pytest.mark.parametrize(
    ("act", "limits", "ended"),
    [
        ("submit,sleep=60", Limits(seconds=1.5), "limit_time"),
        ("submit,usage=2:1,sleep=60", Limits(usd=0.9), "limit_money"),
        ("submit,usage=6,sleep=60", Limits(turns=5), "limit_turns"),
    ],
)
def test_at_a_limit_the_agent_is_ended_and_what_was_handed_in_counts(made, bench, act, limits, ended):
    made_by = bench(one(made, ACT=act), limits=limits)
    begun = time.monotonic()
    assert work(made_by) == ["done"]
    assert time.monotonic() - begun < 15
    run = made_by.run_of()
    assert (run.ended, run.exit_status, run.submitted) == (ended, None, True)
    assert made_by.failures() == [] and status(made_by).rows[0].ended[ended] == 1


def test_a_limit_without_a_submission_is_a_result_too(made, bench):
    made_by = bench(one(made, ACT="sleep=60"), limits=Limits(seconds=1))
    assert work(made_by) == ["done"] and made_by.run_of().ended == "limit_time" and not made_by.run_of().submitted


def test_a_failure_is_listed_with_its_cause_and_cost_and_tried_only_so_often(made, bench, marks):
    made_by = bench(one(made, ACT="usage=1:0.25,say=no credit left,fail=7", MARKS=marks), attempts=2)
    for _ in range(4):
        assert work(made_by) == ["failed"]
    assert made_by.failures() == [("agent", "agent_failed")] * 2 and len(list(marks.iterdir())) == 2
    first, second = made_by.ledger.all_failures()
    assert (first.attempt, second.attempt) == (0, 1) and "status 7: no credit left" in first.detail
    assert first.usage.usd == 0.25
    found = status(made_by)
    assert found.rows[0].stages["agent"]["failed"] == 1 and found.rows[0].lost_usd == 0.5 and not found.complete
    assert any("one/proxy/v agent: agent_failed, try 2" in line for line in status_lines(found))
    assert work(made_by, made_by.runner(retry=True)) == ["failed"] and len(list(marks.iterdir())) == 3


def test_a_killed_agent_is_a_failure_with_its_signal(made, bench):
    made_by = bench(one(made, ACT="usage=1,die"))
    assert work(made_by) == ["failed"]
    (failure,) = made_by.ledger.all_failures()
    assert failure.reason == "agent_failed" and "status 137" in failure.detail


def test_a_crash_after_handing_in_counts_as_handed_in(made, bench):
    made_by = bench(one(made, ACT="submit,fail=9"))
    assert work(made_by) == ["done"] and made_by.run_of().exit_status == 9


def test_an_agent_without_its_key_or_program_is_told_at_once(made, bench, monkeypatch):
    monkeypatch.delenv("XAI_API_KEY", raising=False)
    made_by = bench(Configuration(name="grok", agent="grok", model="m"))
    assert work(made_by) == ["failed"]
    (failure,) = made_by.ledger.all_failures()
    assert failure.reason == "not_started" and "XAI_API_KEY" in failure.detail


def test_links_are_not_followed_and_nothing_outside_is_collected(made, bench, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("not yours")
    made_by = bench(one(made, ACT=f"submit,link={secret}"))
    work(made_by)
    folder = made_by.ledger.run_folder(made_by.run_of().key)
    assert not (folder / "task" / "out" / "link").exists()
    assert all(b"not yours" not in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_submission_folder_that_is_a_link_is_none(made, bench, tmp_path, monkeypatch):
    monkeypatch.setattr(agent_module, "_told", lambda transcript: ({"look": 2}, []))
    script = tmp_path / "sly.py"
    script.write_text(
        "import json,sys,os; t=json.load(open(sys.argv[1]))\n"
        f"os.symlink({str(made / 'package')!r}, t['output'] + '/submission')\n"
    )
    made_by = bench(Configuration(name="sly", agent=f"python:{script}"))
    assert work(made_by) == ["done"] and not made_by.run_of().submitted


@pytest.mark.skipif(os.name != "posix", reason="longer paths than Windows has")
def test_a_tree_without_end_stops_nothing(made, bench, tmp_path):
    made_by = bench(one(made, ACT="submit,deep=1500"))
    settings = Settings(BLENDER, NO_SANDBOX, work=tmp_path / "work")
    assert work(made_by, made_by.runner(settings=settings)) == ["done"]
    assert list((tmp_path / "work").iterdir()) == []


START = '{"kind": "start", "format": "matchcut-transcript/1"}\n'


@pytest.mark.parametrize(
    "text", ["nonsense", START + '{"kind": "render"; "job": 1}', START + '{"kind": "render"}', "[]"]
)
def test_a_transcript_that_the_agent_has_spoilt_stops_nothing(made, bench, text):
    made_by = bench(one(made, ACT="submit,spoil", SPOIL=text))
    assert work(made_by) == ["done"] and made_by.run_of().calls == {} and made_by.run_of().renders == []


def test_a_place_in_runs_that_is_taken_is_never_overwritten(made, bench):
    made_by = bench(one(made))
    place = made_by.runs / "one" / "proxy" / "v"
    place.mkdir(parents=True)
    (place / "reconstruction.mp4").write_bytes(b"somebody else's")
    with pytest.raises(OperationalError, match="holds another submission"):
        work(made_by)
    assert (place / "reconstruction.mp4").read_bytes() == b"somebody else's"
    summary = run_tasks(made_by.runner(), made_by.tasks(), workers=1, wait=False, reporter=SilentReporter())
    assert summary.states == {"failed": 1} and "holds another submission" in summary.problems[0]


def test_a_stage_that_fails_leaves_the_others_alone_and_is_tried_again(made, bench, monkeypatch):
    broken = {"audit"}

    def stage(name, *rest, **options):
        if name in broken:
            raise StageFailedError("failed", "Blender took more than 60 s")
        return {"stage": name}

    monkeypatch.setattr(run_module, "run_stage", stage)
    made_by = bench(one(made))
    assert work(made_by) == ["failed"] and made_by.failures() == [("audit", "failed")]
    found = status(made_by)
    assert found.rows[0].stages["audit"]["failed"] == 1 and found.rows[0].stages["sgc"]["done"] == 1
    broken.clear()
    assert work(made_by) == ["done"] and status(made_by).complete and status(made_by).failures == []


def test_what_fails_for_good_is_not_tried_again(made, bench, monkeypatch):
    tries = []

    def stage(name, *rest, **options):
        tries.append(name)
        raise StageFailedError("bad_input", "not a video", lasting=True)

    monkeypatch.setattr(run_module, "run_stage", stage)
    made_by = bench(one(made), sgc=None)
    assert work(made_by) == ["failed"] and work(made_by) == ["failed"] and tries == ["validate", "audit", "check"]


def test_a_full_disk_is_a_failure_and_leaves_nothing_half_made(made, bench, monkeypatch):
    def full(*rest, **options):
        raise OSError(errno.ENOSPC, "No space left on device", "frames/1.png")

    monkeypatch.setattr(agent_module, "collect", full)
    made_by = bench(one(made))
    assert work(made_by) == ["failed"] and made_by.failures() == [("agent", "disk_full")]
    assert list(made_by.ledger.runs.iterdir()) == [] and made_by.run_of() is None
    monkeypatch.undo()
    monkeypatch.setattr(run_module, "run_stage", lambda stage, *rest, **options: {})
    assert work(made_by) == ["done"]


def test_a_lease_that_is_lost_before_publishing_publishes_nothing(made, bench):
    made_by = bench(one(made, ACT="submit,usage=1:0.5,sleep=60"))
    runner = made_by.runner(term=1.0)
    key = runner.keys.run(made_by.tasks()[0])
    thief = threading.Timer(1.5, lambda: (made_by.ledger.leases / f"{key}.1").write_text("somebody"))
    thief.start()
    assert work(made_by, runner) == ["failed"]
    (failure,) = made_by.ledger.all_failures()
    assert failure.reason == "lease_lost" and failure.usage.usd == 0.5
    assert made_by.run_of() is None and list(made_by.ledger.runs.iterdir()) == []


def test_who_comes_second_throws_its_own_away(made, bench, monkeypatch):
    made_by = bench(one(made))
    runner, task = made_by.runner(), made_by.tasks()[0]
    key = runner.keys.run(task)
    real = run_module.make_run

    def slow(*rest, **options):
        run = real(*rest, **options)
        first = Ledger(made_by.ledger.results)
        with first.staging() as folder:
            (folder / "submission").mkdir()
            assert first.publish_run(folder, run.model_copy(update={"submission": [], "usage": Usage(usd=1)}))
        return run

    monkeypatch.setattr(run_module, "make_run", slow)
    assert runner.work(task) == "failed"
    assert made_by.failures() == [("agent", "lease_lost")] and made_by.ledger.find_run(key).usage.usd == 1


def test_two_runs_on_one_folder_share_the_tasks(made, bench, marks):
    made_by = bench(one(made, MARKS=marks, ACT="sleep=0.3,submit"), settings=("proxy", "detailed"), videos=("v", "w"))
    summaries = []

    def run():
        runner = made_by.runner()
        summaries.append(run_tasks(runner, made_by.tasks(), workers=2, wait=True, reporter=SilentReporter()))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert [summary.states for summary in summaries] == [{"done": 4}] * 2
    assert len(list(marks.iterdir())) == 4 and made_by.failures() == [] and status(made_by).complete


RUNNER = """
import sys, threading
sys.path[:0] = [{tests!r}, {unit!r}]
import conftest
from pathlib import Path
from bench_runs import Bench, configuration
from matchcut.evaluator.benchmark import run as run_module
run_module.run_stage = lambda stage, *rest, **options: {{}}
made = Path({made!r})
one = configuration("one", PACKAGE=made / "package", ACT={act!r}, MARKS={marks!r})
bench = Bench(Path({folder!r}), made / "bench", [one])
print("ready", flush=True)
print(bench.runner(term=1.0).work(bench.tasks()[0]), flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_killed_run_is_listed_taken_over_and_leaves_no_agent(made, bench, marks, root, tmp_path):
    fields = {"tests": str(root / "tests"), "unit": str(root / "tests" / "unit"), "made": str(made)}
    code = RUNNER.format(**fields, folder=str(tmp_path), act="submit,sleep=60", marks=str(marks))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}  # a killed run leaves its task's folder
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True, env=environment
    )
    end = time.monotonic() + 60
    while not list(marks.iterdir()):
        assert time.monotonic() < end
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(1.0)
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert not [line for line in running.splitlines() if AGENT_FILE in line and "task.json" in line]

    made_by = bench(one(made, ACT="submit,sleep=60", MARKS=marks))
    runner = made_by.runner(term=1.0)
    key = runner.keys.run(made_by.tasks()[0])
    assert Ledger(tmp_path / "results").leases.joinpath(f"{key}.0").exists()
    runner.plan = runner.plan.model_copy(update={"limits": Limits()})
    stopper = threading.Timer(8, runner.stop.set)
    stopper.start()
    while runner.work(made_by.tasks()[0]) == "busy":
        time.sleep(0.2)
    stopper.cancel()
    reasons = [failure.reason for failure in made_by.ledger.failures_of(key)]
    assert reasons[0] == "abandoned" and len(list(marks.iterdir())) == 2


def test_calling_off_ends_the_agent_and_uses_up_no_try(made, bench, marks):
    made_by = bench(one(made, ACT="sleep=60", MARKS=marks), attempts=1)
    runner = made_by.runner()
    threading.Timer(1.5, runner.stop.set).start()
    begun = time.monotonic()
    assert work(made_by, runner) == ["failed"] and time.monotonic() - begun < 15
    assert made_by.failures() == [("agent", "stopped")]
    made_by.plan = made_by.plan.model_copy(update={"limits": Limits()})
    runner = made_by.runner()
    threading.Timer(1.5, runner.stop.set).start()
    work(made_by, runner)
    assert len(list(marks.iterdir())) == 2


def test_a_fault_of_ours_in_a_thread_is_raised(made, bench, monkeypatch):
    def broken(*rest, **options):
        raise ZeroDivisionError

    monkeypatch.setattr(run_module, "run_stage", broken)
    made_by = bench(one(made))
    with pytest.raises(ZeroDivisionError):
        run_tasks(made_by.runner(), made_by.tasks(), workers=1, wait=True, reporter=SilentReporter())


def test_a_person_s_result_takes_the_place_of_an_agent(made, bench, tmp_path):
    make_package(tmp_path / "mine" / "proxy" / "v")
    made_by = bench(Configuration(name="ann", agent=f"artist:{tmp_path / 'mine'}"), videos=("v", "w"))
    assert work(made_by) == ["done", "failed"]
    run = made_by.run_of()
    assert run.agent == "artist" and run.submitted and run.usage.usd is None
    assert hashes(made_by.runs / "ann" / "proxy" / "v") == hashes(tmp_path / "mine" / "proxy" / "v")
    assert made_by.failures() == [("agent", "missing_result")]


def test_a_reference_that_is_not_the_benchmark_s_is_not_given_out(made, bench):
    made_by = bench(one(made))
    (task,) = made_by.tasks()
    record = task.video.record.model_copy(update={"sha256": "0" * 64})
    assert made_by.runner().work(replace(task, video=replace(task.video, record=record))) == "failed"
    (failure,) = made_by.ledger.all_failures()
    assert "is not the video that video.json names" in failure.detail


# --- the plan


def test_plans_are_put_together_and_what_would_mix_records_is_refused(made, bench, tmp_path):
    first = bench(one(made, "one"), videos=("v",))
    second = bench(one(made, "two"), settings=("detailed",), videos=("w",))
    assert [c.name for c in second.plan.configurations] == ["one", "two"]
    assert second.plan.settings == ["proxy", "detailed"] and second.plan.videos == ["v", "w"]
    changed = one(made, "one", ACT="say=hello")
    with pytest.raises(BadInputError, match=r"configuration one: .* has another one of this name"):
        save_plan(first.ledger, first.plan.model_copy(update={"configurations": [changed]}))
    with pytest.raises(BadInputError, match="other limits"):
        save_plan(first.ledger, first.plan.model_copy(update={"limits": Limits(turns=3)}))
    with pytest.raises(BadInputError, match="of the benchmark 'small 1', not 'large 2'"):
        save_plan(first.ledger, first.plan.model_copy(update={"benchmark_name": "large 2"}))
    with pytest.raises(BadInputError, match="holds no plan"):
        Ledger(tmp_path / "nothing").plan()


def test_keys_follow_what_decides_an_answer_and_nothing_else(made, bench):
    made_by = bench(one(made))
    runner, (task,) = made_by.runner(), made_by.tasks()
    key = runner.keys.run(task)
    assert made_by.runner(settings=Settings(BLENDER, NO_SANDBOX, work=Path("/elsewhere"))).keys.run(task) == key
    labelled = task.configuration.model_copy(update={"label": "One"})
    assert runner.keys.run(type(task)(labelled, task.setting, task.video)) == key
    for change in ({"model": "m"}, {"effort": "low"}, {"no_refine": True}, {"name": "x"}, {"network": "none"}):
        other = type(task)(task.configuration.model_copy(update=change), task.setting, task.video)
        assert runner.keys.run(other) != key, change
    assert runner.keys.run(type(task)(task.configuration, "detailed", task.video)) != key
