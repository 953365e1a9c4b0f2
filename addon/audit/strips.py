# SPDX-License-Identifier: GPL-3.0-or-later
"""The sequencer's strips, which take the place of the rendered picture, and nodes that write files of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy

from .files import absolute, is_there, sampled, stored
from .findings import Finding, Picture, Severity, label
from .reach import Reach, State, TreeWalk, rooted_trees, strips_of


def find_strips(reach: Reach) -> Iterator[Finding]:
    """A finding for every strip that shows or could show something that is not the scene's own render."""
    for scene in bpy.data.scenes:
        for strip, shown in strips_of(scene, reach):
            finding = _strip(scene, strip, shown)
            if finding is not None:
                yield finding


def _strip(scene: Any, strip: Any, shown: bool) -> Finding | None:
    where = f"sequencer of scene '{scene.name}', channel {strip.channel}" + ("" if shown else " (not in the output)")
    kind, what, pictures = "sequencer_strip", f"{strip.type.lower().replace('_', ' ')} strip", list[Picture]()
    severity: Severity = "suspicious" if shown else "note"
    if strip.type in ("MOVIE", "IMAGE", "MOVIECLIP"):
        kind, severity = "sequencer_picture", "forbidden" if shown else "suspicious"
        file, pictures = _files(strip)
        what = f"{what} of {file}" if pictures else f"{what} of {file}; missing, so that it could not be looked at"
    elif strip.type == "SOUND":
        severity = "note"
    elif strip.type == "SCENE":
        what = f"scene strip of scene '{strip.scene.name}'" if strip.scene else "scene strip of no scene"
        if strip.scene == scene:
            severity = "note"
    return Finding(kind, severity, "strip", strip.name, what, [where], pictures)


def _files(strip: Any) -> tuple[str, list[Picture]]:
    """The stored name of what a strip shows, and its pictures."""
    if strip.type == "MOVIE":
        return stored(strip.filepath), _there([Picture("movie", str(absolute(strip.filepath)))])
    if strip.type == "MOVIECLIP":
        clip = strip.clip
        if clip is None:
            return "no clip", []
        return label(clip), _there([Picture("movie", str(absolute(clip.filepath, clip.library)))])
    folder = absolute(strip.directory)
    names = [element.filename for element in strip.elements]
    pictures = [Picture("image", str(folder / name), name) for name in sampled(names)]
    count = f" ({len(names)} pictures)" if len(names) > 1 else ""
    return f"{names[0] if names else 'no file'}{count}", _there(pictures)


def _there(pictures: list[Picture]) -> list[Picture]:
    return [picture for picture in pictures if is_there(Path(picture.path))]


def find_file_outputs(reach: Reach) -> Iterator[Finding]:
    """A finding for every node that writes files while the scene renders."""
    found: dict[tuple[str, str], Finding] = {}

    def visit(node: Any, where: str, state: State, holder: Any) -> None:
        if node.bl_idname == "CompositorNodeOutputFile":
            what = f"writes {stored(node.directory)} {node.file_name}".rstrip()
            on = state == "rendered" and not node.mute
            finding = Finding("file_output", "suspicious" if on else "note", "node", node.name, what, [where])
            found.setdefault((holder.name, node.name), finding)

    walk = TreeWalk(visit)
    for tree, holder, where, state in rooted_trees(reach):
        if tree.type == "COMPOSITING":
            walk.walk(tree, holder, where, state)
    return iter(found.values())
