# SPDX-License-Identifier: GPL-3.0-or-later
"""The sample's reconstruction is opened, looked at through its camera, and scored with its checklist and a judge."""

import importlib
import importlib.util
import os
from pathlib import Path

import bpy

_spec = importlib.util.spec_from_file_location("score", Path(__file__).with_name("score.py"))
score = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(score)


def steps(window):
    jobs = importlib.import_module("bl_ext.user_default.matchcut.addon.jobs")
    bpy.ops.wm.open_mainfile(filepath=os.environ["MATCHCUT_TEST_SCENE"], load_ui=False)
    yield 1.0
    scene = bpy.context.scene
    state = scene.matchcut
    state.use_samples, state.samples = True, 1
    state.output = "//matchcut"
    state.checklist = "//clips"
    state.judge = os.environ["MATCHCUT_TEST_JUDGE"]
    yield from window.open_sidebar()
    space = window.area.spaces.active
    space.region_3d.view_perspective = "CAMERA"
    space.overlay.show_overlays = False
    space.show_gizmo = False
    space.region_3d.view_camera_zoom = 12
    scene.frame_set(scene.frame_start + 50)
    state.reference.path = "//reference.mp4"
    for _ in range(600):
        if state.reference.known and jobs.running() is None:
            break
        yield 0.1
    yield from window.press("matchcut.match_timeline")
    yield from score.press_score(window, "question")
    pictures = iter((("during-render", "render"), ("during-judge", "judge")))
    name, stage = next(pictures)
    while jobs.running() is not None:
        if jobs.last().stage == stage and jobs.last().done > 2:
            yield from window.picture(name)
            name, stage = next(pictures, ("", None))
        yield 0.1
    window.facts["job"] = {"state": jobs.last().state, "error": jobs.last().error}
    for _ in range(300):  # a thread reads them
        if state.results.lines:
            break
        yield 0.1
    window.facts["lines"] = [[line.section, line.label, line.text] for line in state.results.lines]
    space.shading.type = "RENDERED"
    yield 15.0
    for _ in range(4):
        yield from window.picture("after")
    yield from window.whole_picture("window")
    yield from window.scroll(20)
    yield from window.picture("after-scrolled")
    yield from window.whole_picture("window-scrolled")
