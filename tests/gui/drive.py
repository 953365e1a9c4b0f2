# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside a Blender with a window: `blender --enable-event-simulate --python drive.py -- SCENARIO.py OUT`.

A scenario has `steps(window)`, a generator: every `yield SECONDS` lets Blender run for that long. What it puts into
`window.facts`, and the traceback of what it raised, end in OUT/facts.json; then Blender quits.
"""

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

import bpy

ADDON = f"{os.environ.get('MATCHCUT_TEST_PACKAGE', 'bl_ext.user_default.matchcut')}.addon"
PAGE = 10
"""Clicks of the mouse wheel that scroll the sidebar by less than its height."""
TOUCHES = ("open", "socket.", "os.listdir", "os.scandir", "subprocess.", "urllib.")


def until(condition, seconds):
    """Steps: wait until `condition()` holds."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        yield 0.05
    assert condition(), f"not within {seconds} s: {condition.__doc__ or condition}"


def module(name):
    """A module of the installed add-on."""
    return importlib.import_module(f"{ADDON}.{name}")


def our_panels():
    """The panel classes that the add-on has registered."""
    return [cls for cls in module("registration").CLASSES if issubclass(cls, bpy.types.Panel)]


def watch_drawing(window):
    """Note every file opened and every socket made while one of our panels draws, in `window.facts["drawn"]`."""
    drawn = window.facts["drawn"] = {"panels": 0, "longest": 0.0, "opened": [], "names": [], "seconds": []}
    drawing = []

    def hook(event, arguments):
        if drawing and event.startswith(TOUCHES):
            drawn["opened"].append(f"{drawing[-1]}: {event} {arguments[:1]}")

    def watched(cls, draw):
        def draw_watched(self, context):
            drawing.append(cls.__name__)
            began = time.perf_counter()
            try:
                draw(self, context)
            finally:
                drawing.pop()
            taken = time.perf_counter() - began
            drawn["panels"] += 1
            drawn["seconds"].append(taken)
            if taken > drawn["longest"]:
                drawn["longest"], drawn["slowest"] = taken, cls.__name__
            if cls.__name__ not in drawn["names"]:
                drawn["names"].append(cls.__name__)

        return draw_watched

    for cls in our_panels():
        cls.draw = watched(cls, cls.draw)
    sys.addaudithook(hook)


