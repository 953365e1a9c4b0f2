# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures made of many pieces that have a colour each: faces, letters, objects, lamps, strokes of grease pencil."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

import bpy
import numpy as np
from numpy.typing import NDArray

from .files import Exporter, sampled
from .findings import Finding, Picture, Severity, kind_of, label, places
from .pixels import (
    FEWEST_COLOURS,
    FEWEST_POINTS,
    IMAGE_LIKE_COLOURS,
    MOST_LAYERS,
    MOST_POINTS,
    Array,
    distinct,
    drawn,
    frames_looked_at,
    matched,
    to_srgb,
    values_of,
)
from .raster import is_flat
from .reach import Reach, curves_of

MOSAIC_FACES: Final = 24
"""An object of at most so many faces may be a picture's dot."""


def find_mosaics(reach: Reach, exporter: Exporter) -> Iterator[Finding]:
    """Meshes, texts, curves and drawings whose pieces, and crowds of small objects that, have many colours."""
    for mesh in bpy.data.meshes:
        faces = len(mesh.polygons)
        if len(mesh.materials) >= FEWEST_COLOURS and FEWEST_POINTS <= faces <= MOST_POINTS:
            index = np.empty(faces, np.int32)
            mesh.polygons.foreach_get("material_index", index)
            points = values_of(mesh.polygons, "center", faces, 3)
            yield from _pieces(mesh, "faces", points, index, reach, exporter)
    for curve in bpy.data.curves:
        if len(curve.materials) >= FEWEST_COLOURS:
            what, points, index = _letters(curve) if isinstance(curve, bpy.types.TextCurve) else _splines(curve)
            yield from _pieces(curve, what, points, index, reach, exporter)
    for pencil in bpy.data.grease_pencils:
        yield from _drawings(pencil, reach, exporter)
    dots = [item for item in bpy.data.objects if _is_dot(item)]
    for rendered in (True, False):
        yield from _crowd([dot for dot in dots if (dot in reach.rendered) == rendered], rendered, reach, exporter)


def _pieces(
    block: Any, kind: str, points: Array, index: NDArray[np.int32], reach: Reach, exporter: Exporter
) -> Iterator[Finding]:
    """Pieces (N, 3) of a datablock, each in the material of its index (N,)."""
    if not FEWEST_POINTS <= len(points) <= MOST_POINTS:
        return
    index = index.clip(0, len(block.materials) - 1)
    pictures, most = list[Picture](), 0
    for name, frame in frames_looked_at(reach):
        colours = _levels([_material_colour(item, frame) for item in block.materials])[index]
        most = max(most, distinct(colours))
        pictures += drawn(points, to_srgb(colours), exporter, name)
    if most >= FEWEST_COLOURS:
        what = f"{len(points)} {kind} in {len(block.materials)} materials"
        users = places(label(user) for user in reach.users.get(block, ()))
        yield Finding("mosaic", "suspicious", kind_of(block), block.name, what, users, pictures,
                      matched_severity=matched(reach, block))  # fmt: skip


def _letters(curve: Any) -> tuple[str, Array, NDArray[np.int32]]:
    """The letters of a text in rows and columns, and the numbers of their materials."""
    rows = curve.body.split("\n")
    points = [(column, -row, 0) for row, line in enumerate(rows) for column in range(len(line))]
    index = [part.material_index for part, letter in zip(curve.body_format, curve.body, strict=False) if letter != "\n"]
    return "letters", np.array(points[: len(index)], np.float32).reshape(-1, 3), np.array(index, np.int32)


def _splines(curve: Any) -> tuple[str, Array, NDArray[np.int32]]:
    """The first points of a curve's splines, and the numbers of their materials."""
    first = [(spline.bezier_points or spline.points)[0].co[:3] for spline in curve.splines]
    index = [spline.material_index for spline in curve.splines]
    return "splines", np.array(first, np.float32).reshape(-1, 3), np.array(index, np.int32)


