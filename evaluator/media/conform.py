# SPDX-License-Identifier: GPL-3.0-or-later
"""A reference rewritten at a constant rate, upright, with square pixels and an even size; every decision is listed."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from ..protocol.errors import BadInputError
from ..protocol.messages import Reporter
from ..protocol.timeline import format_rate
from ..records import Rate, Record
from .decode import stream
from .encode import ENCODER, NEAR_LOSSLESS, check_rate, check_size, encode
from .probe import probe
from .records import VideoInfo
from .resize import resized
from .scan import scan

CONFORM_FORMAT: Final = "matchcut-conform/1"

USUAL_RATES: Final = tuple(
    Fraction(rate)
    for rate in (
        "8", "10", "12", "15000/1001", "15", "24000/1001", "24", "25", "30000/1001", "30",
        "48", "50", "60000/1001", "60", "100", "120000/1001", "120", "240",
    )
)  # fmt: skip
"""Rates among which one is chosen for a reference whose own rate varies."""

MOST_FRAMES: Final = 1_000_000
"""Of the output: eleven hours at 24 frames per second. More comes from a damaged timestamp, not from a reference."""


class Conformed(Record):
    """What was written, and every decision on the way. Files are named without their folders."""

    format: Literal["matchcut-conform/1"] = CONFORM_FORMAT
    source: str
    source_sha256: str
    output: str
    output_sha256: str
    rate: Rate
    rate_reason: str
    source_rate: Rate
    source_constant_rate: bool
    start_seconds: float
    """Presentation time of the source's first frame, which the output shows at 0."""
    duration_seconds: float
    """Of the source's video stream, from its first frame to the end of its last."""
    source_size: tuple[int, int]
    """(width, height) as coded."""
    rotation_deg: int
    mirrored: bool
    pixel_aspect: str
    shown_size: tuple[int, int]
    """(width, height) of the source as shown: with square pixels and upright."""
    size: tuple[int, int]
    """(width, height) of the output."""
    size_reason: str
    colours: str
    encoder: str
    source_frames: list[int]
    """Frame of the source that each frame of the output shows."""
    time_errors_seconds: list[float]
    """Of each frame of the output: time of the source's frame, from its first one, less k / rate."""
    repeated: list[int]
    """Frames of the output that show the same frame of the source as the one before."""
    dropped: list[int]
    """Frames of the source that no frame of the output shows."""
    unplaced: list[int]
    """Those of them whose timestamp does not lie after all earlier ones, so that they have no time of their own."""
    warnings: list[str]
    """What is odd about the source."""

    @property
    def largest_error_seconds(self) -> float:
        """The largest distance of a shown frame from its place, without its sign."""
        return max(abs(error) for error in self.time_errors_seconds)


def conform(
    path: Path, rate: Fraction | None, out: Path, *, size: tuple[int, int] | None = None, reporter: Reporter
) -> Conformed:
    """Write the video `path` to `out` (MP4) and the record of it beside it, with the ending `.json`.

    Frame k of the output shows the decoded frame whose timestamp is nearest to k / rate after the first frame's, the
    earlier of two; the output lasts as long as the source's video stream, to within half a frame. Without `rate` it is
    the source's own where it has one, else the usual rate nearest to that at which it mostly runs. It is
    upright, has square pixels and the size as shown, less the last column or row where that is odd; with `size` =
    (width, height), it is scaled to that. The colours become 8-bit BT.709. One pass decodes the timestamps, one the
    pictures; memory does not grow with the length but for the record.
    Raises BadInputError where the source cannot be read, a rate or size cannot be held, or `out` is the source itself.
    """
    record_path = _check_output(path, out)
    reporter.status(f"reading {path.name}")
    info, seen = probe(path), scan(path)
    chosen, rate_reason = _rate(info, seen.timestamps, seen.time_base) if rate is None else (rate, "asked for")
    check_rate(chosen)
    shown = (info.timeline.width, info.timeline.height)
    target, size_reason = _size(shown, size)
    check_size(*target, str(out))
    duration = _duration(info, seen.timestamps, seen.time_base)
    ticks = seen.timestamps - seen.timestamps[0]
    sources = nearest_frames(ticks, seen.time_base, chosen, duration, str(path))
    reporter.status(f"writing {len(sources)} frames at {format_rate(chosen)} frames per second")
    written = encode(
        _pictures(path, sources, target, shown if size is None else size),
        chosen,
        out,
        reporter=reporter,
        total=len(sources),
        quantiser=NEAR_LOSSLESS,
    )
    record = Conformed(
        source=path.name,
        source_sha256=info.sha256,
        output=out.name,
        output_sha256=written.sha256,
        rate=chosen,
        rate_reason=rate_reason,
        source_rate=info.timeline.rate,
        source_constant_rate=info.constant_rate,
        start_seconds=info.start_seconds,
        duration_seconds=float(duration),
        source_size=(info.coded_width, info.coded_height),
        rotation_deg=info.rotation_deg,
        mirrored=info.mirrored,
        pixel_aspect=info.pixel_aspect,
        shown_size=shown,
        size=target,
        size_reason=size_reason,
        colours=_colours(info),
        encoder=f"{ENCODER}, constant quantiser {NEAR_LOSSLESS}",
        source_frames=sources,
        time_errors_seconds=[
            round(float(int(ticks[source]) * seen.time_base - place / chosen), 9)
            for place, source in enumerate(sources)
        ],
        repeated=[place for place in range(1, len(sources)) if sources[place] == sources[place - 1]],
        dropped=sorted(set(range(info.timeline.frames)) - set(sources)),
        unplaced=[int(frame) for frame in np.flatnonzero(~runs_forward(ticks))],
        warnings=info.warnings,
    )
    record.write(record_path)
    return record


