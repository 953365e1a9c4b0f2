# SPDX-License-Identifier: GPL-3.0-or-later
"""The MCP tools through the SDK's own client in memory, over the real bridge, with a stub in place of Blender."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from bridge_stub import JPEG, BridgeStub
from matchcut.evaluator.cli.mcp import _folders
from matchcut.evaluator.protocol.errors import OperationalError
from matchcut.mcp_server import calls as calls_module
from matchcut.mcp_server import session as session_module
from matchcut.mcp_server.child import Child
from matchcut.mcp_server.compact import compact_schema
from matchcut.mcp_server.renders import Renders
from matchcut.mcp_server.server import make_server
from matchcut.mcp_server.session import Session
from matchcut.mcp_server.workplace import Workplace
from mcp import Client

MOST_TOOLS = 20
TOKEN_BUDGET = 6000  # four characters are a token
CHARACTERS = {
    "reference_info": 900, "reference_frames": 1300, "reference_motion": 1000, "scene_summary": 2200, "inspect": 950,
    "run_python": 1700, "undo": 750, "api_help": 900, "look": 1400, "compare": 1500, "render_start": 2000,
    "render_wait": 900, "render_status": 700, "render_cancel": 700, "fit_camera": 1900, "check_timeline": 800,
    "audit": 800, "submit": 1200, "score": 1300,
}  # fmt: skip
PICTURES = {"reference_frames", "look", "compare"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))


@pytest.fixture
def stubs():
    started = []

    def start(methods=None, **options):
        started.append(BridgeStub(methods, **options))
        return started[-1]

    yield start
    for stub in started:
        stub.stop()


def no_launch(label, given_up):
    raise OperationalError("no Blender here; run: matchcut doctor")


class StubChild:
    """A child of ours whose process is a stub's thread."""

    def __init__(self, stub):
        self.stub, self.descriptor, self.status = stub, stub.descriptor, None

    def ended(self):
        return self.status

    def wait(self, seconds):
        return self.status

    def kill(self):
        self.status = -9
        self.stub.listener.stop()

    def close(self):
        self.stub.stop()

    def last_words(self):
        return "Segmentation fault"


def with_client(session, work, mode="legacy", **options):
    async def main():
        async with Client(make_server(session, Renders(Workplace([]))), mode=mode) as client:
            return await work(client)

    try:
        return asyncio.run(main())
    finally:
        session.close()


def text_of(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_listing_the_tools_touches_no_blender(mode):
    async def work(client):
        return (await client.list_tools()).tools

    tools = with_client(Session(no_launch), work, mode)
    assert [one.name for one in tools] == list(CHARACTERS) and len(tools) <= MOST_TOOLS
    by_name = {one.name: one for one in tools}
    assert by_name["scene_summary"].annotations.read_only_hint and by_name["run_python"].annotations.destructive_hint
    assert all(one.description and one.title for one in tools)
    hints = [one.annotations.model_dump(exclude={"title"}).values() for one in tools]
    assert all(value is not None for values in hints for value in values), "every hint of every tool is said"
    without_data = {name for name, one in by_name.items() if one.output_schema is None}
    assert without_data == PICTURES, "a client drops pictures that come with structured content"
    sizes = {one.name: len(one.model_dump_json(by_alias=True, exclude_none=True)) for one in tools}
    assert {name: size for name, size in sizes.items() if size > CHARACTERS[name]} == {}
    assert sum(sizes.values()) / 4 <= TOKEN_BUDGET


def test_schemas_are_short_and_say_the_same():
    schema = {
        "title": "a", "type": "object", "additionalProperties": True, "required": ["title"],
        "properties": {
            "title": {"title": "Title", "type": "string", "default": ""},
            "default": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None, "title": "D"},
            "kinds": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "default": []},
            "closed": {"type": "object", "additionalProperties": False, "default": 0},
        },
    }  # fmt: skip
    short = compact_schema(schema, nullable=False)
    assert short == {
        "type": "object", "required": ["title"],
        "properties": {
            "title": {"type": "string"}, "default": {"type": "integer", "minimum": 1},
            "kinds": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "default": []},
            "closed": {"type": "object", "additionalProperties": False, "default": 0},
        },
    }  # fmt: skip
    own = compact_schema(schema, nullable=True)["properties"]["default"]
    assert own == {"type": ["integer", "null"], "minimum": 1}
    assert compact_schema({"type": ["integer", "null"]}, nullable=True) == {"type": ["integer", "null"]}


