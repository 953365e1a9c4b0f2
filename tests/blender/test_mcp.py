# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut mcp` as a client starts it, over stdio, with a real Blender behind it: the program and the bpy wheel."""

import asyncio
import base64
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

pytest.importorskip("mcp")
from matchcut.evaluator.protocol.bridge import BridgeCallError
from matchcut.evaluator.protocol.bridge_client import BridgeClient, live_descriptors
from matchcut.evaluator.protocol.children import child_environment
from matchcut.mcp_server.child import Child
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
    data = next(block.data for block in result.content if block.type == "image")
    image = Image.open(io.BytesIO(base64.b64decode(data)))
    image.load()
    return image


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and ") Z " in stat.read_text())


def assert_ends(pid, seconds):
    end = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.1)
    assert not is_alive(pid), "the server is gone and its Blender runs on"


def test_an_agent_builds_looks_breaks_and_goes_on(blender, root, folder, artifacts):
    async def work():
        async with connected(root, blender, folder) as client:
            assert 15 < len((await client.list_tools()).tools) <= 20
            assert live_descriptors() == [], "listing the tools starts no Blender"
            call = client.call_tool
            before = await call("scene_summary", {})
            code = (
                "bpy.ops.mesh.primitive_cube_add(location=(2, 0, 0))\nbpy.context.object.name = 'Mine'\nbpy.app.version"
            )
            ran = await call("run_python", {"code": code, "label": "add Mine"})
            after = await call("scene_summary", {})
            frame = await call("look", {"frames": [3], "size": 120, "shading": "rendered", "samples": 2})
            raised = await call("run_python", {"code": "x = 1\nx / 0"})
            pid = await call("run_python", {"code": "import os; os.getpid()"})
            died = await call("run_python", {"code": "import os; os._exit(7)"})
            anew = await call("scene_summary", {})
            stuck = await call("run_python", {"code": "while True: pass", "timeout_s": 3})
            last = await call("run_python", {"code": "1 + 1"})
            final = await call("run_python", {"code": "import os; os.getpid()"})
            return before, ran, after, frame, raised, pid, died, anew, stuck, last, final

    before, ran, after, frame, raised, pid, died, anew, stuck, last, final = asyncio.run(work())
    place = {"program": "in the background", "wheel": "as a Python module"}[blender.kind]
    assert place in before.structured_content["note"] and before.structured_content["blender"].startswith("5.")
    assert ran.structured_content["result"].startswith("(5, ") and not ran.is_error
    names = {one["name"]: one for one in after.structured_content["objects"]["items"]}
    assert names["Mine"]["location"] == [2.0, 0.0, 0.0]
    assert after.structured_content["objects"]["total"] == before.structured_content["objects"]["total"] + 1
    image = picture_of(frame)
    image.save(artifacts / f"mcp-look-{blender.kind}.png")
    width, height = (after.structured_content["timeline"][name] for name in ("width", "height"))
    assert image.size == (120, round(120 * height / width)) and len(image.convert("L").getcolors(256)) > 20
    assert frame.structured_content is None and "Frame 3" in text_of(frame)
    assert raised.is_error and "ZeroDivisionError" in text_of(raised) and "line 2" in text_of(raised)
    assert died.is_error and "status 7" in text_of(died)
    assert not is_alive(int(pid.structured_content["result"]))
    assert anew.structured_content["objects"]["total"] == before.structured_content["objects"]["total"]
    assert "The one before has ended" in anew.structured_content["note"]
    assert stuck.is_error and "deadline" in text_of(stuck)
    assert last.structured_content["result"] == "2"
    assert_ends(int(final.structured_content["result"]), 5)
    assert live_descriptors() == []


def test_a_scene_is_opened(blender, root, folder, make_scene):
    scene = make_scene()

    async def work():
        async with connected(root, blender, folder, "--scene", str(scene)) as client:
            return await client.call_tool("scene_summary", {})

    assert asyncio.run(work()).structured_content["file"] == str(scene)


