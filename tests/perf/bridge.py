# SPDX-License-Identifier: GPL-3.0-or-later
"""What a call of an agent costs, on a scene of 500 objects; `./run perf mcp` runs it.

Over the bridge alone and through the MCP server, without a window and in one; there the peer's own server
(mcp-for-blender, a checkout of which `--peer` names) runs in the same Blender, and both sides take turns. The window
needs a screen: `$BLENDER_WINDOW` is a command line that opens one, else xvfb-run is used.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import shlex
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from media import ROOT, Row, table  # loads the package under its name

from matchcut.evaluator.environment.blender import find_blender  # isort: skip
from matchcut.evaluator.protocol.bridge import read_descriptors, remove_descriptor  # isort: skip
from matchcut.evaluator.protocol.bridge_client import BridgeClient, live_descriptors  # isort: skip
from matchcut.evaluator.protocol.children import child_environment, kill_group, own_group  # isort: skip
from matchcut.evaluator.protocol.errors import OperationalError  # isort: skip

BRIDGE_MS, SERVER_MS, PEER, IDLE_PERCENT, LOOK, TICK_MS = 1.5, 6.0, 1.0, 0.1, 1.3, 50.0
START_SECONDS = 120.0
GUEST = Path(__file__).with_name("bridge_guest.py")
SCENE = """
import bpy
bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
bpy.ops.mesh.primitive_cube_add()
mesh, scene = bpy.context.object.data, bpy.context.scene
for number in range(498):
    item = bpy.data.objects.new(f"thing {{number:03d}}", mesh)
    scene.collection.objects.link(item)
    item.location = (number % 25 * 3, number // 25 * 3, 0)
scene.camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
scene.collection.objects.link(scene.camera)
scene.camera.location, scene.camera.rotation_euler = (36, -60, 50), (0.95, 0, 0)
bpy.ops.wm.save_as_mainfile(filepath={path!r}, copy=True)
"""
BARE_LOOK = """
import json, time
from matchcut.addon.look import look, offscreen, pictures
scene, layer = look._scene_and_layer()
seen = look._sight(scene, "camera", "", scene.frame_current, layer.depsgraph)
size, space = pictures.cell_size(1, seen.aspect, 1024), offscreen.hidden_space()
def bare():
    picture = offscreen.draw_view(space, scene, layer, seen.matrices, size, "solid")
    pictures.write_jpeg(picture, "bare").read_bytes()
def ours():
    assert look.look(size=1024, shading="solid")["engine"] == "3D view, solid"
def seconds(work):
    work()  # so that neither finds what the other has left to be done
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
print(json.dumps([[seconds(ours), seconds(bare)] for _ in range(ROUNDS)]))
"""

WATCH = "import bpy; watch = bpy.app.driver_namespace['watch']; "

Call = Callable[[], object]

THING = "thing 010"
READS = [
    ("scene_summary", "scene_summary", {}, "get_scene_info", {}, 0, PEER),
    ("scene_summary after 30 ms", "scene_summary", {}, "get_scene_info", {}, 0.03, None),
    ("inspect", "inspect", {"kind": "object", "name": THING}, "get_object_info", {"name": THING}, 0, None),
]
RUNS = [("run_python", "run_python", {"code": "1"}, "execute_code", {"code": "1"}, 0, None)]
"""Our method and its parameters, the peer's, the pause before each call in seconds, the bound of the ratio."""


class Peer:
    """The peer's protocol: JSON without frames over a port."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)

    def call(self, kind: str, **params: object) -> None:
        """Send one command and wait for its answer. Raises RuntimeError where that is an error."""
        self._socket.sendall(json.dumps({"type": kind, "params": params}).encode())
        data = b""
        while True:
            received = self._socket.recv(1 << 16)
            data += received
            with contextlib.suppress(ValueError):
                answer = json.loads(data)
                break
            if not received:
                raise RuntimeError("the peer hung up")
        if answer.get("status") != "success":
            raise RuntimeError(f"the peer: {answer}")


@contextlib.contextmanager
def running(command: list[str], log: Path) -> Iterator[BridgeClient]:
    """A Blender with a bridge, and a client that is connected to it."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=child_environment(), stdin=subprocess.DEVNULL, stdout=output, stderr=output, **own_group()
        )
    try:
        end = time.monotonic() + START_SECONDS
        while not (found := live_descriptors()):
            if process.poll() is not None or time.monotonic() > end:
                raise OperationalError(f"{shlex.join(command)}: no bridge; see {log}: {log.read_text()[-400:]}")
            time.sleep(0.1)
        client = BridgeClient.connect(found[0], name="perf")
        yield client
        client.close()
    finally:
        for descriptor in read_descriptors():  # what opens the window may have put Blender into another group
            with contextlib.suppress(OSError):
                os.kill(descriptor.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        kill_group(process)
        for descriptor in read_descriptors():
            remove_descriptor(descriptor)


def median_ms(call: Call, count: int, pause: float = 0.0) -> float:
    """The median time of `count` calls in milliseconds."""
    taken = []
    for _ in range(count):
        time.sleep(pause)
        begun = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begun)
    return 1000 * statistics.median(taken)


