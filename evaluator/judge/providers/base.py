# SPDX-License-Identifier: GPL-3.0-or-later
"""What every judge takes and gives, and the two ways in which a request fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
OUTPUT_TOKENS: Final = 32_768
"""Most tokens of an answer, thoughts included, where nothing else is asked for; the labels alone are a few hundred."""
TIMEOUT_SECONDS: Final = 1800.0
"""For the whole of one request, from the connection to the last byte; thinking over fifty images takes minutes."""


@dataclass(frozen=True)
class JudgeRequest:
    """One clip under one setting; the same object is sent on every attempt.

    `images` are JPEG bytes in increasing time, `text` the entity table and checks, `schema` the reply's JSON Schema.
    """

    instruction: str
    images: tuple[bytes, ...]
    text: str
    schema: dict[str, Any]
    frames: tuple[int, ...] = ()
    """Local frames of the images, where they are known; a person's page goes to them. They are not sent."""


@dataclass(frozen=True)
class Tokens:
    """What a reply used up. `cached_input` and `cache_write` are parts of `input`; `output` holds the thoughts."""

    input: int = 0
    output: int = 0
    cached_input: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        """Input and output."""
        return self.input + self.output


@dataclass(frozen=True)
class Reply:
    """What came back, unread. `finish` is why it ended, in the provider's word; `stop` is the only good one."""

    text: str | None
    finish: str
    refusal: str | None = None
    model: str | None = None
    """As the reply names it."""
    request_id: str | None = None
    usage: dict[str, int] = field(default_factory=dict)
    """Every count that the reply names, under its own name; nested ones with a dot."""
    tokens: Tokens = Tokens()
    """The same in common words."""


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


class StoppedError(Exception):
    """The request was given up because the run stops; it says nothing about the clip."""


class Provider(Protocol):
    """A judge that can be asked; it sends one request and never retries by itself."""

    @property
    def name(self) -> str:
        """Which service answers, without any key."""

    @property
    def model(self) -> str:
        """The model asked for."""

    def ask(self, request: JudgeRequest) -> Reply:
        """Send one request. Raises RecoverableError or FatalError; StoppedError after `close`."""


@dataclass(frozen=True)
class Settings:
    """How a service is asked. None leaves a thing to the service."""

    effort: str | None = None
    max_output_tokens: int | None = None
    timeout: float = TIMEOUT_SECONDS
    base_url: str | None = None
    max_images: int | None = None
    """In place of what is known of the service's limits."""
    max_request_bytes: int | None = None


@dataclass(frozen=True)
class Limits:
    """What a service takes in one request; None where that is not known."""

    images: int | None = None
    request_bytes: int | None = None


@runtime_checkable
class RemoteProvider(Provider, Protocol):
    """A judge behind an address: it can be looked at before anything is paid for, and be left at any moment."""

    @property
    def configuration(self) -> dict[str, str | int]:
        """Settings that change answers."""

    @property
    def limits(self) -> Limits:
        """What one request may hold."""

    @property
    def missing(self) -> str:
        """What has to be set before the first request, in one line; empty where nothing is missing."""

    def request_bytes(self, request: JudgeRequest) -> int:
        """How large the request is on the wire, to within a few hundred bytes."""

    def check(self) -> str:
        """Ask for what costs nothing whether key and model will do.

        Returns a word of warning, or nothing. Raises FatalError where they will not, RecoverableError where the
        service did not answer.
        """

    def close(self) -> None:
        """End every request that waits, at once, and take no new one."""
