# SPDX-License-Identifier: GPL-3.0-or-later
"""What the audit's collectors find in scenes that cheat and in honest ones, and that they run none of it."""

import ast
import json
import re

import audit_reference
import audit_scenes
import audit_tricks
import bpy
import numpy as np
import pytest
from matchcut.addon.audit.collect import audit_scene, collect
from matchcut.addon.audit.files import Exporter, sampled, sequence_files
from matchcut.addon.audit.findings import LONGEST_TEXT, MOST_PLACES, clean, places, shown_path
from matchcut.addon.audit.images import find_images
from matchcut.addon.audit.raster import draw, is_flat
from matchcut.addon.audit.reach import Reach
from matchcut.assets_ui.samples import VARIANTS, build_sample
from matchcut.evaluator.audit.reasons import WHY
from matchcut.evaluator.protocol.errors import BadInputError


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("audit")
    audit_reference.prepare(made)
    return made


@pytest.fixture
def look(tmp_path):
    """A function that saves what is open and audits the file, as the child does."""

    def audit(path=None):
        if path is None:
            path = tmp_path / "scene.blend"
            bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
        (tmp_path / "out").mkdir(exist_ok=True)
        audit_scene(path, tmp_path / "out", audit_reference.FRAMES)
        data = json.loads((tmp_path / "out" / "findings.json").read_text())
        assert data["format"] == "matchcut-audit-findings/1" and {item["kind"] for item in data["findings"]} <= set(WHY)
        return data["findings"]

    return audit


def named(findings):
    """(severity, kind, type, name) of the findings that are told whatever the comparison says."""
    return {
        tuple(item[key] for key in ("severity", "kind", "type", "name"))
        for item in findings
        if not item["only_if_matched"]
    }


CHEATING = audit_scenes.CHEATING | audit_tricks.CHEATING
HONEST = audit_scenes.HONEST | audit_tricks.HONEST


@pytest.mark.parametrize("builder", CHEATING, ids=lambda builder: builder.__name__)
def test_cheating_scenes_are_named(builder, folder, look):
    severity, *rest = CHEATING[builder]
    findings = look(audit_scenes.build(builder, folder))
    found = [item for item in findings if [item["kind"], item["type"], item["name"]] == rest]
    assert found, findings
    assert severity in (found[0]["severity"], found[0]["matched_severity"])
    assert found[0]["where"] and found[0]["what"]
    assert bool(found[0]["pictures"]) == (builder in audit_scenes.MATCHING or builder in audit_tricks.CHEATING)
    assert str(folder) not in json.dumps([{**item, "pictures": []} for item in findings])


@pytest.mark.parametrize("builder", HONEST, ids=lambda builder: builder.__name__)
def test_honest_scenes_pass(builder, folder, look):
    assert named(look(audit_scenes.build(builder, folder))) == HONEST[builder]


def test_the_file_that_blender_starts_with_is_honest(look):
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    assert {item[0] for item in named(look())} <= {"note"}


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_samples_say_nothing(variant, tmp_path, look):
    build_sample("two_shots", variant, tmp_path / "sample.blend")
    assert named(look(tmp_path / "sample.blend")) == set()


def test_what_a_person_should_look_at(folder, look):
    findings = look(audit_scenes.build(audit_scenes.suspects, folder))
    assert named(findings) >= audit_scenes.SUSPECTS
    assert not [item for item in findings if item["severity"] == "forbidden"]


def test_nothing_of_the_file_runs(tmp_path, look):
    scene = audit_scenes.empty_scene()
    trace = tmp_path / "trace"
    text = bpy.data.texts.new("start.py")
    text.write(f"open({str(trace)!r}, 'w').write('ran')\n")
    text.use_module = True
    expression = f"open({str(trace)!r}, 'w').write('ran')"
    scene.camera.driver_add("location", 0).driver.expression = expression
    path = tmp_path / "hostile.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
    trace.unlink(missing_ok=True)
    findings = named(look(path))
    assert {("suspicious", "script", "text", "start.py"), ("suspicious", "driver", "object", "Camera")} <= findings
    assert not trace.exists()


def test_a_file_that_is_no_scene(tmp_path):
    (tmp_path / "bad.blend").write_bytes(b"BLENDER17-01v0502" + bytes(4000))
    with pytest.raises(BadInputError, match="cannot open"):
        audit_scene(tmp_path / "bad.blend", tmp_path)


# ---------------------------------------------------------------------------------------------- what reaches the render


def severity_of_image(tmp_path, name="frame.png"):
    found = list(find_images(Reach(bpy.context.scene), Exporter(tmp_path / "pictures")))
    return {item.name: item.severity for item in found}[name]


@pytest.fixture
def screen(folder):
    """An object that shows an image."""
    audit_scenes.packed_texture(folder)
    return bpy.data.objects["Screen"]


