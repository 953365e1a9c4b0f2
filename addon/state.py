# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scene keeps stays true: its paths name the same files wherever the .blend goes, older layouts are brought up.

Blender remaps the paths of images and the like when a file is saved elsewhere or a scene is appended, but none of an
add-on's own properties. Here they follow: on Save As and on a copy, on append and link, and on an undo to a state from
before a Save As. Where the .blend is moved together with its folder nothing is written: `//` means the new place.
No handler is told whether Remap Relative is on; Matchcut's paths always stay with their files.

What is written here goes past the properties' update functions, so that nothing is read anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import bpy
from bpy.app.handlers import persistent

from .sidebar.paths import folder_of, rebased, relative

VERSION = 1
"""Of the layout of `scene.matchcut`: raised where a property changes its name, its meaning or its default."""

PREVIEW, FINAL = 0, 1
"""Of `render.mode`, as it is stored."""


def _before_previews(data: Any) -> None:
    """Layout 0 had one kind of render, of all frames in full size where nothing else was chosen."""
    if "render" in data:
        render = data["render"]
        render["scale"] = render.get("scale", 100)
        render["mode"] = FINAL if render["scale"] == 100 and render.get("frames", 0) == 0 else PREVIEW


MIGRATIONS: dict[int, Callable[[Any], None]] = {0: _before_previews}
"""By the layout that a file has: brings its raw properties to the next one. What it does not know it leaves alone."""

_origin = ""
"""Folder of the file as it was opened or first saved: what `//` means on a scene that has told no folder yet."""
_before: dict[int, list[str]] = {}
"""While a file is written: by session id of the scene, its paths as they were."""


def raw(scene: Any) -> Any:
    """What is stored of `scene.matchcut`, as a mapping that no update function watches; None where nothing is."""
    stored = scene.bl_system_properties_get()
    return stored["matchcut"] if stored is not None and "matchcut" in stored else None


def paths_of(data: Any, rna: Any = None) -> Iterator[tuple[Any, str]]:
    """Every path that is stored in `data`, as the mapping that holds it and its key there."""
    rna = rna if rna is not None else bpy.types.Scene.bl_rna.properties["matchcut"].fixed_type
    for one in rna.properties:
        name = one.identifier
        if name not in data:
            continue
        if one.type == "STRING" and one.is_path_supports_blend_relative:
            yield data, name
        elif (
            one.type in {"POINTER", "COLLECTION"} and getattr(one.fixed_type.base, "identifier", "") == "PropertyGroup"
        ):
            for item in data[name] if one.type == "COLLECTION" else [data[name]]:
                yield from paths_of(item, one.fixed_type)


def migrate(data: Any) -> None:
    """Bring stored properties to the present layout; those of a newer Matchcut stay as they are."""
    for version in range(data.get("version", 0), VERSION):
        MIGRATIONS[version](data)
        data["version"] = version + 1


def settle(data: Any, folder: str, *, first: bool = False) -> None:
    """Write the stored paths as seen from `folder`; empty makes them absolute.

    Absolute ones below the folder become relative, and with `first` all, where Blender's Relative Paths preference is
    on: so Blender does with its own when a file is saved for the first time.
    """
    old = data.get("base", "") or _origin
    tidy = bpy.context.preferences.filepaths.use_relative_paths
    for holder, name in paths_of(data):
        path = rebased(holder[name], old, folder)
        path = relative(path, folder, below=not first) if tidy else path
        if path != holder[name]:
            holder[name] = path
    data["base"] = folder


def _all() -> Iterator[tuple[Any, Any]]:
    for scene in bpy.data.scenes:
        data = raw(scene)
        if data is not None:
            yield scene, data


def _here() -> str:
    return folder_of(bpy.data.filepath)


def _library_folder(library: Any) -> str:
    return folder_of(bpy.path.abspath(library.filepath))


@persistent  # type: ignore[untyped-decorator]
def _saving(filepath: str, *_: Any) -> None:
    for scene, data in _all():
        data["version"] = max(data.get("version", 0), VERSION)
        _before[scene.session_uid] = [holder[name] for holder, name in paths_of(data)]
        settle(data, folder_of(filepath), first=not bpy.data.filepath)


@persistent  # type: ignore[untyped-decorator]
def _saved(filepath: str, *_: Any) -> None:
    global _origin  # noqa: PLW0603
    if filepath != bpy.data.filepath:
        _not_saved()  # a copy: the open file is where it was
    _origin = _origin or _here()
    _before.clear()


@persistent  # type: ignore[untyped-decorator]
def _not_saved(*_: Any) -> None:
    for scene, data in _all():
        for (holder, name), path in zip(paths_of(data), _before.get(scene.session_uid, []), strict=False):
            holder[name] = path
        data["base"] = _here()
    _before.clear()


@persistent  # type: ignore[untyped-decorator]
def _loaded(*_: Any) -> None:
    global _origin  # noqa: PLW0603
    _origin = _here()
    for scene, data in _all():
        migrate(data)
        data["base"] = _library_folder(scene.library) if scene.library else _origin
        settle(data, _origin)


@persistent  # type: ignore[untyped-decorator]
def _undone(*_: Any) -> None:
    for _scene, data in _all():
        settle(data, _here())


@persistent  # type: ignore[untyped-decorator]
def _imported(context: Any, *_: Any) -> None:
    for item in context.import_items:
        data = raw(item.id) if item.id_type == "SCENE" and item.id is not None else None
        if data is not None and item.source_library is not None:
            migrate(data)
            data["base"] = _library_folder(item.source_library)
            settle(data, _here())


HANDLERS = (
    ("save_pre", _saving),
    ("save_post", _saved),
    ("save_post_fail", _not_saved),
    ("load_post", _loaded),
    ("undo_post", _undone),
    ("redo_post", _undone),
    ("blend_import_post", _imported),
)


def register() -> None:
    """Listen; a file that is open already is taken in once Blender lets add-ons look at it."""
    for name, handler in HANDLERS:
        getattr(bpy.app.handlers, name).append(handler)
    if hasattr(bpy.data, "scenes"):  # not while Blender starts
        _loaded()


def unregister() -> None:
    """Listen no longer."""
    for name, handler in reversed(HANDLERS):
        if handler in getattr(bpy.app.handlers, name):  # other code may have emptied the list
            getattr(bpy.app.handlers, name).remove(handler)
    _before.clear()
