# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows an agent one data-block, or a part of it, in as many pages as it takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final

import bpy

from ...evaluator.protocol.bridge import BridgeCallError
from .fresh import settle
from .inspection_kinds import NODE_LOOKS, after_lines, own_lines, socket_lines
from .inspection_lines import collection_lines, id_path, struct_lines, value_text
from .methods import current_scene, plain_text, whole
from .pages import clipped, nearest, page_of_lines

BUDGET: Final = 11_000  # characters of one page's lines
NAME_LIMIT: Final = 1000
_STEP: Final = re.compile(r"""\.?([A-Za-z_]\w*)|\[\s*(-?\d+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*\]""")
_ALSO: Final = {
    "node_tree": "node_groups", "node_group": "node_groups", "shape_key": "shape_keys", "font": "fonts",
    "metaball": "metaballs", "particle_settings": "particles", "grease_pencil": "grease_pencils",
}  # fmt: skip
_USUAL: Final = ("object", "mesh", "material", "node_tree", "action", "camera", "light", "collection", "scene")
# whose embedded trees are found by the name of their owner, too
_TREE_OWNERS: Final = ("materials", "worlds", "lights", "scenes")


def inspect_data(kind: str, name: str = "", path: str = "", offset: int = 0) -> dict[str, Any]:
    """One page of what the data-block `name` of `kind` holds, or the part of it that `path` leads to.

    `root` is the data-block as Python, and `lines` what is said of it, most of it `path = value` relative to `root`;
    lines with # are facts. An empty `name` lists the names. `next_offset` is None on the last page. Raises
    BridgeCallError `bad_params`, with the nearest names, for one that is not there.
    """
    texts = {"kind": kind, "name": name, "path": path}
    for label, value in texts.items():
        if not isinstance(value, str) or len(value) > NAME_LIMIT:
            raise BridgeCallError("bad_params", f"{label} is {value!r:.80}; expected text of at most {NAME_LIMIT}")
    offset = whole("offset", offset, 0, 10**9)
    collection = _collection(kind)
    lines: Iterable[str]
    if not name and not (collection == "scenes" and current_scene() is not None):
        owners = [one.name_full for one in getattr(bpy.data, collection)]
        root, lines = f"bpy.data.{collection}", islice([f"# {len(owners)} in all", *map(repr, owners)], offset, None)
    else:
        root, found = _found(collection, kind, name)
        if path.strip():
            root, lines = _part(root, found, path.strip(), offset)
        else:
            lines = islice(_id_lines(found), offset, None)
    page, following = page_of_lines(lines, offset, BUDGET)
    settle()
    return {"root": plain_text(root), "lines": page, "next_offset": following}


def _collection(kind: str) -> str:
    wanted = kind.strip().casefold().replace(" ", "_")
    collections = [
        one for one in bpy.types.BlendData.bl_rna.properties if one.type == "COLLECTION" and one.identifier != "all_ids"
    ]
    kinds: dict[str, str] = {one.fixed_type.identifier.casefold(): one.identifier for one in collections}
    kinds |= _ALSO | {one.identifier: one.identifier for one in collections}
    if wanted in kinds:
        return kinds[wanted]
    known = dict.fromkeys([*nearest(wanted, kinds), *_USUAL])
    raise BridgeCallError("bad_params", f"kind is {clipped(repr(kind), 80)}; there is {', '.join(known)} and others")


