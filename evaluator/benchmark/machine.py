# SPDX-License-Identifier: GPL-3.0-or-later
"""How a machine works on a plan: the same on the one where `bench run` was typed and on every worker of a cluster."""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..checklist.benchmark import LoadedBenchmark
from ..environment.blender import find_blender
from ..environment.create import PACKAGE_ROOT
from ..protocol.messages import Reporter
from .agent import Settings
from .isolation import NO_SANDBOX, check_places, choose_sandbox
from .judging import Judging
from .leases import LeaseFolder
from .ledger import Ledger
from .plan import Task
from .records import Plan, Stage
from .run import Runner


@dataclass(frozen=True)
class Machine:
    """What is said about the machines that work; nothing of it decides what is asked."""

    results: Path
    runs: Path
    hide: tuple[Path, ...] = ()
    isolated: bool = True
    """Refuse to run where agents cannot be kept apart from the benchmark's data."""
    work: Path | None = None
    keep_everything: bool = True
    memory: int | None = None
    """Bytes of data that a process of a task may have."""
    retry: bool = False
    budget_usd: float | None = None
    """That the judge may cost in one process."""
    prices: Path | None = None


@contextmanager
def open_runner(
    machine: Machine, plan: Plan, benchmark: LoadedBenchmark, stop: threading.Event, *, reporter: Reporter,
    tell: Callable[[Task, Stage, str], None],
) -> Iterator[Runner]:  # fmt: skip
    """Everything that tasks need on this machine, closed at the end.

    `stop` calls the run off; `tell` is called from threads. Raises BadInputError where something is missing here: a
    Blender, isolation, the judge's key.
    """
    ledger = Ledger(machine.results)
    settings = Settings(
        blender=find_blender(reporter.status),
        sandbox=choose_sandbox(allow_none=False) if machine.isolated else NO_SANDBOX,
        hide=tuple(path.resolve() for path in (benchmark.folder, machine.results, machine.runs, *machine.hide)),
        work=machine.work.resolve() if machine.work is not None else None,
        prices=machine.prices,
        keep_everything=machine.keep_everything,
        memory=machine.memory,
    )
    if settings.sandbox.works:
        work = settings.work or Path(tempfile.gettempdir())
        check_places(work, settings.hide, [PACKAGE_ROOT, Path(sys.prefix)])
    leases = LeaseFolder(ledger.leases)
    judging = None
    try:
        if plan.judge is not None:
            judging = Judging(
                plan.judge, machine.results, stop, reporter=reporter, budget_usd=machine.budget_usd,
                prices=machine.prices,
            )  # fmt: skip
        yield Runner(
            plan, benchmark, machine.runs, ledger, leases, settings, judging=judging, retry=machine.retry, stop=stop,
            tell=tell,
        )  # fmt: skip
    finally:
        if judging is not None:
            judging.close()
        leases.close()
