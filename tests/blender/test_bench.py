# SPDX-License-Identifier: GPL-3.0-or-later
"""One task of a benchmark from inside Blender: agent, package, every later stage, the judge; and without refinement."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mcp")
sys.path.append(str(Path(__file__).resolve().parents[1] / "unit"))
from bench_samples import clip, write_benchmark
from judge_stub import JudgeStub
from matchcut.evaluator.benchmark.isolation import find_sandbox
from matchcut.evaluator.benchmark.records import AgentRun, StageRecord
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.protocol.children import child_environment
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.transcript import read_transcript

AGENT = Path(__file__).with_name("bench_agent.py")
FRAMES = 6


@pytest.fixture
def place(tmp_path):
    """A benchmark of one short video, and two configurations."""
    pictures = [np.full((36, 64, 3), 20 + 10 * number, np.uint8) for number in range(FRAMES)]
    reference = tmp_path / "given.mp4"
    info = encode(pictures, Fraction(24), reference, reporter=SilentReporter(), total=FRAMES)
    clips = [clip("c1", "v", "rotation", "object_presence", "action_events", frames=FRAMES)]
    clips = [one.model_copy(update={"checks": [_within(check) for check in one.checks]}) for one in clips]
    write_benchmark(tmp_path / "bench", clips, timeline=info.timeline, references={"v": reference})
    text = 'format = "matchcut-configurations/1"\n'
    for name, refine in (("own", "false"), ("own-no-refine", "true")):
        text += f'[[configuration]]\nname = "{name}"\nagent = "python:{AGENT}"\nno_refine = {refine}\n'
    for name in ("look", "wait"):
        text += f'[[configuration]]\nname = "window-{name}"\nagent = "python:{AGENT}"\nblender = "window"\n'
        text += f'environment = {{ WINDOW = "{name}" }}\n'
    (tmp_path / "mine.toml").write_text(text)
    return tmp_path


def _within(check):
    return check.model_copy(update={"end": min(check.end, FRAMES - 1)})


def arguments(place, stub, *options):
    isolation = [] if find_sandbox().works else ["--isolation", "none"]
    return [
        "--benchmark", str(place / "bench"), "--runs", str(place / "runs"), "--out", str(place / "results"),
        "--configurations", str(place / "mine.toml"), "--setting", "proxy", "--video", "v", "--judge", stub.spec,
        "--limit-minutes", "10", "--json", *isolation, *options,
    ]  # fmt: skip


def records(place):
    folder = place / "results" / "bench"
    runs = {
        run.configuration: (run, path.parent) for path in folder.glob("runs/*/run.json") if (run := AgentRun.read(path))
    }
    stages = [StageRecord.read(path) for path in sorted(folder.glob("stages/*.json"))]
    return runs, {(one.configuration, one.stage): one.result for one in stages}


def check_run(run, folder, stages, *, refine):
    assert run.submitted and run.ended == "finished" and run.usage.turns >= 6
    assert run.calls["submit"] >= 1 and run.renders[-1].state == "done" and run.renders[-1].total == FRAMES
    assert read_transcript(folder / "mcp.jsonl")[0]["benchmark"] is True
    said = [json.loads(line) for line in (folder / "agent.out").read_text().splitlines()]
    looked = [
        one for one in said if one["type"] == "answer" and "not_allowed: this task is rendered once" in one["text"]
    ]
    assert len(looked) == (0 if refine else 1)
    probe = next(one["text"] for one in said if "devices" in one.get("text", ""))
    if run.isolation.blender_network == "none":
        assert "'devices': ['lo']" in probe or "'devices': []" in probe, probe
    assert "KEY" not in probe and "SECRET" not in probe
    assert {stage for name, stage in stages if name == run.configuration} == {
        "validate",
        "audit",
        "check",
        "sgc",
        "judge",
    }
    assert stages[run.configuration, "audit"]["passed"] is True
    assert stages[run.configuration, "judge"]["judged"] == 1
    assert str(folder.parents[3]) not in json.dumps([stages[key] for key in stages]), "no folder of this machine"


def test_one_task_from_inside_blender(blender, root, place, need_evaluator_inside):
    if blender.kind == "program":
        need_evaluator_inside(blender.path)
    environment = {
        **child_environment(), "MATCHCUT_PYTHON": sys.executable, "BLENDER": blender.path, "BENCH_SECRET": "x",
    }  # fmt: skip
    start = [blender.path] if blender.kind == "wheel" else [
        blender.path, "-b", "--factory-startup", "--python-exit-code", "1", "--python",
    ]  # fmt: skip
    headless = [*start, str(root / "addon" / "headless.py"), "--", "bench"]
    with JudgeStub() as stub:
        command = [*headless, *arguments(place, stub, "--config", "own")]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        if done.returncode == 2 and "cannot be kept apart from the benchmark's data" in done.stderr:
            command = [*command, "--isolation", "none"]  # this Blender lies in a sandbox that allows no other
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        runs, stages = records(place)
        check_run(*runs["own"], stages, refine=True)
        again = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert again.returncode == 0 and len(stub.requests) == 1, "what is done is not done again"
    wrong = subprocess.run(
        [*headless, *arguments(place, stub, "--config", "nobody")], capture_output=True, text=True, env=environment,
        check=False,
    )  # fmt: skip
    assert wrong.returncode == 2 and "has no configuration 'nobody'" in wrong.stderr


def test_without_refinement_the_server_ends_looking_after_the_render(blender, root, place):
    environment = {**child_environment(), "BLENDER": blender.path, "BENCH_SECRET": "x"}
    with JudgeStub() as stub:
        command = [
            sys.executable,
            str(root / "__main__.py"),
            "bench",
            *arguments(place, stub, "--config", "own-no-refine"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    runs, stages = records(place)
    check_run(*runs["own-no-refine"], stages, refine=False)


# --- with a window


@pytest.fixture
def work():
    """A folder for tasks whose path is short enough for a socket in it."""
    with tempfile.TemporaryDirectory(prefix="mc-") as folder:
        yield Path(folder)


@pytest.fixture
def window_command(blender, root, place, work):
    """The command line of a task whose Blender has a window; its configuration's name is to be added."""
    if blender.kind != "program":
        pytest.skip("a window needs the Blender program; set $BLENDER to one")
    if not os.environ.get("BLENDER_WINDOW") and shutil.which("xvfb-run") is None:
        pytest.skip("no virtual screen: set $BLENDER_WINDOW, or install xvfb")
    isolation = [] if find_sandbox().works else ["--isolation", "none"]
    return [
        sys.executable, str(root / "__main__.py"), "bench", "run", str(place / "bench"), "--runs", str(place / "runs"),
        "--out", str(place / "results"), "--configurations", str(place / "mine.toml"), "--setting", "proxy", "--sgc",
        "off", "--work", str(work), "--limit-minutes", "10", *isolation, "--configuration",
    ]  # fmt: skip


