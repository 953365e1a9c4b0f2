# SPDX-License-Identifier: GPL-3.0-or-later
"""The time axis of the page: ticks, cuts, checks in lanes and the SGC curves, all over frames of the reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from ..checklist.records import DIMENSIONS
from ..media.records import Fault
from ..protocol.timeline import nearest_frame
from ..results import Results
from ..shots.records import Fade
from .checks import CheckRow
from .consistency import AnySgc, Series, series_of
from .text import fade_text, significant, words

WIDTH = 1000.0
"""Width of a curve's drawing; its height is 100."""


@dataclass(frozen=True)
class Tick:
    """A labelled frame; `left` in percent."""

    frame: int
    left: float


@dataclass(frozen=True)
class Cut:
    """A cut on the axis; `frame` counts in the reference, `left` in percent."""

    frame: int
    left: float
    title: str


@dataclass(frozen=True)
class Stretch:
    """A fade of either video, or a fault of the reconstruction; counted in the reference.

    `left` and `width` are in percent.
    """

    kind: str
    first: int
    last: int
    left: float
    width: float
    label: str = ""
    """In words, where `kind` does not say it."""


@dataclass(frozen=True)
class CutRow:
    """The cuts and fades of one video, or the faults of the reconstruction."""

    label: str
    cuts: list[Cut]
    stretches: list[Stretch]


@dataclass(frozen=True)
class Mark:
    """A check on the axis, in the lane in which it covers no other."""

    row: CheckRow
    left: float
    width: float
    lane: int


@dataclass(frozen=True)
class CheckGroup:
    """The checks of one category."""

    label: str
    lanes: int
    marks: list[Mark]


@dataclass(frozen=True)
class Gap:
    """Pairs without a value; in units of the drawing."""

    x: float
    width: float


@dataclass(frozen=True)
class Panel:
    """The curve of one SGC component over the pairs, as an SVG path in a drawing of 1000 by 100."""

    component: str
    label: str
    unit: str
    top: str
    """The value at the upper edge; the lower edge is 0."""
    path: str
    dots: str
    """Values that stand alone between gaps, as strokes of no length."""
    gaps: list[Gap]
    cuts: list[float]


