# SPDX-License-Identifier: GPL-3.0-or-later
"""What a process told of a scene outlives undo.

Undo restores a scene as it was before a job's results came in. `keep` puts them there now and after every undo.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
from bpy.app.handlers import persistent

from .paths import scenes_of

_kept: dict[tuple[int, str], Callable[[Any], None]] = {}
"""By session id of the scene and name of what is kept: how it is written to the scene."""


def keep(uid: int, name: str, put: Callable[[Any], None]) -> None:
    """Call `put(scene)` for the scene with this session id, now and after every undo and redo.

    It writes what is known to the scene's properties, each time the same; a later one of that name takes its place.
    """
    _kept[uid, name] = put
    for scene in scenes_of(uid):
        put(scene)


def forget(uid: int, name: str) -> None:
    """Keep it no longer; what the scene holds now stays."""
    _kept.pop((uid, name), None)


@persistent  # type: ignore[untyped-decorator]
def _undone(*_: Any) -> None:
    for (uid, _name), put in list(_kept.items()):
        for scene in scenes_of(uid):
            put(scene)


@persistent  # type: ignore[untyped-decorator]
def _loaded(*_: Any) -> None:
    _kept.clear()


HANDLERS = (("undo_post", _undone), ("redo_post", _undone), ("load_post", _loaded))


def register() -> None:
    """Listen for undo, redo and files being opened."""
    for name, handler in HANDLERS:
        getattr(bpy.app.handlers, name).append(handler)


def unregister() -> None:
    """Take the handlers off again."""
    for name, handler in reversed(HANDLERS):
        if handler in getattr(bpy.app.handlers, name):  # other code may have emptied the list
            getattr(bpy.app.handlers, name).remove(handler)
    _kept.clear()
