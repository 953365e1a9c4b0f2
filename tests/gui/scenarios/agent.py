# SPDX-License-Identifier: GPL-3.0-or-later
"""The bridge is started, allowed Python and stopped by its buttons while a client outside works through it."""

import importlib
import json
import os
import time
from pathlib import Path

import bpy

PACKAGE = "bl_ext.user_default.matchcut"
SIGNALS = Path(os.environ["MATCHCUT_TEST_SIGNALS"])


def module(name):
    """A module of the bridge as it is loaded now."""
    return importlib.import_module(f"{PACKAGE}.addon.bridge.{name}")


def wait_for(name, seconds=200):
    """Steps: until the client has written this signal."""
    end = time.monotonic() + seconds
    while not (SIGNALS / name).exists():
        assert time.monotonic() < end, f"the client never came to {name}"
        yield 0.05


def signal(name):
    (SIGNALS / name).touch()


def open_panel():
    """The Agent panel is closed at first."""
    panel = module("panel")
    for cls in reversed(panel.CLASSES):
        if cls.is_registered:
            bpy.utils.unregister_class(cls)
    panel.MATCHCUT_PT_agent.bl_options = set()
    for cls in panel.CLASSES:
        bpy.utils.register_class(cls)


def show_panel(window):
    """Steps: the sidebar's end, where the panel lies."""
    yield from window.open_sidebar()
    yield from window.scroll(40)


def copied_configs():
    """What Copy Config leaves on the clipboard for each client."""
    texts = {}
    for client in module("operators").CLIENTS:
        bpy.ops.matchcut.copy_config(client=client)
        texts[client] = bpy.context.window_manager.clipboard
    return texts


def open_menu(window):
    """Steps: press Copy Config, which lies below the buttons that allow Python; a picture; close it."""
    x, y = window.buttons["matchcut.bridge_allow_python"]
    scale = bpy.context.preferences.system.ui_scale
    yield from window.click(x, y - int(27 * scale))
    yield from window.whole_picture("2-menu")
    window.window.event_simulate(type="ESC", value="PRESS", x=x, y=y)
    window.window.event_simulate(type="ESC", value="RELEASE", x=x, y=y)
    yield 0.3


def reload_by(window, name, reload):
    """Steps: the add-on is reloaded while a client is connected; it stops, and can be started again."""
    reload()
    yield 1.0
    window.facts[f"{name}_is_off"] = not module("window").is_running()
    signal(f"{name}_off")
    yield from wait_for(f"{name}_noticed")
    bpy.ops.matchcut.bridge_start()
    signal(f"{name}_on")
    yield from wait_for(f"{name}_served")


def disable_and_enable():
    bpy.ops.preferences.addon_disable(module=PACKAGE)
    bpy.ops.preferences.addon_enable(module=PACKAGE)


def steps(window):
    open_panel()
    yield from show_panel(window)
    yield from window.picture("1-off")
    window.facts["off"] = module("window").is_running()
    yield from window.press("matchcut.bridge_start")
    window.facts["on"] = module("window").is_running()
    yield from window.scroll(40)
    yield from window.picture("2-on")
    yield from window.scan_buttons("matchcut.bridge_allow_python")
    yield from open_menu(window)
    window.facts["configs"] = copied_configs()
    signal("started")
    yield from wait_for("refused")
    yield 1.2  # the panel is drawn anew at most once in a second
    yield from window.scroll(40)
    yield from window.picture("3-refused")
    yield from window.press("matchcut.bridge_allow_python")
    yield from window.picture("4-allowed")
    signal("allowed")
    yield from wait_for("worked")
    yield 1.2
    yield from window.scroll(40)
    yield from window.picture("5-worked")
    window.facts["objects"] = [one.name for one in bpy.data.objects]
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
    saved = str(window.out / "saved.blend")
    bpy.ops.wm.save_as_mainfile(filepath=saved)
    signal("new_file")
    yield from wait_for("served_new_file")
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.ops.wm.open_mainfile(filepath=saved)
    yield 0.5
    yield from bad_code(window)
    yield from trust_ends(window)
    yield from window.press("matchcut.bridge_stop")
    window.facts["stopped"] = not module("window").is_running()
    signal("stopped")
    yield from wait_for("gone")
    module("window").start()
    signal("restarted")
    yield from wait_for("again")
    yield from reload_by(window, "enable", disable_and_enable)
    yield from reload_by(window, "scripts", bpy.ops.script.reload)
    yield from quit_by_agent(window)


def bad_code(window):
    """Steps: the client sends what must not harm the bridge, some of which opens other files."""
    module("window").running_bridge().trust.allow()
    signal("opened")
    yield from wait_for("survived")


def trust_ends(window):
    """Steps: what was allowed for a while ends by itself, and the panel says so."""
    # the new file has brought its own window layout
    yield from show_panel(window)
    trust = module("window").running_bridge().trust
    trust.allow(4)
    yield 1.2
    yield from window.picture("6-ending")
    while trust.seconds_left:
        yield 0.2
    yield 1.2
    yield from window.picture("7-ended")
    signal("ended")
    yield from wait_for("refused_again")


def quit_by_agent(window):
    """Steps: the agent quits this Blender, so that the facts are told before."""
    module("window").running_bridge().trust.allow()
    window.facts["finished"] = True
    (window.out / "facts.json").write_text(json.dumps(window.facts, indent=2, default=str))
    signal("last")
    yield 60
    raise AssertionError("Blender did not quit")
