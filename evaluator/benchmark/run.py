# SPDX-License-Identifier: GPL-3.0-or-later
"""Works through a benchmark's tasks: each unit under a lease, each record published once.

Nothing is remembered but what is on disk. A run that was ended in any way is started again and does what is missing;
several may work in one folder at once, on one machine or on many.
"""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from ..checklist.benchmark import LoadedBenchmark
from ..protocol.errors import BadInputError, OperationalError
from ..protocol.version import VERSION
from .agent import AgentFailedError, Settings, make_run
from .harness import StoppedError
from .judging import Judging
from .leases import Lease, LeaseFolder, LeaseLostError
from .ledger import Ledger
from .plan import Keys, Task, stages_of
from .records import AgentRun, Failure, Plan, Stage, StageRecord, Usage
from .stages import StageFailedError, run_stage
from .workspace import lay_out

UNCOUNTED: Final = ("stopped", "lease_lost")
"""Failures that use up no try: the unit had no chance."""

State = Literal["done", "failed", "busy"]
"""Of a task: nothing is missing; what is missing cannot be had in this run; somebody else works on something of it."""


class UnitFailedError(Exception):
    """A unit came to no result."""

    def __init__(
        self, reason: str, detail: str, *, seconds: float = 0.0, usage: Usage | None = None, lasting: bool = False,
        log: str = "",
    ) -> None:  # fmt: skip
        super().__init__(detail)
        self.reason, self.detail, self.seconds, self.usage, self.lasting = reason, detail, seconds, usage, lasting
        self.log = log


class Halt:
    """Set once the run is called off, or the lease on the unit is lost."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self.lost = threading.Event()

    def is_set(self) -> bool:
        """Whether to end."""
        return self._stop.is_set() or self.lost.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait, at most so long; whether to end."""
        return self.lost.is_set() or self._stop.wait(seconds)


