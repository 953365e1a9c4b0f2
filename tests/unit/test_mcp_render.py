# SPDX-License-Identifier: GPL-3.0-or-later
"""The render tools: real `matchcut render` children of the server, with a stub in place of every Blender."""

import asyncio
import json
import os
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from bridge_stub import BridgeStub
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.files import numbered_folder
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.transcript import TranscriptWriter, read_transcript
from matchcut.mcp_server.renders import Renders
from matchcut.mcp_server.server import make_server
from matchcut.mcp_server.session import Session
from matchcut.mcp_server.workplace import Task, Workplace
from mcp import Client
from render_stub import stand_in

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a script stands in for Blender by its first line")
SLOW = "(JOB / 'pid').write_text(str(os.getpid())); render(lambda frame: time.sleep(60 if frame else 0))"


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "reference.mp4"
    pictures = np.zeros((3, 36, 64, 3), np.uint8)
    encode(pictures, Fraction(24), path, reporter=SilentReporter(), total=len(pictures))
    return path


@pytest.fixture
def shot(tmp_path, monkeypatch, video):
    """A folder with a scene and its reference."""
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))
    folder = tmp_path / "shot"
    folder.mkdir()
    (folder / "shot.blend").write_bytes(b"BLENDER17-01v0502 the rest")
    (folder / "reference.mp4").write_bytes(video.read_bytes())
    return folder


@pytest.fixture
def blender(tmp_path, monkeypatch):
    """A function that makes `$BLENDER` a stub whose render children run these lines (see render_stub)."""

    def make(do="render()"):
        child = stand_in(tmp_path, do)
        program = tmp_path / "blender"
        program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exec echo Blender 5.2.0\nexec {child.path} "$@"\n')
        program.chmod(0o755)
        monkeypatch.setenv("BLENDER", str(program))

    make()
    return make


@pytest.fixture
def bridge(shot):
    """A bridge whose Blender has the scene open, with the reference picked in its tab."""
    place = {"file": str(shot / "shot.blend"), "reference": str(shot / "reference.mp4"), "blender": ""}

    def save_copy(path):
        Path(path).write_bytes(b"BLENDER17-01v0502 as it is now")
        return {"path": path}

    stub = BridgeStub({"scene_place": lambda: place, "save_copy": save_copy})
    stub.place = place
    yield stub
    stub.stop()


def no_launch(label, given_up):
    raise OperationalError("no Blender here; run: matchcut doctor")


def with_client(work, *folders, task=None, transcript=None):
    """What `work(call)` returns; `call(tool, …)` gives the structured result, or the error's text."""

    async def main(renders):
        async with Client(make_server(Session(no_launch), renders)) as client:

            async def call(tool, heard=None, **arguments):
                async def on_progress(done, total, text):
                    heard.append((done, total, text))

                options = {} if heard is None else {"progress_callback": on_progress}
                result = await client.call_tool(tool, arguments, **options)
                return (
                    "\n".join(block.text for block in result.content) if result.is_error else result.structured_content
                )

            call.client = client
            return await work(call)

    renders = Renders(Workplace(folders, task), transcript)
    try:
        return asyncio.run(main(renders))
    finally:
        renders.close()


def is_alive(pid):
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and ") Z " not in stat.read_text()


def gone_within(pid, seconds):
    end = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.05)
    return not is_alive(pid)


def pid_in(folder, seconds=20):
    """The process id that the stub has written."""
    end = time.monotonic() + seconds
    while not (folder / "pid").exists() or not (folder / "pid").read_text():
        assert time.monotonic() < end, "the stub was not started"
        time.sleep(0.05)
    return int((folder / "pid").read_text())


