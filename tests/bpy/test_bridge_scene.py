# SPDX-License-Identifier: GPL-3.0-or-later
"""What the bridge tells of a scene, how its changes are taken back, and what is saved before they are made."""

import json
import math
import time

import bpy
import pytest
from matchcut.addon.agent import checkpoint as checkpoint_module
from matchcut.addon.agent.checkpoint import CHECKPOINTS, KEPT
from matchcut.addon.agent.inspection import inspect_data
from matchcut.addon.agent.methods import scene_summary
from matchcut.addon.agent.python_code import run_python
from matchcut.addon.agent.undo import HISTORY, undo
from matchcut.evaluator.protocol.bridge import BridgeCallError, encode_frame
from matchcut.evaluator.protocol.checkpoints import checkpoint_folder, checkpoints
from matchcut.evaluator.protocol.errors import OperationalError

TOKENS = 4000


@pytest.fixture(autouse=True)
def scene(tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))
    bpy.ops.wm.read_factory_settings()
    HISTORY.watch(lambda: True)
    monkeypatch.setattr(CHECKPOINTS, "_saved", None)
    monkeypatch.setattr(CHECKPOINTS, "_ended", time.monotonic())  # none is due
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 11, 20
    yield scene
    HISTORY.unwatch()


@pytest.fixture
def cube():
    return bpy.data.objects["Cube"]


def lines_of(*arguments, **options):
    answer = inspect_data(*arguments, **options)
    encode_frame(answer)
    return answer["lines"]


def all_lines(*arguments, **options):
    found, offset = [], 0
    while offset is not None:
        answer = inspect_data(*arguments, **options, offset=offset)
        assert len(json.dumps(answer, ensure_ascii=False)) / 4 < TOKENS
        found += answer["lines"]
        offset = answer["next_offset"]
    return found


def refused(function, *arguments, **options):
    with pytest.raises(BridgeCallError) as caught:
        function(*arguments, **options)
    assert len(str(caught.value).splitlines()) == 1 and len(str(caught.value)) < 1000
    return f"{caught.value.code}: {caught.value}"


# --- summary ----------------------------------------------------------------------------------------------------------


def test_a_summary_stays_small_whatever_the_scene_holds(scene):
    for number in range(300):
        name = f"{number} {'ü' * 120}"
        made = bpy.data.objects.new(name, bpy.data.cameras.new(name))
        scene.collection.objects.link(made)
        scene.collection.children.link(bpy.data.collections.new(name))
    for number in range(10_000):
        scene.timeline_markers.new(f"m{number}", frame=number)
    seen, offset = [], 0
    while offset is not None:
        answer = scene_summary(offset=offset, limit=500)
        assert len(json.dumps(answer, ensure_ascii=False)) / 4 < TOKENS
        seen += [one["name"] for one in answer["objects"]["items"]]
        offset = answer["objects"]["next_offset"]
    assert len(seen) == len(set(seen)) == 303
    assert answer["counts"] | {"markers": 10_000, "cameras": 301, "collections": 301} == answer["counts"]
    last = inspect_data("scene", path="timeline_markers", offset=10_000)["lines"]
    assert last == ['timeline_markers[9999]: "m9999", frame=9999']


def test_objects_are_chosen_by_name_and_type():
    def names(**options):
        return [one["name"] for one in scene_summary(**options)["objects"]["items"]]

    assert names(match="UB") == names(kind="mesh") == names(match="c*e") == ["Cube"]
    assert sorted(names(match="c*")) == ["Camera", "Cube"] and names(match="c*", kind="CAMERA") == ["Camera"]
    assert names(match="[C]ube") == [] and names(kind="NONE") == []
    assert scene_summary(match="cube")["objects"]["total"] == 1 and scene_summary(match="x")["counts"]["objects"] == 3
    assert "bad_params" in refused(scene_summary, match=5)


# --- inspect ----------------------------------------------------------------------------------------------------------


def test_an_object_shows_what_is_not_at_its_default(scene, cube):
    cube.location = (1, 2, float("nan"))
    bevel = cube.modifiers.new("Größe", "BEVEL")
    bevel.width = 0.25
    track = cube.constraints.new("TRACK_TO")
    track.target = scene.camera
    cube["note"] = {"a": [1, 2]}
    lines = lines_of("object", "Cube")
    assert "location = (1, 2, nan)" in lines and "[\"note\"] = {'a': [1, 2]}" in lines
    assert 'modifiers["Größe"].width = 0.25' in lines and not any("segments" in line for line in lines)
    assert 'constraints["Track To"].target = bpy.data.objects["Camera"]' in lines
    assert 'material_slots["Material"].material = bpy.data.materials["Material"]' in lines
    assert any("8 vertices" in line for line in lines)
    assert "segments = 1" in lines_of("object", "Cube", "modifiers['Größe']"), "of a part everything is told"
    # what is told can be run
    for line in lines:
        if not line.startswith("#") and "nan" not in line and "dimensions" not in line:
            exec(f"root = bpy.data.objects['Cube']; root{'' if line[0] == '[' else '.'}{line}", {"bpy": bpy})