def _found(collection: str, kind: str, name: str) -> tuple[str, Any]:
    """The data-block, and how Python names it."""
    owners = getattr(bpy.data, collection)
    if not name:
        return id_path(current_scene()), current_scene()
    for one in owners:
        if name in (one.name, one.name_full):
            return id_path(one), one
    if collection == "node_groups":
        for other in _TREE_OWNERS:
            owner = getattr(bpy.data, other).get(name)
            for key in ("node_tree", "compositing_node_group"):
                if owner is not None and key in owner.bl_rna.properties and getattr(owner, key) is not None:
                    return f"{id_path(owner)}.{key}", getattr(owner, key)
    names = [one.name_full for one in owners]
    if collection == "node_groups":
        names += [one.name for other in _TREE_OWNERS for one in getattr(bpy.data, other)]
    close = [clipped(repr(one), 80) for one in nearest(name, names)]
    if close:
        told = f"nearest: {', '.join(close)}"
    elif names:
        told = f"none is like it; there are {len(names)}, as {', '.join(clipped(repr(one), 60) for one in names[:5])}"
    else:
        told = "this Blender holds none of that kind"
    raise BridgeCallError("bad_params", f"there is no {kind} {clipped(repr(name), 80)}; {told}")


def _id_lines(one: Any) -> Iterator[str]:
    skip = ("objects", "children", "nodes", "links", "bones", "layers", "slots", "interface")
    return chain(own_lines(one), struct_lines(one, skip=skip), after_lines(one))


def _part(owner: str, found: Any, path: str, offset: int) -> tuple[str, Iterator[str]]:
    """The part's own root, and its lines from number `offset` on."""
    value, text = _walk(found, path)
    root = f"{owner}{'' if text.startswith('[') else '.'}{text}"
    lines: Iterable[str] = [f"{text} = {value_text(value)}"]
    if isinstance(value, bpy.types.ID):
        root, lines = (root if value.is_embedded_data else id_path(value)), _id_lines(value)
    elif isinstance(value, bpy.types.bpy_prop_collection):
        return root, collection_lines(value, text.rpartition(".")[2], offset)
    elif isinstance(value, bpy.types.Node):
        own = struct_lines(value, skip=NODE_LOOKS, full=True)
        lines = chain([f"# {value.bl_idname}"], own, socket_lines(value, full=True))
    elif isinstance(value, bpy.types.bpy_struct):
        lines = chain([f"# {type(value).__name__}"], struct_lines(value, full=True))
    return root, islice(lines, offset, None)


def _walk(found: Any, path: str) -> tuple[Any, str]:
    """Follow a path through properties, names and indices; nothing else of Python is read. Returns it as it went."""
    value, text, position = found, "", 0
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None or value is None:
            ends = "there is nothing behind it" if value is None else "expected names, [numbers] and ['names']"
            raise BridgeCallError("bad_params", f"path {clipped(repr(path), 120)} at {position}: {ends}")
        name, key = step.groups()
        value = _attribute(value, name, text) if name else _item(value, key, text)
        text += (f".{name}" if text else name) if name else f"[{_key_text(key)}]"
        position = step.end()
    return value, text


def _attribute(value: Any, name: str, before: str) -> Any:
    properties = value.bl_rna.properties if isinstance(value, bpy.types.bpy_struct) else {}
    if name in properties:
        return getattr(value, name)
    close = ", ".join(nearest(name, properties.keys())) or "nothing like it"
    raise BridgeCallError(
        "bad_params", f"path: {before or 'the data-block'} ({type(value).__name__}) has no {name!r:.80}; it has {close}"
    )


def _item(value: Any, key: str, before: str) -> Any:
    wanted = _key(key)
    try:
        return value[wanted]
    except (KeyError, IndexError, TypeError):
        names = list(value.keys()) if hasattr(value, "keys") else []
        size = len(value) if hasattr(value, "__len__") else 0
    close = nearest(str(wanted), names) or names[:5]
    there = f"; nearest: {', '.join(clipped(repr(one), 60) for one in close)}" if close else ""
    raise BridgeCallError(
        "bad_params", f"path: {before or 'the data-block'} has no item {clipped(repr(wanted), 80)} of {size}{there}"
    )


def _key(key: str) -> int | str:
    if key[0] not in "\"'":
        return int(key)
    return re.sub(r"\\(.)", r"\1", key[1:-1])


def _key_text(key: str) -> str:
    wanted = _key(key)
    return str(wanted) if isinstance(wanted, int) else json.dumps(wanted, ensure_ascii=False)
