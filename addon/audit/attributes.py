# SPDX-License-Identifier: GPL-3.0-or-later
"""Values stored in geometry that can be a picture: colours, numbers and UV maps of points, and the points' heights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import bpy
import numpy as np

from .files import Exporter
from .findings import Finding, Picture, kind_of, label, places
from .pixels import (
    FEWEST_COLOURS,
    FEWEST_POINTS,
    IMAGE_LIKE_COLOURS,
    IMAGE_LIKE_POINTS,
    MOST_LAYERS,
    MOST_POINTS,
    Array,
    distinct,
    drawn,
    frames_looked_at,
    matched,
    saved,
    stretched,
    to_srgb,
    values_of,
)
from .raster import heights, is_flat, seen
from .reach import Reach, State, TreeWalk, Visit, rooted_trees

_READ: Final[dict[str, tuple[str, int, Any]]] = {
    "FLOAT_COLOR": ("color", 4, np.float32),
    "BYTE_COLOR": ("color", 4, np.float32),
    "FLOAT_VECTOR": ("vector", 3, np.float32),
    "FLOAT2": ("vector", 2, np.float32),
    "FLOAT4": ("vector", 4, np.float32),
    "QUATERNION": ("value", 4, np.float32),
    "FLOAT": ("value", 1, np.float32),
    "INT": ("value", 1, np.int32),
    "INT8": ("value", 1, np.int32),
    "INT16_2D": ("value", 2, np.int32),
    "INT32_2D": ("value", 2, np.int32),
}
"""By an attribute's type: the property that holds its values, how many there are, and of what kind."""
_COLOURS: Final = frozenset({"FLOAT_COLOR", "BYTE_COLOR"})
_OTHER_MEANING: Final = frozenset(
    {
        "position", "velocity", "normal", "rest_position", "custom_normal", "radius", "material_index", ".edge_verts",
        ".corner_vert", ".corner_edge",
    }
)  # fmt: skip
_UV: Final = "\0uv"
"""Stands for the UV map that a node reads without naming it; no attribute has this name."""


@dataclass
class Names:
    """Which attributes the nodes of the render read, by the datablock that holds the node."""

    by_material: dict[Any, set[str]]
    """An empty name is the mesh's own choice of colours."""
    by_geometry: set[str]
    all_colours: bool
    """Workbench may show them without any node."""

    def reads(self, block: Any, attribute: Any, reach: Reach) -> bool:
        """Whether the render reads an attribute of the geometry `block`."""
        if block not in reach.rendered:
            return False
        name, is_colour = attribute.name, attribute.data_type in _COLOURS
        objects = [user for user in reach.users.get(block, ()) if user.id_type == "OBJECT"]
        materials = {*block.materials, *(slot.material for item in objects for slot in item.material_slots)}
        if any(modifier.type == "NODES" for item in objects for modifier in item.modifiers):
            materials = set(self.by_material)  # nodes can set any material, and hand colours on under another name
            if name in self.by_geometry or "" in self.by_geometry:
                return True
        wanted = {name, ""} if is_colour else {name, _UV} if attribute.data_type == "FLOAT2" else {name}
        shown = self.all_colours and is_colour
        return shown or any(wanted & self.by_material.get(material, set()) for material in materials)


@dataclass
class Painted:
    """Colours of the points of a datablock, which the render reads."""

    block: Any
    points: Array
    colours: Array


def find_coloured_geometry(reach: Reach, exporter: Exporter) -> Iterator[Finding]:
    """Values in the attributes of meshes, point clouds and curves, and the heights of meshes."""
    names, painted = _names_read(reach), list[Painted]()
    layers = 0
    for blocks in (bpy.data.meshes, bpy.data.pointclouds, bpy.data.hair_curves):
        for block in blocks:
            for attribute in block.attributes:
                if attribute.data_type in _READ and attribute.name not in _OTHER_MEANING and layers < MOST_LAYERS:
                    finding = _attribute(block, attribute, names, reach, exporter, painted)
                    layers += finding is not None
                    yield from [finding] if finding is not None else []
    yield from _as_seen(painted, reach, exporter)
    for mesh in sorted(bpy.data.meshes, key=lambda mesh: -len(mesh.vertices))[:MOST_LAYERS]:
        yield from _heights(mesh, reach, exporter)


def _attribute(
    block: Any, attribute: Any, names: Names, reach: Reach, exporter: Exporter, painted: list[Painted]
) -> Finding | None:
    count = len(attribute.data)
    if not FEWEST_POINTS <= count <= MOST_POINTS:
        return None
    points = _points(block, attribute.domain, count)
    if points is None:
        return None
    colours = _values(attribute, count)
    number = distinct(colours)
    if number < FEWEST_COLOURS:
        return None
    is_colour = attribute.data_type in _COLOURS
    used = names.reads(block, attribute, reach)
    if used and is_colour:
        painted.append(Painted(block, points, colours))
    image_like = is_colour and used and number >= IMAGE_LIKE_COLOURS and count >= IMAGE_LIKE_POINTS and is_flat(points)
    return Finding(
        "coloured_geometry",
        "suspicious" if image_like else "note",
        kind_of(block),
        block.name,
        f"the attribute '{attribute.name}' holds {number} {'colours' if is_colour else 'values'} on {count} "
        f"{attribute.domain.lower()}s{'' if used else ', which no rendered material reads'}",
        _users(block, reach),
        drawn(points, colours, exporter),
        only_if_matched=not image_like,
        matched_severity="forbidden" if used else "suspicious",
    )


