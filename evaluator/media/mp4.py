# SPDX-License-Identifier: GPL-3.0-or-later
"""What the boxes of an MP4 or QuickTime file say and FFmpeg does not: edit lists, and counts that no file holds.

Only the few boxes that matter are read (ISO/IEC 14496-12), and nothing that they claim decides how much of them is.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from ..protocol.errors import BadInputError

MOST_SAMPLES = 2_000_000
"""Samples of a track that FFmpeg may list in its index, 70 bytes for each: 18 hours at 30 frames per second. A file of
a kilobyte can claim thousands of millions."""

_PARENTS = frozenset({b"moov", b"trak", b"mdia", b"minf", b"stbl", b"edts", b"moof", b"traf"})
_FIRST = frozenset({b"ftyp", b"styp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot", b"moof", b"sidx"})
_READ = frozenset({b"mvhd", b"tkhd", b"mdhd", b"hdlr", b"stsz", b"stts", b"elst", b"trun"})
_DEEPEST = 8
_MOST_BOXES = 200_000
_MOST_BYTES = 20_000  # of one box: an edit list of a thousand entries
_BYTES_PER_SAMPLE = 0xF00  # flags of `trun` with which each sample takes bytes of the file, which bound their count


@dataclass
class Track:
    """What is known of one track of the file."""

    id: int = 0
    handler: bytes = b""
    ticks: int = 0
    """Of the track's media, per second."""
    samples: int = 0
    unlisted: bool = False
    """All samples are of one size, so that the file need not be as long as their count demands."""
    one_tick_each: bool = False
    """As in uncompressed sound, whose samples FFmpeg does not list one by one."""
    edit_count: int = 0
    edit_list: list[tuple[int, int, int]] = field(default_factory=list)
    """(length in ticks of the movie, first tick of the media or −1 for nothing, speed in 65536ths) in turn."""
    movie_ticks: int = 0

    @property
    def edits(self) -> list[tuple[float | None, float, float]]:
        """(first second of the media that is shown, None where nothing is; seconds it is shown for; speed) in turn."""
        if not self.ticks or not self.movie_ticks:
            return []
        return [
            (None if first < 0 else first / self.ticks, length / self.movie_ticks, speed / 65536)
            for length, first, speed in self.edit_list
        ]


def read_tracks(path: Path) -> list[Track]:
    """The tracks of `path`; none where it is no MP4 or QuickTime file. What is damaged is passed over.

    Raises BadInputError where a track claims more than MOST_SAMPLES and the file's length does not say otherwise.
    """
    tracks: list[Track] = []
    movie_ticks = 0
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            if file.read(8)[4:] not in _FIRST:
                return []
            for kind, body in _boxes(file, size):
                if kind == b"mvhd":
                    movie_ticks = _ticks(body)
                elif kind == b"trak":
                    tracks.append(Track(movie_ticks=movie_ticks))
                elif kind == b"trun":
                    _refuse_more(path, _fragment_samples(body))
                elif tracks:
                    _read(tracks[-1], kind, body)
    except OSError:
        return []  # opening it as a video says what is wrong
    for track in tracks:
        if track.unlisted and not (track.handler == b"soun" and track.one_tick_each):
            _refuse_more(path, track.samples)
        if track.edit_count > 2:
            _refuse_more(path, track.edit_count * track.samples)  # each entry may show all of them
    return tracks


def _refuse_more(path: Path, samples: int) -> None:
    if samples > MOST_SAMPLES:
        raise BadInputError(
            f"{path}: claims {samples} samples, more than the {MOST_SAMPLES} that are read; it is damaged, or has to "
            "be cut to the part that is wanted"
        )


def _boxes(file: BinaryIO, size: int) -> Iterator[tuple[bytes, bytes]]:
    """(kind, first bytes of the body) of every box, parents before what they hold, in the order of the file."""
    ends = [size]
    place = 0
    for _ in range(_MOST_BOXES):
        while place + 8 > ends[-1]:
            place = ends.pop()
            if not ends:
                return
        file.seek(place)
        head = file.read(16)
        if len(head) < 8:
            return
        length, kind = struct.unpack_from(">I4s", head)
        start = place + 8
        if length == 1 and len(head) == 16:
            (length,) = struct.unpack_from(">Q", head, 8)
            start = place + 16
        end = ends[-1] if length == 0 else min(place + length, ends[-1])
        if end < start:
            place = ends[-1]  # the rest of the parent cannot be read
            continue
        file.seek(start)
        if kind in _PARENTS and len(ends) <= _DEEPEST:
            yield kind, b""
            ends.append(end)
            place = start
        else:
            yield kind, file.read(min(end - start, _MOST_BYTES)) if kind in _READ else b""
            place = end


def _read(track: Track, kind: bytes, body: bytes) -> None:
    if kind == b"tkhd":
        (track.id,) = _numbers(">I", body, 20 if body[:1] == b"\x01" else 12) or (0,)
    elif kind == b"mdhd":
        track.ticks = _ticks(body)
    elif kind == b"hdlr":
        track.handler = track.handler or body[8:12]
    elif kind == b"stsz":
        one_size, track.samples = _numbers(">II", body, 4) or (0, 0)
        track.unlisted = one_size != 0
    elif kind == b"stts":
        track.one_tick_each = (_numbers(">I4xI", body, 4) or (0, 0)) == (1, 1)
    elif kind == b"elst":
        (track.edit_count,) = _numbers(">I", body, 4) or (0,)
        if not track.edit_count:
            return
        entry = struct.Struct(">Qqi" if body[0] == 1 else ">Iii")
        whole = min(track.edit_count, (len(body) - 8) // entry.size)
        track.edit_list = [entry.unpack_from(body, 8 + entry.size * index) for index in range(whole)]


def _numbers(form: str, body: bytes, offset: int) -> tuple[int, ...]:
    """The numbers at `offset`; none where the box is too short."""
    return struct.unpack_from(form, body, offset) if len(body) >= offset + struct.calcsize(form) else ()


def _ticks(body: bytes) -> int:
    """Ticks per second of a movie or media header."""
    return (_numbers(">I", body, 20 if body[:1] == b"\x01" else 12) or (0,))[0]


def _fragment_samples(body: bytes) -> int:
    flags, count = _numbers(">II", body, 0) or (0, 0)
    return 0 if flags & _BYTES_PER_SAMPLE else count
