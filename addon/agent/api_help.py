# SPDX-License-Identifier: GPL-3.0-or-later
"""What this Blender's Python offers, told from its own descriptions: names, types, defaults, ranges, enum items."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import bpy

from ...evaluator.protocol.bridge import BridgeCallError
from .api_index import INDEX, operator_rna
from .fresh import node_sockets, settle, tree_of_node
from .inspection_lines import value_text
from .methods import current_scene, whole
from .pages import clipped, page_of_lines

BUDGET: Final = 7_000  # characters of one page
QUERY_LIMIT: Final = 300
HITS_LIMIT: Final = 200
ITEMS_SHOWN: Final = 12  # enum items on a search's line
ARRAY_SHOWN: Final = 4
WARM_SECONDS: Final = 0.008
WARM_EVERY: Final = 0.05
PREPARE_SECONDS: Final = 0.02
_UNBOUNDED: Final = 1e9
_STARTS: Final = {"bpy.types.": "", "bpy.data": "BlendData", "bpy.context": "Context", "bpy.app.handlers": ""}


def api_help(query: str, offset: int = 0) -> dict[str, Any]:
    """One page of what `query` finds: everything of one thing where it is a path, else a line for each of the hits.

    A path is one of a type, property, function or operator (`Object.location`, `bpy.ops.mesh.bevel`,
    `Object.modifiers.new`, `ShaderNodeBsdfPrincipled`). `next_offset` is None on the last page.
    """
    if not isinstance(query, str) or not query.strip() or len(query) > QUERY_LIMIT:
        raise BridgeCallError("bad_params", f"query is {query!r:.80}; expected 1 to {QUERY_LIMIT} characters")
    offset = whole("offset", offset, 0, 10**6)
    exact = _resolved(_path(query))
    if exact is not None:
        path, thing = exact
        lines: Iterator[str] = _details(path, thing)
    else:
        hits = INDEX.search(query)
        if not hits:
            raise BridgeCallError(
                "bad_params",
                f"nothing in Blender's API has the words of {clipped(repr(query), 80)}; try fewer or other ones",
            )
        path, lines = "", _hit_lines(hits)
    page, following = page_of_lines(islice(lines, offset, None), offset, BUDGET)
    settle()
    return {"path": path, "lines": page, "next_offset": following}


def warm_up() -> float | None:
    """Build the index in short slices: a timer's function for the window, which ends when that is done."""
    return None if INDEX.step(WARM_SECONDS) else WARM_EVERY


def prepare_index() -> bool:
    """Build a part of the index for a call that waits for it; True once it is whole."""
    return INDEX.step(PREPARE_SECONDS)


# --- finding ----------------------------------------------------------------------------------------------------------


def _path(query: str) -> str:
    """The query without calls, indices and what every path starts with."""
    text = re.sub(r"\(.*?\)|\[.*?\]", "", query.strip())
    for start, instead in _STARTS.items():
        if text.startswith(start):
            return (instead + text[len(start) :]).strip(".")
    return text.strip(".")


def _resolved(path: str) -> tuple[str, Any] | None:
    """The thing that a path names, as (its proper path, an RNA type, property or function)."""
    if not re.fullmatch(r"[A-Za-z_][\w.]*", path):
        return None
    operator = path.removeprefix("bpy.ops.")
    if path.startswith("bpy.ops.") or (operator.count(".") == 1 and operator.islower()):
        name, _, parameter = operator.partition(".")[2].partition(".")
        rna = operator_rna(f"{operator.partition('.')[0]}.{name}")
        if rna is not None:
            found = f"bpy.ops.{operator.partition('.')[0]}.{name}"
            if not parameter:
                return found, rna
            return (f"{found}.{parameter}", rna.properties[parameter]) if parameter in rna.properties else None
    first, *others = path.split(".")
    if first == "bpy_struct" and len(others) == 1:
        return _method(path, others[0])
    thing = _type(first)
    if thing is None:
        return None
    proper = thing.identifier
    for part in others:
        holder, thing = thing, _member(thing, part)
        if thing is None:
            return _method(f"{proper}.{part}", part) if _is_type(holder) and part == others[-1] else None
        proper += f".{thing.identifier}"
    return proper, thing


