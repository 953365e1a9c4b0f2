# SPDX-License-Identifier: GPL-3.0-or-later
"""One child Blender that renders a batch of a job's frames: started, looked at, ended with all that it started."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..environment.blender import Blender
from ..protocol.children import child_environment, kill_group, own_group
from ..protocol.errors import BadInputError
from ..protocol.render_job import PARTS, RenderStatus, part_status

FULL_BYTES = 2**20  # less than one frame takes


@dataclass(frozen=True)
class Batch:
    """Neighbouring reference frames of a job, both ends included, that one process renders."""

    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1


class Child:
    """A running Blender. Its standard input stays open as long as this process lives: it ends itself when it closes."""

    def __init__(self, folder: Path, batch: Batch, skip: Iterable[int], blender: Blender) -> None:
        """Start it. Raises BadInputError where Blender does not start."""
        self.batch = batch
        self.status = RenderStatus()
        self._folder = folder
        self._moved = time.monotonic()
        self._told = folder / PARTS / f"{batch.first:06d}-{batch.last:06d}.log"
        temporary = folder / PARTS / "temporary"
        temporary.mkdir(parents=True, exist_ok=True)
        (folder / part_status(batch.first, batch.last)).unlink(missing_ok=True)
        wanted = ["render-job", str(folder), "--follow-parent", "--frames", f"{batch.first}-{batch.last}"]
        skipped = ",".join(str(frame) for frame in sorted(skip) if batch.first <= frame <= batch.last)
        wanted += ["--skip", skipped] if skipped else []
        # what Blender keeps for itself while it runs is taken away with the job's other temporary files
        environment = child_environment() | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
        try:
            with self._told.open("wb") as log:
                self._process = subprocess.Popen(
                    blender.command(*wanted), stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT,
                    env=environment, **own_group(),
                )  # fmt: skip
        except OSError as error:
            raise BadInputError(f"{blender.path}: Blender does not start ({error}); run: matchcut doctor") from error

    def look(self) -> int | None:
        """Read its status; returns the exit status where it has ended."""
        ended = self._process.poll()
        # not written yet, or being replaced at this instant (Windows)
        with suppress(BadInputError):
            status = RenderStatus.read(self._folder, part_status(self.batch.first, self.batch.last))
            if (status.state, status.frame, status.done) != (self.status.state, self.status.frame, self.status.done):
                self._moved = time.monotonic()
            self.status = status
        return ended

    @property
    def seconds_still(self) -> float:
        """For how long its status has not moved."""
        return time.monotonic() - self._moved

    def end(self) -> None:
        """End it at once, with all that it started; frames are written whole or not at all, so nothing is lost."""
        kill_group(self._process, leftovers=True)
        if self._process.stdin is not None:
            self._process.stdin.close()
        with suppress(OSError), (self._folder / "render.log").open("ab") as log, self._told.open("rb") as told:
            shutil.copyfileobj(told, log)
        with suppress(OSError):
            self._told.unlink()

    def how_it_ended(self, returncode: int) -> str:
        """Why a child that says of itself neither done nor failed has ended, from the last lines that it printed."""
        lines = [line.strip() for line in self.printed() if line.strip() and line.strip() != "Blender quit"]
        errors = [line for line in lines if re.match(r"\w*(Error|Exception)\b", line)] or lines or ["no output"]
        number = -returncode if returncode < 0 else returncode - 128  # a shell in between adds 128
        signals = {6: "it aborted", 9: "it was killed, as for want of memory", 11: "it crashed"}
        how = signals.get(number, f"signal {number}" if 0 < number < 65 else f"exit status {returncode}")
        return f"{how}: {errors[-1]}"

    def printed(self) -> list[str]:
        """The lines that it has printed so far."""
        try:
            return self._told.read_text("utf-8", "replace").splitlines()
        except OSError:
            return []


def is_full(folder: Path) -> bool:
    """Whether nothing can be written to `folder` any more, so that a child could not even say so."""
    try:
        return shutil.disk_usage(folder).free < FULL_BYTES
    except OSError:
        return False


def forget_parts(folder: Path) -> None:
    """Remove what children of a job left: their statuses, logs and temporary files, and half-written results."""
    shutil.rmtree(folder / PARTS, ignore_errors=True)
    for place in (folder, folder / "frames", folder / "geometry"):
        for leftover in place.glob(".partial-*"):
            with suppress(OSError):
                leftover.unlink()
