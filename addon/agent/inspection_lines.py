# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Blender data-block or a part of it holds, as lines `path = value` of what is not at its default.

The paths are Python relative to the data-block, so that they can be copied into code. References to other data-blocks
are named and not followed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

import bpy

from .fresh import fresh, fresh_key

DEPTH_LIMIT: Final = 3
NAMES_A_LINE: Final = 20
# shown also where it is at its default
ALWAYS: Final[dict[str, tuple[str, ...]]] = {
    "Object": ("location", "rotation_mode", "rotation_euler", "scale", "dimensions"),
    "Camera": (
        "type", "lens", "sensor_fit", "sensor_width", "sensor_height", "shift_x", "shift_y", "clip_start", "clip_end",
    ),
    "Light": ("energy", "color"),
    "Scene": ("frame_start", "frame_end", "frame_current"),
    "RenderSettings": ("engine", "resolution_x", "resolution_y", "resolution_percentage", "fps", "fps_base"),
    "ColorManagedViewSettings": ("view_transform", "look", "exposure", "gamma"),
    "Modifier": ("show_viewport", "show_render"),
    "Constraint": ("influence",),
    "Image": ("filepath", "source", "size"),
}  # fmt: skip
# collections whose items are described in their place; of others only the number is told
OPENED: Final = {
    "modifiers", "constraints", "material_slots", "materials", "timeline_markers", "key_blocks", "vertex_groups",
    "particle_systems", "view_layers", "elements", "bones", "splines",
    "variables", "targets", "interface_items", "curve_mapping", "linesets",
}  # fmt: skip
# what says how Blender shows it, or what is said elsewhere
_LEFT_OUT: Final = {
    "rna_type", "name", "name_full", "id_type", "original", "session_uid", "is_evaluated", "tag", "users", "preview",
    "asset_data", "override_library", "library_weak_reference", "animation_data", "bound_box", "tool_settings",
    "cursor", "safe_areas", "display", "select", "select_set", "show_expanded", "show_in_editmode",
    "show_on_cage", "is_active", "use_pin_to_last", "persistent_uid", "execution_time", "users_collection",
    "color_tag", "ui_expand_flag", "layer_collection", "transform_orientation_slots", "sequence_editor",
    "all_objects", "children_recursive", "is_editmode", "hair", "type_info", "depsgraph", "grease_pencil_settings",
    "shading", "xr_session_settings", "matchcut", "unit_settings", "use_nodes", "frame_current_final",
    "frame_float", "text_boxes_active", "show_texture", "loops", "edges", "polygons", "vertices", "loop_triangles",
    "loop_triangle_polygons", "vertex_normals", "polygon_normals", "corner_normals", "active_index",
    "bl_system_properties",
    "node", "bone", "angle", "angle_x", "angle_y", "collection_objects", "collection_children", "is_linked",
    "keying_sets", "keying_sets_all", "is_override_data", "use_extra_user", "sync_mode", "use_audio", "threads",
    "use_stamp_memory", "white_balance_whitepoint", "lock_rotations_4d", "lineart", "attributes", "uv_layers",
    "color_attributes", "exr_codec",
}  # fmt: skip


def id_path(one: Any) -> str:
    """The data-block as Python: `bpy.data.objects["Cube"]`."""
    kind = kind_of(one)
    if one.is_embedded_data or not kind:
        return f"{type(one).__name__} {json.dumps(one.name, ensure_ascii=False)}"
    name = json.dumps(one.name, ensure_ascii=False)
    if one.library is not None:
        return f"bpy.data.{kind}[{name}, {json.dumps(one.library.filepath, ensure_ascii=False)}]"
    return f"bpy.data.{kind}[{name}]"


def kind_of(one: Any) -> str:
    """The collection of `bpy.data` that a data-block is in."""
    for prop in bpy.types.BlendData.bl_rna.properties:
        is_kind = prop.type == "COLLECTION" and prop.identifier != "all_ids"
        if is_kind and isinstance(one, getattr(bpy.types, prop.fixed_type.identifier)):
            return str(prop.identifier)
    return ""


def value_text(value: Any, prop: Any = None) -> str:
    """A property's value as Python; angles also in degrees."""
    if hasattr(value, "__len__") and not isinstance(value, str | bytes | set | dict):
        text = f"({', '.join(value_text(one) for one in value)})"
    elif isinstance(value, float):
        text = f"{value if abs(value) > 1e-9 or value != value else 0.0:.6g}"
    elif isinstance(value, set):
        text = f"{{{', '.join(sorted(map(repr, value)))}}}"
    elif isinstance(value, bpy.types.ID):
        text = id_path(value)
    else:
        text = repr(value)
    if prop is not None and getattr(prop, "unit", "") == "ROTATION" and not isinstance(value, str):
        angles = value if hasattr(value, "__len__") else [value]
        text += f"  # {', '.join(f'{math.degrees(one):.4g}' for one in angles)} deg"
    return text


