# SPDX-License-Identifier: GPL-3.0-or-later
"""Python and shader code in the file. The audit reads it as text and runs none of it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any, Final

import bpy

from .files import looks_like_picture, stored
from .findings import Finding, kind_of, label, places
from .reach import Reach, State, TreeWalk, curves_of, rooted_trees

MOST_READ: Final = 2**22
"""Characters of one text that are looked through."""
LARGE_PROPERTY: Final = 4096
"""Characters, bytes or numbers in one custom property from which it can hold a picture."""
LARGE_TREE: Final = 500
"""Nodes in one tree from which it can hold a picture's pixels."""
MANY_ANIMATED_COLOURS: Final = 100

_HANDLERS: Final = re.compile(r"\b(?:app\s*\.\s*handlers|driver_namespace|app\s*\.\s*timers)\b")
_READS: Final = re.compile(
    r"\b(?:images\s*\.\s*(?:load|new)|movieclips\s*\.\s*load|urllib|requests|subprocess|socket)\b"
)
_BLOB: Final = re.compile(r"[A-Za-z0-9+/]{1024,}={0,2}|(?:[0-9A-Fa-f]{2}){1024,}")
_NUMBER: Final = re.compile(r"\d+")
_COLOUR: Final = re.compile(
    r"(?:^|[.\"\]])(?:colou?r\w*|\w+_colou?r|diffuse_color|default_value|fill_color|stroke_color)$"
)
_REACHES_OUT: Final = re.compile(r"\b(?:bpy|open|exec|eval|getattr|self)\b|__")


def find_texts(reach: Reach) -> Iterator[Finding]:
    """Texts that run when the file is opened, hook into frame changes, or hold data."""
    for text in bpy.data.texts:
        body = _body(text)
        if text.use_module:
            hooks = sorted(set(_HANDLERS.findall(body)))
            what = "runs when the file is opened" + (f", uses {', '.join(hooks)}" if hooks else "")
            yield Finding("script", "suspicious", "text", text.name, what)
        elif _HANDLERS.search(body) or _READS.search(body):
            found = sorted({match.group() for match in (*_HANDLERS.finditer(body), *_READS.finditer(body))})
            yield Finding("script", "note", "text", text.name, f"does not run by itself; uses {', '.join(found)}")
        blob = _BLOB.search(body.replace("\n", ""))
        numbers = sum(1 for _ in _NUMBER.finditer(body))
        if numbers >= LARGE_PROPERTY:
            yield Finding("hidden_data", "suspicious", "text", text.name, f"holds {numbers} numbers")
        if blob is not None:
            picture = " of a picture" if _is_picture(blob.group()) else ""
            what = f"holds {len(blob.group())} characters of encoded data{picture}"
            yield Finding("hidden_data", "suspicious", "text", text.name, what)


def find_shader_code(reach: Reach) -> Iterator[Finding]:
    """OSL scripts of materials and cameras, and Freestyle's Python."""
    found: dict[tuple[str, str], Finding] = {}

    def visit(node: Any, where: str, state: State, holder: Any) -> None:
        if node.type == "SCRIPT":
            source = label(node.script) if node.mode == "INTERNAL" and node.script else stored(node.filepath)
            on = state == "rendered" and not node.mute
            finding = Finding(
                "shader_code", "suspicious" if on else "note", "node", node.name, f"OSL in {source}", [where]
            )
            found.setdefault((label(holder), node.name), finding)

    walk = TreeWalk(visit)
    for tree, holder, where, state in rooted_trees(reach):
        walk.walk(tree, holder, where, state)
    yield from found.values()
    for camera in bpy.data.cameras:
        if camera.type == "CUSTOM" and (camera.custom_shader or camera.custom_filepath):
            source = label(camera.custom_shader) if camera.custom_shader else stored(camera.custom_filepath)
            yield Finding("shader_code", "suspicious", "camera", camera.name, f"lens in OSL, {source}")
    for scene in bpy.data.scenes:
        for layer in scene.view_layers:
            settings = layer.freestyle_settings
            if scene.render.use_freestyle and layer.use_freestyle and settings.mode == "SCRIPT":
                names = [label(module.script) for module in settings.modules if module.script is not None]
                if names:
                    what = "Freestyle runs Python while it renders"
                    yield Finding("script", "suspicious", "scene", scene.name, what, places(names))