def test_a_new_object_says_little():
    bpy.context.collection.objects.link(bpy.data.objects.new("New", bpy.data.meshes.new("New")))
    assert len(lines_of("object", "New")) <= 12 and len(lines_of("mesh", "New")) <= 4
    for kind, owners in (("material", bpy.data.materials), ("camera", bpy.data.cameras), ("world", bpy.data.worlds)):
        assert len(lines_of(kind, owners.new("Plain").name)) <= 20
    assert not [one.name for one in bpy.data.all_ids if one.name.startswith(".matchcut")], "nothing is left behind"


def test_a_material_shows_its_nodes_and_links():
    tree = bpy.data.materials["Material"].node_tree
    noise, ramp, math_node = (
        tree.nodes.new(name) for name in ("ShaderNodeTexNoise", "ShaderNodeValToRGB", "ShaderNodeMath")
    )
    noise.inputs["Scale"].default_value = 9
    math_node.operation, math_node.inputs[1].default_value = "MULTIPLY", 3
    ramp.color_ramp.elements[0].position = 0.25
    tree.links.new(noise.outputs["Color"], tree.nodes["Principled BSDF"].inputs["Base Color"])
    lines = lines_of("material", "Material")
    assert 'node_tree.nodes["Noise Texture"].inputs["Scale"].default_value = 9' in lines
    assert 'node_tree.nodes["Math"].inputs[1].default_value = 3' in lines, "two inputs of a Math node are called Value"
    assert "node_tree.nodes[\"Math\"].operation = 'MULTIPLY'" in lines
    assert '# link "Noise Texture".outputs["Color"] -> "Principled BSDF".inputs["Base Color"]' in lines
    assert 'node_tree.nodes["Color Ramp"].color_ramp.elements[0].position = 0.25' in lines
    assert not any('inputs["Base Color"].default_value' in line for line in lines), "what a link replaces"
    assert not any("Metallic" in line for line in lines)
    same = inspect_data("node_tree", "Material")
    assert same["root"] == 'bpy.data.materials["Material"].node_tree'
    assert "nodes[\"Math\"].operation = 'MULTIPLY'" in same["lines"]
    node = lines_of("material", "Material", 'node_tree.nodes["Principled BSDF"]')
    assert 'inputs["Metallic"].default_value = 0' in node


def test_an_action_shows_its_keyframes_from_frame_zero(cube):
    for frame, value in ((11, 0), (15, 2.5), (20, 5)):
        cube.location.x = value
        cube.keyframe_insert("location", index=0, frame=frame)
    curve = cube.animation_data.action.layers[0].strips[0].channelbags[0].fcurves[0]
    curve.keyframe_points[1].interpolation = "LINEAR"
    lines = lines_of("action", cube.animation_data.action.name)
    assert any('fcurve "location"[0]: 3 keys' in line for line in lines)
    assert any("BEZIER 0: 0; 4: 2.5 LINEAR; 9: 5" in line for line in lines)
    assert any('slot "OBCube" used by bpy.data.objects["Cube"]' in line for line in lines)
    assert any("animation_data.action" in line for line in lines_of("object", "Cube"))


def test_much_comes_in_pages(cube):
    cube.location.x = 0
    for frame in range(3000):
        cube.keyframe_insert("location", index=0, frame=frame)
    lines = all_lines("action", cube.animation_data.action.name)
    assert any("2988: 0" in line for line in lines)
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=60, y_subdivisions=60)
    vertices = all_lines("object", "Grid", path="data.vertices")
    assert len(vertices) == 61 * 61 + 1
    assert inspect_data("object", "Cube", offset=10**6)["lines"] == []


def test_a_geometry_nodes_modifier_shows_what_it_gives_its_group(cube):
    group = bpy.data.node_groups.new("Geo", "GeometryNodeTree")
    group.interface.new_socket("Size", in_out="INPUT", socket_type="NodeSocketFloat").default_value = 2
    modifier = cube.modifiers.new("GN", "NODES")
    modifier.node_group = group
    assert 'modifiers["GN"].properties.inputs.Socket_0.value = 2  # Size'.replace("  ", " ") in lines_of(
        "object", "Cube"
    )
    assert any('interface INPUT "Size" (NodeSocketFloat' in line for line in lines_of("node_group", "Geo"))


