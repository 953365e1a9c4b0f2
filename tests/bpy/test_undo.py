# SPDX-License-Identifier: GPL-3.0-or-later
"""Undo takes back whatever a button of ours changes: each one that says so is pressed and undone."""

import bpy
import matchcut
import pytest
from matchcut.addon import registration, state
from matchcut.addon.sidebar.results import store
from score_samples import results_data, write_score

NEED_MORE = {
    "show_in_camera",
    "use_original",
    "pick_reference",
    "add_camera",
    "apply_match",
    "match_frame",
    "match_again",
}
"""Those that need a video that Blender can read, one made by another command, or another state: left to other tests."""


def operators():
    return [
        cls for cls in registration.CLASSES
        if issubclass(cls, bpy.types.Operator) and "UNDO" in getattr(cls, "bl_options", ())
    ]  # fmt: skip


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """A scene in which most buttons can be pressed: a reference that was read, a render, a score, lines and points."""
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    matchcut.register()
    scene = bpy.context.scene
    (tmp_path / "reference.mp4").write_bytes(b"video")
    reference = scene.matchcut.reference
    reference.width, reference.height, reference.rate, reference.frames = 96, 54, "24000/1001", 24
    for first, last in ((0, 11), (12, 23)):
        shot = reference.shots.add()
        shot.first, shot.last = first, last
    data = state.raw(scene)
    data["reference"]["path"] = data["reference"]["read_path"] = str(tmp_path / "reference.mp4")
    scene.matchcut.render.video = str(tmp_path / "reconstruction.mp4")
    scene.matchcut.results.folder = str(write_score(tmp_path / "score-001", results_data()))
    bpy.ops.matchcut.find_scores()
    assert store.known(scene).score is not None
    bpy.ops.matchcut.next_check()
    bpy.ops.matchcut.add_scale_shape()
    match = scene.matchcut.match_camera.matches[0]
    match.lines.add(), match.points.add()
    bpy.ops.ed.undo_push(message="Prepared")
    yield scene
    matchcut.unregister()
    bpy.ops.wm.read_homefile(use_factory_startup=True)


def plain(value):
    """An ID property as plain values."""
    if hasattr(value, "keys"):
        return {key: plain(value[key]) for key in value.keys()}  # noqa: SIM118 (no dict)
    if hasattr(value, "to_list"):
        return value.to_list()
    if isinstance(value, list):
        return [plain(one) for one in value]
    return getattr(value, "name", value)


def snapshot():
    """What a button could change, as plain values."""
    scene = bpy.context.scene
    data = plain(state.raw(scene))
    for own in ("version", "base"):  # which state.py writes at once after an undo
        data.pop(own, None)
    cameras = {
        one.name: (tuple(one.location), tuple(one.rotation_euler), one.data.lens, one.data.shift_x, one.data.shift_y)
        for one in bpy.data.objects if one.type == "CAMERA"
    }  # fmt: skip
    names = ("frame_start", "frame_end", "frame_current")
    return {
        "matchcut": data, "cameras": cameras, "objects": sorted(one.name for one in bpy.data.objects),
        "camera": scene.camera and scene.camera.name, "frames": [getattr(scene, name) for name in names],
        "markers": sorted((one.name, one.frame) for one in scene.timeline_markers),
        "size": (scene.render.resolution_x, scene.render.resolution_y, scene.render.fps, scene.render.fps_base),
    }  # fmt: skip


def different(before, after, where=""):
    """Where two snapshots differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [
            one for key in {*before, *after} for one in different(before.get(key), after.get(key), f"{where}/{key}")
        ]
    # a group that was only looked at is stored without anything in it
    return [] if before == after or (not before and not after) else [f"{where} was {before!r}, is {after!r}"]


def press(cls):
    """Press a button as Blender's interface does, with its undo step; whether it did something."""
    name = cls.bl_idname.partition(".")[2]
    operator = getattr(bpy.ops.matchcut, name)
    checks = store.known(bpy.context.scene).score.checks
    arguments = {"set_line_axis": {"axis": "Z"}, "go_to_check": {"key": checks[-1].key}}
    try:
        return operator.poll() and operator("EXEC_DEFAULT", True, **arguments.get(name, {})) == {"FINISHED"}
    except RuntimeError:
        return False


def test_every_button_that_changes_the_scene_is_undone(scene):
    pressed, kept = [], []
    names = [cls.bl_idname.partition(".")[2] for cls in operators()]
    assert len(names) > 12
    for cls in operators():
        name = cls.bl_idname.partition(".")[2]
        before = snapshot()
        if name in NEED_MORE or not press(cls):
            continue
        changed = snapshot() != before
        bpy.ops.ed.undo()
        if changed:
            pressed.append(name)
            after = snapshot()
            kept += [f"{name}: {part}" for part in different(before, after)]
        bpy.ops.ed.undo_push(message="Between")
    assert kept == [], "an undo left something of a change"
    missing = set(names) - set(pressed) - NEED_MORE
    print("changed and undone:", sorted(pressed), "not pressed:", sorted(missing))
    assert missing == set(), "these could not be pressed: prepare what they need, or name them in NEED_MORE"


def test_a_change_of_a_property_is_undone(scene):
    chosen = scene.matchcut
    chosen.setting, chosen.samples, chosen.render.scale = "detailed", 77, 25
    bpy.ops.ed.undo_push(message="Settings")
    bpy.ops.ed.undo()
    chosen = bpy.context.scene.matchcut
    assert (chosen.setting, chosen.samples) != ("detailed", 77)
    bpy.ops.ed.redo()
    chosen = bpy.context.scene.matchcut
    assert (chosen.setting, chosen.samples, chosen.render.scale) == ("detailed", 77, 25)
