# SPDX-License-Identifier: GPL-3.0-or-later
"""What a client may do wrong, from lines that are no requests to calls that it gives up, and how it is answered."""

import asyncio
import io
import json
import os
import subprocess
import sys
import threading
import time

import pytest
from bridge_stub import BridgeStub
from matchcut.evaluator.protocol.bridge_client import BridgeClient
from matchcut.evaluator.protocol.children import own_group
from matchcut.mcp_server.child import Child
from matchcut.mcp_server.renders import Renders
from matchcut.mcp_server.server import make_server
from matchcut.mcp_server.session import Session, SessionError
from matchcut.mcp_server.stdio import mended
from matchcut.mcp_server.workplace import Task, Workplace
from mcp import Client
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))


def not_read(line):
    with pytest.raises(ValidationError) as caught:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    return mended(caught.value)


def request(arguments, number=7):
    return (
        f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call",'
        f'"params":{{"name":"look","arguments":{{"target":{arguments}}}}}}}'
    )


def test_half_a_character_in_a_request_is_read_as_a_question_mark():
    found = not_read(request(r'"\ud83d and \ud83d\ude00"')).message
    assert found.id == 7 and found.params["arguments"]["target"] == "? and 😀"


@pytest.mark.parametrize("argument", ["9" * 5000, "[" * 100_000, "nope", '"'], ids=["number", "nested", "word", "open"])
def test_a_request_that_cannot_be_read_is_answered_under_its_id(argument):
    answer = not_read(request(argument)).message
    assert answer.id == 7 and answer.error.message.startswith("bad_params: ")


@pytest.mark.parametrize("line", ["", "no json", "[]", "{}", "null", '{"jsonrpc":"2.0","method":'])
def test_a_line_without_an_id_is_passed_over(line):
    assert not_read(line) is None


