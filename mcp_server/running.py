# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of the evaluator that may take minutes, and go on between the calls that wait for them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context

from ..evaluator.protocol.command import EvaluatorProcess
from ..evaluator.protocol.errors import ExitStatus, OperationalError
from ..evaluator.protocol.messages import Message
from . import calls
from .commands import command_line, environment_of

POLL_SECONDS: Final = 0.1
MOST_WARNINGS: Final = 20

State = Literal["running", "done", "failed", "cancelled"]


class RunningCommand:
    """Commands as children, one after the other, which end when this server does."""

    def __init__(
        self, key: object, steps: Sequence[Sequence[str]], *, blender: str = "", place: Path | None = None
    ) -> None:
        """Start the first of `steps`, each `matchcut ARGUMENTS`.

        `key` says what they were asked for, `place` where they write; `blender` is the program that is open. Raises
        BadInputError where it does not start.
        """
        self.key = key
        self.place = place
        self.state: State = "running"
        self.error = ""
        self.warnings: list[str] = []
        self.results: list[dict[str, Any]] = []
        """The data of each step's last result."""
        self._steps = list(steps)
        self._blender = blender
        self._begun = time.monotonic()
        self._done, self._total, self._text = 0, 0, ""
        self._begin()

    def update(self) -> bool:
        """Take in what has been said; whether it still runs."""
        if self.state != "running":
            return False
        for message in self._process.poll():
            self._take(message)
        status = self._process.returncode
        if status is not None:
            self._end(status)
        return self.state == "running"

    def progress(self) -> str:
        """What it is doing, and for how long: `geometry: 12 of 72, 40 s`."""
        if self.state != "running":
            return self.state
        return f"{self._text}, {time.monotonic() - self._begun:.0f} s"

    async def wait(self, context: Context, seconds: float) -> None:
        """Wait for the end, at most `seconds`, telling the progress; where the client cancels, it is ended."""
        end, told, last = time.monotonic() + seconds, ("", -1, -1), time.monotonic()
        try:
            while self.update() and time.monotonic() < end:
                now = (self._text, self._done, self._total)
                if now != told or time.monotonic() - last > calls.PROGRESS_SECONDS:
                    told, last = now, time.monotonic()
                    # what is told has to grow, and every stage counts from 0 again
                    await context.report_progress(time.monotonic() - self._begun, None, self.progress())
                await anyio.sleep(POLL_SECONDS)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self.stop()
            raise

    async def stop(self) -> None:
        """End it, and all that it has started."""
        self._steps = []
        await anyio.to_thread.run_sync(self._process.stop)
        while self.update():
            await anyio.sleep(POLL_SECONDS)

    def _begin(self) -> None:
        arguments = self._steps.pop(0)
        self._name = self._text = arguments[0]
        self._result: dict[str, Any] = {}
        self._process = EvaluatorProcess(command_line(arguments), environment_of(self._blender))

    def _take(self, message: Message) -> None:
        if message.type == "progress":
            self._done, self._total = message.done, message.total
            count = f"{message.done} of {message.total}" if message.total and not message.text else message.text
            self._text = f"{message.stage}: {count}" if message.stage else count
        elif message.type == "status":
            self._done, self._total, self._text = 0, 0, message.text
        elif message.type == "warning":
            self.warnings = [*self.warnings, message.text][:MOST_WARNINGS]
        elif message.type == "error":
            self.error = message.text
        elif message.type == "result":
            self._result = message.data or {}

    def _end(self, status: int) -> None:
        if self._process.cancelling or status == ExitStatus.CANCELLED:
            self.state, self.error = "cancelled", ""
        elif status == ExitStatus.DONE:
            self.results.append(self._result)
            self.error = ""
            if self._steps:
                self._begin()
            else:
                self.state = "done"
        else:
            self.state = "failed"
            kind = "bad_params" if status == ExitStatus.BAD_INPUT else "failed"
            last = (self._process.log_tail().splitlines() or ["it said nothing"])[-1]
            self.error = f"{kind}: {self.error or f'{self._name} ended with status {status}: {last[:300]}'}"


class Slot:
    """Room for one such command: who asks for the same thing again waits for it."""

    def __init__(self, what: str) -> None:
        """`what` it does, for who has to wait: `another audit`."""
        self._what = what
        self.command: RunningCommand | None = None

    def running(self, key: object) -> RunningCommand | None:
        """What runs for `key`, or None where nothing runs. Raises OperationalError where it is for something else."""
        command = self.command
        if command is None or not command.update():
            return None
        if command.key != key:
            raise OperationalError(
                f"busy: {self._what} runs ({command.progress()}); ask for that again to wait for it, then for this"
            )
        return command

    def start(
        self, key: object, steps: Sequence[Sequence[str]], *, blender: str = "", place: Path | None = None
    ) -> RunningCommand:
        """Start anew; see RunningCommand."""
        self.command = RunningCommand(key, steps, blender=blender, place=place)
        return self.command
