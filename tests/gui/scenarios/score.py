# SPDX-License-Identifier: GPL-3.0-or-later
"""A reference is picked, the timeline matched, the scene scored; pictures before, during and after."""

import importlib
import os
import sys
import time
from pathlib import Path

import bpy

ADDON = "bl_ext.user_default.matchcut.addon"


def until(condition, seconds):
    """Steps: wait until `condition()` holds; the last value is in `until.held`."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        yield 0.05
    assert condition(), f"not within {seconds} s: {condition.__doc__ or condition}"


def prepare(window, samples=1):
    """Steps: the tab open, the reference picked and read, a scene that renders quickly unless it gets many samples."""
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.matchcut.use_samples, scene.matchcut.samples = True, samples
    scene.matchcut.output = str(window.out / "matchcut")
    yield from window.open_sidebar()
    yield from window.picture("1-empty")
    scene.matchcut.reference.path = os.environ["MATCHCUT_TEST_REFERENCE"]
    yield from until(lambda: scene.matchcut.reference.known, 60)


def press_score(window, picture=""):
    """Steps: press the button, and say yes where it is asked what may be done."""
    run = importlib.import_module(f"{ADDON}.sidebar.score.run")
    jobs = importlib.import_module(f"{ADDON}.jobs")
    yield from window.press("matchcut.score")
    yield from until(lambda: jobs.running() is not None or (run.waiting() is not None and run.waiting().plan), 120)
    if jobs.running() is None:
        yield 0.6
        if picture:
            yield from window.whole_picture(picture)
        x, y = window.buttons["matchcut.score"]
        for value in ("PRESS", "RELEASE"):
            window.window.event_simulate(type="RET", value=value, x=x, y=y)
            yield 0.1
        yield from until(lambda: jobs.running() is not None, 20)


def watch_drawing(window):
    """Note every file opened and every socket made while one of our panels draws."""
    registration = importlib.import_module(f"{ADDON}.registration")
    drawn = window.facts["drawn"] = {"panels": 0, "longest": 0.0, "opened": []}
    drawing = []

    def hook(event, arguments):
        if drawing and event.startswith(("open", "socket.", "os.listdir", "os.scandir", "subprocess.")):
            drawn["opened"].append(f"{drawing[-1]}: {event} {arguments[:1]}")

    def watched(cls, draw):
        def draw_watched(self, context):
            drawing.append(cls.__name__)
            began = time.perf_counter()
            try:
                draw(self, context)
            finally:
                drawing.pop()
            drawn["panels"] += 1
            drawn["longest"] = max(drawn["longest"], time.perf_counter() - began)

        return draw_watched

    for cls in registration.CLASSES:
        if not issubclass(cls, bpy.types.Panel):
            continue
        cls.draw = watched(cls, cls.draw)
    sys.addaudithook(hook)


def time_slices(jobs):
    """The longest time that one reading of the job took on the main thread, as a list of one number."""
    longest, update = [0.0], jobs._update

    def timed(job):
        began = time.perf_counter()
        try:
            return update(job)
        finally:
            longest[0] = max(longest[0], time.perf_counter() - began)

    jobs._update = timed
    return longest


def steps(window):
    jobs = importlib.import_module(f"{ADDON}.jobs")
    watch_drawing(window)
    longest_slice = time_slices(jobs)
    yield from prepare(window)
    scene = bpy.context.scene
    yield from window.press("matchcut.match_timeline")
    window.facts["timeline"] = [
        scene.render.resolution_x, scene.render.resolution_y, scene.render.fps, scene.render.fps_base,
        scene.frame_start, scene.frame_end,
    ]  # fmt: skip
    yield from window.picture("2-before")

    # what the window takes by itself here: the sidebar drawn ten times a second, nothing of ours running
    window.measure()
    for _ in range(30):
        window.sidebar.tag_redraw()
        yield 0.1
    window.facts["idle_gap"] = max(window.gaps())

    before = {"dirty": bpy.data.is_dirty, "file": bpy.data.filepath, "frame": scene.frame_current}
    yield from press_score(window, "3-question")
    window.measure()
    yield from until(lambda: (jobs.last().stage == "render" and jobs.last().done) or jobs.running() is None, 120)
    yield from window.picture("3-during")
    window.facts["stage"] = jobs.last().stage
    stages = []
    while jobs.running() is not None:
        if jobs.last().stage not in stages:
            stages.append(jobs.last().stage)
        yield 0.05
    gaps = window.gaps()
    window.facts["slice"] = longest_slice[0]
    window.facts["gaps"] = {"longest": max(gaps), "count": len(gaps), "seconds": sum(gaps)}
    window.facts["job"] = {"state": jobs.last().state, "error": jobs.last().error, "details": jobs.last().details}
    yield from window.picture("4-after")
    yield from window.whole_picture("5-window")
    yield from window.scroll(12)
    yield from window.picture("6-after-scrolled")
    window.facts["stages"] = stages
    window.facts["after"] = {"dirty": bpy.data.is_dirty, "file": bpy.data.filepath, "frame": scene.frame_current}
    window.facts["before"] = before
    window.facts["lines"] = [
        [line.section, line.label, line.text, line.verdict] for line in scene.matchcut.results.lines
    ]
    window.facts["report"] = (Path(scene.matchcut.results.folder) / "report.html").is_file()
    window.facts["folder"] = scene.matchcut.results.folder

    # again, with nothing changed that renders: neither asked nor rendered
    run = importlib.import_module(f"{ADDON}.sidebar.score.run")
    scene.frame_set(scene.frame_current + 3)
    yield from window.press("matchcut.score")
    yield from until(lambda: run.course().plan is not None or jobs.running() is None, 120)
    yield from window.find("matchcut.cancel")
    yield from window.picture("7-again")
    window.facts["again"] = [[stage.name, state] for stage, state in run.course().rows()]
    yield from until(lambda: jobs.running() is None, 120)
    window.facts["second"] = [jobs.last().state, jobs.last().error, jobs.last().details]
    window.facts["folders"] = sorted(
        str(path.relative_to(window.out / "matchcut")) for path in (window.out / "matchcut").glob("score-*/render")
    )
