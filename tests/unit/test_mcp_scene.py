# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene tools over the real bridge with a stub in place of Blender; what needs no Blender of their methods."""

import asyncio
import json

import pytest
from bridge_stub import BridgeStub
from matchcut.addon.agent.pages import clipped, fitting, nearest, page_of_lines
from matchcut.addon.agent.risks import scan
from matchcut.evaluator.protocol.bridge import BridgeCallError
from matchcut.evaluator.protocol.checkpoints import checkpoint_folder, checkpoint_owner, checkpoints
from matchcut.mcp_server.renders import Renders
from matchcut.mcp_server.server import make_server
from matchcut.mcp_server.session import Session
from matchcut.mcp_server.workplace import Workplace
from mcp import Client

BUDGETS = {"scene_summary": 2200, "inspect": 950, "run_python": 1700, "undo": 750, "api_help": 900}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))


def no_launch(label, given_up):
    raise AssertionError("a Blender is started")


def with_stub(methods, work):
    stub = BridgeStub(methods)
    session = Session(no_launch)

    async def main():
        async with Client(make_server(session, Renders(Workplace([])))) as client:
            return await work(client, stub)

    try:
        return asyncio.run(main())
    finally:
        session.close()
        stub.stop()


def text_of(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


# --- tools ------------------------------------------------------------------------------------------------------------


def test_the_scene_tools_cost_an_agent_little():
    async def main():
        async with Client(make_server(Session(no_launch), Renders(Workplace([])))) as client:
            return (await client.list_tools()).tools

    sizes = {one.name: len(one.model_dump_json(exclude_none=True)) for one in asyncio.run(main())}
    assert {name: sizes[name] for name, budget in BUDGETS.items() if sizes[name] > budget} == {}


def test_what_blender_answers_comes_back_as_data():
    asked = []

    def inspect(kind, name="", path="", offset=0):
        asked.append((kind, name, path, offset))
        return {"root": 'bpy.data.objects["Cube"]', "lines": ["location = (0, 0, 0)"], "next_offset": 1}

    def api_help(query, offset=0):
        return {"path": "Object.location", "lines": [query], "next_offset": None}

    def undo(steps=1):
        return {"moved": ["Agent: a"], "can_undo": [], "can_redo": ["Agent: a"], "file": ""}

    async def work(client, stub):
        inspected = await client.call_tool("inspect", {"kind": "object", "name": "Cube", "path": "data", "offset": 7})
        helped = await client.call_tool("api_help", {"query": "Object.location"})
        undone = await client.call_tool("undo", {"steps": 1})
        return inspected, helped, undone

    inspected, helped, undone = with_stub({"inspect": inspect, "api_help": api_help, "undo": undo}, work)
    assert inspected.structured_content["lines"] == ["location = (0, 0, 0)"]
    assert inspected.structured_content["next_offset"] == 1 and asked == [("object", "Cube", "data", 7)]
    assert (
        helped.structured_content["lines"] == ["Object.location"] and helped.structured_content["next_offset"] is None
    )
    assert undone.structured_content["moved"] == ["Agent: a"]
    assert "Agent: a" in text_of(undone), "a client that reads no structured content sees it too"


def test_filters_and_checkpoints_are_passed_on():
    def summary(offset=0, limit=50, match="", kind=""):
        raise BridgeCallError("failed", f"{match}/{kind}")

    def python(code, label="", checkpoint=False):
        raise BridgeCallError("failed", str(checkpoint))

    async def work(client, stub):
        return [
            text_of(await client.call_tool("scene_summary", {"match": "wall*", "type": "MESH"})),
            text_of(await client.call_tool("run_python", {"code": "1", "checkpoint": True})),
            text_of(await client.call_tool("run_python", {"code": "1"})),
        ]

    assert with_stub({"scene_summary": summary, "run_python": python}, work) == [
        "failed: wall*/MESH", "failed: True", "failed: False",
    ]  # fmt: skip


def test_an_exception_begins_with_its_kind_and_says_how_to_go_back():
    def python(code, label=""):
        return {
            "result": None, "output": "before\n", "error": "ValueError: no", "traceback": "line 7\n",
            "changed": ["Object Cube"], "changed_total": 1, "undo_step": "Agent: a", "checkpoint": "/c.blend",
            "risks": ["os._exit"], "seconds": 0.0,
        }  # fmt: skip

    async def work(client, stub):
        return await client.call_tool("run_python", {"code": "1"})

    result = with_stub({"run_python": python}, work)
    text = text_of(result)
    assert result.is_error and text.startswith("failed: ValueError: no\nline 7\n")
    assert "undo takes it back (Agent: a)" in text and "The scene from before: /c.blend" in text and "before" in text


def test_wrong_arguments_never_reach_blender():
    calls = [
        ("undo", {"steps": 65}), ("undo", {"steps": "x"}), ("api_help", {"query": ""}), ("inspect", {}),
        ("inspect", {"kind": "object", "offset": -1}), ("run_python", {"code": "1", "timeout_s": float("inf")}),
        ("scene_summary", {"match": "x" * 300}), ("api_help", {"query": "x", "pages": 2}),
    ]  # fmt: skip

    async def work(client, stub):
        return [await client.call_tool(name, arguments) for name, arguments in calls], list(stub.ran)

    results, ran = with_stub({}, work)
    assert ran == [] and all(one.is_error for one in results)
    assert all(len(text_of(one).splitlines()) == 1 for one in results)


def test_a_crash_names_the_newest_checkpoint():
    async def work(client, stub):
        await client.call_tool("scene_summary", {})
        checkpoint_folder().mkdir(parents=True)
        owner = checkpoint_owner(stub.descriptor)
        for number in (1, 2):
            (checkpoint_folder() / f"{owner}-00000{number}.blend").touch()
        (checkpoint_folder() / f".partial-{owner}-000003.blend").touch()
        (checkpoint_folder() / f"{stub.descriptor.pid}-00000000-000009.blend").touch()
        assert [path.name[-8:] for path in checkpoints(owner)] == ["01.blend", "02.blend"]
        return await client.call_tool("run_python", {"code": "die"})

    def python(code, label=""):
        stub_of[0].listener.stop()
        return {}

    stub_of = []

    async def keeping(client, stub):
        stub_of.append(stub)
        return await work(client, stub)

    text = text_of(with_stub({"run_python": python}, keeping))
    assert text.startswith("outcome_unknown") and "-000002.blend" in text and "open_mainfile" in text


# --- risks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("bpy.ops.wm.open_mainfile(filepath='x')", "bpy.ops.wm.open_mainfile"),
        ("import bpy\nbpy.ops.wm.quit_blender()", "bpy.ops.wm.quit_blender"),
        ("from bpy import ops\nops.wm.quit_blender()", "bpy.ops.wm.quit_blender"),
        ("import bpy as b\nb.ops.wm.read_homefile()", "bpy.ops.wm.read_homefile"),
        ("wm = bpy.ops.wm\nwm.read_factory_settings()", "bpy.ops.wm.read_factory_settings"),
        ("import os\nos._exit(1)", "os._exit"),
        ("from os import _exit\n_exit(1)", "os._exit"),
        ("while True:\n    pass", "an endless loop"),
        ("while 1: pass", "an endless loop"),
        ("for one in bpy.data.objects:\n    bpy.data.objects.remove(one)", "removing in a loop"),
        ("bpy.data.batch_remove([])", "bpy.data.batch_remove"),
        ("bpy.ops.object.delete()", "bpy.ops.object.delete"),
        ("bpy.ops.import_scene.gltf(filepath='x')", "bpy.ops.import_scene.gltf"),
        ("bpy.ops.wm.obj_import(filepath='x')", "bpy.ops.wm.obj_import"),
        ("import ctypes", "import ctypes"),
        ("import threading", "import threading"),
        ("exec('x')", "exec"),
        ("getattr(bpy.ops.wm, name)()", "getattr"),
        ("getattr(getattr(bpy.ops, module), name)()", "getattr"),
        ("bpy.ops.render.render()", "bpy.ops.render.render"),
        ("with bpy.data.libraries.load('x') as (a, b): pass", "bpy.data.libraries.load"),
        ("def f():\n    bpy.ops.wm.quit_blender()", "bpy.ops.wm.quit_blender"),
    ],
)
def test_what_could_lose_the_scene_is_found(code, found):
    assert found in scan(code).found


