# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to be known of batches after a kill.

RESULTS/batches/

MARK.json            a BatchRecord, one for each batch that was sent and is not read yet
MARK.jsonl           its requests, as they were sent
MARK.results.jsonl   what came back, as it came
waiting/KEY.json     a Waiting for each request that is in a batch, or has to be asked again
uploads/SERVICE/SHA256.json   an Upload: the service's name for an image that it has
"""

from __future__ import annotations

from typing import Final, Literal

from ...records import Record
from ..records import Attempt

BATCH_FORMAT: Final = "matchcut-batch/1"
WAITING_FORMAT: Final = "matchcut-batch-waiting/1"
UPLOAD_FORMAT: Final = "matchcut-upload/1"


class Item(Record):
    """One request of a batch: which clip it is about."""

    key: str
    submission: str
    """CONFIG/SETTING/VIDEO."""
    clip: str
    repeat: int


class BatchRecord(Record):
    """One batch. `remote` is the service's name for it; None while it is being sent."""

    format: Literal["matchcut-batch/1"] = BATCH_FORMAT
    mark: str
    judge: str
    """As units name it: the settings that change answers belong to it."""
    remote: str | None
    created_at: float
    """Seconds since 1970, before it was sent."""
    items: list[Item]


class Waiting(Record):
    """A request that has no judgment yet; `mark` names its batch, None where it is to be asked again."""

    format: Literal["matchcut-batch-waiting/1"] = WAITING_FORMAT
    mark: str | None
    attempts: list[Attempt]
    """Those before."""


class Upload(Record):
    """An image that a service keeps until `expires_at` (seconds since 1970)."""

    format: Literal["matchcut-upload/1"] = UPLOAD_FORMAT
    file_id: str
    expires_at: float