def best(name: str, rounds: list[float], bound: float | None) -> Row:
    """A row of milliseconds or percent whose figure is the best round's."""
    return Row(name, min(rounds), "", bound, False, min(rounds), max(rounds))


def python(client: BridgeClient, code: str) -> str:
    """What `code` printed in Blender."""
    answer = client.call("run_python", {"code": code}, timeout=300)
    if answer["error"]:
        raise OperationalError(f"{answer['error']}\n{answer['traceback']}")
    return str(answer["output"])


def processor_seconds(pid: int) -> float:
    """What all threads of a process have used (Linux)."""
    return sum(int((one / "schedstat").read_text().split()[0]) for one in Path(f"/proc/{pid}/task").iterdir()) / 1e9


def measure_headless(scene: Path, folder: Path, rounds: int, count: int) -> Iterator[Row]:
    """The bridge alone in `blender -b`: round trip, and what it takes while it waits."""
    with running(find_blender().command("bridge", scene=scene), folder / "headless.log") as client:
        taken = [median_ms(lambda: client.call("scene_summary"), count) for _ in range(rounds)]
        yield best("-b: scene_summary over the bridge, ms", taken, BRIDGE_MS)
        if not Path("/proc/self/schedstat").exists():
            sys.stderr.write("idle share: skipped, only Linux tells it\n")
            return
        time.sleep(1)
        shares = []
        for _ in range(rounds):
            before = processor_seconds(client.descriptor.pid)
            time.sleep(2)
            shares.append(50 * (processor_seconds(client.descriptor.pid) - before))
        yield best("-b: idle with a client, % of a core", shares, IDLE_PERCENT)


def measure_server(name: str, arguments: list[str], rounds: int, count: int) -> Iterator[Row]:
    """Through `matchcut mcp` and the SDK's client."""

    async def work() -> list[float]:
        from mcp import Client, StdioServerParameters

        names = ("BLENDER", "MATCHCUT_BRIDGE_FOLDER", "MATCHCUT_BPY_PYTHON")
        environment = {one: os.environ[one] for one in names if one in os.environ}
        command = [str(ROOT / "__main__.py"), "mcp", *arguments]
        server = StdioServerParameters(command=sys.executable, args=command, env=environment)
        medians = []
        async with Client(server) as client:
            for _ in range(rounds):
                taken = []
                for _ in range(count):
                    begun = time.perf_counter()
                    answer = await client.call_tool("scene_summary", {})
                    taken.append(time.perf_counter() - begun)
                    if answer.is_error:
                        raise OperationalError(str(answer.content))
                medians.append(1000 * statistics.median(taken))
        return medians

    yield best(f"{name}: scene_summary through the MCP server, ms", asyncio.run(work()), SERVER_MS)


