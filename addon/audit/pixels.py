# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures that are no images: colours stored in geometry, and mosaics of faces, objects or lamps of many colours.

What such a picture shows is drawn small, so that the evaluator can compare it with the reference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import bpy
import numpy as np
from numpy.typing import NDArray

from .files import Exporter, sampled
from .findings import Finding, Picture, Severity, kind_of, label, places
from .raster import draw, is_flat
from .reach import Reach, State, TreeWalk, Visit, curves_of, rooted_trees

FEWEST_POINTS: Final = 576
"""Fewer colours than a picture of 32x18 make no picture."""
FEWEST_COLOURS: Final = 16
IMAGE_LIKE_POINTS, IMAGE_LIKE_COLOURS = 1024, 256
"""A flat sheet with so many points of so many colours is told even where it matches nothing."""
MOST_POINTS: Final = 4_000_000
MOST_LAYERS: Final = 48
"""Attributes of one file, and drawings of one grease pencil, that are looked at."""
MOSAIC_FACES: Final = 24
"""An object of at most so many faces may be a picture's dot."""

_READ: Final = {
    "FLOAT_COLOR": ("color", 4),
    "BYTE_COLOR": ("color", 4),
    "FLOAT_VECTOR": ("vector", 3),
    "FLOAT": ("value", 1),
}
_OTHER_MEANING: Final = frozenset({"position", "velocity", "normal", "rest_position", "custom_normal", "radius"})

Array = NDArray[np.float32]


@dataclass
class Names:
    """Which attributes the nodes of the render read, by the datablock that holds the node."""

    by_material: dict[Any, set[str]]
    """An empty name is the mesh's own choice of colours."""
    by_geometry: set[str]
    all_colours: bool
    """Workbench may show them without any node."""

    def reads(self, block: Any, name: str, *, is_colour: bool, reach: Reach) -> bool:
        """Whether the render reads the attribute `name` of the geometry `block`."""
        if block not in reach.rendered:
            return False
        objects = [user for user in reach.users.get(block, ()) if user.id_type == "OBJECT"]
        materials = {*block.materials, *(slot.material for item in objects for slot in item.material_slots)}
        if any(modifier.type == "NODES" for item in objects for modifier in item.modifiers):
            materials = set(self.by_material)  # nodes can set any material, and hand colours on under another name
            if name in self.by_geometry or "" in self.by_geometry:
                return True
        wanted = {name, ""} if is_colour else {name}
        return self.all_colours or any(wanted & self.by_material.get(material, set()) for material in materials)


def find_coloured_geometry(reach: Reach, exporter: Exporter) -> Iterator[Finding]:
    """Colours in the attributes of meshes, point clouds and curves, and in grease pencil drawings."""
    names = _names_read(reach)
    layers = 0
    for blocks in (bpy.data.meshes, bpy.data.pointclouds, bpy.data.hair_curves):
        for block in blocks:
            for attribute in block.attributes:
                if attribute.data_type in _READ and attribute.name not in _OTHER_MEANING and layers < MOST_LAYERS:
                    finding = _attribute(block, attribute, names, reach, exporter)
                    layers += finding is not None
                    yield from [finding] if finding is not None else []
    for block in bpy.data.grease_pencils:
        yield from _drawings(block, reach, exporter)


def _attribute(block: Any, attribute: Any, names: Names, reach: Reach, exporter: Exporter) -> Finding | None:
    count = len(attribute.data)
    if not FEWEST_POINTS <= count <= MOST_POINTS:
        return None
    points = _points(block, attribute.domain, count)
    if points is None:
        return None
    colours = _values(attribute, count)
    distinct = _distinct(colours)
    if distinct < FEWEST_COLOURS:
        return None
    is_colour = attribute.data_type in ("FLOAT_COLOR", "BYTE_COLOR")
    used = names.reads(block, attribute.name, is_colour=is_colour, reach=reach)
    image_like = (
        is_colour and used and distinct >= IMAGE_LIKE_COLOURS and count >= IMAGE_LIKE_POINTS and is_flat(points)
    )
    users = places(label(user) for user in reach.users.get(block, ()))
    return Finding(
        "coloured_geometry",
        "suspicious" if image_like else "note",
        kind_of(block),
        block.name,
        f"the attribute '{attribute.name}' holds {distinct} colours on {count} {attribute.domain.lower()}s"
        + ("" if used else ", which no rendered material reads"),
        users,
        _drawn(points, colours, exporter),
        only_if_matched=not image_like,
        matched_severity="forbidden" if used else "suspicious",
    )


