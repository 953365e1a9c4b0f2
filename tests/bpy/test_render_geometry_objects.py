"""What the passes tell of objects of every kind: surfaces that let light through, instances, deformation, ids."""

import math
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
import render_scenes
from matchcut.addon.render import geometry, objects
from matchcut.addon.render.settings import layers_in_picture, render_geometry_only
from reprojection import (
    STEPS,
    check_rigid,
    check_static,
    errors,
    ids_of,
    is_static,
    job_of,
    render_passes,
    shows,
)

FRAMES = 3


def card(name="card", place=(0, -2, 1)):
    """An upright square in front of everything else, with a material of its own."""
    bpy.ops.mesh.primitive_plane_add(size=2, location=place, rotation=(math.pi / 2, 0, 0))
    item = bpy.context.object
    item.name = name
    item.data.materials.append(bpy.data.materials.new(name))
    return item


def only_in(item, collection):
    for owner in list(item.users_collection):
        owner.objects.unlink(item)
    collection.objects.link(item)


def cube(name, **arguments):
    bpy.ops.mesh.primitive_cube_add(**arguments)
    item = bpy.context.object
    item.name = name
    return item


def move(item, frames=FRAMES, *, by=(0, 0, 0.6)):
    item.keyframe_insert("location", frame=1)
    item.location = [value + change for value, change in zip(item.location, by, strict=True)]
    item.keyframe_insert("location", frame=frames)


def solid_count(tmp_path):
    """Pixels of an opaque card."""
    render_scenes.build(2)
    card()
    index, data = render_passes(tmp_path / "solid", job_of(2))
    return int(shows(index, data, 0, "card").sum())


@pytest.mark.parametrize("alpha", [0.05, 0.45, 0.9])
def test_what_lets_light_through_in_part_is_a_surface(tmp_path, alpha):
    """… at every pixel: never by chance here and there."""
    render_scenes.build(2)
    card().active_material.node_tree.nodes["Principled BSDF"].inputs["Alpha"].default_value = alpha
    index, data = render_passes(tmp_path, job_of(2))
    assert int(shows(index, data, 0, "card").sum()) == solid_count(tmp_path)
    check_static(index, data)


@pytest.mark.parametrize("node", ["ShaderNodeBsdfGlass", "ShaderNodeBsdfTransparent", "ShaderNodeVolumePrincipled"])
def test_glass_is_a_surface_and_air_is_none(tmp_path, node):
    render_scenes.build(2)
    tree = card().active_material.node_tree
    shader = tree.nodes.new(node)
    tree.nodes.remove(tree.nodes["Principled BSDF"])
    socket = "Volume" if "Volume" in node else "Surface"
    tree.links.new(shader.outputs[0], tree.nodes["Material Output"].inputs[socket])
    index, data = render_passes(tmp_path, job_of(2))
    assert int(shows(index, data, 0, "card").sum()) == (solid_count(tmp_path) if "Glass" in node else 0)
    check_static(index, data)


def test_a_cut_out_texture_is_seen_through_its_holes(tmp_path):
    render_scenes.build(2)
    tree = card().active_material.node_tree
    checker = tree.nodes.new("ShaderNodeTexChecker")
    checker.inputs["Scale"].default_value = 8
    tree.links.new(checker.outputs["Factor"], tree.nodes["Principled BSDF"].inputs["Alpha"])
    index, data = render_passes(tmp_path, job_of(2))
    assert 0.4 < shows(index, data, 0, "card").sum() / solid_count(tmp_path) < 0.6
    check_static(index, data)


def test_what_no_picture_shows_has_no_depth(tmp_path):
    for setting in ("hide_render", "is_holdout"):
        render_scenes.build(2)
        setattr(card(), setting, True)
        index, data = render_passes(tmp_path / setting, job_of(2))
        assert not shows(index, data, 0, "card").any()
        check_static(index, data)


def test_instances_of_a_collection(tmp_path):
    """One carrier rests, the other moves: both are exact, and the object that both show is not static."""
    scene = render_scenes.build(FRAMES)
    collection = bpy.data.collections.new("prop")
    only_in(cube("prop", size=0.7), collection)
    for name, place in (("resting", (-1.5, -2, 1)), ("moving", (1, -2, 1))):
        carrier = bpy.data.objects.new(name, None)
        carrier.instance_type, carrier.instance_collection = "COLLECTION", collection
        scene.collection.objects.link(carrier)
        carrier.location = place
    move(carrier)
    index, data = render_passes(tmp_path, job_of(FRAMES))
    assert not is_static(index, "prop")
    where = shows(index, data, 0, "prop")
    step = np.eye(4)
    step[2, 3] = _height(scene, carrier, 1) - _height(scene, carrier, 0)
    still, moved = errors(data, "flow_next", 0, 1, where), errors(data, "flow_next", 0, 1, where, step)
    assert np.quantile(np.minimum(still, moved), 0.99) < 0.01
    assert (still < 0.01).sum() > 50 and (moved < 0.01).sum() > 50


