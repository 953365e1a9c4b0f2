# SPDX-License-Identifier: GPL-3.0-or-later
"""The aligned pair images of one request (paper, appendix C.1), made once and kept under their hashes.

STORE/evidence/SHA256.jpg           a pair image as it is sent
STORE/evidence/SHA256.png           the same without loss, where that is wanted
STORE/evidence/clips/KEY.json       an EvidenceManifest: which images belong to a clip of a submission
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import PIL
from numpy.typing import NDArray
from PIL import features

from ..checklist.records import Clip, Setting
from ..media.decode import pick_pictures
from ..media.pairs import JPEG_QUALITY, JPEG_SUBSAMPLING, jpeg_bytes, pair_image, png_bytes
from ..media.records import VideoInfo
from ..media.resize import FILTER
from ..media.selection import MOST_FRAMES, clip_frames
from ..protocol.errors import BadInputError, MatchcutError
from ..protocol.files import content_key, write_bytes
from ..protocol.timeline import nearest_frame
from .records import EvidenceFrame, EvidenceManifest, ImageSettings

_PNG_LEVEL: Final = 1
"""Half the time of the default level, for a quarter more bytes."""
VIDEOS: Final = threading.Lock()
"""Decoding uses every core by itself, and what `media` remembers of a video is not made for several threads."""


class EvidenceError(Exception):
    """The pictures of a request cannot be had, which is no visual failure; `reason` is the recorded word."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass(frozen=True)
class Evidence:
    """What a request shows: the record of one JPEG per moment, in increasing time, and where the JPEGs lie."""

    folder: Path
    frames: tuple[EvidenceFrame, ...]
    settings: ImageSettings

    def load(self) -> tuple[bytes, ...]:
        """The JPEGs. Raises BadInputError where one is missing or not what its name says."""
        return tuple(_read_image(self.folder / f"{frame.sha256}.jpg", frame.sha256) for frame in self.frames)


class EvidenceStore:
    """The images of a store; several judges and repeats, and several threads, use the same ones.

    `lossless` keeps each image as a PNG beside the JPEG that is sent.
    """

    def __init__(self, folder: Path, *, lossless: bool = False) -> None:
        self._folder, self._lossless = folder / "evidence", lossless
        self._settings = image_settings()

    def find(self, clip: Clip, setting: Setting, reference: VideoInfo, reconstruction: VideoInfo) -> Evidence | None:
        """The evidence where it was made before and nothing of it is known to be missing; no video is opened."""
        moments = _moments(clip, setting, reference, reconstruction)
        return self._known(self._manifest_path(moments, reference, reconstruction))

    def get(self, clip: Clip, setting: Setting, reference: VideoInfo, reconstruction: VideoInfo) -> Evidence:
        """The evidence of one request, from disk or made now.

        Raises EvidenceError: `interval_unavailable` where a video does not hold the whole clip, `too_many_frames` where
        the checks need more than a request may show, `undecodable` where the frames cannot be read.
        """
        moments = _moments(clip, setting, reference, reconstruction)
        path = self._manifest_path(moments, reference, reconstruction)
        with VIDEOS:
            known = self._known(path)
            if known is not None and all(self._is_there(frame) for frame in known.frames):
                return known
            frames = list(self._make(moments, reference, reconstruction))
        manifest = EvidenceManifest(
            reference_sha256=reference.sha256,
            reconstruction_sha256=reconstruction.sha256,
            frames=frames,
            images=self._settings,
        )
        manifest.write(path)
        return Evidence(self._folder, tuple(frames), self._settings)

    def _make(
        self, moments: Sequence[_Moment], reference: VideoInfo, reconstruction: VideoInfo
    ) -> Iterator[EvidenceFrame]:
        """Decode, pair, encode and write; no more than one pair of pictures is held at a time."""
        for moment, image in pair_images(moments, reference, reconstruction):
            jpeg = jpeg_bytes(image)
            name = hashlib.sha256(jpeg).hexdigest()
            _keep(self._folder / f"{name}.jpg", jpeg)
            lossless: str | None = None
            if self._lossless:
                png = png_bytes(image, level=_PNG_LEVEL)
                lossless = hashlib.sha256(png).hexdigest()
                _keep(self._folder / f"{lossless}.png", png)
            yield EvidenceFrame(
                local_frame=moment.local,
                reference_frame=moment.reference,
                reconstruction_frame=moment.reconstruction,
                sha256=name,
                seconds=moment.seconds,
                png_sha256=lossless,
            )

    def _known(self, path: Path) -> Evidence | None:
        if not path.is_file():
            return None
        try:
            manifest = EvidenceManifest.read(path)
        except BadInputError:  # damaged: it is made anew
            return None
        if self._lossless and any(frame.png_sha256 is None for frame in manifest.frames):
            return None
        return Evidence(self._folder, tuple(manifest.frames), manifest.images)

    def _is_there(self, frame: EvidenceFrame) -> bool:
        files = [self._folder / f"{frame.sha256}.jpg"]
        if self._lossless:
            files.append(self._folder / f"{frame.png_sha256}.png")
        return all(file.is_file() for file in files)

    def _manifest_path(self, moments: Sequence[_Moment], reference: VideoInfo, reconstruction: VideoInfo) -> Path:
        key = content_key(
            {
                "reference": reference.sha256,
                "reconstruction": reconstruction.sha256,
                "moments": [[one.local, one.reference, one.reconstruction, f"{one.seconds:.9f}"] for one in moments],
                "images": self._settings.model_dump(mode="json"),
            }
        )
        return self._folder / "clips" / f"{key}.json"