def _points(block: Any, domain: str, count: int) -> Array | None:
    """(count, 3) positions of an attribute's elements; None for a domain that has no places of its own."""
    if domain == "FACE":
        return _get(block.polygons, "center", count, 3)
    if domain not in ("POINT", "CORNER"):
        return None
    if not isinstance(block, bpy.types.Mesh):
        positions = block.attributes.get("position")
        return _get(positions.data, "vector", count, 3) if positions is not None else None
    vertices = _get(block.vertices, "co", len(block.vertices), 3)
    if domain == "POINT":
        return vertices
    corners = np.empty(count, np.int32)
    block.loops.foreach_get("vertex_index", corners)
    return vertices[corners]


def _values(attribute: Any, count: int) -> Array:
    """(count, 3) colours as an attribute stores them; a vector's range and a single number's are stretched to 0 … 1."""
    name, width = _READ[attribute.data_type]
    values = np.nan_to_num(_get(attribute.data, name, count, width), posinf=0, neginf=0)
    if width == 1:
        values = values.repeat(3, 1)
    values = values[:, :3]
    if width < 4:
        low, high = values.min(), values.max()
        stretched: Array = (values - low) / max(high - low, np.float32(1e-9))
        return stretched
    return _to_srgb(values)


def _get(items: Any, name: str, count: int, width: int) -> Array:
    values = np.empty(count * width, np.float32)
    items.foreach_get(name, values)
    return values.reshape(count, width)


def _names_read(reach: Reach) -> Names:
    names = Names(defaultdict(set), set(), bpy.context.scene.render.engine == "BLENDER_WORKBENCH")

    def note(material: Any) -> Visit:
        def visit(node: Any, where: str, state: State, holder: Any) -> None:
            if node.type == "VERTEX_COLOR":
                names.by_material[material].add(node.layer_name)
            elif node.type == "ATTRIBUTE":
                names.by_material[material].add(node.attribute_name)
            elif node.bl_idname == "GeometryNodeInputNamedAttribute":
                socket = node.inputs["Name"]
                names.by_geometry.add("" if socket.is_linked else socket.default_value)

        return visit

    for tree, holder, where, state in rooted_trees(reach):
        if state == "rendered":  # a group counts for each material that it is used in
            TreeWalk(note(holder), only_rendered=True).walk(tree, holder, where, state)
    return names


def _drawings(block: Any, reach: Reach, exporter: Exporter) -> Iterator[Finding]:
    """A grease pencil's drawings whose points or fills have colours of their own."""
    drawings = [(layer.name, frame) for layer in block.layers for frame in layer.frames]
    pictures, most = list[Picture](), 0
    for layer, frame in sampled(drawings, MOST_LAYERS):
        data = frame.drawing.attributes
        positions = data.get("position")
        count = len(positions.data) if positions is not None else 0
        if not FEWEST_POINTS <= count <= MOST_POINTS:
            continue
        points = _get(positions.data, "vector", count, 3)
        for name in ("vertex_color", "fill_color"):
            colours = data.get(name)
            if colours is None:
                continue
            values = _get(colours.data, "color", len(colours.data), 4)[:, :3]
            if colours.domain == "CURVE":
                offsets = np.array([item.value for item in frame.drawing.curve_offsets])
                values = values.repeat(np.diff(offsets), axis=0)
            if len(values) == count and _distinct(values) >= FEWEST_COLOURS:
                most = max(most, count)
                found = f"layer '{layer}', frame {frame.frame_number}, {name}"
                pictures += _drawn(points, _to_srgb(values), exporter, found)
    if pictures:
        users = places(label(user) for user in reach.users.get(block, ()))
        what = f"drawings of up to {most} points with colours of their own"
        yield Finding("traced_drawing", "suspicious", kind_of(block), block.name, what, users, pictures,
                      matched_severity=_matched(reach, block))  # fmt: skip


def find_mosaics(reach: Reach, exporter: Exporter) -> Iterator[Finding]:
    """Meshes whose faces, and crowds of small objects or lamps that, have many materials or colours."""
    for mesh in bpy.data.meshes:
        faces = len(mesh.polygons)
        if len(mesh.materials) >= FEWEST_COLOURS and FEWEST_POINTS <= faces <= MOST_POINTS:
            index = np.empty(faces, np.int32)
            mesh.polygons.foreach_get("material_index", index)
            points = _get(mesh.polygons, "center", faces, 3)
            index = index.clip(0, len(mesh.materials) - 1)
            pictures = []
            for name, frame in _frames(reach):
                colours = np.array([_material_colour(item, frame) for item in mesh.materials], np.float32)
                pictures += _drawn(points, _to_srgb(colours[index]), exporter, name)
            if _distinct(colours[index]) >= FEWEST_COLOURS:
                what = f"{faces} faces in {len(mesh.materials)} materials"
                users = places(label(user) for user in reach.users.get(mesh, ()))
                yield Finding("mosaic", "suspicious", "mesh", mesh.name, what, users, pictures,
                              matched_severity=_matched(reach, mesh))  # fmt: skip
    dots = [item for item in bpy.data.objects if _is_dot(item)]
    for rendered in (True, False):
        yield from _crowd([dot for dot in dots if (dot in reach.rendered) == rendered], rendered, reach, exporter)