def test_every_kind_of_data_block_can_be_inspected(tmp_path):
    run_python("bpy.ops.object.armature_add()\nbpy.ops.object.text_add()\nbpy.ops.object.metaball_add()")
    bpy.ops.object.grease_pencil_add(type="STROKE")
    bpy.ops.object.light_add(type="AREA")
    bpy.ops.curve.primitive_bezier_circle_add()
    bpy.data.objects["Cube"].shape_key_add(name="Basis")
    bpy.data.images.new("Picture", 8, 8)
    bpy.data.texts.new("Text")
    for prop in bpy.types.BlendData.bl_rna.properties:
        if prop.type != "COLLECTION" or prop.identifier == "all_ids":
            continue
        for one in list(getattr(bpy.data, prop.identifier))[:3]:
            answer = inspect_data(prop.identifier, one.name_full)
            encode_frame(answer)
            assert answer["lines"] and answer["root"].startswith(f"bpy.data.{prop.identifier}"), one


def test_what_is_not_there_is_named_with_what_is_near():
    assert "'Cube'" in refused(inspect_data, "object", "cub")
    assert "'Cube'" in refused(inspect_data, "object", "Cube.001")
    assert "material" in refused(inspect_data, "materiel", "x")
    assert "modifiers" in refused(inspect_data, "object", "Cube", "modifers[0]")
    assert "of 0" in refused(inspect_data, "object", "Cube", "modifiers[0]")
    assert "nothing behind it" in refused(inspect_data, "object", "Cube", "parent.location")
    assert "'Principled BSDF'" in refused(inspect_data, "material", "Material", "node_tree.nodes['principled']")
    for path in (
        "__class__",
        "location.__len__()",
        "data; import os",
        "[",
        "location[",
        "modifiers['",
        "a" * 2000,
        "é",
    ):
        assert "bad_params" in refused(inspect_data, "object", "Cube", path)
    for wrong in ({"kind": 5}, {"kind": "object", "name": None}, {"kind": "object", "offset": -1}, {"kind": ""}):
        assert "bad_params" in refused(inspect_data, **wrong)
    assert refused(inspect_data, "object", "\ud800" * 5).isascii()


def test_what_is_linked_from_another_file_says_so(tmp_path):
    path = tmp_path / "lib.blend"
    bpy.data.objects["Cube"].name = "Far"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.read_factory_settings()
    with bpy.data.libraries.load(str(path), link=True) as (_, into):
        into.objects = ["Far"]
    bpy.context.collection.objects.link(into.objects[0])
    answer = inspect_data("object", "Far")
    assert answer["root"] == f'bpy.data.objects["Far", "{path}"]' and "linked from" in "\n".join(answer["lines"])
    assert scene_summary(match="Far")["objects"]["total"] == 1


def test_things_that_lead_to_each_other_end(cube):
    group = bpy.data.node_groups.new("Outer", "ShaderNodeTree")
    inner = bpy.data.node_groups.new("Inner", "ShaderNodeTree")
    group.nodes.new("ShaderNodeGroup").node_tree = inner
    camera = bpy.data.objects["Camera"]
    cube.constraints.new("COPY_LOCATION").target = camera
    camera.constraints.new("COPY_LOCATION").target = cube
    cube["loop"] = camera
    camera["loop"] = cube
    assert '["loop"] = bpy.data.objects["Camera"]' in lines_of("object", "Cube")
    assert any('node_tree = bpy.data.node_groups["Inner"]' in line for line in lines_of("node_tree", "Outer"))
    bpy.ops.object.armature_add()
    assert len(all_lines("armature", "Armature")) < 40 and len(all_lines("object", "Armature")) < 60


# --- undo -------------------------------------------------------------------------------------------------------------


