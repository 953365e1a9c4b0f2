# SPDX-License-Identifier: GPL-3.0-or-later
"""An opened video: which stream is read, how its pictures are turned upright, and every frame that decodes.

All reading of videos goes through here, so that probe, decoding and checks speak of the same frames.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import av
import numpy as np
from av.container import InputContainer
from av.sidedata.sidedata import Type as SideDataType
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from ..protocol.errors import BadInputError
from .mp4 import Track, read_tracks
from .picture import Geometry, to_rgb

# PyAV 19 always replaces what is no UTF-8 in a file's metadata, and dropped the option
_TOLERANT: dict[str, Any] = {"metadata_errors": "replace"} if int(av.__version__.split(".")[0]) < 19 else {}
_WIDEST_PIXEL = 10  # a pixel aspect beyond 10:1 is a damaged header, not a lens

MOST_PIXELS = 8192 * 8192
"""Largest picture, coded or as shown: twice 8K. One of 16384x16384 takes gigabytes to decode, whatever the file."""
_THREADS = 8
_PIXELS_AT_WORK = 4 * 3840 * 2160
"""Every decoding thread holds pictures of its own, and two videos are often open at once: at 4K four threads each keep
that below 600 MB on any machine, where FFmpeg would take one more than there are cores."""
_LATEST_TICK = 2**61  # a timestamp beyond is damage; differences of those within fit 64 bits

# Containers that hold their pictures themselves. Playlists, concat lists and image patterns, which name other files,
# are left out, and so is what only a game ever wrote.
_CONTAINERS = (
    "mov,mp4,matroska,webm,avi,mpegts,mpeg,mpegvideo,flv,asf,ogg,mxf,nut,ivf,gif,apng,webp,dv,wtv,rm,gxf,"
    "h264,hevc,vvc,obu,av1,m4v,mjpeg,yuv4mpegpipe"
)


@dataclass
class Damage:
    """What a pass over the file met on its way."""

    packets: int = 0
    """Packets that are cut off or do not decode."""
    missing_timestamps: int = 0
    first_time: Fraction | None = None
    """Seconds at which the first damage was met, in decoding order."""
    reason: str = ""
    lost_before: int = 0
    """Pictures before the first one that decodes: the file starts between keyframes."""
    lost_after: int = 0
    """Pictures after the last one that decodes."""
    hidden: int = 0
    """Packets that are decoded and not shown, because an edit list says so."""


@dataclass
class Source:
    """A video opened for reading; a context manager. Raises BadInputError, naming the file, where there is no video."""

    path: Path
    tracks: list[Track] = field(init=False)
    """Of an MP4 or QuickTime file; none else."""
    container: InputContainer = field(init=False)
    stream: VideoStream = field(init=False)
    damage: Damage = field(init=False, default_factory=Damage)
    _turn: tuple[int, bool] | None = field(init=False, default=None)
    _geometry: Geometry | None = field(init=False, default=None)
    _kind: tuple[int, int, str, int, int] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        _check_file(self.path)
        self.tracks = read_tracks(self.path)
        self.container = _open(self.path)
        try:
            self.stream = _best_stream(self.container, self.path)
            self._check_size(self.stream.width, self.stream.height)
        except BadInputError:
            self.container.close()
            raise
        self.stream.thread_type = "AUTO"
        pixels = max(1, self.stream.width * self.stream.height)
        threads = max(2, min(_THREADS, (os.cpu_count() or 1) + 1, _PIXELS_AT_WORK // pixels))
        self.stream.thread_count = threads
        self.stream.codec_context.options = {"max_pixels": str(MOST_PIXELS)}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.container.close()

    @property
    def time_base(self) -> Fraction:
        """Seconds per tick of a timestamp."""
        return as_fraction(self.stream.time_base) or Fraction(1, 1000)

    @property
    def declared_rate(self) -> Fraction | None:
        """The container's average rate; None where it names none or one that no video has."""
        rate = as_fraction(self.stream.average_rate)
        return rate if rate is not None and 0 < rate <= 1000 else None

    def decoded(self) -> Iterator[tuple[int, VideoFrame]]:
        """Yield (timestamp in ticks, frame) in display order for everything that decodes from the present position on.

        Packets that are cut off or do not decode are passed over and counted in `damage`.
        """
        rate = self.declared_rate
        step = max(1, round(1 / (rate * self.time_base))) if rate is not None else 1
        previous: int | None = None
        awaited: list[int] = []  # timestamps of packets whose pictures have not come out
        for frame in self._frames(awaited):
            timestamp = awaited.pop(0) if self._counts_packets and awaited else frame.pts
            if timestamp is None or abs(timestamp) >= _LATEST_TICK:
                self.damage.missing_timestamps += 1
                timestamp = 0 if previous is None else previous + step
            if previous is None:
                self.damage.lost_before = sum(other < timestamp for other in awaited)
            awaited[:] = [other for other in awaited if other > timestamp]
            previous = timestamp
            yield timestamp, frame
        self.damage.lost_after = len(awaited)

    @property
    def _counts_packets(self) -> bool:
        """Whether the n-th frame is shown at the n-th packet's time.

        An AVI has no other times, and those that FFmpeg guesses for the reordered pictures of H.264 run backwards.
        """
        return self.container.format.name == "avi" and self.stream.codec_context.name in ("h264", "hevc")

    def _frames(self, awaited: list[int]) -> Iterator[VideoFrame]:
        packets = self.container.demux(self.stream)
        while True:
            try:
                packet = next(packets, None)
            except av.FFmpegError as error:  # the file breaks off; what the decoder still holds is shown
                self._note(None, _reason(error))
                packet = None
            if packet is None:
                break
            if packet.is_corrupt:
                self._note(packet.pts, "a packet is cut off")
                continue
            if packet.is_discard:
                self.damage.hidden += 1
            try:
                pictures = packet.decode()
            except av.FFmpegError as error:
                self._note(packet.pts, _reason(error))
                continue
            due = packet.dts if self._counts_packets else packet.pts
            if due is not None and packet.size and not packet.is_discard:
                awaited.append(due)
            for picture in pictures:
                if isinstance(picture, VideoFrame):
                    yield picture
        try:
            yield from self.stream.codec_context.decode(None)
        except av.FFmpegError:
            return  # it was flushed by the demuxer's own last packet

    def _note(self, timestamp: int | None, reason: str) -> None:
        self.damage.packets += 1
        if self.damage.first_time is None and timestamp is not None:
            self.damage.first_time = timestamp * self.time_base
        self.damage.reason = self.damage.reason or reason

    def geometry(self, frame: VideoFrame) -> Geometry:
        """How this frame is to be shown. The turn is the stream's, read from the first frame that is asked about.

        Raises BadInputError where the picture is larger than MOST_PIXELS or cannot be turned into RGB.
        """
        kind = (frame.width, frame.height, frame.format.name, frame.colorspace, frame.color_range)
        if self._geometry is None or kind != self._kind:
            self._geometry, self._kind = self._new_geometry(frame), kind
        return self._geometry

    def _new_geometry(self, frame: VideoFrame) -> Geometry:
        aspect = as_fraction(self.stream.sample_aspect_ratio) or Fraction(1)
        if not Fraction(1, _WIDEST_PIXEL) <= aspect <= _WIDEST_PIXEL:
            aspect = Fraction(1)
        if self._turn is None:
            # once: looking at a frame's side data puts it into a reference cycle that only the collector frees
            self._turn = _orientation(frame)
        rotation, mirrored = self._turn
        geometry = Geometry(frame.width, frame.height, aspect, rotation, mirrored)
        self._check_size(*geometry.shown_size)
        try:
            to_rgb(frame, geometry, (16, 16))
        except av.FFmpegError as error:  # as of YCgCo, which FFmpeg's scaler does not know
            raise BadInputError(
                f"{self.path}: its pictures ({frame.format.name}, colour matrix {frame.colorspace} of ITU-T H.273) "
                f"cannot be converted to RGB ({_reason(error)}); make a copy in BT.709"
            ) from error
        return geometry

    def _check_size(self, width: int, height: int) -> None:
        if width * height > MOST_PIXELS:
            raise BadInputError(
                f"{self.path}: its pictures are {width}x{height}, and more than {MOST_PIXELS} pixels are not decoded; "
                "make a smaller copy, or see whether the file is damaged"
            )


