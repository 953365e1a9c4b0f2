# SPDX-License-Identifier: GPL-3.0-or-later
"""Judging clips: one request per clip and setting, each answered once and kept under its content key."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..checklist.records import Check, Clip, Setting
from ..media.records import VideoInfo
from ..protocol.files import content_key
from ..protocol.messages import Reporter
from .attempts import Outcome, RetryPolicy, ask_until_usable
from .evidence import Evidence, EvidenceError, make_evidence
from .prompt import instruction, prompt_sha256, reply_schema, request_text
from .providers.base import JudgeRequest, Provider, Reply
from .records import RATING_VALUES, ItemRating, Judgment, OperationalFailure, Rating
from .store import JudgmentStore

STAGE: Final = "judge"
KEY_FORMAT: Final = "matchcut-judge-key/1"


@dataclass(frozen=True)
class _Run:
    """What stays the same over the clips of one call; a clip needs nothing else, so they can be judged in any order."""

    setting: Setting
    reference: VideoInfo
    reconstruction: VideoInfo
    provider: Provider
    store: JudgmentStore
    reporter: Reporter
    policy: RetryPolicy
    sleep: Callable[[float], None]


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
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[list[Judgment], list[OperationalFailure]]:
    """Judge every clip that has a check under `setting`; judgments and failures come in the clips' order.

    What `store` already holds under the same evidence, checks, prompt, provider and model is not asked again. A
    failure of one clip leaves the others alone; once it is clear that no request will be answered (a wrong key, no
    server), the remaining clips are recorded as failures without being sent.
    """
    run = _Run(
        setting, reference, reconstruction, provider, JudgmentStore(store), reporter, policy or RetryPolicy(), sleep
    )
    applicable = [clip for clip in clips if clip.applicable(setting)]
    judgments: list[Judgment] = []
    failures: list[OperationalFailure] = []
    ended: OperationalFailure | None = None
    reporter.progress(STAGE, 0, len(applicable))
    for number, clip in enumerate(applicable, start=1):
        result, ends_run = _judge(clip, run, ended)
        if isinstance(result, Judgment):
            judgments.append(result)
        else:
            failures.append(result)
            if ends_run:
                ended = result
                reporter.warning(f"judge: no further clip is sent, since {result.clip} failed: {result.detail}")
        reporter.progress(STAGE, number, len(applicable), clip.id)
    return judgments, failures


def _judge(clip: Clip, run: _Run, ended: OperationalFailure | None) -> tuple[Judgment | OperationalFailure, bool]:
    """One clip's judgment or failure, and whether the failure ends the run; with `ended`, nothing is sent."""
    checks = clip.applicable(run.setting)
    try:
        evidence = make_evidence(clip, run.setting, run.reference, run.reconstruction)
    except EvidenceError as error:
        key = _key(clip, checks, run, {"reference": run.reference.sha256, "reconstruction": run.reconstruction.sha256})
        return _fail(clip, run, key, Outcome([], reason=error.reason, detail=str(error))), False
    key = _key(clip, checks, run, [frame.model_dump(mode="json") for frame in evidence.frames])
    known = run.store.find(key, checks, run.reporter)
    if known is not None:
        return known, False
    if ended is not None:
        outcome = Outcome([], reason=ended.reason, detail=f"not sent, since the clip {ended.clip} failed")
        return _fail(clip, run, key, outcome), False
    request = JudgeRequest(instruction(run.setting), evidence.images, request_text(clip, run.setting), reply_schema())
    outcome = ask_until_usable(run.provider, request, len(checks), policy=run.policy, seed=key, sleep=run.sleep)
    if outcome.ratings is None or outcome.reply is None:
        return _fail(clip, run, key, outcome), outcome.ends_run
    judgment = _judgment(clip, checks, run, key, evidence, outcome, outcome.ratings, outcome.reply)
    run.store.keep(judgment)
    return judgment, False


def _key(clip: Clip, checks: Sequence[Check], run: _Run, evidence: Any) -> str:
    """Content key of everything that decides an answer.

    The evidence's hashes are of the images as sent, so they hold the encoder and its settings.
    """
    return content_key(
        {
            "format": KEY_FORMAT,
            "clip": clip.id,
            "video": clip.video,
            "setting": run.setting,
            "checks": [check.id for check in checks],
            "request": request_text(clip, run.setting),
            "evidence": evidence,
            "prompt": prompt_sha256(run.setting),
            "provider": run.provider.name,
            "model": run.provider.model,
        }
    )


def _judgment(
    clip: Clip,
    checks: Sequence[Check],
    run: _Run,
    key: str,
    evidence: Evidence,
    outcome: Outcome,
    ratings: Sequence[Rating],
    reply: Reply,
) -> Judgment:
    items = [
        ItemRating(check=check.id, category=check.category, rating=rating, value=RATING_VALUES[rating])
        for check, rating in zip(checks, ratings, strict=True)
    ]
    return Judgment(
        key=key,
        clip=clip.id,
        video=clip.video,
        setting=run.setting,
        ratings=items,
        evidence=list(evidence.frames),
        images=evidence.settings,
        provider=run.provider.name,
        requested_model=run.provider.model,
        replied_model=reply.model,
        request_id=reply.request_id,
        prompt_sha256=prompt_sha256(run.setting),
        usage=reply.usage,
        attempts=outcome.attempts,
    )


def _fail(clip: Clip, run: _Run, key: str, outcome: Outcome) -> OperationalFailure:
    failure = OperationalFailure(
        key=key,
        clip=clip.id,
        video=clip.video,
        setting=run.setting,
        reason=outcome.reason,
        detail=outcome.detail,
        attempts=outcome.attempts,
    )
    run.store.keep_failure(failure)
    return failure
