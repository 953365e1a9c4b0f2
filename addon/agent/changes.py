# SPDX-License-Identifier: GPL-3.0-or-later
"""Which data-blocks a piece of code has changed, as far as that is cheap to see."""

from __future__ import annotations

import contextlib
from typing import Any, Final

import bpy

from .fresh import socket_value, update_view_layers
from .methods import current_scene, plain_text

UNUSED_LIMIT: Final = 100  # unused data-blocks whose values are compared
_UNUSED: Final = ("materials", "worlds", "lights", "cameras", "meshes", "objects", "node_groups", "actions")
_INTERFACE: Final = {"screens", "window_managers", "workspaces", "all_ids"}


class Changes:
    """Collects what changes between `start` and `stop`.

    Seen are updates of the dependency graph, added and removed data-blocks, markers, custom properties, and simple
    values of data-blocks that nothing uses. What a data-block holds that is used but not in the scene changes unseen.
    """

    def __init__(self) -> None:
        self._names: dict[str, None] = {}
        self._before: dict[str, set[str]] = {}
        self._loose: dict[str, str] = {}
        self._markers: list[tuple[Any, ...]] = []

    def _on_update(self, scene: Any, graph: Any) -> None:
        for update in graph.updates:
            self._names[f"{update.id.bl_rna.identifier} {plain_text(update.id.name)}"] = None

    def start(self) -> None:
        """Look at the data as they are."""
        update_view_layers()  # what was pending before is not this code's doing
        self._before = _data_blocks()
        self._loose = _loose_values()
        self._markers = _markers()
        # added afresh by every call and removed by `stop`, so it need not outlive the opening of a file
        bpy.app.handlers.depsgraph_update_post.append(self._on_update)

    def stop(self) -> list[str]:
        """The changed data-blocks as `Type name`, and `collection name added` or `removed`."""
        update_view_layers()
        with contextlib.suppress(ValueError):  # opening a file removes handlers
            bpy.app.handlers.depsgraph_update_post.remove(self._on_update)
        after = _data_blocks()
        for kind, names in after.items():
            for name in sorted(names ^ self._before[kind]):
                how = "added" if name in names else "removed"
                self._names[f"{kind} {plain_text(name)} {how}"] = None
        added_or_removed = {name.rpartition(" ")[0] for name in self._names}
        loose = _loose_values()
        for name in loose.keys() | self._loose.keys():
            kind, _, own = name.partition(" ")
            if loose.get(name) != self._loose.get(name) and name not in added_or_removed:
                identifier = bpy.types.BlendData.bl_rna.properties[kind].fixed_type.identifier
                self._names[f"{identifier} {plain_text(own)}"] = None
        if _markers() != self._markers:
            self._names["timeline_markers"] = None
        return list(self._names)


def _kinds() -> list[str]:
    properties = bpy.types.BlendData.bl_rna.properties
    return [one.identifier for one in properties if one.type == "COLLECTION" and one.identifier != "all_ids"]


def _data_blocks() -> dict[str, set[str]]:
    return {kind: {one.name_full for one in getattr(bpy.data, kind)} for kind in _kinds()}


def _loose_values() -> dict[str, str]:
    """What the dependency graph does not tell: custom properties, and the values of unused data-blocks, as text."""
    found: dict[str, str] = {}
    for kind in _kinds():
        for one in getattr(bpy.data, kind) if kind not in _INTERFACE else ():
            if one.keys():
                found[f"{kind} {one.name_full}"] = repr([(key, _plain(value)) for key, value in one.items()])
    left = UNUSED_LIMIT
    for kind in _UNUSED:
        for one in getattr(bpy.data, kind):
            if one.users - one.use_fake_user > 0:
                continue
            if not left:
                return found
            left -= 1
            name = f"{kind} {one.name_full}"
            found[name] = found.get(name, "") + _values(one) + _node_values(one)
    return found


def _plain(value: Any) -> Any:
    return value.to_dict() if hasattr(value, "to_dict") else value.to_list() if hasattr(value, "to_list") else value


def _values(struct: Any) -> str:
    values = []
    for one in struct.bl_rna.properties:
        if one.is_readonly or one.is_deprecated or one.type in ("POINTER", "COLLECTION"):
            continue
        value = getattr(struct, one.identifier)
        values.append(tuple(value) if getattr(one, "is_array", False) else value)
    return repr(values)


def _node_values(owner: Any) -> str:
    tree = owner if isinstance(owner, bpy.types.NodeTree) else getattr(owner, "node_tree", None)
    if tree is None:
        return ""
    sockets = [(node.name, one.name, socket_value(one)) for node in tree.nodes for one in node.inputs]
    return repr((sockets, len(tree.links)))


def _markers() -> list[tuple[Any, ...]]:
    scene = current_scene()
    if scene is None:
        return []
    return [
        (one.name, int(one.frame), one.camera.name if one.camera is not None else "") for one in scene.timeline_markers
    ]
