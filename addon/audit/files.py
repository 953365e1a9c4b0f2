# SPDX-License-Identifier: GPL-3.0-or-later
"""The files behind images, movies and sequences: which there are, and copies of the packed ones for the evaluator."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import bpy

from .findings import Picture, shown_path

MOST_PICTURES: Final = 12
"""Pictures of one sequence, or tiles of one image, that are compared with the reference."""
MOST_LISTED: Final = 20_000
LARGEST_PACKED: Final = 256 * 2**20
MOST_EXPORTED: Final = 2 * 2**30

IMAGE_MAGIC: Final = (
    b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"II*\x00", b"MM\x00*", b"\x76\x2f\x31\x01", b"#?RADIANCE",
    b"\x1a\x45\xdf\xa3",
)  # fmt: skip
"""First bytes of PNG, JPEG, GIF, WebP or AVI, TIFF, OpenEXR, Radiance and Matroska files; MP4 has them at 4."""

Item = TypeVar("Item")


class Exporter:
    """Writes what is packed in the .blend into a folder, up to a total size, and numbers the files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._bytes = 0
        self.left_out = 0
        """Packed files that were too large to be compared."""

    def path(self, suffix: str) -> Path:
        """A new file's place."""
        self._count += 1
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder / f"{self._count:05d}{suffix}"

    def packed(self, packed_file: Any, name: str, kind: Literal["image", "movie"] = "image") -> list[Picture]:
        """A copy of a packed file as it is; empty where it is too large."""
        size = packed_file.size
        if size > LARGEST_PACKED or self._bytes + size > MOST_EXPORTED:
            self.left_out += 1
            return []
        self._bytes += size
        path = self.path(".packed")
        path.write_bytes(packed_file.data)
        return [Picture(kind, str(path), name)]


def sampled(items: Sequence[Item], most: int = MOST_PICTURES) -> list[Item]:
    """At most `most` of the items, evenly spread, the first and last among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(index * (len(items) - 1) / (most - 1))] for index in range(most)]


def absolute(path: str, library: Any = None) -> Path:
    """A stored path as a place on this machine."""
    return Path(bpy.path.abspath(path, library=library))


def is_there(path: Path) -> bool:
    """Whether it is a regular file; a path that the system cannot take is not."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def sequence_files(path: Path) -> list[Path]:
    """The files that differ from `path` in its last number only, by that number; `path` alone where it has none."""
    found = re.fullmatch(r"(.*?)(\d+)(\D*)", path.name, re.DOTALL)
    if found is None:
        return [path] if is_there(path) else []
    pattern = re.compile(re.escape(found[1]) + r"(\d+)" + re.escape(found[3]), re.DOTALL)
    numbered: list[tuple[int, Path]] = []
    try:
        with os.scandir(path.parent) as entries:
            for count, entry in enumerate(entries):
                number = pattern.fullmatch(entry.name)
                if number is not None and len(number[1]) < 12:
                    numbered.append((int(number[1]), Path(entry.path)))
                if count >= MOST_LISTED:
                    break
    except (OSError, ValueError):
        return []
    return [file for _, file in sorted(numbered) if is_there(file)]


def tile_files(path: Path, tiles: Iterable[int]) -> list[tuple[str, Path]]:
    """(tile's number, file) of a tiled image whose path holds `<UDIM>` or `<UVTILE>`."""
    found = []
    for number in tiles:
        u, v = (number - 1001) % 10 + 1, (number - 1001) // 10 + 1
        name = path.name.replace("<UDIM>", str(number)).replace("<UVTILE>", f"u{u}_v{v}")
        found.append((str(number), path.with_name(name)))
    return [(tile, file) for tile, file in found if is_there(file)]


def stored(path: str) -> str:
    """A stored path for a person; `no file` where it is empty."""
    return shown_path(path) if path else "no file"


def looks_like_picture(data: bytes) -> bool:
    """Whether data begins as a picture or movie file does."""
    return data.startswith(IMAGE_MAGIC) or data[4:8] == b"ftyp"
