# SPDX-License-Identifier: GPL-3.0-or-later
"""One clip's way from its videos to a judgment or a failure on disk; any thread may walk it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from ..checklist.records import Check, Clip, Setting
from ..media.records import VideoInfo
from ..protocol.errors import BadInputError
from ..protocol.files import content_key
from ..protocol.messages import SilentReporter
from .attempts import Outcome, Purse, RetryPolicy, ask_until_usable
from .evidence import Evidence, EvidenceError, EvidenceStore
from .gate import Gate
from .prices import Budget, estimate
from .prompt import instruction, prompt_sha256, reply_schema, request_text
from .providers.base import FatalError, JudgeRequest, Provider, RecoverableError, RemoteProvider, Tokens
from .records import RATING_VALUES, ItemRating, Judgment, OperationalFailure
from .store import JudgmentStore

KEY_FORMAT: Final = "matchcut-judge-key/1"
Videos = tuple[VideoInfo, VideoInfo]
"""Reference and reconstruction."""


@dataclass(frozen=True)
class Task:
    """One clip under one setting; `videos` opens what it needs, and raises EvidenceError where that cannot be had."""

    clip: Clip
    setting: Setting
    videos: Callable[[], Videos]
    submission: str = ""
    """Tells one submission without videos from another: `CONFIG/SETTING/VIDEO`."""
    repeat: int = 0

    @property
    def checks(self) -> list[Check]:
        """What is asked."""
        return self.clip.applicable(self.setting)


@dataclass(frozen=True)
class Prepared:
    """A task with its images made, ready to be sent."""

    task: Task
    evidence: Evidence
    key: str


@dataclass(frozen=True)
class Result:
    """What became of a task. `record` is a judgment or a failure that lies on disk; None where nothing was tried."""

    record: Judgment | OperationalFailure | None
    reason: str = ""
    detail: str = ""
    ends_run: bool = False
    warnings: tuple[str, ...] = ()
    asked: bool = False
    """Whether anything was sent for it now."""


class WarningsKept(SilentReporter):
    """Keeps what is to be warned of for the thread that may talk."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def warning(self, text: str) -> None:
        """Kept."""
        self.texts.append(text)


