"""Which objects the passes call static: what moves never is, and what surely rests is."""

import bpy
import pytest
import render_scenes
from matchcut.addon.render import still
from matchcut.addon.render.objects import number_objects
from matchcut.addon.render.still import is_still


@pytest.fixture
def scene():
    return render_scenes.build(2)


def cube(name="cube"):
    bpy.ops.mesh.primitive_cube_add(location=(0, -2, 1))
    item = bpy.context.object
    item.name = name
    return item


def empty(name):
    item = bpy.data.objects.new(name, None)
    bpy.context.scene.collection.objects.link(item)
    return item


def ball():
    """What moves in the scene."""
    return bpy.data.objects["ball"]


def box():
    """What rests in it."""
    return bpy.data.objects["box 3"]


def key(owner, name, index=-1):
    owner.keyframe_insert(name, frame=1, index=index)


def static(scene, name):
    table = number_objects(bpy.data.objects, bpy.context.evaluated_depsgraph_get())
    return next(entry["static"] for entry in table if entry["name"] == name)


def test_the_names_are_blenders():
    def items(kind):
        return {item.identifier for item in kind.bl_rna.properties["type"].enum_items}

    assert items(bpy.types.Modifier) >= still.STILL_MODIFIERS
    assert items(bpy.types.Constraint) >= still.STILL_CONSTRAINTS
    assert all(hasattr(bpy.types, name) for name in still.MOVING_NODES)


def test_animation_drivers_and_parents(scene):
    assert is_still(box()) and is_still(bpy.data.objects["ground"])
    assert not is_still(ball())
    assert not is_still(bpy.data.objects["rider"]), "its parent moves"
    item = cube()
    item.parent = box()
    assert is_still(item)
    key(box().data.materials[0], "diffuse_color")
    assert is_still(box()), "a colour that changes moves nothing"
    box().driver_add("location", 0)
    assert not is_still(box()) and not is_still(item)


def test_an_nla_strip_moves(scene):
    item = cube()
    key(item, "location")
    action, item.animation_data.action = item.animation_data.action, None
    assert is_still(item)
    item.animation_data.nla_tracks.new().strips.new("strip", 1, action)
    assert not is_still(item)


def test_shape_keys(scene):
    item = cube()
    item.shape_key_add(name="Basis")
    up = item.shape_key_add(name="up")
    up.value = 0.5
    assert is_still(item)
    key(up, "value")
    assert not is_still(item)


@pytest.mark.parametrize("kind, target", [
    ("MIRROR", "mirror_object"), ("SHRINKWRAP", "target"), ("HOOK", "object"), ("BOOLEAN", "object"),
])  # fmt: skip
def test_modifiers_rest_with_their_targets(scene, kind, target):
    item = cube()
    modifier = item.modifiers.new("m", kind)
    setattr(modifier, target, box())
    assert is_still(item)
    setattr(modifier, target, ball())
    assert not is_still(item)


def test_modifiers_with_a_time_of_their_own(scene):
    for kind in ("WAVE", "CLOTH", "BUILD", "OCEAN", "SOFT_BODY", "FLUID", "DYNAMIC_PAINT", "MESH_CACHE"):
        item = cube()
        item.modifiers.new("b", "BEVEL")
        assert is_still(item)
        item.modifiers.new("m", kind)
        assert not is_still(item), kind


def test_a_lattice_and_a_textured_displacement(scene):
    item, lattice = cube(), bpy.data.objects.new("lattice", bpy.data.lattices.new("lattice"))
    item.modifiers.new("l", "LATTICE").object = lattice
    texture = bpy.data.textures.new("clouds", "CLOUDS")
    item.modifiers.new("d", "DISPLACE").texture = texture
    assert is_still(item)
    key(texture, "noise_scale")
    assert not is_still(item)
    texture.animation_data_clear()
    assert is_still(item)
    lattice.shape_key_add(name="Basis")
    key(lattice.shape_key_add(name="bulge"), "value")
    assert not is_still(item)


