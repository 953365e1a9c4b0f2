# SPDX-License-Identifier: GPL-3.0-or-later
"""Agents for the benchmark's tests that need neither a model nor a Blender, and small benchmarks for them.

As a program (`python:bench_agents.py`) it is such an agent: its configuration's environment says what it does.

ACT         steps with commas between: submit, usage=TURNS:USD, sleep=S, fail=N, die, spawn, look=PATH, around,
            say=TEXT, write=NAME, link=PATH, eat=MIB
PACKAGE     the folder that `submit` hands in
MARKS       a folder in which every start leaves a file
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path


def act(step: str, task: dict) -> None:
    name, _, value = step.partition("=")
    if name == "submit":
        shutil.copytree(os.environ["PACKAGE"], Path(task["output"]) / "submission")
    elif name == "usage":
        turns, _, usd = value.partition(":")
        told = {"type": "usage", "turns": int(turns), "input_tokens": 100, "output_tokens": 10}
        print(json.dumps({**told, **({"usd": float(usd)} if usd else {})}), flush=True)
    elif name == "sleep":
        time.sleep(float(value))
    elif name == "spawn":  # something that outlives it, where it can
        subprocess.Popen(
            [sys.executable, "-c", f"import time; time.sleep(60)  # {task['output']}"], start_new_session=True
        )
    elif name == "look":
        found = [str(Path(folder, name)) for folder, _, files in os.walk(value) for name in files]
        told = [Path(path).read_text("utf-8", "replace") for path in found]
        there = os.access(value, os.F_OK)
        print(json.dumps({"found": found, "told": told, "there": there}), flush=True)
    elif name == "around":
        files = sorted(str(path.relative_to(Path.cwd())) for path in Path.cwd().rglob("*"))
        print(json.dumps({"files": files, "env": dict(os.environ), "argv": sys.argv}), flush=True)
    elif name == "write":
        Path(task["output"], value).write_text("made by the agent")
    elif name == "link":
        Path(task["output"], "link").symlink_to(value)
    elif name == "say":
        print(value, flush=True)
    elif name == "deep":
        os.chdir(task["output"])
        for _ in range(int(value)):
            Path("d").mkdir()
            os.chdir("d")
        os.chdir("/")
    elif name == "spoil":
        (Path(task["output"]).parents[1] / "record" / "mcp.jsonl").write_text(os.environ["SPOIL"])
    elif name == "eat":
        kept = [b"x" * (2**20 * 10) for _ in range(int(value) // 10)]
        print(len(kept), flush=True)
    elif name == "die":
        os.kill(os.getpid(), 9)
    elif name == "fail":
        sys.exit(int(value))
    else:
        raise ValueError(step)


def main() -> None:
    task = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    if "MARKS" in os.environ:
        Path(os.environ["MARKS"], uuid.uuid4().hex).write_text(task["setting"])
    for step in filter(None, os.environ.get("ACT", "submit").split(",")):
        act(step, task)


if __name__ == "__main__":
    main()
