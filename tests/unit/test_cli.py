# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line's front, its reporters, and files that are whole or not there."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from matchcut.evaluator.cli import main as front
from matchcut.evaluator.protocol import files
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.messages import Message, parse_message


def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    for name in front.COMMANDS:
        with pytest.raises(SystemExit) as ended:
            front.main([name, "--help"])
        assert ended.value.code == 0
        text = capsys.readouterr().out
        assert f"matchcut {name}" in text and len(text.splitlines()) > 5, name


def test_an_unknown_command_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert front.main(["scroe"]) == 2
    assert capsys.readouterr().err == "matchcut: 'scroe' is no command; see matchcut --help\n"


def test_a_python_without_the_packages_is_named_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")

    monkeypatch.setattr("importlib.import_module", fail)
    assert front.main(["probe", "a.mp4"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"matchcut: {sys.executable} has no package numpy; run ") and said.count("\n") == 1


def test_help_imports_nothing_heavy(root: Path) -> None:
    code = (
        "import runpy, sys; sys.argv = ['matchcut', '--help']\n"
        f"try: runpy.run_path({str(root / '__main__.py')!r}, run_name='__main__')\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'cv2', 'av', 'scipy', 'pydantic', 'openai', 'anthropic', 'mcp', 'rich', 'jinja2', 'PIL'}\n"
        "sys.stderr.write(','.join(sorted(heavy & set(sys.modules))))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stderr == "" and "commands:" in answer.stdout


def test_wrong_arguments_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        front.main(["check", "--reference", "a.mp4"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said == (
        "matchcut check: the following arguments are required: --reconstruction; see matchcut check --help\n"
    )


class Command:
    """A command whose run does what the test says."""

    DESCRIPTION = "a test"

    def __init__(self, action: Any) -> None:
        self.action = action

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace, reporter: Any) -> int:
        return self.action(reporter)


def raising(error: BaseException) -> Any:
    def action(reporter: Any) -> int:
        reporter.progress("render", 1, 2)
        raise error

    return action


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (BadInputError("a.mp4: no such file; give another"), 2, "a.mp4: no such file; give another"),
        (OperationalError("the disk is full; free 1 GB"), 3, "the disk is full; free 1 GB"),
        (KeyboardInterrupt(), 130, "cancelled"),
    ],
)
def test_errors_are_one_line_and_a_status(error: BaseException, status: int, text: str, capsys: Any) -> None:
    command = Command(raising(error))
    assert front.run_command(command, argparse.Namespace(messages=False)) == status
    assert capsys.readouterr().err.splitlines()[-1] == f"matchcut: {text}"
    assert front.run_command(command, argparse.Namespace(messages=True)) == status
    messages = [parse_message(line) for line in capsys.readouterr().out.splitlines()]
    assert [message.type for message in messages if message] == ["progress", "error", "done"]
    assert messages[1].text == text and messages[2].exit_status == status


def test_messages_survive_the_wire() -> None:
    for message in (
        Message("progress", stage="render", done=0, total=3, text="ümläut\nline"),
        Message("result", path="a b/results.json", data={"sgc": None}),
        Message("done", exit_status=130),
    ):
        line = message.to_line()
        assert "\n" not in line and line.isascii() and parse_message(line) == message
    for stray in ("", "hello", "[]", "3", '{"type": "other"}', '{"type": "done", "surprise": 1}', "[" * 100_000):
        assert parse_message(stray) is None


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    files.write_json(path, {"a": 1})
    with pytest.raises(ValueError):
        files.write_json(path, {"a": float("nan")})
    with pytest.raises(RuntimeError), files.atomic_path(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError("killed")
    assert json.loads(path.read_text()) == {"a": 1} and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "no such file"),
        (b"", "not valid JSON"),
        (b"\xff\xfe", "cannot be read"),
        (b"[" * 200_000, "not valid JSON"),
        (b"[1]", "its format is 'list'"),
        (b'{"format": "x/2"}', "its format is 'x/2'; expected 'x/1'"),
    ],
)
def test_reading_json_names_the_file_and_the_reason(tmp_path: Path, content: bytes | None, reason: str) -> None:
    path = tmp_path / "a.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInputError) as error:
        files.read_json(path, "x/1")
    assert str(path) in str(error.value) and reason in str(error.value) and "\n" not in str(error.value)


TERMINAL = """
import os, pty, subprocess, sys
master, slave = pty.openpty()
command, environment = [sys.executable, "-c", sys.argv[1]], {**os.environ, "TERM": "xterm"}
child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave, env=environment)
os.close(slave)
out = child.communicate()[0]
seen = b""
while True:
    try:
        part = os.read(master, 4096)
    except OSError:
        break
    if not part:
        break
    seen += part
sys.stdout.buffer.write(out)
sys.stderr.buffer.write(seen)
"""


@pytest.mark.skipif(os.name != "posix", reason="a terminal is made with pty")
def test_the_answer_reaches_a_pipe_while_bars_are_on_the_terminal(root: Path) -> None:
    code = (
        f"import runpy; runpy.run_path({str(root / '__main__.py')!r}, run_name='x')['load_package']()\n"
        "import sys\n"
        "from matchcut.evaluator.cli.reporters import ConsoleReporter\n"
        "with ConsoleReporter() as reporter:\n"
        "    reporter.progress('render', 1, 2, 'frame [b]1[/b]')\n"
        "    sys.stdout.write('{\"answer\": 1}\\n'); sys.stdout.flush()\n"
        "    reporter.progress('render', 2, 2)\n"
        "    sys.stderr.write('after\\n')\n"
    )
    answer = subprocess.run([sys.executable, "-c", TERMINAL, code], capture_output=True, text=True, check=True)
    assert answer.stdout == '{"answer": 1}\n'
    assert "render" in answer.stderr and "2/2" in answer.stderr and answer.stderr.rstrip().endswith("after")


def test_a_log_gets_a_line_for_each_finished_stage(capsys: pytest.CaptureFixture[str]) -> None:
    with front.make_reporter(as_messages=False) as reporter:
        for done in range(3):
            reporter.progress("cuts", done, 2, "working")
    assert capsys.readouterr().err == "cuts: 2 of 2\n"
