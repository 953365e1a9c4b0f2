# SPDX-License-Identifier: GPL-3.0-or-later
"""The estimator without weights: flow, focal length, poses and depth of a video by classical computer vision.

What it does, and what it cannot see, is described in docs/estimators.md. Results lie on disk in chunks, by the content
of the video, and are made once.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from ...media.decode import pick, pick_pictures
from ...media.scan import scan
from ...protocol.errors import BadInputError
from ...protocol.files import content_key, sha256_of
from ...protocol.messages import Reporter
from ..classical import sampling
from ..classical.flow import Workers, bilinear, workers
from ..classical.settings import DEFAULT, Settings
from ..classical.store import StoredFrame, finish_shot, finished_shot, read_shot, write_shot
from ..classical.window import FrameEstimate, Outcome, estimate_shot
from ..records import FrameGeometry, Geometry, PairGeometry, Shots, Tracks
from .base import consecutive, pairs_expected, shots_within
from .blender import MAXIMUM_TRACKS

VERSION: Final = "classical/2"
DEPTH_UNIT: Final = "median depth of the shot's first frames, in one gauge with its cameras"
SMALLEST_SIDE: Final = 32
SETTINGS: Final = replace(DEFAULT, keeps_loose=True)
"""A metric of rigidity has to measure what is not rigid."""
UNSURE: Final = 0.05
"""Share of the focal length; what is known no better than this is told to be hardly determined."""

_STAGE = "geometry"


def estimate(
    video: Path,
    shots: Sequence[tuple[int, int]] | None,
    *,
    reporter: Reporter,
    cache: Path | None = None,
    settings: Settings = SETTINGS,
) -> Geometry:
    """The geometry of a video, shot by shot; `shots` as in open_geometry.

    The grid is the picture as shown, averaged down to `settings.working_side`, both sides even. What cannot be known
    has depth 0 (invalid), and the notes say which frames and why. The same video gives the same bytes.
    Raises BadInputError where the file is no video, the shots are not its own, or its picture is too small.
    """
    seen = scan(video)
    ranges = shots_within(shots, 0, len(seen.timestamps) - 1, str(video))
    size = working_size(seen.geometry.shown_size, settings)
    if min(size) < SMALLEST_SIDE:
        raise BadInputError(f"{video}: {size[0]}x{size[1]} is too small to estimate geometry; {SMALLEST_SIDE} is least")
    recipe = {
        "estimator": VERSION, "video": sha256_of(video), "settings": asdict(settings), "opencv": cv2.__version__,
        "numpy": np.__version__, **({"sampling": sampling.extra()} if sampling.extra() else {}),
    }  # fmt: skip
    # without a cache the folder goes with the last reference to the geometry
    temporary = tempfile.TemporaryDirectory(prefix="matchcut-") if cache is None else None
    folder = Path(temporary.name) if temporary else Path(cache or "") / f"classical-{content_key(recipe)[:24]}"
    total = sum(last - first + 1 for first, last in ranges)
    notes: list[str] = []
    done = 0
    with workers() as threads:
        for first, last in ranges:
            known = finished_shot(folder, first, last)
            if known is None:
                shot = _Shot(video, first, last, size, settings, threads)
                for count in write_shot(folder, shot.frames()):
                    reporter.progress(_STAGE, done + count, total)
                known = shot.notes()
                finish_shot(folder, first, last, known)
            notes += known
            done += last - first + 1
            reporter.progress(_STAGE, done, total)
    wanted = [number for first, last in ranges for number in range(first, last + 1)]

    def pairs() -> Iterator[PairGeometry]:
        _ = temporary
        return _pairs(folder, ranges, size)

    return Geometry(
        estimator=f"{VERSION} (OpenCV {cv2.__version__}{f', {sampling.extra()}' if sampling.extra() else ''})",
        scale="shared_with_poses",
        size=size,
        shots=ranges,
        pairs=pairs,
        pairs_expected=pairs_expected(ranges),
        depth_unit=DEPTH_UNIT,
        notes=tuple(notes),
        images=lambda: _shown(video, wanted, size),
        masks="residuals",
    )


def working_size(shown: tuple[int, int], settings: Settings = DEFAULT) -> tuple[int, int]:
    """(width, height) of the grid for a picture of the size `shown`: no longer than the working side, both even."""
    scale = min(1.0, settings.working_side / max(shown))
    width, height = (max(2, 2 * round(side * scale / 2)) for side in shown)
    return width, height


def flow_size(size: tuple[int, int], settings: Settings = DEFAULT) -> tuple[int, int]:
    """(width, height) of the flow's grid: the working grid, or half of it."""
    return (size[0] // 2, size[1] // 2) if max(size) > settings.flow_side else size


def _shown(video: Path, wanted: list[int], size: tuple[int, int]) -> Iterator[NDArray[np.uint8]]:
    for picture in pick_pictures(video, wanted):
        yield _resized(picture, size)


def _resized(picture: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    if picture.shape[1::-1] == size:
        return picture
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)


class _Shot:
    """The estimation of one shot."""

    def __init__(
        self, video: Path, first: int, last: int, size: tuple[int, int], settings: Settings, threads: Workers
    ) -> None:
        self.video, self.first, self.last, self.size = video, first, last, size
        self.settings, self.threads, self.outcome = settings, threads, Outcome()
        self.removed: list[tuple[float, float, float]] = []

    def frames(self) -> Iterator[StoredFrame]:
        """Its frames as they are stored."""
        focal = self._focal() if self.last - self.first + 1 > 2 * self.settings.window else None
        numbers = range(self.first, self.last + 1)
        for frame in estimate_shot(self._grey(numbers), self.settings, self.threads, self.outcome, focal):
            self.removed.append((frame.moving.mean(), frame.sky.mean(), (frame.inverse_depth > 0).mean()))
            yield _stored(frame, self.size, self.settings)

    def _grey(self, numbers: range) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        size = flow_size(self.size, self.settings)
        for frame in pick(self.video, numbers):
            grey = np.asarray(cv2.cvtColor(frame.image, cv2.COLOR_RGB2GRAY), np.uint8)
            yield frame.index, _resized(_resized(grey, self.size), size)

    def _focal(self) -> float | None:
        """The focal length of a long shot from windows spread over it; None where none tells it."""
        length, count = self.settings.window, self.settings.focal_segments
        for start in np.linspace(self.first, self.last + 1 - length, count).round().astype(int):
            numbers = range(int(start), int(start) + length)
            for _ in estimate_shot(self._grey(numbers), self.settings, self.threads, self.outcome, None, dense=False):
                pass
        self.outcome.unobservable.clear()
        self.outcome.residuals.clear()
        self.outcome.loose.clear()
        return float(np.median([focal for focal, _ in self.outcome.focals])) if self.outcome.focals else None

    def notes(self) -> list[str]:
        """What a reader has to know of the shot, one line each."""
        where = f"frames {self.first}–{self.last}"
        scale = self.size[0] / flow_size(self.size, self.settings)[0]
        notes = [
            f"frames {first}–{last}: depth is unobservable, {reason}"
            for first, last, reason in self.outcome.unobservable
        ]
        notes += [
            f"frames {first}–{last}: one rigid motion explains no more than {100 * share:.0f} % of the picture"
            for first, last, share in self.outcome.loose
        ]
        focals = [focal * scale for focal, _ in self.outcome.focals]
        if focals:
            # windows that are farther apart than each of them believes know better
            logs = np.log(focals)
            sigma = max(float(np.median([value for _, value in self.outcome.focals])), float(logs.std()))
            text = f"{where}: focal length {np.median(focals):.0f} px"
            if math.isfinite(sigma):
                text += f" ± {100 * sigma:.2g} %"
            if len(focals) > 1:
                text += f", {100 * float(np.ptp(logs)):.1f} % apart between {len(focals)} windows"
            text += ", hardly determined by the motion" if not sigma <= UNSURE else ""
            notes.append(text)
        else:
            notes.append(f"{where}: no window tells the focal length; a usual one is assumed")
        moving, sky, valid = (100 * float(np.mean(values)) for values in zip(*self.removed, strict=True))
        worst = 100 * max(moved for moved, _, _ in self.removed)
        notes.append(
            f"{where}: {moving:.1f} % of the pixels are taken for moving by themselves ({worst:.1f} % in the worst "
            f"frame), {sky:.1f} % for sky; {valid:.1f} % have a depth"
        )
        return notes


def _stored(frame: FrameEstimate, size: tuple[int, int], settings: Settings) -> StoredFrame:
    """A frame with its tracks, which start on the working grid at the authors' spacing."""
    start = _track_starts(size)
    height, width = frame.inverse_depth.shape
    scale = np.array([size[0] / width, size[1] / height])
    ends = np.zeros((len(start), 2), np.float32)
    visibility = confidence = np.zeros(len(start), np.float16)
    if frame.following is not None:
        inner = (start + 0.5) / scale - 0.5
        field = bilinear(frame.following.field.astype(np.float32), inner)
        error = bilinear(np.minimum(frame.following.error.astype(np.float32), 1e3), inner)
        texture = bilinear(frame.texture, inner)
        ends = (start + field * scale).astype(np.float32)
        inside = (ends > -0.5).all(axis=1) & (ends < np.array(size) - 0.5).all(axis=1)
        visibility = (inside & (error < 2 * settings.consistency)).astype(np.float16)
        sure = 1 / (1 + (error / settings.consistency) ** 2)
        # what is too even to be a sample is no confident track either
        confidence = (sure * texture / (texture + settings.texture)).astype(np.float16)
    return StoredFrame(
        frame.number, frame.inverse_depth.astype(np.float16), frame.sigma.astype(np.float16), frame.sky, frame.moving,
        frame.focal, frame.world_to_camera, ends, visibility, confidence,
    )  # fmt: skip


def _track_starts(size: tuple[int, int]) -> NDArray[np.float64]:
    width, height = size
    step = max(1, int(math.sqrt(height * width / MAXIMUM_TRACKS)))
    rows, columns = (grid.ravel() for grid in np.mgrid[0:height:step, 0:width:step])
    return np.stack([columns, rows], axis=1).astype(np.float64)


def _pairs(folder: Path, shots: Shots, size: tuple[int, int]) -> Iterator[PairGeometry]:
    start = _track_starts(size)

    def frames() -> Iterator[tuple[FrameGeometry, StoredFrame]]:
        for first, last in shots:
            for stored in read_shot(folder, first, last):
                yield _frame(stored, size), stored

    def tracks(_before: FrameGeometry, _after: FrameGeometry, stored: StoredFrame) -> Tracks:
        ends, visibility, confidence = (
            values.astype(np.float64) for values in (stored.ends, stored.visibility, stored.confidence)
        )
        return Tracks(start, ends, visibility, confidence)

    return consecutive(frames(), shots, tracks)


def _frame(stored: StoredFrame, size: tuple[int, int]) -> FrameGeometry:
    """A stored frame on the working grid: inverse depth between pixel centres, validity and masks of the nearest."""
    height, width = stored.inverse_depth.shape
    values = stored.inverse_depth.astype(np.float32)
    valid = (values > 0).astype(np.float32)
    sigma = np.where(valid > 0, stored.sigma.astype(np.float32), 0)
    smooth = [cv2.resize(values * valid, size), cv2.resize(valid, size), cv2.resize(sigma * valid, size)]
    nearest = [cv2.resize(mask.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST) > 0 for mask in
               (valid, stored.sky, stored.moving)]  # fmt: skip
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = np.where(nearest[0], smooth[1] / smooth[0], 0).astype(np.float32)
        relative = np.where(nearest[0], smooth[2] / smooth[1], np.inf).astype(np.float32)
    across, down = stored.focal * size[0] / width, stored.focal * size[1] / height
    intrinsics = np.array([[across, 0, (size[0] - 1) / 2], [0, down, (size[1] - 1) / 2], [0, 0, 1]])
    return FrameGeometry(
        stored.number, depth, nearest[1], nearest[2], intrinsics, np.array(stored.world_to_camera), relative
    )
