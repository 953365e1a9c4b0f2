# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose the numbered folders of renders and scores are: each names the scene by an id that the scene keeps too."""

from __future__ import annotations

import uuid
from pathlib import PurePath
from typing import Any

import bpy

from .kept import keep
from .requests import Owner


def owner_of(scene: Any) -> Owner:
    """Whose the scene's folders are; a scene that has no id is given one."""
    return named(scene, scene_id(scene))


def named(scene: Any, own_id: str) -> Owner:
    """The scene as folders name it, with this id."""
    blend, video = (
        PurePath(path.replace("\\", "/")).name for path in (bpy.data.filepath, scene.matchcut.reference.path)
    )
    return Owner(own_id, blend, scene.name, video)


def scene_id(scene: Any) -> str:
    """The id by which folders name the scene; a copy of a scene gets one of its own, and undo takes none away."""
    results = scene.matchcut.results
    shared = any(
        other != scene and other.matchcut.results.scene_id == results.scene_id for other in bpy.data.scenes
    )  # fmt: skip
    if not results.scene_id or (shared and results.scene_name != scene.name):
        made, name = uuid.uuid4().hex, scene.name
        keep(scene.session_uid, "scene id", lambda found: _store(found.matchcut.results, made, name))
    return str(results.scene_id)


def adopt(scene: Any, own_id: str) -> None:
    """Know the scene by the id of folders that were found by its names alone, so that they are its own from now on.

    It was never saved after it was given that id. Where it has one by now, or another scene has this one, it stays.
    """
    if own_id and not any(own_id == one.matchcut.results.scene_id or (one == scene and one.matchcut.results.scene_id)
                          for one in bpy.data.scenes):  # fmt: skip
        name = scene.name
        keep(scene.session_uid, "scene id", lambda found: _store(found.matchcut.results, own_id, name))


def _store(results: Any, made: str, name: str) -> None:
    results.scene_id, results.scene_name = made, name
