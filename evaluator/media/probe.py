# SPDX-License-Identifier: GPL-3.0-or-later
"""What a video really is: its size as shown, its exact rate, the frames that decode, and what is odd about it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..protocol.files import sha256_of
from ..protocol.timeline import Timeline, format_rate
from .rate import RateFit, fit_rate
from .records import VideoInfo
from .scan import Scan, scan

_HDR_TRANSFERS = {16: "PQ", 18: "HLG"}  # ITU-T H.273, table 3


def probe(path: Path) -> VideoInfo:
    """Decode the whole video once and say what it is.

    Raises BadInputError, naming the file, where it cannot be read or holds no frame. A file that ends early gives what
    decodes, with a warning that says where it ends.
    """
    seen = scan(path)
    fit = fit_rate(
        seen.timestamps, seen.time_base, last_duration=seen.last_duration, declared=seen.declared_rate
    )  # fmt: skip
    width, height = seen.geometry.shown_size
    aspect = seen.geometry.pixel_aspect
    return VideoInfo(
        path=str(path),
        sha256=sha256_of(path),
        timeline=Timeline(width, height, fit.rate, len(seen.timestamps)),
        rate_source=fit.source,
        constant_rate=fit.constant,
        start_seconds=float(seen.timestamps[0] * seen.time_base),
        coded_width=seen.geometry.coded_width,
        coded_height=seen.geometry.coded_height,
        rotation_deg=seen.geometry.rotation_deg,
        mirrored=seen.geometry.mirrored,
        pixel_aspect=f"{aspect.numerator}:{aspect.denominator}",
        codec=seen.codec,
        pixel_format=seen.pixel_format,
        bit_depth=seen.bit_depth,
        header_frames=seen.declared_frames,
        warnings=[*_damage_warnings(seen, fit), *_timing_warnings(seen, fit), *_picture_warnings(seen)],
    )


def _seconds(seen: Scan, ticks: int | np.int64) -> float:
    return float(int(ticks) * seen.time_base)


def _damage_warnings(seen: Scan, fit: RateFit) -> list[str]:
    count = len(seen.timestamps)
    frame_length = 1 / float(fit.rate)
    shown_until = _seconds(seen, seen.timestamps[-1] - seen.timestamps[0]) + frame_length
    declared = seen.declared_seconds
    fewer = seen.declared_frames is None or count < seen.declared_frames
    if declared is not None and fewer and shown_until < declared - 1.5 * frame_length:
        claim = f" and {seen.declared_frames} frames" if seen.declared_frames else ""
        warning = (
            f"the file ends early: frame {count - 1} at {shown_until - frame_length:.3f} s is the last that decodes, "
            f"its header promises {declared:.3f} s{claim}"
        )
        return [warning]
    if seen.damage.packets:
        first = seen.damage.first_time
        where = f", the first at {float(first):.3f} s" if first is not None else ""
        return [f"damaged: {seen.damage.packets} packets do not decode{where} ({seen.damage.reason})"]
    return []


def _timing_warnings(seen: Scan, fit: RateFit) -> list[str]:
    warnings = []
    gaps = np.diff(seen.timestamps)
    holes = np.flatnonzero(fit.steps > 1)
    if len(holes):
        longest = holes[np.argmax(gaps[holes])]
        warnings.append(
            f"{len(holes)} hole{'s' if len(holes) > 1 else ''} in the timestamps, the longest of "
            f"{_seconds(seen, gaps[longest]):.3f} s between frames {longest} and {longest + 1}; "
            f"{int((fit.steps - 1).sum())} frames are missing there"
        )
    if fit.jitter_seconds:
        warnings.append(
            f"the timestamps stray from {format_rate(fit.rate)} frames per second by up to "
            f"{fit.jitter_seconds * 1000:.1f} ms"
        )
    if fit.source == "average_rate":
        forward = gaps[gaps > 0]
        shortest, longest = _seconds(seen, forward.min()), _seconds(seen, forward.max())
        warnings.append(
            f"the frame rate varies (from {shortest:.4f} s to {longest:.4f} s from frame to frame); "
            f"{format_rate(fit.rate)} is the average"
        )
    if (gaps <= 0).any():
        faults = np.flatnonzero(gaps <= 0) + 1
        warnings.append(f"{len(faults)} timestamps repeat or run backwards, the first at frame {faults[0]}")
    if seen.damage.missing_timestamps:
        warnings.append(f"{seen.damage.missing_timestamps} frames have no timestamp; the header's rate places them")
    if len(seen.timestamps) == 1:
        warnings.append(f"a single frame has no rate of its own; {format_rate(fit.rate)} is the header's")
    return warnings


def _picture_warnings(seen: Scan) -> list[str]:
    warnings = []
    if seen.other_streams:
        warnings.append(f"other video streams are not read: {', '.join(seen.other_streams)}")
    if seen.size_changes:
        warnings.append(f"the size changes at frame {seen.size_changes[0]}; later frames are scaled to the first one's")
    if seen.transfer in _HDR_TRANSFERS:
        warnings.append(f"high dynamic range ({_HDR_TRANSFERS[seen.transfer]}) is shown without tone mapping")
    return warnings
