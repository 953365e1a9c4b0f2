# SPDX-License-Identifier: GPL-3.0-or-later
"""What the file takes from elsewhere: linked and appended datablocks, assets, and files that are read as it renders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

import bpy

from .files import absolute, is_there, stored
from .findings import Finding, Severity, kind_of, label, places, shown_path
from .images import SEVERITY
from .reach import STATES, Reach, State, TreeWalk, modifier_state, rooted_trees

_BUNDLED: Final = "/datafiles/assets/"
"""Below this folder every Blender brings node groups and brushes that its own menus add to a scene."""
_BUNDLED_TYPES: Final = frozenset({"NODETREE", "BRUSH", "TEXT"})


def find_libraries(reach: Reach) -> Iterator[Finding]:
    """A finding for every library that datablocks are linked from, also where they are packed."""
    linked: dict[Any, list[Any]] = defaultdict(list)
    for block in reach.users:
        if block.library is not None and block.id_type != "LIBRARY":
            linked[block.library].append(block)
    for library in bpy.data.libraries:
        blocks = linked.get(library, [])
        packed = library.is_archive or library.packed_file is not None
        missing = not packed and not is_there(absolute(library.filepath))
        what = f"{len(blocks)} datablocks of {stored(library.filepath)}"
        what += ", packed in the .blend" if packed else "; the file is missing" if missing else ""
        state = _strongest([reach.state(block) for block in blocks])
        where = places(f"{kind_of(block)} '{block.name}'" for block in blocks)
        if blocks and _is_bundled(library.filepath) and {block.id_type for block in blocks} <= _BUNDLED_TYPES:
            yield Finding("bundled_asset", "note", "library", library.name, what, where)
        else:
            yield Finding("library", SEVERITY[state], "library", library.name, what, where)


def find_assets(reach: Reach) -> Iterator[Finding]:
    """Datablocks that were appended from another file, as far as they remember it, and those marked as assets."""
    appended: dict[str, list[Any]] = defaultdict(list)
    for block in reach.users:
        origin = block.library_weak_reference
        if origin is not None and origin.filepath:
            appended[origin.filepath].append(block)
        marks = block.asset_data if block.library is None else None
        if marks is not None:
            told = [f"{name} {getattr(marks, name)!r}" for name in ("author", "copyright", "license")]
            told = [text for text in told if not text.endswith("''")]
            severity: Severity = "suspicious" if told else "note"
            what = f"marked as an asset{': ' if told else ''}{', '.join(told)}"
            yield Finding("asset", severity, kind_of(block), block.name, what)
    for filepath, blocks in appended.items():
        bundled = _is_bundled(filepath) and {block.id_type for block in blocks} <= _BUNDLED_TYPES | {"MATERIAL"}
        where = places(label(block) for block in blocks)
        what = f"{len(blocks)} datablocks were appended from it"
        kind, severity = ("bundled_asset", "note") if bundled else ("appended", "suspicious")
        yield Finding(kind, severity, "library", shown_path(filepath), what, where)


def find_external_files(reach: Reach) -> Iterator[Finding]:
    """Volumes, caches, fonts, sounds, and what modifiers and nodes read from files."""
    for kind, blocks in (("volume", bpy.data.volumes), ("cache_file", bpy.data.cache_files)):
        for block in blocks:
            users = sorted(label(user) for user in reach.users.get(block, ()))
            if block.filepath:
                severity = SEVERITY[reach.state(block)]
                yield Finding(kind, severity, kind_of(block), block.name, f"file {stored(block.filepath)}", users)
    for font in bpy.data.fonts:
        if font.filepath not in ("", "<builtin>"):
            yield Finding("font", "note", "font", font.name, f"file {stored(font.filepath)}")
    for sound in bpy.data.sounds:
        yield Finding("sound", "note", "sound", sound.name, f"file {stored(sound.filepath)}")
    for item in bpy.data.objects:
        for modifier in item.modifiers:
            yield from _modifier(item, modifier, reach)
        for system in item.particle_systems:
            yield from _point_cache(system.point_cache, f"{label(item)}, particle system '{system.name}'", item)
    for scene in bpy.data.scenes:
        if scene.rigidbody_world is not None:
            yield from _point_cache(scene.rigidbody_world.point_cache, f"{label(scene)}, rigid body world", scene)
    yield from _nodes(reach)


def _modifier(item: Any, modifier: Any, reach: Reach) -> Iterator[Finding]:
    where = f"{label(item)}, modifier '{modifier.name}'"
    severity = SEVERITY[modifier_state(item, modifier, reach)]
    if modifier.type == "MESH_CACHE" and modifier.filepath:
        what = f"mesh cache {stored(modifier.filepath)}"
        yield Finding("cache_file", severity, "object", item.name, what, [where])
    elif modifier.type == "MULTIRES" and modifier.is_external:
        what = f"sculpted detail in {stored(modifier.filepath)}"
        yield Finding("simulation_cache", "suspicious", "object", item.name, what, [where])
    elif modifier.type == "FLUID" and modifier.fluid_type == "DOMAIN":
        domain = modifier.domain_settings
        if domain is not None and domain.has_cache_baked_any:
            what = f"fluid cache in {stored(domain.cache_directory)}"
            yield Finding("simulation_cache", "suspicious", "object", item.name, what, [where])
    elif modifier.type == "OCEAN" and modifier.is_cached:
        what = f"ocean cache in {stored(modifier.filepath)}"
        yield Finding("simulation_cache", "suspicious", "object", item.name, what, [where])
    elif modifier.type == "NODES":
        kept = [bake.node for bake in modifier.bakes if bake.node and bake.node.bl_idname == "GeometryNodeBake"]
        if kept:
            what = f"the node '{kept[0].name}' shows what was baked, which cannot be looked at"
            yield Finding("simulation_cache", "suspicious", "object", item.name, what, [where])
        on_disk = [bake for bake in modifier.bakes if bake.use_custom_path]
        if on_disk or modifier.bake_directory:
            directory = on_disk[0].directory if on_disk else modifier.bake_directory
            what = f"geometry nodes bake in {stored(directory)}"
            yield Finding("simulation_cache", "suspicious", "object", item.name, what, [where])
    if getattr(modifier, "point_cache", None) is not None:
        yield from _point_cache(modifier.point_cache, where, item)


def _point_cache(cache: Any, where: str, holder: Any) -> Iterator[Finding]:
    if cache is not None and cache.use_external:
        what = f"simulation read from {stored(cache.filepath)}"
        yield Finding("simulation_cache", "suspicious", kind_of(holder), holder.name, what, [where])


def _nodes(reach: Reach) -> Iterator[Finding]:
    """Nodes that read a file by its path."""
    found: dict[tuple[str, str], Finding] = {}

    def visit(node: Any, where: str, state: State, holder: Any) -> None:
        finding = None
        if node.bl_idname.startswith("GeometryNodeImport"):
            paths = [socket.default_value for socket in node.inputs if socket.type == "STRING"]
            what = f"imports {stored(paths[0]) if paths and paths[0] else 'a file'}"
            finding = Finding("import_node", SEVERITY[state], "node", node.name, what, [where])
        elif node.type == "TEX_IES" and (node.filepath or node.ies):
            what = f"light profile {stored(node.filepath) if node.mode == 'EXTERNAL' else label(node.ies)}"
            finding = Finding(
                "light_profile", "suspicious" if state == "rendered" else "note", "node", node.name, what, [where]
            )
        if finding is not None:
            found.setdefault((label(holder), node.name), finding)

    walk = TreeWalk(visit)
    for tree, holder, where, state in rooted_trees(reach):
        walk.walk(tree, holder, where, state)
    return iter(found.values())


def _is_bundled(path: str) -> bool:
    return _BUNDLED in path.replace("\\", "/")


def _strongest(states: list[State]) -> State:
    return min(states, key=STATES.index, default="unused")