def struct_lines(struct: Any, depth: int = 0, skip: Iterable[str] = (), *, full: bool = False) -> Iterator[str]:
    """What `struct` and its parts hold that differs from a new one, with paths relative to `struct`.

    With `full` its own values are all shown.
    """
    always = _always(struct)
    properties = struct.bl_rna.properties
    for name in always:
        if name in properties:
            yield f"{name} = {value_text(getattr(struct, name), properties[name])}"
    at_first = frozenset() if full else _lines_at_first(struct)
    left_out = {*_LEFT_OUT, *always, *skip, *_left_out(struct)}
    yield from (line for line in _changed_lines(struct, depth, left_out, full=full) if line not in at_first)


def under(path: str, line: str) -> str:
    """The line of a part, as a line of what the part belongs to."""
    if line.startswith("#"):
        return f"# {path} {line[2:]}"
    return f"{path}{line}" if line.startswith("[") else f"{path}.{line}"


def _changed_lines(struct: Any, depth: int, left_out: set[str], *, full: bool = False) -> Iterator[str]:
    later: list[Any] = []
    for prop in struct.bl_rna.properties:
        name = prop.identifier
        if name in left_out or prop.is_deprecated or name.startswith(("active_", "bl_")):
            continue
        if prop.type in ("POINTER", "COLLECTION"):
            later.append(prop)
        elif not prop.is_readonly and not prop.is_hidden and not _is_matrix(prop):
            value = getattr(struct, name)
            if full or not _is_default(value, prop):
                yield f"{name} = {value_text(value, prop)}"
    yield from custom_lines(struct)
    if isinstance(struct, bpy.types.NodesModifier):
        yield from _group_inputs(struct)
    for prop in later:
        yield from _part_lines(struct, prop, depth)


_at_first: dict[str, frozenset[str]] = {}


def _lines_at_first(struct: Any) -> frozenset[str]:
    """The lines that a new one would have."""
    key = fresh_key(struct)
    if not key:
        return frozenset()
    if key not in _at_first:
        with fresh(struct) as new:
            lines = _changed_lines(new, 0, {*_LEFT_OUT, *_left_out(new)}) if new is not None else ()
            _at_first[key] = frozenset(lines)
    return _at_first[key]


def _group_inputs(modifier: Any) -> Iterator[str]:
    """What a Geometry Nodes modifier gives its group."""
    group = modifier.node_group
    inputs = getattr(getattr(modifier, "properties", None), "inputs", None)
    for item in group.interface.items_tree if group is not None and inputs is not None else ():
        value = getattr(getattr(inputs, getattr(item, "identifier", ""), None), "value", None)
        if item.item_type == "SOCKET" and item.in_out == "INPUT" and value is not None:
            yield f"properties.inputs.{item.identifier}.value = {value_text(value)}  # {item.name}"


def _is_matrix(prop: Any) -> bool:
    # some add-ons' properties have subtypes that Blender warns of when they are read
    return getattr(prop, "is_array", False) and prop.type == "FLOAT" and prop.subtype == "MATRIX"


def custom_lines(struct: Any) -> Iterator[str]:
    """The custom properties."""
    if not isinstance(struct, bpy.types.ID | bpy.types.Bone | bpy.types.PoseBone):
        return
    for key, value in struct.items():
        plain = value.to_dict() if hasattr(value, "to_dict") else value
        plain = plain.to_list() if hasattr(plain, "to_list") else plain
        yield f"[{json.dumps(key, ensure_ascii=False)}] = {value_text(plain)}"


