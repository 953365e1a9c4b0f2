# SPDX-License-Identifier: GPL-3.0-or-later
"""An agent with a real Blender fits a camera, renders, checks, audits and hands in, through a real `matchcut mcp`."""

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mcp")
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.protocol.messages import SilentReporter
from mcp import Client, StdioServerParameters

# corners of a box, and where the camera sees them: pixel (0, 0) is the middle of the top-left one
PROJECT = """
import json
from bpy_extras.object_utils import world_to_camera_view
from mathutils import Vector
scene = bpy.context.scene
render = scene.render
def seen(name):
    bpy.context.view_layer.update()
    rows = []
    for point in [(x, y, z) for x in (-1, 2) for y in (-1, 1.5) for z in (0, 2.2)]:
        at = world_to_camera_view(scene, bpy.data.objects[name], Vector(point))
        rows.append([at.x * render.resolution_x - 0.5, (1 - at.y) * render.resolution_y - 0.5, *point])
    return rows
def at(frame, name):
    scene.frame_set(scene.frame_start + frame)
    return seen(name)
"""
TRUE_CAMERA = """
render.resolution_x, render.resolution_y = 1920, 1080
camera = bpy.data.objects.new("True", bpy.data.cameras.new("True"))
scene.collection.objects.link(camera)
camera.data.lens, camera.data.sensor_fit, camera.data.sensor_height = 30.0, "VERTICAL", 20.0
for frame in (0, 6, 12):
    camera.location = (7 - 0.1 * frame, -6 + 0.05 * frame, 3.5 + 0.02 * frame)
    camera.rotation_euler = (1.25, 0.03, 0.8 + 0.01 * frame)
    camera.keyframe_insert("location", frame=scene.frame_start + frame)
    camera.keyframe_insert("rotation_euler", frame=scene.frame_start + frame)
"""


@asynccontextmanager
async def connected(root, blender, folder, *arguments):
    server = StdioServerParameters(
        command=sys.executable, args=[str(root / "__main__.py"), "mcp", *arguments],
        env={"BLENDER": blender.path, "MATCHCUT_BRIDGE_FOLDER": str(folder / "bridge")},
    )  # fmt: skip
    async with Client(server) as client:

        async def call(tool, **arguments):
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, "\n".join(block.text for block in result.content)
            return result.structured_content

        call.refused = client.call_tool
        yield call


async def told(call, code):
    """What the code's last expression is, by way of JSON."""
    lines = code.strip().splitlines()
    text = (await call("run_python", code="\n".join([*lines[:-1], f"print(json.dumps({lines[-1]}))"])))["output"]
    return json.loads(text)


def off(rows, others):
    return float(np.abs(np.array(rows)[:, :2] - np.array(others)[:, :2]).max())


def test_a_known_camera_is_found_from_points_and_laid_down(blender, root, tmp_path):
    async def work():
        async with connected(root, blender, tmp_path, "--headless") as call:
            picked = await told(call, f"{PROJECT}{TRUE_CAMERA}{{f: at(f, 'True') for f in (0, 6, 12)}}")
            options = {"size": [1920, 1080]}
            one = await call("fit_camera", points=picked["0"], options=options, apply="Match")
            found = await told(call, f"{PROJECT}at(0, 'Match')")
            rows = [[int(frame), *row] for frame, seen in picked.items() for row in seen]
            path = await call("fit_camera", points=rows, options=options, apply="Path")
            again = await told(call, f"{PROJECT}{{f: at(f, 'Path') for f in (0, 6, 12)}}")
            undone = await call("undo")
            left = await told(call, f"{PROJECT}[one.name for one in bpy.data.objects if one.type == 'CAMERA']")
            parented = await call.refused("fit_camera", {"points": picked["0"], "options": options, "apply": "Cube"})
            return picked, one, found, path, again, undone, left, parented

    picked, one, found, path, again, undone, left, parented = asyncio.run(work())
    assert one["rms_px"] < 0.01 and off(found, picked["0"]) < 0.1
    assert one["lens_mm"] == pytest.approx(30.0 * 36 / (20.0 * 1920 / 1080), rel=1e-4)
    assert one["location"] == pytest.approx([7, -6, 3.5], abs=1e-3)
    for frame, rows in picked.items():
        assert off(again[frame], rows) < 0.1, frame
    assert "3 keyframes, frames 0 to 12" in path["applied"][0]
    assert undone["moved"] == ["Agent: fit Path"] and "Path" not in left and "Match" in left
    assert parented.is_error and "type MESH" in parented.content[0].text


def test_an_agent_checks_audits_and_hands_in(blender, root, make_scene, tmp_path):
    reference, scene = tmp_path / "reference.mp4", tmp_path / "shot.blend"
    grey = [np.full((36, 64, 3), 60 * i, np.uint8) for i in range(4)]
    encode(grey, Fraction(24000, 1001), reference, reporter=SilentReporter(), total=4)
    scene.write_bytes(make_scene().read_bytes())
    picture = "image = bpy.data.images.new('wall', 8, 8); image.pixels[0] = 0.5; image.pack()"
    shown = (
        f"{picture}\nmaterial = bpy.data.materials.new('Wall')\nmaterial.use_nodes = True\n"
        "node = material.node_tree.nodes.new('ShaderNodeTexImage')\nnode.image = image\n"
        "material.node_tree.links.new(node.outputs[0], material.node_tree.nodes['Principled BSDF'].inputs[0])\n"
        "bpy.data.objects['ball'].data.materials.clear()\nbpy.data.objects['ball'].data.materials.append(material)"
    )

    async def work():
        arguments = ["--scene", str(scene), "--folder", str(tmp_path), "--reference", str(reference)]
        async with connected(root, blender, tmp_path, *arguments) as call:
            early = await call("check_timeline")
            clean = await call("audit")
            await call("run_python", code=shown)
            dirty = await call("audit")
            await call("render_start", samples=1)
            for _ in range(5):
                if (await call("render_wait", seconds=240))["state"] == "done":
                    break
            late = await call("check_timeline")
            return early, clean, dirty, late, await call("submit", report="A ball on a floor.")

    early, clean, dirty, late, handed_in = asyncio.run(work())
    assert early["passed"] is False and any("64x36" in fault for fault in early["faults"]), early
    assert clean["passed"] and not dirty["passed"]
    (finding,) = [line for line in dirty["findings"] if line.startswith("forbidden")]
    assert "'wall'" in finding and "ball" in finding and "To do: replace it by procedural nodes" in finding
    assert Path(dirty["report"]).is_file() and not Path(dirty["report"]).with_name("scene.blend").exists()
    assert "reconstruction.mp4" in late["checked"] and "frames 4" in late["agrees"]
    assert Path(handed_in["folder"]) == tmp_path / "matchcut" / "submission"
    assert "> A ball on a floor." in (tmp_path / "matchcut" / "submission" / "report.md").read_text(encoding="utf-8")
    assert not [fault for fault in handed_in["faults"] if "report.md" in fault or "scene.blend" in fault]