def test_arguments_that_a_tool_does_not_have_or_take_are_told_in_one_line(stubs):
    stub = stubs()

    async def work(client):
        calls = [{"limits": 3}, {"limit": "many", "offset": -1}, {"limit": None, "instance": "x"}]
        return [await client.call_tool("scene_summary", one) for one in calls]

    for result in with_client(Session(no_launch), work):
        assert result.is_error and text_of(result).startswith("bad_params: ") and len(text_of(result).splitlines()) == 1
        assert "pydantic" not in text_of(result)
    assert stub.ran == []


def test_results_are_data_and_pictures(stubs):
    stub = stubs()

    async def work(client):
        summary = await client.call_tool("scene_summary", {"limit": 5})
        again = await client.call_tool("scene_summary", {})
        ran = await client.call_tool("run_python", {"code": "1", "label": "one"})
        frame = await client.call_tool("look", {"frames": [2], "size": 64})
        return summary, again, ran, frame

    summary, again, ran, frame = with_client(Session(no_launch), work)
    assert summary.structured_content["objects"]["items"][0]["name"] == "Cube"
    assert f"process {os.getpid()}" in summary.structured_content["note"]
    assert again.structured_content["note"] == "", "which Blender it is is said once"
    expected = {"result": "'1'", "output": "printed\n", "changed": ["Object Cube"], "undo_step": "one", "note": ""}
    assert expected.items() <= ran.structured_content.items()
    assert frame.structured_content is None
    assert [block.type for block in frame.content] == ["text", "image"]
    assert frame.content[1].data == JPEG and frame.content[1].mime_type == "image/jpeg"
    assert "/tmp/frame-2.jpg" in text_of(frame) and "64x32" in text_of(frame) and "a note" in text_of(frame)
    assert stub.ran == ["scene_summary", "scene_summary", "run_python", "look"]


def test_failures_say_what_became_of_the_call(stubs):
    stub = stubs({"scene_summary": lambda offset=0, limit=0: {}[offset]})

    async def work(client):
        raised = await client.call_tool("run_python", {"code": "fail"})
        crashed = await client.call_tool("scene_summary", {})
        wrong = await client.call_tool("look", {"size": 5000})
        return raised, crashed, wrong

    raised, crashed, wrong = with_client(Session(no_launch), work)
    assert raised.is_error and "ValueError: no\nline 7" in text_of(raised) and "printed" in text_of(raised)
    assert "Object Cube" in text_of(raised), "what it changed before it failed stays changed"
    assert crashed.is_error and "KeyError" in text_of(crashed)
    assert wrong.is_error and "1024" in text_of(wrong)
    assert stub.ran == ["run_python", "scene_summary"]


def test_no_blender_at_all_is_one_line(stubs):
    async def work(client):
        return await client.call_tool("scene_summary", {})

    result = with_client(Session(no_launch), work)
    assert result.is_error and "run: matchcut doctor" in text_of(result) and len(text_of(result).splitlines()) == 1


def test_with_several_blenders_the_caller_chooses(stubs):
    first, second = stubs(pid=11), stubs(pid=12)
    stubs(pid=13, label="another server's own")

    async def work(client):
        asked = await client.call_tool("scene_summary", {})
        chosen = await client.call_tool("scene_summary", {"instance": 12})
        stays = await client.call_tool("scene_summary", {})
        wrong = await client.call_tool("scene_summary", {"instance": 13})
        return asked, chosen, stays, wrong

    asked, chosen, stays, wrong = with_client(Session(no_launch), work)
    assert asked.is_error and all(f"process {pid}" in text_of(asked) for pid in (11, 12))
    assert "process 13" not in text_of(asked)
    assert not chosen.is_error and not stays.is_error
    assert wrong.is_error and "process id 13" in text_of(wrong)
    assert (first.ran, second.ran) == ([], ["scene_summary", "scene_summary"])