def test_a_server_on_standard_input_answers_after_lines_that_are_none(root, tmp_path):
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip
    call = request(r'"\ud83d"', 2).replace('"look"', '"render_status"').replace('"target"', '"job"')
    lines = ["nothing", json.dumps(hello), '{"jsonrpc":"2.0","method":"notifications/initialized"}', "{", call]
    environment = {**os.environ, "MATCHCUT_BRIDGE_FOLDER": str(tmp_path / "bridge")}
    with subprocess.Popen(
        [sys.executable, str(root / "__main__.py"), "mcp", "--headless"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, env=environment, cwd=tmp_path,
    ) as server:  # fmt: skip
        server.stdin.write("\n".join(lines) + "\n")
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
        assert server.wait(30) == 0
    assert [one["id"] for one in answers] == [1, 2]
    assert answers[1]["result"]["content"][0]["text"].startswith("bad_params: ?: no render job")


def test_a_path_that_is_too_long_is_refused_in_words(tmp_path):
    async def work():
        async with Client(make_server(None, Renders(Workplace([tmp_path])))) as client:
            asked = [("reference_info", "reference"), ("render_start", "scene"), ("submit", "job")]
            return [(await client.call_tool(tool, {name: "a" * 5000})).content[0].text for tool, name in asked]

    for text in asyncio.run(work()):
        assert text.startswith("bad_params: ") and "cannot be looked up" in text and len(text) < 500


def test_numbers_and_names_that_are_far_too_large_are_not_repeated(tmp_path):
    (tmp_path / "reference.mp4").write_bytes(b"")
    calls = [
        ("reference_frames", {"reference": "reference.mp4", "times": [1e308]}),
        ("reference_frames", {"reference": "reference.mp4", "crop": [0, 0, 1e308, 1]}),
        ("reference_frames", {"reference": "reference.mp4", "frames": "0," * 3000}),
        ("render_wait", {"job": "x" * 10_000}),
        ("render_start", {"frames": "\u0663"}),
    ]

    async def work():
        async with Client(make_server(None, Renders(Workplace([tmp_path])))) as client:
            return [(await client.call_tool(tool, arguments)).content[0].text for tool, arguments in calls]

    for text in asyncio.run(work()):
        assert text.startswith("bad_params: ") and len(text) < 500


class OwnBlender:
    """A stub that runs in this process, as the Blender of a session's own: what is killed is a process beside it."""

    def __init__(self):
        self.stubs, self.sleepers = [], []
        self.stuck = threading.Event()

    def launch(self, label, given_up):
        self.stubs.append(BridgeStub({"loop": lambda: {"stuck": self.stuck.wait(30)}}, label=label))
        self.sleepers.append(
            subprocess.Popen(
                [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, **own_group()
            )
        )
        return Child(self.sleepers[-1], io.BytesIO(), self.stubs[-1].descriptor)


def test_a_call_that_the_client_gave_up_ends_at_its_deadline_all_the_same():
    blender = OwnBlender()
    session = Session(blender.launch, own=True)
    given_up = threading.Event()
    threading.Timer(0.3, given_up.set).start()
    begun = time.monotonic()
    try:
        with pytest.raises(SessionError, match=r"^deadline: "):
            session.call("loop", {}, timeout=1.5, cancelled=given_up.is_set)
        assert time.monotonic() - begun >= 1.5 and blender.sleepers[0].wait(5) is not None
        _, note = session.call("scene_summary", {}, timeout=10)
        assert note.startswith("Started ") and len(blender.stubs) == 2
    finally:
        blender.stuck.set()
        session.close()
        for stub in blender.stubs:
            stub.stop()


def test_a_client_leaves_what_it_gave_up_where_it_may():
    blender = OwnBlender()
    child = blender.launch("x", None)
    try:
        with pytest.raises(Exception, match="goes on") as caught:
            BridgeClient.connect(child.descriptor).call("loop", timeout=20, cancelled=lambda: blender.stubs[0].ran)
        assert caught.value.code == "cancelled"
    finally:
        blender.stuck.set()
        child.close()
        blender.stubs[0].stop()


def test_last_words_are_no_warnings():
    log = io.BytesIO(b"Fatal: what happened\n00:02.163  system.path      | WARNING Could not get a list\n")
    process = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE)
    stub = BridgeStub()
    child = Child(process, log, stub.descriptor)
    assert child.last_words() == "Fatal: what happened"
    child.close()
    stub.stop()


def test_a_reference_that_is_gone_is_said_by_every_tool_that_reads_it(tmp_path):
    task = Task(tmp_path / "gone.mp4", "proxy", tmp_path)
    tools = {"reference_info": {}, "reference_frames": {}, "compare": {"frames": [0]}, "check_timeline": {}}

    async def work():
        async with Client(make_server(None, Renders(Workplace([tmp_path], task)))) as client:
            return [(await client.call_tool(tool, arguments)).content[0].text for tool, arguments in tools.items()]

    for text in asyncio.run(work()):
        assert text.startswith("bad_params: ") and "gone.mp4" in text


def test_data_is_given_as_text_of_one_line(tmp_path):
    stub = BridgeStub({"api_help": lambda **_: {"path": "é", "lines": ["a", "b"], "next_offset": None}})

    async def work():
        async with Client(make_server(Session(None), Renders(Workplace([tmp_path])))) as client:
            return await client.call_tool("api_help", {"query": "x"})

    try:
        answer = asyncio.run(work())
    finally:
        stub.stop()
    (text,) = [block.text for block in answer.content]
    assert "\n" not in text and json.loads(text) == answer.structured_content and "é" in text


def test_a_fault_of_a_tool_has_its_kind(tmp_path):
    async def work():
        async with Client(make_server(object(), Renders(Workplace([tmp_path])))) as client:
            return await client.call_tool("undo", {}), await client.call_tool("render", {})

    answer, unknown = asyncio.run(work())
    assert unknown.content[0].text == "bad_params: there is no tool render; list the tools"
    assert answer.is_error and answer.content[0].text.startswith("failed: undo has a fault of its own (AttributeError)")
