# SPDX-License-Identifier: GPL-3.0-or-later
"""A copy of the open scene for a render in another process: where it belongs, and how it is saved."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import bpy

from ...evaluator.protocol.bridge import BridgeCallError
from ..scene_file import save_copy as save_scene_copy
from .methods import current_scene, plain_text


def scene_place() -> dict[str, Any]:
    """The open file (empty where it was never saved), the reference that the tab has picked, and Blender's program."""
    scene = current_scene()
    # a Blender in the background has no tab
    picked = scene.matchcut.reference.path if scene is not None and hasattr(scene, "matchcut") else ""
    return {
        "file": plain_text(bpy.data.filepath),
        "reference": plain_text(str(Path(bpy.path.abspath(picked)).absolute())) if picked else "",
        "blender": plain_text(bpy.app.binary_path),
    }


def save_copy(path: str) -> dict[str, Any]:
    """Save what is open as the new .blend file `path`, whose folder is there; the open file stays as it is.

    Raises BridgeCallError `bad_params` for another path, BadInputError where it cannot be written.
    """
    place = Path(path) if isinstance(path, str) else Path()
    if place.suffix != ".blend" or not place.is_absolute() or not place.parent.is_dir() or place.exists():
        raise BridgeCallError(
            "bad_params", f"path is {path!r}; expected a .blend that is not there, in a folder that is"
        )
    scene = current_scene()
    if scene is None:
        raise BridgeCallError("failed", "this Blender has no scene; open a file or make a scene")
    windows = bpy.context.window_manager.windows
    override = bpy.context.temp_override(window=windows[0]) if windows else contextlib.nullcontext()
    with override:
        save_scene_copy(scene, place)
    return {"path": path}