def item_paths(collection: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Each item with its path: `key["Name"]`, or `key[3]` where it has no name of its own."""
    seen: set[str] = set()
    for index, item in enumerate(collection):
        name = getattr(item, "name", None)
        if isinstance(name, str) and name and name not in seen:
            seen.add(name)
            yield f"{key}[{json.dumps(name, ensure_ascii=False)}]", item
        else:
            yield f"{key}[{index}]", item


def names_lines(key: str, names: list[str]) -> Iterator[str]:
    """Many names on few lines."""
    for begin in range(0, len(names), NAMES_A_LINE):
        part = ", ".join(json.dumps(one, ensure_ascii=False) for one in names[begin : begin + NAMES_A_LINE])
        yield f"# {key} {begin + 1}-{min(begin + NAMES_A_LINE, len(names))} of {len(names)}: {part}"


def collection_lines(collection: Any, key: str, offset: int) -> Iterator[str]:
    """Each item of a collection, from line `offset` on: those of a long one on a line each."""
    if len(collection) > NAMES_A_LINE:
        if not offset:
            yield f"# {key}: {len(collection)} items"
        # by number: a page far behind must not read all that comes before it
        for index in range(max(0, offset - 1), len(collection)):
            yield f"{key}[{index}]: {_on_one_line(collection[index])}"
    else:
        yield from islice(_few_lines(collection, key), offset, None)


def _few_lines(collection: Any, key: str) -> Iterator[str]:
    yield f"# {key}: {len(collection)} items"
    for path, item in item_paths(collection, key):
        if isinstance(item, bpy.types.bpy_struct) and not isinstance(item, bpy.types.ID):
            yield f"{path}  # {type(item).__name__}"
            yield from (under(path, line) for line in struct_lines(item, DEPTH_LIMIT - 1))
        else:
            yield f"{path} = {value_text(item)}"


def _on_one_line(item: Any) -> str:
    if not isinstance(item, bpy.types.bpy_struct) or isinstance(item, bpy.types.ID):
        return value_text(item)
    parts = [json.dumps(item.name, ensure_ascii=False)] if isinstance(getattr(item, "name", None), str) else []
    for prop in item.bl_rna.properties:
        name = prop.identifier
        simple = prop.type not in ("POINTER", "COLLECTION") and not prop.is_deprecated
        if (
            not simple
            or name in _LEFT_OUT
            or _is_matrix(prop)
            or (prop.is_readonly and not getattr(prop, "is_array", False))
        ):
            continue
        value = getattr(item, name)
        if not _is_default(value, prop):
            parts.append(f"{name}={value_text(value)}")
    return ", ".join(parts) or "all at its default"


def _part_lines(struct: Any, prop: Any, depth: int) -> Iterator[str]:
    name = prop.identifier
    if prop.type == "COLLECTION":
        items = getattr(struct, name)
        if name not in OPENED:
            if len(items) and not depth:
                yield f'# {name}: {len(items)} items; path "{name}" lists them'
            return
        for path, item in item_paths(items, name):
            if item is None or isinstance(item, bpy.types.ID):
                yield f"{path} = {value_text(item)}"
                continue
            yield f"{path}  # {type(item).__name__}"
            if depth < DEPTH_LIMIT:
                yield from (under(path, line) for line in struct_lines(item, depth + 1))
        return
    value = getattr(struct, name)
    if isinstance(value, bpy.types.ID):
        if not value.is_embedded_data:
            yield f"{name} = {id_path(value)}"
    elif value is not None and depth < DEPTH_LIMIT and prop.is_readonly and not _leads_up(struct, value):
        yield from (under(name, line) for line in struct_lines(value, depth + 1))


def _left_out(struct: Any) -> Iterator[str]:
    """What is of no effect at present."""
    if isinstance(struct, bpy.types.ImageFormatSettings) and struct.color_management != "OVERRIDE":
        yield from ("view_settings", "display_settings")
    if isinstance(struct, bpy.types.RenderSettings):
        yield from ("bake", "motion_blur_shutter_curve")
        if struct.image_settings.media_type != "VIDEO":
            yield "ffmpeg"
    if isinstance(struct, bpy.types.ColorManagedViewSettings) and not struct.use_curve_mapping:
        yield "curve_mapping"
    if isinstance(struct, bpy.types.ViewLayer):
        yield "freestyle_settings"
    if isinstance(struct, bpy.types.Object):
        yield "animation_visualization"
        if struct.type != "EMPTY":
            yield from ("empty_display_type", "empty_display_size", "empty_image_offset")
        if all(one.type != "COLLISION" for one in struct.modifiers):
            yield "collision"
        if struct.field is not None and struct.field.type == "NONE":
            yield "field"


def _leads_up(struct: Any, part: Any) -> bool:
    """Whether a part is of the kind that it hangs on: a bone's parent, a node's frame. Those are not followed."""
    return isinstance(struct, type(part)) or isinstance(part, type(struct))


def _always(struct: Any) -> tuple[str, ...]:
    found: tuple[str, ...] = ()
    rna = struct.bl_rna
    while rna is not None:
        found = (*ALWAYS.get(rna.identifier, ()), *found)
        rna = rna.base
    return found


def _is_default(value: Any, prop: Any) -> bool:
    if getattr(prop, "is_array", False) and prop.type != "ENUM":
        default = prop.default_array
        return len(default) == len(value) and all(
            _same(a, b) for a, b in zip(_flat(value), _flat(default), strict=False)
        )
    if prop.type == "ENUM":
        if prop.is_enum_flag:
            return bool(value == prop.default_flag)
        # the default of one whose items are made as they are asked for is no item
        return len(prop.enum_items_static) > 0 and bool(value == prop.default)
    return _same(value, prop.default)


def _flat(values: Any) -> Iterator[Any]:
    for one in values:
        if hasattr(one, "__len__") and not isinstance(one, str):
            yield from _flat(one)
        else:
            yield one


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, float):
        return math.isclose(value, default, rel_tol=1e-5, abs_tol=1e-7) or (math.isnan(value) and math.isnan(default))
    return bool(value == default)
