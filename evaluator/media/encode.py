# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures become a video whose every frame lies where the timeline says: exact rate, no frame made up or dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.codec.codec import UnknownCodecError
from av.container import OutputContainer
from av.filter import Graph
from av.video.frame import VideoFrame
from av.video.reformatter import ColorPrimaries, ColorRange, Colorspace, ColorTrc
from av.video.stream import VideoStream
from numpy.typing import NDArray

from ..protocol.errors import BadInputError, OperationalError
from ..protocol.files import atomic_path
from ..protocol.messages import Reporter
from ..protocol.timeline import Timeline, format_rate
from .pictures import read_picture
from .probe import probe
from .rate import STANDARD_RATES
from .records import VideoInfo

ENCODER = "libx264"
OPTIONS = {"preset": "medium", "threads": "4"}
"""The number of threads is part of the result."""
QUANTISER = 16
"""A constant one: x264's rate control and macroblock trees do not give the same bytes for the same pictures on every
run, and pulse in a picture that stands still."""
NEAR_LOSSLESS = 8
"""Of the error of a decoded picture (about 44 dB on real clips), nearly all is then the rounding to 8-bit 4:2:0."""

LONGEST_SIDE = 16384
"""Pixels: x264 encodes no longer side."""
MOST_MACROBLOCKS = 139_264
"""Of 16×16 pixels in one picture: the largest level of H.264, 6.2, allows no more (ITU-T H.264, table A-1)."""
HIGHEST_RATE = 1000

_LARGEST_TERM = 2**31 - 1  # a rational inside FFmpeg has terms of 32 bits
_SMALLEST_TIMESCALE = 10_000  # the MP4 muxer doubles a timescale until it has this many ticks a second
_MOST_TICKS = 2**28  # of one frame: offsets of a few frames are stored in 32 bits with a sign
_MISTAKEN = Fraction(3, 10_000)  # relative: 23.98 for 24000/1001 is 1.7e-4 off, 24 for it 1e-3
_STAGE = "encode"