def _height(scene, item, frame):
    scene.frame_set(scene.frame_start + frame)
    return item.matrix_world.translation.z


def test_particles_and_hair(tmp_path):
    render_scenes.build(FRAMES)
    leaf = cube("leaf", size=0.15, location=(0, 0, -9))
    emitter, lawn = card("emitter"), card("lawn", (-2, -1, 0.5))
    emitter.modifiers.new("p", "PARTICLE_SYSTEM")
    settings = emitter.particle_systems[0].settings
    settings.count, settings.frame_start, settings.frame_end, settings.lifetime = 60, -20, 3, 200
    settings.render_type, settings.instance_object, settings.particle_size = "OBJECT", leaf, 1
    lawn.modifiers.new("p", "PARTICLE_SYSTEM")
    lawn.particle_systems[0].settings.type = "HAIR"
    index, data = render_passes(tmp_path, job_of(FRAMES))
    assert not is_static(index, "leaf") and not is_static(index, "emitter") and is_static(index, "lawn")
    assert np.median(errors(data, "flow_next", 0, 1, shows(index, data, 0, "leaf"))) > 0.3, "the leaves fall"
    # the depth of a strand is not quite that of its ribbon
    assert np.median(errors(data, "flow_next", 0, 1, shows(index, data, 0, "lawn"))) < 0.05


def test_a_skinned_mesh_moves_as_its_bone_does(tmp_path):
    scene = render_scenes.build(FRAMES)
    arm = cube("arm", location=(0, -2, 1), size=1)
    rig = bpy.data.objects.new("rig", bpy.data.armatures.new("rig"))
    scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    bone = rig.data.edit_bones.new("bone")
    bone.head, bone.tail = (0, -2, 0), (0, -2, 1)
    bpy.ops.object.mode_set(mode="OBJECT")
    arm.vertex_groups.new(name="bone").add(range(8), 1, "REPLACE")
    arm.modifiers.new("a", "ARMATURE").object = rig
    pose = rig.pose.bones["bone"]
    pose.rotation_mode = "XYZ"
    turns = []
    for frame in range(1, FRAMES + 1):
        pose.rotation_euler.y = 0.2 * frame  # about the bone, which stands upright
        pose.keyframe_insert("rotation_euler", frame=frame)
    index, data = render_passes(tmp_path, job_of(FRAMES))
    for frame in range(FRAMES):
        scene.frame_set(scene.frame_start + frame)
        evaluated = rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones["bone"]
        turns.append(np.array(evaluated.matrix @ evaluated.bone.matrix_local.inverted(), dtype=float))
    assert not is_static(index, "arm")
    for flow, step in STEPS:
        motion = turns[1 + step] @ np.linalg.inv(turns[1])
        where = shows(index, data, 1, "arm")
        assert where.sum() > 100 and np.median(errors(data, flow, 1, step, where, motion)) < 0.01
        assert np.median(errors(data, flow, 1, step, where)) > 1


def test_a_mesh_whose_vertices_change_keeps_its_objects_motion(tmp_path):
    render_scenes.build(FRAMES)
    decimate = bpy.data.objects["ball"].modifiers.new("d", "DECIMATE")
    for frame, ratio in ((1, 1.0), (FRAMES, 0.3)):
        decimate.ratio = ratio
        decimate.keyframe_insert("ratio", frame=frame)
    check_rigid(*render_passes(tmp_path, job_of(FRAMES)), "ball")


def test_displacement_is_in_the_depth(tmp_path):
    render_scenes.build(2)
    item = card()
    tree, item.active_material.displacement_method = item.active_material.node_tree, "DISPLACEMENT"
    shift = tree.nodes.new("ShaderNodeDisplacement")
    shift.inputs["Height"].default_value, shift.inputs["Midlevel"].default_value = 1.0, 0.0
    shift.inputs["Scale"].default_value = 0.5
    tree.links.new(shift.outputs[0], tree.nodes["Material Output"].inputs["Displacement"])
    index, data = render_passes(tmp_path, job_of(2))
    check_static(index, data)
    row, column = np.argwhere(shows(index, data, 0, "card")).mean(axis=0).round().astype(int)
    ray = np.linalg.inv(data["intrinsics"][0]) @ (column, row, 1) * data["depth"][0][row, column]
    place = np.linalg.inv(data["world_to_camera"][0]) @ (*ray, 1)
    assert place[1] == pytest.approx(-2.5, abs=1e-3), "the card stands at y = -2 and is moved along its normal"


