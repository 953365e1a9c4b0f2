# SPDX-License-Identifier: GPL-3.0-or-later
"""The time axis of the page: ticks, cuts, checks in lanes and the SGC curves, all over frames of the reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from ..checklist.records import DIMENSIONS
from ..protocol.timeline import nearest_frame
from ..results import Results
from ..sgc.records import COMPONENTS, Component, SgcResult
from .checks import CheckRow
from .text import COMPONENT_LABELS, COMPONENT_UNITS, significant, words

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
    """Frozen or black frames of the reconstruction, counted in the reference; `left` and `width` in percent."""

    kind: str
    first: int
    last: int
    left: float
    width: float


@dataclass(frozen=True)
class CutRow:
    """The cuts of one video, and where its pictures stand still or are black."""

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

    component: Component
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
        """The cuts of the reference, then those of the reconstruction with its frozen and black stretches."""
        shots, timeline = self._results.shots, self._results.timeline
        mapped = [(cut, self.to_reference(cut)) for cut in shots.reconstruction_cuts]
        stretches = [self._stretch("frozen", *stretch) for stretch in timeline.frozen]
        stretches += [self._stretch("black", *stretch) for stretch in timeline.black]
        return [
            CutRow("Cuts, reference", [Cut(f, self.percent(f), f"cut at frame {f}") for f in shots.reference_cuts], []),
            CutRow(
                "Cuts, reconstruction",
                [Cut(at, self.percent(at), f"cut at frame {cut}") for cut, at in mapped],
                stretches,
            ),
        ]

    def _stretch(self, kind: str, first: int, last: int) -> Stretch:
        start, end = self.to_reference(first), self.to_reference(last)
        return Stretch(kind, start, end, self.percent(start), self.percent(end + 1 - start))

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

    def panels(self, sgc: SgcResult) -> list[Panel]:
        """One curve per component. Pair f stands at the middle of frame f; nothing is drawn where it has no value.

        A pair across a cut is not expected, so it is no gap. The frames of SGC are those of the render job, which lies
        on the reference's timeline.
        """
        starts = [self.to_reference(cut) for cut in self._results.shots.reconstruction_cuts]
        expected = self._results.reference.timeline.frames
        panels = []
        for component in COMPONENTS:
            values = {pair.frame: pair.components.get(component) for pair in sgc.pairs}
            known = {frame: value for frame, value in values.items() if value is not None}
            top = max(known.values(), default=0.0)
            heights = {frame: _height(component, value) for frame, value in known.items()}
            limit = max(heights.values(), default=0.0) or 1.0
            points = {frame: (self._x(frame + 0.5), 100 - 94 * height / limit) for frame, height in heights.items()}
            missing = [frame for frame in range(1, expected) if frame not in known and frame not in starts]
            path, dots = _paths(points)
            panels.append(
                Panel(
                    component=component,
                    label=COMPONENT_LABELS[component],
                    unit=COMPONENT_UNITS[component],
                    top=significant(top),
                    path=path,
                    dots=dots,
                    gaps=[Gap(self._x(a), round(self._x(b + 1) - self._x(a), 2)) for a, b in _runs(missing)],
                    cuts=[self._x(start) for start in starts],
                )
            )
        return panels

    def _x(self, frame: float) -> float:
        return round(WIDTH * frame / self.frames, 2)


def _height(component: Component, value: float) -> float:
    # the score takes log(1 + v) of the variances and the depth error as it is
    return value if component == "average_depth_consistency_error" else math.log1p(max(0.0, value))


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
