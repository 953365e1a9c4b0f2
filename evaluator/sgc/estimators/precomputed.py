# SPDX-License-Identifier: GPL-3.0-or-later
"""The estimator that reads what other programs estimated, in the folders that the authors' pipeline writes.

    FOLDER/cameras.json           poses and intrinsics, and what the depth means (see CamerasFile)
    FOLDER/depths/*_depths.npz    the array `depths` (N, H, W) of all frames; the first file by name is read
    FOLDER/tracks/PREV_CURR.npy   (n, 4): x, y, visibility and confidence in frame CURR; PREV_PREV.npy holds the starts
    FOLDER/masks/FRAME.png        0 = static, anything else moves; a frame without a mask is static
    FOLDER/pictures/FRAME.png     optional; also .jpg

Source: inputs of calculate_glo_fast.py in the authors' repository; cameras.json stands for its VGGT.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...protocol.errors import BadInputError
from ...records import Record
from ..records import DepthScale, FrameGeometry, Geometry, PairGeometry, Shots, Tracks
from .arrays import StoredArray, read_array, stored_array
from .base import SOUND, Reading, consecutive, pairs_expected, read_picture, read_pictures, shots_within

ESTIMATOR: Final = "precomputed/1"
CAMERAS_FILE: Final = "cameras.json"
CAMERAS_FORMAT: Final = "matchcut-cameras/1"
MOST_TRACKS: Final = 10_000_000
LARGEST_SIDE: Final = 20_000

Row3 = Annotated[list[float], Field(min_length=3, max_length=3)]
Row4 = Annotated[list[float], Field(min_length=4, max_length=4)]
Intrinsics = Annotated[list[Row3], Field(min_length=3, max_length=3)]
Camera = Annotated[list[Row4], Field(min_length=3, max_length=4)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^/\\:\x00-\x1f]+$")]
Folder = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00-\x1f]+$")]
DepthKind = Literal["metric", "shared_with_poses", "inverse"]


class CamerasFile(Record):
    """cameras.json: one camera a frame, in the frames' order."""

    format: Literal["matchcut-cameras/1"]
    estimator: str = Field(default="unnamed", max_length=200)
    """Name and version of what estimated depth, cameras, tracks and masks."""
    frames: list[Name] = Field(min_length=1)
    """Names of the frames without suffix, as in the names of masks and tracks."""
    intrinsics: list[Intrinsics] = Field(min_length=1)
    """One for every frame, or one for all: in pixels of a picture of `intrinsics_size`, whose top-left pixel has its
    centre at (0, 0)."""
    intrinsics_size: tuple[int, int] | None = None
    """(width, height) of the picture that the intrinsics are for, the whole frame; None: the grid of the depths."""
    world_to_camera: list[Camera] = Field(min_length=1)
    """[R | t] (3, 4), or (4, 4), for every frame; OpenCV axes."""
    depth: DepthKind = "shared_with_poses"
    """What the array `depths` holds: depth in metres, depth in the cameras' gauge, or relative inverse depth."""
    depth_divisor: float = Field(default=1.0, gt=0)
    """Depths are divided by it; the authors divide by 1000."""
    depths: Folder = "depths"
    tracks: Folder = "tracks"
    masks: Folder = "masks"
    pictures: Folder = "pictures"


def open_folder(source: Path, shots: Sequence[tuple[int, int]] | None = None, reading: Reading = SOUND) -> Geometry:
    """The geometry in a folder, or beside a file in the form of cameras.json; frames are numbered from 0.

    Depth that is not finite or not above 0 is invalid; of relative inverse depth, what is not above 0 is sky. Raises
    BadInputError, naming the file, where something is missing, damaged, or of another size or count than the rest;
    walking through the pairs raises it for tracks and masks. A pair without a file of tracks has none.
    """
    path = source if source.is_file() else source / CAMERAS_FILE
    if not path.is_file():
        raise BadInputError(f"{path}: there is no such file; put poses and intrinsics there (docs/sgc.md)")
    cameras = CamerasFile.read(path)
    folder = _Folder(path, cameras, reading)
    ranges = shots_within(shots, 0, len(cameras.frames) - 1, str(source))
    pictures = folder.pictures(ranges)
    inverse = cameras.depth == "inverse"
    scale: DepthScale = "shared_with_poses" if cameras.depth == "inverse" else cameras.depth
    if inverse and reading.invert_inverse_depth:
        scale = "affine_inverse"
    return Geometry(
        estimator=f"{ESTIMATOR} of {cameras.estimator}",
        scale=scale,
        size=folder.size,
        shots=ranges,
        pairs=lambda: folder.pairs(ranges),
        pairs_expected=pairs_expected(ranges),
        depth_unit=folder.depth_unit,
        notes=tuple(folder.notes),
        images=(lambda: read_pictures(pictures, folder.size)) if pictures else None,
    )


