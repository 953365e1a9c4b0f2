# SPDX-License-Identifier: GPL-3.0-or-later
"""An agent renders through a real `matchcut mcp` what is open in a real Blender, which is closed meanwhile."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mcp")
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.bridge_client import live_descriptors
from matchcut.evaluator.protocol.messages import SilentReporter
from mcp import Client, StdioServerParameters

MOVE = "bpy.data.objects['ball'].scale = (3, 3, 3)"


@pytest.fixture
def reference(tmp_path):
    path = tmp_path / "reference.mp4"
    encode(np.zeros((4, 36, 64, 3), np.uint8), Fraction(24), path, reporter=SilentReporter(), total=4)
    return path


@pytest.mark.skipif(os.name != "posix", reason="SIGTERM")
def test_a_render_outlives_the_blender_that_it_was_started_from(blender, root, make_scene, reference, tmp_path):
    scene, folder = tmp_path / "shot.blend", tmp_path / "bridge"
    scene.write_bytes(make_scene().read_bytes())
    before = scene.read_bytes()
    environment = {"BLENDER": blender.path, "MATCHCUT_BRIDGE_FOLDER": str(folder)}
    opened = subprocess.Popen(
        blender.command("bridge", scene=scene), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env={**os.environ, **environment},
    )  # fmt: skip
    os.environ["MATCHCUT_BRIDGE_FOLDER"] = str(folder)
    heard = []

    async def on_progress(done, total, text):
        heard.append((done, total, text))

    async def work():
        server = StdioServerParameters(
            command=sys.executable, args=[str(root / "__main__.py"), "mcp", "--folder", str(tmp_path)], env=environment
        )
        async with Client(server) as client:
            changed = await client.call_tool("run_python", {"code": MOVE})
            assert not changed.is_error, changed
            begun = await client.call_tool("render_start", {"reference": "reference.mp4", "passes": True, "samples": 1})
            assert not begun.is_error, begun
            opened.send_signal(signal.SIGTERM)
            assert opened.wait(20) == 0
            ended = await client.call_tool("render_wait", {"seconds": 240}, progress_callback=on_progress)
            return begun.structured_content, ended.structured_content

    try:
        end = time.monotonic() + 60
        while not live_descriptors():
            assert time.monotonic() < end
            time.sleep(0.1)
        begun, ended = asyncio.run(work())
    finally:
        opened.kill()
        opened.wait()
        del os.environ["MATCHCUT_BRIDGE_FOLDER"]
    job = tmp_path / "matchcut" / "render-001"
    assert begun["job"] == str(job) and begun["note"] == ""
    assert (ended["state"], ended["error"]) == ("done", "")
    assert (ended["done"], ended["total"]) == (8, 8) and "1 samples" in ended["settings"]
    assert [(done, total) for done, total, _ in heard] == sorted((done, total) for done, total, _ in heard)
    assert any("of 8" in text for _, _, text in heard), heard
    assert probe(Path(ended["video"])).timeline == probe(reference).timeline
    objects = json.loads((Path(ended["geometry"]) / "geometry.json").read_text())["objects"]
    assert "ball" in [one["name"] for one in objects]
    assert scene.read_bytes() == before, "the artist's file is as it was"
    assert (job / "scene.blend").read_bytes() != before, "what is open was rendered, and not what was saved"