class Axis:
    """Maps frames of both videos to places; it counts frames of the reference, as many as the longer video lasts."""

    def __init__(self, results: Results) -> None:
        self._results = results
        reference, reconstruction = results.reference.timeline, results.reconstruction.timeline
        self._rates = reference.rate, reconstruction.rate
        self.frames = max(reference.frames, math.ceil(reconstruction.duration * reference.rate))

    def to_reference(self, frame: int) -> int:
        """The reference's frame nearest in time to frame `frame` of the reconstruction."""
        reference, reconstruction = self._rates
        return frame if reference == reconstruction else nearest_frame(Fraction(frame) / reconstruction, reference)

    def percent(self, frame: float) -> float:
        """Place of a frame's start from the left, in percent of the axis."""
        return round(100 * frame / self.frames, 3)

    def ticks(self) -> list[Tick]:
        """About eight labelled frames at round distances."""
        rough = max(1.0, self.frames / 8)
        base = 10 ** math.floor(math.log10(rough))
        distance = next(int(base * factor) for factor in (1, 2, 5, 10) if base * factor >= rough)
        ticks = [Tick(frame, self.percent(frame)) for frame in range(0, self.frames, distance)]
        return [tick for tick in ticks if tick.left < 96]  # a label beyond that would hang over the edge

    def cut_rows(self) -> list[CutRow]:
        """The cuts and fades of the reference, then of the reconstruction, then its faults where it has any."""
        shots = self._results.shots
        faults = [self._fault(fault) for fault in self._results.timeline.faults]
        # the shorter ones last, so that none lies hidden under another
        faults.sort(key=lambda stretch: -stretch.width)
        rows = [
            CutRow("Cuts, reference", self._cuts(shots.reference_cuts), self._fades(shots.reference_fades)),
            CutRow(
                "Cuts, reconstruction",
                self._cuts(shots.reconstruction_cuts),
                self._fades(shots.reconstruction_fades),
            ),
        ]
        return [*rows, CutRow("Faults, reconstruction", [], faults)] if faults else rows

    def _cuts(self, cuts: list[int]) -> list[Cut]:
        return [Cut(frame, self.percent(frame), f"cut at frame {frame}") for frame in cuts]

    def _fades(self, fades: list[Fade]) -> list[Stretch]:
        return [
            Stretch(
                f"fade {fade.kind}",
                fade.first,
                fade.last,
                self.percent(fade.first),
                self.percent(fade.last + 1 - fade.first),
                f"{fade_text(fade)}, frames {fade.first}–{fade.last}",
            )
            for fade in fades
        ]

    def _fault(self, fault: Fault) -> Stretch:
        start, end = self.to_reference(fault.first), self.to_reference(fault.last)
        return Stretch(
            fault.kind, start, end, self.percent(start), self.percent(end + 1 - start), f"{fault.kind}: {fault.detail}"
        )

    def check_groups(self, rows: list[CheckRow]) -> list[CheckGroup]:
        """The checks by category in the order of the dimensions; checks that overlap lie in lanes of their own."""
        smallest = self.frames / 90  # a mark is drawn at least this wide, so that it can be seen and hit
        groups = []
        for category in (name for names in DIMENSIONS.values() for name in names):
            ends: list[float] = []
            marks = []
            members = [row for row in rows if row.category == category]
            for row in sorted(members, key=lambda row: (row.first, row.last, row.key)):
                end = row.first + max(row.last + 1 - row.first, smallest)
                lane = next((index for index, taken in enumerate(ends) if taken <= row.first), len(ends))
                ends[lane : lane + 1] = [end]
                width = self.percent(row.last + 1 - row.first)
                marks.append(Mark(row, self.percent(row.first), width, lane))
            if marks:
                groups.append(CheckGroup(words(category).capitalize(), len(ends), marks))
        return groups

    def panels(self, sgc: AnySgc) -> list[Panel]:
        """One curve per component. Pair f stands at the middle of frame f; nothing is drawn where it has no value.

        A pair across a cut is not expected, so it is no gap. The frames of a render job lie on the reference's
        timeline; those of a video that SGC was estimated from are carried there.
        """
        return [self._panel(series) for series in series_of(sgc)]

    def _panel(self, series: Series) -> Panel:
        carried = self._results.sgc_frames == "reconstruction" and self._rates[0] != self._rates[1]
        starts = self._results.shots.reconstruction_boundaries
        values = (
            {self.to_reference(frame): value for frame, value in series.values.items()} if carried else series.values
        )
        known = {frame: value for frame, value in values.items() if value is not None}
        top = max(known.values(), default=0.0)
        heights = {frame: math.log1p(max(0.0, value)) if series.logarithm else value for frame, value in known.items()}
        limit = max(heights.values(), default=0.0) or 1.0
        points = {frame: (self._x(frame + 0.5), 100 - 94 * height / limit) for frame, height in heights.items()}
        # at another rate not every frame of the reference has a pair
        expected = sorted(values) if carried else range(1, self._results.reference.timeline.frames)
        missing = [frame for frame in expected if frame not in known and frame not in starts]
        path, dots = _paths(points)
        return Panel(
            component=series.component,
            label=series.label,
            unit=series.unit,
            top=significant(top),
            path=path,
            dots=dots,
            gaps=[Gap(self._x(a), round(self._x(b + 1) - self._x(a), 2)) for a, b in _runs(missing)],
            cuts=[self._x(start) for start in starts],
        )

    def _x(self, frame: float) -> float:
        return round(WIDTH * frame / self.frames, 2)


def _runs(frames: list[int]) -> list[tuple[int, int]]:
    """Inclusive runs of consecutive numbers in an ascending list."""
    if not frames:
        return []
    starts = [frames[0]] + [b for a, b in pairwise(frames) if b != a + 1]
    ends = [a for a, b in pairwise(frames) if b != a + 1] + [frames[-1]]
    return list(zip(starts, ends, strict=True))


def _paths(points: dict[int, tuple[float, float]]) -> tuple[str, str]:
    """SVG paths: a stroke per run of consecutive frames, and the runs of one frame, which round line caps make dots."""
    strokes, dots = [], []
    for first, last in _runs(sorted(points)):
        run = [f"{points[frame][0]:.2f} {points[frame][1]:.2f}" for frame in range(first, last + 1)]
        if len(run) == 1:
            dots.append(f"M{run[0]}h0")
        else:
            strokes.append("M" + "L".join(run))
    return "".join(strokes), "".join(dots)
