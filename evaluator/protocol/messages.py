# SPDX-License-Identifier: GPL-3.0-or-later
"""What a running command tells: to a person through a console, to a parent process as one JSON object a line."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

MessageType = Literal["progress", "status", "warning", "error", "result", "done"]
MESSAGE_TYPES: frozenset[str] = frozenset({"progress", "status", "warning", "error", "result", "done"})


@dataclass(frozen=True)
class Message:
    """One line on the standard output of a child process.

    progress: `stage`, `done`, `total`, `text`; status, warning, error: `text`; result: `path` of a file just
    written and `data`, a short summary; done: `exit_status`, always the last line.
    """

    type: MessageType
    text: str = ""
    stage: str = ""
    done: int = 0
    total: int = 0
    path: str = ""
    data: dict[str, Any] | None = None
    exit_status: int = 0

    def to_line(self) -> str:
        """The message as one line of JSON without the line feed; fields that say nothing are left out."""
        fields = {name: value for name, value in asdict(self).items() if value not in ("", None)}
        if self.type != "progress":
            fields.pop("done"), fields.pop("total")
        if self.type != "done":
            fields.pop("exit_status")
        return json.dumps(fields, ensure_ascii=True, allow_nan=False)


def parse_message(line: str) -> Message | None:
    """Read one line of a child's standard output; None where it is no message (a library's stray print)."""
    try:
        fields = json.loads(line)
        if not isinstance(fields, dict) or fields.get("type") not in MESSAGE_TYPES:
            return None
        return Message(**fields)
    except (ValueError, TypeError, RecursionError):
        return None


class Reporter(Protocol):
    """Where a command's progress goes. Functions take it as an argument; they never print."""

    def progress(self, stage: str, done: int, total: int, text: str = "") -> None:
        """`done` of `total` steps of `stage` are finished; `stage` is a short lower-case name such as `render`."""

    def status(self, text: str) -> None:
        """Say what is being done now."""

    def warning(self, text: str) -> None:
        """Say what the user should know although the work goes on."""

    def result(self, path: str, data: dict[str, Any]) -> None:
        """A result file is complete at `path`; `data` is its short summary."""


class SilentReporter:
    """Drops everything: for tests and for callers that need no progress."""

    def progress(self, stage: str, done: int, total: int, text: str = "") -> None:
        """Dropped."""

    def status(self, text: str) -> None:
        """Dropped."""

    def warning(self, text: str) -> None:
        """Dropped."""

    def result(self, path: str, data: dict[str, Any]) -> None:
        """Dropped."""
