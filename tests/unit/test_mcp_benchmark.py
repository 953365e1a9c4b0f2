# SPDX-License-Identifier: GPL-3.0-or-later
"""Benchmark mode: nothing that evaluates, no way to the data beside the task; and the transcript of every session."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from bridge_stub import BridgeStub
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.cli.mcp import CLEAN_VARIABLE, clean_environment
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.protocol import transcript as transcript_module
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.transcript import TranscriptWriter, measure, read_transcript
from matchcut.mcp_server.renders import Renders
from matchcut.mcp_server.server import INSTRUCTIONS, make_server
from matchcut.mcp_server.session import Session
from matchcut.mcp_server.workplace import Task, Workplace
from mcp import Client

CANARY = "canary-7f3d0c55e1"


def no_launch(label, given_up):
    raise OperationalError("no Blender here; run: matchcut doctor")


@pytest.fixture(autouse=True)
def bridge_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))
    monkeypatch.delenv(CLEAN_VARIABLE, raising=False)


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "reference.mp4"
    pictures = np.zeros((3, 36, 64, 3), np.uint8)
    encode(pictures, Fraction(24), path, reporter=SilentReporter(), total=len(pictures))
    return path


@pytest.fixture
def place(tmp_path, video):
    """A benchmark with a canary in its checklist, and beside it the folder of one task."""
    clips = tmp_path / "bench" / "videos" / "v1" / "clips"
    clips.mkdir(parents=True)
    (tmp_path / "bench" / "benchmark.json").write_text("{}")
    (clips.parent / "video.json").write_text("{}")
    (clips.parent / "reference.mp4").write_bytes(video.read_bytes())
    (clips / "c1.json").write_text(json.dumps({"format": "matchcut-clip/1", "id": CANARY}))
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "reference.mp4").write_bytes(video.read_bytes())
    return tmp_path


def options(place, **changes):
    task = place / "task"
    given = {"reference": task / "reference.mp4", "setting": "proxy", "output": task / "out", **changes}
    return ["--benchmark", *(f"--{name}={value}" for name, value in given.items() if value is not None)]


@pytest.mark.parametrize("missing", ["reference", "setting", "output"])
def test_benchmark_mode_needs_the_whole_task(place, capsys, missing):
    assert main(["mcp", *options(place, **{missing: None})]) == 2
    err = capsys.readouterr().err
    assert "needs the whole task" in err and len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reference": "bench/videos/v1/reference.mp4"}, "lies in a benchmark, beside video.json"),
        ({"reference": "task/none.mp4"}, "no such file"),
        ({"output": "bench/out"}, "lies in a benchmark, beside benchmark.json"),
        ({"output": "bench/videos/v1/out"}, "lies in a benchmark"),
        ({"output": "task/reference.mp4"}, "this is a file"),
        ({"transcript": "task/out/t.jsonl"}, "outside its folders"),
    ],
)
def test_what_leads_to_a_benchmark_is_refused(place, capsys, changes, said):
    assert main(["mcp", *options(place, **{name: place / value for name, value in changes.items()})]) == 2
    err = capsys.readouterr().err
    assert said in err and len(err.splitlines()) == 1 and CANARY not in err


def test_a_link_into_a_benchmark_is_followed_and_refused(place, capsys):
    (place / "task" / "link.mp4").symlink_to(place / "bench" / "videos" / "v1" / "reference.mp4")
    assert main(["mcp", *options(place, reference=place / "task" / "link.mp4")]) == 2
    assert "lies in a benchmark" in capsys.readouterr().err


def test_a_blender_s_environment_keeps_what_it_needs_and_no_key():
    needed = {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "CUDA_VISIBLE_DEVICES": "0", "BLENDER": "/b", "Temp": "t"}
    secret = {"OPENAI_API_KEY": CANARY, "BENCH": CANARY, "PWD": CANARY, "OLDPWD": CANARY, "PYTHONPATH": CANARY}
    assert clean_environment({**needed, **secret}) == {**needed, CLEAN_VARIABLE: "1"}


def test_only_the_reference_and_the_output_may_be_named(place):
    task = Task(place / "task" / "reference.mp4", "proxy", place / "task" / "out", True)
    task.output.mkdir()
    (task.output / "mine.mp4").touch()
    (place / "task" / "other.mp4").touch()
    workplace = Workplace([task.output], task)
    assert workplace.allowed(str(task.reference), "reference") == task.reference
    assert workplace.allowed("../reference.mp4", "reference") == task.reference
    assert workplace.allowed("mine.mp4", "video") == task.output / "mine.mp4"
    (task.output / "link.json").symlink_to(place / "bench" / "videos" / "v1" / "clips" / "c1.json")
    for name in ("../other.mp4", "link.json", "/etc/passwd", str(place / "bench" / "benchmark.json"), "a\0b", "~/x"):
        with pytest.raises(BadInputError, match=r"not in a folder|no path|no such file"):
            workplace.allowed(name, "reference", beside=place / "bench" / "videos" / "v1" / "scene.blend")
    with pytest.raises(BadInputError, match="not in a folder"):
        workplace.allowed_folder(str(place / "bench"), "job")
    assert workplace.new_folder(place / "bench" / "scene.blend").parent == task.output / "matchcut"


def test_what_evaluates_is_not_there_at_all(place):
    async def work(client):
        names = [one.name for one in (await client.list_tools()).tools]
        called = await client.call_tool("score", {})
        prompt = (await client.get_prompt("reconstruct", {})).messages[0].content.text
        resources = [str(one.uri) for one in (await client.list_resources()).resources]
        return names, called, prompt, resources

    async def ask(benchmark):
        task = Task(place / "task" / "reference.mp4", "proxy", place / "task" / "out", benchmark)
        async with Client(make_server(Session(no_launch), Renders(Workplace([], task)))) as client:
            return await work(client)

    names, called, prompt, resources = asyncio.run(ask(True))
    assert "score" not in names and called.is_error and "no tool score" in called.content[0].text
    assert not re.search(r"\bscore\b|checklist", prompt + INSTRUCTIONS + " ".join(resources))
    names, _, prompt, _ = asyncio.run(ask(False))
    assert "score" in names and "`score`" in prompt


class Served:
    """`matchcut mcp` as a process; everything that crosses its pipes is kept."""

    def __init__(self, root, arguments, environment, cwd):
        self.process = subprocess.Popen(
            [sys.executable, str(root / "__main__.py"), "mcp", *arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=cwd,
        )  # fmt: skip
        self.traffic = b""
        self.number = 0

    def ask(self, method, **params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read()
            self.traffic += line
            answer = json.loads(line)
            if answer.get("id") == self.number:
                return answer

    def begin(self):
        about = {"name": "canary test", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=about)
        self.process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def call(self, name, **arguments):
        result = self.ask("tools/call", name=name, arguments=arguments)["result"]
        return result["isError"], "".join(block.get("text", "") for block in result["content"])


@pytest.mark.skipif(sys.platform != "linux", reason="/proc shows what a process was started with")
def test_a_canary_beside_the_task_shows_nowhere(root, place):
    environment = {**os.environ, "OPENAI_API_KEY": CANARY, "BENCHMARK": f"{place}/bench/{CANARY}", "BLENDER": "/none"}
    server = Served(root, options(place), environment, place / "bench")
    clips = place / "bench" / "videos" / "v1" / "clips"
    (place / "task" / "out").mkdir(exist_ok=True)
    (place / "task" / "out" / "link.mp4").symlink_to(clips / "c1.json")
    attempts = [str(clips / "c1.json"), "../../bench/videos/v1/clips/c1.json", "link.mp4", str(clips.parent)]
    try:
        server.begin()
        tools = {one["name"]: one["inputSchema"]["properties"] for one in server.ask("tools/list")["result"]["tools"]}
        for name, properties in tools.items():
            for argument in {"reference", "scene", "video", "job", "out", "checklist", "file"} & set(properties):
                for attempt in attempts:
                    needed = {"code": "1"} if name == "run_python" else {}
                    is_error, text = server.call(name, **{argument: attempt}, **needed)
                    assert is_error, f"{name}({argument}={attempt}): {text}"
                    assert not text.startswith("Error executing"), text
        server.ask("prompts/get", name="reconstruct", arguments={})
        for uri in ("matchcut://task", "matchcut://reference", "matchcut://render/log"):
            server.ask("resources/read", uri=uri)
        for uri in (f"matchcut://{clips}/c1.json", f"file://{clips}/c1.json"):
            assert "error" in server.ask("resources/read", uri=uri)
        proc = Path(f"/proc/{server.process.pid}")
        seen = {name: (proc / name).read_bytes() for name in ("environ", "cmdline")}
        assert (proc / "cwd").readlink() == place / "task" / "out"
        server.process.stdin.close()
        assert server.process.wait(20) == 0
    finally:
        server.process.kill()
        server.process.wait()
    assert len(tools) >= 10 and str(place / "task") in server.traffic.decode()
    record = place / "task" / "out.jsonl"
    assert read_transcript(record)[-1]["kind"] == "end"
    for what in (server.traffic, server.process.stderr.read(), record.read_bytes(), *seen.values()):
        assert CANARY.encode() not in what
    assert b"bench" not in seen["environ"] and b"bench/" not in seen["cmdline"]
    written = [path for path in (place / "task" / "out").rglob("*") if path.is_file() and not path.is_symlink()]
    assert not any(CANARY.encode() in path.read_bytes() for path in written)


# --- the transcript


def record(tmp_path, work, methods=None, **client_options):
    """The transcript's lines of what `work(client)` does, over a stub."""
    path = tmp_path / "record" / "t.jsonl"
    stub = BridgeStub(methods)

    async def ask(writer):
        server = make_server(Session(no_launch), Renders(Workplace([]), writer), writer)
        async with Client(server, **client_options) as client:
            await work(client)

    writer = TranscriptWriter(path, setting="proxy")
    try:
        asyncio.run(ask(writer))
    finally:
        stub.stop()
        writer.close()
    return read_transcript(path)