def test_armatures_and_bones(scene):
    rig = bpy.data.objects.new("rig", bpy.data.armatures.new("rig"))
    scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones.new("bone").tail = (0, 0, 1)
    bpy.ops.object.mode_set(mode="OBJECT")
    skinned, held = cube("skinned"), cube("held")
    skinned.modifiers.new("a", "ARMATURE").object = rig
    held.parent, held.parent_type, held.parent_bone = rig, "BONE", "bone"
    assert is_still(skinned) and is_still(held)
    bone = rig.pose.bones["bone"]
    follow = bone.constraints.new("COPY_LOCATION")
    follow.target = box()
    assert is_still(skinned) and is_still(held)
    follow.target = ball()
    assert not is_still(skinned) and not is_still(held)
    bone.constraints.remove(follow)
    key(bone, "location")
    assert not is_still(skinned) and not is_still(held)


def test_constraints_rest_with_their_targets(scene):
    item = cube()
    constraint = item.constraints.new("TRACK_TO")
    constraint.target = box()
    assert is_still(item)
    constraint.target = scene.camera
    assert not is_still(item), "it turns to a camera that moves"
    other = cube("other")
    rig = bpy.data.objects.new("rig", bpy.data.armatures.new("rig"))
    other.constraints.new("ARMATURE").targets.new().target = rig
    assert is_still(other)
    key(rig, "location")
    assert not is_still(other)
    path = cube("path")
    path.constraints.new("FOLLOW_PATH")
    assert not is_still(path)


def test_physics(scene):
    bpy.ops.rigidbody.world_add()
    item = cube()
    bpy.ops.rigidbody.object_add(type="PASSIVE")
    assert is_still(item)
    item.rigid_body.type = "ACTIVE"
    assert not is_still(item)


def test_hair_rests_where_nothing_blows(scene):
    lawn = cube("lawn")
    lawn.modifiers.new("p", "PARTICLE_SYSTEM")
    system = lawn.particle_systems[0]
    assert not is_still(lawn), "particles fly"
    system.settings.type = "HAIR"
    assert is_still(lawn)
    system.settings.render_type, system.settings.instance_object = "OBJECT", ball()
    assert not is_still(lawn)
    system.settings.instance_object = box()
    assert is_still(lawn)
    bpy.ops.object.effector_add(type="WIND")
    assert not is_still(lawn)


def test_metaballs_and_curves_take_their_shape_from_others(scene):
    bpy.ops.object.metaball_add(location=(0, 0, 1))
    first = bpy.context.object
    assert is_still(first)
    bpy.ops.object.metaball_add(location=(1, 0, 1))
    key(bpy.context.object, "location")
    assert not is_still(first)
    path, profile = (bpy.data.objects.new(name, bpy.data.curves.new(name, "CURVE")) for name in ("path", "profile"))
    path.data.bevel_mode, path.data.bevel_object = "OBJECT", profile
    assert is_still(path)
    key(profile, "scale")
    assert not is_still(path)


def displaced(item):
    item.data.materials.append(bpy.data.materials.new("rough"))
    tree = item.active_material.node_tree
    noise, shift = tree.nodes.new("ShaderNodeTexNoise"), tree.nodes.new("ShaderNodeDisplacement")
    tree.links.new(noise.outputs[0], shift.inputs[0])
    tree.links.new(shift.outputs[0], tree.nodes["Material Output"].inputs["Displacement"])
    return item.active_material, tree, noise


def test_a_displaced_material_that_changes(scene):
    item = cube()
    material, tree, noise = displaced(item)
    key(noise.inputs["Scale"], "default_value")
    assert is_still(item), "a bump is paint"
    material.displacement_method = "BOTH"
    assert not is_still(item)
    tree.animation_data_clear()
    assert is_still(item)
    picture = tree.nodes.new("ShaderNodeTexImage")
    picture.image = bpy.data.images.new("film", 4, 4)
    assert is_still(item)
    picture.image.source = "MOVIE"
    assert not is_still(item)
    tree.nodes.remove(picture)
    place = tree.nodes.new("ShaderNodeTexCoord")
    assert is_still(item)
    tree.links.new(place.outputs["Camera"], noise.inputs["Vector"])
    assert not is_still(item)