def _crowd(dots: list[Any], rendered: bool, reach: Reach, exporter: Exporter) -> Iterator[Finding]:
    if len(dots) < FEWEST_POINTS // 2:
        return
    points = np.array([dot.matrix_world.translation for dot in dots], np.float32)
    pictures, most, most_own = list[Picture](), 0, 0
    for name, frame in frames_looked_at(reach):
        colours = _levels([_object_colour(dot, frame) for dot in dots])
        own = _levels([_own_colour(dot, frame) for dot in dots])  # as Workbench may show them
        most, most_own = max(most, distinct(colours)), max(most_own, distinct(own))
        pictures += drawn(points, to_srgb(colours), exporter, name)
        if most_own >= FEWEST_COLOURS and not np.array_equal(own, colours):
            pictures += drawn(points, to_srgb(own), exporter, f"{name}, objects' own colours")
    if max(most, most_own) < FEWEST_COLOURS:
        return
    groups: dict[str, int] = defaultdict(int)
    for dot in dots:
        groups[dot.users_collection[0].name if dot.users_collection else "no collection"] += 1
    where = places(f"collection '{name}': {count} objects" for name, count in groups.items())
    severity: Severity = "suspicious" if rendered and most >= IMAGE_LIKE_COLOURS and is_flat(points) else "note"
    first = min(dot.name for dot in dots)
    yield Finding("mosaic", severity, "object", first,
                  f"with {len(dots) - 1} others a crowd of {max(most, most_own)} colours", where,
                  pictures, only_if_matched=severity == "note",
                  matched_severity="forbidden" if rendered else "suspicious")  # fmt: skip


def _is_dot(item: Any) -> bool:
    return item.type == "LIGHT" or (item.type == "MESH" and len(item.data.polygons) <= MOSAIC_FACES)


def _object_colour(item: Any, frame: int) -> list[float]:
    """The colour that an object has at a frame: its lamp's, its first material's, or its own."""
    if item.type == "LIGHT":
        (power,) = _animated(item.data, "energy", [item.data.energy], frame)
        return [power * part for part in _animated(item.data, "color", list(item.data.color), frame)]
    material = item.material_slots[0].material if item.material_slots else None
    if material is None or _reads_object_colour(material):
        return _own_colour(item, frame)
    return _material_colour(material, frame)


def _own_colour(item: Any, frame: int) -> list[float]:
    return _animated(item, "color", list(item.color)[:3], frame)


def _levels(colours: list[list[float]]) -> Array:
    """Colours (N, 3), the lightest of which is 1 where it was above."""
    values = np.nan_to_num(np.array(colours, np.float32), posinf=0, neginf=0)
    return np.asarray(values / max(1.0, float(values.max(initial=0))), np.float32)


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
                colour = _animated(tree, socket.path_from_id("default_value"), list(socket.default_value)[:3], frame)
                strength = node.inputs.get("Strength")
                if strength is None or strength.is_linked:
                    return colour
                (power,) = _animated(tree, strength.path_from_id("default_value"), [strength.default_value], frame)
                return [power * part for part in colour]
        if node.type == "RGB":
            colour = list(node.outputs[0].default_value)[:3]
            return _animated(tree, node.outputs[0].path_from_id("default_value"), colour, frame)
    return _animated(material, "diffuse_color", list(material.diffuse_color)[:3], frame)


def _animated(block: Any, path: str, values: list[float], frame: int) -> list[float]:
    """The values of a property at a frame, where curves set them."""
    for curve in curves_of(block.animation_data):
        if curve.data_path == path and curve.array_index < len(values):
            values[curve.array_index] = curve.evaluate(frame)
    return values


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
        points = values_of(positions.data, "vector", count, 3)
        for name in ("vertex_color", "fill_color", "materials' fill", "materials' stroke"):
            values = _stroke_colours(block, data, name)
            if values is None:
                continue
            if len(values) == len(frame.drawing.curve_offsets) - 1:  # one for each stroke
                offsets = np.array([item.value for item in frame.drawing.curve_offsets])
                values = values.repeat(np.diff(offsets), axis=0)
            if len(values) == count and distinct(values) >= FEWEST_COLOURS:
                most = max(most, count)
                found = f"layer '{layer}', frame {frame.frame_number}, {name}"
                pictures += drawn(points, to_srgb(values), exporter, found)
    if most:
        users = places(label(user) for user in reach.users.get(block, ()))
        what = f"drawings of up to {most} points with colours of their own"
        yield Finding("traced_drawing", "suspicious", kind_of(block), block.name, what, users, pictures,
                      matched_severity=matched(reach, block))  # fmt: skip


def _stroke_colours(block: Any, data: Any, name: str) -> Array | None:
    """(N, 3) colours of points or strokes by an attribute's name, or those of the materials that strokes have."""
    if name in data:
        return values_of(data[name].data, "color", len(data[name].data), 4)[:, :3]
    if "materials" not in name or "material_index" not in data:
        return None
    styles = [item.grease_pencil if item is not None else None for item in block.materials]
    kind = "fill_color" if "fill" in name else "color"
    shades = [[0.0, 0.0, 0.0] if style is None else list(getattr(style, kind))[:3] for style in styles]
    numbers = data["material_index"].data
    index = values_of(numbers, "value", len(numbers), 1, np.int32).ravel().astype(np.int32)
    chosen: Array = np.array(shades or [[0.0, 0.0, 0.0]], np.float32)[index.clip(0, max(0, len(shades) - 1))]
    return chosen
