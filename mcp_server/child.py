# SPDX-License-Identifier: GPL-3.0-or-later
"""A Blender in the background that belongs to this server and ends with it, however the server ends."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO, Final

from ..evaluator.protocol.bridge import Descriptor, read_descriptors, remove_descriptor
from ..evaluator.protocol.children import kill_group, own_group
from ..evaluator.protocol.errors import OperationalError

START_SECONDS: Final = 180.0  # a cold disk, a large scene
END_SECONDS: Final = 3.0
LAST_WORDS: Final = 300  # characters of the child's output that an error quotes


class Child:
    """A running child. Its bridge ends when its standard input does, of which this process holds the other end."""

    def __init__(self, process: subprocess.Popen[bytes], log: IO[bytes], descriptor: Descriptor) -> None:
        self._process = process
        self._log = log
        self.descriptor = descriptor

    @classmethod
    def start(
        cls, command: Sequence[str], label: str, environment: Mapping[str, str], given_up: threading.Event
    ) -> Child:
        """Start `command`, a Blender that serves its bridge under `label`, and wait until it listens.

        Raises OperationalError, quoting its last line, where it ends or does not listen in time, or where `given_up` is
        set before it does.
        """
        log = tempfile.TemporaryFile()  # noqa: SIM115  kept open for the child's whole life
        try:
            process = subprocess.Popen(
                list(command), stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, env=dict(environment),
                **own_group(hidden=True),
            )  # fmt: skip
        except OSError as error:
            log.close()
            raise OperationalError(f"{command[0]} does not start: {error}; run: matchcut doctor") from error
        try:
            return cls(process, log, _wait_for_descriptor(process, log, label, given_up))
        except BaseException:
            _end(process)
            log.close()
            raise

    def ended(self) -> int | None:
        """The exit status, or None while it runs."""
        return self._process.poll()

    def wait(self, seconds: float) -> int | None:
        """The exit status, waited for at most `seconds`; None while it still runs."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        """End it at once, whatever it is doing, and what it started (`blender` may be a script that starts Blender)."""
        kill_group(self._process)
        remove_descriptor(self.descriptor)

    def close(self) -> None:
        """End it: by the end of its input, and by force where that is not enough."""
        _end(self._process)
        remove_descriptor(self.descriptor)
        self._log.close()

    def last_words(self) -> str:
        """The last line that it wrote."""
        return _last_words(self._log)


def _wait_for_descriptor(
    process: subprocess.Popen[bytes], log: IO[bytes], label: str, given_up: threading.Event
) -> Descriptor:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        for descriptor in read_descriptors():
            if descriptor.label == label:
                return descriptor
        if process.poll() is not None:
            raise OperationalError(
                f"Blender ended with status {process.returncode} before it listened: "
                f"{_last_words(log) or 'it wrote nothing'}; run: matchcut doctor"
            )
        if given_up.wait(0.05):
            raise OperationalError("the server ends; Blender was still starting")
    raise OperationalError(
        f"Blender did not listen within {START_SECONDS:.0f} s: {_last_words(log) or 'it wrote nothing'}; "
        "run: matchcut doctor"
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(END_SECONDS)
    kill_group(process)


def _last_words(log: IO[bytes]) -> str:
    size = log.seek(0, 2)
    log.seek(max(0, size - 4096))
    lines = [line.strip() for line in log.read().decode("utf-8", "replace").splitlines()]
    kept = [line for line in lines if line and not line.startswith(("Blender quit", "Blender 5"))]
    kept = [line for line in kept if "| WARNING" not in line]  # Blender warns of what ends nothing
    return kept[-1][-LAST_WORDS:] if kept else ""
