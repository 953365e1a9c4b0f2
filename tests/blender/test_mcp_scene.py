# SPDX-License-Identifier: GPL-3.0-or-later
"""Inspecting, taking back and crashing through `matchcut mcp`, with a real Blender: the program and the bpy wheel."""

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

pytest.importorskip("mcp")
from mcp import Client, StdioServerParameters

GRID = """
mesh = bpy.data.meshes['Cube']
for number in range(500):
    one = bpy.data.objects.new(f'thing {number}', mesh.copy())
    one.data.materials.append(bpy.data.materials.new('own'))
    bpy.context.scene.collection.objects.link(one)
len(bpy.data.objects)
"""


@asynccontextmanager
async def connected(root, blender, folder):
    server = StdioServerParameters(
        command=sys.executable, args=[str(root / "__main__.py"), "mcp", "--headless"],
        env={"BLENDER": blender.path, "MATCHCUT_BRIDGE_FOLDER": str(folder)},
    )  # fmt: skip
    async with Client(server) as client:
        yield client


def text_of(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


def test_an_agent_takes_back_asks_crashes_and_goes_on_from_the_checkpoint(blender, root, tmp_path):
    folder = tmp_path / "bridge"

    async def work():
        async with connected(root, blender, folder) as client:

            async def call(tool, **arguments):
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, text_of(result)
                return result.structured_content

            async def value(code):
                return (await call("run_python", code=code))["result"]

            facts = {"many": await call("run_python", code=GRID, label="many")}
            facts["moved"] = await call("run_python", code="bpy.data.objects['Cube'].location.x = 4", label="move")
            facts["back"] = await call("undo")
            assert await value("bpy.data.objects['Cube'].location.x") == "0.0"
            facts["again"] = await call("undo", steps=-1)
            assert await value("bpy.data.objects['Cube'].location.x") == "4.0"
            facts["page"] = await call("scene_summary", match="thing 49*", type="MESH", limit=500)
            facts["object"] = await call("inspect", kind="object", name="Cube")
            facts["help"] = await call("api_help", query="bevel width")
            facts["wrong"] = await client.call_tool("inspect", {"kind": "object", "name": "Kube"})
            facts["risky"] = await call("run_python", code="import os\nif False: os.abort()")
            died = await client.call_tool("run_python", {"code": "import os; os._exit(7)"})
            facts["died"] = text_of(died)
            newest = facts["risky"]["checkpoint"]
            assert await value("len(bpy.data.objects)") != facts["many"]["result"], "a new Blender knows nothing"
            opening = f"bpy.ops.wm.open_mainfile(filepath={newest!r}, load_ui=False)"
            facts["opened"] = await call("run_python", code=opening, label="open")
            assert await value("bpy.data.objects['Cube'].location.x") == "4.0"
            assert await value("len(bpy.data.objects)") == facts["many"]["result"]
            facts["closed"] = await call("undo")
            assert await value("'thing 0' in bpy.data.objects") == "False"
            stuck = await client.call_tool("run_python", {"code": "while True: pass", "timeout_s": 3})
            facts["stuck"] = text_of(stuck)
            await call("run_python", code="bpy.ops.wm.read_factory_settings(use_empty=True)")
            facts["empty"] = await call("scene_summary")
            await call("undo")
            assert await value("len(bpy.data.objects) > 0") == "True"
            return facts

    facts = asyncio.run(work())
    assert facts["many"]["undo_step"] == "Agent: many" and facts["moved"]["changed"] == ["Object Cube"]
    assert facts["back"]["moved"] == ["Agent: move"] == facts["again"]["moved"]
    assert facts["back"]["can_undo"] == ["Agent: many"]
    assert [one["name"] for one in facts["page"]["objects"]["items"]] == [
        "thing 49",
        *(f"thing 49{n}" for n in range(10)),
    ]
    assert "location = (4, 0, 0)" in facts["object"]["lines"]
    assert any(line.startswith("BevelModifier.width") for line in facts["help"]["lines"])
    assert facts["wrong"].is_error and "'Cube'" in text_of(facts["wrong"])
    assert facts["died"].startswith("blender_ended") and "status 7" in facts["died"]
    assert facts["risky"]["checkpoint"] in facts["died"] and Path(facts["risky"]["checkpoint"]).is_file()
    assert facts["opened"]["undo_step"] == "Agent: open" and facts["closed"]["moved"] == ["Agent: open"]
    assert facts["stuck"].startswith("deadline") and ".blend" in facts["stuck"]
    assert facts["empty"]["objects"]["total"] == 0
