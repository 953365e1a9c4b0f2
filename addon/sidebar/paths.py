# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths that a scene keeps, and where its numbered folders lie."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import bpy

from ...evaluator.protocol.errors import BadInputError


def absolute(path: str) -> Path:
    """A path of a property as an absolute one; `//` is the .blend file's folder."""
    return Path(os.path.normpath(Path(bpy.path.abspath(path)).absolute()))


def stored(path: Path) -> str:
    """A path of ours as a property keeps it: relative to the .blend file's folder, wherever Blender's own would be.

    So it is once the file has been saved and where Blender's Relative Paths preference is on; on another drive it
    stays absolute.
    """
    tidy = bpy.context.preferences.filepaths.use_relative_paths
    return relative(str(path), folder_of(bpy.data.filepath)) if tidy else str(path)


def folder_of(filepath: str) -> str:
    """The folder of a .blend file; empty where it was never saved."""
    return str(Path(filepath).parent) if filepath else ""


def relative(path: str, folder: str, *, below: bool = False, flavour: Any = os.path) -> str:
    """The absolute `path` as `//…` from `folder`, with forward slashes as Blender writes them.

    It stays as it is where there is no folder, where it is on another drive, or, with `below`, where it is not below
    the folder. `flavour` is os.path, or for tests that of another system.
    """
    if not folder or path.startswith("//") or not flavour.isabs(path):
        return path
    try:
        found = flavour.relpath(path, folder)
    except ValueError:  # another drive of Windows
        return path
    outside = found == ".." or found.startswith(".." + flavour.sep)
    return path if below and outside else "//" + found.replace(flavour.sep, "/")


def rebased(path: str, old: str, new: str, flavour: Any = os.path) -> str:
    """A path `//…` from the folder `old` as one from `new`, so that it names the same file; any other as it is."""
    if not path.startswith("//") or not old or old == new:
        return path
    return relative(flavour.normpath(flavour.join(old, path[2:])), new, flavour=flavour)


def existing(stored: str, what: str) -> Path:
    """The absolute path of what a property names. Raises BadInputError where it is not there."""
    path = absolute(stored)
    if not path.exists():
        raise BadInputError(f"{path}: the {what} is not there; pick it again")
    return path


def there(path: Path | None, what: str) -> Path:
    """`path` if it is a file that we once wrote. Raises BadInputError where there is none, or where it is gone."""
    if path is None:
        raise BadInputError(f"there is no {what} here; make one first")
    if not path.is_file():
        raise BadInputError(f"{path}: the {what} is not there any more; make it again")
    return path


def output_folder(scene: Any) -> Path:
    """Where the scene's numbered folders of renders and scores lie."""
    if scene.matchcut.output:
        return absolute(scene.matchcut.output)
    if bpy.data.filepath:
        return Path(bpy.data.filepath).parent / "matchcut"
    return Path(bpy.app.tempdir or tempfile.gettempdir()) / "matchcut"


def goes_with_blender(scene: Any) -> bool:
    """Whether the output folder is a temporary one, which is deleted when Blender is closed."""
    return not scene.matchcut.output and not bpy.data.filepath


def scenes_of(uid: int) -> Iterable[Any]:
    """The scene with this session id, whatever it is called now; nothing where it was deleted."""
    return [scene for scene in bpy.data.scenes if scene.session_uid == uid]