def _method(path: str, name: str) -> tuple[str, Any] | None:
    """A function that everything of Blender's has, such as keyframe_insert; Python's own, with nothing but its text."""
    found = vars(bpy.types.bpy_struct).get(name)
    return (path, found) if callable(found) and not name.startswith("_") else None


def _type(name: str) -> Any:
    found = getattr(bpy.types, name, None)
    if found is None:
        INDEX.step(float("inf"))
        found = getattr(bpy.types, INDEX.types.get(name.casefold(), ""), None)
    return getattr(found, "bl_rna", None)


def _member(thing: Any, name: str) -> Any:
    """A property or function of a type, or of what a property leads to; a collection's own functions come first."""
    holders = [thing] if _is_type(thing) else [getattr(thing, "srna", None), getattr(thing, "fixed_type", None)]
    for holder in holders:
        for members in (holder.properties, holder.functions) if holder is not None else ():
            if name in members:
                return members[name]
    return None


def _is_type(thing: Any) -> bool:
    return not isinstance(thing, bpy.types.Property | bpy.types.Function)


# --- one line ---------------------------------------------------------------------------------------------------------


def _hit_lines(hits: list[str]) -> Iterator[str]:
    more = f"; the first {HITS_LIMIT} follow" if len(hits) > HITS_LIMIT else ""
    yield f"# {len(hits)} found{more}"
    for path in hits[:HITS_LIMIT]:
        exact = _resolved(path)
        if exact is not None:  # an add-on may have taken it away again
            yield _line(path, exact[1])


def _line(path: str, thing: Any) -> str:
    if not isinstance(thing, bpy.types.bpy_struct):
        return f"{path}  # {_told(thing).partition(':param')[0]}"
    about = f"  # {thing.description}" if thing.description else ""
    if isinstance(thing, bpy.types.Function):
        return f"{path}{_parameters(thing.parameters)}{about}"
    if _is_type(thing):
        if path.startswith("bpy.ops."):
            return f"{path}{_parameters(thing.properties)}{about}"
        base = f"({thing.base.identifier})" if thing.base is not None else ""
        return f"{path}{base}: {thing.name}{about}"
    name = f"  # {thing.name}: {thing.description}" if thing.description else f"  # {thing.name}"
    return f"{path}: {_kind(thing, ITEMS_SHOWN)}{name}"


def _told(method: Any) -> str:
    return (method.__doc__ or "").replace(".. method:: ", "")


def _parameters(parameters: Any) -> str:
    given = [one for one in parameters if one.identifier != "rna_type" and not getattr(one, "is_output", False)]
    made = [one for one in parameters if getattr(one, "is_output", False)]
    texts = [one.identifier if one.is_required else f"{one.identifier}={_default(one)}" for one in given]
    results = [f"{one.identifier}: {_kind(one, 0).partition(' = ')[0]}" for one in made]
    return f"({', '.join(texts)})" + (f" -> {', '.join(results)}" if results else "")


def _kind(prop: Any, items: int) -> str:
    """Type, default, range and items of a property in words."""
    if prop.type == "POINTER":
        return prop.fixed_type.identifier if prop.fixed_type is not None else "pointer"
    if prop.type == "COLLECTION":
        own = f", itself {prop.srna.identifier}" if prop.srna is not None else ""
        return f"collection of {prop.fixed_type.identifier}{own}"
    parts = [prop.type.lower()]
    if getattr(prop, "is_array", False):
        parts[0] += f"[{prop.array_length}]"
    if prop.type == "ENUM":
        names = [one.identifier for one in prop.enum_items]
        more = f" … {len(names) - items} more" if len(names) > items else ""
        parts[0] = f"{'set of ' if prop.is_enum_flag else ''}enum"
        if items:
            parts[0] += f" {' | '.join(names[:items])}{more}"
    text = f"{parts[0]} = {_default(prop)}"
    if prop.type in ("INT", "FLOAT"):
        text += _range(prop)
    return text + (", read-only" if prop.is_readonly else "")


def _range(prop: Any) -> str:
    low, high = prop.hard_min, prop.hard_max
    if low < -_UNBOUNDED and high > _UNBOUNDED:
        text = ""
    elif high > _UNBOUNDED:
        text = f", from {low:g}"
    else:
        text = f", {low:g} to {high:g}" if low >= -_UNBOUNDED else f", up to {high:g}"
    unit = getattr(prop, "unit", "NONE")
    return text + (f", {'radians' if unit == 'ROTATION' else unit.lower()}" if unit != "NONE" else "")