def nearest_frames(
    ticks: NDArray[np.int64], time_base: Fraction, rate: Fraction, duration: Fraction, where: str
) -> list[int]:
    """Which frame to show at 0, 1 / rate, 2 / rate … for `duration` seconds: the nearest by time, the earlier of two.

    `ticks` (n,) are times from the first frame on, in `time_base` seconds. A frame that does not run forward is never
    chosen. The result has duration · rate entries, rounded, at
    least one. Raises BadInputError, naming `where`, where these are more than MOST_FRAMES.
    """
    count = max(1, round(duration * rate))
    if count > MOST_FRAMES:
        raise BadInputError(
            f"{where}: lasts {float(duration):.0f} s by its timestamps, {count} frames at {format_rate(rate)};"
            f" at most {MOST_FRAMES} are written, give a lower --rate or mend the file"
        )
    frames = np.flatnonzero(runs_forward(ticks))
    # everything in units of time_base / rate, in which times and places are whole numbers
    times = [int(tick) * time_base.numerator * rate.numerator for tick in ticks[frames]]
    step = rate.denominator * time_base.denominator
    chosen: list[int] = []
    at = 0
    for place in range(count):
        while at + 1 < len(times) and times[at] + times[at + 1] < 2 * place * step:
            at += 1
        chosen.append(int(frames[at]))
    return chosen


def runs_forward(ticks: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(n,) whether each frame's time lies after those of all frames before it; `ticks` (n,) start with 0."""
    latest = np.maximum.accumulate(np.concatenate([[-1], ticks[:-1]]))
    return np.asarray(latest < ticks)


def _rate(info: VideoInfo, timestamps: NDArray[np.int64], time_base: Fraction) -> tuple[Fraction, str]:
    own = info.timeline.rate
    if info.constant_rate:
        return own, "the source's own constant rate"
    if info.rate_source != "average_rate" and not info.jitter_seconds:
        return own, "the source's own rate, at which frames are missing"
    gaps = np.diff(timestamps)
    gaps = gaps[gaps > 0]
    typical = own
    if info.rate_source == "average_rate" and len(gaps):  # the middle gap: a few long holds do not slow a video down
        typical = 1 / (Fraction(float(np.median(gaps))) * time_base)
    nearest = min(USUAL_RATES, key=lambda rate: max(rate / typical, typical / rate))
    return nearest, f"the usual rate nearest to {float(typical):.3f} fps, at which the source mostly runs; it varies"


def _duration(info: VideoInfo, timestamps: NDArray[np.int64], time_base: Fraction) -> Fraction:
    """Seconds from the first frame to the end of the last, holes included."""
    if info.rate_source == "average_rate":
        return info.timeline.duration
    return max(Fraction(0), int(timestamps.max() - timestamps[0]) * time_base) + 1 / info.timeline.rate


def _size(shown: tuple[int, int], asked: tuple[int, int] | None) -> tuple[tuple[int, int], str]:
    text = f"{shown[0]}x{shown[1]}"
    if asked is not None:
        stretched = abs(asked[0] * shown[1] - asked[1] * shown[0]) > max(*shown, *asked)  # by more than a pixel
        reason = f"asked for; scaled from {text}" if asked != shown else "asked for; that of the source as shown"
        return asked, reason + (", which changes the proportions" if stretched else "")
    if min(shown) < 2:
        raise BadInputError(f"a video of {text} has no even size of its own; give --size WxH")
    even = (shown[0] // 2 * 2, shown[1] // 2 * 2)
    if even == shown:
        return even, "that of the source as shown"
    cut = " and ".join(name for name, odd in (("column", shown[0] % 2), ("row", shown[1] % 2)) if odd)
    return even, f"the source as shown is {text}; its last {cut} is cut off, since H.264 needs an even size"


def _colours(info: VideoInfo) -> str:
    """From what to what; the converter takes what stands in for a missing tag."""
    tags = {} if info.colour is None else {**info.colour.model_dump(exclude={"assumed"}), **info.colour.assumed}
    source = "".join(f", {name} {tag}" for name, tag in tags.items())
    return (
        f"{info.pixel_format}, {info.bit_depth} bit{source}; to yuv420p, 8 bit, range limited, matrix bt709,"
        " with primaries and transfer not converted but tagged bt709"
    )


def _pictures(
    path: Path, sources: list[int], size: tuple[int, int], scaled: tuple[int, int]
) -> Iterator[NDArray[np.uint8]]:
    """The picture of every frame of the output, scaled and then cut to `size`; `sources` never decrease."""
    place = 0
    for frame in stream(path):
        if sources[place] != frame.index:
            continue
        image = resized(frame.image, scaled)[: size[1], : size[0]]
        while place < len(sources) and sources[place] == frame.index:
            yield image
            place += 1
        if place == len(sources):
            return


def _check_output(path: Path, out: Path) -> Path:
    """Where the record goes."""
    if out.suffix.lower() != ".mp4":
        raise BadInputError(f"{out}: the output is an MP4 file; give a name that ends in .mp4")
    record_path = out.with_suffix(".json")
    for target in (out, record_path):
        if target.is_dir():
            raise BadInputError(f"{target}: this is a folder, where a file is to be written; give another --out")
        if target.exists() and path.exists() and target.samefile(path):
            raise BadInputError(f"{target}: this is the source itself; give another --out")
    return record_path
