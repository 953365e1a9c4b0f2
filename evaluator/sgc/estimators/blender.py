# SPDX-License-Identifier: GPL-3.0-or-later
"""The estimator that estimates nothing: depth, cameras, motion and object identities from a render job's own passes.

The layout of what is read is described in evaluator/protocol/render_job.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...protocol.errors import BadInputError
from ...protocol.files import read_json
from ...protocol.render_job import GEOMETRY_FORMAT, RenderJob
from ..records import FrameGeometry, Geometry, PairGeometry, Shots, Tracks
from .arrays import FAULTS, stored_array
from .base import consecutive, pairs_expected, read_pictures, shots_within

ESTIMATOR: Final = "blender-passes/1"
DEPTH_UNIT: Final = "scene unit, in one gauge with the cameras"

MAXIMUM_TRACKS = 9000
"""The authors' tracks start on a grid of about this many points."""
DEPTH_TOLERANCE = 0.01
"""Share of its depth by which a point carried into the next frame may miss that frame's depth and still be seen."""

_ARRAYS: Final[Mapping[str, tuple[str, tuple[int, ...]]]] = {
    # name → (kinds of dtype, shape behind (n, H, W) for pictures or (n,) for cameras)
    "depth": ("f", ()),
    "flow_next": ("f", (2,)),
    "object_ids": ("iu", ()),
    "intrinsics": ("f", (3, 3)),
    "world_to_camera": ("f", (4, 4)),
}


@dataclass(frozen=True)
class Chunk:
    """A file with the passes of the frames `first` … `last`, both included."""

    path: Path
    first: int
    last: int


@dataclass(frozen=True)
class GeometryIndex:
    """What geometry.json says: frames and chunks in order, which object ids move by themselves, and its notes."""

    first: int
    last: int
    chunks: tuple[Chunk, ...]
    moving_ids: frozenset[int]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Frame:
    """One frame's passes: see evaluator/protocol/render_job.py."""

    number: int
    depth: NDArray[np.float32]
    flow_next: NDArray[np.float32]
    object_ids: NDArray[np.integer]
    intrinsics: NDArray[np.float64]
    world_to_camera: NDArray[np.float64]


def read_index(geometry: Path) -> GeometryIndex:
    """Read JOB/geometry/geometry.json and see that its chunks are there.

    Raises BadInputError, naming the file, where something is missing or wrong.
    """
    path = geometry / "geometry.json"
    if not path.is_file():
        raise BadInputError(f"{path}: there is no such file; render the scene again with its passes")
    data = read_json(path, GEOMETRY_FORMAT)
    try:
        first, last = int(data["first"]), int(data["last"])
        objects = {int(entry["id"]): bool(entry["static"]) for entry in data["objects"]}
        chunks = tuple(
            Chunk(geometry / Path(chunk["file"]).name, int(chunk["first"]), int(chunk["last"]))
            for chunk in data["chunks"]
        )
        notes = [str(note) for note in data.get("notes", [])]
        if not all(0 <= number < 2**16 for number in objects):
            raise ValueError("an object's id is no 16-bit number")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadInputError(f"{path}: a field is missing or wrong ({error!r}); render the scene again") from error
    borders = [first, *(chunk.last + 1 for chunk in chunks)]
    in_order = all(chunk.first == start <= chunk.last for chunk, start in zip(chunks, borders, strict=False))
    if not chunks or not in_order or borders[-1] != last + 1:
        raise BadInputError(f"{path}: its chunks do not hold the frames {first} to {last}; render the scene again")
    for chunk in chunks:
        if not chunk.path.is_file():
            raise BadInputError(f"{chunk.path}: this chunk of the passes is not there; render the scene again")
    if not objects:
        notes.append("the passes name no object: every pixel counts as static")
    moving = frozenset(number for number, static in objects.items() if not static)
    return GeometryIndex(first, last, chunks, moving, tuple(notes))


def open_job(job_folder: Path, shots: Sequence[tuple[int, int]] | None = None) -> Geometry:
    """The geometry of a finished render job with passes; `shots` are numbered like its frames.

    A pixel moves where its object is not static; what nothing hit (sky, depth 0) and ids that the file does not list
    count as static, as in the authors' pipeline. Raises BadInputError, naming the file, where the job or its passes are
    missing or incomplete; walking through the pairs raises it for data that is not what
    evaluator/protocol/render_job.py describes.
    """
    job = RenderJob.read(job_folder)
    geometry = job_folder / "geometry"
    index = read_index(geometry)
    if (index.first, index.last) != (job.first, job.last):
        raise BadInputError(
            f"{geometry}: it holds the frames {index.first} to {index.last}, "
            f"the job asks for {job.first} to {job.last}; render the scene again"
        )
    ranges = shots_within(shots, index.first, index.last, str(job_folder))
    pictures = [
        job_folder / "frames" / f"{number:06d}.png" for first, last in ranges for number in range(first, last + 1)
    ]
    if not all(path.is_file() for path in pictures):
        pictures = []
    return Geometry(
        estimator=ESTIMATOR,
        scale="shared_with_poses",
        size=job.size,
        shots=ranges,
        pairs=lambda: _pairs(index, ranges, job.size),
        pairs_expected=pairs_expected(ranges),
        depth_unit=DEPTH_UNIT,
        notes=index.notes,
        images=(lambda: read_pictures(pictures, job.size)) if pictures else None,
    )


