# SPDX-License-Identifier: GPL-3.0-or-later
"""The page's pictures, held in the page itself: strips of both videos, what checks are about, SGC's worst pairs.

Each is a JPEG as a `data:` address, so the page stays one file and asks nobody for anything.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ..media.decode import pick
from ..media.resize import resized
from ..protocol.messages import Reporter
from ..protocol.timeline import Timeline, nearest_frame
from ..results import Results
from .axis import Axis
from .checks import CheckRow, check_rows

STRIP_WIDTH: Final = 1000
"""Pixels of the time axis for which the number of a strip's pictures is chosen."""
STRIP_HEIGHT: Final = 56
FEWEST, MOST = 4, 24
EVIDENCE_HEIGHT: Final = 84
MOST_EVIDENCE: Final = 250
"""Checks with pictures, failing first: each pair is about 15 kB."""
HEAT_WIDTH: Final = 960
SHARPNESS: Final = 2
"""Pixels a picture has for each that it takes on the page."""
QUALITY: Final = 75


@dataclass(frozen=True)
class StripPicture:
    """One picture of a strip: the frame that it shows, counted in the reference, its place in percent, its address."""

    frame: int
    left: float
    width: float
    address: str


@dataclass(frozen=True)
class Evidence:
    """The pictures of both videos at the moment that a check is about; None where a video has ended by then."""

    frame: int
    """Of the reference."""
    reference: str | None
    reconstruction: str | None


@dataclass(frozen=True)
class HeatMap:
    """The panels of one of the worst pairs of SGC; `frame` is the pair's later one, on the timeline of the SGC."""

    frame: int
    address: str


@dataclass(frozen=True)
class ReportPictures:
    """All of them; a page without is whole as well."""

    strips: Mapping[str, Sequence[StripPicture]] = field(default_factory=dict)
    """By `reference` and `reconstruction`."""
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    """By CheckRow.key."""
    heat_maps: Sequence[HeatMap] = ()


def read_pictures(
    results: Results,
    reference: Path,
    reconstruction: Path,
    *,
    heat_maps: Sequence[tuple[int, Path]] = (),
    reporter: Reporter,
) -> ReportPictures:
    """The pictures of `results`, from its two videos and the PNG files of SGC's worst pairs with their frames.

    Each video is decoded once. The same files give the same bytes. Progress: stages `pictures, reference` and so on.
    """
    frames = Axis(results).frames
    moments = {row.key: _moment(row) for row in check_rows(results)[:MOST_EVIDENCE]}
    strips: dict[str, list[StripPicture]] = {}
    evidence: dict[str, dict[int, str]] = {}
    for role, path, info in (
        ("reference", reference, results.reference),
        ("reconstruction", reconstruction, results.reconstruction),
    ):
        places = _places(info.timeline, frames)
        wanted = {(frame, STRIP_HEIGHT) for frame, _, _ in places}
        wanted |= {(frame, EVIDENCE_HEIGHT) for frame in moments.values()}
        made = _addresses(path, results.reference.timeline, info.timeline, wanted, f"pictures, {role}", reporter)
        strips[role] = [
            StripPicture(frame, left, width, made[frame, STRIP_HEIGHT])
            for frame, left, width in places
            if (frame, STRIP_HEIGHT) in made
        ]
        evidence[role] = {frame: address for (frame, height), address in made.items() if height == EVIDENCE_HEIGHT}
    return ReportPictures(
        strips,
        {
            key: Evidence(frame, evidence["reference"].get(frame), evidence["reconstruction"].get(frame))
            for key, frame in moments.items()
        },
        [HeatMap(frame, _file_address(path)) for frame, path in heat_maps],
    )


def _places(timeline: Timeline, frames: int) -> list[tuple[int, float, float]]:
    """(frame of the reference in its middle, left and width in percent) of a strip's pictures."""
    count = round(STRIP_WIDTH / (STRIP_HEIGHT * timeline.width / timeline.height))
    count = min(max(FEWEST, min(MOST, count)), frames)
    width = frames / count
    return [
        (int((index + 0.5) * width), round(100 * index / count, 3), round(100 / count, 3)) for index in range(count)
    ]


def _moment(row: CheckRow) -> int:
    """The frame of the reference that tells most of a check: the middle one of its evidence, else of its interval."""
    return row.evidence[len(row.evidence) // 2] if row.evidence else (row.first + row.last) // 2


def _addresses(
    path: Path, reference: Timeline, own: Timeline, wanted: set[tuple[int, int]], stage: str, reporter: Reporter
) -> dict[tuple[int, int], str]:
    """Addresses of the pictures at (frame of the reference, height); none where the video has ended by then."""
    asked: dict[int, list[tuple[int, int]]] = {}
    for frame, height in sorted(wanted):
        found = frame if own.rate == reference.rate else nearest_frame(reference.time_of(frame), own.rate)
        if found < own.frames:
            asked.setdefault(found, []).append((frame, height))
    made: dict[tuple[int, int], str] = {}
    for count, picture in enumerate(pick(path, sorted(asked)), 1):
        tall, wide = picture.image.shape[:2]
        for frame, height in asked[picture.index]:
            scale = min(1.0, SHARPNESS * height / tall)
            made[frame, height] = _address(resized(picture.image, (max(1, round(wide * scale)), round(tall * scale))))
        reporter.progress(stage, count, len(asked))
    return made


def _file_address(path: Path) -> str:
    with Image.open(path) as file:
        image = np.asarray(file.convert("RGB"), np.uint8)
    height, width = image.shape[:2]
    scale = min(1.0, HEAT_WIDTH / width)
    return _address(resized(image, (round(width * scale), max(1, round(height * scale)))))


def _address(image: NDArray[np.uint8]) -> str:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "JPEG", quality=QUALITY, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
