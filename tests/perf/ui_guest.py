# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside the window that `./run perf ui` measures, under tests/gui/drive.py: it times what Matchcut does there.

Every draw of a panel, a list or a view, every timer and every handler of ours is a slice of the main thread. A frame is
the gap of a timer of 10 ms, which waits for whatever holds the main thread.
"""

import os
import runpy
import time
from pathlib import Path

import bpy

runpy.run_path(str(Path(__file__).resolve().parents[2] / "__main__.py"), run_name="matchcut_main")["load_package"]()
OURS = "matchcut."


class Slices:
    """Wall and processor seconds of our slices, by kind, since `reset`."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.taken = []
        self.inside = False

    def over(self, kind, function):
        """`function`, timed."""

        def timed(*arguments, **options):
            if self.inside:  # what draws within what draws is counted with it
                return function(*arguments, **options)
            self.inside = True
            began, used = time.perf_counter(), time.thread_time()
            try:
                return function(*arguments, **options)
            finally:
                self.taken.append((kind, time.perf_counter() - began, time.thread_time() - used))
                self.inside = False

        timed.__module__, timed.__wrapped__ = function.__module__, function
        return timed

    def same_arguments(self, kind, function):
        """The same for what Blender calls by the number of arguments that it has, such as `draw` and `poll`."""
        code = function.__code__
        names = ", ".join(code.co_varnames[: code.co_argcount])
        return eval(f"lambda {names}: timed({names})", {"timed": self.over(kind, function)})


def is_ours(function):
    return getattr(function, "__module__", "").startswith(OURS)


def watch_timers(slices):
    """Time the timers that we register from now on, which are still known by their own functions."""
    timers, known = bpy.app.timers, {}
    register, unregister, registered = timers.register, timers.unregister, timers.is_registered

    def watched(function, *arguments, **options):
        if is_ours(function):
            known[function] = slices.over(f"timer {function.__module__}", function)
        return register(known.get(function, function), *arguments, **options)

    timers.register = watched
    timers.unregister = lambda function: unregister(known.get(function, function))
    timers.is_registered = lambda function: registered(known.get(function, function))


def watch_views(slices):
    """Time what we draw over the editors; Blender's own drawing of a view into a picture is not ours."""
    for name in ("SpaceView3D", "SpaceDopeSheetEditor", "SpaceSequenceEditor", "SpaceClipEditor"):
        space = getattr(bpy.types, name)

        def add(function, *arguments, add=space.draw_handler_add):
            timed = slices.over(f"view {function.__module__}", function) if is_ours(function) else function
            return add(timed, *arguments)

        space.draw_handler_add = staticmethod(add)


def watch_classes(slices, classes):
    """Time the draws of panels, headers and lists, and the buttons' work."""
    for cls in classes:
        for name in ("draw", "draw_header", "draw_item", "filter_items", "poll"):
            if name == "poll" and isinstance(vars(cls).get(name), classmethod):
                timed = slices.same_arguments(f"poll {cls.__name__}", vars(cls)[name].__func__)
                cls.poll = classmethod(timed)
            elif name != "poll" and hasattr(cls, name) and not issubclass(cls, bpy.types.Gizmo):
                setattr(cls, name, slices.same_arguments(f"{name} {cls.__name__}", getattr(cls, name)))
        if issubclass(cls, bpy.types.Operator) and hasattr(cls, "execute"):
            cls.execute = slices.same_arguments(f"button {cls.bl_idname}", cls.execute)


def watch_handlers(slices):
    """Time the handlers that are there now."""
    for name in dir(bpy.app.handlers):
        handlers = getattr(bpy.app.handlers, name)
        if isinstance(handlers, list):
            handlers[:] = [slices.over(f"handler {name}", one) if is_ours(one) else one for one in handlers]


def pressed(buttons):
    """Processor and wall time of pressed buttons, in milliseconds, by operator."""
    return {kind: [1000 * used, 1000 * wall] for kind, wall, used in buttons}


def told(slices, gaps):
    """What a phase came to, in milliseconds."""
    buttons = [one for one in slices.taken if one[0].startswith("button ")]
    others = sorted((one for one in slices.taken if not one[0].startswith("button ")), key=lambda one: one[2])
    walls, used, gaps = sorted(one[1] for one in others), [one[2] for one in others], sorted(gaps)
    at = round(0.99 * (len(others) - 1))
    return {
        "slices": len(others),
        "longest": 1000 * others[-1][2], "longest_kind": others[-1][0], "longest_wall": 1000 * walls[-1],
        "p99": 1000 * used[at], "p99_wall": 1000 * walls[at], "buttons": pressed(buttons),
        "frame_p50": 1000 * gaps[len(gaps) // 2], "frame_p99": 1000 * gaps[round(0.99 * (len(gaps) - 1))],
        "frame_longest": 1000 * gaps[-1],
    }  # fmt: skip


def steps(window):
    """The tab open: idle, scoring, rendering, and playing with the reference over the view."""
    import matchcut
    from drive import until, watch_drawing
    from matchcut.addon import jobs, registration

    slices = Slices()
    watch_timers(slices)
    watch_views(slices)
    matchcut.register()
    watch_handlers(slices)
    watch_classes(slices, registration.CLASSES)
    watch_drawing(window)
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    state = scene.matchcut
    state.use_samples, state.samples = True, 1
    state.output = str(window.out / "matchcut")
    yield from window.open_sidebar()
    state.reference.path = os.environ["MATCHCUT_TEST_REFERENCE"]
    yield from until(lambda: state.reference.known and jobs.running() is None, 60)
    bpy.ops.matchcut.match_timeline()
    yield 2.0  # the first drawing of everything

    def phase(name, running):
        """Steps: measure while `running` holds, with the tab drawn ten times a second."""
        slices.reset()
        window.measure()
        while running():
            window.sidebar.tag_redraw()
            yield 0.1
        window.facts[name] = told(slices, window.gaps())

    def seconds(count):
        end = time.monotonic() + count
        return lambda: time.monotonic() < end

    yield from phase("idle", seconds(5))
    for name, operator in (("scoring", bpy.ops.matchcut.score), ("rendering", bpy.ops.matchcut.render)):
        slices.reset()
        with bpy.context.temp_override(window=window.window, area=window.area, region=window.sidebar):
            operator()
        taken = pressed([one for one in slices.taken if one[0].startswith("button ")])
        yield from phase(name, lambda: jobs.running() is not None)
        window.facts[name]["buttons"] = taken
        window.facts[name]["state"] = [jobs.last().state, jobs.last().error]
    state.compare.show = True
    state.compare.filmstrip = True
    space = window.area.spaces.active
    space.region_3d.view_perspective = "CAMERA"
    yield 3.0
    with bpy.context.temp_override(window=window.window, area=window.area):
        bpy.ops.screen.animation_play()
    yield from phase("playback", seconds(8))
    with bpy.context.temp_override(window=window.window, area=window.area):
        bpy.ops.screen.animation_cancel()
    from matchcut.addon.sidebar.compare.timings import timings

    window.facts["overlay"] = timings()
    yield from window.whole_picture("playback")
    matchcut.unregister()
