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

pytest.importorskip("mcp")


def text_of(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


async def client_side(root, folder, signals, finished, program, reference):
    from mcp import Client, StdioServerParameters
    from PIL import Image

    async def wait_for(name):
        end = time.monotonic() + 200
        while not (signals / name).exists():
            assert not finished() and time.monotonic() < end, f"the window never came to {name}"
            await asyncio.sleep(0.05)

    environment = {"MATCHCUT_BRIDGE_FOLDER": str(folder), "BLENDER": program}
    arguments = [str(root / "__main__.py"), "mcp", "--folder", str(reference.parent), "--folder", str(signals.parent)]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
    facts = {}
    async with Client(server) as client:
        call = client.call_tool
        await wait_for("started")
        summary = await call("scene_summary", {})
        facts["first"] = summary.structured_content
        facts["refused"] = await call("run_python", {"code": "bpy.ops.mesh.primitive_cube_add()"})
        (signals / "refused").touch()
        await wait_for("allowed")
        code = "bpy.ops.mesh.primitive_cube_add(location=(0, 0, 3))\nbpy.context.object.name = 'Mine'"
        facts["ran"] = await call("run_python", {"code": code, "label": "add Mine"})
        pictures = []
        for engine in ("workbench", "cycles"):
            frame = await call("render_frame", {"width": 160, "engine": engine, "samples": 1})
            assert not frame.is_error, text_of(frame)
            data = next(block.data for block in frame.content if block.type == "image")
            pictures.append(Image.open(io.BytesIO(base64.b64decode(data))).size)
        facts["pictures"] = pictures
        options = {"reference": str(reference), "frames": "5", "samples": 1, "engine": "cycles"}
        facts["begun"] = await call("render_start", options)
        facts["rendered"] = await call("render_wait", {"seconds": 200})
        (signals / "worked").touch()
        await wait_for("undone")
        facts["undone"] = (await call("scene_summary", {})).structured_content
        (signals / "summed").touch()
        times = []
        for _ in range(40):
            begun = time.perf_counter()
            await call("scene_summary", {})
            times.append(time.perf_counter() - begun)
        facts["median"] = sorted(times)[20]
        (signals / "measured").touch()
        await wait_for("new_file")
        facts["new_file"] = await call("scene_summary", {})
        (signals / "opened").touch()
        await wait_for("stopped")
        facts["gone"] = await call("scene_summary", {})
        (signals / "gone").touch()
        await wait_for("restarted")
        facts["again"] = await call("scene_summary", {})
        facts["trust"] = await call("run_python", {"code": "1"})
        (signals / "again").touch()
    return facts


@pytest.mark.skipif(os.name != "posix", reason="the virtual screen")
def test_an_agent_works_in_the_window(run_scenario, root, tmp_path, program, reference):
    folder, signals = tmp_path / "bridge", tmp_path / "signals"
    signals.mkdir()
    variables = {"MATCHCUT_BRIDGE_FOLDER": str(folder), "MATCHCUT_TEST_SIGNALS": str(signals)}
    with ThreadPoolExecutor(1) as pool:
        window = pool.submit(run_scenario, "agent", 400, **variables)
        try:
            seen = asyncio.run(client_side(root, folder, signals, window.done, program, reference))
        except BaseException:
            if window.done():
                window.result()  # what went wrong in the window says more
            raise
        facts, out = window.result()

    assert (facts["off"], facts["on"], facts["stopped"], facts["restarted"]) == (False, True, True, True)
    assert facts["after_unregister"] is False and not list(folder.glob("*.json"))
    assert "with a window" in seen["first"]["note"]
    assert seen["refused"].is_error and "Allow Python" in text_of(seen["refused"])
    assert "Mine" not in [one["name"] for one in seen["first"]["objects"]["items"]]
    ran = seen["ran"].structured_content
    assert ran["undo_step"] == "Agent: add Mine" and "objects Mine added" in ran["changed"]
    assert seen["pictures"] == [(160, 90), (160, 90)]
    assert not seen["begun"].is_error, text_of(seen["begun"])
    job = seen["rendered"].structured_content
    assert (job["state"], job["done"], job["total"]) == ("done", 1, 1), job
    assert [path.name for path in (Path(job["job"]) / "frames").iterdir()] == ["000005.png"]
    assert "Mine" in facts["objects"] and "Mine" not in facts["after_undo"], "one undo takes the whole call back"
    assert "Cube" in facts["after_undo"]
    assert seen["undone"]["objects"]["total"] == len(facts["after_undo"])
    assert not seen["new_file"].is_error, "the bridge survives a new file"
    assert seen["gone"].is_error and "press Start" in text_of(seen["gone"])
    assert not seen["again"].is_error
    assert seen["trust"].is_error and "not_allowed" in text_of(seen["trust"]), "a new start does not inherit the trust"
    print(f"scene_summary through MCP: median {seen['median'] * 1000:.1f} ms; longest gap {facts['longest_gap']:.3f} s")
    assert (out / "3-worked.png").stat().st_size > 2000
