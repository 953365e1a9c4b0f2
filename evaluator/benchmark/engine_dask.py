# SPDX-License-Identifier: GPL-3.0-or-later
"""The tasks of a run on the workers of a `dask.distributed` cluster.

Dask only says which worker looks at which task. What a task is, who has it and what is done of it stand on the shared
folder: a worker that dies loses its lease, a scheduler that dies takes nothing with it, and whoever is started next,
with or without a cluster, does what is missing. The scheduler holds a few tasks for each thread of the workers and
never the whole plan, so that its memory does not grow with it.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from distributed import Client, Future, KilledWorker, WorkerPlugin, get_worker

from ..checklist.benchmark import load_benchmark
from ..protocol.errors import BadInputError, OperationalError
from ..protocol.messages import Reporter, SilentReporter
from .agents.launch import check_ready
from .agents.load import ARTIST, load_definition
from .engine import STAGE, Summary
from .ledger import Ledger
from .machine import Machine, open_runner
from .plan import Keys, Task, stages_of
from .records import Plan, Stage
from .run import Runner, State

AHEAD: Final = 4
"""Tasks that the scheduler holds for each thread of the workers."""
LOOK_SECONDS: Final = 2.0
"""Between two looks at who works, and at a task that others work on."""
CONNECT_SECONDS: Final = 30.0
END_SECONDS: Final = 40.0
"""That agents have to end in when a run is called off; they are killed after half of it."""


@dataclass(frozen=True)
class Job:
    """A run, as its workers need to know it."""

    plan: Plan
    benchmark: Path
    machine: Machine
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])

    @property
    def name(self) -> str:
        """As the cluster calls it."""
        return f"matchcut-bench-{self.id}"


@dataclass(frozen=True)
class Answer:
    """What became of a task on a worker."""

    state: State
    problem: str = ""
    told: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    """Units that were tried, where the task is looked at again."""
    unfit: str = ""
    """Why nothing can be done on this worker."""
    worker: str = ""
    """Which it was."""
    judge_ended: str = ""


class Site(WorkerPlugin):
    """A run's place in a worker's process: what its threads share, opened by the first task."""

    def __init__(self, job: Job) -> None:
        self.job, self.name = job, job.name

    def setup(self, worker: Any) -> None:
        """Called by the worker, also by one that comes later."""
        self._lock, self.stop, self._open = threading.Lock(), threading.Event(), ExitStack()
        self._runner: Runner | None = None
        self._ready: set[str] = set()
        self._told = threading.local()
        self._working = 0

    async def teardown(self, worker: Any) -> None:
        """Called when the run or the worker ends: what works is called off, so that its leases are given back."""
        self.stop.set()
        end = time.monotonic() + END_SECONDS / 2 + 2
        while self._working and time.monotonic() < end:
            await asyncio.sleep(0.1)
        self._open.close()

    def work(self, configuration: str, setting: Any, video: str, tried: Sequence[str]) -> Answer:
        """Do what is missing of a task."""
        with self._lock:
            self._working += 1
        try:
            return self._work(configuration, setting, video, tried)
        finally:
            with self._lock:
                self._working -= 1

    def _work(self, configuration: str, setting: Any, video: str, tried: Sequence[str]) -> Answer:
        told: list[str] = []
        self._told.lines = told
        try:
            runner = self._opened()
            one = next(one for one in runner.plan.configurations if one.name == configuration)
            task = Task(one, setting, runner.benchmark.video(video))
            self._check_agent(runner, task)
        except BadInputError as error:
            return Answer("failed", unfit=str(error), worker=get_worker().address)
        runner.tried.update(tried)
        before = set(runner.tried).difference(tried)
        problem = ""
        try:
            state = runner.work(task)
        except OperationalError as error:
            state, problem = "failed", str(error)
        again = tuple(runner.tried - before) if state == "busy" else ()
        ended = runner.judging.ended if runner.judging is not None else ""
        return Answer(state, problem, tuple(told), again, judge_ended=ended)

    def _opened(self) -> Runner:
        with self._lock:
            if self._runner is None:
                benchmark = load_benchmark(self.job.benchmark)
                self._runner = self._open.enter_context(
                    open_runner(
                        self.job.machine, self.job.plan, benchmark, self.stop, reporter=SilentReporter(),
                        tell=self._tell,
                    )
                )  # fmt: skip
            return self._runner

    def _tell(self, task: Task, stage: Stage, text: str) -> None:
        self._told.lines.append(f"{task.name} {stage}: {text}")

    def _check_agent(self, runner: Runner, task: Task) -> None:
        """Raise BadInputError where the task's agent is to be started, and cannot be here."""
        one = task.configuration
        if one.name in self._ready or one.agent.startswith(ARTIST) or runner.ledger.has_run(runner.keys.run(task)):
            return
        try:
            check_ready(load_definition(one.agent))
        except BadInputError as error:
            raise BadInputError(f"configuration {one.name}: {error}") from error
        self._ready.add(one.name)


