# SPDX-License-Identifier: GPL-3.0-or-later
"""What a .blend and the files beside it hold, as one number: two files with the same one render the same pictures.

The bytes of a .blend say less: Blender saves with it the windows, the selection, the frame that is shown and, where
that is animated, the pose at it. So a child opens the file, puts all that into one state, saves it again, and hashes
the datablocks of what it saved. Since version 5 Blender writes them under numbers of their own instead of addresses in
memory, so that the same datablocks give the same bytes. Whatever else differs makes another number: at worst something
is rendered that need not be.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import bpy

from ..evaluator.protocol.files import write_json
from .blend_blocks import FormatError, hash_blocks
from .scene_file import open_scene

FORMAT: Final = "matchcut-scene-content/1"
OWN: Final = "matchcut"
"""Our own properties on scenes, which change with every score and decide no pixel."""

_NO_PIXELS: Final = frozenset(("REND", "TEST", "GLOB", "WM", "WS", "SN", "SR", "BR", "PL", "PC"))
"""Codes of windows, workspaces, screens, brushes and palettes, and of what is told of the file."""
_TOOLS: Final = frozenset(
    (
        "ToolSettings", "Sculpt", "VPaint", "UvSculpt", "GpPaint", "GpVertexPaint", "GpSculptPaint", "GpWeightPaint",
        "CurvesSculpt", "SequencerToolSettings", "NamedBrushAssetReference", "PaintToolSlot",
    )
)  # fmt: skip
"""How the tools of a scene are set."""
_OF_THE_SESSION: Final = {
    "ID": ("session_uid", "recalc", "recalc_up_to_undo_push", "recalc_after_undo_push"),
    "CurveMapping": ("changed_timestamp",),
    "CurveProfile": ("changed_timestamp",),
}
"""Fields that are Blender's own business while it runs."""
_MOST_FILES: Final = 20_000


def tell_content(path: Path, out: Path) -> None:
    """Write `{"format", "content", "reason"}` on the .blend at `path` to `out`; `content` is empty where there is none.

    Raises BadInputError where Blender cannot open it.
    """
    open_scene(path)
    files = list(islice(_files(), _MOST_FILES))
    reason = "it names too many files" if len(files) == _MOST_FILES else _unaccountable()
    content = ""
    if not reason:
        told = hashlib.sha256()
        about = [bpy.app.version_string, bpy.context.scene.name, os.environ.get("OCIO", ""), files]
        told.update(json.dumps(about).encode())
        _settle()
        with tempfile.TemporaryDirectory(prefix="matchcut-content-") as folder:
            copy = Path(folder) / "scene.blend"
            bpy.ops.wm.save_as_mainfile(filepath=str(copy), copy=True, compress=False, relative_remap=False)
            try:
                with copy.open("rb") as file:
                    hash_blocks(
                        file,
                        told.update,
                        without_owners=_NO_PIXELS,
                        without_structs=_TOOLS,
                        without_fields=_OF_THE_SESSION,
                    )
            except FormatError:
                reason = "this Blender writes its files in another format"
        content = "" if reason else told.hexdigest()
    write_json(out, {"format": FORMAT, "content": content, "reason": reason})


def _settle() -> None:
    """Put into one state what decides no pixel: the frame that is shown, selection, 3D cursor."""
    for image in list(bpy.data.images):
        if image.type in ("RENDER_RESULT", "COMPOSITING"):
            bpy.data.images.remove(image)
    for scene in bpy.data.scenes:
        kept = scene.bl_system_properties_get()
        if kept is not None and OWN in kept:
            del kept[OWN]
        scene.frame_set(scene.frame_start)
        scene.cursor.matrix = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))
        for layer in scene.view_layers:
            layer.objects.active = None
            for item in list(layer.objects):
                item.select_set(False, view_layer=layer)


def _files() -> Iterator[list[Any]]:
    """Path, size and time of change of every file that a datablock names, and of its like where it is one of many."""
    own = Path(bpy.utils.system_resource("DATAFILES"))
    named: set[Path] = set()
    for block, files in bpy.data.file_path_map().items():
        named |= {_whole(file, block.library) for file in files}
    named |= {_whole(library.filepath, None) for library in bpy.data.libraries}
    for path in sorted(named):
        if path.is_relative_to(own) or str(path) in (".", ""):
            continue
        many = path.is_dir() or "<" in path.name or any(sign.isdigit() for sign in path.stem)
        found = [path]
        if path.is_dir():
            found = sorted(path.rglob("*"))
        elif many and path.parent.is_dir():
            found = sorted(path.parent.glob(f"*{path.suffix}"))
        for one in found:
            try:
                about = one.stat()
            except OSError:
                yield [str(one), None, None]
            else:
                yield [str(one), about.st_size, about.st_mtime_ns]


def _whole(path: str, library: Any) -> Path:
    return Path(os.path.normpath(bpy.path.abspath(path, library=library)))


def _unaccountable() -> str:
    """What the scene reads from places that no datablock names; empty where there is nothing of the kind."""
    for tree in [*bpy.data.node_groups, *(block.node_tree for block in _with_trees() if block.node_tree)]:
        for node in tree.nodes:
            if node.bl_idname.startswith("GeometryNodeImport"):
                return f"the node {node.name!r} imports a file by its path"
            if node.type == "TEX_IES" and node.mode == "EXTERNAL":
                return f"the node {node.name!r} reads a light profile by its path"
    for item in bpy.data.objects:
        for modifier in item.modifiers:
            baked = modifier.type == "NODES" and (
                modifier.bake_directory or any(bake.use_custom_path for bake in modifier.bakes)
            )
            cache = getattr(modifier, "point_cache", None)
            if modifier.type in ("FLUID", "OCEAN") or baked or (cache is not None and cache.use_disk_cache):
                return f"the modifier {modifier.name!r} of {item.name!r} keeps what it computed in files of its own"
        for system in item.particle_systems:
            if system.point_cache.use_disk_cache:
                return f"the particles {system.name!r} of {item.name!r} keep what they computed in files of their own"
    return ""


def _with_trees() -> Iterator[Any]:
    for blocks in (bpy.data.materials, bpy.data.worlds, bpy.data.lights, bpy.data.linestyles):
        yield from blocks
