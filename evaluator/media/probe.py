# SPDX-License-Identifier: GPL-3.0-or-later
"""What a video really is: its size as shown, its exact rate, the frames that decode, and what is odd about it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..protocol.files import sha256_of
from ..protocol.timeline import Timeline, format_rate
from .colour import HIGH_DYNAMIC_RANGE, WIDE_PRIMARIES
from .rate import RateFit, fit_rate
from .records import DamageInfo, Hole, VideoInfo
from .scan import Scan, scan

HIGHEST_RATE = 1000
"""Frames per second; a file that asks for more is damaged, or its timestamps are of no use."""


def probe(path: Path) -> VideoInfo:
    """Decode the whole video once and say what it is.

    Raises BadInputError, naming the file, where it cannot be read or holds no frame. A file that ends early gives what
    decodes, with a warning that says where it ends.
    """
    seen = scan(path)
    header = seen.header
    fit = fit_rate(seen.timestamps, seen.time_base, last_duration=seen.last_duration, declared=header.rate)
    width, height = seen.geometry.shown_size
    aspect = seen.geometry.pixel_aspect
    gaps = np.diff(seen.timestamps)
    forward = gaps[gaps > 0]
    info = VideoInfo(
        path=str(path),
        sha256=sha256_of(path),
        timeline=Timeline(width, height, fit.rate, len(seen.timestamps)),
        # times that the header's rate made up say nothing of their own
        rate_source="container" if seen.damage.missing_timestamps > len(gaps) / 2 else fit.source,
        constant_rate=fit.constant,
        start_seconds=_seconds(seen, seen.timestamps[0]),
        coded_width=seen.geometry.coded_width,
        coded_height=seen.geometry.coded_height,
        rotation_deg=seen.geometry.rotation_deg,
        mirrored=seen.geometry.mirrored,
        pixel_aspect=f"{aspect.numerator}:{aspect.denominator}",
        codec=header.codec,
        pixel_format=seen.pixel_format,
        bit_depth=seen.bit_depth,
        header_frames=header.frames,
        container=header.container,
        header_rate=None if header.rate is None else format_rate(header.rate),
        seconds=_shown_seconds(seen, fit),
        header_seconds=header.seconds,
        container_seconds=header.longest_seconds,
        shortest_seconds=_seconds(seen, forward.min()) if len(forward) else None,
        longest_seconds=_seconds(seen, forward.max()) if len(forward) else None,
        jitter_seconds=fit.jitter_seconds,
        holes=[
            Hole(frame=int(frame), seconds=_seconds(seen, gaps[frame]), missing=int(fit.steps[frame]) - 1)
            for frame in np.flatnonzero(fit.steps > 1)
        ],
        repeated=(np.flatnonzero(gaps == 0) + 1).tolist(),
        backward=(np.flatnonzero(gaps < 0) + 1).tolist(),
        untimed_frames=seen.damage.missing_timestamps,
        colour=seen.colour,
        interlaced_frames=seen.interlaced,
        field_order=header.field_order,
        size_changes=list(seen.size_changes),
        edits=list(header.edits),
        hidden_frames=seen.damage.hidden,
        other_streams=list(header.other_streams),
        damage=_damage(seen, fit),
    )
    warnings = [*_damage_warnings(info), *timing_warnings(info), *_picture_warnings(info)]
    return info.model_copy(update={"warnings": warnings})


def _seconds(seen: Scan, ticks: int | np.int64) -> float:
    return float(int(ticks) * seen.time_base)


def _shown_seconds(seen: Scan, fit: RateFit) -> float:
    """From the first frame's start to the end of the one that is shown last, by the timestamps."""
    if fit.source == "average_rate":
        return float(len(seen.timestamps) / fit.rate)
    return _seconds(seen, seen.timestamps.max() - seen.timestamps[0]) + float(1 / fit.rate)


def _damage(seen: Scan, fit: RateFit) -> DamageInfo | None:
    damage, header = seen.damage, seen.header
    end = _seconds(seen, seen.timestamps[0]) + _shown_seconds(seen, fit)
    short = header.seconds is not None and end < header.start + header.seconds - 1.5 / float(fit.rate)
    count = len(seen.timestamps)
    fewer = header.frames is None or count < header.frames
    if header.frames is not None and not header.edits:  # an edit list may leave out frames without a trace
        known = count + int((fit.steps - 1).clip(0).sum()) + damage.packets + damage.lost_before + damage.hidden
        short = short or known + 1 < header.frames
    found = DamageInfo(
        ends_early=fewer and short,
        packets=damage.packets,
        first_seconds=None if damage.first_time is None else float(damage.first_time),
        reason=damage.reason,
        frames=list(seen.corrupt),
        lost_before=damage.lost_before,
        lost_after=damage.lost_after,
    )
    return None if found == DamageInfo() else found