def _default(prop: Any) -> str:
    if prop.type in ("POINTER", "COLLECTION"):
        return "None"
    if prop.type == "ENUM" and prop.is_enum_flag:
        return value_text(prop.default_flag)
    if prop.type == "ENUM" and not len(prop.enum_items_static):
        return "…"  # its items are made when they are asked for
    if getattr(prop, "is_array", False):
        return value_text(tuple(prop.default_array)) if prop.array_length <= ARRAY_SHOWN else "…"
    return value_text(prop.default)


# --- everything of one ------------------------------------------------------------------------------------------------


def _details(path: str, thing: Any) -> Iterator[str]:
    if not isinstance(thing, bpy.types.bpy_struct):
        yield path
        yield from (line for line in _told(thing).splitlines() if line.strip())
    elif isinstance(thing, bpy.types.Function) or (_is_type(thing) and path.startswith("bpy.ops.")):
        yield _line(path, thing)
        parameters = thing.parameters if isinstance(thing, bpy.types.Function) else thing.properties
        for one in parameters:
            if one.identifier != "rna_type" and not getattr(one, "is_output", False):
                yield f"  {one.identifier}: {_kind(one, 0)}  # {one.description or one.name}"
                yield from (f"    {line}" for line in _item_lines(one))
    elif _is_type(thing):
        yield from _type_lines(path, thing)
    else:
        yield _line(path, thing)
        yield from _item_lines(thing)
        for holder in (getattr(thing, "srna", None), getattr(thing, "fixed_type", None)):
            if holder is not None:
                members = [one.identifier for one in holder.properties if one.identifier != "rna_type"]
                members += [f"{one.identifier}()" for one in holder.functions]
                yield f"# {holder.identifier} has {', '.join(members)}"


def _item_lines(prop: Any) -> Iterator[str]:
    if prop.type == "ENUM":
        for name in _live_items(prop):
            yield repr(name)
        for one in prop.enum_items:
            yield f"{one.identifier!r}  # {one.name}{': ' if one.description else ''}{one.description}"


def _live_items(prop: Any) -> list[str]:
    """The items that the scene's own settings take beyond those of the description: engines, view transforms."""
    scene = current_scene()
    if scene is None or len(prop.enum_items) > 2 or prop.is_readonly:
        return []
    for owner in (scene.render, scene.view_settings, scene.display_settings, scene.render.image_settings):
        if owner.bl_rna.properties.get(prop.identifier) == prop:
            try:
                setattr(owner, prop.identifier, "\0")
            except TypeError as error:  # nothing is set; the error lists what could be
                found = re.findall(r"'([^']+)'", str(error).partition("not found in")[2])
                return [one for one in found if one not in prop.enum_items]
    return []


def _type_lines(path: str, rna: Any) -> Iterator[str]:
    yield _line(path, rna)
    kind = getattr(bpy.types, rna.identifier)
    if issubclass(kind, bpy.types.Node):
        for name, identifier, socket, is_output, value in node_sockets(rna.identifier, tree_of_node(rna.identifier)):
            key = "outputs" if is_output else "inputs"
            other = f", identifier {identifier}" if identifier != name else ""
            default = f" = {value_text(value)}" if value is not None and not is_output else ""
            yield f'{key}["{name}"]: {socket}{default}{other}'
    inherited: set[str] = set(rna.base.properties.keys()) if rna.base is not None else set()
    for prop in rna.properties:
        if prop.identifier not in inherited and prop.identifier != "rna_type":
            yield _line(f"  {prop.identifier}", prop)
    functions: set[str] = set(rna.base.functions.keys()) if rna.base is not None else set()
    for function in rna.functions:
        if function.identifier not in functions:
            yield _line(f"  {function.identifier}", function)
    base = rna.base
    while base is not None:
        above: set[str] = set(base.base.properties.keys()) if base.base is not None else set()
        names = [one.identifier for one in base.properties if one.identifier not in {*above, "rna_type"}]
        yield f"# from {base.identifier}: {', '.join(names)}"
        base = base.base