def check_size(width: int, height: int, where: str) -> None:
    """Raise BadInputError, with `where` before it, where H.264 in yuv420p cannot hold a picture of this size."""
    size = f"{where}: {width}x{height}"
    if width % 2 or height % 2:
        raise BadInputError(f"{size} is odd, and H.264 (yuv420p) needs an even width and height; change the size")
    if min(width, height) < 2:
        raise BadInputError(f"{size} is no size of a picture; change the size")
    if max(width, height) > LONGEST_SIDE:
        raise BadInputError(f"{size} is beyond {LONGEST_SIDE} pixels, the longest side of {ENCODER}; make it smaller")
    macroblocks = -(-width // 16) * -(-height // 16)
    if macroblocks > MOST_MACROBLOCKS:
        raise BadInputError(
            f"{size} has {macroblocks:,} blocks of 16x16 pixels, and H.264 allows {MOST_MACROBLOCKS:,}; make it smaller"
        )


def check_rate(rate: Fraction) -> None:
    """Raise BadInputError where a video file cannot hold this rate exactly."""
    text = f"rate {format_rate(rate)}"
    if max(rate.numerator, rate.denominator) > _LARGEST_TERM:
        raise BadInputError(f"{text}: its terms are too large for a video file; give a simpler one")
    if rate > HIGHEST_RATE:
        raise BadInputError(f"{text}: beyond {HIGHEST_RATE} frames per second; give a lower one")
    timescale, ticks = rate.numerator, rate.denominator
    while timescale < _SMALLEST_TIMESCALE:
        timescale, ticks = 2 * timescale, 2 * ticks
    if ticks > _MOST_TICKS:
        raise BadInputError(f"{text}: its frames are too long, or its terms too large, for an MP4 file; give another")


def meant_rate(rate: Fraction) -> Fraction | None:
    """The rate over 1001 that a decimal such as 23.976 or 29.97 is a rounding of; None where it is none."""
    if 1000 % rate.denominator:
        return None
    nearest = min(STANDARD_RATES, key=lambda standard: abs(standard - rate))
    return nearest if nearest.denominator == 1001 and abs(rate / nearest - 1) < _MISTAKEN else None


def encode(
    pictures: Iterable[Path | NDArray[np.uint8]],
    rate: Fraction,
    out: Path,
    *,
    reporter: Reporter,
    total: int,
    quantiser: int = QUANTISER,
) -> VideoInfo:
    """Encode `total` pictures at exactly `rate` frames per second into the MP4 file `out`, and say what came out.

    `pictures` are image files or (H, W, 3) uint8 RGB arrays, all of one even size. H.264, yuv420p, BT.709, limited
    range, at a constant quantiser; frame f starts at f / rate, the first at 0. The file is moved to `out` only after
    decoding it showed the size, rate and frame count asked for; equal input gives equal bytes.
    Raises BadInputError (odd or unequal sizes, an unreadable picture, a wrong count), OperationalError where encoding
    fails or the file is not what was asked for.
    """
    _check_request(rate, total)
    images = _images(pictures)
    try:
        source, first = next(images)
    except StopIteration:
        raise BadInputError(f"{out}: there are no pictures to encode") from None
    height, width = first.shape[:2]
    check_size(width, height, source)
    wanted = Timeline(width, height, rate, total)
    with atomic_path(out) as temporary:
        try:
            with av.open(str(temporary), "w", format="mp4", options={"movflags": "+faststart"}) as container:
                _write(container, _chain(source, first, images), wanted, quantiser, reporter)
        except av.FFmpegError as error:
            raise OperationalError(f"{out}: encoding failed ({error.strerror}); is the disk full?") from error
        info = probe(temporary)
        if info.timeline != wanted or not info.constant_rate or info.start_seconds != 0:
            raise OperationalError(
                f"{out}: encoded {info.timeline} from {info.start_seconds} s where {wanted} from 0 s was asked for"
            )
    return info.model_copy(update={"path": str(out)})


def _check_request(rate: Fraction, total: int) -> None:
    if total < 1:
        raise BadInputError("there are no pictures to encode; render at least one frame")
    check_rate(rate)
    try:
        av.codec.Codec(ENCODER, "w")
    except UnknownCodecError:
        raise OperationalError(
            f"this installation of PyAV {av.__version__} has no {ENCODER}; install the wheel of av from PyPI"
        ) from None


def _write(
    container: OutputContainer,
    images: Iterator[tuple[str, NDArray[np.uint8]]],
    wanted: Timeline,
    quantiser: int,
    reporter: Reporter,
) -> None:
    stream = _add_stream(container, wanted, quantiser)
    # one frame for all pictures, and a graph whose frames come from a pool: pieces of some megabytes that are allocated
    # anew for each picture leave holes by which the process grows with the video's length
    shown = VideoFrame(wanted.width, wanted.height, "rgb24")
    plane = shown.planes[0]
    rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)[: wanted.height, : 3 * wanted.width]
    converter = _converter(wanted)
    count = 0
    for source, image in images:
        if image.shape[:2] != (wanted.height, wanted.width):
            raise BadInputError(
                f"{source}: {image.shape[1]}x{image.shape[0]}, but the first picture is {wanted.width}x{wanted.height}"
            )
        if count == wanted.frames:
            raise BadInputError(f"{source}: more than the {wanted.frames} pictures that were announced")
        rows[:] = image.reshape(wanted.height, 3 * wanted.width)
        converter.vpush(shown)
        frame = converter.vpull()
        frame.pts = count
        frame.time_base = 1 / wanted.rate
        container.mux(stream.encode(frame))
        count += 1
        reporter.progress(_STAGE, count, wanted.frames)
    if count != wanted.frames:
        raise BadInputError(
            f"{count} pictures were given where {wanted.frames} were announced; render the missing ones"
        )
    container.mux(stream.encode(None))


def _converter(wanted: Timeline) -> Graph:
    """RGB to yuv420p by BT.709, limited range."""
    size = f"video_size={wanted.width}x{wanted.height}"
    flags = "bicubic+accurate_rnd+full_chroma_inp"
    graph = Graph()
    graph.link_nodes(
        graph.add("buffer", f"{size}:pix_fmt=rgb24:time_base=1"),
        graph.add("scale", f"flags={flags}:in_range=full:out_color_matrix=bt709:out_range=limited"),
        graph.add("format", "yuv420p"),
        graph.add("buffersink"),
    ).configure()
    return graph


def _add_stream(container: OutputContainer, wanted: Timeline, quantiser: int) -> VideoStream:
    stream = container.add_stream(ENCODER, rate=wanted.rate, options={**OPTIONS, "qp": str(quantiser)})
    assert isinstance(stream, VideoStream)
    context = stream.codec_context
    context.width, context.height, context.pix_fmt = wanted.width, wanted.height, "yuv420p"
    context.time_base = 1 / wanted.rate
    context.color_range = ColorRange.MPEG
    context.colorspace = Colorspace.ITU709
    context.color_primaries = ColorPrimaries.BT709
    context.color_trc = ColorTrc.BT709
    return stream


def _images(pictures: Iterable[Path | NDArray[np.uint8]]) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    for index, picture in enumerate(pictures):
        if isinstance(picture, Path):
            yield str(picture), read_picture(picture)
        elif picture.ndim == 3 and picture.shape[2] == 3 and picture.dtype == np.uint8:
            yield f"picture {index}", np.ascontiguousarray(picture)
        else:
            raise BadInputError(f"picture {index}: {picture.dtype} of shape {picture.shape}; expected (H, W, 3) uint8")


def _chain(
    source: str, first: NDArray[np.uint8], rest: Iterator[tuple[str, NDArray[np.uint8]]]
) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    yield source, first
    yield from rest
