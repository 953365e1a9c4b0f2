# SPDX-License-Identifier: GPL-3.0-or-later
"""Asking a judge until it gives a usable answer, or until it is clear that it will not; every attempt is recorded."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from .gate import BUSY, Gate
from .prices import Budget, BudgetError
from .providers.base import FatalError, JudgeRequest, Provider, RecoverableError, Reply, Tokens
from .records import Attempt, Rating
from .reply import REASONS, ReplyError, read_reply

ACCEPTED: Final = "accepted"

BUDGET_SPENT: Final = "budget_spent"

_RUN_ENDING: Final = frozenset({"connection", "rate_limited"})
"""Recoverable reasons that, still there after the last try, the next clip's request would meet as well."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how patiently a request is repeated; all waits are in seconds."""

    tries: int = 5
    """Requests that may fail recoverably, the first one included."""
    unusable_replies: int = 3
    """Replies that may be unusable, the first one included."""
    first_wait: float = 1.0
    longest_wait: float = 30.0
    longest_retry_after: float = 120.0
    """A server that asks for more than this is not waited for."""

    def wait(self, failures: int, retry_after: float | None, chance: random.Random) -> float:
        """Seconds before the next try after `failures` recoverable ones: doubling, half of it by chance."""
        backoff = min(self.longest_wait, self.first_wait * 2.0 ** (failures - 1))
        return max(backoff * (0.5 + 0.5 * chance.random()), retry_after or 0.0)


@dataclass(frozen=True)
class Outcome:
    """How the asking ended: ratings with their reply, or a reason without either."""

    attempts: list[Attempt]
    ratings: list[Rating] | None = None
    reply: Reply | None = None
    reason: str = ""
    detail: str = ""
    ends_run: bool = False
    """Whether the other clips' requests would end the same way."""


def may_ask_again(policy: RetryPolicy, answer: object, attempts: Sequence[Attempt]) -> bool:
    """Whether a request of a batch, of which `answer` was the last, may go into a further one after `attempts`."""
    if isinstance(answer, FatalError):
        return False
    unusable = sum(attempt.outcome in REASONS for attempt in attempts)
    failures = len(attempts) - unusable
    return unusable < policy.unusable_replies and failures < policy.tries


@dataclass(frozen=True)
class Purse:
    """What a request is paid from: at most `most` are set aside for each attempt."""

    budget: Budget
    most: Tokens


_PERHAPS_PAID: Final = frozenset({"timeout", "broken_body", "html"})
"""Reasons after which nobody knows what the request cost; it counts as if it had cost the most."""


def ask_until_usable(
    provider: Provider,
    request: JudgeRequest,
    count: int,
    *,
    policy: RetryPolicy,
    seed: str,
    sleep: Callable[[float], None] = time.sleep,
    gate: Gate | None = None,
    purse: Purse | None = None,
) -> Outcome:
    """Send the same request until `count` ratings come back in the right form, within `policy`.

    `seed` decides the jitter, so that a run can be repeated. Three ends are told apart: a recoverable failure is
    tried again after a wait, an unusable reply at once, a fatal failure never. A place in `gate` is held while a
    request is on its way, never while waiting for the next try. StoppedError passes through.
    """
    chance = random.Random(seed)  # noqa: S311 - jitter, not a secret
    gate = gate or Gate(1)
    attempts: list[Attempt] = []
    failures = unusable = 0
    while True:
        try:
            reply, started = _send(provider, request, gate, purse, policy)
        except BudgetError as error:
            return Outcome(attempts, reason=BUDGET_SPENT, detail=str(error), ends_run=True)
        except _FailedError as failed:
            why = failed.error
            attempts.append(_attempt(why.reason, str(why), failed.seconds, why.request_id))
            if isinstance(why, FatalError):
                return Outcome(attempts, reason=why.reason, detail=str(why), ends_run=why.whole_run)
            failures += 1
            too_long = (why.retry_after or 0.0) > policy.longest_retry_after
            if too_long or failures >= policy.tries:
                asked = f"; the server asks to wait {why.retry_after:.0f} s" if why.retry_after else ""
                ends_run = too_long or why.reason in _RUN_ENDING
                return Outcome(attempts, reason=why.reason, detail=f"{why}{asked}", ends_run=ends_run)
            sleep(policy.wait(failures, why.retry_after, chance))
            continue
        seconds = time.monotonic() - started
        try:
            ratings = read_reply(reply, count)
        except ReplyError as error:
            attempts.append(_attempt(error.reason, str(error), seconds, reply.request_id, reply.usage))
            unusable += 1
            if unusable >= policy.unusable_replies:
                return Outcome(attempts, reason=error.reason, detail=str(error))
            continue
        attempts.append(_attempt(ACCEPTED, "", seconds, reply.request_id, reply.usage))
        return Outcome(attempts, ratings=ratings, reply=reply)


class _FailedError(Exception):
    """A request without a reply, and how long it took."""

    def __init__(self, error: FatalError | RecoverableError, seconds: float) -> None:
        super().__init__(str(error))
        self.error, self.seconds = error, seconds


def _send(
    provider: Provider, request: JudgeRequest, gate: Gate, purse: Purse | None, policy: RetryPolicy
) -> tuple[Reply, float]:
    """(reply, when it was sent) of one attempt. Raises _FailedError or BudgetError."""
    if purse is not None:
        purse.budget.take(purse.most)
    used = Tokens()
    try:
        with gate.passage():
            started = time.monotonic()
            try:
                reply = provider.ask(request)
            except (FatalError, RecoverableError) as error:
                if isinstance(error, RecoverableError) and error.reason in BUSY:
                    pause = error.retry_after or 0.0
                    gate.busy(started, pause if pause <= policy.longest_retry_after else 0.0)
                if purse is not None and error.reason in _PERHAPS_PAID:
                    used = purse.most
                raise _FailedError(error, time.monotonic() - started) from error
        used = reply.tokens
        gate.answered()
        return reply, started
    finally:
        if purse is not None:
            purse.budget.settle(purse.most, used)


def _attempt(
    outcome: str, detail: str, seconds: float, request_id: str | None, usage: dict[str, int] | None = None
) -> Attempt:
    return Attempt(outcome=outcome, detail=detail, seconds=round(seconds, 3), request_id=request_id, usage=usage or {})