def test_an_animated_switch_may_be_on(screen, tmp_path):
    screen.hide_render = True
    assert severity_of_image(tmp_path) == "suspicious"
    screen.keyframe_insert("hide_render", frame=1)
    assert severity_of_image(tmp_path) == "forbidden"


def test_an_instanced_collection_renders_though_its_objects_are_nowhere_else(screen, tmp_path):
    away = bpy.data.collections.new("Away")
    bpy.context.scene.collection.objects.unlink(screen)
    away.objects.link(screen)
    assert severity_of_image(tmp_path) == "suspicious"
    audit_scenes.add("Instance", None, instance_type="COLLECTION", instance_collection=away)
    assert severity_of_image(tmp_path) == "forbidden"
    screen.hide_render = True
    assert severity_of_image(tmp_path) == "suspicious"


def test_a_hidden_object_that_nodes_name_renders(screen, tmp_path):
    screen.hide_render = True
    group = bpy.data.node_groups.new("Copy", "GeometryNodeTree")
    group.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    node, output = group.nodes.new("GeometryNodeObjectInfo"), group.nodes.new("NodeGroupOutput")
    node.inputs["Object"].default_value = screen
    group.links.new(node.outputs["Geometry"], output.inputs[0])
    audit_scenes.plane("Host").modifiers.new("Copy", "NODES").node_group = group
    assert severity_of_image(tmp_path) == "forbidden"


def test_another_scene_counts_where_the_rendered_one_shows_it(screen, tmp_path):
    other = bpy.data.scenes.new("Other")
    other.collection.objects.link(screen)
    bpy.context.scene.collection.objects.unlink(screen)
    assert severity_of_image(tmp_path) == "suspicious"
    bpy.context.scene.background_set = other
    assert severity_of_image(tmp_path) == "forbidden"
    bpy.context.scene.background_set = None
    strips = bpy.context.scene.sequence_editor_create().strips
    strips.new_scene("shot", other, channel=1, frame_start=1)
    assert severity_of_image(tmp_path) == "forbidden"


def test_an_image_deep_in_groups_is_found_and_a_muted_group_shows_nothing(folder, tmp_path):
    audit_scenes.empty_scene()
    material = audit_scenes.material("Deep")
    inner, image = None, audit_scenes.load(folder / "frame.png")
    for depth in range(10):
        group = bpy.data.node_groups.new(f"Level {depth}", "ShaderNodeTree")
        group.interface.new_socket("Color", in_out="OUTPUT", socket_type="NodeSocketColor")
        output = group.nodes.new("NodeGroupOutput")
        for _ in range(2):  # each level holds the next twice: 2^10 paths, 10 trees
            node = group.nodes.new("ShaderNodeGroup" if inner else "ShaderNodeTexImage")
            if inner:
                node.node_tree = inner
            else:
                node.image = image
            group.links.new(node.outputs[0], output.inputs[0])
        inner = group
    node = material.node_tree.nodes.new("ShaderNodeGroup")
    node.node_tree = inner
    material.node_tree.links.new(node.outputs[0], material.node_tree.nodes["Emission"].inputs["Color"])
    audit_scenes.plane("Plane", material)
    assert severity_of_image(tmp_path) == "forbidden"
    node.mute = True
    assert severity_of_image(tmp_path) == "suspicious"


def test_an_image_that_nothing_uses_and_one_in_a_custom_property(folder, tmp_path):
    scene = audit_scenes.empty_scene()
    image = audit_scenes.packed(folder / "frame.png")
    image.use_fake_user = True
    assert severity_of_image(tmp_path) == "note"
    scene["picture"] = image
    assert severity_of_image(tmp_path) == "suspicious"


def test_a_painted_pattern_is_a_picture(tmp_path):
    audit_scenes.empty_scene()
    image = bpy.data.images.new("canvas", 16, 16)
    image.pixels.foreach_set(np.random.default_rng(0).random(16 * 16 * 4).astype(np.float32))
    image.pack()
    audit_scenes.plane("Plane", audit_scenes.image_material("Painted", image))
    assert severity_of_image(tmp_path, "canvas") == "forbidden"


def test_a_missing_file_is_said(folder, tmp_path, look):
    audit_scenes.empty_scene()
    (tmp_path / "gone.png").write_bytes((folder / "frame.png").read_bytes())
    image = audit_scenes.load(tmp_path / "gone.png")
    audit_scenes.plane("Plane", audit_scenes.image_material("Lost", image))
    (tmp_path / "gone.png").unlink()
    (found,) = look()
    assert found["severity"] == "forbidden" and "missing" in found["what"] and found["pictures"] == []


def test_what_nodes_have_baked_is_told(look):
    audit_scenes.empty_scene()
    group = bpy.data.node_groups.new("Kept", "GeometryNodeTree")
    group.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    bake, output = group.nodes.new("GeometryNodeBake"), group.nodes.new("NodeGroupOutput")
    group.links.new(bake.outputs[0], output.inputs[0])
    audit_scenes.plane("Holder").modifiers.new("Kept", "NODES").node_group = group
    assert named(look()) == {("suspicious", "simulation_cache", "object", "Holder")}


