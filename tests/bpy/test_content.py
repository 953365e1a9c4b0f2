# SPDX-License-Identifier: GPL-3.0-or-later
"""What a .blend holds as one number: equal where nothing that renders has changed, another one where anything has."""

import json
import os

import bpy
import matchcut
import pytest
from matchcut.addon.blend_blocks import FormatError, read_blocks, read_structs
from matchcut.addon.content import tell_content
from matchcut.addon.scene_file import save_copy


@pytest.fixture
def scene(tmp_path):
    """A scene with what renders look at: animation, a modifier, nodes with a curve, an image on disk."""
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    matchcut.register()
    scene = bpy.context.scene
    cube = bpy.data.objects["Cube"]
    for frame, x in ((1, 0.0), (20, 3.0)):
        cube.location.x = x
        cube.keyframe_insert("location", frame=frame)
    cube.modifiers.new("Bevel", "BEVEL").profile_type = "CUSTOM"
    nodes = cube.data.materials[0].node_tree.nodes
    nodes.new("ShaderNodeRGBCurve")
    texture = tmp_path / "texture_01.png"
    texture.write_bytes(b"a picture")
    nodes.new("ShaderNodeTexImage").image = bpy.data.images.new("texture", 4, 4)
    bpy.data.images["texture"].source = "FILE"
    bpy.data.images["texture"].filepath = str(texture)
    scene.frame_set(1)
    yield scene
    matchcut.unregister()


def copy_of(scene, tmp_path, name):
    return save_copy(scene, tmp_path / name / "scene.blend")


def content_of(copies, tmp_path):
    """What each copy holds; the open file is gone after this."""
    found = []
    for number, path in enumerate(copies):
        out = tmp_path / f"{number}.json"
        tell_content(path, out)
        told = json.loads(out.read_text())
        assert told["content"] or told["reason"]
        found.append(told["content"])
    return found


def test_looking_selecting_and_undone_changes_are_no_change(scene, tmp_path):
    copies = [copy_of(scene, tmp_path, "a")]
    bpy.ops.ed.undo_push(message="base")
    bpy.ops.mesh.primitive_cube_add()
    bpy.ops.ed.undo_push(message="cube")
    bpy.ops.ed.undo()
    scene = bpy.context.scene
    scene.frame_set(13)
    scene.cursor.location = (1, 2, 3)
    scene.tool_settings.use_snap = True
    for item in scene.objects:
        item.select_set(item.type == "LIGHT")
    scene.view_layers[0].objects.active = bpy.data.objects["Light"]
    scene.matchcut.render.scale, scene.matchcut.results.folder = 33, "//elsewhere"
    copies.append(copy_of(scene, tmp_path, "b"))
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    copies.append(copy_of(bpy.context.scene, tmp_path, "c"))
    first, *others = content_of(copies, tmp_path)
    assert first and others == [first, first]


CHANGES = {
    "a vertex": lambda scene: setattr(bpy.data.meshes["Cube"].vertices[0].co, "x", 0.9),
    "a light": lambda scene: setattr(bpy.data.lights["Light"], "energy", 999.0),
    "a key": lambda scene: bpy.data.objects["Cube"].keyframe_insert("location", frame=12),
    "a material": lambda scene: setattr(bpy.data.materials["Material"], "roughness", 0.1),
    "a curve": lambda scene: setattr(
        bpy.data.materials["Material"].node_tree.nodes["RGB Curves"].mapping.curves[0].points[0], "location", (0, 0.3)
    ),
    "a modifier": lambda scene: setattr(bpy.data.objects["Cube"].modifiers["Bevel"], "width", 0.3),
    "its profile": lambda scene: setattr(
        bpy.data.objects["Cube"].modifiers["Bevel"].custom_profile.points[0], "location", (0.5, 0.2)
    ),
    "samples": lambda scene: setattr(scene.cycles, "samples", 3),
    "exposure": lambda scene: setattr(scene.view_settings, "exposure", 1.0),
    "the range": lambda scene: setattr(scene, "frame_start", 2),
    "what is hidden": lambda scene: setattr(bpy.data.objects["Cube"], "hide_render", True),
    "the camera": lambda scene: setattr(bpy.data.cameras["Camera"], "lens", 51.0),
    "the order of objects": lambda scene: setattr(bpy.data.objects["Light"], "name", "A light"),
}


def test_every_change_of_the_scene_is_one(scene, tmp_path):
    copies = [copy_of(scene, tmp_path, "before")]
    for name, change in CHANGES.items():
        change(scene)
        copies.append(copy_of(scene, tmp_path, name.replace(" ", "-")))
    found = content_of(copies, tmp_path)
    same = [name for name, before, after in zip(CHANGES, found, found[1:], strict=False) if before == after]
    assert same == [] and all(found)


def test_a_file_that_it_reads_is_part_of_it(scene, tmp_path):
    copy, texture = copy_of(scene, tmp_path, "a"), tmp_path / "texture_01.png"
    before = content_of([copy], tmp_path)
    os.utime(texture, (1, 1))
    touched = content_of([copy], tmp_path)
    texture.write_bytes(b"another picture")
    changed = content_of([copy], tmp_path)
    texture.unlink()
    gone = content_of([copy], tmp_path)
    assert len({*before, *touched, *changed, *gone}) == 4


def test_the_scene_that_is_rendered_is_part_of_it(scene, tmp_path):
    other = bpy.data.scenes.new("Other")
    first, second = content_of([copy_of(scene, tmp_path, "a"), copy_of(other, tmp_path, "b")], tmp_path)
    assert first != second


def test_what_reads_files_that_nobody_names_is_never_taken_for_the_same(scene, tmp_path):
    bpy.data.objects["Cube"].modifiers.new("Ocean", "OCEAN")
    out = tmp_path / "content.json"
    tell_content(copy_of(scene, tmp_path, "a"), out)
    told = json.loads(out.read_text())
    assert told["content"] == "" and "'Ocean'" in told["reason"]


def test_a_file_of_another_format_is_refused(scene, tmp_path):
    path = tmp_path / "scene.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True, compress=False)
    data = path.read_bytes()
    with path.open("rb") as file:
        blocks = read_blocks(file)
        structs = read_structs(file, blocks)
    assert {"SC", "OB", "ME", "DNA1"} <= {block.code for block in blocks}
    scenes = [fields for name, fields in structs.values() if name == "Scene"]
    assert len(scenes) == 1 and "id" in scenes[0]
    for broken in (
        b"",
        data[:40],
        data[:-500],
        data.replace(b"BLENDER17", b"BLENDER16"),
        data.replace(b"STRC", b"STRX"),
    ):
        path.write_bytes(broken)
        with path.open("rb") as file, pytest.raises(FormatError):
            read_structs(file, read_blocks(file))
