# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known about a video, and how two videos' timelines compare."""

from __future__ import annotations

from typing import Literal

from ..records import Record, TimelineField


class VideoInfo(Record):
    """A video as it decodes. Sizes are as shown: rotation, mirror and pixel aspect applied."""

    path: str
    sha256: str
    timeline: TimelineField
    rate_source: Literal["timestamps", "average_rate", "container"]
    """Where the rate comes from; timestamps wherever they are usable."""
    constant_rate: bool
    start_seconds: float
    """Presentation time of the first frame."""
    coded_width: int
    coded_height: int
    rotation_deg: int
    """Clockwise turn that shows the picture upright: 0, 90, 180 or 270."""
    mirrored: bool
    pixel_aspect: str
    """Width to height of one coded pixel, as `1:1`."""
    codec: str
    pixel_format: str
    bit_depth: int
    header_frames: int | None
    """The container's claim, reported beside the decoded count and never used."""
    warnings: list[str] = []


class Comparison(Record):
    """One property of both videos, with a verdict."""

    name: Literal["resolution", "rate", "frames", "duration"]
    reference: str
    reconstruction: str
    agrees: bool


class TimelineCheck(Record):
    """Whether a reconstruction lies on its reference's timeline, and where its pictures do not."""

    comparisons: list[Comparison]
    offset_frames: int | None
    """Global shift found from content: frame f of the reference looks like frame f + offset of the reconstruction.
    None where the content decides nothing. Never corrected."""
    frozen: list[tuple[int, int]] = []
    """Inclusive stretches of the reconstruction that repeat one picture while the reference moves."""
    black: list[tuple[int, int]] = []
    """Inclusive stretches of the reconstruction that are black where the reference is not."""

    @property
    def passed(self) -> bool:
        """Whether resolution, rate, frame count and duration all agree."""
        return all(comparison.agrees for comparison in self.comparisons)
