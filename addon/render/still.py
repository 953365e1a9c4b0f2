# SPDX-License-Identifier: GPL-3.0-or-later
"""Which objects surely stay where they are and as they are at every frame.

An object is still when nothing that it leans on moves: its parent, its modifiers' and constraints' targets, the node
groups, particles, textures and displaced materials that shape it, and what those lean on in turn. Only what is sure
counts as still: an action, an NLA strip or a driver moves whatever it animates, and so does what reads the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy

# what shapes or places an object by its settings and its targets alone; the others have a time of their own
STILL_MODIFIERS = frozenset({
    "ARMATURE", "ARRAY", "BEVEL", "BOOLEAN", "CAST", "COLLISION", "CORRECTIVE_SMOOTH", "CURVE", "DATA_TRANSFER",
    "DECIMATE", "DISPLACE", "EDGE_SPLIT", "HOOK", "LAPLACIANDEFORM", "LAPLACIANSMOOTH", "LATTICE", "MASK",
    "MESH_DEFORM", "MESH_TO_VOLUME", "MIRROR", "MULTIRES", "NODES", "NORMAL_EDIT", "PARTICLE_SYSTEM", "REMESH", "SCREW",
    "SHRINKWRAP", "SIMPLE_DEFORM", "SKIN", "SMOOTH", "SOLIDIFY", "SUBSURF", "SURFACE_DEFORM", "TRIANGULATE",
    "UV_PROJECT", "UV_WARP", "VERTEX_WEIGHT_EDIT", "VERTEX_WEIGHT_MIX", "VERTEX_WEIGHT_PROXIMITY", "VOLUME_DISPLACE",
    "VOLUME_TO_MESH", "WARP", "WEIGHTED_NORMAL", "WELD", "WIREFRAME",
})  # fmt: skip
STILL_CONSTRAINTS = frozenset({
    "ARMATURE", "CHILD_OF", "CLAMP_TO", "COPY_LOCATION", "COPY_ROTATION", "COPY_SCALE", "COPY_TRANSFORMS",
    "DAMPED_TRACK", "FLOOR", "IK", "LIMIT_DISTANCE", "LIMIT_LOCATION", "LIMIT_ROTATION", "LIMIT_SCALE", "LOCKED_TRACK",
    "MAINTAIN_VOLUME", "PIVOT", "SHRINKWRAP", "SPLINE_IK", "STRETCH_TO", "TRACK_TO", "TRANSFORM",
})  # fmt: skip
MOVING_NODES = frozenset({
    "GeometryNodeApplySimulatedData", "GeometryNodeBake", "GeometryNodeCustomGroup", "GeometryNodeInputActiveCamera",
    "GeometryNodeInputSceneTime", "GeometryNodeSampleSoundFrequencies", "GeometryNodeSimulationInput",
    "GeometryNodeSimulationOutput", "GeometryNodeViewportTransform", "GeometryNodeXPBDSolver", "ShaderNodeCameraData",
    "ShaderNodeCustomGroup", "ShaderNodeHairInfo", "ShaderNodeParticleInfo", "ShaderNodeScript",
    "ShaderNodeVectorTransform",
})  # fmt: skip
"""Nodes that read the time, a simulation, the camera, or something that cannot be told."""


def is_still(item: Any) -> bool:
    """Whether an object stays where it is and as it is at every frame, as far as that is sure."""
    seen, waiting = {item}, [item]
    while waiting:
        block = waiting.pop()
        if _moves(block):
            return False
        for other in _leans_on(block):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return True


def is_animated(block: Any) -> bool:
    """Whether a datablock has an action, an NLA strip or a driver of its own."""
    animation = getattr(block, "animation_data", None)
    if animation is None:
        return False
    return bool(animation.action or animation.drivers or any(track.strips for track in animation.nla_tracks))


def _moves(block: Any) -> bool:
    """Whether a datablock moves by itself, whatever it leans on does."""
    if isinstance(block, bpy.types.Material) and not _displaces(block):
        return False
    if is_animated(block):
        return True
    match block:
        case bpy.types.Object():
            return _object_moves(block)
        case bpy.types.NodeTree():
            return any(_node_moves(node) for node in block.nodes)
        case bpy.types.ParticleSettings():
            return bool(block.type != "HAIR")
        case bpy.types.Image():
            return block.source in ("MOVIE", "SEQUENCE")
        case bpy.types.Volume():
            return bool(block.is_sequence)
        case bpy.types.Action() | bpy.types.CacheFile() | bpy.types.MovieClip() | bpy.types.Sound() | bpy.types.Scene():
            return True
    return False


def _node_moves(node: Any) -> bool:
    if node.bl_idname == "ShaderNodeTexCoord":
        return bool(node.outputs["Camera"].is_linked or node.outputs["Window"].is_linked)
    if node.bl_idname == "ShaderNodeAttribute":
        return bool(node.attribute_type != "GEOMETRY")
    return bool(node.bl_idname in MOVING_NODES)


def _object_moves(item: Any) -> bool:
    if item.soft_body or (item.rigid_body and item.rigid_body.type == "ACTIVE") or item.type == "GREASEPENCIL":
        return True
    if any(modifier.type not in STILL_MODIFIERS for modifier in item.modifiers):
        return True
    if any(constraint.type not in STILL_CONSTRAINTS for constraint in _constraints(item)):
        return True
    if item.pose and item.pose.ik_solver == "ITASC":
        return True
    # hair bends in force fields, which may be anywhere
    hair_moves = any(system.use_hair_dynamics for system in item.particle_systems)
    return hair_moves or (len(item.particle_systems) > 0 and any(_is_field(other) for other in bpy.data.objects))


def _is_field(item: Any) -> bool:
    return item.field is not None and item.field.type != "NONE"


def _constraints(item: Any) -> Iterator[Any]:
    yield from item.constraints
    if item.pose:
        for bone in item.pose.bones:
            yield from bone.constraints


def _displaces(material: Any) -> bool:
    return bool(material.displacement_method != "BUMP")


def _leans_on(block: Any) -> Iterator[Any]:
    """The datablocks that place and shape this one."""
    match block:
        case bpy.types.Object():
            yield from _object_leans_on(block)
        case bpy.types.Material() if not _displaces(block):
            return
        case bpy.types.NodeTree():
            for node in block.nodes:
                yield from _pointers(node)
                for socket in node.inputs:
                    yield from _datablocks(getattr(socket, "default_value", None))
        case bpy.types.Collection():
            yield from block.all_objects
        case bpy.types.Mesh():  # without looking through its vertices
            yield from _datablocks(block.shape_keys)
        case _:
            yield from _pointers(block)
    if isinstance(block, bpy.types.ParticleSettings):
        for slot in block.texture_slots:
            yield from _datablocks(slot and slot.texture)


def _object_leans_on(item: Any) -> Iterator[Any]:
    yield from _datablocks(item.parent, item.data)
    yield from _datablocks(*(slot.material for slot in item.material_slots))
    yield from _datablocks(*(system.settings for system in item.particle_systems))
    for modifier in item.modifiers:
        yield from _pointers(modifier)
        inputs = getattr(getattr(modifier, "properties", None), "inputs", None)
        for name in inputs.bl_rna.properties.keys() if inputs else ():
            yield from _datablocks(getattr(getattr(inputs, name), "value", None))
    for constraint in _constraints(item):
        yield from _pointers(constraint)
        yield from _datablocks(*(target.target for target in getattr(constraint, "targets", ())))
    if item.type == "META":  # which takes its shape from every other one nearby
        yield from (other for other in bpy.data.objects if other.type == "META")


def _pointers(owner: Any) -> Iterator[Any]:
    """The datablocks that the properties of a datablock, modifier, constraint or node point at."""
    for name, rna in owner.bl_rna.properties.items():
        if rna.type == "POINTER" and name != "rna_type":  # which passes for a datablock of its own kind
            yield from _datablocks(getattr(owner, name))


def _datablocks(*values: Any) -> Iterator[Any]:
    return (value for value in values if isinstance(value, bpy.types.ID))