def test_what_is_open_in_blender_is_rendered_into_a_folder_of_its_own(shot, blender, bridge):
    heard = []
    blender("render(lambda frame: time.sleep(0.4))")

    async def work(call):
        begun = await call("render_start", samples=4)
        ended = await call("render_wait", heard=heard, seconds=60)
        again = await call("render_start", frames="1-2", scale=1.0, engine="cycles")
        return begun, ended, again, await call("render_wait", seconds=60), await call("render_status", job=begun["job"])

    begun, ended, again, part, first = with_client(work)
    assert begun["state"] == "running" and begun["job"] == str(shot / "matchcut" / "render-001")
    assert f"process {os.getpid()}" in begun["note"]
    assert ended["state"] == "done" and ended["error"] == "" and (ended["done"], ended["total"]) == (3, 3)
    assert ended["video"] == str(shot / "matchcut" / "render-001" / "reconstruction.mp4") == first["video"]
    assert ended["settings"].startswith("CYCLES on CPU, 4 samples")
    steps = [(done, total) for done, total, _ in heard]
    assert steps == sorted(steps), "progress never goes back"
    assert any("render: " in text for _, _, text in heard), heard
    assert again["job"] == str(shot / "matchcut" / "render-002"), "nothing is overwritten"
    assert part["state"] == "done" and part["video"] is None and (part["done"], part["total"]) == (2, 2)
    job = json.loads((shot / "matchcut" / "render-002" / "job.json").read_text())
    assert (job["first"], job["last"], job["engine"]) == (1, 2, "cycles")
    assert (shot / "shot.blend").read_bytes() == b"BLENDER17-01v0502 the rest"
    assert bridge.ran == ["scene_place", "save_copy"] * 2


def test_a_named_scene_needs_no_blender_to_be_open_and_another_render_waits(shot, blender):
    blender(SLOW)

    async def work(call):
        begun = await call("render_start", scene="shot.blend", reference="reference.mp4")
        pid = pid_in(Path(begun["job"]))
        running = await call("render_wait", seconds=1)
        busy = await call("render_start", scene="shot.blend", reference="reference.mp4")
        clock = time.monotonic()
        cancelled = await call("render_cancel")
        return pid, running, busy, cancelled, time.monotonic() - clock, await call("render_cancel")

    pid, running, busy, cancelled, seconds, twice = with_client(work, shot)
    assert running["state"] == "running" and "of 3" in running["progress"]
    assert "busy: " in busy and len(busy.splitlines()) == 1
    assert cancelled["state"] == "cancelled" and cancelled["error"] == "" and cancelled == twice
    assert seconds < 5 and gone_within(pid, 1)
    assert (Path(cancelled["job"]) / "frames" / "000000.png").is_file(), "finished frames stay"
    assert not (shot / "matchcut" / "render-002").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"scene": "none.blend", "reference": "reference.mp4"}, "there is no such file; name the scene"),
        ({"scene": "shot.blend", "reference": "../other.mp4"}, "not in a folder that this server may use"),
        ({"scene": "/etc/passwd", "reference": "reference.mp4"}, "not in a folder that this server may use"),
        ({"scene": "link.blend", "reference": "reference.mp4"}, "not in a folder that this server may use"),
        ({"scene": "shot.blend"}, "name the reference video"),
        ({"scene": "shot.blend", "reference": "reference.mp4", "frames": "5-"}, "frames"),
        ({"scene": "shot.blend", "reference": "reference.mp4", "scale": 0}, "scale"),
        ({}, "no Blender here"),
    ],
)
def test_bad_requests_start_nothing(shot, blender, arguments, said):
    (shot.parent / "other.mp4").write_bytes(b"")
    (shot / "link.blend").symlink_to(shot.parent / "other.mp4")

    async def work(call):
        return await call("render_start", **arguments), await call("render_status")

    refused, status = with_client(work, shot)
    assert isinstance(refused, str) and said in refused
    assert "no render job of this server" in status
    assert not (shot / "matchcut").exists()


def test_the_tab_s_reference_may_lie_anywhere_and_an_agent_s_may_not(shot, blender, bridge, tmp_path):
    elsewhere = tmp_path / "elsewhere.mp4"
    elsewhere.write_bytes((shot / "reference.mp4").read_bytes())

    async def work(call):
        refused = await call("render_start", reference=str(elsewhere))
        bridge.place["reference"] = str(elsewhere)
        taken = await call("render_start")
        await call("render_cancel")
        bridge.place["file"] = ""
        return refused, taken, await call("render_start")

    refused, taken, unsaved = with_client(work)
    assert "--folder" in refused and taken["state"] == "running"
    assert "never saved" in unsaved and "--folder" in unsaved


def test_a_copy_that_cannot_be_saved_leaves_no_folder(shot, blender, bridge):
    def full(path):
        raise BadInputError(f"{path}: the scene could not be saved (No space left on device)")

    bridge.dispatcher._methods["save_copy"] = full

    async def work(call):
        return await call("render_start")

    assert "No space left" in with_client(work)
    assert list((shot / "matchcut").iterdir()) == []