@dataclass
class Desk:
    """What all tasks of a run share."""

    provider: Provider
    store: JudgmentStore
    evidence: EvidenceStore
    policy: RetryPolicy
    gate: Gate
    sleep: Callable[[float], None]
    budget: Budget | None = None
    ended: Result | None = None
    """Set once no further request will be answered."""
    _checked: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def judge(self, task: Task) -> Result:
        """Find the judgment of a task, or ask for it; what comes of it is on disk when this returns.

        Raises StoppedError where the run ends meanwhile.
        """
        warnings = WarningsKept()
        if self.ended is not None:
            return self._found_only(task, warnings)
        try:
            prepared = self.prepare(task)
        except EvidenceError as error:
            return self.fail(task, self.bare_key(task), Outcome([], reason=error.reason, detail=str(error)))
        known = self.find(prepared, warnings)
        if known is not None:
            return Result(known, warnings=tuple(warnings.texts))
        with self.store.asking(prepared.key, self.sleep):
            known = self.find(prepared, WarningsKept())  # somebody else may have asked for the same meanwhile
            if known is not None:
                return Result(known, warnings=tuple(warnings.texts))
            return self._ask(prepared, warnings)

    def _ask(self, prepared: Prepared, warnings: WarningsKept) -> Result:
        task = prepared.task
        try:
            request = self.request(prepared)
        except EvidenceError as error:
            return self.fail(task, prepared.key, Outcome([], reason=error.reason, detail=str(error)))
        outcome = self.look_first(request, warnings)
        if outcome is None:
            purse = None
            if self.budget is not None:
                purse = Purse(self.budget, self.most(prepared))
            outcome = ask_until_usable(
                self.provider,
                request,
                len(task.checks),
                policy=self.policy,
                seed=prepared.key,
                sleep=self.sleep,
                gate=self.gate,
                purse=purse,
            )
        return self.record(prepared, outcome, warnings=tuple(warnings.texts))

    def prepare(self, task: Task) -> Prepared:
        """Make or find the images. Raises EvidenceError."""
        evidence = self.evidence.get(task.clip, task.setting, *task.videos())
        return Prepared(task, evidence, self._key(task, [_shown(frame) for frame in evidence.frames]))

    def most(self, prepared: Prepared) -> Tokens:
        """The most that one try is likely to use up."""
        text = len(request_text(prepared.task.clip, prepared.task.setting)) + len(instruction(prepared.task.setting))
        return estimate(len(prepared.evidence.frames), text, configuration(self.provider).get("max_output_tokens"))

    def find(self, prepared: Prepared, warnings: WarningsKept) -> Judgment | None:
        """The judgment that is on disk already."""
        return self.store.find(prepared.key, prepared.task.checks, warnings)

    def known(self, task: Task, warnings: WarningsKept) -> Judgment | None:
        """What an earlier run left of a task, without decoding or asking anything. Raises EvidenceError."""
        evidence = self.evidence.find(task.clip, task.setting, *task.videos())
        if evidence is None:
            return None
        return self.find(
            Prepared(task, evidence, self._key(task, [_shown(frame) for frame in evidence.frames])), warnings
        )

    def request(self, prepared: Prepared) -> JudgeRequest:
        """What is sent; a damaged image is made again. Raises EvidenceError."""
        task, evidence = prepared.task, prepared.evidence
        try:
            images = evidence.load()
        except BadInputError:
            evidence = self.evidence.get(task.clip, task.setting, *task.videos())
            if evidence.frames != prepared.evidence.frames:
                raise EvidenceError("undecodable", "the images could not be made a second time as they were") from None
            try:
                images = evidence.load()
            except BadInputError as error:
                raise EvidenceError("undecodable", str(error)) from error
        frames = tuple(frame.local_frame for frame in evidence.frames)
        text = request_text(task.clip, task.setting)
        return JudgeRequest(instruction(task.setting), images, text, reply_schema(), frames)

    def look_first(self, request: JudgeRequest, warnings: WarningsKept, *, by_name: bool = False) -> Outcome | None:
        """The preflight: before the run's first request key and model, before each one the number and size of images.

        Returns why it must not be sent. `by_name` says that the images do not go with it.
        """
        if not isinstance(self.provider, RemoteProvider):
            return None
        with self._lock:
            if not self._checked:
                try:
                    warning = self.provider.check()
                except FatalError as error:
                    return Outcome([], reason=error.reason, detail=str(error), ends_run=True)
                except RecoverableError:  # the request itself will tell, and is tried more than once
                    warning = ""
                self._checked = True
                if warning:
                    warnings.warning(f"judge: {warning}")
        limits = self.provider.limits
        if limits.images is not None and len(request.images) > limits.images:
            detail = f"{len(request.images)} images; {self.provider.name} takes {limits.images} in one request"
            return Outcome([], reason="too_many_images", detail=detail)
        size = self.provider.request_bytes(request)
        if not by_name and limits.request_bytes is not None and size > limits.request_bytes:
            detail = (
                f"{size / 1e6:.1f} MB; {self.provider.name} takes {limits.request_bytes / 1e6:.1f} MB in one request"
            )
            return Outcome([], reason="too_large", detail=detail)
        return None

    def record(
        self, prepared: Prepared, outcome: Outcome, *, batch: str | None = None, warnings: Sequence[str] = ()
    ) -> Result:
        """Write down how the asking ended."""
        task = prepared.task
        if outcome.ratings is None or outcome.reply is None:
            return self.fail(task, prepared.key, outcome, warnings=warnings)
        items = [
            ItemRating(check=check.id, category=check.category, rating=rating, value=RATING_VALUES[rating])
            for check, rating in zip(task.checks, outcome.ratings, strict=True)
        ]
        judgment = Judgment(
            key=prepared.key,
            clip=task.clip.id,
            video=task.clip.video,
            setting=task.setting,
            ratings=items,
            evidence=list(prepared.evidence.frames),
            images=prepared.evidence.settings,
            provider=self.provider.name,
            requested_model=self.provider.model,
            replied_model=outcome.reply.model,
            request_id=outcome.reply.request_id,
            prompt_sha256=prompt_sha256(task.setting),
            usage=outcome.reply.usage,
            attempts=outcome.attempts,
            configuration=configuration(self.provider),
            repeat=task.repeat,
            schema_sha256=content_key(reply_schema()),
            judged_at=_now(),
            batch=batch,
        )
        self.store.keep(judgment)
        return Result(judgment, warnings=tuple(warnings), asked=True)

    def fail(self, task: Task, key: str, outcome: Outcome, *, warnings: Sequence[str] = ()) -> Result:
        """Write down a failure; where it ends the run, no further request is sent."""
        failure = OperationalFailure(
            key=key,
            clip=task.clip.id,
            video=task.clip.video,
            setting=task.setting,
            reason=outcome.reason,
            detail=outcome.detail,
            attempts=outcome.attempts,
            provider=self.provider.name,
            requested_model=self.provider.model,
            repeat=task.repeat,
            failed_at=_now(),
        )
        self.store.keep_failure(failure)
        result = Result(
            failure, outcome.reason, outcome.detail, outcome.ends_run, tuple(warnings), bool(outcome.attempts)
        )
        with self._lock:
            if outcome.ends_run and self.ended is None:
                self.ended = result
        return result

    def _found_only(self, task: Task, warnings: WarningsKept) -> Result:
        """What an earlier run left, without opening or asking anything new."""
        assert self.ended is not None
        try:
            known = self.known(task, warnings)
        except EvidenceError as error:
            return self.fail(task, self.bare_key(task), Outcome([], reason=error.reason, detail=str(error)))
        if known is not None:
            return Result(known, warnings=tuple(warnings.texts))
        assert isinstance(self.ended.record, OperationalFailure)
        return Result(None, self.ended.reason, f"not sent, since the clip {self.ended.record.clip} failed")

    def bare_key(self, task: Task) -> str:
        """The key of a failure of a clip whose images were not made."""
        try:
            shown: Any = [info.sha256 for info in task.videos()]
        except EvidenceError:
            shown = task.submission
        return self._key(task, {"videos": shown})

    def _key(self, task: Task, evidence: Any) -> str:
        """Content key of everything that decides an answer.

        The evidence's hashes are of the images as sent, so they hold the encoder and its settings.
        """
        data = {
            "format": KEY_FORMAT,
            "clip": task.clip.id,
            "video": task.clip.video,
            "setting": task.setting,
            "checks": [check.id for check in task.checks],
            "request": request_text(task.clip, task.setting),
            "evidence": evidence,
            "prompt": prompt_sha256(task.setting),
            "provider": self.provider.name,
            "model": self.provider.model,
        }
        settings = configuration(self.provider)
        if settings:
            data["configuration"] = settings
        if task.repeat:
            data["repeat"] = task.repeat
        return content_key(data)


def configuration(provider: Provider) -> dict[str, Any]:
    """Settings of a judge that change answers."""
    return provider.configuration if isinstance(provider, RemoteProvider) else {}


def judge_name(provider: Provider) -> str:
    """One judge's name: provider and model, and the settings that change answers."""
    settings = [f"{name}={value}" for name, value in configuration(provider).items()]
    return " ".join([f"{provider.name}:{provider.model}", *settings])


def close(provider: Provider) -> None:
    """End what waits for a judge."""
    end = getattr(provider, "close", None)
    if end is not None:
        end()


def _shown(frame: Any) -> dict[str, Any]:
    names = ("local_frame", "reference_frame", "reconstruction_frame", "sha256")
    return {name: getattr(frame, name) for name in names}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
