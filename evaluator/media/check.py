# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a reconstruction lies on its reference's timeline, told by numbers and by what the pictures show."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..protocol.messages import Reporter
from ..protocol.timeline import Timeline, format_rate, nearest_frame
from .align import align
from .faults import Grid, offset_and_faults
from .records import Comparison, TimelineCheck, VideoInfo
from .scan import scan

DRIFT_FRAMES = Fraction(1, 10)
DRIFT_LENGTH = 10_000
"""Two rates agree when they drift apart by less than a tenth of a frame over the reference, taken as at least 10,000
frames long: a relative difference of 1e-5. 2997/125 for 24000/1001 (1e-6) agrees at any length below ten minutes and
far beyond; 24 for 24000/1001 (1e-3) never does, however short the clip. Durations are held to the same."""


def check_timeline(reference: VideoInfo, reconstruction: VideoInfo, *, reporter: Reporter) -> TimelineCheck:
    """Compare size, rate, frame count and duration, and look in the pictures for a shift and for faults.

    Frames of both are matched by time from their first frames on, as the protocol does (appendix C.1); where the rates
    differ, at the times of the slower one. Nothing is corrected. What is found, and what is too short to be found, is
    told in `align` and `faults`.
    Raises BadInputError where a file can no longer be read.
    """
    reporter.status("comparing the timelines")
    first, second = reference.timeline, reconstruction.timeline
    comparisons = [
        Comparison(
            name="resolution",
            reference=f"{first.width}x{first.height}",
            reconstruction=f"{second.width}x{second.height}",
            agrees=(first.width, first.height) == (second.width, second.height),
        ),
        Comparison(
            name="rate",
            reference=format_rate(first.rate),
            reconstruction=format_rate(second.rate),
            agrees=within_drift(first.rate, second.rate, first.frames),
        ),
        Comparison(
            name="frames",
            reference=str(first.frames),
            reconstruction=str(second.frames),
            agrees=first.frames == second.frames,
        ),
        Comparison(
            name="duration",
            reference=f"{float(first.duration):.6f} s",
            reconstruction=f"{float(second.duration):.6f} s",
            agrees=within_drift(first.duration, second.duration, first.frames),
        ),
    ]
    rate = min(first.rate, second.rate)
    grid = Grid(on_grid(first, rate), on_grid(second, rate), float(first.rate / rate))
    shown = scan(Path(reference.path)).signatures[grid.reference]
    rebuilt = scan(Path(reconstruction.path)).signatures[grid.reconstruction]
    offset, reason, faults = offset_and_faults(shown, rebuilt, align(shown, rebuilt, float(rate)), grid)
    return TimelineCheck(comparisons=comparisons, offset_frames=offset, offset_reason=reason, faults=faults)


def within_drift(first: Fraction, second: Fraction, frames: int) -> bool:
    """Whether two rates, or two durations, of a video of `frames` frames are the same but for rounding."""
    return abs(first / second - 1) * max(frames, DRIFT_LENGTH) < DRIFT_FRAMES


def on_grid(timeline: Timeline, rate: Fraction) -> NDArray[np.int64]:
    """(n,) frames nearest to the times 0, 1/rate, 2/rate … that the video has, `rate` being at most its own.

    At rates that agree, every frame.
    """
    if within_drift(timeline.rate, rate, timeline.frames):
        return np.arange(timeline.frames)
    places = (nearest_frame(place / rate, timeline.rate) for place in range(timeline.frames))
    return np.array([frame for frame in places if frame < timeline.frames], np.int64)
