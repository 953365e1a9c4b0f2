# SPDX-License-Identifier: GPL-3.0-or-later
"""Render jobs of this server: `matchcut render` as a child for each, which ends when the server does.

A job renders a copy of the scene in a Blender of its own, so it goes on when the open Blender is closed. Its folder,
which no other job gets, is its name.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

from ..evaluator.protocol.command import EvaluatorProcess
from ..evaluator.protocol.errors import BadInputError, ExitStatus, OperationalError
from ..evaluator.protocol.messages import Message
from ..evaluator.protocol.render_job import RenderStatus
from ..evaluator.protocol.transcript import TranscriptWriter
from .commands import command_line, environment_of
from .records import RenderState
from .workplace import Workplace

MOST_WARNINGS: Final = 20
LOG_BYTES: Final = 64 * 1024  # of a job's log


class Render:
    """One job: its child, and what that has said so far."""

    def __init__(self, folder: Path, process: EvaluatorProcess, transcript: TranscriptWriter | None = None) -> None:
        self.folder = folder
        self.blender = ""  # the program that was open when it was started
        self._process = process
        self._transcript = transcript
        self._begun, self._seconds = time.monotonic(), 0.0
        self._state: Literal["running", "done", "failed", "cancelled"] = "running"
        self._text, self._error = "finding Blender", ""
        self._stage, self._before, self._done, self._total = "", 0, 0, 0
        self._warnings: list[str] = []
        self._result: dict[str, Any] = {}
        self._record()

    def log(self) -> str:
        """The end of what Blender has said, and where the command has failed, what that has said."""
        try:
            with (self.folder / "render.log").open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - LOG_BYTES))
                said = file.read().decode("utf-8", "replace")
        except OSError:
            said = ""
        own = self._process.log_tail() if self._state != "running" else ""
        return "\n".join([f"{self.folder}: {self._line()}", *filter(None, (self._error, own, said))])

    def update(self) -> bool:
        """Take in what the child has said; whether it still runs."""
        if self._state != "running":
            return False
        for message in self._process.poll():
            self._take(message)
        self._seconds = time.monotonic() - self._begun
        status = self._process.returncode
        if status is not None:
            self._end(status)
        return status is None

    def cancel(self) -> None:
        """Ask the child to stop; `update` ends it where it does not within a few seconds."""
        self._process.cancel()

    def stop(self) -> None:
        """End the child, and wait for it."""
        self._process.stop()

    @property
    def progress(self) -> tuple[int, int, str]:
        """Steps done and in all, which never go back, and a line that says so: `render: frame 3 of 24, 0:12 left`."""
        return self._before + self._done, self._before + self._total, self._line()

    def state(self, note: str = "") -> RenderState:
        """What is known of it now; `note` is passed on."""
        self.update()
        status = self._status()
        return RenderState(
            note=note, job=str(self.folder), state=self._state, progress=self._line(),
            done=status.done, total=status.total, seconds=round(self._seconds, 1),
            seconds_left=status.seconds_left if self._state == "running" else None,
            settings=_settings(status), video=self._result.get("video"), geometry=self._result.get("geometry"),
            failed_frames=[int(entry["frame"]) for entry in status.failed], error=self._error,
            warnings=self._warnings[:MOST_WARNINGS],
        )  # fmt: skip

    def _status(self) -> RenderStatus:
        try:
            return RenderStatus.read(self.folder)
        except BadInputError:  # not begun yet, or being replaced at this instant (Windows)
            return RenderStatus()

    def _line(self) -> str:
        if self._state != "running":
            return self._state
        stage = self._stage or "start"
        count = f"frame {self._done} of {self._total}" if self._total and not self._text else self._text
        return f"{stage}: {count}"

    def _take(self, message: Message) -> None:
        if message.type == "progress":
            if message.stage != self._stage:
                self._before += self._total
                self._stage = message.stage
            self._done, self._total, self._text = message.done, message.total, message.text
        elif message.type == "status" and not self._stage:
            self._text = message.text
        elif message.type == "warning":
            self._warnings.append(message.text)
        elif message.type == "error":
            self._error = message.text
        elif message.type == "result":
            self._result = message.data or {}

    def _end(self, status: int) -> None:
        if status == ExitStatus.DONE:
            self._state, self._error = "done", ""
        elif status == ExitStatus.CANCELLED or self._process.cancelling:
            self._state, self._error = "cancelled", ""
        else:
            self._state = "failed"
            last = (self._process.log_tail().splitlines() or ["it said nothing"])[-1]
            self._error = self._error or f"the render ended with status {status}: {last[:300]}"
        self._record()

    def _record(self) -> None:
        if self._transcript is None:
            return
        status = self._status()
        self._transcript.write(
            "render", job=self.folder.name, state=self._state, seconds=round(self._seconds, 1), done=status.done,
            total=status.total, settings=_settings(status), failed_frames=len(status.failed),
        )  # fmt: skip


class Renders:
    """The jobs that this server has started; one runs at a time."""

    def __init__(self, workplace: Workplace, transcript: TranscriptWriter | None = None) -> None:
        """`workplace` says where files may be; each job's begin and end are written to the `transcript`."""
        self.workplace = workplace
        self._transcript = transcript
        self._jobs: list[Render] = []

    def running(self) -> Render | None:
        """The job that runs, or None."""
        return next((job for job in self._jobs if job.update()), None)

    def check_idle(self) -> None:
        """Raise OperationalError where a job runs: two would share the machine, and both take twice as long."""
        job = self.running()
        if job is not None:
            raise OperationalError(
                f"busy: {job.folder} is being rendered ({job.progress[2]}); call render_wait, or render_cancel"
            )

    def check_refining(self) -> None:
        """Raise BadInputError where the task is done without refinement, and all frames were rendered."""
        if self.workplace.task.no_refine and any(job.state().video for job in self._jobs):
            raise BadInputError(
                "not_allowed: this task is rendered once, without refinement: all frames are rendered, so rendering, "
                "looking and comparing are over; call submit"
            )

    def start(self, arguments: Sequence[str], folder: Path, blender: str = "") -> Render:
        """Start `matchcut render ARGUMENTS --out FOLDER`.

        `blender` is the program that is open; it renders unless `$BLENDER` names another, or it is not to be found from
        here (it may be a sandbox).
        """
        command = command_line(["render", *arguments, "--out", str(folder)])
        job = Render(folder, EvaluatorProcess(command, environment_of(blender)), self._transcript)
        job.blender = blender
        self._jobs.append(job)
        return job

    def find(self, name: str) -> Render:
        """The job whose folder this is; the last one where `name` is empty. Raises BadInputError for another."""
        for job in reversed(self._jobs):
            if not name or Path(name) == job.folder:
                return job
        known = ", ".join(str(job.folder) for job in self._jobs) or "none was started"
        raise BadInputError(f"bad_params: {name[:200] or 'job'}: no render job of this server; there are: {known}")

    def last(self) -> Render | None:
        """The job that was started last, or None."""
        return self._jobs[-1] if self._jobs else None

    def close(self) -> None:
        """End what runs."""
        for job in self._jobs:
            if job.update():
                job.stop()
                job.update()


def _settings(status: RenderStatus) -> str:
    if not status.engine:
        return ""
    parts = [f"{status.engine} on {status.device}"]
    parts += [f"{status.samples} samples"] if status.samples else []
    return ", ".join([*parts, status.denoiser or "not denoised", status.view_transform])
