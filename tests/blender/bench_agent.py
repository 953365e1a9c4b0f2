# SPDX-License-Identifier: GPL-3.0-or-later
"""An agent of one's own for the benchmark: it makes the factory scene fit the reference, renders it and hands it in.

It is started as `python bench_agent.py TASK.json`, speaks to the server by the MCP SDK, and tells its turns. With
WINDOW=look in its configuration's environment it also looks at its Blender's window; with WINDOW=wait it then waits.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters

FIT = """
import bpy
scene = bpy.context.scene
for path, value in {settings!r}.items():
    setattr(scene.render if path.startswith('render.') else scene, path.removeprefix('render.'), value)
scene.render.engine = 'CYCLES'
scene.cycles.samples, scene.cycles.use_denoising, scene.cycles.max_bounces = 1, False, 0
"""


def data_of(result):
    text = "".join(block.text for block in result.content if block.type == "text")
    print(json.dumps({"type": "answer", "failed": bool(result.is_error), "text": text[:2000]}), flush=True)
    try:
        return json.loads(text)
    except ValueError:
        return {}


async def work(task):
    server = task["server"]

    async def call(name, **arguments):
        print(json.dumps({"type": "usage", "turns": 1, "output_tokens": 10}), flush=True)
        return data_of(await client.call_tool(name, arguments))

    async with Client(
        StdioServerParameters(command=server["command"], args=server["args"], env=server["env"])
    ) as client:
        info = await call("reference_info")
        await call("run_python", code=FIT.format(settings=info["scene"]), label="fit")
        await call("run_python", code=PROBE, label="network")
        if "WINDOW" in os.environ:
            await look_at_window(call)
        if os.environ.get("WINDOW") == "wait":
            await asyncio.sleep(600)
        await call("render_start", samples=1)
        while (await call("render_wait", seconds=20))["state"] == "running":
            pass
        await call("look")
        answer = await call("submit", report="The factory scene.")
        while answer.get("passed") is None:
            answer = await call("submit", report="The factory scene.")


async def look_at_window(call):
    await call("run_python", code=TIMER, label="timer")
    for _ in range(120):
        if (await call("run_python", code=TICKS, label="ticks"))["result"] != "0":
            break
        await asyncio.sleep(0.5)
    await call("look", view="viewport", size=320)


TIMER = """
import bpy
bpy.app.driver_namespace['ticks'] = 0
def tick():
    bpy.app.driver_namespace['ticks'] += 1
    return 0.1
bpy.app.timers.register(tick)
windows = bpy.context.window_manager.windows
{'background': bpy.app.background, 'windows': len(windows), 'size': [windows[0].width, windows[0].height],
 'areas': sorted(area.type for area in windows[0].screen.areas)}
"""
TICKS = "import bpy\nbpy.app.driver_namespace['ticks']"
PROBE = """
import os, socket
try:
    devices = [name for _, name in socket.if_nameindex()]
except OSError as error:
    devices = str(error)
{'devices': devices, 'environment': sorted(os.environ)}
"""

if __name__ == "__main__":
    asyncio.run(work(json.loads(Path(sys.argv[1]).read_text("utf-8"))))