class Nodes:
    """A cube with a geometry-nodes modifier that passes its geometry on."""

    def __init__(self, **inputs):
        self.item = cube("made")
        self.tree = bpy.data.node_groups.new("tree", "GeometryNodeTree")
        self.tree.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
        self.sockets = {
            name: self.tree.interface.new_socket(name, in_out="INPUT", socket_type=kind).identifier
            for name, kind in inputs.items()
        }
        self.tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
        start, end = self.tree.nodes.new("NodeGroupInput"), self.tree.nodes.new("NodeGroupOutput")
        self.tree.links.new(start.outputs[0], end.inputs[0])
        self.modifier = self.item.modifiers.new("nodes", "NODES")
        self.modifier.node_group = self.tree

    def input(self, name):
        return getattr(self.modifier.properties.inputs, self.sockets[name])


@pytest.mark.parametrize("node", ["GeometryNodeInputSceneTime", "GeometryNodeInputActiveCamera", "GeometryNodeBake"])
def test_geometry_nodes_that_read_the_time(scene, node):
    made = Nodes()
    made.tree.nodes.new("GeometryNodeSubdivideMesh")
    assert is_still(made.item)
    inner = bpy.data.node_groups.new("inner", "GeometryNodeTree")
    made.tree.nodes.new("GeometryNodeGroup").node_tree = inner
    assert is_still(made.item)
    inner.nodes.new(node)
    assert not is_still(made.item), "however deep it lies"


def test_a_simulation_zone_moves(scene):
    made = Nodes()
    start, end = made.tree.nodes.new("GeometryNodeSimulationInput"), made.tree.nodes.new("GeometryNodeSimulationOutput")
    start.pair_with_output(end)
    assert not is_still(made.item)


def test_geometry_nodes_rest_with_what_they_take(scene):
    made = Nodes(Object="NodeSocketObject", Amount="NodeSocketFloat", Collection="NodeSocketCollection")
    made.input("Object").value = box()
    assert is_still(made.item)
    made.input("Object").value = ball()
    assert not is_still(made.item)
    made.input("Object").value = None
    group = bpy.data.collections.new("group")
    group.objects.link(box())
    made.input("Collection").value = group
    assert is_still(made.item)
    group.objects.link(ball())
    assert not is_still(made.item)
    group.objects.unlink(ball())
    info = made.tree.nodes.new("GeometryNodeObjectInfo")
    info.inputs["Object"].default_value = ball()
    assert not is_still(made.item)
    info.inputs["Object"].default_value = box()
    assert is_still(made.item)
    key(made.input("Amount"), "value")
    assert not is_still(made.item)


def test_an_animated_node_moves(scene):
    made = Nodes()
    move = made.tree.nodes.new("GeometryNodeTransform")
    assert is_still(made.item)
    key(move.inputs["Translation"], "default_value")
    assert not is_still(made.item)


def test_those_that_look_at_each_other_come_to_an_end(scene):
    first, second = cube("first"), cube("second")
    first.modifiers.new("m", "MIRROR").mirror_object = second
    second.modifiers.new("m", "MIRROR").mirror_object = first
    assert is_still(first) and is_still(second)
    key(second, "location")
    assert not is_still(first) and not is_still(second)


def carrier(name, collection, owner):
    item = bpy.data.objects.new(name, None)
    item.instance_type, item.instance_collection = "COLLECTION", collection
    owner.objects.link(item)
    return item


def test_instances_move_with_their_instancers(scene):
    inner, outer = bpy.data.collections.new("inner"), bpy.data.collections.new("outer")
    thing, base = cube("thing"), cube("base")
    for item, owner in ((thing, inner), (base, outer)):
        for other in list(item.users_collection):
            other.objects.unlink(item)
        owner.objects.link(item)
    arm = carrier("arm", inner, outer)
    whole = carrier("whole", outer, scene.collection)
    assert static(scene, "thing") and static(scene, "base")
    key(arm, "location")
    assert not static(scene, "thing"), "what carries it moves within what is carried"
    assert static(scene, "base")
    arm.animation_data_clear()
    key(whole, "location")
    assert not static(scene, "thing") and not static(scene, "base")
