# SPDX-License-Identifier: GPL-3.0-or-later
"""What the bridge's methods do in a real scene: summary, Python, and copies for renders."""

import json
from pathlib import Path

import bpy
import pytest
from matchcut.addon.agent import python_code
from matchcut.addon.agent.copies import save_copy, scene_place
from matchcut.addon.agent.methods import hello, scene_summary
from matchcut.addon.agent.python_code import run_python
from matchcut.evaluator.protocol.bridge import BridgeCallError, encode_frame


@pytest.fixture(autouse=True)
def scene():
    bpy.ops.wm.read_factory_settings()
    scene = bpy.context.scene
    scene.render.resolution_x, scene.render.resolution_y = 64, 32
    scene.frame_start, scene.frame_end = 11, 20
    scene.frame_set(11)
    return scene


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
    assert len(result["output"]) < python_code.OUTPUT_LIMIT + 100 and "280000 more characters" in result["output"]
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
