# SPDX-License-Identifier: GPL-3.0-or-later
"""One agent's program from its start to its end, by itself or because a limit is reached."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from ..protocol.children import interrupt, kill_group, own_group
from ..protocol.errors import OperationalError
from .records import Ended, Limits, Usage

LOOK_SECONDS: Final = 0.25
GRACE_SECONDS: Final = 20.0
"""What an agent gets to end in once a limit is reached, before it is killed."""
START_FAILED: Final = 70
"""Of inside.py."""


class Halt(Protocol):
    """The wish to end, as `threading.Event` tells it."""

    def is_set(self) -> bool:
        """Whether to end."""

    def wait(self, seconds: float, /) -> bool:
        """Wait, at most so long; whether to end."""


@dataclass(frozen=True)
class Finished:
    """How the program ended."""

    ended: Ended
    exit_status: int | None
    seconds: float
    usage: Usage


class StoppedError(Exception):
    """The run was called off, and the agent ended; `usage` is what it had cost by then."""

    def __init__(self, seconds: float, usage: Usage) -> None:
        super().__init__("called off")
        self.seconds, self.usage = seconds, usage


def run_agent(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    output: Path,
    errors: Path,
    limits: Limits,
    read_usage: Callable[[], Usage],
    stop: Halt,
) -> Finished:
    """Run the program in `folder` until it ends, a limit is reached, or `stop` is set.

    At a limit it is interrupted, as Ctrl-C would, and killed with all that it started where it does not end soon: what
    was handed in by then counts. Raises StoppedError where it was called off, OperationalError where it does not start.
    """
    with output.open("wb") as said, errors.open("wb") as logged:
        try:
            process = subprocess.Popen(
                list(command), cwd=folder, env=dict(environment), stdin=subprocess.PIPE, stdout=said, stderr=logged,
                **own_group(),
            )  # fmt: skip
        except OSError as error:
            raise OperationalError(f"{command[0]}: the agent does not start ({error})") from error
    begun = time.monotonic()
    reached: Ended | None = None
    try:
        while process.poll() is None and reached is None and not stop.is_set():
            stop.wait(LOOK_SECONDS)
            reached = _reached(limits, time.monotonic() - begun, read_usage())
        if process.poll() is None:
            _end(process)
    finally:
        kill_group(process, leftovers=True)
        if process.stdin is not None:
            process.stdin.close()
    seconds, usage = time.monotonic() - begun, read_usage()
    if stop.is_set():
        raise StoppedError(seconds, usage)
    status = process.returncode
    if reached is None:
        # it may have kept to a limit by itself, as its own option says
        reached = _reached(limits, seconds, usage, by_itself=True) if status else None
    if reached is None and status == START_FAILED and os.name == "posix":
        last = (errors.read_text("utf-8", "replace").strip().splitlines() or ["it said nothing"])[-1]
        raise OperationalError(f"the agent does not start: {last[:300]}")
    return Finished(reached or "finished", status if reached is None else None, seconds, usage)


def _reached(limits: Limits, seconds: float, usage: Usage, *, by_itself: bool = False) -> Ended | None:
    if limits.seconds is not None and seconds >= limits.seconds:
        return "limit_time"
    if limits.usd is not None and usage.usd is not None and usage.usd >= limits.usd:
        return "limit_money"
    if limits.turns is not None and usage.turns is not None and (
        usage.turns > limits.turns or (by_itself and usage.turns == limits.turns)
    ):  # fmt: skip
        return "limit_turns"
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        interrupt(process)
    else:  # all of them, as Ctrl-C in a terminal would: the agent is not the first process of its group
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        pass  # it is killed with all that it started
