# SPDX-License-Identifier: GPL-3.0-or-later
"""What single kinds of data-blocks say that their properties do not: node trees, animation, geometry, places."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import bpy
import numpy as np

from .fresh import node_sockets, socket_value
from .inspection_lines import id_path, names_lines, struct_lines, under, value_text
from .methods import current_scene

KEYS_A_LINE: Final = 12
NODE_LOOKS: Final = (
    "location", "location_absolute", "width", "height", "select", "show_options", "show_preview", "show_texture",
    "color", "use_custom_color", "warning_propagation", "inputs", "outputs", "internal_links", "parent", "dimensions",
)  # fmt: skip


def own_lines(one: Any) -> Iterator[str]:
    """The lines before the properties: what it is, how often it is used, and what it measures."""
    kind = type(one).__name__
    fake = ", fake user" if one.use_fake_user else ""
    yield f"# {kind}, {one.users} users{fake}"
    if one.library is not None:
        yield f"# linked from {json.dumps(one.library.filepath)}: make it local or override it to change it"
    if isinstance(one, bpy.types.Object):
        yield from _object_lines(one)
    elif isinstance(one, bpy.types.Mesh):
        yield from _mesh_lines(one)
    elif isinstance(one, bpy.types.Armature):
        yield from _bone_lines(one)
    elif isinstance(one, bpy.types.Collection):
        yield from names_lines("objects", one.objects.keys())
        yield from names_lines("children", one.children.keys())
    elif isinstance(one, bpy.types.Action):
        yield from action_lines(one)
    elif isinstance(one, bpy.types.NodeTree):
        yield from tree_lines(one)
    elif isinstance(one, bpy.types.Camera):
        yield f"# horizontal angle {math.degrees(one.angle_x):.5g} deg, vertical {math.degrees(one.angle_y):.5g} deg"
    elif isinstance(one, bpy.types.Text):
        yield f"# {len(one.lines)} lines of text"


def after_lines(one: Any) -> Iterator[str]:
    """The lines behind the properties: animation, and an embedded node tree."""
    animation = getattr(one, "animation_data", None)
    if animation is not None:
        yield from _animation_lines(animation)
    keys = getattr(one, "shape_keys", None)
    if keys is not None:
        yield f'# shape keys {", ".join(json.dumps(key.name) for key in keys.key_blocks[:20])}; kind "key" shows them'
    tree = getattr(one, "node_tree", None)
    if tree is not None and tree.is_embedded_data:
        yield from tree_lines(tree, "node_tree.")


def _object_lines(one: Any) -> Iterator[str]:
    place = one.matrix_world
    yield f"# type {one.type}, world location {value_text(place.translation)}"
    if one.parent is not None or len(one.constraints):
        euler = place.to_euler(one.rotation_mode if len(one.rotation_mode) == 3 else "XYZ")
        yield f"# world rotation {value_text(euler)}, world scale {value_text(place.to_scale())}"
    collections = [each.name for each in one.users_collection]
    yield from names_lines("in collections", collections)
    scene = current_scene()
    layer = bpy.context.view_layer if scene is not None else None
    if layer is not None and one.name in layer.objects and not one.visible_get(view_layer=layer):
        yield "# hidden in the view layer"
    elif layer is not None and one.name not in layer.objects:
        yield "# not in the scene's view layer"
    if isinstance(one.data, bpy.types.Mesh):
        data = one.data
        yield f"# mesh: {len(data.vertices)} vertices, {len(data.edges)} edges, {len(data.polygons)} polygons"
        graph = layer.depsgraph if layer is not None and len(one.modifiers) else None
        shown = one.evaluated_get(graph).data if graph is not None else None
        if isinstance(shown, bpy.types.Mesh):
            yield f"# with its modifiers: {len(shown.vertices)} vertices, {len(shown.polygons)} polygons"
    if one.children:
        yield from names_lines("children", [each.name for each in one.children])


def _mesh_lines(one: Any) -> Iterator[str]:
    count = len(one.vertices)
    yield f"# {count} vertices, {len(one.edges)} edges, {len(one.polygons)} polygons"
    own = [each for each in one.attributes if not each.name.startswith(".")]
    if own:
        yield f"# attributes: {', '.join(f'{_quoted(each)} {each.data_type} {each.domain}' for each in own[:20])}"
    if count:
        points = np.empty(3 * count, np.float32)
        one.vertices.foreach_get("co", points)
        low, high = points.reshape(-1, 3).min(0), points.reshape(-1, 3).max(0)
        yield f"# from {value_text(low.tolist())} to {value_text(high.tolist())}"
        smooth = np.empty(len(one.polygons), bool)
        one.polygons.foreach_get("use_smooth", smooth)
        used = np.empty(len(one.polygons), np.int32)
        one.polygons.foreach_get("material_index", used)
        slots = ", ".join(f"{slot}: {number}" for slot, number in sorted(Counter(used.tolist()).items())[:20])
        yield f"# {int(smooth.sum())} smooth polygons; polygons by material slot: {slots or 'none'}"


def _bone_lines(one: Any) -> Iterator[str]:
    yield f"# {len(one.bones)} bones"
    for bone in one.bones:
        parent = f", parent {json.dumps(bone.parent.name, ensure_ascii=False)}" if bone.parent is not None else ""
        ends = f"head {value_text(bone.head_local)}, tail {value_text(bone.tail_local)}"
        yield f"# bones[{json.dumps(bone.name, ensure_ascii=False)}] {ends}{parent}"


# --- nodes ------------------------------------------------------------------------------------------------------------


def tree_lines(tree: Any, prefix: str = "") -> Iterator[str]:
    """Nodes with what is not at its default, then links. An input that nothing leads to shows its value."""
    yield f"# {prefix}nodes: {len(tree.nodes)} of {tree.bl_idname}, {len(tree.links)} links"
    for node in tree.nodes:
        path = f"{prefix}nodes[{json.dumps(node.name, ensure_ascii=False)}]"
        inside = f" in frame {json.dumps(node.parent.name, ensure_ascii=False)}" if node.parent is not None else ""
        yield f"{path}  # {node.bl_idname}{inside}"
        yield from (under(path, line) for line in struct_lines(node, 1, skip=NODE_LOOKS))
        yield from (under(path, line) for line in socket_lines(node))
    for link in tree.links:
        muted = "  # muted" if link.is_muted else ""
        yield (
            f"# link {_quoted(link.from_node)}.{_socket_path(link.from_node, link.from_socket)} -> "
            f"{_quoted(link.to_node)}.{_socket_path(link.to_node, link.to_socket)}{muted}"
        )
    interface = getattr(tree, "interface", None)
    for item in interface.items_tree if interface is not None else ():
        if item.item_type == "SOCKET":
            value = getattr(item, "default_value", None)
            tail = f" = {value_text(value)}" if value is not None else ""
            yield f"# interface {item.in_out} {_quoted(item)} ({item.socket_type}, {item.identifier}){tail}"


def socket_lines(node: Any, *, full: bool = False) -> Iterator[str]:
    """The values of inputs that nothing leads to; without `full` those that a new node has are left out."""
    known = node_sockets(node.bl_idname, node.id_data.bl_idname)
    defaults = {(is_output, identifier): value_text(value) for _, identifier, _, is_output, value in known}
    # a Value or RGB node, which has no inputs, holds its value in its output
    for socket in node.inputs if len(node.inputs) else node.outputs:
        value = socket_value(socket)
        if value is None or not socket.enabled or socket.hide_value or (socket.is_linked and not socket.is_output):
            continue
        if full or value_text(value) != defaults.get((socket.is_output, socket.identifier)):
            yield f"{_socket_path(node, socket)}.default_value = {value_text(value)}"


def _quoted(one: Any) -> str:
    return json.dumps(one.name, ensure_ascii=False)


def _socket_path(node: Any, socket: Any) -> str:
    """`inputs["Color"]`, or by number where another input that comes first has that name."""
    key = "outputs" if socket.is_output else "inputs"
    sockets = getattr(node, key)
    index = next((number for number, one in enumerate(sockets) if one == socket), -1)
    return f"{key}[{_quoted(socket)}]" if sockets.find(socket.name) == index else f"{key}[{index}]"


# --- animation --------------------------------------------------------------------------------------------------------


def _animation_lines(animation: Any) -> Iterator[str]:
    if animation.action is not None:
        slot = animation.action_slot
        name = json.dumps(slot.identifier, ensure_ascii=False) if slot is not None else "none"
        yield f"animation_data.action = {id_path(animation.action)}  # slot {name}"
    for driver in animation.drivers:
        yield f"# driver {driver.data_path}[{driver.array_index}]: {driver.driver.type} {driver.driver.expression}"
    for track in animation.nla_tracks:
        strips = ", ".join(f"{_quoted(one)} {one.frame_start:g}-{one.frame_end:g}" for one in track.strips)
        yield f"# NLA track {_quoted(track)}{' muted' if track.mute else ''}: {strips} (scene frames)"


def action_lines(action: Any) -> Iterator[str]:
    """Slots, and each curve's keyframes as `frame: value`, with frames from 0 at the scene's first frame."""
    scene = current_scene()
    first = scene.frame_start if scene is not None else 0
    yield f"# frames from 0, which is scene frame {first}"
    for slot in action.slots:
        users = ", ".join(id_path(one) for one in slot.users()[:10]) or "nobody"
        yield f"# slot {json.dumps(slot.identifier, ensure_ascii=False)} used by {users}"
    for number, layer in enumerate(action.layers):
        for place, strip in enumerate(layer.strips):
            for bag in getattr(strip, "channelbags", ()):
                slot = bag.slot.identifier if bag.slot is not None else "?"
                yield f"# layers[{number}].strips[{place}] slot {json.dumps(slot, ensure_ascii=False)}"
                for curve in bag.fcurves:
                    yield from _curve_lines(curve, first)


def _curve_lines(curve: Any, first: int) -> Iterator[str]:
    points = curve.keyframe_points
    looks = [f"{len(points)} keys", f"extrapolation {curve.extrapolation}"]
    looks += ["muted"] if curve.mute else []
    looks += [f"modifier {one.type}" for one in curve.modifiers]
    looks += [f"{len(curve.sampled_points)} samples"] if len(curve.sampled_points) else []
    path = f"fcurve {json.dumps(curve.data_path, ensure_ascii=False)}[{curve.array_index}]"
    yield f"# {path}: {', '.join(looks)}"
    usual = Counter(one.interpolation for one in points[:1000]).most_common(1)
    common = usual[0][0] if usual else ""
    for begin in range(0, len(points), KEYS_A_LINE):
        keys = [
            f"{one.co[0] - first:g}: {one.co[1]:.6g}" + (f" {one.interpolation}" if one.interpolation != common else "")
            for one in points[begin : begin + KEYS_A_LINE]
        ]
        yield f"#   {common} {'; '.join(keys)}"