def test_a_pinned_instance_is_not_left(stubs):
    stubs(pid=11), stubs(pid=12)

    async def work(client):
        return await client.call_tool("scene_summary", {}), await client.call_tool("scene_summary", {"instance": 11})

    works, refused = with_client(Session(no_launch, instance=12), work)
    assert "process 12" in works.structured_content["note"]
    assert refused.is_error and "stays with it" in text_of(refused)


def test_a_restarted_blender_is_found_again_and_a_closed_one_is_told(stubs):
    first = stubs(pid=11)

    async def work(client):
        one = await client.call_tool("scene_summary", {})
        first.stop()
        gone = await client.call_tool("scene_summary", {})
        stubs(pid=12)
        again = await client.call_tool("scene_summary", {})
        return one, gone, again

    one, gone, again = with_client(Session(no_launch), work)
    assert not one.is_error
    assert gone.is_error and "blender_gone" in text_of(gone) and "press Start" in text_of(gone)
    assert "process 12" in again.structured_content["note"]


def test_what_is_meant_for_a_closed_blender_does_not_run_in_another(stubs):
    first = stubs(pid=11)

    async def work(client):
        await client.call_tool("scene_summary", {})
        second = stubs(pid=12)
        first.stop()
        told = await client.call_tool("run_python", {"code": "1"})
        ran_before = list(second.ran)
        again = await client.call_tool("run_python", {"code": "1"})
        return told, ran_before, again, second

    told, ran_before, again, second = with_client(Session(no_launch), work)
    assert told.is_error and "blender_gone" in text_of(told) and "process 12" in text_of(told)
    assert ran_before == []
    assert "process 12" in again.structured_content["note"] and second.ran == ["run_python"]


def test_an_attached_blender_that_goes_away_in_mid_call_leaves_an_unknown_outcome(stubs):
    stub = stubs({"run_python": lambda code, label="": stub.listener.stop() or time.sleep(0.2) or {}})

    async def work(client):
        return await client.call_tool("run_python", {"code": "1"})

    result = with_client(Session(no_launch), work)
    assert result.is_error and "outcome_unknown" in text_of(result)
    assert stub.ran == ["run_python"], "nothing is sent twice"


def test_busy_and_deadline_are_told_apart(stubs, monkeypatch):
    monkeypatch.setattr(session_module, "START_TIMEOUT", 0.3)
    stub = stubs({"run_python": lambda code, label="": time.sleep(1.0) or {}})

    async def work(client):
        stub.hold.set()
        busy = await client.call_tool("run_python", {"code": "1"})
        stub.hold.clear()
        late = await client.call_tool("run_python", {"code": "2", "timeout_s": 0.4})
        return busy, late

    busy, late = with_client(Session(no_launch), work)
    assert busy.is_error and "busy: run_python did not run" in text_of(busy)
    assert late.is_error and "outcome_unknown" in text_of(late)
    assert stub.ran == ["run_python"]


def test_a_child_past_its_deadline_is_ended_and_replaced(stubs):
    children = []

    def launch(label, given_up):
        slow = {"run_python": lambda code, label="": time.sleep(0.8) or {}}
        children.append(StubChild(stubs(slow if not children else None, label=label, pid=20 + len(children))))
        return children[-1]

    async def work(client):
        late = await client.call_tool("run_python", {"code": "1", "timeout_s": 0.3})
        then = await client.call_tool("run_python", {"code": "2"})
        return late, then

    late, then = with_client(Session(launch, own=True), work)
    assert late.is_error and "deadline" in text_of(late) and children[0].status == -9
    assert "The one before has ended" in then.structured_content["note"]
    assert len(children) == 2


def test_a_child_that_dies_in_mid_call_is_told_with_its_last_words_and_replaced(stubs):
    children = []

    def launch(label, given_up):
        def die(code, label=""):
            children[0].status = 11
            children[0].stub.listener.stop()
            time.sleep(0.2)
            return {}

        children.append(StubChild(stubs({"run_python": die}, label=label, pid=20 + len(children))))
        return children[-1]

    async def work(client):
        died = await client.call_tool("run_python", {"code": "1"})
        then = await client.call_tool("scene_summary", {})
        return died, then

    died, then = with_client(Session(launch), work)
    assert died.is_error and "status 11" in text_of(died) and "Segmentation fault" in text_of(died)
    assert not then.is_error and len(children) == 2


