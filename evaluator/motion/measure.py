# SPDX-License-Identifier: GPL-3.0-or-later
"""From a video to its motion: shots, the frames that are measured of each, and what is known already."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

import cv2
import numpy as np

from ..media.decode import pick
from ..media.probe import probe
from ..media.records import VideoInfo
from ..protocol.cache import forget_all_but
from ..protocol.errors import BadInputError
from ..protocol.files import content_key
from ..protocol.messages import Reporter
from ..protocol.version import VERSION
from ..sgc.classical.flow import Workers, workers
from ..shots.compare import shot_intervals
from ..shots.detect import detect_shots
from .look import Grey
from .records import Motion, ShotMotion
from .shot import Frames, measure_shot, settings_for

GRID_SIDE: Final = 320
"""Pixels of the small pictures' longer side."""
SMALLEST_SIDE: Final = 32
MOST_FRAMES: Final = 60
"""Measured frames of a shot."""
MOST_OF_ALL: Final = 360
"""Measured frames of a video; every shot has LEAST_FRAMES at least."""
LEAST_FRAMES: Final = 12
KEPT_SHOTS: Final = 2000
"""In the cache."""
KIND: Final = 3
"""Raised with every change of what is measured."""

_STAGE = "motion"


def measure_motion(
    video: Path,
    *,
    shot: int | None = None,
    at: int | None = None,
    most: int | None = None,
    reporter: Reporter,
    cache: Path | None = None,
) -> Motion:
    """The motion in a video, or of its shot number `shot` alone, counted from 0, or of the shot that has frame `at`.

    At most `most` frames are measured of a shot, evenly spaced. A shot that is in the folder `cache` is not measured
    again. Raises BadInputError where the file is no video, it has no such shot, or its picture is too small.
    """
    found = detect_shots(video, reporter=reporter)
    info = probe(video)
    size = (info.timeline.width, info.timeline.height)
    grid = grid_of(size)
    if min(grid) < SMALLEST_SIDE:
        raise BadInputError(f"{video}: {size[0]}x{size[1]} is too small or too narrow to measure motion in")
    shots = list(shot_intervals(found.boundaries, info.timeline.frames))
    if shot is not None and not 0 <= shot < len(shots):
        raise BadInputError(f"{video}: shot {shot} was asked for, but its shots are 0 to {len(shots) - 1}")
    wanted = shots if shot is None else [shots[shot]]
    if at is not None:
        wanted = [(first, last) for first, last in shots if first <= at <= last]
        if not wanted:
            raise BadInputError(f"{video}: frame {at} was asked for, but its frames are 0 to {shots[-1][1]}")
    limit = most or max(LEAST_FRAMES, min(MOST_FRAMES, MOST_OF_ALL // len(wanted)))
    measured = []
    with workers() as threads:
        for place, (first, last) in enumerate(wanted):
            kept = None if cache is None else cache / f"{_key(info, first, last, limit)}.json"
            known = _known(kept)
            if known is None:
                known = _measured(info, first, last, limit, grid, threads, _Share(reporter, place, len(wanted)))
                if kept is not None:
                    forget_all_but(kept.parent, KEPT_SHOTS)
                    known.write(kept)
            measured.append(known)
            reporter.progress(_STAGE, 100 * (place + 1), 100 * len(wanted))
    notes = [
        "lengths are in scene depths: 1 is the median depth of the points that are followed in a shot's first frames"
    ]
    if any(one.stride > 1 for one in measured):
        notes.append("of longer shots every stride-th frame was measured; ask for one shot to have more")
    if not info.constant_rate:
        notes.append("the frame rate varies: speeds are by its average")
    return Motion(
        video=str(video), sha256=info.sha256, size=size, rate=info.timeline.rate, frames=info.timeline.frames,
        cuts=[first for first, _ in shots[1:]], fades=found.fades, detector=found.detector, shots=measured, notes=notes,
    )  # fmt: skip


def grid_of(size: tuple[int, int]) -> tuple[int, int]:
    """(width, height) of the small pictures of a picture of `size`."""
    scale = min(1.0, GRID_SIDE / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


class _Share:
    """Tells how much of one shot is done, in hundredths."""

    def __init__(self, reporter: Reporter, place: int, count: int) -> None:
        self._reporter, self._place, self._count = reporter, place, count

    def __call__(self, share: float) -> None:
        done = 100 * self._place + min(99, int(100 * share))
        self._reporter.progress(_STAGE, done, 100 * self._count, f"shot {self._place + 1} of {self._count}")


def _measured(
    info: VideoInfo, first: int, last: int, most: int, grid: tuple[int, int], threads: Workers, tell: _Share
) -> ShotMotion:
    stride = -(-(last - first + 1) // most)
    numbers = [*range(first, last + 1, stride)]
    if numbers[-1] != last and len(numbers) > 1:
        numbers.append(last)
    size = (info.timeline.width, info.timeline.height)
    pictures = tuple(_small(Path(info.path), numbers, grid))
    frames = Frames(tuple(numbers), pictures, stride, first, last, size, float(info.timeline.rate))
    return measure_shot(frames, threads, tell)


def _small(video: Path, numbers: list[int], grid: tuple[int, int]) -> Iterator[Grey]:
    """Small grey pictures of the frames; one large one is held."""
    for frame in pick(video, numbers):
        grey = np.asarray(cv2.cvtColor(frame.image, cv2.COLOR_RGB2GRAY), np.uint8)
        shrunk = grey if grey.shape[1::-1] == grid else cv2.resize(grey, grid, interpolation=cv2.INTER_AREA)
        yield np.asarray(shrunk, np.uint8)


def _key(info: VideoInfo, first: int, last: int, most: int) -> str:
    grid = grid_of((info.timeline.width, info.timeline.height))
    return content_key(
        {
            "kind": KIND, "video": info.sha256, "shot": [first, last], "most": most, "grid": grid,
            "rate": str(info.timeline.rate), "settings": asdict(settings_for(grid)),
            "versions": [VERSION, cv2.__version__, np.__version__],
        }
    )  # fmt: skip


def _known(kept: Path | None) -> ShotMotion | None:
    if kept is None or not kept.is_file():
        return None
    try:
        return ShotMotion.read(kept)
    except BadInputError:
        return None  # damaged: it is measured again
