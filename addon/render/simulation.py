# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulations of a job's copy of the scene are played once from their start and kept in it.

Blender's own animation render does not play them: it shows what their caches hold. With all frames in the copy, every
frame is the same in whatever order and by whichever process it is rendered.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import bpy

from ...evaluator.protocol.timeline import Timeline
from ..timeline import match_timeline


def keep_simulations(
    scene: Any, timeline: Timeline, last: int, on_frame: Callable[[int], None]
) -> tuple[list[str], bool]:
    """Play every simulation that is not baked up to reference frame `last` and bake it into the open file.

    The scene takes on the timeline before, since the rate is part of its physics. `on_frame` is told each reference
    frame (below 0 before the first) before it is played. Returns notes on what was done and what was not, and whether
    the open file holds anything now that its copy does not.
    """
    notes = [
        f"the fluid of {item.name!r} is not played: bake it in the scene, with the type All or Modular"
        for item in scene.objects
        for modifier in item.modifiers
        if modifier.type == "FLUID" and modifier.fluid_type == "DOMAIN"
        and modifier.domain_settings.cache_type == "REPLAY"
    ]  # fmt: skip
    caches = list(_caches(scene))
    changed = False
    for _, cache in caches:
        if cache.use_disk_cache and not cache.use_external:  # it lies beside the artist's file, under its name
            cache.use_disk_cache = False
            changed = True
    unbaked = [(name, cache) for name, cache in caches if not cache.is_baked]
    zones = list(_node_bakes(scene))
    nodes = [entry for entry in zones if not _is_baked(*entry)]
    names = [name for name, _ in unbaked] + [item.name for item, _, _ in nodes]
    if not names:
        return notes, changed or bool(zones)
    match_timeline(scene, timeline)
    shown = scene.frame_current
    for number in range(
        min([scene.frame_start, *(cache.frame_start for _, cache in unbaked)]), scene.frame_start + last + 1
    ):
        on_frame(number - scene.frame_start)
        scene.frame_set(number)
    for _, cache in unbaked:
        with bpy.context.temp_override(point_cache=cache, scene=scene):
            bpy.ops.ptcache.bake_from_cache()
    for item, modifier, bake in nodes:
        modifier.bake_target = "PACKED"
        bake.bake_target = "INHERIT"
        bpy.ops.object.geometry_node_bake_single(
            session_uid=item.session_uid, modifier_name=modifier.name, bake_id=bake.bake_id
        )
    scene.frame_set(shown)
    notes.append(f"simulations that were not baked are played from their start: {', '.join(dict.fromkeys(names))}")
    return notes, True


def _caches(scene: Any) -> Iterator[tuple[str, Any]]:
    """The point caches of a scene's simulations, each with the name of what it simulates."""
    world = scene.rigidbody_world
    if world is not None and world.enabled and world.collection is not None and world.collection.all_objects:
        yield "rigid bodies", world.point_cache
    for item in scene.objects:
        for modifier in item.modifiers:
            if modifier.type in ("CLOTH", "SOFT_BODY"):
                yield item.name, modifier.point_cache
            elif modifier.type == "DYNAMIC_PAINT" and modifier.canvas_settings is not None:
                for surface in modifier.canvas_settings.canvas_surfaces:
                    yield item.name, surface.point_cache
        for system in item.particle_systems:
            if system.settings.type == "EMITTER" or system.use_hair_dynamics:
                yield item.name, system.point_cache


def _node_bakes(scene: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The simulation zones of geometry nodes, as object, modifier and bake."""
    for item in scene.objects:
        for modifier in item.modifiers:
            if modifier.type == "NODES" and modifier.node_group is not None:
                for bake in modifier.bakes:
                    if bake.node is not None and bake.node.bl_idname == "GeometryNodeSimulationOutput":
                        yield item, modifier, bake


def _is_baked(item: Any, modifier: Any, bake: Any) -> bool:
    """Whether a simulation zone is baked; afterwards what was baked on disk is packed into the open file.

    No property tells it: what can be packed is on disk, and what can be unpacked was packed.
    """
    entry = {"session_uid": item.session_uid, "modifier_name": modifier.name, "bake_id": bake.bake_id}
    if _does(bpy.ops.object.geometry_node_bake_pack_single, **entry):
        return True
    custom, directory = bake.use_custom_path, bake.directory
    with tempfile.TemporaryDirectory(dir=bpy.app.tempdir or None, ignore_cleanup_errors=True) as scratch:
        bake.use_custom_path, bake.directory = True, scratch
        packed = _does(bpy.ops.object.geometry_node_bake_unpack_single, **entry, method="WRITE_ORIGINAL")
        if packed:
            bpy.ops.object.geometry_node_bake_pack_single(**entry)
        bake.use_custom_path, bake.directory = custom, directory
    return packed


def _does(operator: Any, **arguments: Any) -> bool:
    try:
        return "FINISHED" in operator(**arguments)
    except RuntimeError:
        return False