def test_a_step_back_is_the_scene_from_before_and_can_be_done_again(cube):
    assert run_python("bpy.data.objects['Cube'].location.x = 4", "move")["undo_step"] == "Agent: move"
    run_python("bpy.data.objects.remove(bpy.data.objects['Light'])", "no light")
    assert run_python("len(bpy.data.objects)")["undo_step"] == "", "what changes nothing is no step"
    assert undo() == {
        "moved": ["Agent: no light"], "can_undo": ["Agent: move"], "can_redo": ["Agent: no light"], "file": "",
    }  # fmt: skip
    assert "Light" in bpy.data.objects and bpy.data.objects["Cube"].location.x == 4
    assert undo()["moved"] == ["Agent: move"] and bpy.data.objects["Cube"].location.x == 0
    assert undo(-2)["moved"] == ["Agent: move", "Agent: no light"]
    assert "Light" not in bpy.data.objects and bpy.data.objects["Cube"].location.x == 4
    assert undo(2)["can_redo"] == ["Agent: move", "Agent: no light"]
    run_python("bpy.data.objects['Cube'].location.y = 1", "other")
    assert "failed: 1 steps" in refused(undo, -1), "a new step ends what could be done again"
    assert undo()["can_undo"] == [] and bpy.data.objects["Cube"].location.y == 0


def test_more_than_is_known_is_refused_whole():
    assert "0 are known" in refused(undo)
    run_python("bpy.data.objects['Cube'].location.x = 4", "move")
    assert "'Agent: move'" in refused(undo, 2) and bpy.data.objects["Cube"].location.x == 4
    for wrong in (0, 65, True, "1", 1.5, None):
        assert "bad_params" in refused(undo, wrong)


def test_what_code_did_before_it_failed_is_taken_back():
    failed = run_python("bpy.data.objects['Cube'].location.x = 4\n1 / 0", "half")
    assert failed["error"] and failed["undo_step"] == "Agent: half"
    undo()
    assert bpy.data.objects["Cube"].location.x == 0


def test_changes_without_a_step_before_belong_to_nobody(cube):
    run_python("bpy.data.objects['Cube'].location.x = 4", "move")
    HISTORY.watch(lambda: False)
    cube.location.y = 7  # somebody else's
    bpy.context.view_layer.update()
    assert "0 are known" in refused(undo)
    HISTORY._is_calling = lambda: True
    run_python("bpy.data.objects['Cube'].location.z = 1", "up")
    undo()
    assert tuple(bpy.data.objects["Cube"].location) == (4, 7, 0), "somebody else's change stays"


def test_somebody_else_s_step_through_the_history_is_noticed():
    run_python("bpy.data.objects['Cube'].location.x = 4", "move")
    bpy.ops.ed.undo()
    assert "0 are known" in refused(undo)
    run_python("bpy.data.objects['Cube'].location.x = 5", "again")
    ran = run_python("bpy.data.objects['Cube'].location.y = 5\nbpy.ops.ed.undo_push(message='own')", "own")
    assert ran["undo_step"] == "" and "0 are known" in refused(undo)


def test_edit_mode_is_taken_back_too(cube):
    run_python(
        "bpy.context.view_layer.objects.active = bpy.data.objects['Cube']\nbpy.ops.object.mode_set(mode='EDIT')", "in"
    )
    both = "bpy.ops.mesh.subdivide()\nbpy.data.objects['Cube'].location.x = 9\nbpy.data.objects['Light'].location.x = 9"
    run_python(both, "both")
    assert bpy.context.mode == "EDIT_MESH"
    undo()
    light = bpy.data.objects["Light"]
    assert bpy.data.objects["Cube"].location.x == 0 and light.location.x != 9, "not the mesh alone"
    undo(-1)
    if bpy.context.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    assert len(bpy.data.meshes["Cube"].vertices) == 26 and bpy.data.objects["Cube"].location.x == 9
    undo(2)
    assert bpy.context.mode == "OBJECT" and len(bpy.data.meshes["Cube"].vertices) == 8


def test_many_steps_stay_within_what_blender_keeps():
    kept = bpy.context.preferences.edit.undo_steps
    for number in range(kept + 10):
        run_python(f"bpy.data.objects['Cube'].location.x = {number + 1}", str(number))
    steps = len(HISTORY.done)
    assert kept - 2 <= steps <= kept
    undo(steps)
    assert bpy.data.objects["Cube"].location.x == kept + 10 - steps


def test_opening_another_file_is_taken_back_by_the_copy_from_before(tmp_path):
    other = tmp_path / "other.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(other), copy=True)
    run_python("bpy.data.objects['Cube'].location.x = 4", "move")
    opened = run_python(f"bpy.ops.wm.open_mainfile(filepath={str(other)!r})", "open")
    assert opened["checkpoint"] and opened["risks"] == ["bpy.ops.wm.open_mainfile"] and opened["undo_step"]
    run_python("bpy.data.objects['Cube'].location.y = 1", "after")
    assert bpy.data.filepath == str(other)
    answer = undo(2)
    assert answer["moved"] == ["Agent: after", "Agent: open"] and answer["file"] == opened["checkpoint"]
    assert bpy.data.objects["Cube"].location.x == 4
    assert "0 are known" in refused(undo)
    run_python("bpy.data.objects['Cube'].location.x = 5", "on")
    undo()
    assert bpy.data.objects["Cube"].location.x == 4


