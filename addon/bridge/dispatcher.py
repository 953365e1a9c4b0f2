# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests wait here until Blender's main thread takes them. Needs no Blender."""

from __future__ import annotations

import inspect
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ...evaluator.protocol.bridge import BridgeCallError
from ...evaluator.protocol.errors import MatchcutError

Method = Callable[..., dict[str, Any]]
QUEUE_LIMIT: Final = 64
LOG_LIMIT: Final = 50


@dataclass(eq=False)
class Request:
    """One request; `reply` is called once, from any thread, with the answer's fields."""

    method: str
    params: dict[str, Any]
    reply: Callable[[dict[str, Any]], None]
    client: str = ""


@dataclass(frozen=True)
class CallRecord:
    """One call that came to its turn: by whom, when it began (seconds since 1970), how long it took, how it ended.

    `outcome` is "done", "raised" (the code that it ran) or an error's code. What was asked and answered is not kept.
    """

    method: str
    client: str
    at: float
    seconds: float
    outcome: str


def error_fields(code: str, message: str) -> dict[str, Any]:
    """The fields of an answer that says why there is no result."""
    return {"error": {"code": code, "message": message}}


class Dispatcher:
    """A queue between the listener's thread, which submits, and the main thread, which runs one request at a time."""

    def __init__(self, methods: Mapping[str, Method], prepare: Mapping[str, Callable[[], bool]] | None = None) -> None:
        """`prepare`: for a method that has to wait for something, what makes a part of it; True once it is whole."""
        self._methods = methods
        self._prepare = prepare or {}
        self._queue: deque[Request] = deque()
        self._changed = threading.Condition()
        self._running: tuple[str, float] | None = None
        self.hold = ""  # why the main thread takes nothing at present, for the answers to those who wait
        self.calls = 0
        self.log: deque[CallRecord] = deque(maxlen=LOG_LIMIT)  # read and written on the main thread

    def submit(self, request: Request) -> None:
        """Queue a request, or answer at once where it cannot be run."""
        if request.method not in self._methods:
            names = ", ".join(sorted(self._methods))
            request.reply(error_fields("bad_params", f"{request.method!r} is no method of this bridge; it has {names}"))
            return
        with self._changed:
            if len(self._queue) < QUEUE_LIMIT:
                self._queue.append(request)
                self._changed.notify()
                return
        request.reply(
            error_fields("busy", f"{QUEUE_LIMIT} requests wait already; this one did not run, try again later")
        )

    def withdraw(self, request: Request) -> bool:
        """Take a request back; False where it has begun (or is answered)."""
        with self._changed:
            try:
                self._queue.remove(request)
            except ValueError:
                return False
            return True

    def running(self) -> str:
        """What the main thread is doing for whom waits, in words; empty where it is free."""
        with self._changed:
            if self._running is None:
                return self.hold
            method, since = self._running
            return f"{method} for {time.monotonic() - since:.0f} s"

    def wait(self, seconds: float) -> bool:
        """Sleep until a request is queued, at most `seconds`; whether one is."""
        if self._queue or seconds <= 0:
            return bool(self._queue)
        with self._changed:
            if not self._queue:
                self._changed.wait(seconds)
            return bool(self._queue)

    def wake(self) -> None:
        """End a `wait`."""
        with self._changed:
            self._changed.notify_all()

    def run_next(self) -> bool:
        """On the main thread: run the oldest request and answer it. False where nothing more can be done in this turn.

        That is where none waits, where the oldest has only been prepared in part, and where one is running: its code
        runs Blender's event loop, and thereby the timer that calls this.
        """
        if not self._is_prepared():
            return False
        with self._changed:
            if self._running is not None or not self._queue:
                return False
            request = self._queue.popleft()
            self._running = (request.method, time.monotonic())
        at, begun, outcome = time.time(), time.perf_counter(), "interrupted"
        try:
            answer = self._run(request)
            outcome = _outcome(answer)
        finally:
            with self._changed:
                self._running = None
            self.calls += 1
            self.log.append(CallRecord(request.method, request.client, at, time.perf_counter() - begun, outcome))
        request.reply(answer)
        return True

    def _is_prepared(self) -> bool:
        """Prepare the oldest request for a turn; True where it can run."""
        with self._changed:
            if self._running is not None or not self._queue:
                return True
            prepare = self._prepare.get(self._queue[0].method)
        try:
            return prepare is None or prepare()
        except Exception:  # noqa: BLE001  the call itself tells what it lacks
            traceback.print_exc(file=sys.stderr)
            return True

    def _run(self, request: Request) -> dict[str, Any]:
        method = self._methods[request.method]
        try:
            inspect.signature(method).bind(**request.params)
        except TypeError as error:
            return error_fields("bad_params", f"{request.method}: {error}")
        try:
            return {"result": method(**request.params)}
        except BridgeCallError as error:
            return error_fields(error.code, str(error))
        except MatchcutError as error:
            return error_fields("bad_params", str(error))
        except Exception as error:  # noqa: BLE001  the bridge outlives whatever Blender raises at a method
            traceback.print_exc(file=sys.stderr)
            return error_fields("failed", f"{request.method}: {type(error).__name__}: {error}")


def _outcome(answer: dict[str, Any]) -> str:
    if "error" in answer:
        return str(answer["error"]["code"])
    return "raised" if answer["result"].get("error") else "done"
