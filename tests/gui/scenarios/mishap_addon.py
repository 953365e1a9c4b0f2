# SPDX-License-Identifier: GPL-3.0-or-later
"""No online access; the add-on is disabled while it scores, and enabled again; Blender is closed while it scores."""

import os

import bpy
from drive import ADDON, module, until
from mishaps import begin, descendants, press, started

PACKAGE = ADDON.removesuffix(".addon")


def steps(window):
    yield from begin(window)
    scene = bpy.context.scene
    bpy.context.preferences.system.use_online_access = False
    window.facts["online"] = bpy.app.online_access
    window.facts["install"] = bpy.ops.matchcut.install_evaluator.poll()
    scene.matchcut.checklist = os.environ["MATCHCUT_TEST_REFERENCE"]
    scene.matchcut.judge = "local:http://judge.example:8000/v1#model"
    window.facts["judge"] = press(window, "score")
    window.facts["judge_started"] = module("jobs").running() is not None
    yield from window.picture("1-offline")
    scene.matchcut.checklist = scene.matchcut.judge = ""

    scene.matchcut.samples = 4096
    window.facts["begun"] = press(window, "score")
    yield from started()
    window.facts["ran"] = descendants(os.getpid())
    bpy.ops.preferences.addon_disable(module=PACKAGE)
    yield 1.0
    window.facts["left"] = descendants(os.getpid())
    window.facts["gone"] = not hasattr(bpy.types.Scene, "matchcut")
    yield from window.whole_picture("2-disabled")
    bpy.ops.preferences.addon_enable(module=PACKAGE)
    yield 1.0
    scene = bpy.context.scene
    window.facts["reference"] = scene.matchcut.reference.path
    window.facts["results"] = [str(path) for path in (window.out / "matchcut").rglob("results.json")]
    window.sidebar.active_panel_category = "Matchcut"
    yield from window.picture("3-enabled-again")
    window.facts["begun_again"] = press(window, "score")
    yield from until(lambda: module("jobs").running() is None or module("jobs").last().done > 0, 120)
    window.facts["again"] = [module("jobs").running() is not None, module("jobs").last().error]
    window.facts["closed_with"] = descendants(os.getpid())
