# SPDX-License-Identifier: GPL-3.0-or-later
"""A part and the whole are rendered by the buttons, one render is cancelled and resumed; pictures of each state."""

import importlib
import importlib.util
from pathlib import Path

import bpy

_spec = importlib.util.spec_from_file_location("score", Path(__file__).with_name("score.py"))
score = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(score)


def show_options(panels):
    """The options are closed at first."""
    panel = panels.MATCHCUT_PT_render_options
    bpy.utils.unregister_class(panel)
    panel.bl_options = set()
    bpy.utils.register_class(panel)


def steps(window):
    jobs = importlib.import_module(f"{score.ADDON}.jobs")
    show_options(importlib.import_module(f"{score.ADDON}.sidebar.render.panel"))
    yield from score.prepare(window)
    scene = bpy.context.scene
    render = scene.matchcut.render
    yield from window.press("matchcut.match_timeline")
    before = bpy.data.is_dirty, bpy.data.filepath, scene.render.engine, scene.cycles.samples

    render.frames, render.scale, render.preview_samples = "CURRENT", 50, 1
    scene.frame_set(scene.frame_start + 7)
    yield from window.picture("2-part")
    yield from window.press("matchcut.render")
    yield from score.until(lambda: jobs.running() is None, 120)
    yield from score.until(lambda: len(render.renders) == 1, 20)  # the folder is read beside the window
    window.facts["part"] = [jobs.last().state, jobs.last().error, render.folder, render.video]
    yield from window.picture("3-after-part")

    render.frames, render.every = "ALL", 4
    yield from window.press("matchcut.render")
    yield from score.until(lambda: jobs.running() is None, 120)
    yield from score.until(lambda: len(render.renders) == 2, 20)
    window.facts["every"] = [jobs.last().state, jobs.last().error, render.renders[0].video, render.video]
    yield from window.picture("3-after-every")

    render.mode = "FINAL"
    scene.matchcut.samples = 2048  # long enough for the mouse to find Cancel
    yield from window.press("matchcut.render")
    place = window.buttons["matchcut.render"][1]  # where Cancel is while it runs
    texts = []
    yield from score.until(lambda: texts.append(jobs.last().text) or jobs.last().done > 2, 120)
    yield from window.picture("4-during")
    yield from window.press("matchcut.cancel", near=place)
    yield from score.until(lambda: jobs.running() is None, 20)
    folder = window.out / "matchcut" / "render-003"
    window.facts["cancelled"] = [jobs.last().state, render.folder, render.video]
    window.facts["kept"] = len(list((folder / "frames").glob("0*.png")))
    yield from window.find("matchcut.resume_render")
    yield from window.scroll(5)
    yield from window.picture("5-cancelled")

    yield from window.press("matchcut.resume_render")
    yield from score.until(lambda: texts.append(jobs.last().text) or jobs.running() is None, 300)
    yield from score.until(lambda: render.video, 20)
    window.facts["resumed"] = [jobs.last().state, jobs.last().error, render.folder, render.video]
    window.facts["texts"] = sorted(set(texts))
    yield from window.find("matchcut.render")
    yield from window.scroll(5)
    yield from window.picture("6-after")
    window.facts["rows"] = [[row.name, row.frames, row.is_done, Path(row.video).name] for row in render.renders]
    window.facts["folders"] = sorted(path.name for path in (window.out / "matchcut").iterdir())
    window.facts["video"] = Path(render.video).is_file()
    window.facts["same"] = before == (
        bpy.data.is_dirty, bpy.data.filepath, scene.render.engine, scene.cycles.samples
    )  # fmt: skip
