# SPDX-License-Identifier: GPL-3.0-or-later
"""A real `matchcut mcp` process works in a Blender with a window, whose buttons are pressed by the mouse meanwhile."""

import asyncio
import base64
import io
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from bad_code import CASES

pytest.importorskip("mcp")

ADD = "bpy.ops.mesh.primitive_cube_add(location=(0, 0, 3))\nbpy.context.object.name = 'Mine'"
BUSY = "import time\nend = time.monotonic() + 3\nwhile time.monotonic() < end: pass"


def text_of(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


class Outside:
    """The client's side: what it sees at each of the steps that the window goes through."""

    def __init__(self, client, signals, finished):
        self.call, self.signals, self.finished = client.call_tool, signals, finished
        self.facts = {}

    async def at(self, name):
        end = time.monotonic() + 200
        while not (self.signals / name).exists():
            assert not self.finished() and time.monotonic() < end, f"the window never came to {name}"
            await asyncio.sleep(0.05)

    def tell(self, name):
        (self.signals / name).touch()

    async def works(self, reference):
        from PIL import Image

        await self.at("started")
        self.facts["first"] = (await self.call("scene_summary", {})).structured_content
        self.facts["refused"] = await self.call("run_python", {"code": ADD})
        self.tell("refused")
        await self.at("allowed")
        self.facts["ran"] = await self.call("run_python", {"code": ADD, "label": "add Mine"})
        await self.call("run_python", {"code": "1 / 0"})
        frame = await self.call("look", {"size": 160, "samples": 1})
        assert not frame.is_error, text_of(frame)
        data = next(block.data for block in frame.content if block.type == "image")
        self.facts["picture"] = Image.open(io.BytesIO(base64.b64decode(data))).size
        options = {"reference": str(reference), "frames": "5", "samples": 1, "engine": "cycles"}
        self.facts["begun"] = await self.call("render_start", options)
        self.facts["rendered"] = await self.call("render_wait", {"seconds": 200})
        self.tell("worked")
        await self.at("undone")
        self.facts["undone"] = (await self.call("scene_summary", {})).structured_content
        self.tell("summed")
        times = []
        for _ in range(40):
            begun = time.perf_counter()
            await self.call("scene_summary", {})
            times.append(time.perf_counter() - begun)
        self.facts["median"] = sorted(times)[20]
        self.tell("measured")

    async def survives(self):
        await self.at("new_file")
        self.facts["new_file"] = await self.call("scene_summary", {})
        self.tell("served_new_file")
        await self.at("opened")
        self.facts["opened"] = await self.call("scene_summary", {})
        for what, (code, field, text) in CASES.items():
            answer = await self.call("run_python", {"code": code, "timeout_s": 30})
            assert answer.is_error == (field == "error"), (what, text_of(answer))
            assert text in (text_of(answer) if answer.is_error else answer.structured_content[field]), what
            assert not (await self.call("scene_summary", {})).is_error, what
        self.facts["busy"] = await self.call("run_python", {"code": BUSY, "timeout_s": 1})
        self.facts["after_busy"] = await self.call("run_python", {"code": "6 * 7"})
        self.tell("survived")
        await self.at("ended")
        self.facts["refused_again"] = await self.call("run_python", {"code": "1"})
        self.tell("refused_again")

    async def reconnects(self):
        await self.at("stopped")
        self.facts["gone"] = await self.call("scene_summary", {})
        self.tell("gone")
        await self.at("restarted")
        self.facts["again"] = await self.call("scene_summary", {})
        self.facts["trust"] = await self.call("run_python", {"code": "1"})
        self.tell("again")
        for name in ("enable", "scripts"):
            await self.at(f"{name}_off")
            self.facts[f"{name}_gone"] = await self.call("scene_summary", {})
            self.tell(f"{name}_noticed")
            await self.at(f"{name}_on")
            self.facts[f"{name}_again"] = await self.call("scene_summary", {})
            self.tell(f"{name}_served")
        await self.at("last")
        begun = time.monotonic()
        await self.call("run_python", {"code": "bpy.ops.wm.quit_blender()", "timeout_s": 60})
        self.facts["quit_seconds"] = time.monotonic() - begun


async def client_side(root, folder, signals, finished, program, reference):
    from mcp import Client, StdioServerParameters
    from mcp.types import Implementation

    environment = {"MATCHCUT_BRIDGE_FOLDER": str(folder), "BLENDER": program}
    arguments = [str(root / "__main__.py"), "mcp", "--folder", str(reference.parent), "--folder", str(signals.parent)]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
    async with Client(server, client_info=Implementation(name="the-tester", version="1.2")) as client:
        outside = Outside(client, signals, finished)
        await outside.works(reference)
        await outside.survives()
        await outside.reconnects()
    return outside.facts


@pytest.mark.skipif(os.name != "posix", reason="the virtual screen")
def test_an_agent_works_in_the_window(run_scenario, root, tmp_path, program, reference):
    folder, signals = tmp_path / "bridge", tmp_path / "signals"
    signals.mkdir()
    variables = {"MATCHCUT_BRIDGE_FOLDER": str(folder), "MATCHCUT_TEST_SIGNALS": str(signals)}
    with ThreadPoolExecutor(1) as pool:
        window = pool.submit(run_scenario, "agent", 600, **variables)
        try:
            seen = asyncio.run(client_side(root, folder, signals, window.done, program, reference))
        except BaseException:
            if window.done():
                window.result()  # what went wrong in the window says more
            raise
        facts, out = window.result()

    assert (facts["off"], facts["on"], facts["stopped"]) == (False, True, True)
    assert "with a window" in seen["first"]["note"]
    assert seen["refused"].is_error and "Allow Python" in text_of(seen["refused"])
    assert "Mine" not in [one["name"] for one in seen["first"]["objects"]["items"]]
    ran = seen["ran"].structured_content
    assert ran["undo_step"] == "Agent: add Mine" and "objects Mine added" in ran["changed"]
    assert seen["picture"] == (160, 90)
    assert not seen["begun"].is_error, text_of(seen["begun"])
    job = seen["rendered"].structured_content
    assert (job["state"], job["done"], job["total"]) == ("done", 1, 1), job
    assert [path.name for path in (Path(job["job"]) / "frames").iterdir()] == ["000005.png"]
    assert "Mine" in facts["objects"] and "Mine" not in facts["after_undo"], "one undo takes the whole call back"
    assert "Cube" in facts["after_undo"]
    assert seen["undone"]["objects"]["total"] == len(facts["after_undo"])
    assert not seen["new_file"].is_error and not seen["opened"].is_error, "the bridge survives other files"
    assert "outcome_unknown" in text_of(seen["busy"]) and seen["after_busy"].structured_content["result"] == "42"
    assert "not_allowed" in text_of(seen["refused_again"]), "what was allowed for a while ends by itself"
    assert seen["gone"].is_error and "press Start" in text_of(seen["gone"])
    assert not seen["again"].is_error
    assert seen["trust"].is_error and "not_allowed" in text_of(seen["trust"]), "a new start does not inherit the trust"
    for name in ("enable", "scripts"):
        assert facts[f"{name}_is_off"] and seen[f"{name}_gone"].is_error, f"{name}: it stops with the add-on"
        assert not seen[f"{name}_again"].is_error, f"{name}: it can be started again"
    assert seen["quit_seconds"] < 20 and not [*folder.glob("*.json"), *folder.glob("*.sock")]
    assert "tool_timeout_sec" in facts["configs"]["codex"] and "mcpServers" in facts["configs"]["gemini"]
    for text in facts["configs"].values():
        assert sys.executable in text and "mcp" in text and "BLENDER" in text and str(folder) in text
    print(f"scene_summary through MCP: median {seen['median'] * 1000:.1f} ms; longest gap {facts['longest_gap']:.3f} s")
    assert all(path.stat().st_size > 2000 for path in out.glob("*.png")) and len(list(out.glob("*.png"))) == 8
