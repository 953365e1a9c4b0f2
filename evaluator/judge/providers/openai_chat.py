# SPDX-License-Identifier: GPL-3.0-or-later
"""Any server that speaks the chat-completions wire format, through the openai package."""

from __future__ import annotations

import base64
import ipaddress
import json
import os
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlsplit

import openai

from ...protocol.errors import BadInputError
from .base import FatalError, JudgeRequest, RecoverableError, Reply, RequestError

KEY_VARIABLE: Final = "MATCHCUT_LOCAL_API_KEY"
NO_KEY: Final = "none"
"""Sent where no key is set: the package insists on one, local servers do not look at it."""
TIMEOUT_SECONDS: Final = 600.0
"""For every wait of one request; a model on a desktop machine takes minutes over fifty images."""
CONNECT_SECONDS: Final = 20.0
"""Until a server takes the connection, which is done before any work."""

_SPENT: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
# status → reason, and whether every other request would end the same way
_FATAL: Final[dict[int, tuple[str, bool]]] = {
    400: ("bad_request", False),
    401: ("unauthorized", True),
    403: ("forbidden", True),
    404: ("not_found", True),
    413: ("too_large", False),
    422: ("bad_request", False),
}


class OpenAIChat:
    """A Provider (see base.py) for `local:URL#MODEL`. Raises BadInputError where the key's variable cannot be a key."""

    def __init__(self, base_url: str, model: str, *, timeout: float = TIMEOUT_SECONDS) -> None:
        self.name = f"local:{base_url}"
        self.model = model
        self._key = os.environ.get(KEY_VARIABLE, "").strip() or NO_KEY
        if not (self._key.isascii() and self._key.isprintable()):
            raise BadInputError(f"{KEY_VARIABLE}: holds characters that cannot stand in a request; set it anew")
        self._client = openai.OpenAI(
            base_url=base_url,
            api_key=self._key,
            max_retries=0,  # every attempt is our own, so that it is recorded
            timeout=openai.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
            # a proxy set for the outside world cannot reach this machine's own servers
            http_client=openai.DefaultHttpxClient(trust_env=not _is_loopback(base_url)),
        )
        # the package takes these from the environment; they are another service's business
        self._client.organization = self._client.project = None

    def ask(self, request: JudgeRequest) -> Reply:
        """Send one request. Raises RecoverableError or FatalError."""
        create: Any = self._client.chat.completions.with_raw_response.create
        try:
            response = create(
                model=self.model,
                messages=[
                    {"role": "system", "content": request.instruction},
                    {"role": "user", "content": [*map(_image_part, request.images), _text_part(request.text)]},
                ],
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "ratings", "schema": request.schema, "strict": True},
                },
            )
        except openai.APITimeoutError as error:
            raise RecoverableError("timeout", self._public(error)) from error
        except openai.APIConnectionError as error:
            cause = f" ({error.__cause__})" if error.__cause__ else ""
            raise RecoverableError("connection", self._public(f"{error}{cause}")) from error
        except openai.APIStatusError as error:
            raise self._status_error(error) from error
        return self._read(response.text, response.request_id)

    def _status_error(self, error: openai.APIStatusError) -> RequestError:
        """A refused request's meaning by its status; what is neither known nor a server's fault ends the run."""
        status = error.status_code
        detail = self._public(f"HTTP {status}: {error.message}")
        request_id = self._public(error.request_id) if error.request_id else None
        if status == 429 and _SPENT & {error.code, error.type}:
            return FatalError("quota_spent", detail, request_id=request_id, whole_run=True)
        if status == 429:
            wait = retry_after_seconds(error.response.headers.get("retry-after"))
            return RecoverableError("rate_limited", detail, request_id=request_id, retry_after=wait)
        if status in (408, 409) or status >= 500:
            wait = retry_after_seconds(error.response.headers.get("retry-after"))
            return RecoverableError(f"http_{status}", detail, request_id=request_id, retry_after=wait)
        reason, whole_run = _FATAL.get(status, (f"http_{status}", True))
        return FatalError(reason, detail, request_id=request_id, whole_run=whole_run)

    def _read(self, body: str, request_id: str | None) -> Reply:
        """The parts of a chat completion, types checked, since the package checks none of them."""
        body = self._without_key(body)  # a server may echo what it was sent
        request_id = self._public(request_id) if request_id else None
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            html = body.lstrip()[:9].lower().startswith(("<!doctype", "<html"))
            what = "a web page" if html else "no JSON"
            reason = "html" if html else "broken_body"
            detail = f"HTTP 200 with {what}: {_one_line(body)}"
            raise RecoverableError(reason, detail, request_id=request_id) from None
        choices = data.get("choices") if isinstance(data, dict) else None
        choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            detail = f"HTTP 200 without exactly one answer in it: {_one_line(body)}"
            raise RecoverableError("broken_body", detail, request_id=request_id)
        content = message.get("content")
        if content is not None and not isinstance(content, str):
            raise RecoverableError("broken_body", f"the content is no text: {_one_line(body)}", request_id=request_id)
        usage = data.get("usage")
        return Reply(
            text=content,
            finish=str(choice.get("finish_reason")),
            refusal=_text_or_none(message.get("refusal")),
            model=_text_or_none(data.get("model")),
            request_id=request_id or _text_or_none(data.get("id")),
            usage={name: count for name, count in usage.items() if type(count) is int}
            if isinstance(usage, dict)
            else {},
        )

    def _without_key(self, text: str) -> str:
        return text if self._key == NO_KEY else text.replace(self._key, "[key]")

    def _public(self, text: object) -> str:
        return _one_line(self._without_key(str(text)))


def retry_after_seconds(header: str | None) -> float | None:
    """The `Retry-After` header, seconds or a date, as seconds from now, at least 0; None where there is none."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            moment = parsedate_to_datetime(header)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if seconds < float("inf") else None


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _image_part(jpeg: bytes) -> dict[str, Any]:
    data = base64.b64encode(jpeg).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{data}", "detail": "high"}}


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:299] + "…"
