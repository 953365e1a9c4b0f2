# SPDX-License-Identifier: GPL-3.0-or-later
"""The aligned pair images of one request (paper, appendix C.1)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import cv2
import PIL
from PIL import features

from ..checklist.records import Clip, Setting
from ..media.decode import pick_pictures
from ..media.pairs import JPEG_QUALITY, JPEG_SUBSAMPLING, jpeg_bytes, pair_image
from ..media.records import VideoInfo
from ..media.resize import FILTER
from ..media.selection import MOST_FRAMES, clip_frames
from ..protocol.errors import MatchcutError
from ..protocol.timeline import nearest_frame
from .records import EvidenceFrame, ImageSettings


class EvidenceError(Exception):
    """The pictures of a request cannot be had, which is no visual failure; `reason` is the recorded word."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass(frozen=True)
class Evidence:
    """What a request shows: one JPEG per moment, in increasing time, and the record of each."""

    images: tuple[bytes, ...]
    frames: tuple[EvidenceFrame, ...]
    settings: ImageSettings


def make_evidence(clip: Clip, setting: Setting, reference: VideoInfo, reconstruction: VideoInfo) -> Evidence:
    """Decode, pair and encode the frames of one request.

    Raises EvidenceError: `interval_unavailable` where a video does not hold the whole clip, `too_many_frames` where the
    checks need more than a request may show, `undecodable` where the frames cannot be read.
    """
    _require_interval(clip, reference, reconstruction)
    local = clip_frames(clip, setting, reference.timeline.rate)
    if len(local) > MOST_FRAMES:
        raise EvidenceError(
            "too_many_frames", f"the clip's checks need {len(local)} frames; one request shows at most {MOST_FRAMES}"
        )
    sources = [clip.frame_offset + frame for frame in local]
    targets = [reconstruction_frame(clip, frame, reference, reconstruction) for frame in local]
    images: list[bytes] = []
    records: list[EvidenceFrame] = []
    try:
        pairs = zip(
            pick_pictures(Path(reference.path), sources), pick_pictures(Path(reconstruction.path), targets), strict=True
        )
        for frame, source, target, (above, below) in zip(local, sources, targets, pairs, strict=True):
            seconds = float(Fraction(frame) / reference.timeline.rate)
            image = jpeg_bytes(pair_image(above, below, frame, seconds))
            images.append(image)
            records.append(
                EvidenceFrame(
                    local_frame=frame,
                    reference_frame=source,
                    reconstruction_frame=target,
                    sha256=hashlib.sha256(image).hexdigest(),
                )
            )
    except MatchcutError as error:
        raise EvidenceError("undecodable", str(error)) from error
    return Evidence(tuple(images), tuple(records), image_settings())


def reconstruction_frame(clip: Clip, local_frame: int, reference: VideoInfo, reconstruction: VideoInfo) -> int:
    """The reconstruction's frame for a local frame: offset + f at the reference's rate, else the nearest by time.

    It lies beyond the end where the reconstruction shows nothing at that time.
    """
    frame = clip.frame_offset + local_frame
    own, time = reconstruction.timeline, reference.timeline.time_of(frame)
    if own.rate == reference.timeline.rate:
        return frame
    nearest = nearest_frame(time, own.rate)
    # the last frame is shown until the end, and no later one is nearer
    return min(nearest, own.frames - 1) if time < own.duration else nearest


def image_settings() -> ImageSettings:
    """How this process scales and encodes the pictures of a request."""
    turbo = "turbo " if features.check_feature("libjpeg_turbo") else ""
    version = features.version_feature("libjpeg_turbo") if turbo else features.version_codec("jpg")
    return ImageSettings(
        encoding="JPEG",
        quality=JPEG_QUALITY,
        subsampling=JPEG_SUBSAMPLING,
        scaling=f"{FILTER} (OpenCV {cv2.__version__})",
        pillow=PIL.__version__,
        libjpeg=f"{turbo}{version}",
    )


def _require_interval(clip: Clip, reference: VideoInfo, reconstruction: VideoInfo) -> None:
    """The whole clip has to be there, not only the frames that happen to be shown."""
    last = clip.frame_count - 1
    ends = (
        ("reference", clip.frame_offset + last, reference),
        ("reconstruction", reconstruction_frame(clip, last, reference, reconstruction), reconstruction),
    )
    for role, needed, video in ends:
        if needed >= video.timeline.frames:
            raise EvidenceError(
                "interval_unavailable",
                f"the clip needs frame {needed} of the {role}, which ends with frame {video.timeline.frames - 1}",
            )