def test_progress_is_told_while_a_call_runs(stubs, monkeypatch):
    monkeypatch.setattr(calls_module, "PROGRESS_SECONDS", 0.1)
    stubs(
        {"scene_summary": lambda offset=0, limit=0: time.sleep(0.5) or stubs().dispatcher._methods["scene_summary"]()}
    )
    heard = []

    async def on_progress(progress, total, message):
        heard.append(message)

    async def work(client):
        return await client.call_tool("scene_summary", {}, progress_callback=on_progress)

    assert not with_client(Session(no_launch), work).is_error
    assert len(heard) >= 2 and "scene_summary" in heard[0]


def test_a_cancelled_call_that_has_not_begun_never_runs(stubs):
    stub = stubs()
    stub.hold.set()

    async def work(client):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.call_tool("run_python", {"code": "1"}), 0.5)
        await asyncio.sleep(1.0)
        stub.hold.clear()
        return await client.call_tool("scene_summary", {})

    assert not with_client(Session(no_launch), work, mode="auto").is_error
    assert stub.ran == ["scene_summary"]


# --- the child and the command line


def test_a_child_that_ends_before_it_listens_is_quoted():
    command = [sys.executable, "-c", "print('cannot open display'); raise SystemExit(4)"]
    with pytest.raises(OperationalError, match=r"status 4.*cannot open display.*matchcut doctor"):
        Child.start(command, "label", os.environ, threading.Event())
    with pytest.raises(OperationalError, match="does not start"):
        Child.start(["/no/such/blender"], "label", os.environ, threading.Event())


def command_line(root, *arguments, **environment):
    return subprocess.run(
        [sys.executable, str(root / "__main__.py"), "mcp", *arguments], capture_output=True, text=True, timeout=60,
        stdin=subprocess.DEVNULL, env={**os.environ, **environment},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "environment", "text"),
    [
        (["--scene", "nothing.blend"], {}, "no such file"),
        (["--headless", "--instance", "5"], {}, "one of them"),
        (["--folder", "no/such/folder"], {}, "there is no such folder"),
        ([], {"MATCHCUT_INSTANCE": "x"}, "MATCHCUT_INSTANCE"),
    ],
)
def test_bad_options_are_one_line_and_status_2(root, arguments, environment, text):
    done = command_line(root, *arguments, **environment)
    assert done.returncode == 2 and text in done.stderr and done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_root_folder_is_allowed_by_nobody_s_silence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert _folders([], None) == [tmp_path] and _folders([], tmp_path / "a" / "s.blend") == [tmp_path, tmp_path / "a"]
    monkeypatch.chdir(tmp_path.anchor)
    assert _folders([], None) == [] and _folders([tmp_path], None) == [tmp_path]


def test_a_server_that_ends_gives_up_the_blender_that_is_starting():
    started = []

    def launch(label, given_up):
        started.append(label)
        return Child.start([sys.executable, "-c", "import time; time.sleep(60)"], label, os.environ, given_up)

    session = Session(launch)
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(session.call, "scene_summary", {}, timeout=60)
        while not started:
            time.sleep(0.01)
        begun = time.monotonic()
        session.close()
        with pytest.raises(OperationalError, match="the server ends"):
            call.result(5)
    assert time.monotonic() - begun < 10
    with pytest.raises(OperationalError, match="the server is ending"):
        session.call("scene_summary", {}, timeout=1)
    assert len(started) == 1


@pytest.fixture
def serving(root):
    """A server process that has answered `initialize`, with no Blender in reach."""
    process = subprocess.Popen(
        [sys.executable, str(root / "__main__.py"), "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env={**os.environ, "BLENDER": "/no/such/blender"},
    )  # fmt: skip
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}) + "\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    assert answer["result"]["serverInfo"]["name"] == "matchcut"
    yield process
    process.kill()
    process.communicate()


def test_standard_output_is_the_client_s_alone_and_its_end_ends_the_server(serving):
    out, err = serving.communicate(timeout=20)
    assert (serving.returncode, out, err) == (0, "", "")


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_at_once_on_a_signal_while_the_client_still_holds_its_input(serving, number):
    serving.send_signal(number)
    assert serving.wait(5) == 130
