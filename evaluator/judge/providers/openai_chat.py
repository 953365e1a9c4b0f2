# SPDX-License-Identifier: GPL-3.0-or-later
"""Any server that speaks the chat-completions wire format, through the openai package: `local:` and `gemini:`."""

from __future__ import annotations

import base64
from typing import Any, Final

import openai

from .base import JudgeRequest, Limits, RecoverableError, Reply, Settings, Tokens
from .keys import find_key, missing_key
from .remote import Remote
from .wire import Wire, broken_body, counts, one_line, text_or_none

LOCAL_KEY: Final = "MATCHCUT_LOCAL_API_KEY"
GEMINI_KEY: Final = "GEMINI_API_KEY"
GEMINI_URL: Final = "https://generativelanguage.googleapis.com/v1beta/openai/"
GEMINI_LIMITS: Final = Limits(images=3000, request_bytes=100_000_000)
NO_KEY: Final = "none"
"""Sent where no key is set: the package insists on one, local servers do not look at it."""


class OpenAIChat(Remote):
    """A Provider (see base.py) for `local:URL#MODEL`, and with `gemini` for `gemini:MODEL`.

    Raises BadInputError where the key cannot be a key.
    """

    def __init__(self, base_url: str, model: str, settings: Settings | None = None, *, gemini: bool = False) -> None:
        settings = settings or Settings()
        key = find_key(GEMINI_KEY if gemini else LOCAL_KEY)
        name = "gemini" if gemini else f"local:{base_url}"
        if gemini and base_url != GEMINI_URL:
            name = f"gemini:{base_url}"
        super().__init__(
            name,
            model,
            settings,
            GEMINI_LIMITS if gemini else Limits(),
            missing=missing_key(GEMINI_KEY) if gemini and key is None else "",
        )
        self._wire = Wire(openai, key=key, timeout=settings.timeout, base_url=base_url)
        self._client = openai.OpenAI(
            base_url=base_url,
            api_key=key or NO_KEY,
            max_retries=0,  # every attempt is our own, so that it is recorded
            timeout=self._wire.timeout,
            http_client=self._wire.http_client,
        )
        # the package takes these from the environment; they are another service's business
        self._client.organization = self._client.project = None

    def ask(self, request: JudgeRequest) -> Reply:
        """Send one request. Raises RecoverableError, FatalError or StoppedError."""
        options: dict[str, Any] = {}
        if self._settings.effort is not None:
            options["reasoning_effort"] = self._settings.effort
        if self._settings.max_output_tokens is not None:
            options["max_tokens"] = self._settings.max_output_tokens
        create: Any = self._client.chat.completions.with_raw_response.create
        response = self._wire.call(
            lambda: create(
                model=self.model,
                messages=[
                    {"role": "system", "content": request.instruction},
                    {"role": "user", "content": [*map(_image_part, request.images), _text_part(request.text)]},
                ],
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "ratings", "schema": request.schema, "strict": True},
                },
                **options,
            )
        )
        return self._read(response.text, response.request_id)

    def _models(self) -> list[str] | None:
        return listed_models(self._wire, self._client)

    def _read(self, body: str, request_id: str | None) -> Reply:
        """The parts of a chat completion, types checked, since the package checks none of them."""
        request_id = self._wire.public(request_id) if request_id else None
        data = self._wire.json_object(body, request_id)
        choices = data.get("choices")
        choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise broken_body(data, request_id)
        content = message.get("content")
        if content is not None and not isinstance(content, str):
            detail = f"the content is no text: {one_line(str(content))}"
            raise RecoverableError("broken_body", detail, request_id=request_id)
        usage = counts(data.get("usage"))
        return Reply(
            text=content,
            finish=str(choice.get("finish_reason")),
            refusal=text_or_none(message.get("refusal")),
            model=text_or_none(data.get("model")),
            request_id=request_id or text_or_none(data.get("id")),
            usage=usage,
            tokens=Tokens(
                usage.get("prompt_tokens", 0),
                usage.get("completion_tokens", 0),
                usage.get("prompt_tokens_details.cached_tokens", 0),
            ),
        )


def listed_models(wire: Wire, client: openai.OpenAI) -> list[str] | None:
    """The names that a server gives to its models; None where it keeps no such list."""
    response: Any = wire.call(client.with_options(timeout=20).models.with_raw_response.list)
    try:
        models = wire.json_object(response.text, None).get("data")
    except RecoverableError:
        return None
    if not isinstance(models, list):
        return None
    return [str(one.get("id")) for one in models if isinstance(one, dict)]


def data_url(jpeg: bytes) -> str:
    """A JPEG inside a URL."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode('ascii')}"


def _image_part(jpeg: bytes) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": data_url(jpeg), "detail": "high"}}


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
