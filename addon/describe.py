# SPDX-License-Identifier: GPL-3.0-or-later
"""Says of a .blend what whoever receives it should know: its timeline, and the files that it needs besides itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy

from ..evaluator.protocol.files import write_json
from .scene_file import open_scene
from .timeline import has_camera, scene_timeline

FORMAT = "matchcut-scene/1"
_TILES = {"<UDIM>": "1001", "<UVTILE>": "u1_v1"}


def describe_scene(path: Path, out: Path) -> None:
    """Open a .blend without its scripts and write `out`. Raises BadInputError where Blender cannot open it."""
    open_scene(path)
    scene = bpy.context.scene
    write_json(
        out,
        {
            "format": FORMAT,
            "blender": bpy.app.version_string,
            "saved_by": ".".join(map(str, bpy.data.version[:2])),
            "scene": scene.name,
            "timeline": scene_timeline(scene).to_json(),
            "has_camera": has_camera(scene),
            "external": sorted(_external(), key=lambda item: (item["type"], item["name"], item["file"])),
        },
    )


def _external() -> Iterator[dict[str, Any]]:
    """Files outside the .blend that its datablocks name, without what every Blender brings; no folder is told."""
    own = Path(bpy.utils.system_resource("DATAFILES"))
    paths = {block: set(files) for block, files in bpy.data.file_path_map().items() if files}
    paths |= {library: {library.filepath} for library in bpy.data.libraries if library.packed_file is None}
    for block, files in paths.items():
        for file in files:
            whole = bpy.path.abspath(file, library=block.library)
            for token, tile in _TILES.items():
                whole = whole.replace(token, tile)
            if Path(whole).is_relative_to(own):
                continue
            name = file.replace("\\", "/").rpartition("/")[2]
            kind = block.id_type.lower().replace("_", " ")
            yield {"type": kind, "name": block.name, "file": name, "missing": not Path(whole).is_file()}
