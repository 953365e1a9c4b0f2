# SPDX-License-Identifier: GPL-3.0-or-later
"""What a file's headers claim, and what else lies in it: reported beside what decodes, never used in its place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from av.stream import Disposition

from ..protocol.timeline import format_rate
from .records import Edit, FieldOrder
from .source import Source, as_fraction

_FIELD_ORDERS: dict[int, FieldOrder] = {1: "progressive", 2: "top first", 3: "bottom first"}
"""AVFieldOrder. Its two others, stored in one order and shown in the other, are written both ways round by programs."""


@dataclass(frozen=True)
class Header:
    """The claims. Seconds are None where nothing is said."""

    container: str
    codec: str
    frames: int | None
    rate: Fraction | None
    start: float
    """Seconds at which the stream starts; 0 where nothing is said."""
    seconds: float | None
    """Length of the stream, from its own start; None where only another stream's is known."""
    longest_seconds: float | None
    """Of the file: the end of the stream that ends last."""
    field_order: FieldOrder
    edits: tuple[Edit, ...]
    other_streams: tuple[str, ...]
    """Sound, subtitles, data, further videos and cover pictures, in words."""


def read_header(source: Source) -> Header:
    """The claims of an opened file; after decoding, when the decoder knows the order of fields."""
    stream = source.stream
    edits = [
        Edit(start_seconds=start, seconds=seconds, speed=speed)
        for track in source.tracks
        if track.id == stream.id
        for start, seconds, speed in track.edits
    ]
    start = float((stream.start_time or 0) * source.time_base)
    others = [other for other in source.container.streams if other.index != stream.index]
    return Header(
        container=source.container.format.name,
        codec=stream.codec_context.codec.canonical_name,
        frames=stream.frames if stream.frames > 0 else None,
        rate=source.declared_rate,
        start=start,
        seconds=_stream_seconds(source, edits, start),
        longest_seconds=_longest_seconds(source),
        field_order=_FIELD_ORDERS.get(stream.codec_context.field_order, "unspecified"),
        edits=tuple(edits),
        other_streams=tuple(in_words(other) for other in others),
    )


def in_words(stream: Any) -> str:
    """A stream of any kind as `audio: aac, 48000 Hz, stereo, eng (stream 1)`.

    PyAV's types of stream have little in common, and what a damaged header leaves out is None or 0.
    """
    context = stream.codec_context
    kind = {"subtitle": "subtitles"}.get(stream.type, stream.type)
    facts = [context.codec.canonical_name if context is not None else "unknown codec"]
    if stream.type == "video":
        if stream.disposition & Disposition.attached_pic:
            kind = "cover picture"
        if context is not None:
            facts.append(f"{context.width}x{context.height}")
        rate = as_fraction(stream.average_rate)
        if rate and kind == "video":
            facts.append(f"{format_rate(rate)} fps")
    elif stream.type == "audio" and context is not None:
        facts += [f"{context.sample_rate} Hz", context.layout.name]
    elif stream.type in ("data", "attachment"):
        named = [stream.metadata.get(name) for name in ("timecode", "filename", "handler_name")]
        facts = [("timecode " if named[0] else "") + next((name for name in named if name), "unknown")]
    language = stream.metadata.get("language", "und")
    facts += [language] if language != "und" else []
    return f"{kind}: {', '.join(facts)} (stream {stream.index})"


def _stream_seconds(source: Source, edits: list[Edit], start: float) -> float | None:
    stream, container = source.stream, source.container
    if stream.duration is not None and stream.duration > 0:
        seconds = float(stream.duration * source.time_base)
        shown = sum(edit.seconds for edit in edits if edit.start_seconds is not None)
        return min(seconds, shown) if shown else seconds
    # Matroska and its like name the time of the end, not a length
    end = _clock(stream.metadata.get("DURATION", ""))
    if end is None and container.duration is not None and len(container.streams) == 1:
        end = container.duration / 1_000_000
    return end - max(start, 0.0) if end is not None and end > start else None


def _clock(text: str) -> float | None:
    """Seconds of a Matroska tag such as `00:00:05.005000000`."""
    found = re.fullmatch(r"(\d{1,4}):(\d\d):(\d\d(?:\.\d+)?)", text)
    return None if found is None else int(found[1]) * 3600 + int(found[2]) * 60 + float(found[3])


def _longest_seconds(source: Source) -> float | None:
    ends = [source.container.duration / 1_000_000] if source.container.duration else []
    for stream in source.container.streams:
        ticks = as_fraction(stream.time_base)
        if stream.duration is not None and ticks is not None:
            ends.append(float(((stream.start_time or 0) + stream.duration) * ticks))
    longest = max(ends, default=0.0)
    return longest if longest > 0 else None