class _Ratio(Protocol):
    """A fraction of either kind: PyAV 19 has a rational type of its own."""

    @property
    def numerator(self) -> int: ...

    @property
    def denominator(self) -> int: ...


def as_fraction(value: _Ratio | None) -> Fraction | None:
    """A ratio of PyAV's; None where there is none or it divides by zero."""
    return None if value is None or value.denominator == 0 else Fraction(value.numerator, value.denominator)


def _check_file(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise BadInputError(f"{path}: there is no such file; give a video file") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        raise BadInputError(f"{path}: cannot be read ({_reason(error)}); give a video file") from error
    if stat.S_ISDIR(mode):
        raise BadInputError(f"{path}: this is a folder; give a video file")
    if not stat.S_ISREG(mode):
        raise BadInputError(f"{path}: not a regular file; give a video file")
    if path.stat().st_size == 0:
        raise BadInputError(f"{path}: the file is empty; give a video file")


def _open(path: Path) -> InputContainer:
    try:
        # an absolute path is never taken for a protocol, and no file can make us read another one
        options = {"protocol_whitelist": "file", "format_whitelist": _CONTAINERS, "max_pixels": str(MOST_PIXELS)}
        container: InputContainer = av.open(str(path.absolute()), options=options, **_TOLERANT)
        return container
    except PermissionError as error:
        raise BadInputError(f"{path}: may not be read; change its permissions") from error
    except (av.FFmpegError, OSError) as error:
        raise BadInputError(
            f"{path}: cannot be opened as a video ({_reason(error)}); it may be cut off, or be no video"
        ) from error


def _reason(error: OSError | ValueError | av.FFmpegError) -> str:
    return str(getattr(error, "strerror", None) or error or type(error).__name__).splitlines()[0]


def _best_stream(container: InputContainer, path: Path) -> VideoStream:
    """The first video stream that the file marks as its default, else the largest; a cover picture is none."""
    streams = [stream for stream in container.streams.video if not stream.disposition & Disposition.attached_pic]
    if not streams:
        pictures = " but a cover picture" if container.streams.video else ""
        raise BadInputError(f"{path}: has no video stream{pictures}; give a video file")
    undecodable: object = None  # what stands in place of a codec that FFmpeg does not know; typed as never being there
    streams = [stream for stream in streams if stream.codec_context is not undecodable]
    if not streams:
        raise BadInputError(f"{path}: its video is of a codec that is not known here; convert it to H.264")
    marked = [stream for stream in streams if stream.disposition & Disposition.default]
    return marked[0] if marked else max(streams, key=lambda stream: stream.width * stream.height)


def _orientation(frame: VideoFrame) -> tuple[int, bool]:
    """(clockwise turn in degrees, mirrored before the turn) of the frame's display matrix."""
    side_data: Any = frame.side_data  # PyAV 18 and 19 type it differently
    matrix = side_data.get(SideDataType.DISPLAYMATRIX)
    if matrix is None:
        return 0, False
    # x' = a x + c y, y' = b x + d y with y down; 3x3 of int32, row by row (libavutil/display.h)
    a, b, _, c, d = np.frombuffer(bytes(matrix), np.int32)[:5].astype(float)
    mirrored = a * d - b * c < 0
    if mirrored:
        a, b = -a, -b
    return round(math.degrees(math.atan2(b, a)) / 90) % 4 * 90, mirrored
