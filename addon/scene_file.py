# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens a .blend as every child does, and saves a copy of the open one; the artist's own file stays as it is.

Blender opens a file at the scene of its first window. A copy that is made for another of its scenes says which one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bpy

from ..evaluator.protocol.errors import BadInputError

CHOSEN = "matchcut_chosen"
"""Custom property that only a copy's scene has: the one that the copy was made for."""


def open_scene(path: Path) -> None:
    """Open a .blend at the scene that it was saved for, without running its scripts.

    Raises BadInputError where Blender cannot, or a newer one wrote it: this one would lose some of it without a word.
    """
    try:
        bpy.ops.wm.open_mainfile(filepath=str(path), load_ui=False, use_scripts=False)
    except RuntimeError as error:
        reason = " ".join(str(error).removeprefix("Error: ").split())
        raise BadInputError(f"{path}: Blender cannot open it ({reason})") from error
    if bpy.data.version[:2] > bpy.app.version[:2]:
        wrote, own = (".".join(map(str, version[:2])) for version in (bpy.data.version, bpy.app.version))
        raise BadInputError(
            f"{path}: saved by Blender {wrote}, and this {own} would lose some of it; set $BLENDER to the newer one"
        )
    for scene in bpy.data.scenes:
        if CHOSEN in scene:
            del scene[CHOSEN]
            bpy.context.window_manager.windows[0].scene = scene


def save_copy(scene: Any, path: Path) -> Path:
    """Save what is open now as `path`, to be opened at `scene`, with relative paths that still hold; returns `path`.

    The file is there whole or not at all.

    Raises BadInputError where the folder cannot be written to.
    """
    partial = path.with_name(f".partial-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scene[CHOSEN] = True
        try:
            with without_preview():
                bpy.ops.wm.save_as_mainfile(filepath=str(partial), copy=True, relative_remap=True, compress=True)
            partial.replace(path)
        finally:
            del scene[CHOSEN]
            partial.unlink(missing_ok=True)
    except (OSError, RuntimeError) as error:
        raise BadInputError(f"{path}: the scene could not be saved ({' '.join(str(error).split())})") from error
    return path


@contextmanager
def without_preview() -> Iterator[None]:
    """Have Blender draw no picture of the scene into the file: that takes longer than all the rest of a save."""
    preferences = bpy.context.preferences
    before, changed = preferences.filepaths.file_preview_type, preferences.is_dirty
    preferences.filepaths.file_preview_type = "NONE"
    try:
        yield
    finally:
        preferences.filepaths.file_preview_type = before
        preferences.is_dirty = changed
