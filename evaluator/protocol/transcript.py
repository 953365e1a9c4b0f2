# SPDX-License-Identifier: GPL-3.0-or-later
"""The transcript of an MCP server: what an agent asked for, when, how large, and how it ended; one JSON object a line.

Each line has `kind` and `time` (UTC, ISO 8601 with milliseconds); the first of a server's life is a `start` with the
format. Arguments and results are told by their size and SHA-256, not by their text. docs/formats.md lists the fields.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from .errors import BadInputError

TRANSCRIPT_FORMAT: Final = "matchcut-transcript/1"


class TranscriptWriter:
    """Appends lines to a transcript. Each is written whole at once, so that a killed server tears the last one only.

    A disk that is full is told once on standard error; the first line after that is a `lost` with the number of lines
    that are missing.
    """

    def __init__(self, path: Path, **facts: Any) -> None:
        """Open `path`, which may hold the lines of earlier servers, and write a `start` with these `facts`.

        Raises BadInputError where it cannot be written.
        """
        self.path = path
        self._lock = threading.Lock()
        self._lost = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab", buffering=0)
            if self._ends_torn():
                self._file.write(b"\n")
        except OSError as error:
            raise BadInputError(
                f"{path}: the transcript cannot be written ({error.strerror or error}); name another --transcript"
            ) from error
        self.write("start", format=TRANSCRIPT_FORMAT, **facts)

    def _ends_torn(self) -> bool:
        with self.path.open("rb") as file:
            if file.seek(0, os.SEEK_END) == 0:
                return False
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"

    def write(self, kind: str, **fields: Any) -> None:
        """Append one line; nothing where the transcript is closed."""
        line = _line(kind, fields)
        with self._lock:
            if self._file.closed:
                return
            try:
                if self._lost:
                    self._file.write(b"\n" + _line("lost", {"lines": self._lost}))
                    self._lost = 0
                self._file.write(line)
            except OSError as error:
                if not self._lost:
                    sys.stderr.write(f"matchcut: {self.path}: the transcript cannot be written ({error})\n")
                self._lost += 1

    def close(self) -> None:
        """Write the `end` of this server's life."""
        self.write("end")
        with self._lock:
            self._file.close()


def _line(kind: str, fields: dict[str, Any]) -> bytes:
    time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"kind": kind, "time": time, **fields}, allow_nan=False).encode("ascii") + b"\n"


def measure(data: Any) -> dict[str, Any]:
    """`bytes` and `sha256` of a JSON value in canonical form (sorted keys, no spaces, UTF-8)."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str).encode(
        "utf-8", "surrogatepass"
    )
    return {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}


def read_transcript(path: Path) -> list[dict[str, Any]]:
    """The lines of a transcript. A torn line, as a killed server leaves one, is passed over where a life ends.

    Raises BadInputError where the file is missing, does not start with its format, or holds anything else.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise BadInputError(f"{path}: cannot be read ({error.strerror or error})") from error
    found: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line) if line else None
        except (ValueError, RecursionError):
            entry = "torn"
        if entry is None:
            continue
        if not isinstance(entry, dict) or not isinstance(entry.get("kind"), str):
            if _a_life_ends(lines[number:]):
                continue
            raise BadInputError(f"{path}: line {number} is no line of a transcript")
        if not found and (entry["kind"], entry.get("format")) != ("start", TRANSCRIPT_FORMAT):
            raise BadInputError(f"{path}: its format is {entry.get('format')!r}; expected {TRANSCRIPT_FORMAT!r}")
        found.append(entry)
    if not found:
        raise BadInputError(f"{path}: holds no line of a transcript")
    return found


def _a_life_ends(rest: list[bytes]) -> bool:
    following = next((line for line in rest if line), b"")
    return not following or following.startswith((b'{"kind": "start"', b'{"kind": "lost"'))