def _pairs(index: GeometryIndex, shots: Shots, size: tuple[int, int]) -> Iterator[PairGeometry]:
    """Pairs in order, one chunk in memory."""
    moving_ids = np.array(sorted(index.moving_ids), dtype=np.int64)

    def frames() -> Iterator[tuple[FrameGeometry, NDArray[np.float32]]]:
        for frame in _frames(index, size):
            moving = np.isin(frame.object_ids, moving_ids)
            yield (
                FrameGeometry(
                    frame.number, frame.depth, frame.depth == 0, moving, frame.intrinsics, frame.world_to_camera
                ),
                frame.flow_next,
            )

    return consecutive(frames(), shots, flow_tracks)


def flow_tracks(previous: FrameGeometry, current: FrameGeometry, flow: NDArray[np.float32]) -> Tracks:
    """Grid points of the previous frame, moved by its `flow` (H, W, 2); visible where seen again at their places.

    A point is seen where, carried by the camera's motion, its depth is that of the current frame at its place, give or
    take DEPTH_TOLERANCE; at the edge of a nearer surface it is not. On what moves by itself this test means little;
    those pixels are masked anyway.
    """
    height, width = previous.depth.shape
    step = max(1, int(math.sqrt(height * width / MAXIMUM_TRACKS)))
    rows, columns = (grid.ravel() for grid in np.mgrid[0:height:step, 0:width:step])
    start = np.stack([columns, rows], axis=1).astype(np.float64)
    end = start + flow[rows, columns].astype(np.float64)
    z = previous.depth[rows, columns].astype(np.float64)
    rays = np.column_stack([start, np.ones(len(start))]) @ np.linalg.inv(previous.intrinsics).T
    motion = current.world_to_camera @ np.linalg.inv(previous.world_to_camera)
    expected = (rays * z[:, None]) @ motion[2, :3] + motion[2, 3]
    inside = (end > -0.5).all(axis=1) & (end < (width - 0.5, height - 0.5)).all(axis=1) & (z > 0)
    found = _inverse_depth_at(np.where(inside[:, None], end, 0.0), current.depth)
    visible = inside & (np.abs(expected * found - 1) <= DEPTH_TOLERANCE)
    return Tracks(start, end, visible.astype(np.float64), np.ones(len(start)))


def _inverse_depth_at(points: NDArray[np.float64], depth: NDArray[np.float32]) -> NDArray[np.float64]:
    """1 / depth (n,) at pixel coordinates (n, 2) between pixel centres, with 0 for no depth.

    Inverse depth is linear across the picture of a plane, so interpolating it is exact there; across an edge the result
    is neither surface's.
    """
    height, width = depth.shape
    column = np.clip(np.floor(points[:, 0]).astype(np.intp), 0, max(width - 2, 0))
    row = np.clip(np.floor(points[:, 1]).astype(np.intp), 0, max(height - 2, 0))
    right, down = points[:, 0] - column, points[:, 1] - row
    total = np.zeros(len(points))
    for dy, weight_y in ((0, 1 - down), (1, down)):
        for dx, weight_x in ((0, 1 - right), (1, right)):
            z = depth[np.minimum(row + dy, height - 1), np.minimum(column + dx, width - 1)].astype(np.float64)
            total += weight_y * weight_x * np.divide(1.0, z, out=np.zeros(len(points)), where=z > 0)
    return total


def _frames(index: GeometryIndex, size: tuple[int, int]) -> Iterator[_Frame]:
    for chunk in index.chunks:
        arrays = _read_chunk(chunk, size)
        for position, number in enumerate(range(chunk.first, chunk.last + 1)):
            # copied, so that the pair across two chunks does not keep the whole earlier one alive
            of_frame: dict[str, Any] = {name: array[position].copy() for name, array in arrays.items()}
            yield _Frame(number=number, **of_frame)


def _read_chunk(chunk: Chunk, size: tuple[int, int]) -> dict[str, NDArray[Any]]:
    """The arrays of one chunk by name, checked; `size` is (width, height)."""
    path = chunk.path
    count = chunk.last - chunk.first + 1
    # the headers first: what is larger than the job's pictures would fill the memory
    for name, (kinds, tail) in _ARRAYS.items():
        shape = (count, *(size[::-1] if name in ("depth", "flow_next", "object_ids") else ()), *tail)
        stored = stored_array(path, name)
        if stored.shape != shape or stored.dtype.kind not in kinds:
            found = f"{stored.dtype} {stored.shape}"
            raise BadInputError(f"{path}: {name} is {found}, expected shape {shape}; render the scene again")
    try:
        with np.load(path, allow_pickle=False) as file:
            same_count = stored_array(path, "frames").shape == (count,)
            numbers = np.asarray(file["frames"]) if same_count else np.zeros(0)
            arrays = {name: np.asarray(file[name]) for name in _ARRAYS}
    except FAULTS as error:
        raise BadInputError(f"{path}: cannot be read as a chunk of passes ({error}); render the scene again") from error
    if numbers.tolist() != list(range(chunk.first, chunk.last + 1)):
        raise BadInputError(
            f"{path}: it does not hold the frames {chunk.first} to {chunk.last}; render the scene again"
        )
    for name in ("depth", "intrinsics", "world_to_camera"):
        if not np.isfinite(arrays[name]).all():
            raise BadInputError(f"{path}: {name} holds values that are not finite; render the scene again")
    if (arrays["depth"] < 0).any():
        raise BadInputError(f"{path}: depth holds negative values; render the scene again")
    if (np.abs(np.linalg.det(arrays["intrinsics"])) < 1e-12).any() or (
        (np.abs(np.linalg.det(arrays["world_to_camera"][:, :3, :3]) - 1) > 1e-2)
        | (arrays["world_to_camera"][:, 3] != (0, 0, 0, 1)).any(axis=1)
    ).any():
        raise BadInputError(f"{path}: a camera is no perspective camera without scale; render the scene again")
    return arrays
