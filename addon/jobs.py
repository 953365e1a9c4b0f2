# SPDX-License-Identifier: GPL-3.0-or-later
"""The evaluator commands that run for the window: a timer reads them, panels show the one that takes long.

One job at a time has progress and Cancel. Beside it there may be quiet ones, small commands that no panel tells of.
The window never waits: a timer reads what has come every 0.1 s. Under `blender -b` and in the bpy wheel timers do not
run, so `wait` reads the same job in a loop there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import bpy
from bpy.app.handlers import persistent

from ..evaluator.environment.condition import facts
from ..evaluator.protocol.children import child_environment
from ..evaluator.protocol.command import EvaluatorProcess, stop_all
from ..evaluator.protocol.errors import BadInputError, ExitStatus, MatchcutError, OperationalError
from ..evaluator.protocol.messages import Message
from .evaluator_process import find_evaluator
from .preferences import evaluator_choice

INTERVAL = 0.1
AREAS = {"VIEW_3D", "SEQUENCE_EDITOR", "CLIP_EDITOR", "PREFERENCES"}


@dataclass
class Job:
    """A command that runs or ran last. `finish` gets its `result` messages once it has ended well."""

    title: str
    process: EvaluatorProcess
    finish: Callable[[list[Message]], None]
    state: Literal["running", "done", "failed", "cancelled"] = "running"
    stage: str = ""
    text: str = ""
    done: int = 0
    total: int = 0
    error: str = ""
    details: str = ""
    warnings: list[str] = field(default_factory=list)
    results: list[Message] = field(default_factory=list)
    heard: Callable[[Message], None] | None = None
    """Called with every message as it comes."""
    failed: Callable[[str], None] | None = None
    """Called with the error where it ended badly."""

    since: tuple[float, int] = (0.0, 0)
    """When the present stage was first heard of, and what of it was done then."""

    @property
    def seconds_left(self) -> float | None:
        """How long the present stage will take at the pace so far; None where nothing of it was done yet."""
        began, before = self.since
        made = self.done - before
        if made < 1 or self.total <= self.done:
            return None
        return (time.monotonic() - began) / made * (self.total - self.done)

    @property
    def fraction(self) -> float:
        """Progress of the present stage in [0, 1]."""
        return min(1.0, self.done / self.total) if self.total > 0 else 0.0


@dataclass(frozen=True)
class EvaluatorState:
    """What was last found of the evaluator; looked up on events, never while drawing."""

    python: str = ""
    source: str = ""
    problem: str = ""
    condition: str = "ready"
    """`ready`, or why there is none: `missing`, `unfinished`, `outdated`, `broken`, or `wrong` where one is named."""
    noted: dict[str, Any] = field(default_factory=dict)
    """What was noted of its environment when that was made."""


_last: Job | None = None
_quiet: dict[str, Job] = {}
_abandoned: list[Job] = []
"""Cancelled ones that nobody waits for: read on until they have ended."""
_evaluator = EvaluatorState()


def last() -> Job | None:
    """The job that runs, else the one that ran last."""
    return _last


def running() -> Job | None:
    """The job that runs; None where none does."""
    return _last if _last is not None and _last.state == "running" else None


def evaluator() -> EvaluatorState:
    """What was last found of the evaluator."""
    return _evaluator


def refresh_evaluator() -> None:
    """Look for the evaluator again."""
    global _evaluator  # noqa: PLW0603
    try:
        choice = evaluator_choice()
        _evaluator = EvaluatorState(str(choice.python), choice.source, noted=facts(choice.python.parent.parent))
    except BadInputError as error:
        _evaluator = EvaluatorState(problem=str(error), condition=getattr(error, "condition", "wrong"))
    redraw()


def check_ready() -> None:
    """Raise BadInputError where another job runs, or where there is no evaluator: before anything is written for it."""
    _check_idle()
    find_evaluator()


def _check_idle() -> None:
    job = running()
    if job is not None:
        raise BadInputError(f"{job.title} is still running; wait for it, or cancel it")


def start(
    title: str,
    arguments: Sequence[str],
    finish: Callable[[list[Message]], None],
    *,
    prefix: Sequence[str] | None = None,
) -> Job:
    """Start `matchcut ARGUMENTS --messages` (under `prefix` instead of the evaluator's own); one job at a time.

    Raises BadInputError where another runs, or where there is no evaluator.
    """
    global _last  # noqa: PLW0603
    _check_idle()
    _last = _started(title, arguments, finish, prefix)
    redraw()
    return _last


def start_quiet(
    key: str,
    arguments: Sequence[str],
    finish: Callable[[list[Message]], None],
    heard: Callable[[Message], None] | None = None,
    *,
    failed: Callable[[str], None] | None = None,
    prefix: Sequence[str] | None = None,
    line: str | None = None,
) -> Job:
    """Start a small command that no panel tells of, beside the job and other quiet ones; `state` says how it ended.

    One that still runs under the same `key` is cancelled, and its results are dropped. `heard` is called with every
    message as it comes, `finish` with the results where it ends well, `failed` with the error where it does not; all on
    the main thread. `prefix` takes the place of the evaluator's own, `line` is what the command reads first. Raises
    BadInputError where there is no evaluator.
    """
    stop_quiet(key)
    job = _started(key, arguments, finish, prefix, line)
    job.heard, job.failed = heard, failed
    _quiet[key] = job
    return job


def stop_quiet(key: str) -> None:
    """Cancel the quiet command of this key, if it runs; nothing of it is taken in any more."""
    job = _quiet.pop(key, None)
    if job is not None:
        _abandon(job)


def _started(
    title: str,
    arguments: Sequence[str],
    finish: Callable[[list[Message]], None],
    prefix: Sequence[str] | None,
    line: str | None = None,
) -> Job:
    command = [*(prefix if prefix is not None else find_evaluator()), *arguments]
    job = Job(title, EvaluatorProcess(command, child_environment(bpy.app.binary_path), line=line), finish)
    if not bpy.app.background and not bpy.app.timers.is_registered(_tick):
        bpy.app.timers.register(_tick, first_interval=INTERVAL, persistent=True)
    return job


def _abandon(job: Job) -> None:
    job.finish, job.heard, job.failed = _drop, None, None
    job.process.cancel()
    _abandoned.append(job)


def cancel() -> None:
    """Ask the running job to stop; it is killed where it does not within a few seconds."""
    job = running()
    if job is not None:
        job.process.cancel()
        job.text = "cancelling"
        redraw()


def wait(job: Job) -> None:
    """Read `job` until it has ended (background mode). Raises OperationalError with its error where it failed."""
    try:
        while job.state == "running":
            _update(job)
            time.sleep(0.02)
    except BaseException:
        job.process.stop()
        raise
    if job.state != "done":
        raise OperationalError(job.error or f"{job.title}: cancelled")


def redraw() -> None:
    """Have the sidebars that show a job drawn again; the 3D view itself is not."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type in AREAS:
                for region in area.regions:
                    if region.type == "UI" or area.type == "PREFERENCES":
                        region.tag_redraw()


def _redraw_later() -> None:
    """After another file was opened: what its handlers changed has been taken in, and panels get their new heights."""
    redraw()


def _tick() -> float | None:
    job = running()
    if job is not None and _update(job):
        redraw()
    for key, quiet in list(_quiet.items()):
        _update(quiet)
        if quiet.state != "running" and _quiet.get(key) is quiet:  # what it finished with may have started another
            del _quiet[key]
    for old in list(_abandoned):
        _update(old)
        if old.state != "running":
            _abandoned.remove(old)
    return INTERVAL if running() or _quiet or _abandoned else None


def _update(job: Job) -> bool:
    """Take in what the job has said; whether there is anything new to show."""
    messages = job.process.poll()
    for message in messages:
        _take(job, message)
    status = job.process.returncode
    if status is not None:
        _end(job, status)
    return bool(messages) or status is not None


def _take(job: Job, message: Message) -> None:
    if job.heard is not None:
        job.heard(message)
    if message.type == "progress":
        if message.stage != job.stage or message.done < job.done:
            job.since = (time.monotonic(), message.done)
        job.stage, job.done, job.total, job.text = message.stage, message.done, message.total, message.text
    elif message.type == "status":
        job.text, job.stage, job.done, job.total = message.text, "", 0, 0
    elif message.type == "warning":
        job.warnings.append(message.text)
    elif message.type == "error":
        job.error = message.text
    elif message.type == "result":
        job.results.append(message)


def _end(job: Job, status: int) -> None:
    job.details = job.process.log_tail()
    if status == ExitStatus.CANCELLED or job.process.cancelling:
        job.state, job.error = "cancelled", ""
    elif status == ExitStatus.DONE:
        # an error that nobody expects ends the timer that calls this: the job has to have ended before that
        job.state, job.error = "failed", "its results could not be taken in; the system console tells more"
        try:
            job.finish(job.results)
            job.state, job.error = "done", ""
        except MatchcutError as error:
            job.error = str(error)
    else:
        job.state = "failed"
        last = job.details.splitlines()[-1:]
        said = [line.removeprefix("matchcut: ") for line in last if line.startswith("matchcut: ")]
        job.error = job.error or next(iter(said), f"the evaluator ended with status {status}; Copy Details tells more")
    if job.state == "failed" and job.failed is not None:
        job.failed(job.error)
    if job is _last:
        refresh_evaluator()


@persistent  # type: ignore[untyped-decorator]
def _scene_gone(*_: Any) -> None:
    """Another file was opened: the job was about a scene that is no longer there."""
    global _last  # noqa: PLW0603
    for key in list(_quiet):
        stop_quiet(key)
    job = running()
    if job is not None:
        job.finish = _drop
        job.process.cancel()
    else:
        _last = None
    refresh_evaluator()
    if not bpy.app.background and not bpy.app.timers.is_registered(_redraw_later):
        bpy.app.timers.register(_redraw_later, first_interval=INTERVAL)


def _drop(messages: list[Message]) -> None:
    """Takes the results of a job that nobody waits for."""


def register() -> None:
    """Listen for files being opened, and look for the evaluator."""
    bpy.app.handlers.load_post.append(_scene_gone)
    refresh_evaluator()


def unregister() -> None:
    """End what runs, and leave neither timer nor handler."""
    global _last  # noqa: PLW0603
    for timer in (_tick, _redraw_later):
        if bpy.app.timers.is_registered(timer):
            bpy.app.timers.unregister(timer)
    if _scene_gone in bpy.app.handlers.load_post:  # other code may have emptied the list
        bpy.app.handlers.load_post.remove(_scene_gone)
    stop_all()
    _last = None
    _quiet.clear()
    _abandoned.clear()
