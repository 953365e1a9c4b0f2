# SPDX-License-Identifier: GPL-3.0-or-later
"""The tasks of one process in threads: as many at a time as asked for, until nothing is left that can be done here."""

from __future__ import annotations

import queue
import threading
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from ..protocol.errors import OperationalError
from ..protocol.messages import Reporter
from .plan import Task
from .run import Runner, State

WAIT_SECONDS: Final = 0.5
"""After a look at a task that others work on."""
STAGE: Final = "bench"


@dataclass
class Summary:
    """How the tasks of a run ended."""

    tasks: int
    states: Counter[State] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def run_tasks(runner: Runner, tasks: Sequence[Task], *, workers: int, wait: bool, reporter: Reporter) -> Summary:
    """Do what is missing of the tasks.

    Tasks that somebody else works on come again until they are done, or, without `wait`, are left to them. Ctrl-C ends
    the agents that run, and then this. A fault of the program itself in a thread is raised here.
    """
    summary = Summary(len(tasks))
    left: deque[Task] = deque(tasks)
    lock = threading.Lock()
    done: queue.Queue[tuple[Task, State | OperationalError] | BaseException | None] = queue.Queue()

    def run() -> None:
        try:
            while not runner.stop.is_set():
                with lock:
                    if not left:
                        break
                    task = left.popleft()
                try:
                    state: State | OperationalError = runner.work(task)
                except OperationalError as error:
                    state = error
                if state == "busy" and wait:
                    with lock:
                        left.append(task)
                    runner.stop.wait(WAIT_SECONDS)
                    continue
                done.put((task, state))
            done.put(None)
        except BaseException as error:  # noqa: BLE001 - raised where the results are taken
            done.put(error)

    threads = [threading.Thread(target=run, name=f"bench-{number}", daemon=True) for number in range(workers)]
    for thread in threads:
        thread.start()
    reporter.progress(STAGE, 0, len(tasks))
    running = len(threads)
    try:
        while running:
            try:
                item = done.get(timeout=0.2)  # in short steps, so that Ctrl-C is heard on every system
            except queue.Empty:
                continue
            if item is None:
                running -= 1
            elif isinstance(item, BaseException):
                raise item
            else:
                _take(summary, *item)
                reporter.progress(STAGE, summary.states.total(), len(tasks), item[0].name)
    finally:
        runner.stop.set()
        for thread in threads:  # each ends its agent, and notes that
            with suppress(KeyboardInterrupt):
                thread.join()
    return summary


def _take(summary: Summary, task: Task, state: State | OperationalError) -> None:
    if isinstance(state, OperationalError):
        summary.problems.append(f"{task.name}: {state}")
        state = "failed"
    summary.states[state] += 1
