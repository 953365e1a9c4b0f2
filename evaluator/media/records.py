# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known about a video, and how two videos' timelines compare."""

from __future__ import annotations

from typing import Literal

from ..records import Record, TimelineField

FieldOrder = Literal["progressive", "top first", "bottom first", "unspecified"]


class Colour(Record):
    """Colour tags by their names in ITU-T H.273, `unspecified` where the file says nothing."""

    range: str
    """limited | full | unspecified."""
    primaries: str
    transfer: str
    matrix: str
    assumed: dict[str, str] = {}
    """What stands in for each tag that is unspecified."""


class Hole(Record):
    """A place where the timestamps leave out frames."""

    frame: int
    """The last frame before it."""
    seconds: float
    """From that frame's start to the next one's."""
    missing: int
    """Frames that the rate has in between."""


class Edit(Record):
    """An entry of an MP4's edit list: which part of the coded video is shown next."""

    start_seconds: float | None
    """Where it starts in the coded video; None where nothing is shown."""
    seconds: float
    """For how long; 0 is to the end."""
    speed: float = 1.0


class DamageInfo(Record):
    """What does not decode, or not as it was coded."""

    ends_early: bool = False
    """The header promises more than what decodes; the last frame and its time are those that the video has."""
    packets: int = 0
    """Pieces of the file that are cut off or do not decode."""
    first_seconds: float | None = None
    """Time of the first of them; None where it has none."""
    reason: str = ""
    frames: list[int] = []
    """Frames that come out with faults in the picture."""
    lost_before: int = 0
    """Pictures before frame 0 that do not decode, as where a recording was joined between keyframes."""
    lost_after: int = 0
    """Pictures after the last frame that do not decode."""


class VideoInfo(Record):
    """A video as it decodes. Sizes are as shown: rotation, mirror and pixel aspect applied.

    Fields with a default are missing in records of earlier versions.
    """

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

    container: str = ""
    """Its kind, as FFmpeg names it."""
    header_rate: str | None = None
    """The container's claim, as `24000/1001`; used only where the timestamps leave a choice."""
    seconds: float | None = None
    """From the first frame's start to the last one's end by their timestamps, holes included."""
    header_seconds: float | None = None
    """The container's claim for this stream."""
    container_seconds: float | None = None
    """End of whichever stream ends last, by the headers."""
    shortest_seconds: float | None = None
    longest_seconds: float | None = None
    """From a frame's start to the next one's, where the time runs forward."""
    jitter_seconds: float = 0.0
    """Largest distance of a timestamp from the rate's grid; 0 where rounding to ticks explains it."""
    holes: list[Hole] = []
    repeated: list[int] = []
    """Frames whose timestamp is that of the frame before."""
    backward: list[int] = []
    """Frames whose timestamp is earlier than that of the frame before."""
    untimed_frames: int = 0
    """Frames without a timestamp, which the header's rate places."""
    colour: Colour | None = None
    """Of the first frame."""
    interlaced_frames: int = 0
    """Frames that say of themselves that they hold two fields."""
    field_order: FieldOrder = "unspecified"
    size_changes: list[int] = []
    """Frames whose coded size differs from the frame before; all are shown at the first one's."""
    edits: list[Edit] = []
    hidden_frames: int = 0
    """Frames that an edit list hides; they are none of the video's."""
    other_streams: list[str] = []
    """Sound, subtitles, data, further videos and cover pictures, in words."""
    damage: DamageInfo | None = None
    """None where everything decodes."""


class Comparison(Record):
    """One property of both videos, with a verdict."""

    name: Literal["resolution", "rate", "frames", "duration"]
    reference: str
    reconstruction: str
    agrees: bool


class Fault(Record):
    """One stretch of a reconstruction that does not lie on its reference's timeline."""

    kind: Literal["frozen", "black", "dropped", "repeated", "reversed", "speed", "inserted"]
    """`frozen` holds one picture while the reference moves on; `black` is black where the reference is not; `dropped`
    leaves out frames of the reference; `repeated` shows frames again that were shown before, a single one too, without
    losing any; `reversed` plays backwards; `speed` plays slower or faster; `inserted` shows nothing of the reference,
    and what follows is later for it."""
    first: int
    last: int
    """Inclusive frames of the reconstruction; of `dropped`, the frame before the gap and the one after it."""
    reference_first: int | None
    reference_last: int | None
    """Inclusive frames of the reference that it concerns: those shown (`repeated`, `reversed`, `speed`) or those that
    are not (`frozen`, `black`, `dropped`). None where the content does not tell."""
    speed: float | None = None
    """Of `speed`: seconds of the reference shown per second; above 1 is faster."""
    detail: str
    """The same as a sentence for a person."""


class TimelineCheck(Record):
    """Whether a reconstruction lies on its reference's timeline, and where its pictures do not."""

    comparisons: list[Comparison]
    offset_frames: int | None
    """Global shift found from content: frame f of the reference looks like frame f + offset of the reconstruction, as
    far as no fault moves it further. None where the content decides nothing. Never corrected."""
    offset_reason: str = ""
    """Why the content decides nothing, where it does not; no faults but frozen and black ones are known then."""
    faults: list[Fault] = []
    """In the order of their first frames."""

    @property
    def passed(self) -> bool:
        """Whether all four comparisons agree, and no shift and no fault is found."""
        agree = all(comparison.agrees for comparison in self.comparisons)
        return agree and self.offset_frames in (None, 0) and not self.faults
