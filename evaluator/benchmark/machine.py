# SPDX-License-Identifier: GPL-3.0-or-later
"""How a machine works on a plan: the same on the one where `bench run` was typed and on every worker of a cluster."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ..checklist.benchmark import LoadedBenchmark
from ..environment.blender import find_blender
from ..environment.create import PACKAGE_ROOT
from ..protocol.bridge import SOCKET_PATH_LIMIT
from ..protocol.errors import BadInputError
from ..protocol.messages import Reporter
from .agent import Settings
from .isolation import NO_SANDBOX, blender_without_network, check_places, choose_sandbox
from .judging import Judging
from .leases import LeaseFolder
from .ledger import Ledger
from .plan import Task
from .records import Plan, Stage
from .resources import NO_LIMITS, Allowance, find_groups
from .run import Runner

MEMORY_SHARE: Final = 0.9
BRIDGE_PATH: Final = len("/matchcut-task-12345678/bridge/1234567-12345678.sock")
"""Bytes from where tasks have their folders to a Blender's socket."""


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
    allowance: Allowance = NO_LIMITS
    """What a task may take of it; `memory` None is nine tenths of what is there, where all together can be limited."""
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
        allowance=_allowance(machine.allowance),
    )
    work = settings.work or Path(tempfile.gettempdir())
    if blender_without_network() and len(os.fsencode(work)) + BRIDGE_PATH > SOCKET_PATH_LIMIT:
        # a port would do elsewhere, but none leads to a Blender without a network
        raise BadInputError(f"{work}: this path is too long for the sockets of tasks in it; choose a shorter --work")
    if settings.sandbox.works:
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


def _allowance(asked: Allowance) -> Allowance:
    if asked.memory is not None or not find_groups().works:
        return asked
    # above it the system would end programs of its own choice, this one among them
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return replace(asked, memory=int(whole * MEMORY_SHARE))