def _as_seen(painted: list[Painted], reach: Reach, exporter: Exporter) -> Iterator[Finding]:
    """All coloured points together as the camera sees them: a frame that was projected onto a model."""
    if not painted:
        return
    scene, pictures = reach.scenes[0], list[Picture]()
    shown = scene.frame_current
    for name, frame in frames_looked_at(reach):
        scene.frame_set(frame)
        camera, depsgraph = scene.camera, bpy.context.evaluated_depsgraph_get()
        if camera is None or camera.type != "CAMERA":
            continue
        size = scene.render.resolution_x, scene.render.resolution_y
        lens = np.array(camera.calc_matrix_camera(depsgraph, x=size[0], y=size[1])) @ np.array(
            camera.matrix_world.normalized().inverted()
        )
        points, colours = [], []
        for part in painted:
            for item in reach.users.get(part.block, ()):
                if item.id_type == "OBJECT" and item in reach.rendered:
                    corners = np.c_[part.points, np.ones(len(part.points), np.float32)]
                    points.append(corners @ (lens @ np.array(item.matrix_world)).T)
                    colours.append(part.colours)
        image = seen(np.concatenate(points), np.concatenate(colours), size[0] / size[1]) if points else None
        if image is not None:
            pictures.append(saved(image, exporter, f"as the camera sees it, {name}"))
    scene.frame_set(shown)
    blocks = [part.block for part in sorted(painted, key=lambda part: -len(part.points))]
    where = places(place for block in blocks for place in _users(block, reach))
    what = f"colours on {sum(len(part.points) for part in painted)} points make a picture where the camera stands"
    yield Finding("coloured_geometry", "note", kind_of(blocks[0]), blocks[0].name, what, where, pictures,
                  only_if_matched=True, matched_severity="forbidden")  # fmt: skip


def _heights(mesh: Any, reach: Reach, exporter: Exporter) -> Iterator[Finding]:
    """A sheet that is raised as a picture is light, which a material can show as a colour."""
    count = len(mesh.vertices)
    if not FEWEST_POINTS <= count <= MOST_POINTS:
        return
    points = values_of(mesh.vertices, "co", count, 3)
    above = stretched(heights(points)).repeat(3, 1)
    if distinct(above) >= FEWEST_COLOURS:
        yield Finding("coloured_geometry", "note", "mesh", mesh.name, f"the heights of its {count} points",
                      _users(mesh, reach), drawn(points, above, exporter), only_if_matched=True,
                      matched_severity=matched(reach, mesh))  # fmt: skip


def _users(block: Any, reach: Reach) -> list[str]:
    return places(label(user) for user in reach.users.get(block, ()))


def _points(block: Any, domain: str, count: int) -> Array | None:
    """(count, 3) positions of an attribute's elements; None for a domain that has no places of its own."""
    if domain == "FACE":
        return values_of(block.polygons, "center", count, 3)
    if domain not in ("POINT", "CORNER"):
        return None
    if not isinstance(block, bpy.types.Mesh):
        positions = block.attributes.get("position")
        return values_of(positions.data, "vector", count, 3) if positions is not None else None
    vertices = values_of(block.vertices, "co", len(block.vertices), 3)
    if domain == "POINT":
        return vertices
    corners = np.empty(count, np.int32)
    block.loops.foreach_get("vertex_index", corners)
    return vertices[corners]


def _values(attribute: Any, count: int) -> Array:
    """(count, 3) colours as an attribute stores them; the range of other values is stretched to 0 … 1."""
    name, width, kind = _READ[attribute.data_type]
    values = np.nan_to_num(values_of(attribute.data, name, count, width, kind), posinf=0, neginf=0)
    if attribute.data_type in _COLOURS:
        return to_srgb(values[:, :3])
    columns = [stretched(values[:, min(index, width - 1)]) for index in range(3)]
    return np.stack(columns, -1)


def _names_read(reach: Reach) -> Names:
    shadings = [(scene.render.engine, scene.display.shading.color_type) for scene in reach.scenes]
    plain = any(engine == "BLENDER_WORKBENCH" or shown == "VERTEX" for engine, shown in shadings)
    names = Names(defaultdict(set), set(), plain)

    def note(material: Any) -> Visit:
        def visit(node: Any, where: str, state: State, holder: Any) -> None:
            found = names.by_material[material]
            if node.type == "VERTEX_COLOR":
                found.add(node.layer_name)
            elif node.type == "ATTRIBUTE":
                found.add(node.attribute_name)
            elif node.type == "UVMAP":
                found.add(node.uv_map or _UV)
            elif node.type == "TEX_COORD":
                found.add(_UV)
            elif node.bl_idname == "GeometryNodeInputNamedAttribute":
                socket = node.inputs["Name"]
                names.by_geometry.add("" if socket.is_linked else socket.default_value)

        return visit

    for tree, holder, where, state in rooted_trees(reach):
        if state == "rendered":  # a group counts for each material that it is used in
            TreeWalk(note(holder), only_rendered=True).walk(tree, holder, where, state)
    return names
