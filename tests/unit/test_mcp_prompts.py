# SPDX-License-Identifier: GPL-3.0-or-later
"""What an agent is told: the prompt of each setting against the protocol, point by point, and the resources."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from bridge_stub import BridgeStub
from matchcut.evaluator.protocol.errors import OperationalError
from matchcut.mcp_server.prompts import SETTINGS
from matchcut.mcp_server.renders import Renders
from matchcut.mcp_server.server import INSTRUCTIONS, make_server
from matchcut.mcp_server.session import Session
from matchcut.mcp_server.task_text import TEXTS, task_text
from matchcut.mcp_server.workplace import Task, Workplace
from mcp import Client, MCPError

REFERENCE, OUTPUT = Path("/task/shot.mp4"), Path("/task/out")

# what the protocol asks of an agent, and words by which the prompt says it
POINTS = {
    "the whole reference video is the input": [str(REFERENCE), "whole reference video"],
    "an output folder": [str(OUTPUT)],
    "an editable scene and a video rendered from it": ["editable", "Render the video from the scene"],
    "geometry, appearance, animation, light and camera": ["geometry", "its look", "how they move", "light", "lens"],
    "what is seen at the same moment": ["at every moment what the reference shows at that moment"],
    "nothing else about the reference is given": ["nothing else about it", "no camera data"],
    "the agent chooses what it studies and checks": ["Decide yourself which frames"],
    "scene.blend": ["`scene.blend`"],
    "reconstruction.mp4": ["`reconstruction.mp4`"],
    "a comparison in step, the reference on the left": ["`comparison.mp4`", "the reference on the left", "in step"],
    "a contact sheet": ["`contact_sheet.png`"],
    "a report on building and verification": ["`report.md`", "how the scene is built", "what was verified"],
    "resolution, rate, frames and duration": ["resolution, frame rate, number of frames and duration, exactly"],
    "each frame is the same time": ["same time as the reference's frame of that number"],
    "nothing conceals an error in time": ["no shift, no change of speed, no interpolated, repeated or dropped frames"],
    "several shots in one scene, cuts included": ["one scene", "marker at the first frame of each shot", "very frames"],
    "no external assets": ["No assets from elsewhere", "asset libraries"],
    "no services that generate assets": ["services that generate assets"],
    "no reference imagery as background or projection": ["never shown", "background", "projection"],
    "the audit": ["audit looks through the scene", "renders frames again", "Call `audit` yourself"],
    "spatial relations": ["in front of or behind the right things", "touching what it touches"],
    "presence and number": ["in the right number"],
    "camera: place, target, travel, turns, zoom": ["where it stands", "points at", "pans, tilts and rolls", "zooms"],
    "cuts": ["the cuts between shots"],
    "subject motion": ["direction and path, approaching and receding, entering and leaving"],
    "action events and their timing": ["at the right time and in the right order", "grasp and let go"],
    "iteration without a fixed number of rounds": ["Go round as often as it still gets better"],
    "test renders at reduced size": ["reduced size"],
    "the final render at full size": ["full size"],
    "a GPU with denoising": ["CUDA", "denoising"],
    "samples and bounces are the agent's choice and recorded": ["choose samples and bounces", "is recorded"],
    "a last inspection of the scene": ["A last look over the scene"],
    "files that are not empty, a video that decodes, its timeline": ["not empty", "decodes to its end", "its timeline"],
}  # fmt: skip
SETTING_POINTS = {
    "proxy": ["stand-ins", "told from the others", "Not asked for", "colour, clothing, material, texture"],
    "simplified": ["recognizable", "silhouette and proportions", "important parts", "patterns", "kind of material"],
    "detailed": ["all that Simplified asks", "local structures and details", "need not be invented"],
}


def no_launch(label, given_up):
    raise OperationalError("no Blender here; run: matchcut doctor")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))


def ask(work, task=None, folders=()):
    """What `work(client)` returns, for a server of this task."""

    async def main(renders):
        async with Client(make_server(Session(no_launch), renders)) as client:
            return await work(client)

    renders = Renders(Workplace(folders, task))
    try:
        return asyncio.run(main(renders))
    finally:
        renders.close()


def prompt(task=None, **arguments):
    async def work(client):
        return await client.get_prompt("reconstruct", arguments)

    return text_of(ask(work, task))


def refusal(task=None, **arguments):
    """The error that asking for a prompt gives."""

    async def work(client):
        with pytest.raises(MCPError) as failure:
            await client.get_prompt("reconstruct", arguments)
        return str(failure.value)

    return ask(work, task)


def text_of(result):
    (message,) = result.messages
    assert message.role == "user"
    return message.content.text


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("benchmark", [False, True])
def test_every_point_of_the_protocol_is_said_in_every_setting(setting, benchmark):
    text = " ".join(prompt(Task(REFERENCE, setting, OUTPUT, benchmark)).split())
    missing = {point: [one for one in words if one not in text] for point, words in POINTS.items()}
    assert {point: words for point, words in missing.items() if words} == {}
    assert [one for one in SETTING_POINTS[setting] if one not in text] == []
    assert f"## Setting: {setting.capitalize()}" in text and "$" not in text
    others = [one for other in SETTINGS if other != setting for one in SETTING_POINTS[other]]
    assert not any(one in text for one in others if one not in SETTING_POINTS[setting])


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_is_asked_of_space_camera_and_time_is_the_same_in_every_setting(setting):
    def rules(one):
        text = task_text(Task(REFERENCE, one, OUTPUT))
        return text[text.index("In every setting the same") :]

    assert rules(setting) == rules("proxy")


def test_the_tools_that_a_prompt_names_are_there():
    async def names(client):
        return {one.name for one in (await client.list_tools()).tools}

    for benchmark in (False, True):
        task = Task(REFERENCE, "proxy", OUTPUT, benchmark)
        known = ask(names, task)
        shown = set(re.findall(r"`([a-z]+(?:_[a-z]+)*)`", task_text(task)))
        assert shown - known <= {"matchcut"}
        assert ("score" in shown) is not benchmark
        told = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", INSTRUCTIONS))
        assert told - known == {"frame_start", "blender_gone", "outcome_unknown", "save_as_mainfile"}
        assert {"look", "compare", "audit", "submit", "undo", "inspect"} <= known


def test_the_setting_and_the_reference_may_be_chosen_and_are_checked():
    assert "## Setting: Detailed" in prompt(setting=" Detailed ") and "## Setting: Simplified" in prompt()
    assert "/other.mp4" in prompt(Task(REFERENCE), reference="/other.mp4")
    assert "Matchcut tab" in prompt()
    assert "'rough'; expected proxy, simplified, detailed" in refusal(setting="rough")


def test_in_benchmark_mode_the_task_is_not_changed():
    task = Task(REFERENCE, "proxy", OUTPUT, True)
    assert prompt(task) == prompt(task, setting="proxy", reference=str(REFERENCE))
    for arguments in ({"setting": "detailed"}, {"reference": "/other.mp4"}):
        assert "one task" in refusal(task, **arguments)


def test_a_name_with_dollars_is_a_name():
    assert "/t/$setting ${x}.mp4" in prompt(Task(Path("/t/$setting ${x}.mp4")))


def test_every_text_is_packed_and_used():
    assert {path.name for path in TEXTS.glob("*.md")} == {
        "reconstruct.md", "feedback.md", "benchmark.md", "no_refine.md", *(f"{one}.md" for one in SETTINGS)
    }  # fmt: skip


def test_resources_tell_the_task_the_reference_and_the_last_render(tmp_path, media):
    video = media / "03_blocks.mp4"
    task = Task(video, "detailed", tmp_path)

    async def work(client):
        listed = {str(one.uri): one.mime_type for one in (await client.list_resources()).resources}
        read = [(await client.read_resource(uri)).contents[0].text for uri in listed]
        with pytest.raises(MCPError):
            await client.read_resource("matchcut://checklist")
        return listed, read

    listed, (told, reference, log) = ask(work, task)
    assert list(listed) == ["matchcut://task", "matchcut://reference", "matchcut://render/log"]
    assert told == task_text(task) and "No render was started" in log
    found = json.loads(reference)
    assert found["timeline"] == {"width": 1280, "height": 720, "rate": "30000/1001", "frames": 292}
    assert found["path"] == str(video)


def test_the_reference_picked_in_blender_is_told_and_none_is_one_line(tmp_path):
    async def work(client):
        with pytest.raises(MCPError) as failure:
            await client.read_resource("matchcut://reference")
        return str(failure.value)

    assert ask(work) == "failed: no Blender here; run: matchcut doctor"
    place = {"file": "", "reference": str(tmp_path / "gone.mp4"), "blender": ""}
    stub = BridgeStub({"scene_place": lambda: place})
    try:
        assert "gone.mp4" in ask(work)
        place["reference"] = ""
        assert "name the reference" in ask(work)
    finally:
        stub.stop()