WHAT_CODE_SEES = """
import os, sys
from pathlib import Path
found = [repr(dict(os.environ)), repr(sys.argv), repr(sys.path), os.getcwd()]
process = os.getpid()
while process > 1 and process != STOP:  # Blender, the server, and nothing of what started that
    for name in ("environ", "cmdline"):
        try:
            found.append((Path("/proc") / str(process) / name).read_bytes().decode("utf-8", "replace"))
        except OSError:
            pass
    try:
        process = int((Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        break
"\\n".join(found)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc shows what a process was started with")
def test_in_benchmark_mode_code_sees_no_key_and_no_way_to_the_checklists(blender, root, folder, tmp_path, monkeypatch):
    canary = "canary-51c2a9"
    clips = tmp_path / "bench" / "videos" / "v1" / "clips"
    clips.mkdir(parents=True)
    (clips / "c1.json").write_text(canary)
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "reference.mp4").write_bytes(b"a video")
    monkeypatch.chdir(tmp_path / "bench")
    task = ["--benchmark", "--reference", str(tmp_path / "task" / "reference.mp4"), "--setting", "proxy"]
    server = StdioServerParameters(
        command=sys.executable,
        args=[str(root / "__main__.py"), "mcp", "--headless", *task, "--output", str(tmp_path / "task" / "out")],
        env={
            "BLENDER": blender.path, "MATCHCUT_BRIDGE_FOLDER": str(folder), "ANTHROPIC_API_KEY": canary,
            "BENCHMARK": str(clips.parent),
        },
    )  # fmt: skip

    async def work():
        async with Client(server) as client:
            code = f"STOP = {os.getpid()}\n{WHAT_CODE_SEES}"
            return await client.call_tool("run_python", {"code": code})

    seen = asyncio.run(work())
    assert not seen.is_error, text_of(seen)
    text = seen.structured_content["result"]
    assert blender.path in text and str(folder) in text, "the environment was read"
    assert canary not in text and str(tmp_path / "bench") not in text
    record = (tmp_path / "task" / "out.jsonl").read_text()
    assert '"run_python"' in record and canary not in record


def test_the_doctor_goes_through_a_real_bridge(blender, root, folder, make_scene):
    process = subprocess.Popen(
        blender.command("bridge", scene=make_scene()), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        end = time.monotonic() + 60
        while not live_descriptors():
            assert time.monotonic() < end
            time.sleep(0.1)
        command = [sys.executable, str(root / "__main__.py"), "mcp", "doctor", "--json"]
        environment = {**os.environ, "BLENDER": blender.path}
        answer = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        hops = {one["name"]: one for one in json.loads(answer.stdout)}
        assert answer.returncode == 0 and hops.pop("reference")["state"] == "skipped", answer.stdout
        assert {one["state"] for one in hops.values()} == {"ok"} and "main thread" in hops, hops
    finally:
        process.terminate()
        process.wait(20)


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize("code", ["'idle'", "while True: pass"])
def test_a_killed_server_leaves_no_blender(blender, root, folder, code):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(root), code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "BLENDER": blender.path, "MATCHCUT_BRIDGE_FOLDER": str(folder)},
    )  # fmt: skip
    try:
        pid = int(process.stdout.readline())
        time.sleep(1.0)
        assert is_alive(pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert_ends(pid, 12)
    finally:
        process.kill()
        process.communicate()
    assert live_descriptors() == []


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_bridge_that_runs_endless_code(blender, root, folder, number):
    process = subprocess.Popen(
        blender.command("bridge"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + 60
        while not (found := live_descriptors()):
            assert time.monotonic() < end
            time.sleep(0.1)
        client = BridgeClient.connect(found[0])
        pid = client.call("run_python", {"code": "import os; os.getpid()"})["result"]
        with pytest.raises(BridgeCallError, match="goes on"):
            client.call("run_python", {"code": "while True: pass"}, timeout=0.5)
        os.kill(int(pid), number)
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()
    assert live_descriptors() == []


@pytest.mark.skipif(os.name != "posix", reason="a script as a program")
def test_a_blender_behind_a_script_is_ended_too(blender, root, folder, tmp_path):
    """`blender` on PATH is often a script that starts Blender: ending the script alone would leave Blender."""
    start = tmp_path / "start.sh"
    start.write_text(
        f"#!/bin/sh\n{shlex.join(blender.command('bridge', '--label', 'me', '--end-with-stdin'))}\nexit 0\n"
    )
    child = Child.start(["/bin/sh", str(start)], "me", child_environment(), threading.Event())
    try:
        client = BridgeClient.connect(child.descriptor)
        pid = int(client.call("run_python", {"code": "import os; os.getpid()"})["result"])
        with pytest.raises(BridgeCallError, match="goes on"):
            client.call("run_python", {"code": "while True: pass"}, timeout=0.5)
        assert is_alive(pid)
        child.kill()
        assert_ends(pid, 2)
    finally:
        child.close()


# the server's own parts in a process that can be killed while a call is under way
KILLED = """
import runpy, sys
root, code = sys.argv[1:]
runpy.run_path(root + "/__main__.py", run_name="main")["load_package"]()
from matchcut.evaluator.environment.blender import find_blender
from matchcut.evaluator.protocol.children import child_environment
from matchcut.mcp_server.child import Child
from matchcut.mcp_server.session import Session
blender = find_blender()
def launch(label, given_up):
    command = blender.command("bridge", "--label", label, "--end-with-stdin")
    return Child.start(command, label, child_environment(), given_up)
session = Session(launch, own=True)
print(session.call("run_python", {"code": "import os; os.getpid()"}, timeout=60)[0]["result"], flush=True)
session.call("run_python", {"code": code}, timeout=60)
import time; time.sleep(60)
"""


def test_a_bridge_that_a_person_starts_is_found_and_two_are_asked_about(blender, root, folder, make_scene):
    scene = make_scene()

    def start():
        return subprocess.Popen(
            blender.command("bridge", scene=scene), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip

    async def ask(**arguments):
        async with connected(root, blender, folder) as client:
            return await client.call_tool("scene_summary", arguments)

    def wait_for(count):
        end = time.monotonic() + 60
        while len(found := live_descriptors()) < count:
            assert time.monotonic() < end
            time.sleep(0.1)
        return found

    processes = [start()]
    try:
        (first,) = wait_for(1)
        assert str(scene) in str(first) and "Connected to" in asyncio.run(ask()).structured_content["note"]
        processes.append(start())
        both = wait_for(2)
        asked = asyncio.run(ask())
        assert asked.is_error and all(f"process {one.pid}" in text_of(asked) for one in both)
        chosen = asyncio.run(ask(instance=both[1].pid))
        assert str(both[1].pid) in chosen.structured_content["note"]
        for process in processes:
            process.send_signal(signal.SIGTERM if os.name == "posix" else signal.CTRL_C_EVENT)
        assert [process.wait(20) for process in processes] == [0, 0]
        assert live_descriptors() == []
    finally:
        for process in processes:
            process.kill()
            process.wait()