def _damage_warnings(info: VideoInfo) -> list[str]:
    damage, last = info.damage, info.timeline.frames - 1
    if damage is None:
        return []
    warnings = []
    end = f"frame {last} at {(info.seconds or 0) - 1 / float(info.timeline.rate):.3f} s"
    if damage.ends_early:
        claims = [f"{info.header_seconds:.3f} s"] if info.header_seconds is not None else []
        claims += [f"{info.header_frames} frames"] if info.header_frames is not None else []
        warnings.append(
            f"the file ends early: {end} is the last that decodes, its header promises {' and '.join(claims)}"
        )
    elif damage.packets:
        where = f", the first at {damage.first_seconds:.3f} s" if damage.first_seconds is not None else ""
        warnings.append(f"damaged: {_count(damage.packets, 'packet')} lost{where} ({damage.reason})")
    if damage.lost_before:
        warnings.append(
            f"the file starts between keyframes: {_count(damage.lost_before, 'picture')} lost before frame 0"
        )
    if damage.lost_after and not damage.ends_early:
        warnings.append(f"{_count(damage.lost_after, 'picture')} lost after {end}")
    if damage.frames:
        warnings.append(
            f"{_count(len(damage.frames), 'frame')} with faults in the picture, the first is frame {damage.frames[0]}"
        )
    return warnings


def timing_warnings(info: VideoInfo) -> list[str]:
    """What is odd about the frames' times, one line each."""
    warnings = []
    rate = format_rate(info.timeline.rate)
    if info.holes:
        longest = max(info.holes, key=lambda hole: hole.seconds)
        missing = sum(hole.missing for hole in info.holes)
        warnings.append(
            f"{_count(len(info.holes), 'hole')} in the timestamps, the longest of {longest.seconds:.3f} s between "
            f"frames {longest.frame} and {longest.frame + 1}; {_count(missing, 'frame')} missing there"
        )
    if info.jitter_seconds:
        warnings.append(
            f"the timestamps stray from {rate} frames per second by up to {info.jitter_seconds * 1000:.1f} ms"
        )
    if info.rate_source == "average_rate":
        warnings.append(
            f"the frame rate varies (from {info.shortest_seconds:.4f} s to {info.longest_seconds:.4f} s from frame to "
            f"frame); {rate} is the average"
        )
    faults = sorted([*info.repeated, *info.backward])
    if faults:
        warnings.append(
            f"{_count(len(faults), 'timestamp')} repeated or running backwards, the first at frame {faults[0]}"
        )
    if info.untimed_frames:
        warnings.append(f"{_count(info.untimed_frames, 'frame')} without a timestamp, placed by the header's rate")
    if info.timeline.frames == 1:
        warnings.append(f"a single frame has no rate of its own; {rate} is the header's")
    elif info.timeline.rate > HIGHEST_RATE:
        warnings.append(f"no video has {rate} frames per second; its timestamps are of no use")
    return warnings


def _picture_warnings(info: VideoInfo) -> list[str]:
    warnings = []
    videos = [words for words in info.other_streams if words.startswith("video:")]
    if videos:
        warnings.append(f"other video streams are not read: {'; '.join(videos)}")
    if info.size_changes:
        warnings.append(f"the size changes at frame {info.size_changes[0]}; later frames are scaled to the first one's")
    if info.interlaced_frames:
        warnings.append(f"{_count(info.interlaced_frames, 'interlaced frame')}, shown with both fields woven together")
    colour = info.colour
    if colour is not None and colour.transfer in HIGH_DYNAMIC_RANGE:
        warnings.append(f"high dynamic range ({HIGH_DYNAMIC_RANGE[colour.transfer]}) is shown without tone mapping")
    elif colour is not None and colour.primaries in WIDE_PRIMARIES:
        warnings.append(f"the wide colours of {colour.primaries} are shown as if they were BT.709's, paler than meant")
    return warnings


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
