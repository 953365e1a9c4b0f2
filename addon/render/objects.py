# SPDX-License-Identifier: GPL-3.0-or-later
"""Gives the objects of a scene their ids, and tells which of them surely do not move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .still import is_still

MAXIMUM_ID = 32767
NO_LEVEL = 2**31 - 1  # in an instance's `persistent_id`


def number_objects(objects: Any, depsgraph: Any) -> list[dict[str, Any]]:
    """Give every object a pass index of its own, by name from 1, and list them as `{"id", "name", "static"}`.

    `objects` is `bpy.data.objects`. An object that something instances is static only if that something is too. Where
    there are more objects than ids, those that move come first, so that what has no id is still. The objects are
    changed: for a scene in memory that nobody keeps.
    """
    static = {item: is_still(item) for item in objects}
    for item in _moved_by_instancing(depsgraph, static):
        static[item] = False
    ordered = sorted(objects, key=lambda item: item.name_full)
    if len(ordered) > MAXIMUM_ID:
        ordered.sort(key=lambda item: static[item])
    table = []
    for number, item in enumerate(ordered, 1):
        item.pass_index = number if number <= MAXIMUM_ID else 0
        if number <= MAXIMUM_ID:
            table.append({"id": number, "name": item.name_full, "static": static[item]})
    return table


def _moved_by_instancing(depsgraph: Any, static: Mapping[Any, bool]) -> set[Any]:
    """The objects that are instanced by something that is not static."""
    moved = set()
    for instance in depsgraph.object_instances:
        if not instance.is_instance:
            continue
        item, instancer = instance.object.original, instance.parent.original
        # of instances within instances Blender names the outermost instancer only
        nested = instance.persistent_id[1] != NO_LEVEL
        if not static[instancer] or (nested and not all(static[other] for other in _inner_instancers(instancer))):
            moved.add(item)
    return moved


def _inner_instancers(instancer: Any) -> Iterator[Any]:
    """The instancers in the collection that an object instances, and in theirs."""
    collection = instancer.instance_collection if instancer.instance_type == "COLLECTION" else None
    for item in collection.all_objects if collection else ():
        if item.is_instancer or item.particle_systems or any(mod.type == "NODES" for mod in item.modifiers):
            yield item
            yield from _inner_instancers(item)
