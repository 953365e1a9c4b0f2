# SPDX-License-Identifier: GPL-3.0-or-later
"""A running evaluator command: started, read without blocking, cancelled, never left behind.

Needs the standard library alone: the same code serves the window, `blender -b`, the bpy wheel and the MCP server.
"""

from __future__ import annotations

import atexit
import os
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from .children import child_environment, interrupt, kill_group, own_group
from .errors import BadInputError
from .messages import Message, parse_message

GRACE_SECONDS = 5.0
"""How long a cancelled command may take to end its own children before it is killed with them."""

DRAIN_SECONDS = 2.0


class EvaluatorProcess:
    """One running command that speaks the message protocol on its standard output.

    `poll` never blocks: a thread reads the lines. The command runs in a process group of its own, which is ended when
    this process does; where it is killed or crashes, the command sees its standard input end, and ends as if cancelled.
    """

    def __init__(
        self, command: Sequence[str], environment: dict[str, str] | None = None, *, line: str | None = None
    ) -> None:
        """Start `command` with `--messages --follow-parent`; `line` is what it reads first from its standard input.

        Raises BadInputError where it cannot be started.
        """
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (open until the command has ended)
        self._end_of_log = ""
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._cancelled_at: float | None = None
        self._ended_at: float | None = None
        try:
            self._process = subprocess.Popen(
                [*command, "--messages", "--follow-parent"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
                env=child_environment() if environment is None else environment, **own_group(),
            )  # fmt: skip
        except OSError as error:
            self._log.close()
            raise BadInputError(f"{command[0]}: the evaluator does not start ({error})") from error
        _running.add(self)
        if line is not None and self._process.stdin is not None:
            with suppress(OSError):  # it has ended already
                self._process.stdin.write(f"{line}\n".encode())
                self._process.stdin.flush()
        self._reader = threading.Thread(target=self._read, name="matchcut evaluator", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The command's process id, which is its process group's too."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit status, None until the command has ended and every message of it was read by `poll`."""
        if self._process.poll() is None:
            return None
        # a grandchild that survived may hold the pipe open for ever: its lines are not waited for
        self._reader.join(0)
        self._ended_at = self._ended_at or time.monotonic()
        if self._reader.is_alive() and time.monotonic() - self._ended_at < DRAIN_SECONDS:
            return None
        if not self._messages.empty():
            return None
        self._release()
        return self._process.returncode

    @property
    def cancelling(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled_at is not None

    def poll(self, limit: int = 200) -> list[Message]:
        """The messages that came since the last call, at most `limit`; kills a cancelled command whose time is up."""
        if self._cancelled_at is not None and time.monotonic() - self._cancelled_at > GRACE_SECONDS:
            self.kill()
        messages: list[Message] = []
        while len(messages) < limit:
            try:
                messages.append(self._messages.get_nowait())
            except queue.Empty:
                break
        return messages

    def cancel(self) -> None:
        """Ask the command to stop; it ends its own children. `poll` kills it where it does not stop in time."""
        if self._cancelled_at is not None or self._process.poll() is not None:
            return
        self._cancelled_at = time.monotonic()
        interrupt(self._process)

    def kill(self) -> None:
        """End the command and everything in its process group at once."""
        kill_group(self._process)

    def stop(self, grace: float = GRACE_SECONDS) -> None:
        """Cancel and wait until the command has ended, killing it after `grace` seconds. Blocks."""
        self.cancel()
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            pass
        self.kill()
        self._release()

    def log_tail(self, lines: int = 20) -> str:
        """The last lines of the command's standard error; read it once the command has ended."""
        return "\n".join((self._end_of_log if self._log.closed else self._read_log()).splitlines()[-lines:])

    def _read_log(self) -> str:
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - 16384))
        return self._log.read().decode("utf-8", "replace")

    def _release(self) -> None:
        """Keep the end of the log, and let go of everything that is open."""
        if not self._log.closed:
            self._end_of_log = self._read_log()
            self._log.close()
        if self._process.stdin is not None:
            with suppress(OSError):  # what it did not take is written again, and refused again
                self._process.stdin.close()
        _running.discard(self)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                message = parse_message(line.decode("utf-8", "replace"))
                if message is not None:
                    self._messages.put(message)


_running: set[EvaluatorProcess] = set()


def stop_all(grace: float = GRACE_SECONDS) -> None:
    """End every command that still runs: when the add-on is disabled, and when Blender quits."""
    for process in list(_running):
        process.stop(grace)


atexit.register(stop_all)
