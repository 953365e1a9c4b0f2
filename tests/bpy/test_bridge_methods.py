# SPDX-License-Identifier: GPL-3.0-or-later
"""What the bridge's methods do in a real scene: summary, Python, and a preview that leaves everything as it was."""

import base64
import json
import warnings
from pathlib import Path

import bpy
import pytest
from matchcut.addon.bridge import preview, python_code
from matchcut.addon.bridge.copies import save_copy, scene_place
from matchcut.addon.bridge.methods import hello, scene_summary
from matchcut.addon.bridge.preview import render_frame
from matchcut.addon.bridge.python_code import run_python
from matchcut.evaluator.protocol.bridge import BridgeCallError, encode_frame

IMAGE_SETTINGS = ("media_type", "file_format", "color_mode", "color_depth", "quality")


@pytest.fixture(autouse=True)
def scene():
    bpy.ops.wm.read_factory_settings()
    scene = bpy.context.scene
    scene.render.resolution_x, scene.render.resolution_y = 64, 32
    scene.frame_start, scene.frame_end = 11, 20
    scene.frame_set(11)
    return scene


def settings_of(owner):
    names = [one.identifier for one in owner.bl_rna.properties if not one.is_readonly and one.type != "COLLECTION"]
    values = {name: getattr(owner, name) for name in names if name != "use_nodes"}  # reading that one is deprecated
    return {name: tuple(value) if hasattr(value, "__len__") else value for name, value in values.items()}


def everything(scene):
    image = scene.render.image_settings
    return [
        settings_of(scene),
        settings_of(scene.render),
        {name: getattr(image, name) for name in IMAGE_SETTINGS},
        settings_of(scene.cycles),
        [one.name for one in bpy.data.images],
        {one.name: one.matrix_world.copy() for one in bpy.data.objects},
    ]


def test_the_summary_counts_frames_from_zero_and_pages(scene):
    scene.render.fps, scene.render.fps_base = 24, 1.001
    scene.frame_set(13)
    second = bpy.data.objects.new("Second", bpy.data.cameras.new("Second"))
    scene.collection.objects.link(second)
    scene.timeline_markers.new("cut", frame=15).camera = second
    bpy.data.objects["Cube"].parent = second
    bpy.data.objects["Light"].location.x = float("nan")
    summary = scene_summary()
    encode_frame(summary)
    assert summary["timeline"] == {
        "width": 64, "height": 32, "rate": "24000/1001", "frames": 10, "current_frame": 2, "first_scene_frame": 11,
    }  # fmt: skip
    assert summary["markers"] == [{"name": "cut", "frame": 4, "camera": "Second"}]
    assert {one["name"] for one in summary["cameras"]} == {"Camera", "Second"}
    objects = {one["name"]: one for one in summary["objects"]["items"]}
    assert objects["Cube"]["parent"] == "Second" and objects["Light"]["location"][0] is None
    seen, offset = [], 0
    while offset is not None:
        page = scene_summary(offset=offset, limit=3)["objects"]
        seen += [one["name"] for one in page["items"]]
        offset = page["next_offset"]
    assert sorted(seen) == sorted(objects) and page["total"] == 4
    assert scene_summary(offset=99)["objects"]["items"] == []


def test_a_summary_of_many_objects_stays_small(scene):
    mesh = bpy.data.meshes.new("shared")
    for index in range(500):
        scene.collection.objects.link(bpy.data.objects.new(f"thing {index}", mesh))
    assert len(json.dumps(scene_summary())) < 12_000


@pytest.mark.parametrize(
    ("method", "params"),
    [
        (scene_summary, {"offset": -1}),
        (scene_summary, {"limit": 501}),
        (scene_summary, {"limit": True}),
        (run_python, {"code": 5}),
        (render_frame, {"frame": 10}),
        (render_frame, {"frame": 1.5}),
        (render_frame, {"width": 4096}),
        (render_frame, {"engine": "povray"}),
        (render_frame, {"samples": 0}),
    ],
)
def test_wrong_parameters_are_named(method, params):
    with pytest.raises(BridgeCallError, match=r"expected|have to be") as caught:
        method(**params)
    assert caught.value.code == "bad_params" and next(iter(params)) in str(caught.value)