def measure_window(command: list[str], scene: Path, folder: Path, peer: Path | None, args: Any) -> Iterator[Row]:
    """The window: beside the peer, through the server, the longest tick, idle, and looking."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    guest = [str(scene), "--python", str(GUEST), "--", str(port), *([str(peer)] if peer is not None else [])]
    with running([*command, *guest], folder / "window.log") as client:
        time.sleep(5)  # the first drawing of everything
        python(client, f"{WATCH}watch.reset()")
        other = Peer(port) if peer is not None else None
        yield from beside(READS, client, other, args.rounds, args.count)
        wall, used = json.loads(python(client, f"{WATCH}print([1000 * watch.longest, 1000 * watch.most])"))
        yield Row("window: longest tick while such calls run, ms", wall, "", TICK_MS, False, wall, wall, used)
        yield from beside(RUNS, client, other, args.rounds, args.count)
        yield from measure_server("window", ["--instance", str(client.descriptor.pid)], args.rounds, args.count)
        # the bridge takes a client for one that is still at work for half a minute
        python(client, f"{WATCH}bpy.app.timers.register(watch.reset, first_interval=32)")
        time.sleep(52)
        # this call runs in a tick itself, which is counted once it has ended
        share = 100 * float(python(client, f"{WATCH}print(watch.share())"))
        yield best("window: ticks while idle with a client, % of a core", [share], IDLE_PERCENT)
        taken = json.loads(python(client, BARE_LOOK.replace("ROUNDS", str(args.rounds))))
        ratios = [first / second for first, second in taken]
        name = f"window: look at 1024 px ({1000 * min(one for one, _ in taken):.0f} ms), time over bare draw and encode"
        yield Row(name, statistics.median(ratios), "", LOOK, False, min(ratios), max(ratios))


def beside(
    calls: list[tuple[Any, ...]], client: BridgeClient, peer: Peer | None, rounds: int, count: int
) -> Iterator[Row]:
    """Calls of ours and of the peer's in turn."""
    for name, method, params, command, arguments, pause, bound in calls:
        taken, others = [], []
        for _ in range(rounds):
            taken.append(median_ms(lambda: client.call(method, params), count, pause))  # noqa: B023  called at once
            if peer is not None:
                others.append(median_ms(lambda: peer.call(command, **arguments), count, pause))  # noqa: B023
        yield best(f"window: {name} over the bridge, ms", taken, None)
        if peer is not None:
            yield best(f"window: {name}: the peer's, ms", others, None)
            ratios = [first / second for first, second in zip(taken, others, strict=True)]
            words = f"window: {name}, time over the peer's"
            yield Row(words, statistics.median(ratios), "", bound, False, min(ratios), max(ratios))


def window_command() -> list[str] | None:
    """The command line that opens a window on a screen, or None."""
    if os.environ.get("BLENDER_WINDOW"):
        return shlex.split(os.environ["BLENDER_WINDOW"])
    blender = find_blender()
    if shutil.which("xvfb-run") is None or blender.kind != "program":
        return None
    screen = ["xvfb-run", "-a", "-s", "-screen 0 1600x900x24 +extension GLX"]
    return [*screen, blender.path, "--gpu-backend", "opengl", "--window-geometry", "0", "0", "1600", "900"]


def measure(folder: Path, args: Any) -> Iterator[Row]:
    """Every row, in turn."""
    scene = folder / "many.blend"
    with running(find_blender().command("bridge"), folder / "scene.log") as client:
        python(client, SCENE.format(path=str(scene)))
    if "headless" in args.only:
        yield from measure_headless(scene, folder, args.rounds, args.count)
        yield from measure_server("-b", ["--scene", str(scene)], args.rounds, args.count)
    if "window" in args.only:
        command = window_command()
        if command is None:
            sys.stderr.write("window: skipped, there is no screen: set $BLENDER_WINDOW, or install xvfb\n")
            return
        peer = args.peer if args.peer is not None and (args.peer / "addon.py").is_file() else None
        if peer is None:
            sys.stderr.write(f"the peer: skipped, {args.peer or '--peer'} is no checkout of mcp-for-blender\n")
        yield from measure_window(command, scene, folder, peer, args)


def main(arguments: list[str]) -> int:
    """Measure and print; the exit status is 1 where a bound is missed."""
    parser = argparse.ArgumentParser(prog="matchcut perf mcp", description=__doc__.splitlines()[0])
    parts = ["headless", "window"]
    parser.add_argument("--only", action="append", choices=parts, help="measure this part alone; may be repeated")
    parser.add_argument("--peer", type=Path, metavar="FOLDER", help="a checkout of mcp-for-blender, run beside ours")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of every figure (default: 7)")
    parser.add_argument("--count", type=int, default=100, help="calls of a round (default: 100)")
    parser.add_argument("--folder", type=Path, help="keep the scene and Blender's output here")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    args = parser.parse_args(arguments)
    args.only = args.only or parts
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends this ends what it runs
    with contextlib.ExitStack() as stack:
        folder = (args.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        os.environ["MATCHCUT_BRIDGE_FOLDER"] = str(folder / "bridge")  # no other Blender is found there
        rows = []
        for row in measure(folder, args):
            rows.append(row)
            sys.stderr.write(f"{row.name}: {row.value:.2f}\n")
    if args.json:
        machine = {"system": platform.system(), "cores": os.cpu_count(), "python": platform.python_version()}
        data = {"machine": machine, "rows": [{**asdict(row), "passed": row.passed} for row in rows]}
        sys.stdout.write(json.dumps(data, indent=2) + "\n")
    else:
        sys.stdout.write(table(rows))
    return 0 if all(row.passed for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
