# SPDX-License-Identifier: GPL-3.0-or-later
"""Work in threads over a stream of tasks: no more of it is in memory than there are threads.

What a task gives back is handled in the calling thread, which alone talks to the user and hears Ctrl-C.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from typing import Final, Generic, TypeVar

from .providers.base import StoppedError

LEAVE_SECONDS: Final = 10.0
"""What the threads get to end in, once nobody waits for them any more; they are daemons after that."""

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


class Stop:
    """The wish to end; waits end early by StoppedError."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def __bool__(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        """Wake everybody who sleeps."""
        self._event.set()

    def sleep(self, seconds: float) -> None:
        """Wait. Raises StoppedError where the run ends meanwhile."""
        end = time.monotonic() + seconds
        while not self._event.wait(max(0.0, min(0.5, end - time.monotonic()))):  # Ctrl-C is heard between the steps
            if time.monotonic() >= end:
                return
        raise StoppedError


class _Feed(Generic[_Task]):
    """One iterator for several threads."""

    def __init__(self, tasks: Iterable[_Task]) -> None:
        self._tasks = iter(tasks)
        self._lock = threading.Lock()

    def take(self) -> tuple[_Task] | None:
        with self._lock:
            for task in self._tasks:
                return (task,)
            return None


def work_through(
    tasks: Iterable[_Task],
    work: Callable[[_Task], _Result],
    *,
    threads: int,
    stop: Stop,
    leave: Callable[[], None] = lambda: None,
) -> Generator[tuple[_Task, _Result]]:
    """(task, result) as they are done, in any order. An exception of a task ends everything and is raised here.

    Where the caller stops listening (it closes this iterator, or Ctrl-C), `leave` is called to end what waits, and the
    threads get a moment to finish what they write. `stop` is set at the end in any case.
    """
    feed = _Feed(tasks)
    done: queue.Queue[tuple[_Task, _Result] | BaseException | None] = queue.Queue(threads)

    def give(item: tuple[_Task, _Result] | BaseException | None) -> None:
        while not stop:
            with suppress(queue.Full):
                done.put(item, timeout=0.2)
                return

    def run() -> None:
        try:
            while not stop:
                found = feed.take()
                if found is None:
                    break
                give((found[0], work(found[0])))
            give(None)
        except StoppedError:
            give(None)
        except BaseException as error:  # noqa: BLE001 - raised where the results are taken
            give(error)

    workers = [threading.Thread(target=run, name=f"judge-{number}", daemon=True) for number in range(threads)]
    for worker in workers:
        worker.start()
    running = len(workers)
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
                yield item
    finally:
        stop.set()
        if running:
            leave()
        end = time.monotonic() + LEAVE_SECONDS
        for worker in workers:
            worker.join(max(0.0, end - time.monotonic()))