def test_python_reports_output_result_and_changes():
    result = run_python("bpy.ops.mesh.primitive_cube_add()\nprint('Grüße', '\\ud800')\nbpy.context.object.name")
    assert result["result"] == "'Cube.001'" and result["output"] == "Grüße ?\n" and result["error"] is None
    assert "objects Cube.001 added" in result["changed"] and "meshes Cube.001 added" in result["changed"]
    assert run_python("[one.name for one in bpy.data.objects]")["changed"] == []
    assert "Object Cube" in run_python("bpy.data.objects['Cube'].location.x = 4")["changed"]
    assert "materials m added" in run_python("bpy.data.materials.new('m')")["changed"]
    assert "objects Light removed" in run_python("bpy.data.objects.remove(bpy.data.objects['Light'])")["changed"]
    assert run_python("bpy.context.scene.timeline_markers.new('a', frame=3)")["changed"] == ["timeline_markers"]
    assert run_python("x = 1")["result"] is None
    assert run_python("x")["error"].startswith("NameError"), "every call has a namespace of its own"
    handlers = bpy.app.handlers.depsgraph_update_post
    assert not [one for one in handlers if "matchcut" in one.__module__], "no handler stays behind"


@pytest.mark.parametrize(
    ("code", "error", "line"),
    [
        ("a = 1\nprint('before')\na / 0", "ZeroDivisionError: division by zero", "line 3"),
        ("x = (", "SyntaxError", "line 1"),
        ("import sys\nsys.exit(3)", "SystemExit: 3", "line 2"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", "line 1"),
        ("def f():\n    f()\nf()", "RecursionError", "line 2"),
        ("input()", "EOFError", "line 1"),
        ("class A(Exception):\n    def __str__(self): raise ValueError\nraise A", "A", "line 3"),
        ("class R:\n    def __repr__(self): raise ValueError('no repr')\nR()", "ValueError: no repr", "line 2"),
        (
            "a, b = ValueError('a'), ValueError('b')\na.__cause__, b.__cause__ = b, a\nraise a",
            "ValueError: a",
            "line 3",
        ),
        ("raise ValueError('\\ud800')", "ValueError: ?", "line 1"),
        ("bpy.ops.object.mode_set(mode='NONE')", "TypeError", "line 1"),
        ("x = '\\0'\n" + "(" * 5000, "", ""),
    ],
)
def test_whatever_the_code_raises_comes_back_with_its_line(code, error, line):
    result = run_python(code)
    encode_frame(result)
    assert result["error"] and error in result["error"] and line in result["traceback"]
    assert "python_code.py" not in result["traceback"], "our own frames are of no use to an agent"
    assert run_python("1 + 1")["result"] == "2"


def test_output_and_results_are_bounded():
    result = run_python("for i in range(3000): print('x' * 99)\n'y' * 10**8")
    assert len(result["output"]) < python_code.OUTPUT_LIMIT + 100 and "200000 more characters" in result["output"]
    assert len(result["result"]) < python_code.RESULT_LIMIT + 100 and "left out" in result["result"]
    assert len(run_python("raise ValueError('z' * 10**6)")["traceback"]) < python_code.RESULT_LIMIT + 100
    many = run_python("for i in range(100): bpy.data.materials.new('m')")
    assert len(many["changed"]) == python_code.CHANGED_LIMIT and many["changed_total"] == 100


def test_code_may_open_another_file(tmp_path):
    path = tmp_path / "other.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
    result = run_python(f"bpy.ops.wm.open_mainfile(filepath={str(path)!r})\nbpy.context.scene.name")
    assert result["error"] is None and hello()["file"] == str(path)
    assert run_python("bpy.ops.wm.read_homefile(use_empty=True)")["error"] is None
    assert scene_summary()["objects"]["total"] == 0


def test_a_preview_shows_the_frame_that_was_asked_for_and_changes_nothing(scene, artifacts):
    cube = bpy.data.objects["Cube"]
    cube.location = (0, 0, 0)
    cube.keyframe_insert("location", frame=11)
    cube.location = (90, 0, 0)
    cube.keyframe_insert("location", frame=20)
    scene.frame_set(14)
    cube.location = (7, 8, 9)  # set without a key: evaluating the frame again would lose it
    scene.render.filepath = "//mine/####"
    scene.render.image_settings.media_type = "VIDEO"
    scene.render.use_border = True
    scene.cycles.samples = 999
    bpy.context.view_layer.update()
    before = everything(scene)
    pictures = {}
    for frame in (0, 9):
        result = render_frame(frame, width=96, samples=1)
        data = base64.b64decode(result.pop("jpeg"))
        (artifacts / f"bridge-preview-{frame}.jpg").write_bytes(data)
        assert data[:3] == b"\xff\xd8\xff" and result["frame"] == frame
        assert (result["width"], result["height"], result["engine"], result["samples"]) == (96, 48, "CYCLES", 1)
        image = bpy.data.images.load(result["path"])
        assert tuple(image.size) == (96, 48)
        pictures[frame] = list(image.pixels)
        bpy.data.images.remove(image)
    difference = sum(abs(a - b) for a, b in zip(pictures[0], pictures[9], strict=True)) / len(pictures[0])
    assert difference > 0.02, "the cube is there at frame 0 and gone at frame 9"
    bpy.context.view_layer.update()
    for was, now in zip(before, everything(scene), strict=True):
        assert now == was
    assert tuple(cube.location) == (7, 8, 9) and scene.frame_current == 14


def test_a_preview_follows_bound_cameras_and_gives_the_scene_s_back(scene):
    first = scene.camera
    second = bpy.data.objects.new("Second", bpy.data.cameras.new("Second"))
    second.location = (0, 0, 500)
    scene.collection.objects.link(second)
    scene.timeline_markers.new("a", frame=11).camera = first
    scene.timeline_markers.new("b", frame=15).camera = second
    one, two = (render_frame(frame, width=32, samples=1)["jpeg"] for frame in (0, 6))
    assert one != two and scene.camera == first


def test_a_preview_writes_no_files_of_the_compositor(scene, tmp_path):
    group = bpy.data.node_groups.new("Comp", "CompositorNodeTree")
    node = group.nodes.new("CompositorNodeOutputFile")
    node.directory, node.file_name = str(tmp_path), "leak"
    if hasattr(scene, "compositor_effects"):
        scene.compositor_effects.new("Comp").node_group = group
    else:
        scene.compositing_node_group = group
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = render_frame(0, width=16, samples=1)
    assert [str(warning.message) for warning in caught] == []
    assert "File Output" in result["notes"][0] and not list(tmp_path.iterdir()) and scene.render.use_compositing


def test_a_failed_preview_restores_too(scene, monkeypatch, tmp_path):
    before = everything(scene)
    (tmp_path / "file").touch()
    # a folder that cannot be: Blender fails when it writes the picture
    monkeypatch.setattr(preview.tempfile, "mkdtemp", lambda **_: str(tmp_path / "file" / "folder"))
    with pytest.raises(BridgeCallError) as caught:
        render_frame(0, width=16, samples=1)
    assert caught.value.code == "failed" and everything(scene) == before
    scene.camera = None
    with pytest.raises(BridgeCallError, match="no camera"):
        render_frame(0, width=16)


def test_the_current_frame_outside_the_range_is_said(scene):
    scene.frame_set(5)
    with pytest.raises(BridgeCallError, match=r"current one.*-6"):
        render_frame(width=16)


def test_a_copy_for_a_render_leaves_what_is_open_as_it_is(scene, tmp_path):
    assert scene_place() == {"file": "", "reference": "", "blender": bpy.app.binary_path}
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.data.objects["Cube"].location.x = 7
    saved = (tmp_path / "shot.blend").read_bytes()
    copy = tmp_path / "copy.blend"
    assert save_copy(str(copy)) == {"path": str(copy)}
    assert bpy.data.filepath == str(tmp_path / "shot.blend") == scene_place()["file"]
    assert (tmp_path / "shot.blend").read_bytes() == saved
    bpy.ops.wm.open_mainfile(filepath=str(copy))
    assert bpy.data.objects["Cube"].location.x == 7


@pytest.mark.parametrize("wrong", ["shot.blend", "{folder}/there.blend", "{folder}/no/x.blend", "{folder}/x.py", 5])
def test_a_copy_never_takes_the_place_of_a_file(scene, tmp_path, wrong):
    (tmp_path / "there.blend").write_text("mine")
    with pytest.raises(BridgeCallError, match=r"expected a \.blend that is not there"):
        save_copy(wrong.format(folder=tmp_path) if isinstance(wrong, str) else wrong)
    assert [path.name for path in tmp_path.iterdir()] == ["there.blend"]
    assert (tmp_path / "there.blend").read_text() == "mine"


def test_the_reference_that_the_tab_has_picked_is_told(scene, tmp_path):
    import matchcut

    matchcut.register()
    try:
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
        bpy.context.scene.matchcut.reference.path = "//reference.mp4"
        assert Path(scene_place()["reference"]) == tmp_path / "reference.mp4"
    finally:
        matchcut.unregister()