def find_drivers(reach: Reach) -> Iterator[Finding]:
    """Drivers whose expression needs Python: every render of ours leaves them out."""
    for block, data in animated(reach):
        found = [
            curve for curve in data.drivers
            if curve.driver.type == "SCRIPTED" and not curve.driver.is_simple_expression
        ]  # fmt: skip
        if found:
            reaching = sum(_REACHES_OUT.search(curve.driver.expression) is not None for curve in found)
            what = f"{len(found)} drivers with Python that is no simple expression"
            what += f", {reaching} of them reach beyond their variables" if reaching else ""
            where = places(f"{curve.data_path}: {curve.driver.expression}" for curve in found)
            yield Finding("driver", "suspicious", kind_of(block), block.name, what, where)


def find_colour_curves(reach: Reach) -> Iterator[Finding]:
    """Colours that hundreds of curves or drivers set: what a picture made of many lamps or tiles needs."""
    colours, keys, holders = set(), 0, []
    for block, data in animated(reach):
        curves = [curve for curve in (*curves_of(data), *data.drivers) if _COLOUR.search(curve.data_path)]
        colours |= {(block, curve.data_path) for curve in curves}
        keys += sum(len(curve.keyframe_points) for curve in curves)
        holders += [label(block)] if curves else []
    if len(colours) >= MANY_ANIMATED_COLOURS:
        what = f"{len(colours)} colours and shader values are animated, with {keys} keys"
        yield Finding("colour_curves", "suspicious", "animation", "colours", what, places(holders))


def find_hidden_data(reach: Reach) -> Iterator[Finding]:
    """Large custom properties, node trees of hundreds of nodes, and packed fonts and sounds that are pictures."""
    for block in reach.users:
        for owner, where in _property_owners(block):
            for name, size in _large_properties(owner):
                what = f"the custom property '{name}' holds {size} values"
                yield Finding("hidden_data", "suspicious", kind_of(block), block.name, what, [where])
        tree = block if block.id_type == "NODETREE" else getattr(block, "node_tree", None)
        if tree is not None and len(tree.nodes) >= LARGE_TREE:
            what = f"a node tree of {len(tree.nodes)} nodes"
            yield Finding("hidden_data", "suspicious", kind_of(block), block.name, what)
    for blocks in (bpy.data.fonts, bpy.data.sounds, bpy.data.volumes):
        for block in blocks:
            if block.packed_file is not None and looks_like_picture(block.packed_file.data[:64]):
                what = "its packed file is a picture or a movie"
                yield Finding("hidden_data", "suspicious", kind_of(block), block.name, what)


def animated(reach: Reach) -> Iterator[tuple[Any, Any]]:
    """(datablock, animation data) of all that is animated; of a material or world also its node tree's."""
    for block in reach.users:
        for owner in (block, getattr(block, "node_tree", None)):
            data = getattr(owner, "animation_data", None)
            if data is not None:
                yield block, data


def _body(text: Any) -> str:
    parts, length = [], 0
    for line in text.lines:
        parts.append(line.body)
        length += len(line.body) + 1
        if length > MOST_READ:
            break
    return "\n".join(parts)


def _is_picture(blob: str) -> bool:
    start = blob[:64]
    try:
        decoded = [base64.b64decode(start, validate=True)]
    except binascii.Error:
        decoded = []
    try:
        decoded.append(bytes.fromhex(start))
    except ValueError:
        pass
    return any(looks_like_picture(data) for data in decoded)


def _property_owners(block: Any) -> Iterator[tuple[Any, str]]:
    yield block, f"{label(block)}, custom properties"
    if block.id_type == "OBJECT" and block.pose is not None:
        for bone in block.pose.bones:
            yield bone, f"{label(block)}, bone '{bone.name}'"


def _large_properties(owner: Any) -> Iterator[tuple[str, int]]:
    """(name, size) of custom properties that are large; groups count with all that they hold."""
    for name in owner.keys():  # noqa: SIM118 - a datablock is no mapping to iterate
        size = _size(owner[name], 0)
        if size >= LARGE_PROPERTY:
            yield name, size


def _size(value: Any, depth: int) -> int:
    if isinstance(value, (str, bytes)) or hasattr(value, "typecode"):
        return len(value)
    if hasattr(value, "keys") and not isinstance(value, bpy.types.ID):
        return sum(_size(value[key], depth + 1) for key in list(value)) if depth < 50 else LARGE_PROPERTY
    if isinstance(value, (list, tuple)):
        return sum(_size(item, depth + 1) for item in value) if depth < 50 else LARGE_PROPERTY
    return 1
