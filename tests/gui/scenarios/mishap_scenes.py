# SPDX-License-Identifier: GPL-3.0-or-later
"""Two scenes with a reference each; renamed, looked away from and undone while one is scored; saved elsewhere."""

import os

import bpy
from drive import module, until
from mishaps import begin, ended, pick, press, started


def folders(scene):
    """Where the scene says that its results and its render lie, as absolute paths."""
    paths = module("sidebar.paths")
    state = scene.matchcut
    return [str(paths.absolute(one)) if one else "" for one in (state.results.folder, state.render.folder)]


def by_uid(uid):
    return next(scene for scene in bpy.data.scenes if scene.session_uid == uid)


def steps(window):
    yield from begin(window)
    first = bpy.context.scene
    first_uid = first.session_uid
    other = first.copy()
    other.name = "Other"
    other.matchcut.output = str(window.out / "other")
    yield from pick(other, os.environ["MATCHCUT_TEST_SHORTER"])
    window.facts["references"] = [first.matchcut.reference.frames, other.matchcut.reference.frames]
    bpy.ops.ed.undo_push(message="Before the score")

    first.matchcut.samples = 32
    window.facts["begun"] = press(window, "score")
    yield from started()
    first.name = "Renamed"
    with bpy.context.temp_override(window=window.window, area=window.area):
        bpy.ops.object.select_all(action="DESELECT")
        bpy.ops.mesh.primitive_cube_add()
        bpy.ops.ed.undo_push(message="A cube")
    yield 0.5
    with bpy.context.temp_override(window=window.window, area=window.area):
        bpy.ops.ed.undo()
    yield 0.5
    window.facts["undone"] = module("jobs").running() is not None
    window.window.scene = bpy.data.scenes["Other"]
    yield from ended(window, "scored")
    yield from until(lambda: by_uid(first_uid).matchcut.results.folder, 20)  # a score is read in slices
    scenes = {scene.session_uid: scene for scene in bpy.data.scenes}
    first, other = scenes[first_uid], bpy.data.scenes["Other"]
    window.facts["first"], window.facts["other"] = folders(first), folders(other)
    yield from window.picture("1-other-scene")

    window.facts["begun_other"] = press(window, "score")
    yield from ended(window, "scored_other")
    yield from until(lambda: bpy.data.scenes["Other"].matchcut.results.folder, 20)
    scenes = {scene.session_uid: scene for scene in bpy.data.scenes}
    window.facts["first_again"] = folders(scenes[first_uid])
    window.facts["other_again"] = folders(bpy.data.scenes["Other"])
    bpy.data.scenes["Other"].frame_current += 1
    bpy.ops.ed.undo_push(message="Another frame")
    with bpy.context.temp_override(window=window.window, area=window.area):
        bpy.ops.ed.undo()
    yield 0.5
    window.facts["after_undo"] = folders(bpy.data.scenes["Other"])

    scene = window.window.scene = bpy.data.scenes["Other"]  # an undo shows the scene in which it was
    scene.matchcut.render.mode, scene.matchcut.samples = "FINAL", 512
    scene.matchcut.output = ""
    for name in ("here", "elsewhere/deep"):
        (window.out / name).mkdir(parents=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(window.out / "here" / "shot.blend"))
    window.facts["begun_render"] = press(window, "render")
    yield from started()
    bpy.ops.wm.save_as_mainfile(filepath=str(window.out / "elsewhere" / "deep" / "new.blend"))
    yield from ended(window, "rendered")
    scene = bpy.data.scenes["Other"]
    yield from until(lambda: scene.matchcut.render.folder, 20)  # renders are listed beside the window
    window.facts["saved_as"] = [
        folders(scene)[1],
        bpy.data.filepath,
        str(module("sidebar.paths").absolute(scene.matchcut.reference.path)),
    ]
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    yield from until(lambda: "Other" in bpy.data.scenes, 20)
    yield 1.0
    scene = bpy.data.scenes["Other"]
    window.facts["opened_again"] = [folders(scene)[1], scene.matchcut.render.folder, scene.matchcut.results.folder]
    yield from window.picture("2-opened-again")