def test_without_global_undo_it_is_said(monkeypatch):
    monkeypatch.setattr(bpy.context.preferences.edit, "use_global_undo", False)
    assert run_python("bpy.data.objects['Cube'].location.x = 4")["undo_step"] == ""
    assert "Global Undo is off" in refused(undo)


# --- checkpoints ------------------------------------------------------------------------------------------------------


def test_risky_code_is_preceded_by_a_copy_and_unchanged_scenes_by_no_second_one():
    run_python("bpy.data.objects['Cube'].location.x = 4")
    assert run_python("1 + 1")["checkpoint"] == ""
    first = run_python("import os\nif False: os._exit(1)")
    assert first["checkpoint"] and first["risks"] == ["os._exit"]
    again = run_python("1 + 1", checkpoint=True)
    assert again["checkpoint"] == first["checkpoint"]
    run_python("bpy.data.objects['Cube']['note'] = 1")
    third = run_python("1 + 1", checkpoint=True)
    assert third["checkpoint"] != first["checkpoint"]
    bpy.ops.wm.open_mainfile(filepath=third["checkpoint"])
    assert bpy.data.objects["Cube"].location.x == 4 and bpy.data.objects["Cube"]["note"] == 1


def test_only_the_last_few_are_kept():
    for number in range(KEPT + 3):
        run_python(f"bpy.data.objects['Cube'].location.x = {number}", checkpoint=True)
    kept = checkpoints(CHECKPOINTS.owner)
    assert [path.stem.rpartition("-")[2] for path in kept] == [f"{number:06d}" for number in range(4, KEPT + 4)]
    assert sorted(checkpoint_folder().iterdir()) == kept, "no half-written file stays"


def test_one_is_due_now_and_then(monkeypatch):
    monkeypatch.setattr(CHECKPOINTS, "_ended", time.monotonic() - 2 * checkpoint_module.PAUSE)
    monkeypatch.setattr(CHECKPOINTS, "_cost", 0.01)
    assert run_python("bpy.data.objects['Cube'].location.x = 4")["checkpoint"]
    assert run_python("bpy.data.objects['Cube'].location.x = 5")["checkpoint"] == ""
    monkeypatch.setattr(CHECKPOINTS, "_ended", time.monotonic() - 2 * checkpoint_module.PAUSE)
    monkeypatch.setattr(CHECKPOINTS, "_cost", 4 * checkpoint_module.PAUSE * checkpoint_module.SHARE)
    assert run_python("1")["checkpoint"] == "", "one that takes long is made less often"


def test_one_that_cannot_be_saved_stops_code_only_where_it_was_asked_for(tmp_path, capfd):
    (tmp_path / "bridge").mkdir()
    (tmp_path / "bridge" / "checkpoints").touch()
    with pytest.raises(OperationalError, match="no checkpoint can be saved"):
        run_python("bpy.data.objects['Cube'].location.x = 4", checkpoint=True)
    assert bpy.data.objects["Cube"].location.x == 0
    ran = run_python("import os\nbpy.data.objects['Cube'].location.x = 4\nif False: os._exit(1)")
    assert ran["error"] is None and ran["checkpoint"] == "" and "no checkpoint" in capfd.readouterr().err


# --- changes ----------------------------------------------------------------------------------------------------------


def test_custom_properties_and_unused_data_are_seen_to_change():
    assert run_python("bpy.data.objects['Cube']['a'] = [1, 2]")["changed"] == ["Object Cube"]
    assert run_python("bpy.data.objects['Cube']['a'] = [1, 3]")["changed"] == ["Object Cube"]
    assert run_python("bpy.data.objects['Cube']['a']")["changed"] == []
    bpy.data.materials.new("unused").use_fake_user = True
    assert run_python("bpy.data.materials['unused'].diffuse_color[0] = .1")["changed"] == ["Material unused"]
    node = "bpy.data.materials['unused'].node_tree.nodes['Principled BSDF'].inputs['Roughness'].default_value = .1"
    assert run_python(node)["changed"] == ["Material unused"]
    undo()
    tree = bpy.data.materials["unused"].node_tree
    assert math.isclose(tree.nodes["Principled BSDF"].inputs["Roughness"].default_value, 0.5)
