# SPDX-License-Identifier: GPL-3.0-or-later
"""A scripted agent rebuilds a part of the sample's reference through `matchcut mcp` alone, from study to submission."""

import asyncio
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("mcp")
sys.path.append(str(Path(__file__).resolve().parents[1] / "clients"))
from matchcut.assets_ui.samples import find_sample
from matchcut.evaluator.protocol.children import child_environment
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.render.job import render_scene
from matchcut.evaluator.render.sample import build_scene
from mcp import Client, StdioServerParameters
from rebuild import rebuild
from scripted_agent import Script, drive

FIRST, FRAMES = 34, 16
"""A few frames on either side of the sample's cut."""
SHORTEN = """
import bpy
bpy.ops.wm.open_mainfile(filepath={scene!r})
bpy.context.scene.frame_start, bpy.context.scene.frame_end = {first}, {last}
bpy.ops.wm.save_mainfile()
"""


@pytest.fixture
def reference(blender, tmp_path):
    sample, reporter = find_sample("two_shots"), SilentReporter()
    scene = build_scene(sample.name, "reference", sample.sources, tmp_path / "sample", blender, reporter)
    first = sample.module.FRAME_START + FIRST
    script = tmp_path / "shorten.py"
    script.write_text(SHORTEN.format(scene=str(scene), first=first, last=first + FRAMES - 1))
    start = [] if blender.kind == "wheel" else ["-b", "--factory-startup", "--python-exit-code", "1", "--python"]
    subprocess.run([blender.path, *start, str(script)], check=True, capture_output=True, env=child_environment())
    timeline = replace(sample.timeline, width=160, height=90, frames=FRAMES)
    made = render_scene(scene, tmp_path / "sample" / "render", timeline, blender=blender, reporter=reporter, samples=2)
    return made.video


def colours(text):
    return [float(found) for found in re.findall(r"colour: dE ([\d.]+)", text)]


def test_an_agent_rebuilds_the_sample_from_the_tools_alone(blender, root, reference, tmp_path):
    steps, out = rebuild(first=FIRST, samples=1), tmp_path / "out"
    arguments = ["--headless", "--reference", str(reference), "--setting", "proxy", "--output", str(out)]
    server = StdioServerParameters(
        command=sys.executable, args=[str(root / "__main__.py"), "mcp", *arguments],
        env={"BLENDER": blender.path, "MATCHCUT_BRIDGE_FOLDER": str(tmp_path / "bridge")},
    )  # fmt: skip

    script = Script(steps)

    async def work():
        async with Client(server) as client:
            return await drive(script, client)

    made = asyncio.run(work())
    assert {call.tool for call, _ in made} == {step.tool for step in steps}
    before, after = (colours(script.memory[f"compare {when}"].text) for when in ("before", "after"))
    assert len(before) == len(after) == 2 and sum(after) < sum(before), "the agent's correction is measured as one"
    package = out / "submission"
    assert made[-1][1].data["passed"] is True and Path(made[-1][1].data["folder"]) == package
    validate = [sys.executable, str(root / "__main__.py"), "validate", str(package), "--reference", str(reference)]
    told = subprocess.run(validate, capture_output=True, text=True, env=child_environment(), check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    # what is handed in says what the agent did
    assert "simple solids" in (package / "report.md").read_text("utf-8")
