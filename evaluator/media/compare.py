# SPDX-License-Identifier: GPL-3.0-or-later
"""Reference and reconstruction beside each other: a synchronized video, and a sheet of chosen moments.

Both follow the reference's timeline: at the time of its frame k, k / rate, each side shows its own frame nearest by
time (CineRecon, appendix C.1), and a striped panel that says so where a video has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..protocol.errors import BadInputError
from ..protocol.files import write_bytes
from ..protocol.messages import Reporter
from ..protocol.timeline import Timeline, nearest_frame
from .decode import Frame, pick, pick_pictures, stream
from .encode import encode
from .labels import empty_panel, label_bar, moment
from .pairs import pair_image, png_bytes
from .records import VideoInfo
from .resize import resized
from .selection import select_frames

LOWEST: Final = 360
HIGHEST: Final = 720
"""Pixels that the pictures of the video are high: as many as the larger one has, within these."""
WIDEST: Final = 1920
"""Pixels that one picture of the video is wide at most."""
THUMBNAIL: Final = (480, 270)
"""(width, height) that a picture of the sheet has at most."""
MOST_MOMENTS: Final = 24
"""Pairs on a sheet; with them it stays below 3000 pixels a side."""

_NARROWEST = 440  # a label of two texts needs it
_GAP = 8
_SHEET_GAP = 24
_SHEET_GROUND = 72


@dataclass(frozen=True)
class Moment:
    """A pair of the sheet; `reconstruction_frame` is None where the reconstruction has ended."""

    reference_frame: int
    reconstruction_frame: int | None


@dataclass(frozen=True)
class Layout:
    """Where a side-by-side video of two timelines shows what; boxes are (left, top, width, height) in pixels."""

    size: tuple[int, int]
    """(width, height) of the whole."""
    reference: tuple[int, int, int, int]
    reconstruction: tuple[int, int, int, int]


@dataclass(frozen=True)
class _Side:
    """How one video is shown: its picture centred in an area, all sizes (width, height), under a label."""

    role: str
    timeline: Timeline
    picture: tuple[int, int]
    area: tuple[int, int]
    label: int
    """Height of the label."""

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Left, top, width and height of the picture in its panel."""
        (width, height), (columns, rows) = self.area, self.picture
        return (width - columns) // 2, self.label + (height - rows) // 2, columns, rows

    def fitted(self, frame: Frame) -> Frame:
        """`frame` scaled to its place."""
        return Frame(frame.index, frame.time, resized(frame.image, self.picture))

    def panel(self, frame: Frame | None) -> NDArray[np.uint8]:
        """(label + area height, area width, 3) uint8 with a fitted frame, or with words where there is none."""
        width, height = self.area
        size = self.label * 11 // 20
        timeline = self.timeline
        panel = np.zeros((self.label + height, width, 3), np.uint8)
        if frame is None:
            last = timeline.frames - 1
            words = (f"{self.role} HAS ENDED", f"last: {moment(last, float(timeline.time_of(last)))}")
            when = "no frame"
            panel[self.label :] = empty_panel(width, height, words, size=size)
        else:
            when = moment(frame.index, float(timeline.time_of(frame.index)))
            left, top, columns, rows = self.box
            panel[top : top + rows, left : left + columns] = frame.image
        panel[: self.label] = label_bar(width, self.label, self.role, when, size=size, margin=size // 2)
        return panel


def side_by_side(reference: VideoInfo, reconstruction: VideoInfo, out: Path, *, reporter: Reporter) -> VideoInfo:
    """Write the MP4 file `out`: the reference at the left, the reconstruction at the right, each under its label.

    It has the reference's rate and lasts as long as the longer one of both. The pictures keep their proportions and
    are scaled to one height. Each file is decoded once; a frame of each is in memory at a time.
    Raises BadInputError where a file can no longer be read, OperationalError where encoding fails.
    """
    sides = _video_sides(reference.timeline, reconstruction.timeline)
    rate, total = reference.timeline.rate, _length(reference.timeline, reconstruction.timeline)
    paths = Path(reference.path), Path(reconstruction.path)
    reporter.status(f"writing {total} frames side by side")
    return encode(_joined(sides, paths, rate, total), rate, out, reporter=reporter, total=total)


def layout(reference: Timeline, reconstruction: Timeline) -> Layout:
    """What `side_by_side` makes of two videos of these timelines."""
    left, right = _video_sides(reference, reconstruction)
    first = left.area[0] + _GAP
    return Layout(
        size=(first + right.area[0], left.label + left.area[1]),
        reference=left.box,
        reconstruction=(first + right.box[0], *right.box[1:]),
    )


def contact_sheet(
    reference: VideoInfo, reconstruction: VideoInfo, out: Path, *, cuts: Sequence[int], reporter: Reporter
) -> list[Moment]:
    """Write the PNG file `out`: pairs of pictures at chosen moments, the reference left, and say which they are.

    `cuts` are frames of the reference that begin a shot. The sheet shows its first and its last frame, the frames
    before and at each cut as far as there is room, and others evenly spread, row by row in increasing time.
    Raises BadInputError where a file can no longer be read.
    """
    reporter.status("making a contact sheet")
    timeline = reference.timeline
    moments = [
        Moment(place, frame_at(timeline.time_of(place), reconstruction.timeline))
        for place in chosen_moments(timeline.frames, cuts)
    ]
    left, right = _sides(reference.timeline, reconstruction.timeline, THUMBNAIL)
    given = _thumbnails(left, Path(reference.path), [item.reference_frame for item in moments])
    rebuilt = _thumbnails(right, Path(reconstruction.path), [item.reconstruction_frame for item in moments])
    pairs = [_beside(left.panel(a), right.panel(b)) for a, b in zip(given, rebuilt, strict=True)]
    write_bytes(out, png_bytes(_grid(pairs)))
    return moments


def write_pairs(
    reference: VideoInfo, reconstruction: VideoInfo, folder: Path, frames: Sequence[int], *, reporter: Reporter
) -> list[Path]:
    """Write the pair image of each of the reference's `frames` as a PNG file named by it, and say which files.

    It is the image that a judge is shown, with the frame and its time on the reference's timeline. Raises BadInputError
    where either video does not show a frame.
    """
    chosen = sorted(set(frames))
    times = [reference.timeline.time_of(frame) for frame in chosen]
    own = [frame_at(time, reconstruction.timeline) for time in times]
    for frame, other in zip(chosen, own, strict=True):
        if frame >= reference.timeline.frames:
            raise BadInputError(f"frame {frame}: the reference's frames are 0 … {reference.timeline.frames - 1}")
        if other is None:
            raise BadInputError(f"frame {frame}: the reconstruction has ended by then; choose an earlier one")
    given = pick_pictures(Path(reference.path), chosen)
    rebuilt = pick_pictures(Path(reconstruction.path), [other for other in own if other is not None])
    written = []
    for frame, time, above, below in zip(chosen, times, given, rebuilt, strict=True):
        out = folder / f"{frame:06d}.png"
        write_bytes(out, png_bytes(pair_image(above, below, frame, float(time))))
        written.append(out)
        reporter.progress("pairs", len(written), len(chosen))
    return written


def chosen_moments(count: int, cuts: Sequence[int], *, limit: int = MOST_MOMENTS) -> list[int]:
    """At most `limit` frames of `count`: first, last, before and at each cut, and others evenly spread, increasing."""
    ends = {0, count - 1}
    around = {frame for cut in cuts for frame in (cut - 1, cut) if 0 <= frame < count}
    even = {round(Fraction(place * (count - 1), limit - 1)) for place in range(limit)}
    return select_frames(select_frames(ends, around, limit=limit), even, limit=limit)


def frame_at(time: Fraction, timeline: Timeline) -> int | None:
    """The frame nearest to `time` seconds; None from the end of the last one on."""
    return min(nearest_frame(time, timeline.rate), timeline.frames - 1) if time < timeline.duration else None


def _video_sides(reference: Timeline, reconstruction: Timeline) -> tuple[_Side, _Side]:
    largest = max(reference.height, reconstruction.height)
    return _sides(reference, reconstruction, (WIDEST, _even(min(max(largest, LOWEST), HIGHEST))))


def _length(reference: Timeline, reconstruction: Timeline) -> int:
    """Frames of the video: as many as the longer of both has at the reference's rate."""
    return max(reference.frames, round(reconstruction.duration * reference.rate))


def _sides(reference: Timeline, reconstruction: Timeline, most: tuple[int, int]) -> tuple[_Side, _Side]:
    """Both sides at one height, each as wide as its picture needs, within `most` = (width, height)."""
    label = _even(max(36, most[1] // 14))
    sides = []
    for role, timeline in (("REFERENCE", reference), ("RECONSTRUCTION", reconstruction)):
        width, height = timeline.width, timeline.height
        scale = min(Fraction(most[0], width), Fraction(most[1], height))
        picture = (max(1, round(width * scale)), max(1, round(height * scale)))
        sides.append(_Side(role, timeline, picture, (max(_even(picture[0] + 1), _NARROWEST), most[1]), label))
    return sides[0], sides[1]


def _joined(
    sides: tuple[_Side, _Side], paths: tuple[Path, Path], rate: Fraction, total: int
) -> Iterator[NDArray[np.uint8]]:
    """The picture (height, width, 3) of both at each of the times k / rate; all of them are one array."""
    left, right = (_panels(side, path, rate, total) for side, path in zip(sides, paths, strict=True))
    joined: NDArray[np.uint8] | None = None
    for first, second in zip(left, right, strict=True):
        if joined is None:
            joined = _beside(first, second)
        joined[:, : first.shape[1]] = first
        joined[:, -second.shape[1] :] = second
        yield joined


def _panels(side: _Side, path: Path, rate: Fraction, total: int) -> Iterator[NDArray[np.uint8]]:
    decoded = stream(path)
    panel, shown = side.panel(None), None
    for place in range(total):
        wanted = frame_at(place / rate, side.timeline)
        if wanted != shown:
            # the decoder's own picture is let go at once: at 4K it is 25 MB
            fitted = None if wanted is None else next((side.fitted(f) for f in decoded if f.index == wanted), None)
            panel, shown = side.panel(fitted), wanted
        yield panel


def _thumbnails(side: _Side, path: Path, indices: Sequence[int | None]) -> list[Frame | None]:
    wanted = sorted({index for index in indices if index is not None})
    picked = {frame.index: side.fitted(frame) for frame in pick(path, wanted)}
    return [None if index is None else picked[index] for index in indices]


def _beside(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.hstack([left, np.zeros((len(left), _GAP, 3), np.uint8), right])


def _grid(cells: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Cells of one size in rows, with as many columns as make the longer side of the whole shortest."""
    height, width = (length + _SHEET_GAP for length in cells[0].shape[:2])
    columns = min(range(1, len(cells) + 1), key=lambda count: max(count * width, -(-len(cells) // count) * height))
    rows = -(-len(cells) // columns)
    sheet = np.full((rows * height + _SHEET_GAP, columns * width + _SHEET_GAP, 3), _SHEET_GROUND, np.uint8)
    for place, cell in enumerate(cells):
        top, left = _SHEET_GAP + place // columns * height, _SHEET_GAP + place % columns * width
        sheet[top : top + len(cell), left : left + cell.shape[1]] = cell
    return sheet


def _even(length: int) -> int:
    return length // 2 * 2
