# SPDX-License-Identifier: GPL-3.0-or-later
"""Judging a benchmark through a service's batches: the same records, at batch prices, within a day.

Whatever is interrupted, the next run finds the batches that were sent and reads them. What came back unusable is asked
again in a further batch, as often as it would be alone.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from ...checklist.benchmark import LoadedBenchmark, load_benchmark
from ...checklist.records import SETTINGS
from ...protocol.errors import BadInputError, OperationalError
from ...protocol.messages import Reporter
from ..attempts import ACCEPTED, BUDGET_SPENT, Outcome, may_ask_again
from ..benchmark import RunSummary, Selection, Unit, VideoCache, find_units, finish, teller
from ..evidence import EvidenceError
from ..pool import Stop, work_through
from ..prices import BudgetError
from ..providers.base import FatalError, JudgeRequest, RecoverableError, Reply, RequestError, Tokens
from ..records import Attempt
from ..reply import ReplyError, read_reply
from ..run import threads_for
from ..work import Desk, Prepared, Result, Task, WarningsKept, close, judge_name
from .records import BatchRecord, Item, Waiting
from .services import Answer, BatchService, batch_service, parse_lines
from .shelf import Shelf

STAGE: Final = "batch"
_T = TypeVar("_T")


def judge_in_batches(
    benchmark: LoadedBenchmark,
    runs: Path,
    selection: Selection,
    desk: Desk,
    *,
    results: Path,
    reporter: Reporter,
    concurrency: int,
    stop: Stop,
    poll: float,
) -> RunSummary:
    """As `judge_benchmark`, through batches; waits for them, looking every `poll` seconds.

    Raises BadInputError where the judge has no batches, OperationalError where the service refuses to tell of one.
    """
    run = _Batches(benchmark, runs, selection, desk, results, reporter, concurrency, stop)
    run.adopt()
    while True:
        sent = run.send()
        run.wait(poll)
        if not sent:
            return run.close_units()


@dataclass(frozen=True)
class _Line:
    """One request ready for a batch."""

    item: Item
    data: bytes
    attempts: list[Attempt]


class _Batches:
    def __init__(
        self,
        benchmark: LoadedBenchmark,
        runs: Path,
        selection: Selection,
        desk: Desk,
        results: Path,
        reporter: Reporter,
        concurrency: int,
        stop: Stop,
    ) -> None:
        self._benchmark, self._runs, self._selection = benchmark, runs, selection
        self._desk, self._results, self._reporter = desk, results, reporter
        self._concurrency, self._stop = concurrency, stop
        self._service: BatchService = batch_service(desk.provider)
        self._shelf = Shelf(results, desk.provider.name, judge_name(desk.provider))
        self._cache = VideoCache(results)
        self._open: set[str] = set()
        self._own: set[str] = set()
        """Marks of the batches that this run has paid for out of its budget."""
        self._failed: set[str] = set()
        self._answered = 0
        self._uploading = [threading.Lock() for _ in range(256)]
        self._last: Unit | None = None

    def adopt(self) -> None:
        """Find what an interrupted run was about to send: it is either there, or was never sent."""
        self._shelf.tidy()
        for record in list(self._shelf.batches()):
            if record.remote is None:
                taken = [other.remote for other in self._shelf.batches() if other.remote is not None]
                remote = self._patiently(
                    lambda one=record, taken=taken: self._service.find(  # type: ignore[misc]
                        one.mark, one.created_at, len(one.items), taken
                    )
                )
                if remote is None:
                    self._shelf.drop(record)
                    continue
                self._shelf.keep(record.model_copy(update={"remote": remote}))
            self._open.add(record.mark)

    def send(self) -> int:
        """Put every clip without a judgment that waits in no batch into new batches; returns how many."""
        sent = 0
        mark, items, size = uuid.uuid4().hex, list[_Line](), 0
        self._reporter.status("preparing the batch")

        def flush() -> None:
            nonlocal mark, items, size, sent
            if items:
                self._submit(mark, items)
                sent += len(items)
            mark, items, size = uuid.uuid4().hex, [], 0

        def leave() -> None:
            close(self._desk.provider)

        stop = Stop()  # of its own: `work_through` sets it at its end
        staged = work_through(
            self._tasks(), self._stage, threads=threads_for(self._concurrency), stop=stop, leave=leave
        )
        with closing(staged):
            for _, line in staged:
                if line is None:
                    continue
                if len(items) == self._service.most_requests or size + len(line.data) > self._service.most_bytes:
                    flush()
                path = self._shelf.lines(mark)
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("ab") as file:
                    file.write(line.data)
                # the line lies on disk: only who it is about stays in memory
                items.append(_Line(line.item, b"", line.attempts))
                size += len(line.data)
        flush()
        return sent

    def wait(self, poll: float) -> None:
        """Wait for every open batch and read it."""
        told = False
        while self._open:
            done = total = 0
            for record in [one for one in self._shelf.batches() if one.mark in self._open and one.remote]:
                assert record.remote is not None
                name = record.remote
                state = self._patiently(lambda name=name: self._service.state(name))  # type: ignore[misc]
                done, total = done + state.done, total + len(record.items)
                if state.ended:
                    self._read(record, state.fault)
                    self._open.discard(record.mark)
            if self._open:
                if not told:
                    self._reporter.status(
                        "waiting for the batches, which may take a day; interrupt at will: the same command goes on"
                    )
                    told = True
                self._reporter.progress(STAGE, min(done, total), total)
                self._stop.sleep(poll)

    def close_units(self) -> RunSummary:
        """Write every unit by what lies on disk now."""
        expected = sum(len(unit.clips) for unit in self._units())
        summary = RunSummary(expected)
        tell = teller(summary, self._desk, self._reporter)
        for unit in self._units():
            for clip in unit.clips:
                task = unit.task(clip)
                result = self._outcome(task)
                unit.take(clip.id, result)
                tell(task, result)
            finish(unit, self._desk, self._results)
            summary.units += 1
        summary.asked = self._answered
        return summary

    def _units(self) -> Iterator[Unit]:
        return find_units(self._benchmark, self._runs, self._selection, self._cache)

    def _tasks(self) -> Iterator[Task]:
        for unit in self._units():
            yield from unit.tasks()

    def _stage(self, task: Task) -> _Line | None:
        """Images made and uploaded, and the request as a line; None where there is nothing to ask."""
        desk = self._desk
        if desk.ended is not None:
            return None
        warnings = WarningsKept()
        try:
            prepared = desk.prepare(task)
            waiting = self._shelf.waiting(prepared.key)
            asked = prepared.key in self._failed or (waiting is not None and waiting.mark in self._open)
            if asked or desk.find(prepared, warnings) is not None:
                return None
            request = desk.request(prepared)
        except EvidenceError as error:
            desk.fail(task, desk.bare_key(task), Outcome([], reason=error.reason, detail=str(error)))
            return None
        attempts = waiting.attempts if waiting is not None else []
        refused = desk.look_first(request, warnings, by_name=True)
        if refused is None and desk.budget is not None:
            try:
                desk.budget.take(desk.most(prepared), wait=False)
            except BudgetError as error:
                refused = Outcome(attempts, reason=BUDGET_SPENT, detail=str(error), ends_run=True)
        if refused is not None:
            self._failed.add(prepared.key)
            desk.fail(task, prepared.key, refused)
            return None
        pairs = zip(prepared.evidence.frames, request.images, strict=True)
        files = [self._upload(frame.sha256, image) for frame, image in pairs]
        named = JudgeRequest(request.instruction, (), request.text, request.schema)
        item = Item(key=prepared.key, submission=task.submission, clip=task.clip.id, repeat=task.repeat)
        return _Line(item, self._service.line(prepared.key, named, files), attempts)

    def _upload(self, sha256: str, image: bytes) -> str:
        with self._uploading[int(sha256[:2], 16)]:  # clips that overlap show the same images
            known = self._shelf.upload(sha256)
            if known is None:
                known = self._patiently(lambda: self._service.upload(image, f"{sha256}.jpg"))
                self._shelf.keep_upload(sha256, known)
            return known

    def _submit(self, mark: str, lines: list[_Line]) -> None:
        """Send one batch; each step is on disk before the next one, so that a kill loses none and sends none twice."""
        desk = self._desk
        for line in lines:
            self._shelf.wait(line.item.key, Waiting(mark=mark, attempts=line.attempts))
        record = BatchRecord(
            mark=mark,
            judge=judge_name(desk.provider),
            remote=None,
            created_at=time.time(),
            items=[line.item for line in lines],
        )
        self._shelf.keep(record)
        taken = [other.remote for other in self._shelf.batches() if other.remote is not None]

        def create() -> str:
            try:
                return self._service.create(self._shelf.lines(mark), mark)
            except RecoverableError as error:
                if error.reason in ("timeout", "connection", "broken_body", "html"):  # it may have arrived
                    found = self._service.find(mark, record.created_at, len(lines), taken)
                    if found is not None:
                        return found
                raise

        try:
            remote = self._patiently(create)
        except OperationalError:
            self._shelf.drop(record)
            raise
        self._shelf.keep(record.model_copy(update={"remote": remote}))
        self._open.add(mark)
        self._own.add(mark)
        self._reporter.status(f"sent a batch of {len(lines)} requests: {remote}")

    def _read(self, record: BatchRecord, fault: str) -> None:
        """Turn what came back into judgments and failures; reading it a second time changes nothing."""
        assert record.remote is not None
        missing = {item.key: item for item in record.items}
        if fault:
            refusal = FatalError("bad_request", f"the service refused the batch: {fault}", whole_run=False)
            for item in record.items:
                self._take(record, item, refusal)
            missing = {}
        else:
            results = self._shelf.results(record.mark)
            name = record.remote
            self._patiently(lambda: self._service.fetch(name, results))
            for data in parse_lines(results):
                key, answer = self._service.read(data)
                found = missing.pop(key, None)  # a second answer to a request is none
                if found is not None:
                    self._take(record, found, answer)
        for item in missing.values():
            self._take(record, item, RecoverableError("expired", "the batch came back without an answer to this"))
        self._shelf.drop(record)

    def _take(self, record: BatchRecord, item: Item, answer: Answer) -> None:
        desk, warnings = self._desk, WarningsKept()
        waiting = self._shelf.waiting(item.key)
        prepared = self._prepared(item)
        if prepared is None:
            self._reporter.warning(
                f"{item.submission} {item.clip}: has changed since it was sent; its answer is dropped"
            )
            self._shelf.forget(item.key)
            return
        if waiting is None or waiting.mark != record.mark or desk.find(prepared, warnings) is not None:
            self._shelf.forget(item.key)  # read before a kill
            return
        self._answered += 1
        outcome = _outcome(answer, len(prepared.task.checks), waiting.attempts)
        if desk.budget is not None and record.mark in self._own:
            used = answer.tokens if isinstance(answer, Reply) else Tokens()
            desk.budget.settle(desk.most(prepared), used)
        if outcome.ratings is None and may_ask_again(desk.policy, answer, outcome.attempts):
            self._shelf.wait(item.key, Waiting(mark=None, attempts=outcome.attempts))
            return
        if outcome.ratings is None:
            self._failed.add(item.key)
        desk.record(prepared, outcome, batch=record.remote)
        self._shelf.forget(item.key)

    def _prepared(self, item: Item) -> Prepared | None:
        """The task that an item is about; None where it is not the same any more.

        What a run was asked to judge is no limit: another run may have sent more, and that is paid for.
        """
        unit = self._last
        if unit is None or (unit.name, unit.repeat) != (item.submission, item.repeat):
            unit = self._last = self._unit(item)
        clip = next((one for one in unit.clips if one.id == item.clip), None) if unit is not None else None
        if unit is None or clip is None:
            return None
        try:
            prepared = self._desk.prepare(unit.task(clip))
        except EvidenceError:
            return None
        return prepared if prepared.key == item.key else None

    def _unit(self, item: Item) -> Unit | None:
        configuration, setting, video = item.submission.split("/")
        selection = Selection([configuration], [one for one in SETTINGS if one == setting], item.repeat + 1)
        try:
            benchmark = load_benchmark(self._benchmark.folder, videos=[video])
            units = list(find_units(benchmark, self._runs, selection, self._cache))
        except BadInputError:  # the video or the configuration is gone
            return None
        return next((one for one in units if one.repeat == item.repeat), None)

    def _outcome(self, task: Task) -> Result:
        """What lies on disk for a task."""
        desk = self._desk
        try:
            evidence = desk.evidence.find(task.clip, task.setting, *task.videos())
            prepared = desk.prepare(task) if evidence is not None else None
        except EvidenceError as error:
            return Result(None, error.reason, str(error))
        known = desk.find(prepared, WarningsKept()) if prepared is not None else None
        if known is not None:
            return Result(known)
        failure = desk.store.find_failure(prepared.key if prepared is not None else desk.bare_key(task))
        if failure is not None:
            return Result(failure, failure.reason, failure.detail)
        if desk.ended is not None:
            return Result(None, desk.ended.reason, "not sent")
        return Result(None, "not_asked", "it was in no batch")

    def _patiently(self, step: Callable[[], _T]) -> _T:
        """Do a step that costs nothing until it succeeds, within the policy. Raises OperationalError."""
        desk, failures = self._desk, 0
        chance = random.Random(0)  # noqa: S311 - jitter, not a secret
        while True:
            try:
                return step()
            except FatalError as error:
                raise OperationalError(f"judge: {desk.provider.name}: {error.reason}: {error}") from error
            except RecoverableError as error:
                failures += 1
                if failures >= desk.policy.tries or (error.retry_after or 0) > desk.policy.longest_retry_after:
                    raise OperationalError(
                        f"judge: {desk.provider.name}: {error.reason}: {error}; the same command goes on from here"
                    ) from error
                desk.sleep(desk.policy.wait(failures, error.retry_after, chance))


def _outcome(answer: Answer, count: int, before: list[Attempt]) -> Outcome:
    """One answer of a batch, read as strictly as any other."""
    if isinstance(answer, RequestError):
        attempt = Attempt(outcome=answer.reason, detail=str(answer), seconds=None, request_id=answer.request_id)
        ends = isinstance(answer, FatalError) and answer.whole_run
        return Outcome([*before, attempt], reason=answer.reason, detail=str(answer), ends_run=ends)
    try:
        ratings = read_reply(answer, count)
    except ReplyError as error:
        attempt = Attempt(
            outcome=error.reason,
            detail=str(error),
            seconds=None,
            request_id=answer.request_id,
            usage=answer.usage,
        )
        return Outcome([*before, attempt], reason=error.reason, detail=str(error))
    attempt = Attempt(outcome=ACCEPTED, seconds=None, request_id=answer.request_id, usage=answer.usage)
    return Outcome([*before, attempt], ratings=ratings, reply=answer)