def _crowd(dots: list[Any], rendered: bool, reach: Reach, exporter: Exporter) -> Iterator[Finding]:
    if len(dots) < FEWEST_POINTS // 2:
        return
    points = np.array([dot.matrix_world.translation for dot in dots], np.float32)
    pictures = []
    most = 0
    for name, frame in _frames(reach):
        colours = np.array([_object_colour(dot, frame) for dot in dots], np.float32)
        most = max(most, _distinct(colours))
        pictures += _drawn(points, _to_srgb(colours), exporter, name)
    if most < FEWEST_COLOURS:
        return
    groups: dict[str, int] = defaultdict(int)
    for dot in dots:
        groups[dot.users_collection[0].name if dot.users_collection else "no collection"] += 1
    where = places(f"collection '{name}': {count} objects" for name, count in groups.items())
    severity: Severity = "suspicious" if rendered and most >= IMAGE_LIKE_COLOURS and is_flat(points) else "note"
    first = min(dot.name for dot in dots)
    yield Finding("mosaic", severity, "object", first, f"with {len(dots) - 1} others a crowd of {most} colours", where,
                  pictures, only_if_matched=severity == "note",
                  matched_severity="forbidden" if rendered else "suspicious")  # fmt: skip


def _frames(reach: Reach) -> list[tuple[str, int]]:
    """(name, frame) of the first, the middle and the last frame of the range."""
    scene = reach.scenes[0]
    frames = {scene.frame_start, (scene.frame_start + scene.frame_end) // 2, scene.frame_end}
    return [(f"scene frame {frame}", frame) for frame in sorted(frames)]


def _is_dot(item: Any) -> bool:
    return item.type == "LIGHT" or (item.type == "MESH" and len(item.data.polygons) <= MOSAIC_FACES)


def _object_colour(item: Any, frame: int) -> list[float]:
    """The colour that an object has at a frame: its lamp's, its first material's, or its own."""
    if item.type == "LIGHT":
        return _animated_colour(item.data, "color", list(item.data.color), frame)
    material = item.material_slots[0].material if item.material_slots else None
    own = _animated_colour(item, "color", list(item.color)[:3], frame)
    if material is None or _reads_object_colour(material):
        return own
    return _material_colour(material, frame)


def _reads_object_colour(material: Any) -> bool:
    tree = material.node_tree
    return tree is not None and any(node.type == "OBJECT_INFO" for node in tree.nodes)


def _material_colour(material: Any, frame: int) -> list[float]:
    """A material's one colour: its emission's or its surface's where nothing is linked to that, else the viewport's."""
    if material is None:
        return [0.8, 0.8, 0.8]
    tree = material.node_tree
    for node in tree.nodes if tree is not None else ():
        for name in ("Color", "Base Color", "Emission Color"):
            socket = node.inputs.get(name) if node.type in ("EMISSION", "BSDF_DIFFUSE", "BSDF_PRINCIPLED") else None
            if socket is not None and not socket.is_linked:
                colour = list(socket.default_value)[:3]
                return _animated_colour(tree, socket.path_from_id("default_value"), colour, frame)
        if node.type == "RGB":
            colour = list(node.outputs[0].default_value)[:3]
            return _animated_colour(tree, node.outputs[0].path_from_id("default_value"), colour, frame)
    return _animated_colour(material, "diffuse_color", list(material.diffuse_color)[:3], frame)


def _animated_colour(block: Any, path: str, colour: list[float], frame: int) -> list[float]:
    data = block.animation_data
    for curve in curves_of(data.action) if data is not None else ():
        if curve.data_path == path and curve.array_index < 3:
            colour[curve.array_index] = curve.evaluate(frame)
    return colour


def _drawn(points: Array, colours: Array, exporter: Exporter, name: str = "") -> list[Picture]:
    """Small pictures of coloured points, in files for the evaluator."""
    pictures = []
    for image in draw(points, colours):
        path = exporter.path(".npy")
        np.save(path, image)
        pictures.append(Picture("array", str(path), name))
    return pictures


def _matched(reach: Reach, block: Any) -> Severity:
    return "forbidden" if reach.state(block) == "rendered" else "suspicious"


def _distinct(colours: Array) -> int:
    """How many colours there are with 5 bits a channel."""
    if len(colours) == 0:
        return 0
    bits = (colours.clip(0, 1) * 31).round().astype(np.int32)
    return len(np.unique(bits[:, 0] << 10 | bits[:, 1] << 5 | bits[:, 2]))


def _to_srgb(linear: Array) -> Array:
    encoded: Array = np.clip(linear, 0, 1) ** np.float32(1 / 2.2)
    return encoded
