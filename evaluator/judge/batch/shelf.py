# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of RESULTS/batches (records.py), so that a killed run finds what it sent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from ...protocol.errors import BadInputError
from ..units import judge_folder
from .records import BatchRecord, Upload, Waiting
from .services import KEPT_SECONDS

_SPARE_SECONDS = 3 * 86400
"""An image that goes sooner than this is uploaded again: a batch may take a day."""


class Shelf:
    """What is known of the batches of one results folder."""

    def __init__(self, results: Path, provider: str, judge: str) -> None:
        self._folder = results / "batches"
        self._uploads = self._folder / "uploads" / judge_folder(provider)
        self._judge = judge

    def batches(self) -> Iterator[BatchRecord]:
        """Those of this judge that are not read yet."""
        for path in sorted(self._folder.glob("*.json")):
            if not path.name.startswith("."):
                record = BatchRecord.read(path)
                if record.judge == self._judge:
                    yield record

    def tidy(self) -> None:
        """Remove requests that a killed run wrote and never sent."""
        for path in self._folder.glob("*.jsonl"):
            mark = path.name.partition(".")[0]
            if path.name == f"{mark}.jsonl" and not (self._folder / f"{mark}.json").exists():
                path.unlink()

    def keep(self, record: BatchRecord) -> None:
        """Write a batch down."""
        record.write(self._folder / f"{record.mark}.json")

    def drop(self, record: BatchRecord) -> None:
        """A batch is read, or was never sent."""
        self.lines(record.mark).unlink(missing_ok=True)
        (self._folder / f"{record.mark}.json").unlink(missing_ok=True)

    def lines(self, mark: str) -> Path:
        """The requests of a batch."""
        return self._folder / f"{mark}.jsonl"

    def results(self, mark: str) -> Path:
        """What came back."""
        return self._folder / f"{mark}.results.jsonl"

    def waiting(self, key: str) -> Waiting | None:
        """What is known of a request; None where it was never in a batch."""
        try:
            return Waiting.read(self._waiting(key))
        except BadInputError:  # not there; a damaged one would only be asked again
            return None

    def wait(self, key: str, waiting: Waiting) -> None:
        """Note that a request is in a batch, or is to be asked again."""
        waiting.write(self._waiting(key))

    def forget(self, key: str) -> None:
        """The request has its judgment or its failure."""
        self._waiting(key).unlink(missing_ok=True)

    def upload(self, sha256: str) -> str | None:
        """The service's id of an image that it keeps long enough."""
        try:
            found = Upload.read(self._uploads / f"{sha256}.json")
        except BadInputError:
            return None
        return found.file_id if found.expires_at - time.time() > _SPARE_SECONDS else None

    def keep_upload(self, sha256: str, file_id: str) -> None:
        """Note what the service calls an image."""
        record = Upload(file_id=file_id, expires_at=time.time() + KEPT_SECONDS)
        record.write(self._uploads / f"{sha256}.json")

    def _waiting(self, key: str) -> Path:
        return self._folder / "waiting" / f"{key}.json"
