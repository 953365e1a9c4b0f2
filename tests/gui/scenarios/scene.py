# SPDX-License-Identifier: GPL-3.0-or-later
"""An artist who works in the window between an agent's calls: does what the client outside asks for, one by one."""

import importlib
import os
from pathlib import Path

import bpy

PACKAGE = "bl_ext.user_default.matchcut"
SIGNALS = Path(os.environ["MATCHCUT_TEST_SIGNALS"])


def take_back(window):
    """What Ctrl-Z does."""
    with bpy.context.temp_override(window=window.window):
        bpy.ops.ed.undo()
    yield 0.5


def move(window):
    """The artist moves what is selected, which is an undo step of the artist's."""
    region = next(one for one in window.area.regions if one.type == "WINDOW")
    with bpy.context.temp_override(window=window.window, area=window.area, region=region):
        bpy.ops.transform.translate("EXEC_DEFAULT", True, value=(2, 0, 0))
    yield 0.5


def step_frames(window):
    """The artist looks at other frames and turns the view: nothing of the scene changes."""
    for frame in range(1, 6):
        bpy.context.scene.frame_set(frame)
        yield 0.1
    region = next(one for one in window.area.regions if one.type == "WINDOW")
    with bpy.context.temp_override(window=window.window, area=window.area, region=region):
        bpy.ops.view3d.view_orbit(angle=0.2, type="ORBITLEFT")
    for area in window.window.screen.areas:
        area.tag_redraw()
    yield 1.0


def enter_edit_mode(window):
    with bpy.context.temp_override(window=window.window, area=window.area):
        bpy.ops.object.mode_set("EXEC_DEFAULT", True, mode="EDIT")
    yield 0.5


def measure(window):
    window.measure()
    yield 0.1


def measured(window):
    window.facts["longest_gap"] = max(window.gaps())
    yield 0.1


ACTIONS = {one.__name__: one for one in (take_back, move, step_frames, enter_edit_mode, measure, measured)}


def steps(window):
    server = importlib.import_module(f"{PACKAGE}.addon.bridge.window")
    server.start().trust.allow()
    while not (SIGNALS / "end").exists():
        for path in sorted(SIGNALS.glob("*.ask")):
            action = ACTIONS[path.stem.partition("-")[2]]
            yield from action(window)
            path.rename(path.with_suffix(".done"))
        yield 0.05
    window.facts["running"] = server.is_running()
    server.stop()
    window.facts["handlers"] = [
        one.__qualname__
        for handlers in (bpy.app.handlers.depsgraph_update_post, bpy.app.handlers.undo_post, bpy.app.handlers.load_post)
        for one in handlers
        if ".bridge." in getattr(one, "__module__", "")
    ]
