# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done of a benchmark, on disk: every record once, under the content key of what it answers.

RESULTS/bench/plan.json               Plan
RESULTS/bench/runs/KEY/run.json       AgentRun, with what the agent said and made: published whole, by one rename
RESULTS/bench/stages/KEY.json         StageRecord: published by one link that fails where there is one already
RESULTS/bench/failures/KEY.N.json     Failure, the N-th of that unit; KEY.N.txt is the end of what an agent said
RESULTS/bench/leases/                 who works on what (leases.py)

Who comes first has published; who comes second throws its own away. Nothing is ever overwritten. What money was paid
for, an agent's run, is on the disk before the next thing is done; what a later stage found can be found again.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ..protocol.errors import BadInputError
from ..protocol.files import write_text
from .records import AgentRun, Failure, Plan, StageRecord

BENCH: Final = "bench"
RUN: Final = "run.json"
SUBMISSION: Final = "submission"
PERSON: Final = "artist"
"""What a record of a person's result has as its agent."""
_OLD: Final = 14 * 24 * 3600.0
"""Seconds; no agent works as long on one task."""
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


class Ledger:
    """The records below RESULTS/bench. Any number of processes and machines may use one at once."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.folder = results / BENCH
        self.runs, self.stages = self.folder / "runs", self.folder / "stages"
        self.failures, self.leases = self.folder / "failures", self.folder / "leases"

    def open(self) -> None:
        """Make the folders. Raises BadInputError where they cannot be made."""
        try:
            for folder in (self.runs, self.stages, self.failures, self.leases):
                folder.mkdir(parents=True, exist_ok=True)
                _tidy(folder)
        except OSError as error:
            raise BadInputError(
                f"{self.results}: cannot be written ({error.strerror or error}); choose another --out"
            ) from error

    @property
    def plan_path(self) -> Path:
        """Where the plan lies."""
        return self.folder / "plan.json"

    def plan(self) -> Plan:
        """The plan. Raises BadInputError where there is none."""
        if not self.plan_path.is_file():
            raise BadInputError(f"{self.results}: holds no plan (bench/plan.json); run matchcut bench run first")
        return Plan.read(self.plan_path)

    # --- an agent's run

    def run_folder(self, key: str) -> Path:
        """Where the run of this key lies."""
        return self.runs / key

    def has_run(self, key: str) -> bool:
        """Whether the run is published."""
        return (self.run_folder(key) / RUN).is_file()

    def find_run(self, key: str) -> AgentRun | None:
        """The published run; None where there is none. Raises BadInputError where it is damaged."""
        path = self.run_folder(key) / RUN
        return AgentRun.read(path) if path.is_file() else None

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """A folder beside the runs, for what becomes one; it is removed where it was not published."""
        folder = Path(tempfile.mkdtemp(prefix=".staging-", dir=self.runs))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish_run(self, folder: Path, run: AgentRun) -> bool:
        """Publish a staged folder as the run; False where somebody else was first.

        What an agent said and handed in was paid for: it is on the disk before this returns.
        """
        run.write(folder / RUN)
        if run.agent != PERSON:
            _settle([*folder.iterdir(), *folder.glob(f"{SUBMISSION}/*")])
        folder.chmod(0o755)
        try:
            folder.rename(self.run_folder(run.key))
        except OSError:
            if self.has_run(run.key):
                return False
            raise
        if run.agent != PERSON:
            _settle_folder(self.runs)
        return True

    # --- later stages

    def has_stage(self, key: str) -> bool:
        """Whether the record is published."""
        return _is_whole(self.stages / f"{key}.json")

    def find_stage(self, key: str) -> StageRecord | None:
        """The published record; None where there is none. Raises BadInputError where it is damaged."""
        path = self.stages / f"{key}.json"
        return StageRecord.read(path) if _is_whole(path) else None

    def publish_stage(self, record: StageRecord) -> bool:
        """Publish a record; False where somebody else was first."""
        return _publish(self.stages / f"{record.key}.json", record.model_dump(mode="json"), synced=False)

    # --- failures

    def publish_failure(self, failure: Failure, log: str = "") -> Failure:
        """Note a failure as the next one of its unit, and return it with its number; `log` goes beside it as .txt."""
        while True:
            path = self.failures / f"{failure.key}.{failure.attempt}.json"
            if not path.exists() and _publish(path, failure.model_dump(mode="json"), synced=True):
                if log:
                    write_text(path.with_suffix(".txt"), log)
                return failure
            failure = failure.model_copy(update={"attempt": failure.attempt + 1})

    def failures_of(self, key: str) -> list[Failure]:
        """All failures of a unit, the first one first."""
        found: list[Failure] = []
        while (path := self.failures / f"{key}.{len(found)}.json").is_file():
            found.append(Failure.read(path))
        return found

    # --- everything

    def all_failures(self) -> Iterator[Failure]:
        """Every failure, by unit and number."""
        for path in sorted(self.failures.glob("*.json")):
            if not path.name.startswith("."):
                yield Failure.read(path)


def _tidy(folder: Path) -> None:
    """Remove what killed runs were about to publish long ago."""
    for left in folder.glob(".staging-*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _OLD:
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def _publish(path: Path, data: object, *, synced: bool) -> bool:
    """Write a file that must not be there yet, whole at once; False where it is there.

    What is not `synced` is quicker and outlives a killed run, not a power failure, which may leave it empty: then it
    is not there.
    """
    temporary = path.parent / f".staging-{uuid.uuid4().hex}.json"
    try:
        with temporary.open("x", encoding="utf-8") as file:
            file.write(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
            if synced:
                file.flush()
                os.fsync(file.fileno())
        if _claim(temporary, path):
            return True
        if synced or _is_whole(path):
            return False
        temporary.replace(path)
        return True
    finally:
        temporary.unlink(missing_ok=True)


def _claim(temporary: Path, path: Path) -> bool:
    """Give a file its name where nobody has it."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
    else:
        return True
    try:  # without hard links an empty file is the claim, and what is published replaces it
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except FileExistsError:
        return False
    temporary.replace(path)
    return True


def _is_whole(path: Path) -> bool:
    """Whether an unsynced record is there."""
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def _settle(paths: Iterable[Path]) -> None:
    """Wait until files are on the disk."""
    for path in paths:
        if path.is_file() and not path.is_symlink():
            with path.open("rb+") as file:
                os.fsync(file.fileno())


def _settle_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system lets that be asked for."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            with suppress(OSError):  # a file system that cannot
                os.fsync(handle)
        finally:
            os.close(handle)