@dataclass(frozen=True)
class _Moment:
    """One local frame of a clip, and the frames of both videos that show it."""

    local: int
    reference: int
    reconstruction: int
    seconds: float


def pair_images(
    moments: Sequence[_Moment], reference: VideoInfo, reconstruction: VideoInfo
) -> Iterator[tuple[_Moment, NDArray[np.uint8]]]:
    """(moment, pair image (H, W, 3) uint8 RGB) in increasing time. Raises EvidenceError `undecodable`."""
    above = pick_pictures(Path(reference.path), [one.reference for one in moments])
    below = pick_pictures(Path(reconstruction.path), [one.reconstruction for one in moments])
    try:
        for moment, first, second in zip(moments, above, below, strict=True):
            yield moment, pair_image(first, second, moment.local, moment.seconds)
    except MatchcutError as error:
        raise EvidenceError("undecodable", str(error)) from error


def _moments(clip: Clip, setting: Setting, reference: VideoInfo, reconstruction: VideoInfo) -> list[_Moment]:
    """The moments that a request shows. Raises EvidenceError `interval_unavailable` or `too_many_frames`."""
    _require_interval(clip, reference, reconstruction)
    local = clip_frames(clip, setting, reference.timeline.rate)
    if len(local) > MOST_FRAMES:
        raise EvidenceError(
            "too_many_frames", f"the clip's checks need {len(local)} frames; one request shows at most {MOST_FRAMES}"
        )
    rate = reference.timeline.rate
    return [
        _Moment(
            frame,
            clip.frame_offset + frame,
            reconstruction_frame(clip, frame, reference, reconstruction),
            float(Fraction(frame) / rate),
        )
        for frame in local
    ]


def _keep(path: Path, data: bytes) -> None:
    if not path.is_file() or path.stat().st_size != len(data):
        write_bytes(path, data, synced=False)  # its reader looks at its hash


def _read_image(path: Path, sha256: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInputError(f"{path}: cannot be read ({error.strerror or error}); it is made again") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        path.unlink(missing_ok=True)
        raise BadInputError(f"{path}: is not what its name says; it is made again")
    return data


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