class _Folder:
    """The files beside one cameras.json, checked."""

    def __init__(self, path: Path, cameras: CamerasFile, reading: Reading) -> None:
        self.path, self.cameras, self.reading = path, cameras, reading
        self.count = len(cameras.frames)
        self._check_counts()
        self.depths = self._find_depths()
        _, height, width = self.depths.shape
        self.size = (width, height)
        self.intrinsics = self._intrinsics()
        self.world_to_camera = self._world_to_camera()
        self.masks = self._folder("masks")
        self.notes: list[str] = []
        if self.masks is None:
            self.notes.append("there is no folder of motion masks: every pixel counts as static")
        if cameras.depth == "inverse" and not reading.invert_inverse_depth:
            self.notes.append("relative inverse depth is taken for depth, as the authors' code does")
        given = cameras.intrinsics_size
        if given not in (None, self.size) and not reading.rescale_intrinsics:
            self.notes.append(
                f"intrinsics of a {given[0]}x{given[1]} picture are used for the {width}x{height} grid of the depths "
                "as they are, as the authors' code does"
            )

    @property
    def depth_unit(self) -> str:
        divided = "" if self.cameras.depth_divisor == 1 else f", divided by {self.cameras.depth_divisor:g}"
        if self.cameras.depth == "inverse":
            inverse = "the reciprocal of " if self.reading.invert_inverse_depth else ""
            return f"{inverse}the estimator's relative inverse depth{divided}"
        return f"{'metre' if self.cameras.depth == 'metric' else 'unit of the cameras'}{divided}"

    def _check_counts(self) -> None:
        cameras = self.cameras
        if len(set(cameras.frames)) < self.count:
            raise BadInputError(f"{self.path}: frames: a name is given twice; give every frame its own")
        if len(cameras.world_to_camera) != self.count or len(cameras.intrinsics) not in (1, self.count):
            raise BadInputError(
                f"{self.path}: it names {self.count} frames, and has {len(cameras.world_to_camera)} world_to_camera "
                f"and {len(cameras.intrinsics)} intrinsics; give one of each a frame (or one intrinsics for all)"
            )

    def _folder(self, kind: Literal["depths", "tracks", "masks", "pictures"]) -> Path | None:
        """A folder beside cameras.json, or None where it is not there."""
        name = Path(getattr(self.cameras, kind))
        if name.is_absolute() or name.drive or ".." in name.parts:
            raise BadInputError(f"{self.path}: {kind}: {name} lies outside of the file's folder; name one inside it")
        folder = self.path.parent / name
        return folder if folder.is_dir() else None

    def _find_depths(self) -> StoredArray:
        folder = self._folder("depths")
        found = sorted(folder.glob("*.npz")) if folder is not None else []
        if not found:
            where = folder or self.path.parent / self.cameras.depths
            raise BadInputError(f"{where}: there is no *_depths.npz; put the depths of all frames there")
        stored = stored_array(found[0], "depths")
        if len(stored.shape) != 3 or stored.dtype.kind not in "fiu":
            raise BadInputError(
                f"{found[0]}: depths is {stored.dtype} {stored.shape}; expected numbers (frames, height, width)"
            )
        if stored.shape[0] != self.count:
            raise BadInputError(
                f"{found[0]}: it holds {stored.shape[0]} depths, {self.path} names {self.count} frames; give as many"
            )
        if not all(1 <= side <= LARGEST_SIDE for side in stored.shape[1:]):
            raise BadInputError(f"{found[0]}: its depths are {stored.shape[2]}x{stored.shape[1]}; no usable size")
        return stored

    def _intrinsics(self) -> NDArray[np.float64]:
        """(N, 3, 3) for the grid of the depths."""
        intrinsics = np.array(self.cameras.intrinsics, dtype=np.float64)
        plausible = (intrinsics[:, 0, 0] > 0) & (intrinsics[:, 1, 1] > 0) & (intrinsics[:, 2] == (0, 0, 1)).all(axis=1)
        if not plausible.all() or (intrinsics[:, 1, 0] != 0).any():
            raise BadInputError(f"{self.path}: intrinsics: a matrix is not [[fx, s, cx], [0, fy, cy], [0, 0, 1]]")
        given = self.cameras.intrinsics_size
        if given is not None and min(given) < 1:
            raise BadInputError(f"{self.path}: intrinsics_size {list(given)}: no size of a picture")
        if given is not None and self.reading.rescale_intrinsics:
            factor = np.array([self.size[0] / given[0], self.size[1] / given[1]])
            # pixel centres are whole numbers: the frame's edge lies at -0.5 in both
            scaling = np.array([[factor[0], 0, (factor[0] - 1) / 2], [0, factor[1], (factor[1] - 1) / 2], [0, 0, 1]])
            intrinsics = scaling @ intrinsics
        return np.broadcast_to(intrinsics, (self.count, 3, 3))

    def _world_to_camera(self) -> NDArray[np.float64]:
        """(N, 4, 4)."""
        matrices = np.tile(np.eye(4), (self.count, 1, 1))
        for matrix, rows in zip(matrices, self.cameras.world_to_camera, strict=True):
            matrix[: len(rows)] = rows
        rotations = matrices[:, :3, :3]
        off = np.abs(rotations @ rotations.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2))
        wrong = (off > 1e-2) | (np.linalg.det(rotations) < 0) | (matrices[:, 3] != (0, 0, 0, 1)).any(axis=1)
        if wrong.any():
            name = self.cameras.frames[int(np.argmax(wrong))]
            raise BadInputError(
                f"{self.path}: world_to_camera of frame {name} is no rotation and translation [R | t]; give it so"
            )
        return matrices

    def pictures(self, shots: Shots) -> list[Path]:
        """The pictures of all frames of the shots, or none where one is missing."""
        folder = self._folder("pictures")
        if folder is None:
            return []
        names = [self.cameras.frames[number] for first, last in shots for number in range(first, last + 1)]
        found = [
            next((path for suffix in (".png", ".jpg") if (path := folder / (name + suffix)).is_file()), None)
            for name in names
        ]
        return [path for path in found if path is not None] if None not in found else []

    def pairs(self, shots: Shots) -> Iterator[PairGeometry]:
        """Pairs in order; the depths of two frames in memory."""
        tracks = self._folder("tracks")

        def between(before: FrameGeometry, after: FrameGeometry, _: None) -> Tracks:
            names = self.cameras.frames[before.number], self.cameras.frames[after.number]
            return _tracks(tracks, *names) if tracks is not None else _no_tracks()

        return consecutive(((frame, None) for frame in self._frames()), shots, between)

    def _frames(self) -> Iterator[FrameGeometry]:
        for number, stored in enumerate(self.depths.rows()):
            depth, sky = self._depth(stored)
            yield FrameGeometry(
                number=number,
                depth=depth,
                sky=sky,
                moving=self._moving(self.cameras.frames[number]),
                intrinsics=self.intrinsics[number],
                world_to_camera=self.world_to_camera[number],
            )

    def _depth(self, stored: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Depth (H, W), 0 = invalid, and which of its pixels are sky."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = stored.astype(np.float32) / np.float32(self.cameras.depth_divisor)
        values[~(np.isfinite(values) & (values > 0))] = 0
        if self.cameras.depth != "inverse" or not self.reading.invert_inverse_depth:
            return values, np.zeros(values.shape, dtype=bool)
        far = values <= np.float32(1e-6) * values.max(initial=0)
        inverted = np.divide(1, values, out=np.zeros_like(values), where=~far)
        return inverted, far & np.isfinite(stored)

    def _moving(self, name: str) -> NDArray[np.bool_]:
        width, height = self.size
        path = None if self.masks is None else self.masks / f"{name}.png"
        if path is None or not path.is_file():
            return np.zeros((height, width), dtype=bool)
        mask = read_picture(path, cv2.IMREAD_GRAYSCALE)
        if mask.shape != (height, width):
            raise BadInputError(
                f"{path}: the mask is {mask.shape[1]}x{mask.shape[0]}, the depths are {width}x{height}; "
                "make it of the same size"
            )
        moving: NDArray[np.bool_] = mask != 0
        return moving


def _no_tracks() -> Tracks:
    return Tracks(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0), np.zeros(0))


def _tracks(folder: Path, previous: str, current: str) -> Tracks:
    """The tracks between two frames by name; none where a file is missing."""
    start, end = folder / f"{previous}_{previous}.npy", folder / f"{previous}_{current}.npy"
    if not (start.is_file() and end.is_file()):
        return _no_tracks()
    starts, ends = read_array(start), read_array(end)
    for path, array in ((start, starts), (end, ends)):
        if array.ndim != 2 or array.shape[1] < 4 or len(array) > MOST_TRACKS or array.dtype.kind not in "fiu":
            raise BadInputError(
                f"{path}: tracks are {array.dtype} {array.shape}; expected rows of x, y, visibility, confidence"
            )
    if len(starts) != len(ends):
        raise BadInputError(f"{end}: it holds {len(ends)} tracks, {start.name} {len(starts)}; give as many")
    starts, ends = starts.astype(np.float64), ends.astype(np.float64)
    seen = np.where(np.isfinite(ends[:, 2:4]), ends[:, 2:4], 0.0)
    return Tracks(starts[:, :2], ends[:, :2], seen[:, 0], seen[:, 1])
