# SPDX-License-Identifier: GPL-3.0-or-later
"""Without refinement the server ends rendering, looking and comparing with the first render of all frames."""

import asyncio

import pytest
from bridge_stub import BridgeStub
from matchcut.evaluator.benchmark.plan import prompt
from matchcut.evaluator.cli.mcp import add_task_arguments, task_arguments
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.mcp_server.renders import Renders
from matchcut.mcp_server.server import make_server
from matchcut.mcp_server.session import Session
from matchcut.mcp_server.workplace import Task, Workplace
from mcp import Client


class Job:
    """A render of this server, as far as the rule looks at it."""

    def __init__(self, folder, video):
        self.folder, self._video, self.blender = folder, video, ""

    def update(self):
        return False

    def state(self, note=""):
        return type("State", (), {"state": "done", "video": self._video})()


@pytest.fixture
def served(tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))
    (tmp_path / "reference.mp4").touch()
    stub = BridgeStub(
        {"save_copy": lambda path: {}, "scene_place": lambda: {"file": "", "reference": "", "blender": ""}}
    )
    started = []

    def renders(*, no_refine):
        task = Task(tmp_path / "reference.mp4", "proxy", tmp_path / "out", True, no_refine)
        (tmp_path / "out").mkdir(exist_ok=True)
        made = Renders(Workplace([tmp_path / "out"], task))

        def start(arguments, folder, blender=""):
            started.append(arguments)
            raise OperationalError("started")

        made.start = start
        return made

    yield renders, started
    stub.stop()


def call(renders, *calls):
    def no_launch(label, given_up):
        raise OperationalError("no Blender here")

    async def ask():
        async with Client(make_server(Session(no_launch), renders)) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return [("error: " if one.is_error else "") + one.content[0].text for one in asyncio.run(ask())]


EVERYTHING = [("render_start", {}), ("look", {}), ("compare", {"frames": [0], "ours": "render"})]


def test_before_the_first_full_render_everything_works(served, tmp_path):
    renders, started = served
    made = renders(no_refine=True)
    made._jobs.append(Job(tmp_path / "out" / "matchcut" / "render-001", None))  # a part of the frames, as a test
    answers = call(made, ("render_start", {"frames": "0-1", "scale": 0.5}), ("render_start", {}), ("look", {}))
    assert answers[0] == answers[1] == "error: started" and len(started) == 2
    assert not answers[2].startswith("error")


def test_after_it_rendering_looking_and_comparing_are_refused(served, tmp_path):
    renders, started = served
    made = renders(no_refine=True)
    made._jobs.append(Job(tmp_path / "out" / "matchcut" / "render-001", "reconstruction.mp4"))
    answers = call(made, *EVERYTHING, ("render_start", {"frames": "0-1"}))
    assert all(answer.startswith("error: not_allowed: this task is rendered once") for answer in answers), answers
    assert started == []
    (answer,) = call(made, ("scene_summary", {}))
    assert not answer.startswith("error"), "the rest goes on"


def test_the_last_render_is_of_full_size(served):
    renders, started = served
    (answer,) = call(renders(no_refine=True), ("render_start", {"scale": 0.5}))
    assert answer.startswith("error: not_allowed: a render of all frames is the last one") and started == []


def test_with_refinement_nothing_of_it_holds(served, tmp_path):
    made = served[0](no_refine=False)
    made._jobs.append(Job(tmp_path / "out" / "matchcut" / "render-001", "reconstruction.mp4"))
    answers = call(made, ("render_start", {"scale": 0.5}), ("look", {}))
    assert answers[0] == "error: started" and not answers[1].startswith("error")


def test_the_prompt_says_it_and_the_option_is_passed_on(tmp_path):
    import argparse

    plain, without = (prompt("proxy", tmp_path / "r.mp4", tmp_path / "o", no_refine=flag) for flag in (False, True))
    assert without.startswith(plain.rstrip()) and "Without refinement" in without and "refinement" not in plain
    parser = argparse.ArgumentParser()
    add_task_arguments(parser)
    assert "--no-refine" in task_arguments(parser.parse_args(["--headless", "--no-refine"]))
    assert "--no-refine" not in task_arguments(parser.parse_args(["--headless"]))


def test_the_rule_is_said_in_one_line(served, tmp_path):
    made = served[0](no_refine=True)
    made._jobs.append(Job(tmp_path, "v.mp4"))
    with pytest.raises(BadInputError) as caught:
        made.check_refining()
    assert "\n" not in str(caught.value) and "submit" in str(caught.value)
