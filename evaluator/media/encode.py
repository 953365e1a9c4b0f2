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
from av.video.frame import VideoFrame
from av.video.reformatter import ColorPrimaries, ColorRange, Colorspace, ColorTrc, Interpolation
from av.video.stream import VideoStream
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from ..protocol.errors import BadInputError, OperationalError
from ..protocol.files import atomic_path
from ..protocol.messages import Reporter
from ..protocol.timeline import Timeline, format_rate
from .probe import probe
from .records import VideoInfo

ENCODER = "libx264"
OPTIONS = {"qp": "16", "preset": "medium", "threads": "4"}
"""A constant quantiser: x264's rate control and macroblock trees do not give the same bytes for the same pictures on
every run, and pulse in a picture that stands still. The number of threads is part of the result as well."""

_LARGEST_TERM = 2**31 - 1  # a rational inside FFmpeg has terms of 32 bits
_STAGE = "encode"


def encode(
    pictures: Iterable[Path | NDArray[np.uint8]], rate: Fraction, out: Path, *, reporter: Reporter, total: int
) -> VideoInfo:
    """Encode `total` pictures at exactly `rate` frames per second into the MP4 file `out`, and say what came out.

    `pictures` are image files or (H, W, 3) uint8 RGB arrays, all of one even size. H.264, yuv420p, BT.709, limited
    range; frame f starts at f / rate, the first at 0. The file is moved to `out` only after decoding it showed the
    size, rate and frame count asked for; equal input gives equal bytes.
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
    if width % 2 or height % 2:
        raise BadInputError(
            f"{source}: {width}x{height} is odd, and H.264 (yuv420p) needs an even width and height; change the size"
        )
    wanted = Timeline(width, height, rate, total)
    with atomic_path(out) as temporary:
        try:
            with av.open(str(temporary), "w", format="mp4", options={"movflags": "+faststart"}) as container:
                _write(container, _chain(source, first, images), wanted, reporter)
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
    if max(rate.numerator, rate.denominator) > _LARGEST_TERM:
        raise BadInputError(f"rate {format_rate(rate)}: its terms are too large for a video file; give a simpler one")
    try:
        av.codec.Codec(ENCODER, "w")
    except UnknownCodecError:
        raise OperationalError(
            f"this installation of PyAV {av.__version__} has no {ENCODER}; install the wheel of av from PyPI"
        ) from None


def _write(
    container: OutputContainer, images: Iterator[tuple[str, NDArray[np.uint8]]], wanted: Timeline, reporter: Reporter
) -> None:
    stream = _add_stream(container, wanted)
    count = 0
    for source, image in images:
        if image.shape[:2] != (wanted.height, wanted.width):
            raise BadInputError(
                f"{source}: {image.shape[1]}x{image.shape[0]}, but the first picture is {wanted.width}x{wanted.height}"
            )
        if count == wanted.frames:
            raise BadInputError(f"{source}: more than the {wanted.frames} pictures that were announced")
        frame = VideoFrame.from_ndarray(image, format="rgb24").reformat(
            format="yuv420p",
            dst_colorspace=Colorspace.ITU709,
            dst_color_range=ColorRange.MPEG,
            interpolation=Interpolation.BICUBIC | Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INP,
        )
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


def _add_stream(container: OutputContainer, wanted: Timeline) -> VideoStream:
    stream = container.add_stream(ENCODER, rate=wanted.rate, options=dict(OPTIONS))
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


def read_picture(path: Path) -> NDArray[np.uint8]:
    """An image file as (H, W, 3) uint8 RGB; transparency is dropped. Raises BadInputError where it is unreadable."""
    try:
        with Image.open(path) as picture:
            if picture.mode[0] in "IF":
                raise BadInputError(f"{path}: more than 8 bits a channel; write 8-bit RGB")
            return np.asarray(picture.convert("RGB"))
    except FileNotFoundError:
        raise BadInputError(f"{path}: there is no such picture") from None
    except (UnidentifiedImageError, OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise BadInputError(f"{path}: cannot be read as a picture ({error})") from error