@pytest.mark.parametrize(
    "code",
    [
        "bpy.data.objects['Cube'].location.x = 4", "bpy.ops.mesh.primitive_cube_add()", "x = [1]\nx.remove(1)",
        "for i in range(5):\n    bpy.data.materials.new('m')", "getattr(bpy.context, 'scene')", "x = (",
        "getattr(bpy.data, kind)", "getattr(light.data, name)", "[getattr(one, 'x') for one in y]", "\0",
        "while x < 5:\n    x += 1", "open_mainfile('x')", "(" * 9999,
        "my.ops.wm.quit_blender()", "print('bpy.ops.wm.quit_blender()')",
    ],
)  # fmt: skip
def test_ordinary_and_broken_code_is_no_risk(code):
    assert scan(code).found == () and not scan(code).loads


def test_code_that_moves_through_the_history_is_told():
    assert scan("bpy.ops.ed.undo()").moves_history and scan("bpy.ops.ed.undo_push(message='x')").moves_history
    assert scan("bpy.ops.mesh.primitive_cube_add('EXEC_DEFAULT', True)").moves_history
    assert not scan("bpy.ops.mesh.primitive_cube_add()").moves_history
    assert scan("bpy.ops.wm.open_mainfile(filepath='x')").loads


# --- pages ------------------------------------------------------------------------------------------------------------


def test_pages_hold_their_budget_and_lose_no_line():
    lines = [f"{number}{'x' * (number % 97)}" for number in range(1000)]
    found, offset = [], 0
    while offset is not None:
        page, following = page_of_lines(iter(lines[offset:]), offset, 500)
        assert page and sum(map(len, page)) <= 500
        found += page
        offset = following
    assert found == lines
    assert page_of_lines(iter([]), 5, 10) == ([], None)
    assert page_of_lines(iter(["y" * 5000]), 0, 10)[0][0].endswith(" …"), "one line is always given, but clipped"


def test_clipping_keeps_a_line_a_line():
    assert clipped("a\nb\tc\ud800") == "a b c?" and len(clipped("x" * 10**7)) == 600


def test_records_that_fit_are_given_and_always_one():
    records = [{"name": "ü" * 50}] * 10
    given = list(fitting(records, 200))
    assert 1 <= len(given) < 10 and len(json.dumps(given, ensure_ascii=False)) <= 250
    assert len(list(fitting(records, 1))) == 1 and list(fitting([], 10)) == []


def test_the_nearest_names_are_those_meant():
    names = ["Cube", "Cube.001", "Camera", "Sun", "cubic"]
    assert nearest("cube", names)[0] == "Cube" and nearest("Camra", names)[0] == "Camera"
    assert nearest("", names) == [] and nearest("zzz", names) == [] and nearest("x", []) == []
