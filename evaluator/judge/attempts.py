# SPDX-License-Identifier: GPL-3.0-or-later
"""Asking a judge until it gives a usable answer, or until it is clear that it will not; every attempt is recorded."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from .providers.base import FatalError, JudgeRequest, Provider, RecoverableError, Reply
from .records import Attempt, Rating
from .reply import ReplyError, read_reply

ACCEPTED: Final = "accepted"

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


def ask_until_usable(
    provider: Provider,
    request: JudgeRequest,
    count: int,
    *,
    policy: RetryPolicy,
    seed: str,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Send the same request until `count` ratings come back in the right form, within `policy`.

    `seed` decides the jitter, so that a run can be repeated. Three ends are told apart: a recoverable failure is
    tried again after a wait, an unusable reply at once, a fatal failure never.
    """
    chance = random.Random(seed)  # noqa: S311 - jitter, not a secret
    attempts: list[Attempt] = []
    failures = unusable = 0
    while True:
        started = time.monotonic()

        def record(outcome: str, detail: str, request_id: str | None, started: float = started) -> None:
            seconds = round(time.monotonic() - started, 3)
            attempts.append(Attempt(outcome=outcome, detail=detail, seconds=seconds, request_id=request_id))

        try:
            reply = provider.ask(request)
        except FatalError as error:
            record(error.reason, str(error), error.request_id)
            return Outcome(attempts, reason=error.reason, detail=str(error), ends_run=error.whole_run)
        except RecoverableError as error:
            record(error.reason, str(error), error.request_id)
            failures += 1
            too_long = (error.retry_after or 0.0) > policy.longest_retry_after
            if too_long or failures >= policy.tries:
                asked = f"; the server asks to wait {error.retry_after:.0f} s" if error.retry_after else ""
                ends_run = too_long or error.reason in _RUN_ENDING
                return Outcome(attempts, reason=error.reason, detail=f"{error}{asked}", ends_run=ends_run)
            sleep(policy.wait(failures, error.retry_after, chance))
            continue
        try:
            ratings = read_reply(reply, count)
        except ReplyError as error:
            record(error.reason, str(error), reply.request_id)
            unusable += 1
            if unusable >= policy.unusable_replies:
                return Outcome(attempts, reason=error.reason, detail=str(error))
            continue
        record(ACCEPTED, "", reply.request_id)
        return Outcome(attempts, ratings=ratings, reply=reply)
