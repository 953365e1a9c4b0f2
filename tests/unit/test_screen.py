# SPDX-License-Identifier: GPL-3.0-or-later
"""A Blender with a window on a virtual screen: how it is opened, where it is refused and why."""

import argparse
import sys

import pytest
from bench_runs import Bench, configuration, make_benchmark
from matchcut.evaluator.benchmark.plan import Keys
from matchcut.evaluator.cli.bench_run import check_agents
from matchcut.evaluator.cli.mcp import add_task_arguments, clean_environment, task_arguments
from matchcut.evaluator.environment.blender import Blender
from matchcut.evaluator.environment.screen import VARIABLE, in_window, window_prefix
from matchcut.evaluator.protocol.errors import BadInputError

PROGRAM = Blender("/opt/blender", "program", "5.2.0")


@pytest.fixture(autouse=True)
def no_window_given(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


def test_xvfb_run_puts_it_on_a_screen_of_its_own(tmp_path, monkeypatch):
    (tmp_path / "xvfb-run").write_text("#!/bin/sh\n")
    (tmp_path / "xvfb-run").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    prefix = window_prefix(PROGRAM)
    assert prefix[:3] == [str(tmp_path / "xvfb-run"), "-a", "-s"] and "-nolisten tcp" in prefix[3]
    command = in_window(prefix, PROGRAM, "bridge", "--label", "x")
    assert command[: len(prefix)] == prefix and "-b" not in command
    assert command[len(prefix) :] == PROGRAM.command("bridge", "--label", "x")[2:]


def test_a_command_line_of_one_s_own_is_taken_as_it_is(monkeypatch):
    monkeypatch.setenv(VARIABLE, "env GUI=1 '/opt/a b/blender'")
    assert window_prefix(PROGRAM) == ["env", "GUI=1", "/opt/a b/blender"]
    assert VARIABLE in clean_environment({VARIABLE: "x", "SECRET": "y"}), "the server in benchmark mode keeps it"


def test_where_there_is_none_the_reason_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    for platform, blender, said in (
        ("linux", PROGRAM, "xvfb-run is not on PATH; install xvfb, or set"),
        ("darwin", PROGRAM, "a window on a virtual screen needs Linux"),
        ("linux", Blender("/opt/python", "wheel", "5.2.0"), "Blender's program, not the bpy wheel"),
    ):
        monkeypatch.setattr(sys, "platform", platform)
        with pytest.raises(BadInputError, match=said) as caught:
            window_prefix(blender)
        assert "\n" not in str(caught.value)


def test_the_option_of_the_server_is_passed_on():
    parser = argparse.ArgumentParser()
    add_task_arguments(parser)
    assert "--window" in task_arguments(parser.parse_args(["--window"]))
    assert "--window" not in task_arguments(parser.parse_args(["--headless"]))


def test_a_window_makes_another_task_of_it_and_none_the_same_as_ever(tmp_path, monkeypatch):
    plain, window = configuration("one"), configuration("two").model_copy(update={"blender": "window"})
    bench = Bench(tmp_path, make_benchmark(tmp_path, videos=("v",)), [plain, window])
    keys, (first, second) = Keys(bench.plan), bench.tasks()
    assert keys.run(first) != keys.run(second)
    renamed = second.configuration.model_copy(update={"name": "one", "blender": "background"})
    assert Keys(bench.plan).run(type(second)(renamed, second.setting, second.video)) == keys.run(first)

    fake = tmp_path / "blender"
    fake.write_text("#!/bin/sh\necho Blender 5.2.0\n")
    fake.chmod(0o755)
    monkeypatch.setenv("BLENDER", str(fake))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("PATH", str(tmp_path))
    check_agents(bench.plan, [first], bench.ledger)
    with pytest.raises(BadInputError, match=r"configuration two: a window .*or leave it out, naming the others"):
        check_agents(bench.plan, [first, second], bench.ledger)
