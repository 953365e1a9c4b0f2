# SPDX-License-Identifier: GPL-3.0-or-later
"""A word index of this Blender's own types, properties, functions and operators.

It holds text alone: a type that an add-on takes away again leaves nothing behind that could be touched.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any, Final

import bpy

# classes of the interface; operators are listed under bpy.ops
_INTERFACE: Final = re.compile(r"_(OT|MT|PT|UL|HT|KSI|GT|GGT|FH|AST)_")
_FAR: Final = (
    "Theme",
    "Space",
    "Preferences",
    "Xr",
    "UILayout",
    "Event",
    "KeyMap",
    "Freestyle",
    "LineStyle",
)  # seldom meant
_PLUMBING: Final = {
    "input_template", "output_template", "is_registered_node_type", "bl_rna_get_subclass", "bl_rna_get_subclass_py",
}  # fmt: skip
_NEAR: Final = (
    "Object", "Mesh", "Material", "Scene", "Camera", "Light", "World", "RenderSettings", "ShaderNode", "GeometryNode",
    "FCurve", "Keyframe", "BlendData", "bpy.ops.object.", "bpy.ops.mesh.", "CyclesRenderSettings",
)  # fmt: skip
ENUM_LIMIT: Final = 80  # items of an enum that are searched
WORDS_LIMIT: Final = 12
CANDIDATES: Final = 1500
_WEAK: Final = {
    "enum",
    "default",
    "value",
    "type",
    "property",
    "the",
    "of",
    "a",
    "in",
    "set",
    "get",
    "how",
    "to",
    "for",
}


class Index:
    """Entries as (path, name, text), all searched in lower case. Built in slices by `step`, or at once."""

    def __init__(self) -> None:
        self._paths: list[str] = []
        self._names: list[str] = []
        self._texts: list[str] = []
        self.types: dict[str, str] = {}  # identifiers by their lower case
        self._building: Iterator[None] | None = None
        self._is_built = False

    def step(self, seconds: float) -> bool:
        """Build for about so long; True once the index is whole."""
        if self._is_built:
            return True
        self._building = self._building or self._build()
        end = time.perf_counter() + seconds
        for _ in self._building:
            if time.perf_counter() >= end:
                return False
        self._is_built = True
        return True

    def search(self, query: str) -> list[str]:
        """The paths that fit the words best, best first; words of one letter are passed over."""
        self.step(float("inf"))
        words, strong = _words(query, r"[^\W_]+(?:[._][^\W_]+)*")
        found = self._holding(strong)
        if not found:  # a path that is no path here: its parts, and underscored names by their words
            words, strong = _words(query, r"[^\W_]+")
            found = self._holding(strong) or self._holding_most(strong)
        scored = sorted((-self._score(one, words), len(self._paths[one]), self._paths[one]) for one in found)
        return [path for _, _, path in scored]

    def _holding(self, words: list[str]) -> list[int]:
        if not words:
            return []
        first, *others = sorted(words, key=len, reverse=True)
        found = [number for number, text in enumerate(self._texts) if first in text]
        for word in others:
            found = [number for number in found if word in self._texts[number]]
        return self._nearer(found, words)

    def _holding_most(self, words: list[str]) -> list[int]:
        """Where no entry has all words: those that have the most of them."""
        counts: dict[int, int] = {}
        for word in words:
            for number, text in enumerate(self._texts):
                if word in text:
                    counts[number] = counts.get(number, 0) + 1
        most = max(counts.values(), default=0)
        return self._nearer([number for number, count in counts.items() if count == most], words)

    def _nearer(self, found: list[int], words: list[str]) -> list[int]:
        if len(found) <= CANDIDATES:
            return found
        near = [number for number in found if any(word in self._paths[number].casefold() for word in words)]
        return (near or found)[:CANDIDATES]

    def _score(self, number: int, words: list[str]) -> float:
        path, name = self._paths[number].casefold(), self._names[number]
        owner, _, last = path.rpartition(".")
        parts, titles = set(re.split(r"[._]", path)), set(name.split())
        score = 0.0
        for word in words:
            if word in (last, path):
                score += 8
            elif word in parts or word in titles:
                score += 5
            elif word in last or word in owner:
                score += 3
            elif word in name:
                score += 2
            else:
                score += 0.5
        if name == " ".join(words):
            score += 6
        if not owner:
            score += 1.5
        if any(self._paths[number].startswith(one) for one in _FAR):
            score -= 4
        if any(self._paths[number].startswith(one) for one in _NEAR):
            score += 1
        return score

    def _add(self, path: str, name: str, *texts: str) -> None:
        self._paths.append(path)
        self._names.append(name.casefold())
        self._texts.append(" ".join((path, name, *texts)).casefold())

    def _add_settings(self, path: str, rna: Any) -> None:
        """An add-on's settings (`Scene.cycles`), whose type has no place of its own."""
        for prop in rna.properties:
            if prop.identifier not in ("rna_type", "name"):
                self._add(f"{path}.{prop.identifier}", prop.name, prop.description, _items(prop))

    def _build(self) -> Iterator[None]:
        for identifier in dir(bpy.types):
            rna = getattr(getattr(bpy.types, identifier, None), "bl_rna", None)
            if rna is None:
                continue
            yield
            if _INTERFACE.search(identifier):
                continue
            self.types[identifier.casefold()] = identifier
            self._add(identifier, rna.name, rna.description)
            inherited = set(rna.base.properties.keys()) if rna.base is not None else set()
            for prop in rna.properties:
                if prop.identifier not in inherited and prop.identifier != "rna_type":
                    self._add(f"{identifier}.{prop.identifier}", prop.name, prop.description, _items(prop))
                    if prop.type == "POINTER" and prop.is_runtime and prop.fixed_type is not None:
                        self._add_settings(f"{identifier}.{prop.identifier}", prop.fixed_type)
            functions = set(rna.base.functions.keys()) if rna.base is not None else set()
            for function in rna.functions:
                if function.identifier not in functions and function.identifier not in _PLUMBING:
                    parameters = " ".join(f"{one.identifier} {_items(one)}" for one in function.parameters)
                    self._add(
                        f"{identifier}.{function.identifier}", function.identifier, function.description, parameters
                    )
        for name, method in vars(bpy.types.bpy_struct).items():
            if not name.startswith("_") and callable(method):
                self._add(f"bpy_struct.{name}", name, (method.__doc__ or "").split(":arg")[0])
        for module in dir(bpy.ops):
            for name in dir(getattr(bpy.ops, module)):
                yield
                rna = operator_rna(f"{module}.{name}")
                if rna is not None:
                    parameters = " ".join(f"{one.identifier} {one.name}" for one in rna.properties)
                    self._add(f"bpy.ops.{module}.{name}", rna.name, rna.description, parameters)


def _words(query: str, pattern: str) -> tuple[list[str], list[str]]:
    """The words of a query, and those of them that an entry has to have."""
    words = [one for one in dict.fromkeys(re.findall(pattern, query.casefold())) if len(one) > 1][:WORDS_LIMIT]
    return words, [one for one in words if one not in _WEAK] or words


def operator_rna(name: str) -> Any:
    """An operator's description by `module.name`; None where there is none."""
    module, _, function = name.partition(".")
    try:
        return getattr(getattr(bpy.ops, module), function).get_rna_type()
    except (AttributeError, KeyError):
        return None


def _items(prop: Any) -> str:
    if prop.type != "ENUM":
        return ""
    items = prop.enum_items_static
    return " ".join(f"{one.identifier} {one.name}" for one in items) if len(items) <= ENUM_LIMIT else ""


INDEX: Final = Index()