def test_a_layer_that_may_be_switched_on_renders(screen, tmp_path):
    layer = bpy.context.scene.view_layers.new("Later")
    bpy.context.scene.view_layers[0].use = False
    assert severity_of_image(tmp_path) == "forbidden"
    layer.use = False
    assert severity_of_image(tmp_path) == "suspicious"
    layer.keyframe_insert("use", frame=1)
    assert severity_of_image(tmp_path) == "forbidden"


def test_a_linked_file_of_blender_itself_is_allowed(tmp_path, look):
    audit_scenes.empty_scene()
    library = tmp_path / "datafiles" / "assets" / "nodes" / "essentials.blend"
    library.parent.mkdir(parents=True)
    group = bpy.data.node_groups.new("Smooth by Angle", "GeometryNodeTree")
    bpy.data.libraries.write(str(library), {group})
    audit_scenes.empty_scene()
    with bpy.data.libraries.load(str(library), link=True) as (there, here):
        here.node_groups = there.node_groups
    audit_scenes.plane("Plane").modifiers.new("Smooth", "NODES").node_group = here.node_groups[0]
    assert named(look()) == {("note", "bundled_asset", "library", "essentials.blend")}


def test_appended_datablocks_remember_their_file(folder, tmp_path, look):
    audit_scenes.empty_scene()
    bpy.data.libraries.write(str(tmp_path / "pack.blend"), {audit_scenes.material("Wood")})
    audit_scenes.empty_scene()
    bpy.ops.wm.append(directory=f"{tmp_path / 'pack.blend'}/Material/", filename="Wood", do_reuse_local_id=True)
    audit_scenes.plane("Plane", bpy.data.materials["Wood"])
    assert named(look()) == {("suspicious", "appended", "library", "//pack.blend")}


# -------------------------------------------------------------------------------------------------------- small parts


def test_every_kind_has_its_reason(root):
    kinds = set()
    for path in (root / "addon" / "audit").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding":
                kinds |= {part.value for part in ast.walk(node.args[0]) if isinstance(part, ast.Constant)}
    assert len(kinds) > 15 and kinds <= set(WHY)


def test_texts_of_the_file_are_told_in_one_clean_line():
    assert clean("a\nb\x1b[31m\udcff") == "a b [31m?"
    assert len(clean("x" * 10**6)) <= LONGEST_TEXT + 3
    assert [shown_path(path) for path in ("//a/b.png", "/home/someone/b.png", "C:\\work\\b.png", "//..\\b.png")] == [
        "//a/b.png", "b.png", "b.png", "//../b.png",
    ]  # fmt: skip
    assert places(str(number) for number in range(100))[-1] == f"and {100 - MOST_PLACES} more"


def test_sequences_are_sampled_from_the_files_that_are_there(tmp_path):
    for number in (1, 2, 10, 300):
        (tmp_path / f"shot_{number}.png").touch()
    (tmp_path / "shot_1.jpg").touch()
    assert [path.name for path in sequence_files(tmp_path / "shot_1.png")] == [
        f"shot_{number}.png" for number in (1, 2, 10, 300)
    ]
    assert sequence_files(tmp_path / "none" / "a_1.png") == []
    assert sampled(list(range(100)), 4) == [0, 33, 66, 99] and sampled([1, 2], 4) == [1, 2]


def test_what_is_packed_is_bounded(folder, tmp_path, monkeypatch):
    audit_scenes.packed_texture(folder)
    monkeypatch.setattr("matchcut.addon.audit.files.LARGEST_PACKED", 10)
    findings, notes = collect(bpy.context.scene, tmp_path)
    assert findings[0].pictures == [] and re.search("1 packed pictures were too large", notes[0])


def test_points_are_drawn_as_the_picture_that_they_are():
    image = np.random.default_rng(3).random((27, 48, 3)).astype(np.float32)
    x, y = np.meshgrid(np.arange(48.0), -np.arange(27.0))
    points = np.stack([x, 0 * x, y], -1).reshape(-1, 3).astype(np.float32)
    (drawn,) = draw(points, image.reshape(-1, 3))
    assert drawn.shape == (27, 48, 3) and np.abs(drawn / 255 - image).max() < 0.003
    # turned in space it is seen from its own side, up to its orientation
    axis, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    turned = draw((points @ axis).astype(np.float32), image.reshape(-1, 3))
    flips = [np.rot90(part, turns) for part in (image, image[:, ::-1]) for turns in range(4)]
    assert any(
        part.shape == flip.shape and np.corrcoef(part.ravel(), flip.ravel())[0, 1] > 0.9
        for part in turned
        for flip in flips
    )
    assert is_flat(points) and not is_flat(np.random.default_rng(1).normal(size=(500, 3)).astype(np.float32))
    assert draw(np.zeros((600, 3), np.float32), np.zeros((600, 3), np.float32)) == []