class Runner:
    """Does what is missing of tasks; its threads and other processes may use the same folder."""

    def __init__(
        self,
        plan: Plan,
        benchmark: LoadedBenchmark,
        runs: Path,
        ledger: Ledger,
        leases: LeaseFolder,
        settings: Settings,
        *,
        judging: Judging | None = None,
        retry: bool = False,
        stop: threading.Event | None = None,
        tell: Callable[[Task, Stage, str], None] = lambda task, stage, text: None,
    ) -> None:
        """`retry` tries units again whose tries are used up or whose failure lasts; `tell` is called from threads."""
        self.plan, self.benchmark, self.runs, self.ledger = plan, benchmark, runs, ledger
        self.leases, self.settings, self.judging = leases, settings, judging
        runs.mkdir(parents=True, exist_ok=True)  # what is hidden from agents has to be there from the start
        self.keys = Keys(plan)
        self.stop = stop or threading.Event()
        self._retry, self._tell = retry, tell
        self._stages = [stage for stage in stages_of(plan)[1:] if stage != "judge" or judging is not None]
        self.tried: set[str] = set()

    def work(self, task: Task) -> State:
        """Do what is missing of a task. A failed stage leaves the others alone: each needs the agent's run only.

        Raises OperationalError where the submission's place in RUNS is taken.
        """
        key = self.keys.run(task)
        if self.ledger.find_run(key) is None:
            state = self._attempt(task, "agent", key, lambda lease, halt: self._agent(task, key, lease, halt))
            if state != "done":
                return state
        run = self.ledger.find_run(key)
        assert run is not None
        lay_out(run, self.ledger.run_folder(key), self._place(task))
        states = {self._later(task, stage, run) for stage in self._stages if not self.stop.is_set()}
        return "busy" if "busy" in states else "failed" if "failed" in states or self.stop.is_set() else "done"

    def _later(self, task: Task, stage: Stage, run: AgentRun) -> State:
        key = self.keys.stage(task, stage, run)
        if self.ledger.has_stage(key):
            return "done"
        if stage == "judge" and self.judging is not None and self.judging.ended:
            return "failed"
        return self._attempt(task, stage, key, lambda lease, halt: self._stage(task, stage, key, run, lease, halt))

    def _attempt(self, task: Task, stage: Stage, key: str, do: Callable[[Lease, Halt], None]) -> State:
        """Do a unit under its lease; what becomes of it is on disk afterwards."""
        if not self._may_try(key):
            return "failed"
        lease = self.leases.take(key)
        if lease is None:
            return "busy"
        halt = Halt(self.stop)
        with lease.kept(on_loss=halt.lost.set):
            if self._is_done(stage, key):  # somebody else was done with it before we had the lease
                lease.finish()
                return "done"
            if lease.abandoned:
                self._fail(task, stage, key, UnitFailedError("abandoned", "whoever worked on it ended without a word"))
            if not self._may_try(key):
                return "failed"
            self.tried.add(key)
            begun = time.monotonic()
            try:
                do(lease, halt)
            except UnitFailedError as error:
                error.seconds = error.seconds or time.monotonic() - begun
                self._fail(task, stage, key, error)
                return "failed"
            lease.finish()
            self._tell(task, stage, "done")
        return "done"

    def _may_try(self, key: str) -> bool:
        """Whether a unit is to be tried: once in this run, and while its tries last."""
        if self.stop.is_set() or key in self.tried:
            return False
        counted = [failure for failure in self.ledger.failures_of(key) if failure.reason not in UNCOUNTED]
        return self._retry or not counted or (not counted[-1].lasting and len(counted) < self.plan.attempts)

    def _is_done(self, stage: Stage, key: str) -> bool:
        return self.ledger.has_run(key) if stage == "agent" else self.ledger.has_stage(key)

    def _fail(self, task: Task, stage: Stage, key: str, error: UnitFailedError) -> None:
        self._tell(task, stage, f"{error.reason}: {error.detail}")
        failure = Failure(
            key=key, stage=stage, configuration=task.configuration.name, setting=task.setting, video=task.video.id,
            attempt=0, reason=error.reason, detail=error.detail[:2000], failed_at=_now(),
            seconds=round(error.seconds, 2), usage=error.usage, lasting=error.lasting, matchcut=VERSION,
        )  # fmt: skip
        with suppress(OSError):  # on a full disk nothing more can be written down
            self.ledger.publish_failure(failure, error.log)

    def _place(self, task: Task) -> Path:
        return self.runs / task.configuration.name / task.setting / task.video.id

    def _agent(self, task: Task, key: str, lease: Lease, halt: Halt) -> None:
        attempt = len(self.ledger.failures_of(key))
        try:
            with self.ledger.staging() as staged:
                run = make_run(task, key, self.plan.limits, self.settings, staged, halt, attempt=attempt)
                try:
                    lease.check()
                    published = self.ledger.publish_run(staged, run)
                except LeaseLostError as error:
                    raise UnitFailedError(
                        "lease_lost", str(error), seconds=run.wall_seconds, usage=run.usage
                    ) from error
                if not published:
                    raise UnitFailedError(
                        "lease_lost", "somebody else has published it", seconds=run.wall_seconds, usage=run.usage
                    )
        except AgentFailedError as error:
            raise UnitFailedError(
                error.reason, error.detail, seconds=error.seconds, usage=error.usage, lasting=error.lasting,
                log=error.log,
            ) from error  # fmt: skip
        except StoppedError as error:
            reason = "lease_lost" if halt.lost.is_set() else "stopped"
            raise UnitFailedError(reason, "the agent was ended", seconds=error.seconds, usage=error.usage) from error
        except (BadInputError, OperationalError) as error:
            raise UnitFailedError("not_started", str(error)) from error
        except OSError as error:
            raise UnitFailedError(*_system(error)) from error

    def _stage(self, task: Task, stage: Stage, key: str, run: AgentRun, lease: Lease, halt: Halt) -> None:
        begun = time.monotonic()
        try:
            result = self._result(task, stage, key, run, halt)
            record = StageRecord(
                key=key, stage=stage, configuration=task.configuration.name, setting=task.setting,
                video=task.video.id, run=run.key, seconds=round(time.monotonic() - begun, 3), finished_at=_now(),
                matchcut=VERSION, result=result,
            )  # fmt: skip
            lease.check()
            self.ledger.publish_stage(record)  # where somebody was first, the answer is the same
        except StageFailedError as error:
            reason = "lease_lost" if halt.lost.is_set() else error.reason
            raise UnitFailedError(reason, error.detail, lasting=error.lasting) from error
        except LeaseLostError as error:
            raise UnitFailedError("lease_lost", str(error)) from error
        except (BadInputError, OperationalError) as error:
            raise UnitFailedError("failed", str(error)) from error
        except OSError as error:
            raise UnitFailedError(*_system(error)) from error

    def _result(self, task: Task, stage: Stage, key: str, run: AgentRun, halt: Halt) -> dict[str, Any]:
        if stage == "judge":
            assert self.judging is not None
            return self.judging.judge(self.benchmark, self.runs, task)
        seed = int(key[:7], 16)  # nobody knows the frames before the submission is there
        folder = self.ledger.run_folder(run.key)
        return run_stage(stage, self.plan, task, run, folder, seed=seed, blender=self.settings.blender.path, stop=halt)


def _system(error: OSError) -> tuple[str, str]:
    full = error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
    where = f"{error.filename}: " if error.filename is not None else ""
    return "disk_full" if full else "system", f"{where}{error.strerror or error}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