def test_a_failure_is_one_line_and_the_next_render_starts(shot, blender):
    blender("told.update(error='no camera'); status(state='failed'); sys.exit(2)")

    async def work(call):
        await call("render_start", scene="shot.blend", reference="reference.mp4")
        failed = await call("render_wait", seconds=60)
        blender()
        await call("render_start", scene="shot.blend", reference="reference.mp4")
        return failed, await call("render_wait", seconds=60)

    failed, done = with_client(work, shot)
    assert (failed["state"], failed["error"], failed["video"]) == ("failed", "no camera", None)
    assert done["state"] == "done"


def test_a_task_s_reference_and_output_are_used_and_the_transcript_and_the_log_tell_of_it(shot, blender, tmp_path):
    task = Task(shot / "reference.mp4", "proxy", tmp_path / "out")
    writer = TranscriptWriter(tmp_path / "t.jsonl")
    blender("print('Blender speaks', flush=True); render()")

    async def log(call):
        return (await call.client.read_resource("matchcut://render/log")).contents[0].text

    async def work(call):
        before = await log(call)
        begun = await call("render_start", scene=str(shot / "shot.blend"))
        await call("render_wait", seconds=60)
        done = await log(call)
        blender("told.update(error='no camera'); status(state='failed'); sys.exit(2)")
        await call("render_start", scene=str(shot / "shot.blend"), frames="1")
        await call("render_wait", seconds=60)
        return before, begun, done, await log(call)

    before, begun, done, failed = with_client(work, tmp_path / "out", shot, task=task, transcript=writer)
    writer.close()
    assert "No render was started" in before
    assert begun["job"] == str(tmp_path / "out" / "matchcut" / "render-001")
    assert "render-001: done" in done and "Blender speaks" in done
    assert "render-002: failed" in failed and "no camera" in failed
    lines = [line for line in read_transcript(writer.path) if line["kind"] == "render"]
    assert [(line["job"], line["state"]) for line in lines] == [
        ("render-001", "running"), ("render-001", "done"), ("render-002", "running"), ("render-002", "failed"),
    ]  # fmt: skip
    assert (lines[1]["done"], lines[1]["total"]) == (3, 3) and lines[1]["seconds"] > 0
    assert lines[1]["settings"].startswith("CYCLES on CPU") and lines[1]["failed_frames"] == 0


def test_closing_the_server_ends_its_render(shot, blender):
    blender(SLOW)

    async def work(call):
        return pid_in(Path((await call("render_start", scene="shot.blend", reference="reference.mp4"))["job"]))

    assert gone_within(with_client(work, shot), 1)


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_a_killed_server_leaves_no_render(root, shot, blender, how):
    blender(SLOW)
    server = subprocess.Popen(
        [sys.executable, str(root / "__main__.py"), "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, cwd=shot,
    )  # fmt: skip

    def say(method, number=None, **params):
        fields = {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": number} if number else {})
        server.stdin.write(json.dumps(fields) + "\n")
        server.stdin.flush()
        return json.loads(server.stdout.readline()) if number else None

    try:
        about = {"name": "test", "version": "1"}
        say("initialize", 1, protocolVersion="2025-06-18", capabilities={}, clientInfo=about)
        say("notifications/initialized")
        arguments = {"scene": "shot.blend", "reference": "reference.mp4"}
        answer = say("tools/call", 2, name="render_start", arguments=arguments)["result"]["structuredContent"]
        child = pid_in(Path(answer["job"]))
        evaluator = int(Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[1])
        getattr(server, how)()
        server.wait(10)
        assert gone_within(evaluator, 5) and gone_within(child, 1)
    finally:
        server.kill()
        server.communicate()
    assert list(Path(answer["job"]).glob("parts/*")) == [], "it ended in good order"


def test_numbered_folders_are_made_once_and_count_on(tmp_path):
    assert [numbered_folder(tmp_path / "out", "render").name for _ in range(2)] == ["render-001", "render-002"]
    (tmp_path / "out" / "render-0041").mkdir()
    (tmp_path / "out" / "render-x").touch()
    (tmp_path / "out" / "score-077").mkdir()
    (tmp_path / "out" / "render-001").rmdir()
    assert numbered_folder(tmp_path / "out", "render").name == "render-042", "a new one is the newest"
    with pytest.raises(BadInputError, match="cannot be written"):
        numbered_folder(tmp_path / "out" / "render-x", "render")
