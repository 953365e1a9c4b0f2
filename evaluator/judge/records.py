# SPDX-License-Identifier: GPL-3.0-or-later
"""What the judge was shown, what it answered, and what went wrong without being a rating."""

from __future__ import annotations

from typing import Final, Literal

from ..checklist.records import Category, Setting
from ..records import Record

JUDGMENT_FORMAT: Final = "matchcut-judgment/1"
EVIDENCE_FORMAT: Final = "matchcut-evidence/1"
OPERATIONAL_FAILURE_FORMAT: Final = "matchcut-operational-failure/1"

Rating = Literal["unsatisfied", "partially_satisfied", "fully_satisfied"]
RATING_VALUES: dict[Rating, float] = {"unsatisfied": 0.0, "partially_satisfied": 0.5, "fully_satisfied": 1.0}


class EvidenceFrame(Record):
    """One pair image of a request."""

    local_frame: int
    reference_frame: int
    reconstruction_frame: int
    sha256: str
    """Of the image's bytes as sent."""
    seconds: float | None = None
    """Local time that the image names; None in files of versions that did not record it."""
    png_sha256: str | None = None
    """Of the same image without loss, where that is kept."""


class ImageSettings(Record):
    """How the pictures of a request were scaled and encoded: with the hashes, what makes them again."""

    encoding: Literal["JPEG"]
    quality: int
    subsampling: str
    scaling: str
    """Filter that brings a decoded picture to its place, and the library that does it."""
    pillow: str
    libjpeg: str
    """Version of the JPEG library inside Pillow; `turbo` before it where it is libjpeg-turbo."""


class Attempt(Record):
    """One request and how it ended; `outcome` is `accepted` or the recorded reason."""

    outcome: str
    detail: str = ""
    seconds: float | None
    """From sending to the last byte; None for a request of a batch."""
    request_id: str | None = None
    usage: dict[str, int] = {}
    """What this reply used up, also where it could not be used."""


class ItemRating(Record):
    """One check's label; the item id and the number are attached by our code, never by the judge."""

    check: str
    category: Category
    rating: Rating
    value: float


class Judgment(Record):
    """The ratings of one clip under one setting."""

    format: Literal["matchcut-judgment/1"] = JUDGMENT_FORMAT
    key: str
    """Content key of everything that decides the answer; the file is named after it."""
    clip: str
    video: str
    setting: Setting
    ratings: list[ItemRating]
    evidence: list[EvidenceFrame]
    images: ImageSettings | None = None
    """None in files of versions that did not record it."""
    provider: str
    requested_model: str
    replied_model: str | None
    request_id: str | None
    prompt_sha256: str
    """Of the instruction and the reply's schema together."""
    usage: dict[str, int]
    attempts: list[Attempt]
    configuration: dict[str, str | int] = {}
    """Settings that change answers, such as the effort."""
    repeat: int = 0
    """0 for the first time that this was asked."""
    schema_sha256: str | None = None
    judged_at: str | None = None
    """When the reply was read: ISO 8601, UTC."""
    batch: str | None = None
    """The batch that it came in; None where it was asked for by itself."""


class OperationalFailure(Record):
    """A clip that could not be judged, with the reason; never a score of zero and never a cache hit."""

    format: Literal["matchcut-operational-failure/1"] = OPERATIONAL_FAILURE_FORMAT
    key: str
    clip: str
    video: str
    setting: Setting
    reason: str
    detail: str
    attempts: list[Attempt]
    provider: str | None = None
    requested_model: str | None = None
    repeat: int = 0
    failed_at: str | None = None
    """ISO 8601, UTC."""


class EvidenceManifest(Record):
    """The pair images of one clip of one submission; they lie beside it under their hashes."""

    format: Literal["matchcut-evidence/1"] = EVIDENCE_FORMAT
    reference_sha256: str
    reconstruction_sha256: str
    frames: list[EvidenceFrame]
    images: ImageSettings
