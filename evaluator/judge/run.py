# SPDX-License-Identifier: GPL-3.0-or-later
"""Judging the clips of one submission: one request per clip, each answered once and kept under its content key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from ..checklist.records import Clip, Setting
from ..media.records import VideoInfo
from ..protocol.messages import Reporter
from .attempts import Outcome, RetryPolicy
from .evidence import EvidenceStore
from .gate import Gate
from .pool import Stop, work_through
from .prices import Budget
from .providers.base import Provider, RemoteProvider
from .records import Judgment, OperationalFailure
from .store import JudgmentStore
from .work import Desk, Result, Task, close

STAGE: Final = "judge"
SERVICE_CONCURRENCY: Final = 8
"""Requests at once to a service; a server of one's own, and a person, get one after the other."""


def default_concurrency(provider: Provider) -> int:
    """How many requests are on their way at once where nothing else is asked for."""
    own = provider.name.startswith("local:") or not isinstance(provider, RemoteProvider)
    return 1 if own else SERVICE_CONCURRENCY


def judge_clips(
    clips: Sequence[Clip],
    setting: Setting,
    reference: VideoInfo,
    reconstruction: VideoInfo,
    provider: Provider,
    *,
    store: Path,
    reporter: Reporter,
    policy: RetryPolicy | None = None,
    sleep: Callable[[float], None] | None = None,
    concurrency: int | None = None,
    budget: Budget | None = None,
    lossless: bool = False,
) -> tuple[list[Judgment], list[OperationalFailure]]:
    """Judge every clip that has a check under `setting`; judgments and failures come in the clips' order.

    What `store` already holds under the same evidence, checks, prompt, provider, model and settings is not asked again.
    A failure of one clip leaves the others alone; once it is clear that no request will be answered (a wrong key, no
    server, a budget that is used up), the remaining clips are failures without being sent. `concurrency` requests are
    on their way at once at most; `lossless` keeps the images as PNG beside the JPEGs.
    """
    stop = Stop()
    most = concurrency or default_concurrency(provider)
    desk = Desk(
        provider=provider,
        store=JudgmentStore(store),
        evidence=EvidenceStore(store, lossless=lossless),
        policy=policy or RetryPolicy(),
        gate=Gate(most),
        sleep=sleep or stop.sleep,
        budget=budget,
    )
    applicable = [clip for clip in clips if clip.applicable(setting)]
    tasks = [Task(clip, setting, lambda: (reference, reconstruction)) for clip in applicable]
    found: dict[str, Judgment | OperationalFailure] = {}
    told = False
    reporter.progress(STAGE, 0, len(tasks))

    def take(task: Task, result: Result) -> None:
        nonlocal told
        for text in result.warnings:
            reporter.warning(text)
        record = result.record
        if record is None:
            outcome = Outcome([], reason=result.reason, detail=result.detail)
            record = desk.fail(task, desk.bare_key(task), outcome).record
            assert record is not None
        found[task.clip.id] = record
        if desk.ended is not None and not told:
            told = True
            assert desk.ended.record is not None
            reporter.warning(
                f"judge: no further clip is sent, since {desk.ended.record.clip} failed: {desk.ended.detail}"
            )
        reporter.progress(STAGE, len(found), len(tasks), task.clip.id)

    def leave() -> None:
        close(provider)
        desk.gate.close()

    done = work_through(tasks, desk.judge, threads=threads_for(most), stop=stop, leave=leave)
    with closing(done):
        for task, result in done:
            take(task, result)
    records = [found[clip.id] for clip in applicable]
    judgments = [record for record in records if isinstance(record, Judgment)]
    return judgments, [record for record in records if isinstance(record, OperationalFailure)]


def threads_for(concurrency: int) -> int:
    """One more than requests at once, so that the next clip's images are made meanwhile."""
    return concurrency + 1 if concurrency > 1 else 1
