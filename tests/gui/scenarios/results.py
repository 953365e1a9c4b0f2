# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of every kind in the sidebar: found, listed, filtered, gone to by a click, compared with the one before."""

import os
import time
from pathlib import Path

import bpy
from drive import module, our_panels, until, watch_drawing


def steps(window):
    store, pictures = module("sidebar.results.store"), module("sidebar.results.pictures")
    scene = bpy.context.scene
    state = scene.matchcut.results
    roots = Path(os.environ["MATCHCUT_TEST_SCORES"])
    watch_drawing(window)
    window.open_panels()
    others = leave_only("MATCHCUT_PT_results")
    yield from window.open_sidebar()
    for region in window.area.regions:
        region.tag_redraw()
    yield from window.picture("01-not-scored")

    scene.frame_start = 101
    scene.matchcut.output = str(roots / "judged")
    scene.matchcut.reference.path = os.environ["MATCHCUT_TEST_REFERENCE"]
    yield from until(lambda: scene.matchcut.reference.known, 60)
    # what the window takes by itself here, and while three scores are read
    window.measure()
    for _ in range(20):
        window.sidebar.tag_redraw()
        yield 0.1
    window.facts["idle"] = sorted(window.gaps())[-3:]
    yield from window.press("matchcut.find_scores")
    yield from until(lambda: store.known(scene).score and not store.known(scene).reading, 30)
    window.measure()
    for _ in range(4):
        bpy.ops.matchcut.find_scores()
        for _ in range(5):
            window.sidebar.tag_redraw()
            yield 0.1
    window.facts["gaps"] = sorted(window.gaps())[-3:]
    yield from until(lambda: not store.known(scene).reading, 30)
    yield from window.picture("02-judged")
    window.facts["history"] = [score.folder.name for score in store.known(scene).history]
    window.facts["failing"] = [one.check.key for one in store.known(scene).change.failing]
    window.facts["checks"] = len(state.checks)

    # the rows of the list tell of no button: they lie below the one that opens the report, with nothing in between
    off = leave_only("MATCHCUT_PT_results_checks ", "MATCHCUT_PT_results ")
    yield 0.5
    yield from window.scan_buttons("matchcut.open_report")
    x, y = window.buttons["matchcut.open_report"]
    for below in range(110, 180, 22):
        yield from window.click(x, y - below)
        if state.active >= 0:
            break
    for cls in reversed(off):
        bpy.utils.register_class(cls)
    check = store.selected(scene)
    window.facts["clicked"] = check and [check.key, check.moment, scene.frame_current]
    yield from until(lambda: pictures.shown(store.known(scene).score, check.moment), 5)
    shown = pictures.shown(store.known(scene).score, check.moment)
    yield from window.picture("03-chosen-reading")
    yield from until(lambda: not shown.waiting, 60)
    window.facts["pictures"] = [bool(shown.icon), list(shown.size), shown.missing, shown.above]
    yield from window.picture("04-chosen")
    yield from wheel(window, 11)
    yield from window.picture("05-chosen-below")
    yield from window.whole_picture("06-window")
    yield from wheel(window, 60)
    yield from window.picture("07-end")

    yield from wheel(window, -60)

    state.filter.text = "bench"
    state.filter.ratings = {"unsatisfied"}
    yield from window.picture("08-filtered")
    with bpy.context.temp_override(window=window.window, area=window.area, region=window.sidebar):
        bpy.ops.wm.call_panel(name="MATCHCUT_PT_check_filter", keep_open=True)
    yield 0.5
    yield from window.whole_picture("09-filter")
    window.window.event_simulate(type="ESC", value="PRESS", x=200, y=400)
    window.window.event_simulate(type="ESC", value="RELEASE", x=200, y=400)
    yield 0.5
    bpy.ops.matchcut.clear_check_filter()

    scene.matchcut.output = str(roots / "nothing")
    for number, name in enumerate(("partly", "unjudged", "unchecked", "short", "damaged"), 10):
        for score in roots.glob(f"{name}/score-*"):
            store.take_results(scene.session_uid, score)
        yield from until(lambda: not store.known(scene).reading, 30)
        if state.checks:
            state.active = min(2, len(state.checks) - 1)
            yield 0.5
            check = store.selected(scene)
            shown = check and pictures.shown(store.known(scene).score, check.moment)
            if shown:
                yield from until(lambda shown=shown: not shown.waiting, 60)
                window.facts[f"pictures-{name}"] = [bool(shown.icon), shown.missing]
        known = store.known(scene)
        window.facts[name] = [known.score and known.score.folder.parent.name, known.problem]
        yield from window.picture(f"{number}-{name}")
        yield from wheel(window, 60)
        yield from window.picture(f"{number}-{name}-end")
        yield from wheel(window, -60)
    scene.matchcut.output = str(roots / "judged")

    store.take_results(scene.session_uid, next(roots.glob("judged/score-600")))
    yield from until(lambda: not store.known(scene).reading and store.known(scene).change, 30)
    yield from wheel(window, -60)
    yield from window.picture("20-open")
    yield from wheel(window, 11)
    yield from window.picture("21-open-below")
    yield from wheel(window, 60)
    yield from window.picture("22-open-end")
    yield from window.press("matchcut.show_score")
    yield from until(lambda: store.known(scene).score.folder.name != "score-600", 5)
    window.facts["changed"] = store.known(scene).score.folder.name
    store.show(scene, store.known(scene).history[0])
    yield 0.5
    window.theme("Blender_Light")
    yield from window.picture("23-light-end")
    yield from wheel(window, -60)
    yield from window.picture("24-light")
    yield from window.scale(2.0)
    yield from window.picture("25-light-large")
    yield from window.scale(1.0)
    window.theme("Blender_Dark")
    started = []
    for _ in range(5):  # others use this machine as well
        began = time.perf_counter()
        store.take_results(scene.session_uid, next(roots.glob("judged/score-600")))
        started.append(time.perf_counter() - began)
        yield 0.1
    window.facts["started"] = min(started)
    yield from until(lambda: not store.known(scene).reading, 30)

    # a file that was opened shows its scores by itself
    file = str(window.out / "shot.blend")
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.open_mainfile(filepath=file, load_ui=False)
    yield from until(lambda: store.known(bpy.context.scene).score and not store.known(bpy.context.scene).reading, 30)
    known = store.known(bpy.context.scene)
    for cls in reversed(others):
        bpy.utils.register_class(cls)
    window.facts["reopened"] = [known.score.folder.name, len(known.history), bool(known.change)]


def leave_only(*begin):
    """Take all panels of ours off the tab but those whose names begin so; those taken off."""
    off = []
    for cls in reversed(our_panels()):
        shown = cls.bl_space_type == "VIEW_3D" and "INSTANCED" not in getattr(cls, "bl_options", ())
        if shown and cls.is_registered and not f"{cls.__name__} ".startswith(begin):
            bpy.utils.unregister_class(cls)
            off.append(cls)
    return off


def wheel(window, clicks):
    """Steps: scroll the sidebar as that many clicks of the mouse wheel do, down where `clicks` is above 0."""
    scroll = bpy.ops.view2d.scroll_down if clicks > 0 else bpy.ops.view2d.scroll_up
    with bpy.context.temp_override(window=window.window, area=window.area, region=window.sidebar):
        for _ in range(abs(clicks)):
            scroll()
    window.sidebar.tag_redraw()
    yield 0.3
