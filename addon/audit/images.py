# SPDX-License-Identifier: GPL-3.0-or-later
"""Images and movie clips of the file: where each is used, whether that renders, and its pictures for the comparison."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import bpy

from .files import Exporter, absolute, is_there, sampled, sequence_files, stored, tile_files
from .findings import Finding, Picture, Severity, kind_of, places
from .reach import STATES, Reach, State
from .uses import Use, find_uses, strongest

SEVERITY: Final[dict[State, Severity]] = {
    "rendered": "forbidden", "off": "suspicious", "viewport": "note", "unused": "note",
}  # fmt: skip


def find_images(reach: Reach, exporter: Exporter) -> Iterator[Finding]:
    """A finding for every image and movie clip that the file holds or names."""
    uses = find_uses(reach)
    for image in bpy.data.images:
        if image.type in ("RENDER_RESULT", "COMPOSITING") or image.source == "VIEWER":
            continue
        found = uses.get(image, [])
        if image.source == "GENERATED" and not image.packed_files:
            if found:  # a pattern that Blender draws: nobody can paint it without packing it
                pattern = image.generated_type.replace("_", " ").lower()
                yield _finding("generated_image", "note", image, f"generated {pattern}, not painted", found, [])
            continue
        what, pictures = _content(image, exporter)
        kind, severity = _kind(found), SEVERITY[strongest(found)]
        yield _finding(kind, severity, image, what, found, pictures)
    for clip in bpy.data.movieclips:
        found = uses.get(clip, [])
        what, pictures = _clip_content(clip)
        kind = "viewport_image" if strongest(found) == "viewport" else "movie_clip"
        yield _finding(kind, SEVERITY[strongest(found)], clip, what, found, pictures)


def _finding(
    kind: str, severity: Severity, block: Any, what: str, uses: list[Use], pictures: list[Picture]
) -> Finding:  # fmt: skip
    # what counts is named first; weaker uses stand behind it, each with its reason
    ordered = sorted(uses, key=lambda use: STATES.index(use.state))
    where = [place for state in STATES for place in places(use.where for use in ordered if use.state == state)]
    return Finding(kind, severity, kind_of(block), block.name, what, where, pictures)


def _kind(uses: list[Use]) -> str:
    """What sort of use it is, by the datablock that has the strongest one."""
    state = strongest(uses)
    if state in ("viewport", "unused"):
        return f"{state}_image"
    holders = [use.holder for use in uses if use.state == state]
    kinds = {holder.type if holder.id_type == "NODETREE" else holder.id_type for holder in holders}
    for name, kind in (("WORLD", "world_image"), ("COMPOSITING", "compositor_image"), ("GEOMETRY", "geometry_image")):
        if name in kinds:
            return kind
    return "geometry_image" if kinds <= {"OBJECT", "TEXTURE"} else "image_texture"


def _content(image: Any, exporter: Exporter) -> tuple[str, list[Picture]]:
    """What an image is, in words, and its pictures."""
    path = absolute(image.filepath, image.library) if image.filepath else Path()
    packed = [item for item in image.packed_files if item.packed_file is not None]
    if packed:
        size = sum(item.packed_file.size for item in packed)
        pictures = [
            picture
            for item in sampled(packed)
            for picture in exporter.packed(item.packed_file, stored(item.filepath) if len(packed) > 1 else "")
        ]
        parts = f"{len(packed)} parts, " if len(packed) > 1 else ""
        return f"{_source(image)} packed in the .blend ({parts}{size} bytes), from {stored(image.filepath)}", pictures
    if image.source == "MOVIE":
        return _external(f"movie {stored(image.filepath)}", [Picture("movie", str(path))] if is_there(path) else [])
    if image.source == "SEQUENCE":
        return _sequence(image.filepath, path)
    if image.source == "TILED":
        tiles = tile_files(path, [tile.number for tile in image.tiles])
        pictures = [Picture("image", str(file), f"tile {name}") for name, file in sampled(tiles)]
        return _external(f"UDIM tiles {stored(image.filepath)} ({len(tiles)} there)", pictures)
    return _external(f"file {stored(image.filepath)}", [Picture("image", str(path))] if is_there(path) else [])


def _clip_content(clip: Any) -> tuple[str, list[Picture]]:
    path = absolute(clip.filepath, clip.library) if clip.filepath else Path()
    if clip.source == "SEQUENCE":
        return _sequence(clip.filepath, path)
    return _external(f"movie {stored(clip.filepath)}", [Picture("movie", str(path))] if is_there(path) else [])


def _sequence(filepath: str, path: Path) -> tuple[str, list[Picture]]:
    files = sequence_files(path)
    pictures = [Picture("image", str(file), file.name) for file in sampled(files)]
    return _external(f"image sequence {stored(filepath)} ({len(files)} files there)", pictures)


def _external(what: str, pictures: list[Picture]) -> tuple[str, list[Picture]]:
    return (what, pictures) if pictures else (f"{what}; missing, so that it could not be looked at", [])


def _source(image: Any) -> str:
    names = {"SEQUENCE": "image sequence", "MOVIE": "movie", "TILED": "UDIM tiles", "GENERATED": "painted image"}
    return names.get(image.source, "image")
