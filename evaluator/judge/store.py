# SPDX-License-Identifier: GPL-3.0-or-later
"""Judgments on disk under their content key, and operational failures in a folder of their own.

STORE/judgments/KEY.json     a Judgment: found again, it is not paid for again
STORE/operational/KEY.json   an OperationalFailure: for people to read, never found as an answer
STORE/evidence/asking/KEY    held by whoever asks for that judgment just now
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ..checklist.records import Check
from ..protocol.errors import BadInputError
from ..protocol.lock import hold, let_go
from ..protocol.messages import Reporter
from .records import RATING_VALUES, Judgment, OperationalFailure

WAIT_SECONDS: Final = 0.2
"""Between two looks at whether somebody else still asks."""


class JudgmentStore:
    """The folder of one store; files are written whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, key: str, checks: Sequence[Check], reporter: Reporter) -> Judgment | None:
        """The judgment under `key`; a damaged one is told about and asked for again."""
        path = self._judgment_path(key)
        if not path.exists():
            return None
        try:
            judgment = Judgment.read(path)
        except BadInputError as error:
            reporter.warning(f"{error}; this clip is judged again")
            return None
        expected = [(check.id, check.category) for check in checks]
        found = [(rating.check, rating.category) for rating in judgment.ratings]
        values_agree = all(rating.value == RATING_VALUES[rating.rating] for rating in judgment.ratings)
        if judgment.key != key or found != expected or not values_agree:
            reporter.warning(f"{path}: does not fit its key or checks; this clip is judged again")
            return None
        return judgment

    def keep(self, judgment: Judgment) -> None:
        """Write a judgment; an earlier failure of the same request is over."""
        judgment.write(self._judgment_path(judgment.key))
        self._failure_path(judgment.key).unlink(missing_ok=True)

    @contextmanager
    def asking(self, key: str, sleep: Callable[[float], None]) -> Iterator[None]:
        """Ask for a judgment alone: other threads, processes and machines that want the same one wait here.

        Whoever comes in looks first whether it has been found meanwhile. A killed process holds nothing any more; on a
        file system without locks nobody is kept out. What `sleep` raises passes through.
        """
        path = self._folder / "evidence" / "asking" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        while (handle := _hold(path)) is None:
            sleep(WAIT_SECONDS)
        try:
            yield
        finally:
            let_go(path, handle)

    def find_failure(self, key: str) -> OperationalFailure | None:
        """The failure that was last recorded under `key`; None where there is none, or a damaged one."""
        try:
            return OperationalFailure.read(self._failure_path(key))
        except BadInputError:
            return None

    def keep_failure(self, failure: OperationalFailure) -> None:
        """Write a failure, in place of an earlier one of the same request."""
        failure.write(self._failure_path(failure.key))

    def _judgment_path(self, key: str) -> Path:
        return self._folder / "judgments" / f"{key}.json"

    def _failure_path(self, key: str) -> Path:
        return self._folder / "operational" / f"{key}.json"


def _hold(path: Path) -> int | None:
    try:
        return hold(path)
    except PermissionError:
        if os.name != "nt":
            raise
        return None  # so Windows says while it is being removed
