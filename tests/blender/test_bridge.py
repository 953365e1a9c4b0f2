# SPDX-License-Identifier: GPL-3.0-or-later
"""The bridge of a real Blender without a window, the program and the bpy wheel, under what an agent may do to it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bad_code import CASES, WRONG_TYPES
from matchcut.evaluator.protocol.bridge import BridgeCallError
from matchcut.evaluator.protocol.bridge_client import BridgeClient, live_descriptors


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))
    return tmp_path / "bridge"


@pytest.fixture
def started(blender, root):
    """A function that starts a bridge: its process, and a client that is connected to it."""
    processes = []

    def start():
        process = subprocess.Popen(
            blender.command("bridge"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        processes.append(process)
        end = time.monotonic() + 60
        while not (found := live_descriptors()):
            assert time.monotonic() < end and process.poll() is None
            time.sleep(0.1)
        return process, BridgeClient.connect(found[0])

    yield start
    for process in processes:
        process.kill()
        process.wait()


def test_bad_code_and_wrong_calls_are_answered_and_the_bridge_works_afterwards(started):
    process, client = started()
    for what, (code, field, text) in CASES.items():
        begun = time.monotonic()
        answer = client.call("run_python", {"code": code}, timeout=30)
        assert text in (answer[field] or ""), (what, answer[field])
        assert time.monotonic() - begun < 10, what
        assert client.call("scene_summary", timeout=5)["objects"]["total"] >= 0, what
    # without a window Blender quits once its main thread is free for that, which the bridge keeps
    assert client.call("run_python", {"code": "bpy.ops.wm.quit_blender()"})["error"] is None
    for method, params in WRONG_TYPES:
        with pytest.raises(BridgeCallError) as caught:
            client.call(method, params, timeout=5)
        assert caught.value.code == "bad_params", (method, params)
    assert client.call("run_python", {"code": "6 * 7"})["result"] == "42"
    assert process.poll() is None


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_a_blender_that_is_killed_in_mid_call_leaves_nothing_that_a_client_would_find(started, folder):
    process, client = started()
    pid = int(client.call("run_python", {"code": "import os; os.getpid()"})["result"])
    with pytest.raises(BridgeCallError) as caught:
        client.call("run_python", {"code": "import time; time.sleep(60)"}, timeout=0.5)
    assert caught.value.code == "unfinished"
    begun = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(BridgeCallError) as caught:
        client.call("scene_summary", timeout=30)
    assert caught.value.code == "lost" and time.monotonic() - begun < 10
    process.wait(10)
    assert live_descriptors() == [] and not [*folder.glob("*.json"), *folder.glob("*.sock")]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells processor time")
def test_a_bridge_that_waits_takes_a_thousandth_of_a_core_at_most(started):
    _, client = started()
    pid = client.call("run_python", {"code": "import os; os.getpid()"})["result"]

    def used():
        # nanoseconds on a processor, of all threads
        return sum(int((one / "schedstat").read_text().split()[0]) for one in Path(f"/proc/{pid}/task").iterdir())

    time.sleep(1)
    shares = []
    for _ in range(3):
        before = used()
        time.sleep(2)
        shares.append((used() - before) / 2e9)
    assert min(shares) <= 0.001, shares


def test_the_benchmark_runs(blender, root, monkeypatch):
    monkeypatch.setenv("BLENDER", blender.path)
    options = ["--only", "headless", "--rounds", "1", "--count", "3", "--json"]
    command = [sys.executable, str(root / "__main__.py"), "perf", "mcp", *options]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert answer.returncode in (0, 1), answer.stderr
    rows = json.loads(answer.stdout)["rows"]
    assert [row["name"].partition(",")[0] for row in rows if "idle" not in row["name"]] == [
        "-b: scene_summary over the bridge", "-b: scene_summary through the MCP server",
    ]  # fmt: skip
    assert all(row["value"] > 0 for row in rows)
    assert live_descriptors() == []
