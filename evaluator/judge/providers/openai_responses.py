# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenAI's Responses interface through the openai package: `openai:MODEL`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import openai

from .base import OUTPUT_TOKENS, JudgeRequest, Limits, Reply, Settings, Tokens
from .keys import find_key, missing_key
from .openai_chat import NO_KEY, data_url, listed_models
from .remote import Remote
from .wire import Wire, broken_body, counts, text_or_none

KEY: Final = "OPENAI_API_KEY"
URL: Final = "https://api.openai.com/v1"
LIMITS: Final = Limits(images=500, request_bytes=50_000_000)
_FINAL_PHASES: Final = (None, "final_answer")


class OpenAIResponses(Remote):
    """A Provider (see base.py). Raises BadInputError where the key cannot be a key."""

    def __init__(self, model: str, settings: Settings | None = None) -> None:
        settings = settings or Settings()
        url = settings.base_url or URL
        key = find_key(KEY)
        name = "openai" if url == URL else f"openai:{url}"
        super().__init__(name, model, settings, LIMITS, missing=missing_key(KEY) if key is None else "")
        self._wire = Wire(openai, key=key, timeout=settings.timeout, base_url=url)
        self.client = openai.OpenAI(
            base_url=url,
            api_key=key or NO_KEY,
            max_retries=0,  # every attempt is our own, so that it is recorded
            timeout=self._wire.timeout,
            http_client=self._wire.http_client,
        )

    @property
    def wire(self) -> Wire:
        """For the batch interface, which uses the same client."""
        return self._wire

    def ask(self, request: JudgeRequest) -> Reply:
        """Send one request. Raises RecoverableError, FatalError or StoppedError."""
        images = [{"image_url": data_url(jpeg)} for jpeg in request.images]
        create: Any = self.client.responses.with_raw_response.create
        response = self._wire.call(lambda: create(**self.body(request, images)))
        return self.read(response.text, response.request_id)

    def body(self, request: JudgeRequest, images: Sequence[dict[str, str]]) -> dict[str, Any]:
        """The request's JSON; each of `images` has an `image_url` or a `file_id`."""
        content = [{"type": "input_image", "detail": "original", **image} for image in images]
        body: dict[str, Any] = {
            "model": self.model,
            "instructions": request.instruction,
            "input": [{"role": "user", "content": [*content, {"type": "input_text", "text": request.text}]}],
            "text": {"format": {"type": "json_schema", "name": "ratings", "schema": request.schema, "strict": True}},
            "max_output_tokens": self._settings.max_output_tokens or OUTPUT_TOKENS,
            "store": False,
            "truncation": "disabled",
            "image": {"context_compression": "disabled"},
        }
        if self._settings.effort is not None:
            body["reasoning"] = {"effort": self._settings.effort}
        return body

    def read(self, body: str, request_id: str | None) -> Reply:
        """A response's parts, types checked. Raises RecoverableError or FatalError where it holds no reply."""
        request_id = self._wire.public(request_id) if request_id else None
        return self.read_object(self._wire.json_object(body, request_id), request_id)

    def read_object(self, data: dict[str, Any], request_id: str | None) -> Reply:
        """The same of a body that is JSON already."""
        status = data.get("status")
        request_id = request_id or text_or_none(data.get("id"))
        if status == "failed":
            error = data.get("error")
            error = error if isinstance(error, dict) else {}
            raise self._wire.stream_error({str(error.get("code"))}, str(error.get("message")), request_id)
        output = data.get("output")
        if status not in ("completed", "incomplete") or not isinstance(output, list):
            raise broken_body(data, request_id)
        texts: list[str] = []
        refusals: list[str] = []
        for item in output:
            # a message without a phase is an answer; a commentary is not, though `output_text` would join both
            if not isinstance(item, dict):
                raise broken_body(data, request_id)
            if item.get("type") != "message" or item.get("phase") not in _FINAL_PHASES:
                continue
            content = item.get("content")
            for part in content if isinstance(content, list) else [None]:
                if not isinstance(part, dict):
                    raise broken_body(data, request_id)
                if part.get("phase") not in _FINAL_PHASES:
                    continue
                kind, field = part.get("type"), "text" if part.get("type") == "output_text" else "refusal"
                if kind not in ("output_text", "refusal") or not isinstance(part.get(field), str):
                    raise broken_body(data, request_id)
                (texts if kind == "output_text" else refusals).append(part[field])
        usage = counts(data.get("usage"))
        return Reply(
            text="".join(texts) if texts else None,
            finish=_finish(status, data.get("incomplete_details")),
            refusal=("".join(refusals) or "a refusal without words") if refusals else None,
            model=text_or_none(data.get("model")),
            request_id=request_id,
            usage=usage,
            tokens=Tokens(
                usage.get("input_tokens", 0),
                usage.get("output_tokens", 0),
                usage.get("input_tokens_details.cached_tokens", 0),
                usage.get("input_tokens_details.cache_write_tokens", 0),
            ),
        )

    def _models(self) -> list[str] | None:
        return listed_models(self._wire, self.client)


def _finish(status: str, details: Any) -> str:
    """`stop`, `length`, `content_filter`, or the service's own word."""
    if status == "completed":
        return "stop"
    reason = details.get("reason") if isinstance(details, dict) else None
    return {"max_output_tokens": "length", "content_filter": "content_filter"}.get(str(reason), f"incomplete: {reason}")