def test_every_request_is_a_line_with_its_time_sizes_and_outcome(tmp_path):
    code = "print('a secret plan')"

    async def work(client):
        await client.list_tools()
        await client.call_tool("run_python", {"code": code, "label": "plan"})
        await client.call_tool("run_python", {"code": "fail"})
        await client.call_tool("look", {})
        await client.call_tool("scene_summary", {"limit": -1})
        await client.call_tool("scene_summary", {"limits": 1})
        with pytest.raises(Exception):  # noqa: B017  whatever the library makes of it
            await client.read_resource("matchcut://nothing")

    lines = record(tmp_path, work, mode="legacy")
    kinds = [line["kind"] for line in lines]
    assert kinds[0] == "start" and kinds[-1] == "end" and set(kinds[1:-1]) == {"request"}
    assert lines[0]["format"] == "matchcut-transcript/1" and lines[0]["setting"] == "proxy"
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"]) for line in lines)
    by_method = {line["method"]: line for line in lines if line["kind"] == "request"}
    assert by_method["initialize"]["client"]["name"] and by_method["tools/list"]["result"]["bytes"] > 10_000
    assert by_method["resources/read"]["outcome"] == "refused"
    ran, failed, looked, wrong, misspelt = [line for line in lines if line.get("method") == "tools/call"]
    assert ran["name"] == "run_python" and ran["outcome"] == "ok" and ran["seconds"] >= 0
    assert ran["arguments"] == {**measure({"code": code, "label": "plan"}), "names": ["code", "label"]}
    assert "secret" not in json.dumps(lines), "the text of a call is not kept"
    assert failed["outcome"] == "error" and looked["result"]["images"] == 1
    assert [line["error"] for line in (wrong, misspelt)] == ["bad_params"] * 2


