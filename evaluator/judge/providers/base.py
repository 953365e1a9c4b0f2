# SPDX-License-Identifier: GPL-3.0-or-later
"""What every judge takes and gives, and the two ways in which a request fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class JudgeRequest:
    """One clip under one setting; the same object is sent on every attempt.

    `images` are JPEG bytes in increasing time, `text` the entity table and checks, `schema` the reply's JSON Schema.
    """

    instruction: str
    images: tuple[bytes, ...]
    text: str
    schema: dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """What came back, unread. `finish` is the provider's own word for why it ended; `stop` is the only good one."""

    text: str | None
    finish: str
    refusal: str | None = None
    model: str | None = None
    """As the reply names it."""
    request_id: str | None = None
    usage: dict[str, int] = field(default_factory=dict)


class RequestError(Exception):
    """A request that gave no reply; `reason` is a short recorded word, the text says more."""

    def __init__(self, reason: str, detail: str, *, request_id: str | None = None) -> None:
        super().__init__(detail)
        self.reason = reason
        self.request_id = request_id


class RecoverableError(RequestError):
    """The same request may be answered later: a timeout, a lost connection, a rate limit, a server's own error."""

    def __init__(
        self, reason: str, detail: str, *, request_id: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(reason, detail, request_id=request_id)
        self.retry_after = retry_after
        """Seconds that the server asks to wait."""


class FatalError(RequestError):
    """The same request will never be answered.

    `whole_run` says that no other request will be either: a wrong key or model, against one request that is too large.
    """

    def __init__(self, reason: str, detail: str, *, request_id: str | None = None, whole_run: bool) -> None:
        super().__init__(reason, detail, request_id=request_id)
        self.whole_run = whole_run


class Provider(Protocol):
    """A judge that can be asked; it sends one request and never retries by itself."""

    @property
    def name(self) -> str:
        """Which service answers, without any key."""

    @property
    def model(self) -> str:
        """The model asked for."""

    def ask(self, request: JudgeRequest) -> Reply:
        """Send one request. Raises RecoverableError or FatalError."""
