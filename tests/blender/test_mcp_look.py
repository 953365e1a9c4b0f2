# SPDX-License-Identifier: GPL-3.0-or-later
"""look and compare as a client calls them, over stdio, with a real Blender behind the server."""

import asyncio
import base64
import io
import subprocess
import sys
from contextlib import asynccontextmanager

import numpy as np
import pytest

pytest.importorskip("mcp")
pytest.importorskip("av")
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.timeline import parse_rate
from mcp import Client, StdioServerParameters
from PIL import Image


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))
    return tmp_path / "bridge"


@asynccontextmanager
async def connected(root, blender, folder, *arguments):
    server = StdioServerParameters(
        command=sys.executable, args=[str(root / "__main__.py"), "mcp", *arguments],
        env={"BLENDER": blender.path, "MATCHCUT_BRIDGE_FOLDER": str(folder)},
    )  # fmt: skip
    async with Client(server) as client:
        yield client


def text_of(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


def picture_of(result):
    assert not result.is_error, text_of(result)
    assert result.structured_content is None and [block.type for block in result.content] == ["text", "image"]
    data = base64.b64decode(result.content[1].data)
    assert len(data) < 700_000
    image = Image.open(io.BytesIO(data))
    assert max(image.size) <= 1024
    return image.convert("RGB")


def test_an_agent_looks_and_compares(blender, root, folder, make_scene, artifacts, tmp_path):
    from matchcut.evaluator.media.encode import encode

    scene = make_scene("looks", frames=4)
    reference, video = tmp_path / "shot", tmp_path / "shot" / "reference.mp4"
    reference.mkdir()

    async def work():
        async with connected(root, blender, folder, "--scene", str(scene), "--folder", str(reference)) as client:
            call = client.call_tool
            summary = (await call("scene_summary", {"limit": 0})).structured_content["timeline"]
            looks = {}
            for name, arguments in {
                "camera": {"frames": [0], "size": 320},
                "rendered": {"frames": [0], "size": 320, "shading": "rendered", "samples": 4},
                "material": {"frames": [0], "size": 320, "shading": "material", "samples": 2},
                "sheet": {"frames": [0, 1, 2, 3], "size": 1024},
                "orbit": {"frames": [1], "view": "orbit:40,25", "size": 320},
                "top": {"view": "top", "size": 320},
                "viewport": {"view": "viewport", "size": 320},
            }.items():
                looks[name] = await call("look", arguments)
            still = [
                await call("look", {"frames": [frame], "size": 320, "shading": "rendered", "samples": 4})
                for frame in range(4)
            ]
            images = [np.asarray(picture_of(one).resize((summary["width"], summary["height"]))) for one in still]
            encode(images, parse_rate(summary["rate"]), video, reporter=SilentReporter(), total=len(images))
            fresh = await call("compare", {"frames": [0, 3], "reference": str(video)})
            solid = await call("compare", {"frames": [1], "reference": str(video), "shading": "solid", "mode": "wipe"})
            moved = await call("run_python", {"code": "import bpy\nbpy.context.scene.camera.data.shift_x += 0.08"})
            assert not moved.is_error
            off = await call("compare", {"frames": [1], "reference": str(video), "mode": "overlay"})
            started = await call("render_start", {"reference": str(video), "frames": "0-2", "samples": 1})
            assert not started.is_error, text_of(started)
            for _ in range(4):  # a busy machine
                ended = await call("render_wait", {"seconds": 200})
                if ended.structured_content["state"] != "running":
                    break
            assert ended.structured_content["state"] == "done", ended.structured_content
            job = await call(
                "compare", {"frames": [1], "reference": str(video), "ours": "render", "mode": "difference"}
            )
            missing = await call("compare", {"frames": [3], "reference": str(video), "ours": "render"})
            outside = await call("look", {"frames": [4]})
            after = (await call("scene_summary", {"limit": 0})).structured_content["timeline"]
            return summary, after, looks, fresh, solid, off, job, missing, outside

    before, after, looks, fresh, solid, off, job, missing, outside = asyncio.run(work())
    assert before == after
    for name, result in {**looks, "compare-fresh": fresh, "compare-solid": solid, "compare-job": job}.items():
        picture_of(result).save(artifacts / f"mcp-look-{name}-{blender.kind}.png")
    for name, result in looks.items():
        image = picture_of(result)
        assert np.asarray(image).std() > 3, f"{name} shows something"
        assert max(image.size) == (1024 if name == "sheet" else 320) or name == "sheet"
    assert "Cycles, 4 samples" in text_of(looks["rendered"]) and "Frame 3: as before" in text_of(looks["sheet"])
    text = text_of(fresh)
    assert "frame 0 (0.000 s) against ours 0:" in text and "colour: dE" in text and "flow: error" in text, text
    assert "ours lies 0." in text, "it is the same picture"
    assert "colour unknown: the look is not rendered" in text_of(solid)
    framing = next(line for line in text_of(off).splitlines() if line.startswith("framing"))
    assert "% left" in framing and float(framing.split("lies ")[1].split(" %")[0]) == pytest.approx(8, abs=1.5), framing
    assert "against ours 1" in text_of(job)
    assert missing.is_error and "frame 3 is not there; there are 0-2" in text_of(missing)
    assert outside.is_error and "expected a whole number from 0 to 3" in text_of(outside)


LOOK_TWICE = """
import runpy, sys
runpy.run_path(sys.argv[-1] + "/__main__.py", run_name="main")["load_package"]()
from matchcut.addon.look import offscreen
from matchcut.addon.look.look import look
offscreen.PROBE_SECONDS, offscreen.PROBE = 60, PROBE
result = look(size=64)
print("ENGINE", result["engine"], result["notes"])
"""


@pytest.mark.parametrize("probe", ["raise RuntimeError", "import os; os.abort()", "import os; os._exit(3)"])
def test_a_graphics_driver_that_ends_blender_does_not_end_this_one(blender, root, tmp_path, probe):
    script = tmp_path / "look.py"
    script.write_text(LOOK_TWICE.replace("PROBE_SECONDS, offscreen.PROBE = 60, PROBE", f"PROBE = {probe!r}"))
    start = [blender.path] if blender.kind == "wheel" else [
        blender.path, "-b", "--factory-startup", "--python-exit-code", "1", "--python",
    ]  # fmt: skip
    command = [*start, str(script), *(["--"] if blender.kind == "program" else []), str(root)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    line = next(line for line in done.stdout.splitlines() if line.startswith("ENGINE"))
    assert "Cycles" in line and "no graphics driver" in line