def test_progress_and_a_cancelled_call_are_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr("matchcut.mcp_server.calls.PROGRESS_SECONDS", 0.1)

    async def on_progress(done, total, text):
        pass

    async def work(client):
        await client.call_tool("run_python", {"code": "1"}, progress_callback=on_progress)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.call_tool("run_python", {"code": "2"}), 0.3)
        await asyncio.sleep(0.5)

    slow = {"run_python": lambda code, label="": time.sleep(0.6) or {}}
    lines = record(tmp_path, work, slow, mode="legacy")
    first, second = [line for line in lines if line.get("method") == "tools/call"]
    assert first["progress"] >= 2
    assert second["outcome"] == "cancelled" and any(line["kind"] == "cancel" for line in lines)


def test_a_torn_last_line_is_passed_over_and_the_next_server_goes_on(tmp_path):
    path = tmp_path / "t.jsonl"
    TranscriptWriter(path).write("request", method="a")
    with path.open("ab") as file:
        file.write(b'{"kind": "request", "met')
    assert [line["kind"] for line in read_transcript(path)] == ["start", "request"]
    TranscriptWriter(path).close()
    assert [line["kind"] for line in read_transcript(path)] == ["start", "request", "start", "end"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "holds no line"),
        (b'{"kind": "request"}\n', "its format is None"),
        (b'{"kind": "start", "format": "matchcut-transcript/9"}\n', "matchcut-transcript/9"),
        (b'{"kind": "start", "format": "matchcut-transcript/1"}\nnothing\n{"kind": "end"}\n', "line 2"),
        (b'{"kind": "start", "format": "matchcut-transcript/1"}\n[]\n{"kind": "end"}\n', "line 2"),
        (b"\xff\xfe", "holds no line"),
    ],
)
def test_what_is_no_transcript_is_refused(tmp_path, data, said):
    path = tmp_path / "t.jsonl"
    path.write_bytes(data)
    with pytest.raises(BadInputError, match=re.escape(said)):
        read_transcript(path)
    with pytest.raises(BadInputError, match="cannot be read"):
        read_transcript(tmp_path / "none.jsonl")


