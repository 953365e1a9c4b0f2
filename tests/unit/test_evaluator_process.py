# SPDX-License-Identifier: GPL-3.0-or-later
"""The evaluator as a child process: found, read without blocking, cancelled, killed, never orphaned."""

import os
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import pytest
from matchcut.addon import evaluator_process
from matchcut.addon.evaluator_process import NoEvaluatorError, choose_evaluator, find_evaluator
from matchcut.evaluator.environment.condition import python_of
from matchcut.evaluator.environment.create import EVALUATOR
from matchcut.evaluator.protocol import command
from matchcut.evaluator.protocol.children import child_environment
from matchcut.evaluator.protocol.command import EvaluatorProcess
from matchcut.evaluator.protocol.errors import BadInputError

SAY = """
import json, signal, subprocess, sys, time
def say(**fields):
    print(json.dumps(fields), flush=True)
"""


@pytest.fixture
def start(tmp_path):
    """Start a script that speaks the protocol; whatever still runs at the end is killed."""
    started = []

    def start(body, **options):
        script = tmp_path / f"child{len(started)}.py"
        script.write_text(SAY + textwrap.dedent(body))
        started.append(EvaluatorProcess([sys.executable, str(script)], **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()


def read_all(process, seconds=20.0):
    """Everything said until the end."""
    messages, end = [], time.monotonic() + seconds
    while process.returncode is None:
        assert time.monotonic() < end, f"still running after {messages}"
        messages += process.poll()
        time.sleep(0.01)
    return messages


def read_until(process, kind, seconds=20.0):
    """The first message of one type."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for message in process.poll(limit=1):
            if message.type == kind:
                return message
        time.sleep(0.01)
    raise AssertionError(f"no {kind} message; log: {process.log_tail()}")


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or ") Z " not in stat.read_text()


def gone_within(pid, seconds):
    end = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not is_alive(pid)


def test_every_message_is_read_before_the_status(start):
    process = start("""
        print("a library's stray line")
        for done in range(500):
            say(type="progress", stage="render", done=done, total=500)
        say(type="result", path="r.json", data={"a": 1})
        print("log", file=sys.stderr)
        sys.exit(3)
    """)
    messages = read_all(process)
    assert [message.done for message in messages[:-1]] == list(range(500))
    assert messages[-1].data == {"a": 1}
    assert process.returncode == 3
    assert process.log_tail() == "log"


@pytest.mark.parametrize("stopped", [False, True])
def test_what_has_ended_keeps_no_file_open_and_its_log_can_be_read(start, stopped):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        wait = "time.sleep(30)" if stopped else ""
        process = start(f"print('log', file=sys.stderr, flush=True); say(type='status', text='on'); {wait}")
        if stopped:
            read_until(process, "status")
            process.stop(1)
        else:
            read_all(process)
        assert process.log_tail().startswith("log")
        files = [process._log, process._process.stdin]
        assert all(file.closed for file in files)
    assert [str(warning.message) for warning in caught if warning.category is ResourceWarning] == []


def test_poll_does_not_wait_for_a_silent_child(start):
    process = start("time.sleep(30)")
    began = time.monotonic()
    assert process.poll() == []
    assert process.returncode is None
    assert time.monotonic() - began < 0.2


def test_cancel_lets_the_child_end_by_itself(start):
    process = start("""
        say(type="status", text="ready")
        try:
            time.sleep(30)
        except KeyboardInterrupt:
            say(type="error", text="cancelled")
            sys.exit(130)
    """)
    read_until(process, "status")
    process.cancel()
    assert [message.type for message in read_all(process)] == ["error"]
    assert process.returncode == 130
    assert process.cancelling


@pytest.mark.skipif(os.name != "posix", reason="process groups are killed by taskkill on Windows")
def test_a_child_that_does_not_stop_is_killed_with_its_own_children(start, monkeypatch):
    monkeypatch.setattr(command, "GRACE_SECONDS", 0.3)
    process = start("""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        say(type="status", text=str(grandchild.pid))
        time.sleep(60)
    """)
    grandchild = int(read_until(process, "status").text)
    process.cancel()
    began = time.monotonic()
    read_all(process)
    assert 0.25 < time.monotonic() - began < 5
    assert process.returncode == -9
    assert gone_within(grandchild, 2)


def test_a_surviving_grandchild_does_not_keep_the_job_open(start, monkeypatch):
    monkeypatch.setattr(command, "DRAIN_SECONDS", 0.3)
    process = start("""
        grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(4)"])
        say(type="status", text=str(grandchild.pid))
    """)
    assert len(read_all(process, seconds=3)) == 1
    assert process.returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="asks by POSIX signals")
def test_nothing_is_left_when_the_parent_quits(root, tmp_path):
    child = tmp_path / "child.py"
    child.write_text(SAY + 'say(type="status", text="ready")\ntime.sleep(60)\n')
    parent = tmp_path / "parent.py"
    parent.write_text(
        textwrap.dedent(f"""
        import runpy, sys, time
        runpy.run_path({str(root / "__main__.py")!r}, run_name="main")["load_package"]()
        from matchcut.evaluator.protocol.command import EvaluatorProcess
        process = EvaluatorProcess([sys.executable, {str(child)!r}])
        while not process.poll():
            time.sleep(0.01)
        print(process.pid)
        """)
    )
    answer = subprocess.run([sys.executable, str(parent)], capture_output=True, text=True, timeout=30, check=True)
    assert gone_within(int(answer.stdout), 1)


def test_a_command_that_does_not_exist_is_one_line(tmp_path):
    with pytest.raises(BadInputError, match=r"no-such: the evaluator does not start") as caught:
        EvaluatorProcess([str(tmp_path / "no-such")])
    assert "\n" not in str(caught.value)


def test_the_environment_is_clean_and_names_blender(monkeypatch):
    monkeypatch.setenv("PYTHONHOME", "/wrong")
    monkeypatch.setenv("PYTHONPATH", "/wrong")
    monkeypatch.setenv("BLENDER", "/other")
    environment = child_environment("/opt/blender")
    assert "PYTHONHOME" not in environment
    assert "PYTHONPATH" not in environment
    assert environment["BLENDER"] == "/opt/blender"
    assert child_environment()["BLENDER"] == "/other"


class TestChoice:
    """Preference, then $MATCHCUT_PYTHON, then the add-on's environment, then the one of `matchcut setup`."""

    @pytest.fixture(autouse=True)
    def folders(self, tmp_path, monkeypatch):
        monkeypatch.delenv("MATCHCUT_PYTHON", raising=False)
        monkeypatch.setattr(evaluator_process, "default_folder", lambda kind: tmp_path / "checkout")
        self.installed, self.checkout = tmp_path / "installed", tmp_path / "checkout"

    def make(self, folder, lock=None):
        python = python_of(folder)
        python.parent.mkdir(parents=True)
        python.touch()
        stamp = folder / f"installed-{EVALUATOR.lock.name}"
        stamp.write_bytes(EVALUATOR.lock.read_bytes() if lock is None else lock)
        return python

    def test_order(self, tmp_path, monkeypatch):
        with pytest.raises(BadInputError, match="Install Evaluator"):
            choose_evaluator("", self.installed)
        checkout = self.make(self.checkout)
        assert choose_evaluator("", self.installed).python == checkout
        installed = self.make(self.installed)
        assert choose_evaluator("", self.installed).python == installed
        variable, preferred = tmp_path / "variable", tmp_path / "preferred"
        variable.touch(), preferred.touch()
        monkeypatch.setenv("MATCHCUT_PYTHON", str(variable))
        assert choose_evaluator("", self.installed).python == variable
        assert choose_evaluator(str(preferred), self.installed).python == preferred

    def test_a_named_one_that_is_missing_is_an_error(self, tmp_path):
        self.make(self.checkout)
        with pytest.raises(BadInputError, match="preferences"):
            choose_evaluator(str(tmp_path / "gone"), None)

    def test_an_unfinished_or_outdated_environment_does_not_count(self):
        self.make(self.checkout, lock=b"another lock")
        with pytest.raises(NoEvaluatorError, match="of another version of Matchcut; press Install Evaluator") as caught:
            choose_evaluator("", None)
        assert caught.value.condition == "outdated"
        (self.checkout / f"installed-{EVALUATOR.lock.name}").unlink()
        (self.checkout / "pyvenv.cfg").touch()
        with pytest.raises(NoEvaluatorError, match="was cut off"):
            choose_evaluator("", self.installed)
        python_of(self.installed).parent.mkdir(parents=True)
        (self.installed / f"installed-{EVALUATOR.lock.name}").write_bytes(EVALUATOR.lock.read_bytes())
        with pytest.raises(NoEvaluatorError, match="Python is not there any more") as caught:
            choose_evaluator("", self.installed)
        assert caught.value.condition == "broken"

    @pytest.mark.skipif(os.name != "posix", reason="a script stands in for the evaluator")
    def test_a_line_reaches_a_command_before_the_end_of_its_input(self, tmp_path):
        script = tmp_path / "child.py"
        script.write_text(SAY + 'say(type="status", text=sys.stdin.readline().strip())\nsys.stdin.read()\n')
        process = EvaluatorProcess([sys.executable, str(script)], line="secret")
        try:
            assert read_until(process, "status").text == "secret"
            assert process.returncode is None, "its input goes on until the parent ends"
        finally:
            process.kill()

    def test_the_command_line(self, root, monkeypatch):
        monkeypatch.setenv("MATCHCUT_PYTHON", sys.executable)
        assert find_evaluator() == [sys.executable, str(root / "__main__.py")]
        answer = subprocess.run([*find_evaluator(), "--version"], capture_output=True, text=True, check=True)
        assert answer.stdout.startswith("matchcut ")
