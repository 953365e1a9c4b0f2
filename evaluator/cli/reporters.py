# SPDX-License-Identifier: GPL-3.0-or-later
"""The two ways a command tells how far it is: a progress bar for people, one JSON message a line for programs."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self

from ..protocol.messages import Message


class CommandReporter:
    """What `run_command` needs beyond the Reporter that functions see: the error line and the end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the terminal as it was."""

    def progress(self, stage: str, done: int, total: int, text: str = "") -> None:
        """See Reporter."""

    def status(self, text: str) -> None:
        """See Reporter."""

    def warning(self, text: str) -> None:
        """See Reporter."""

    def result(self, path: str, data: dict[str, Any]) -> None:
        """See Reporter."""

    def error(self, text: str) -> None:
        """The one line that ends a failed command."""

    def done(self, exit_status: int) -> None:
        """The last message."""


class MessageReporter(CommandReporter):
    """One JSON object a line on standard output, flushed at once: what a parent process reads."""

    def _write(self, message: Message) -> None:
        sys.stdout.write(message.to_line() + "\n")
        sys.stdout.flush()

    def progress(self, stage: str, done: int, total: int, text: str = "") -> None:
        """See Reporter."""
        self._write(Message("progress", text=text, stage=stage, done=done, total=total))

    def status(self, text: str) -> None:
        """See Reporter."""
        self._write(Message("status", text=text))

    def warning(self, text: str) -> None:
        """See Reporter."""
        self._write(Message("warning", text=text))

    def result(self, path: str, data: dict[str, Any]) -> None:
        """See Reporter."""
        self._write(Message("result", path=path, data=data))

    def error(self, text: str) -> None:
        """See CommandReporter."""
        self._write(Message("error", text=text))

    def done(self, exit_status: int) -> None:
        """See CommandReporter."""
        self._write(Message("done", exit_status=exit_status))


class ConsoleReporter(CommandReporter):
    """A progress bar per stage and plain lines, all on standard error: standard output is the command's answer.

    When every stage so far is finished its bar becomes a plain line, so that the answer stands below it.
    """

    def __init__(self) -> None:
        self._bars: Any = None  # rich.progress.Progress, imported at the first progress
        self._tasks: dict[str, Any] = {}

    def close(self) -> None:
        """See CommandReporter."""
        if self._bars is not None:
            self._bars.stop()
            self._bars = None
            self._tasks.clear()

    def progress(self, stage: str, done: int, total: int, text: str = "") -> None:
        """See Reporter."""
        if not sys.stderr.isatty():  # a log: one line per finished stage
            if done == total:
                self._line(f"{stage}: {done} of {total}")
            return
        if self._bars is None and not self._start():
            sys.stderr.write(f"\r\x1b[K{stage}: {done} of {total} {text}".rstrip() + ("\n" if done == total else ""))
            sys.stderr.flush()
            return
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage, total=total, text=text)
        self._bars.update(self._tasks[stage], completed=done, total=total, text=text)
        if self._bars.finished:
            self.close()

    def _start(self) -> bool:
        """Start the bars; False where rich is not installed, which is so while `setup` makes the environment."""
        try:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        except ImportError:
            return False
        self._bars = Progress(
            TextColumn("{task.description:<22}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[text]}", markup=False),
            console=Console(stderr=True),
            redirect_stdout=False,  # what goes to standard output has to arrive there, also into a pipe
            redirect_stderr=False,
        )
        self._bars.start()
        return True

    def _line(self, text: str) -> None:
        if self._bars is not None:
            self._bars.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            sys.stderr.write(text + "\n")

    def status(self, text: str) -> None:
        """See Reporter."""
        self._line(text)

    def warning(self, text: str) -> None:
        """See Reporter."""
        self._line(f"warning: {text}")

    def error(self, text: str) -> None:
        """See CommandReporter."""
        self.close()
        sys.stderr.write(f"matchcut: {text}\n")


def make_reporter(*, as_messages: bool) -> CommandReporter:
    """The reporter that a command runs under."""
    return MessageReporter() if as_messages else ConsoleReporter()
