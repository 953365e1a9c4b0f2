# SPDX-License-Identifier: GPL-3.0-or-later
"""What the scenarios of mishaps share: a quick scene, buttons that tell their error, processes that are counted."""

import os
import shutil
from pathlib import Path

import bpy
from drive import module, until


def begin(window, samples=1):
    """Steps: the tab open, a copy of the reference picked and read, a scene that renders quickly."""
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    state = scene.matchcut
    state.use_samples, state.samples = True, samples
    state.output = str(window.out / "matchcut")
    yield from window.open_sidebar()
    video = window.out / "clips" / "reference.mp4"
    video.parent.mkdir()
    shutil.copy(os.environ["MATCHCUT_TEST_REFERENCE"], video)
    yield from pick(scene, video)


def pick(scene, video):
    """Steps: pick a reference and wait until it has been read."""
    scene.matchcut.reference.path = str(video)
    yield from until(lambda: scene.matchcut.reference.known and module("jobs").running() is None, 90)


def press(window, operator, **options):
    """What the button said: nothing where it began, else its one line."""
    try:
        with bpy.context.temp_override(window=window.window, area=window.area, region=window.sidebar):
            getattr(bpy.ops.matchcut, operator)(**options)
    except RuntimeError as error:
        return str(error).removeprefix("Error: ").strip()
    return ""


def ended(window, name, seconds=240):
    """Steps: wait for the job; how it ended is kept under `name`."""
    jobs = module("jobs")
    yield from until(lambda: jobs.running() is None, seconds)
    job = jobs.last()
    window.facts[name] = {"state": job.state, "error": job.error, "left": descendants(os.getpid(), job.process.pid)}


def started(seconds=120):
    """Steps: wait until the job has come to its first frame."""
    jobs = module("jobs")
    yield from until(lambda: jobs.running() is None or jobs.last().done > 0, seconds)
    assert jobs.running() is not None, f"it ended at once: {jobs.last().error}"


def processes():
    """Parent's process id by that of every process that is alive (Linux)."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(entry.name)] = int(fields[1])
    return parents


def descendants(pid, only=None):
    """Processes below `pid`, or those of the one command `only` and what it started."""
    parents = processes()
    found, grew = {only or pid}, True
    while grew:
        new = {child for child, parent in parents.items() if parent in found} - found
        found, grew = found | new, bool(new)
    return sorted(one for one in found - {pid} if one in parents)
