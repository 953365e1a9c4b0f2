# SPDX-License-Identifier: GPL-3.0-or-later
"""An artist who works in the window between an agent's calls: does what the client outside asks for, one by one."""

import importlib
import json
import os
import subprocess
import time
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


def bridge():
    """The module of the window's bridge as it is loaded now."""
    return importlib.import_module(f"{PACKAGE}.addon.bridge.window")


def forbid(window):
    bridge().running_bridge().trust.withdraw()
    yield 0.1


def allow(window):
    bridge().running_bridge().trust.allow()
    yield 0.1


def start_again(window):
    """The add-on, which something has switched off, is there again, and Start is pressed."""
    window.facts.setdefault("was_running", []).append("matchcut" in dir(bpy.ops) and bridge().is_running())
    bpy.ops.preferences.addon_enable(module=PACKAGE)
    bpy.ops.matchcut.bridge_start()
    bridge().running_bridge().trust.allow()
    yield 0.5


def second_window(window):
    with bpy.context.temp_override(window=window.window):
        bpy.ops.wm.window_new_main()
    yield 2.0
    window.facts["windows"] = len(bpy.context.window_manager.windows)


def close_first_window(window):
    """Also Blender's first one can be closed while another stays."""
    with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
        bpy.ops.wm.window_close()
    yield 1.0
    window.facts["windows_left"] = len(bpy.context.window_manager.windows)


def show(window, command):
    """Steps: what a window manager does to the windows."""
    process = subprocess.Popen(["xdotool", "search", "--name", "Blender", command, "%@"])
    while process.poll() is None:
        yield 0.05
    assert process.returncode == 0, f"xdotool ended with {process.returncode}"
    yield 1.0


def hide(window):
    """The window is off the screen."""
    yield from show(window, "windowunmap")
    yield from window.whole_picture("hidden")


def unhide(window):
    yield from show(window, "windowmap")


def slow_new_file(window):
    """The window is busy for a while, then another file is there."""
    time.sleep(2)
    bpy.ops.wm.read_homefile(app_template="")
    yield 0.5


def slow_quit(window):
    window.facts |= {"finished": True, "running": bridge().is_running()}
    (window.out / "facts.json").write_text(json.dumps(window.facts))
    time.sleep(2)
    bpy.ops.wm.quit_blender()
    yield 60


ACTIONS = {
    one.__name__: one
    for one in (
        take_back, move, step_frames, enter_edit_mode, measure, measured, forbid, allow, second_window,
        close_first_window, hide, unhide, slow_new_file, slow_quit, start_again,
    )
}  # fmt: skip


def steps(window):
    bridge().start().trust.allow()
    while not (SIGNALS / "end").exists():
        for path in sorted(SIGNALS.glob("*.ask")):
            action = ACTIONS[path.stem.partition("-")[2]]
            path.with_suffix(".begun").touch()
            yield from action(window)
            path.rename(path.with_suffix(".done"))
        yield 0.05
    window.facts["running"] = bridge().is_running()
    bridge().stop()
    window.facts["handlers"] = [
        one.__qualname__
        for handlers in (bpy.app.handlers.depsgraph_update_post, bpy.app.handlers.undo_post, bpy.app.handlers.load_post)
        for one in handlers
        if getattr(one, "__module__", "").startswith((f"{PACKAGE}.addon.agent.", f"{PACKAGE}.addon.bridge."))
    ]