def test_lines_of_many_threads_are_whole(tmp_path):
    writer = TranscriptWriter(tmp_path / "t.jsonl")
    threads = [
        threading.Thread(target=lambda: [writer.write("request", text="é" * 500) for _ in range(50)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_transcript(writer.path)) == 401


def test_a_full_disk_is_told_once_and_the_gap_is_counted(tmp_path, capsys):
    writer = TranscriptWriter(tmp_path / "t.jsonl")
    real = writer._file

    class Full:
        closed = False

        def write(self, data):
            raise OSError(28, "No space left on device")

    writer._file = Full()
    for _ in range(3):
        writer.write("request")
    writer._file = real
    writer.close()
    assert capsys.readouterr().err.count("No space left") == 1
    lines = read_transcript(writer.path)
    assert [line["kind"] for line in lines] == ["start", "lost", "end"] and lines[1]["lines"] == 3


def test_a_place_that_cannot_be_written_is_one_line(root, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["mcp", "--transcript", str(tmp_path / "file" / "t.jsonl")]) == 2
    assert "another --transcript" in capsys.readouterr().err
    assert transcript_module.TRANSCRIPT_FORMAT == "matchcut-transcript/1"


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_killed_server_leaves_a_transcript_that_is_read(root, place):
    server = Served(root, ["--transcript", str(place / "t.jsonl")], {**os.environ, "BLENDER": "/none"}, place)
    try:
        server.begin()
        server.call("scene_summary")
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    finally:
        server.process.kill()
        server.process.wait()
    lines = read_transcript(place / "t.jsonl")
    assert [line.get("name") for line in lines][-1] == "scene_summary" and lines[0]["transport"] == "stdio"
