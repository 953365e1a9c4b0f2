# SPDX-License-Identifier: GPL-3.0-or-later
"""Estimated frames on disk, in chunks, so that memory does not grow with a video's length.

    FOLDER/shot-000000.json   of the shot that begins with this frame, once all of its chunks are there: its notes
    FOLDER/000000.npz …       one file a chunk of consecutive frames, named by its first one

A chunk holds arrays for its n frames on the flow's grid (h, w): `numbers` (n,), `inverse_depth` and `sigma` (n, h, w)
float16, `sky` and `moving` packed to bits, `focal` (n,) in pixels, `world_to_camera` (n, 4, 4), `ends` (n, m, 2)
float32 of the tracks and their `visibility` and `confidence` (n, m) float16.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...protocol.errors import OperationalError
from ...protocol.files import atomic_path, read_json, write_json

CHUNK = 12
SHOT_FORMAT = "matchcut-classical-shot/1"
_ARRAYS = ("inverse_depth", "sigma", "sky", "moving", "focal", "world_to_camera", "ends", "visibility", "confidence")


@dataclass(frozen=True)
class StoredFrame:
    """One frame as it lies in a chunk; see the module."""

    number: int
    inverse_depth: NDArray[np.float16]
    sigma: NDArray[np.float16]
    sky: NDArray[np.bool_]
    moving: NDArray[np.bool_]
    focal: float
    world_to_camera: NDArray[np.float64]
    ends: NDArray[np.float32]
    visibility: NDArray[np.float16]
    confidence: NDArray[np.float16]


def write_shot(folder: Path, frames: Iterable[StoredFrame]) -> Iterator[int]:
    """Write the frames of a shot as they come, and yield how many there are by now."""
    chunk: list[StoredFrame] = []
    for count, frame in enumerate(frames, start=1):
        chunk.append(frame)
        if len(chunk) == CHUNK:
            _write(folder, chunk)
            chunk = []
        yield count
    if chunk:
        _write(folder, chunk)


def finish_shot(folder: Path, first: int, last: int, notes: list[str]) -> None:
    """Say that all chunks of a shot are there."""
    write_json(folder / f"shot-{first:06d}.json", {"format": SHOT_FORMAT, "first": first, "last": last, "notes": notes})


def finished_shot(folder: Path, first: int, last: int) -> list[str] | None:
    """The notes of a shot that is whole in the folder; None where it is not."""
    path = folder / f"shot-{first:06d}.json"
    if not path.is_file():
        return None
    about = read_json(path, SHOT_FORMAT)
    whole = about.get("last") == last and all(_path(folder, start).is_file() for start in range(first, last + 1, CHUNK))
    return [str(note) for note in about.get("notes", [])] if whole else None


def read_shot(folder: Path, first: int, last: int) -> Iterator[StoredFrame]:
    """The frames of a shot in order, one chunk in memory. Raises OperationalError where a chunk is gone or damaged."""
    for start in range(first, last + 1, CHUNK):
        path = _path(folder, start)
        try:
            with np.load(path, allow_pickle=False) as file:
                numbers = file["numbers"]
                arrays = {name: file[name] for name in _ARRAYS}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise OperationalError(f"{path}: cannot be read ({error}); delete its folder and run this again") from error
        height, width = arrays["inverse_depth"].shape[1:]
        for index, number in enumerate(numbers):
            of = {name: values[index] for name, values in arrays.items()}
            for name in ("sky", "moving"):
                of[name] = np.unpackbits(of[name], count=height * width).reshape(height, width).astype(np.bool_)
            yield StoredFrame(int(number), **{**of, "focal": float(of["focal"])})


def _path(folder: Path, first: int) -> Path:
    return folder / f"{first:06d}.npz"


def _write(folder: Path, frames: list[StoredFrame]) -> None:
    arrays = {name: np.stack([np.asarray(getattr(frame, name)) for frame in frames]) for name in _ARRAYS}
    for name in ("sky", "moving"):
        arrays[name] = np.packbits(arrays[name].reshape(len(frames), -1), axis=1)
    numbers = np.array([frame.number for frame in frames], np.int64)
    with atomic_path(_path(folder, frames[0].number)) as temporary:
        np.savez(temporary, allow_pickle=False, numbers=numbers, **arrays)