def work_on() -> Callable[[str, str, str, str, Sequence[str]], Answer | None]:
    """The function that runs on a worker, which says None where the run was called off meanwhile.

    It travels as its code, being no function of a module, so that a scheduler can read it that knows no Matchcut.
    """

    def work(name: str, configuration: str, setting: str, video: str, tried: Sequence[str]) -> Answer | None:
        from distributed import get_worker

        site = get_worker().plugins.get(name)
        answer: Answer | None = None if site is None else site.work(configuration, setting, video, tried)
        return answer

    return work


def call_off(name: str, dask_worker: Any) -> None:
    """Tell a worker, busy as it may be, that a run is over."""
    site = dask_worker.plugins.get(name)
    if site is not None:
        site.stop.set()


def run_on_cluster(
    job: Job, tasks: Sequence[Task], *, scheduler: str, resources: Mapping[str, float], wait: bool, reporter: Reporter
) -> Summary:
    """Do what is missing of the tasks on the workers of the scheduler at that address, or of that file.

    A task takes one thread of a worker and the `resources` that it was started with. Tasks that somebody else works on
    come again until they are done, or, without `wait`, are left to them. Ctrl-C ends the agents that run, and then
    this. Raises OperationalError where the scheduler cannot be reached or goes away, or no worker can do anything.
    """
    left = [task for task, done in zip(tasks, _done(job, tasks), strict=True) if not done]
    summary = Summary(len(tasks))
    if len(left) < len(tasks):
        summary.states["done"] = len(tasks) - len(left)
    if not left:
        return summary
    with _connected(scheduler) as client:
        client.register_plugin(Site(job))
        run = _Run(client, job, left, summary, scheduler=scheduler, resources=resources, wait=wait, reporter=reporter)
        try:
            return run.work()
        finally:
            run.end()


def _done(job: Job, tasks: Sequence[Task]) -> Iterator[bool]:
    """Whether everything of a task is there already: then no worker has to look at it."""
    ledger, keys, stages = Ledger(job.machine.results), Keys(job.plan), stages_of(job.plan)[1:]
    for task in tasks:
        run = ledger.find_run(keys.run(task))
        yield (
            run is not None
            and (not run.submitted or (job.machine.runs / task.name).is_dir())
            and all(ledger.has_stage(keys.stage(task, stage, run)) for stage in stages)
        )


