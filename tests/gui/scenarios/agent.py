# SPDX-License-Identifier: GPL-3.0-or-later
"""The bridge is started, allowed Python and stopped by its buttons while a client outside works through it."""

import importlib
import os
import time
from pathlib import Path

import bpy

ADDON = "bl_ext.user_default.matchcut.addon"
SIGNALS = Path(os.environ["MATCHCUT_TEST_SIGNALS"])


def wait_for(name, seconds=120):
    """Steps: until the client has written this signal."""
    end = time.monotonic() + seconds
    while not (SIGNALS / name).exists():
        assert time.monotonic() < end, f"the client never came to {name}"
        yield 0.05


def signal(name):
    (SIGNALS / name).touch()


def show_panel():
    """The Agent panel is closed at first: open it, and put it where the mouse finds it."""
    panel = importlib.import_module(f"{ADDON}.bridge.panel")
    for cls in reversed(panel.CLASSES):
        if cls.is_registered:
            bpy.utils.unregister_class(cls)
    panel.MATCHCUT_PT_agent.bl_options = set()
    panel.MATCHCUT_PT_agent.bl_order = -1
    for cls in panel.CLASSES:
        bpy.utils.register_class(cls)


def steps(window):
    server = importlib.import_module(f"{ADDON}.bridge.server")
    show_panel()
    yield from window.open_sidebar()
    yield from window.picture("1-off")
    window.facts["off"] = server.is_running()
    yield from window.press("matchcut.bridge_start")
    window.facts["on"] = server.is_running()
    signal("started")
    yield from wait_for("refused")
    yield from window.picture("2-on")
    yield from window.press("matchcut.bridge_allow_python")
    signal("allowed")
    yield from wait_for("worked")
    yield from window.picture("3-worked")
    window.facts["objects"] = [one.name for one in bpy.data.objects]
    window.facts["is_dirty"] = bpy.data.is_dirty
    with bpy.context.temp_override(window=window.window):
        bpy.ops.ed.undo()
    yield 0.5
    window.facts["after_undo"] = [one.name for one in bpy.data.objects]
    signal("undone")
    yield from wait_for("summed")
    window.measure()
    yield from wait_for("measured")
    window.facts["longest_gap"] = max(window.gaps())
    bpy.ops.wm.read_homefile(app_template="")
    yield 0.5
    signal("new_file")
    yield from wait_for("opened")
    # the new file has brought its own window layout back
    yield from window.open_sidebar()
    yield from window.press("matchcut.bridge_stop")
    window.facts["stopped"] = not server.is_running()
    signal("stopped")
    yield from wait_for("gone")
    server.start()
    window.facts["restarted"] = server.is_running()
    signal("restarted")
    yield from wait_for("again")
    panel = importlib.import_module(f"{ADDON}.bridge.panel")
    panel.unregister()
    window.facts["after_unregister"] = server.is_running()
