# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside a Blender with a window: `blender --enable-event-simulate --python drive.py -- SCENARIO.py OUT`.

A scenario has `steps(window)`, a generator: every `yield SECONDS` lets Blender run for that long. What it puts into
`window.facts`, and the traceback of what it raised, end in OUT/facts.json; then Blender quits.
"""

import importlib.util
import json
import subprocess
import sys
import time
import traceback
from pathlib import Path

import bpy


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

    def scan_buttons(self, operator=None):
        """Steps: move the mouse down the sidebar and note where buttons lie, until `operator`'s is found."""
        region, self.buttons = self.sidebar, {}
        x = region.x + int(region.width * 0.4)
        for y in range(region.y + region.height - 8, region.y + 4, -11):
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

    def press(self, operator):
        """Steps: click on an operator's button, wherever it is shown."""
        yield from self.scan_buttons(operator)
        assert operator in self.buttons, f"no button for {operator}; there are {sorted(self.buttons)}"
        yield from self.click(*self.buttons[operator])

    def click(self, x, y):
        """Steps: press and release the left button at (x, y)."""
        for kind, value in (("MOUSEMOVE", "NOTHING"), ("LEFTMOUSE", "PRESS"), ("LEFTMOUSE", "RELEASE")):
            self.window.event_simulate(type=kind, value=value, x=x, y=y)
            yield 0.05
        yield 0.2

    def scroll(self, clicks):
        """Steps: turn the mouse wheel down over the sidebar."""
        x, y = self.sidebar.x + self.sidebar.width // 3, self.sidebar.y + self.sidebar.height // 2
        self.window.event_simulate(type="MOUSEMOVE", value="NOTHING", x=x, y=y)
        for _ in range(clicks):
            yield 0.05
            self.window.event_simulate(type="WHEELDOWNMOUSE", value="PRESS", x=x, y=y)
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
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(scenario, out):
    window = Window(out)
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
