# SPDX-License-Identifier: GPL-3.0-or-later
"""Scoring is cancelled by its button; the processes that ran are counted before and after."""

import importlib
import importlib.util
import os
import time
from pathlib import Path

import bpy

_spec = importlib.util.spec_from_file_location("score", Path(__file__).with_name("score.py"))
score = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(score)


def descendants(pid):
    """Process ids below `pid` that are still alive (Linux)."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(entry.name)] = int(fields[1])
    found, grew = {pid}, True
    while grew:
        new = {child for child, parent in parents.items() if parent in found} - found
        found, grew = found | new, bool(new)
    return sorted(found - {pid})


def alive(pids):
    return [
        pid for pid in pids if Path(f"/proc/{pid}").exists() and ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    ]


def steps(window):
    jobs = importlib.import_module(f"{score.ADDON}.jobs")
    yield from score.prepare(window, samples=4096)
    yield from score.press_score(window)
    yield from score.until(lambda: jobs.last().stage == "render" and jobs.last().done > 0, 120)
    yield from window.find("matchcut.cancel")
    window.facts["running"] = descendants(os.getpid())
    x, y = window.buttons["matchcut.cancel"]
    pressed = time.monotonic()
    yield from window.click(x, y)
    yield from score.until(lambda: jobs.running() is None, 20)
    window.facts["seconds"] = time.monotonic() - pressed
    window.facts["state"] = jobs.last().state
    window.facts["left"] = alive(window.facts["running"])
    yield from window.picture("cancelled")
    folder = window.out / "matchcut" / "score-001"
    window.facts["files"] = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    window.facts["results"] = len(bpy.context.scene.matchcut.results.lines)
