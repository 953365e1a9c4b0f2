# SPDX-License-Identifier: GPL-3.0-or-later
"""The geometry folder of a render job on disk: which chunks there are, whether one is whole, and their index.

The layout is described in render_job.py. A child writes about.json and the chunks of its batch; the parent writes
geometry.json when all of them are there, so that its presence says that the geometry is complete.
"""

from __future__ import annotations

import ast
import math
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, Final

from .errors import OperationalError
from .files import read_json, write_json
from .render_job import GEOMETRY_FORMAT, RenderJob

ABOUT_FORMAT: Final = "matchcut-geometry-about/1"
MOST_FRAMES: Final = 12
MOST_PIXELS: Final = MOST_FRAMES * 960 * 540
"""A chunk of this many pixels takes about 140 MB before it is compressed: 22 bytes each."""
LARGEST_NUMBER: Final = 8
LARGEST_HEADER: Final = 1024
"""Bytes of one number of an array, and of what comes before the numbers."""
ARRAYS: Final = ("frames", "depth", "flow_next", "flow_previous", "object_ids", "intrinsics", "world_to_camera")


def chunks_of(job: RenderJob) -> list[tuple[int, int]]:
    """The first and last reference frame of each chunk, in order: 12 frames at most, fewer where they are large.

    Where every nth frame is rendered alone, so many more lie in a chunk.
    """
    width, height = job.size
    step = max(1, min(MOST_FRAMES, MOST_PIXELS // (width * height))) * job.step
    return [(first, min(first + step - 1, job.last)) for first in range(job.first, job.last + 1, step)]


def chunk_path(job_folder: Path, first: int) -> Path:
    """Where the chunk that begins with reference frame `first` lies."""
    return job_folder / "geometry" / f"{first:06d}.npz"


def is_complete(path: Path, first: int, last: int, size: tuple[int, int]) -> bool:
    """Whether a chunk is there, can be read to its end, and holds these frames at this size (width, height)."""
    count = last - first + 1
    try:
        with zipfile.ZipFile(path) as file:
            return (
                fits(file, count, size)
                and file.testzip() is None
                and file.read("frames.npy").endswith(struct.pack(f"<{count}i", *range(first, last + 1)))
            )
    except (OSError, ValueError, KeyError, EOFError, SyntaxError, zipfile.BadZipFile, zlib.error, struct.error):
        return False


def fits(file: zipfile.ZipFile, count: int, size: tuple[int, int]) -> bool:
    """Whether a chunk holds the arrays of `count` frames of this size (width, height) and nothing besides.

    Nothing but the arrays' first bytes is unpacked: what is larger than it says would fill the memory.
    """
    picture, names = (count, size[1], size[0]), file.namelist()
    shapes = {
        "frames": (count,), "depth": picture, "flow_next": (*picture, 2), "flow_previous": (*picture, 2),
        "object_ids": picture, "intrinsics": (count, 3, 3), "world_to_camera": (count, 4, 4),
    }  # fmt: skip
    if sorted(names) != sorted(f"{name}.npy" for name in ARRAYS):
        return False
    return all(
        file.getinfo(f"{name}.npy").file_size <= LARGEST_NUMBER * math.prod(shape) + LARGEST_HEADER
        and _shape(file, name) == shape
        for name, shape in shapes.items()
    )


def _shape(file: zipfile.ZipFile, name: str) -> tuple[int, ...]:
    """The shape that an array's header tells (numpy.lib.format, version 1)."""
    with file.open(f"{name}.npy") as member:
        magic, length = member.read(8), struct.unpack("<H", member.read(2))[0]
        if magic != b"\x93NUMPY\x01\x00":
            raise ValueError("not an array")
        shape: tuple[int, ...] = ast.literal_eval(member.read(length).decode("latin1"))["shape"]
        return shape


def write_about(job_folder: Path, about: dict[str, Any]) -> None:
    """Write what is the same for every chunk: `view_layers`, `engine`, `objects` and `notes`."""
    write_json(job_folder / "geometry" / "about.json", {"format": ABOUT_FORMAT, **about})


def write_index(job_folder: Path, job: RenderJob) -> Path:
    """Write geometry.json from about.json once every chunk is there, and return its path.

    Raises OperationalError where a chunk is missing, BadInputError where about.json is missing or not readable.
    """
    chunks = chunks_of(job)
    for first, last in chunks:
        if not chunk_path(job_folder, first).is_file():
            raise OperationalError(
                f"{chunk_path(job_folder, first)}: the passes of frames {first}-{last} are missing; render again"
            )
    about = read_json(job_folder / "geometry" / "about.json", ABOUT_FORMAT)
    path = job_folder / "geometry" / "geometry.json"
    index = {
        "format": GEOMETRY_FORMAT,
        "width": job.size[0],
        "height": job.size[1],
        "first": job.first,
        "last": job.last,
        **{name: value for name, value in about.items() if name != "format"},
        "chunks": [
            {"file": chunk_path(job_folder, first).name, "first": first, "last": last} for first, last in chunks
        ],
    }
    write_json(path, index)
    return path