def test_one_layer_is_the_picture_and_several_meet_in_the_compositor(tmp_path):
    scene = render_scenes.build(2)
    front = bpy.data.collections.new("front")
    scene.collection.children.link(front)
    only_in(card(), front)
    first, second = scene.view_layers[0], scene.view_layers.new("Front.Depth")
    first.layer_collection.children["front"].exclude = True
    second.material_override = bpy.data.materials.new("plain")
    index, data = render_passes(tmp_path / "one", job_of(2))
    assert index["view_layers"] == [first.name] and not shows(index, data, 0, "card").any()
    assert any("view layer" in note and "alone" in note for note in index["notes"])
    first.use = second.use = True
    tree = bpy.data.node_groups.new("c", "CompositorNodeTree")
    if bpy.app.version >= (5, 3):
        scene.compositor_effects.new("c").node_group = tree
    else:
        scene.compositing_node_group = tree
    scene.render.use_compositing = True
    assert layers_in_picture(scene) == [first, second]
    index, data = render_passes(tmp_path / "two", job_of(2))
    assert index["view_layers"] == [first.name, "Front.Depth"]
    assert any("nearest surface of the view layers" in note for note in index["notes"])
    assert int(shows(index, data, 0, "card").sum()) == solid_count(tmp_path)
    check_static(index, data)


def test_more_objects_than_ids_leave_still_ones_without(tmp_path, monkeypatch):
    monkeypatch.setattr(objects, "MAXIMUM_ID", 4)
    render_scenes.build(2)
    index, data = render_passes(tmp_path, job_of(2))
    assert [entry["id"] for entry in index["objects"]] == [1, 2, 3, 4]
    assert {"ball", "rider", "camera"} <= {entry["name"] for entry in index["objects"]}
    assert any("beyond the first 4 have no id" in note for note in index["notes"])
    assert (data["object_ids"][0][shows(index, data, 0, "ball")] == ids_of(index, "ball")).all()
    check_static(index, data)


def test_the_highest_id_comes_back_as_it_is(tmp_path):
    render_scenes.build(2)
    index, data = render_passes(tmp_path / "a", job_of(2))
    for item in bpy.data.objects:
        item.pass_index = 0
    bpy.data.objects["ball"].pass_index = objects.MAXIMUM_ID
    before, objects_of = shows(index, data, 0, "ball"), geometry.number_objects
    geometry.number_objects = lambda *_: [{"id": objects.MAXIMUM_ID, "name": "ball", "static": False}]
    try:
        index, data = render_passes(tmp_path / "b", job_of(2))
    finally:
        geometry.number_objects = objects_of
    assert np.array_equal(shows(index, data, 0, "ball"), before) and before.any()


def test_a_linked_object_has_an_id(tmp_path):
    render_scenes.build(2)
    card()
    library = tmp_path / "library.blend"
    bpy.data.libraries.write(str(library), {bpy.data.objects["card"]})
    scene = render_scenes.build(2)
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.objects = ["card"]
    scene.collection.objects.link(wanted.objects[0])
    index, data = render_passes(tmp_path / "job", job_of(2))
    name = wanted.objects[0].name_full
    assert "library.blend" in name and shows(index, data, 0, name).any()


def test_grease_pencil_is_told_to_be_missing(tmp_path):
    scene = render_scenes.build(2)
    scene.collection.objects.link(bpy.data.objects.new("sketch", bpy.data.grease_pencils.new("sketch")))
    index, _ = render_passes(tmp_path, job_of(2))
    assert any("grease pencil" in note for note in index["notes"])


def test_a_blender_without_cycles_takes_eevees_passes_without_ids(monkeypatch):
    class Render(SimpleNamespace):
        def __setattr__(self, name, value):
            if (name, value) == ("engine", "CYCLES"):
                raise TypeError("enum 'CYCLES' not found")
            super().__setattr__(name, value)

    layer = SimpleNamespace(name="L", use=True)
    scene = SimpleNamespace(render=Render(), eevee=SimpleNamespace(), view_layers=[layer])
    assert render_geometry_only(scene, [layer], []) == scene.render.engine == "BLENDER_EEVEE"
    assert layer.use_pass_z and layer.use_pass_vector and scene.eevee.taa_render_samples == 1
    channels = {
        f"L.{name}": np.ones((2, 3), np.float32) for name in ("Depth.Z", *(f"Vector.{axis}" for axis in "XYZW"))
    }
    assert not geometry._nearest(channels, ["L"])["Object Index.X"].any()
