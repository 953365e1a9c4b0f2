# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths that a scene keeps, and where its numbered folders lie."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import bpy

from ...evaluator.protocol.errors import BadInputError


def absolute(path: str) -> Path:
    """A path of a property as an absolute one; `//` is the .blend file's folder."""
    return Path(bpy.path.abspath(path)).absolute()


def existing(stored: str, what: str) -> Path:
    """The absolute path of what a property names. Raises BadInputError where it is not there."""
    path = absolute(stored)
    if not path.exists():
        raise BadInputError(f"{path}: the {what} is not there; pick it again")
    return path


def there(path: Path | None, what: str) -> Path:
    """`path` if it is a file that we once wrote. Raises BadInputError where it is gone."""
    if path is None or not path.is_file():
        raise BadInputError(f"{path}: the {what} is not there any more; make it again")
    return path


def reference_file(scene: Any) -> Path:
    """The scene's reference. Raises BadInputError where none is picked, or where it is not there."""
    if not scene.matchcut.reference.path:
        raise BadInputError("no reference is picked; choose the video to rebuild in the Reference panel")
    return existing(scene.matchcut.reference.path, "reference")


def output_folder(scene: Any) -> Path:
    """Where the scene's numbered folders of renders and scores lie."""
    if scene.matchcut.output:
        return absolute(scene.matchcut.output)
    if bpy.data.filepath:
        return Path(bpy.data.filepath).parent / "matchcut"
    return Path(bpy.app.tempdir or tempfile.gettempdir()) / "matchcut"


def scenes_of(uid: int) -> Iterable[Any]:
    """The scene with this session id, whatever it is called now; nothing where it was deleted."""
    return [scene for scene in bpy.data.scenes if scene.session_uid == uid]
