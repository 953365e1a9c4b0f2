# SPDX-License-Identifier: GPL-3.0-or-later
"""The last stage: the judge rates the clips of one submission, in this process, with one desk for all its threads."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from ..checklist.benchmark import LoadedBenchmark
from ..judge.attempts import RetryPolicy
from ..judge.benchmark import Selection, VideoCache, find_units, finish
from ..judge.evidence import EvidenceStore
from ..judge.gate import Gate
from ..judge.prices import Budget, find_price
from ..judge.providers import Settings, StoppedError, open_provider, require_ready
from ..judge.providers.human import announcer
from ..judge.run import default_concurrency, threads_for
from ..judge.store import JudgmentStore
from ..judge.work import Desk, close
from ..protocol.errors import BadInputError
from ..protocol.messages import Reporter
from .plan import Task
from .records import JudgeChoice
from .stages import StageFailedError

SUBMISSIONS_OWN: Final = frozenset({"missing_video", "interval_unavailable", "undecodable"})
"""Reasons that lie in what was handed in: the same video gives them again."""


class Judging:
    """A judge that is open: what `judge run` has for a whole benchmark, kept for one unit after the other."""

    def __init__(
        self, choice: JudgeChoice, results: Path, stop: threading.Event, *, reporter: Reporter,
        budget_usd: float | None = None, prices: Path | None = None,
    ) -> None:  # fmt: skip
        """Open the judge; `stop` calls it off. Raises BadInputError where it is none, or its key is missing."""
        settings = Settings(effort=choice.effort, max_output_tokens=choice.max_output_tokens)
        provider = open_provider(choice.spec, settings, drafts=results / "drafts", announce=announcer(reporter))
        require_ready(provider, choice.spec)
        price = find_price(provider.name, provider.model, prices)
        most = default_concurrency(provider)
        self._results, self._stop = results, stop
        self._cache = VideoCache(results)
        self._pool = ThreadPoolExecutor(threads_for(most), "judge")
        self._desk = Desk(
            provider=provider,
            store=JudgmentStore(results),
            evidence=EvidenceStore(results, lossless=False),
            policy=RetryPolicy(),
            gate=Gate(most),
            sleep=self._sleep,
            budget=Budget(budget_usd, None, price=price, model=f"{provider.name}:{provider.model}"),
        )

    def judge(self, benchmark: LoadedBenchmark, runs: Path, task: Task) -> dict[str, Any]:
        """Rate one submission; the judgments and the unit's file are where `judge run` leaves them.

        Raises StageFailedError where clips have no judgment for a reason that is not the submission's.
        """
        one = dataclasses.replace(benchmark, videos=(task.video,))
        selection = Selection([task.configuration.name], [task.setting])
        asked = judged = expected = 0
        failed: Counter[str] = Counter()
        details: dict[str, str] = {}
        try:
            for unit in find_units(one, runs, selection, self._cache):
                for wanted, result in zip(unit.clips, self._pool.map(self._desk.judge, unit.tasks()), strict=True):
                    unit.take(wanted.id, result)
                    expected, asked = expected + 1, asked + result.asked
                    judged += not result.reason
                    failed[result.reason] += bool(result.reason)
                    details.setdefault(result.reason, result.detail)
                finish(unit, self._desk, self._results)
        except StoppedError:
            raise StageFailedError("stopped", "the run was called off") from None
        except BadInputError as error:
            raise StageFailedError("bad_input", str(error), lasting=True) from error
        counts = {reason: count for reason, count in sorted(failed.items()) if count}
        other = {reason: count for reason, count in counts.items() if reason not in SUBMISSIONS_OWN}
        if other:
            told = ", ".join(f"{count} {reason}" for reason, count in other.items())
            reason = next(iter(other))
            raise StageFailedError(reason, f"{judged} of {expected} clips judged: {told}: {details[reason]}")
        provider = self._desk.provider
        return {
            "provider": provider.name, "model": provider.model, "clips": expected, "judged": judged, "asked": asked,
            "failed": counts,
        }  # fmt: skip

    @property
    def ended(self) -> str:
        """Why nothing more is sent; empty where it is."""
        found = self._desk.ended
        return f"{found.reason}: {found.detail}" if found is not None else ""

    def close(self) -> None:
        """End what is on its way."""
        close(self._desk.provider)
        self._desk.gate.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self._stop.wait(max(0.0, min(0.5, end - time.monotonic()))):
            if time.monotonic() >= end:
                return
        raise StoppedError