@contextmanager
def _connected(scheduler: str) -> Iterator[Client]:
    where: dict[str, Any] = {"address": scheduler} if "://" in scheduler else {"scheduler_file": scheduler}
    if "://" not in scheduler and not Path(scheduler).is_file():
        raise BadInputError(
            f"--scheduler {scheduler}: is neither an address such as tcp://10.0.0.1:8786 nor the file that dask "
            "scheduler --scheduler-file has written"
        )
    try:
        client = Client(**where, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise OperationalError(
            f"--scheduler {scheduler}: cannot be reached ({error}); is dask scheduler running?"
        ) from error
    try:
        yield client
    finally:
        client.close(timeout=5)


class _Run:
    """One client's side of a run."""

    def __init__(
        self, client: Client, job: Job, tasks: Sequence[Task], summary: Summary, *, scheduler: str,
        resources: Mapping[str, float], wait: bool, reporter: Reporter,
    ) -> None:  # fmt: skip
        self._client, self._job, self._scheduler = client, job, scheduler
        self._resources, self._wait, self._reporter = dict(resources), wait, reporter
        self._summary = summary
        self._left: deque[tuple[Task, tuple[str, ...]]] = deque((task, ()) for task in tasks)
        self._later: deque[tuple[float, Task, tuple[str, ...]]] = deque()
        self._running: dict[Future, tuple[Task, tuple[str, ...]]] = {}
        self._done: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._unfit: dict[str, str] = {}
        self._threads: dict[str, int] = {}
        self._looked = 0.0
        self._number, self._work_on = 0, work_on()
        self._waiting = False

    def work(self) -> Summary:
        """Until nothing is left that can be done."""
        self._reporter.progress(STAGE, self._summary.states.total(), self._summary.tasks)
        while self._left or self._later or self._running:
            now = time.monotonic()
            while self._later and self._later[0][0] <= now:
                _, task, tried = self._later.popleft()
                self._left.append((task, tried))
            if now - self._looked >= LOOK_SECONDS:
                self._look(now)
            fit = [address for address in self._threads if address not in self._unfit]
            while self._left and len(self._running) < AHEAD * sum(self._threads[address] for address in fit):
                self._submit(*self._left.popleft(), fit)
            with suppress(queue.Empty):  # in short steps, so that Ctrl-C is heard on every system
                self._take(self._done.get(timeout=0.2))
        return self._summary

    def _look(self, now: float) -> None:
        """Who works, and has what a task takes."""
        self._looked = now
        try:
            self._threads = {
                address: worker["nthreads"]
                for address, worker in self._client.scheduler_info(n_workers=-1)["workers"].items()
                if all(worker["resources"].get(name, 0) >= amount for name, amount in self._resources.items())
            }
        except (OSError, RuntimeError) as error:  # what dask says of a connection that is gone
            raise self._gone() from error
        if not self._threads and not self._waiting:
            having = "".join(f" with {name}={amount:g}" for name, amount in self._resources.items())
            self._reporter.status(f"{self._scheduler}: no worker{having} yet; waiting for one")
        self._waiting = not self._threads
        if self._threads and set(self._threads) <= set(self._unfit):
            raise OperationalError(f"no worker can do anything: {next(iter(self._unfit.values()))}")

    def _submit(self, task: Task, tried: tuple[str, ...], fit: Sequence[str]) -> None:
        self._number += 1
        future = self._client.submit(
            self._work_on, self._job.name, task.configuration.name, task.setting, task.video.id, tried,
            key=(self._job.name, self._number), pure=False, resources=self._resources or None,
            workers=list(fit) if self._unfit else None,
        )  # fmt: skip
        self._running[future] = (task, tried)
        future.add_done_callback(self._done.put)

    def _take(self, future: Future) -> None:
        task, tried = self._running.pop(future)
        if future.status == "cancelled":
            raise self._gone()
        try:
            answer = future.result() or Answer("failed")
        except KilledWorker:  # several died over it; its failures are on disk, and end its tries
            self._again(task, tried)
            return
        for line in answer.told:
            self._reporter.status(line)
        if answer.unfit:
            self._set_aside(answer, task, tried)
        elif answer.state == "busy" and self._wait:
            self._again(task, answer.tried)
        else:
            self._summary.states[answer.state] += 1
            problems = [f"{task.name}: {answer.problem}"] if answer.problem else []
            problems += [f"judge: nothing more was sent: {answer.judge_ended}"] if answer.judge_ended else []
            self._summary.problems += [one for one in problems if one not in self._summary.problems]
            self._reporter.progress(STAGE, self._summary.states.total(), self._summary.tasks, task.name)

    def _again(self, task: Task, tried: tuple[str, ...]) -> None:
        self._later.append((time.monotonic() + LOOK_SECONDS, task, tried))

    def _set_aside(self, answer: Answer, task: Task, tried: tuple[str, ...]) -> None:
        """A worker that lacks something would fail every task faster than the others do them: it gets no more."""
        if answer.worker not in self._unfit:
            self._reporter.warning(f"worker {answer.worker} gets no tasks: {answer.unfit}")
        self._unfit[answer.worker] = answer.unfit
        self._left.appendleft((task, tried))
        self._looked = 0.0

    def _gone(self) -> OperationalError:
        return OperationalError(
            f"{self._scheduler}: the scheduler has gone away. What was done is kept: start one again and run the same "
            "command, or work on without one by matchcut bench resume"
        )

    def end(self) -> None:
        """Call off what still runs, and leave nothing of the run on the cluster."""
        if self._client.status != "running":
            return
        with suppress(OSError, RuntimeError):  # of a scheduler that goes away meanwhile
            end = time.monotonic() + END_SECONDS
            if self._running:
                self._client.run(call_off, self._job.name, on_error="ignore")
                while self._is_processing() and time.monotonic() < end:
                    time.sleep(0.2)
                self._client.cancel(list(self._running))
            self._client.unregister_worker_plugin(self._job.name)

    def _is_processing(self) -> bool:
        found = self._client.processing().values()
        return any(isinstance(key, tuple) and key[0] == self._job.name for keys in found for key in keys)
