# SPDX-License-Identifier: GPL-3.0-or-later
"""Which objects a scene shows, and which of them surely do not move."""

from __future__ import annotations

from typing import Any

# they shape an object the same way at every frame, as long as no other object and no animation takes part
STILL_MODIFIERS = frozenset({
    "ARRAY", "BEVEL", "BOOLEAN", "CAST", "CORRECTIVE_SMOOTH", "CURVE", "DECIMATE", "DISPLACE", "EDGE_SPLIT",
    "LAPLACIANSMOOTH", "MASK", "MIRROR", "MULTIRES", "NORMAL_EDIT", "REMESH", "SCREW", "SIMPLE_DEFORM", "SKIN",
    "SMOOTH", "SOLIDIFY", "SUBSURF", "TRIANGULATE", "UV_PROJECT", "UV_WARP", "WEIGHTED_NORMAL", "WELD", "WIREFRAME",
})  # fmt: skip
MAXIMUM_ID = 32767


def _is_animated(block: Any) -> bool:
    """Whether a datablock has an action, an NLA strip or a driver of its own."""
    animation = getattr(block, "animation_data", None)
    if animation is None:
        return False
    return bool(animation.action or animation.drivers or any(track.strips for track in animation.nla_tracks))


def _modifier_is_still(modifier: Any) -> bool:
    if modifier.type not in STILL_MODIFIERS:
        return False
    pointers = (getattr(modifier, name) for name, rna in modifier.bl_rna.properties.items() if rna.type == "POINTER")
    return not any(getattr(block, "id_type", "") in ("OBJECT", "COLLECTION", "TEXTURE") for block in pointers)


def is_static(item: Any) -> bool:
    """Whether an object and all that it hangs on stay where they are and as they are at every frame.

    Only what is sure counts: no action, driver, constraint, simulation or particle system, none on its data and shape
    keys either, no modifier beyond those that depend on the object alone, and the same for its parents.
    """
    data = item.data
    if _is_animated(item) or _is_animated(data) or _is_animated(getattr(data, "shape_keys", None)):
        return False
    if len(item.constraints) or len(item.particle_systems) or item.rigid_body or item.soft_body:
        return False
    if item.type == "META" or getattr(data, "bevel_object", None) or getattr(data, "taper_object", None):
        return False  # a metaball takes its shape from every other one nearby
    if any(not _modifier_is_still(modifier) for modifier in item.modifiers):
        return False
    return item.parent is None or (item.parent_type == "OBJECT" and is_static(item.parent))


def number_objects(objects: Any, depsgraph: Any) -> list[dict[str, Any]]:
    """Give every object a pass index of its own, by name from 1, and list them as `{"id", "name", "static"}`.

    `objects` is `bpy.data.objects`. An object that something instances is static only if that something is too. The
    objects are changed: for a scene in memory that nobody keeps.
    """
    moved_by_instancing = {
        instance.object.original.name_full
        for instance in depsgraph.object_instances
        if instance.is_instance and not is_static(instance.parent.original)
    }
    table = []
    for number, item in enumerate(sorted(objects, key=lambda item: item.name_full), 1):
        item.pass_index = number if number <= MAXIMUM_ID else 0
        if number <= MAXIMUM_ID:
            static = is_static(item) and item.name_full not in moved_by_instancing
            table.append({"id": number, "name": item.name_full, "static": static})
    return table
