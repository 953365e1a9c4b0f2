# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts the videos beside the report so that a browser shows exactly their frames."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final, Literal

import av
import cv2

from ..media.decode import stream
from ..media.encode import ENCODER, OPTIONS, QUANTISER, encode
from ..media.records import VideoInfo
from ..media.resize import FILTER, resized
from ..protocol.errors import BadInputError
from ..protocol.files import atomic_path, content_key, sha256_of
from ..protocol.messages import Reporter
from ..protocol.version import VERSION
from ..records import Record

LONGEST_SIDE: Final = 1280
"""A preview is for looking at two of them side by side, not for judging pixels."""


PREVIEW_FORMAT: Final = "matchcut-preview/1"


class Preview(Record):
    """What a preview was made of, in `NAME.preview.json` beside it: one of the same content is not made again."""

    format: Literal["matchcut-preview/1"] = PREVIEW_FORMAT
    key: str
    """Content key of everything that decides the preview's bytes."""
    sha256: str
    """Of the preview."""


@dataclass(frozen=True)
class PlacedVideo:
    """A video beside the report: its file name, and whether it is a preview made for the page."""

    name: str
    preview: bool


def place_video(
    info: VideoInfo,
    role: Literal["reference", "reconstruction"],
    out: Path,
    *,
    inputs: Iterable[Path],
    reporter: Reporter,
) -> PlacedVideo:
    """Copy the video of `info` to `out/ROLE.mp4`, or encode a preview there where a browser would not step through it.

    None of `inputs` is ever written over: a preview then takes the name `ROLE-preview.mp4`. What an earlier run left
    there and would come out the same is kept.
    """
    source, target = Path(info.path), out / f"{role}.mp4"
    taken = any(_same(target, path) for path in inputs)
    if plays_by_frame(info):
        if taken and not _same(target, source):
            target = out / f"{role}-copy.mp4"
        if not (target.is_file() and sha256_of(target) == info.sha256):
            with atomic_path(target) as temporary:
                shutil.copyfile(source, temporary)
        return PlacedVideo(target.name, preview=False)
    if taken:
        target = out / f"{role}-preview.mp4"
    record, key = target.with_suffix(".preview.json"), _preview_key(info)
    if not _is_preview(target, record, key):
        reporter.status(f"making a preview of the {role} that browsers play frame by frame")
        record.unlink(missing_ok=True)  # it does not tell of what is written next
        pictures = (resized(frame.image, preview_size(info)) for frame in stream(source))
        made = encode(pictures, info.timeline.rate, target, reporter=reporter, total=info.timeline.frames)
        Preview(key=key, sha256=made.sha256).write(record)
    return PlacedVideo(target.name, preview=True)


def _preview_key(info: VideoInfo) -> str:
    return content_key(
        {
            "format": PREVIEW_FORMAT,
            "source": info.sha256,
            "timeline": info.timeline.to_json(),
            "size": preview_size(info),
            "scaling": [FILTER, cv2.__version__],
            "encoder": [ENCODER, OPTIONS, QUANTISER],
            "libraries": {name: av.library_versions[name] for name in ("libavcodec", "libswscale")},
            "matchcut": VERSION,
        }
    )


def _is_preview(target: Path, record: Path, key: str) -> bool:
    """Whether `target` is the preview with this key, whole and unchanged."""
    if not (target.is_file() and record.is_file()):
        return False
    try:
        known = Preview.read(record)
    except BadInputError:  # damaged, or of another version: it is made again
        return False
    return known.key == key and known.sha256 == sha256_of(target)


def plays_by_frame(info: VideoInfo) -> bool:
    """Whether every common browser shows frame f of the file at (f + 0.5)/rate, upright and in its proportions."""
    return (
        Path(info.path).suffix.lower() in (".mp4", ".m4v")
        and info.codec == "h264"
        and info.pixel_format in ("yuv420p", "yuvj420p")
        and info.constant_rate
        and abs(info.start_seconds) * info.timeline.rate < Fraction(1, 4)
        and info.header_frames == info.timeline.frames  # else an edit list or a damaged end: players disagree about it
        and (info.rotation_deg, info.mirrored, info.pixel_aspect) == (0, False, "1:1")
        and _one_video_stream(Path(info.path))
    )


def preview_size(info: VideoInfo) -> tuple[int, int]:
    """(width, height) of the preview: as shown, even, the longer side at most LONGEST_SIDE."""
    width, height = info.timeline.width, info.timeline.height
    scale = min(Fraction(1), Fraction(LONGEST_SIDE, max(width, height)))
    return max(2, 2 * round(width * scale / 2)), max(2, 2 * round(height * scale / 2))


def _one_video_stream(path: Path) -> bool:
    with av.open(str(path)) as container:
        return len(container.streams.video) == 1


def _same(path: Path, other: Path) -> bool:
    return path.exists() and other.exists() and path.samefile(other)