class Window:
    """The window under test: its sidebar, its buttons, its pictures."""

    def __init__(self, out):
        self.out = out
        self.facts = {}
        self.ticks = []
        self._measuring = False

    @property
    def window(self):
        return bpy.context.window_manager.windows[0]

    @property
    def area(self):
        return max((a for a in self.window.screen.areas if a.type == "VIEW_3D"), key=lambda a: a.width * a.height)

    @property
    def sidebar(self):
        return next(region for region in self.area.regions if region.type == "UI")

    def open_sidebar(self, category="Matchcut"):
        """Steps: enlarge the 3D view and show the tab in its sidebar."""
        with bpy.context.temp_override(window=self.window, area=self.area):
            bpy.ops.screen.screen_full_area()
        yield 0.5
        self.area.spaces.active.show_region_ui = True
        yield 0.5
        self.sidebar.active_panel_category = category
        self.sidebar.tag_redraw()
        yield 0.5

    def picture(self, name):
        """Steps: keep a picture of the sidebar."""
        for region in self.area.regions:
            region.tag_redraw()
        yield 0.3
        region, height = self.sidebar, self.window.height
        crop = f"{region.width}x{region.height}+{region.x}+{height - region.y - region.height}"
        path = self.out / f"{name}.png"
        process = subprocess.Popen(["import", "-window", "root", "-crop", crop, "+repage", str(path)])
        while process.poll() is None:
            yield 0.05
        assert process.returncode == 0, f"no picture: import ended with {process.returncode}"

    def whole_picture(self, name):
        """Steps: keep a picture of the whole window."""
        process = subprocess.Popen(["import", "-window", "root", str(self.out / f"{name}.png")])
        while process.poll() is None:
            yield 0.05

    def open_panels(self):
        """Have every panel of ours open from now on, also those that are closed at first."""
        closed = [cls for cls in our_panels() if "DEFAULT_CLOSED" in getattr(cls, "bl_options", ())]
        family = {cls.__name__ for cls in closed}
        children = [cls for cls in our_panels() if getattr(cls, "bl_parent_id", "") in family and cls not in closed]
        for cls in reversed([*closed, *children]):
            bpy.utils.unregister_class(cls)
        for cls in [*closed, *children]:
            cls.bl_options = set(getattr(cls, "bl_options", ())) - {"DEFAULT_CLOSED"}
            bpy.utils.register_class(cls)

    def theme(self, name):
        """Take on one of Blender's own themes: Blender_Dark or Blender_Light."""
        folder = Path(bpy.utils.resource_path("SYSTEM")) / "scripts" / "presets" / "interface_theme"
        if name == "Blender_Dark":
            bpy.ops.preferences.reset_default_theme()
        else:
            bpy.ops.script.execute_preset(
                filepath=str(folder / f"{name}.xml"), menu_idname="USERPREF_MT_interface_theme_presets"
            )

    def scale(self, factor):
        """Steps: the resolution scale of the interface; the sidebar grows with it as its content does."""
        bpy.context.preferences.view.ui_scale = factor
        for region in self.area.regions:
            region.tag_redraw()
        yield 1.0

    def scan_buttons(self, operator=None, near=None):
        """Steps: move the mouse down the sidebar and note where buttons lie, until `operator`'s is found.

        With `near`, the height of a place in the window, only the rows around it are looked at.
        """
        region, self.buttons = self.sidebar, {}
        x = region.x + int(region.width * 0.4)
        for y in range(region.y + region.height - 8, region.y + 4, -11):
            if near is not None and abs(y - near) > 90:
                continue
            self.window.event_simulate(type="MOUSEMOVE", value="NOTHING", x=x, y=y)
            yield 0.04
            bpy.context.window_manager.clipboard = ""
            with bpy.context.temp_override(window=self.window, area=self.area, region=region):
                # only the button under the mouse can tell which command it runs
                if bpy.ops.ui.copy_python_command_button.poll():
                    bpy.ops.ui.copy_python_command_button()
            command = bpy.context.window_manager.clipboard
            if command.startswith("bpy.ops."):
                self.buttons.setdefault(command.removeprefix("bpy.ops.").partition("(")[0], (x, y))
            if operator in self.buttons:
                return

    def press(self, operator, near=None):
        """Steps: click on an operator's button, wherever it is shown; the sidebar is scrolled to find it.

        One that is soon gone is found sooner `near` a height in the window.
        """
        if near is not None:
            yield from self.scan_buttons(operator, near)
        if near is None or operator not in self.buttons:
            yield from self.find(operator)
        yield from self.click(*self.buttons[operator])

    def find(self, operator):
        """Steps: scroll the sidebar until an operator's button is in view; its place is in `self.buttons`."""
        seen = set()
        for clicks in (*[PAGE] * 6, -100, *[PAGE] * 6):
            yield from self.scan_buttons(operator)
            if operator in self.buttons:
                return
            seen |= self.buttons.keys()
            yield from self.scroll(clicks)
        raise AssertionError(f"no button for {operator}; there are {sorted(seen)}")

    def click(self, x, y):
        """Steps: press and release the left button at (x, y)."""
        for kind, value in (("MOUSEMOVE", "NOTHING"), ("LEFTMOUSE", "PRESS"), ("LEFTMOUSE", "RELEASE")):
            self.window.event_simulate(type=kind, value=value, x=x, y=y)
            yield 0.05
        yield 0.2

    def scroll(self, clicks):
        """Steps: turn the mouse wheel down over the sidebar; up where `clicks` is negative."""
        x, y = self.sidebar.x + self.sidebar.width // 3, self.sidebar.y + self.sidebar.height // 2
        self.window.event_simulate(type="MOUSEMOVE", value="NOTHING", x=x, y=y)
        wheel = "WHEELDOWNMOUSE" if clicks > 0 else "WHEELUPMOUSE"
        for _ in range(abs(clicks)):
            yield 0.05
            self.window.event_simulate(type=wheel, value="PRESS", x=x, y=y)
        yield 0.3

    def measure(self):
        """Start a timer of 10 ms whose gaps show how long the window was blocked."""
        self.ticks, self._measuring = [time.monotonic()], True

        def tick():
            self.ticks.append(time.monotonic())
            return 0.01 if self._measuring else None

        bpy.app.timers.register(tick)

    def gaps(self):
        """Stop measuring; seconds between the timer's calls, in order."""
        self._measuring = False
        return [after - before for before, after in zip(self.ticks, self.ticks[1:], strict=False)]


def _load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def main(scenario, out):
    window = Window(out)
    sys.path[:0] = [str(scenario.parent), str(Path(__file__).parent)]  # a scenario imports others, and this file
    sys.modules["drive"] = sys.modules[__name__]
    steps = _load(scenario).steps(window)

    def advance():
        try:
            return next(steps)
        except StopIteration:
            window.facts["finished"] = True
        except BaseException:  # noqa: BLE001 (told by the test that started this Blender)
            window.facts["error"] = traceback.format_exc()
        (out / "facts.json").write_text(json.dumps(window.facts, indent=2, default=str))
        bpy.ops.wm.quit_blender()
        return None

    bpy.app.timers.register(advance, first_interval=1.0, persistent=True)


if __name__ == "__main__":
    arguments = sys.argv[sys.argv.index("--") + 1 :]
    main(Path(arguments[0]), Path(arguments[1]))