def windowed(blender):
    return {**child_environment(), "BLENDER": blender.path}


def still_running(folder):
    """Processes that have a folder in their environment, as all have that a task starts, X servers too."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if str(folder).encode() in path.read_bytes():
                found.append(path.with_name("cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:  # it has ended, or is somebody else's
            continue
    return found


def wait_until_none(folder, seconds=30):
    end = time.monotonic() + seconds
    while (left := still_running(folder)) and time.monotonic() < end:
        time.sleep(0.2)
    return left


def test_a_task_whose_blender_has_a_window_on_a_virtual_screen(blender, place, work, window_command):
    done = subprocess.run(
        [*window_command, "window-look"], capture_output=True, text=True, env=windowed(blender), check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (run, folder) = records(place)[0]["window-look"]
    assert run.window and run.submitted and run.ended == "finished"
    said = [json.loads(line) for line in (folder / "agent.out").read_text().splitlines()]
    texts = [one["text"] for one in said if one["type"] == "answer"]
    window = next(text for text in texts if "'background'" in text)
    assert "'background': False" in window and "'windows': 1" in window and "VIEW_3D" in window
    assert run.calls["run_python"] >= 4 and any('"result": "1' in text or '"result": "2' in text for text in texts), (
        "the main thread's timers run between calls"
    )
    assert any("3D view" in text and "320x" in text for text in texts), "the viewport is what is looked at"
    if run.isolation.blender_network == "none":
        probe = next(text for text in texts if "devices" in text)
        assert "'devices': ['lo']" in probe or "'devices': []" in probe, probe
    assert wait_until_none(work) == []


def test_no_window_and_no_screen_outlive_a_run_that_is_killed(blender, work, window_command):
    process = subprocess.Popen([*window_command, "window-wait"], stdout=subprocess.DEVNULL, env=windowed(blender))
    try:
        end, looked = time.monotonic() + 300, False
        while not looked and time.monotonic() < end and process.poll() is None:
            time.sleep(0.5)
            files = work.glob("*/record/agent.out")
            looked = any("3D view" in file.read_text("utf-8", "replace") for file in files)
        assert looked, "it came to its window"
        assert still_running(work), "what is looked for afterwards can be seen"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert wait_until_none(work) == []
