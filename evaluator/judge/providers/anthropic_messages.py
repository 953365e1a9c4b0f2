# SPDX-License-Identifier: GPL-3.0-or-later
"""Anthropic's Messages interface through the anthropic package: `anthropic:MODEL`.

The answer is streamed, since connections that stay silent while a model thinks are cut on the way.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

import anthropic

from .base import OUTPUT_TOKENS, JudgeRequest, Limits, RecoverableError, Reply, Settings, Tokens
from .keys import find_key, missing_key
from .remote import Remote
from .wire import Wire, broken_body, counts, one_line, text_or_none

KEY: Final = "ANTHROPIC_API_KEY"
URL: Final = "https://api.anthropic.com"
LIMITS: Final = Limits(images=100, request_bytes=32_000_000)
NO_KEY: Final = "none"
_FINISH: Final = {"end_turn": "stop", "max_tokens": "length", "model_context_window_exceeded": "length"}
_THOUGHTS: Final = ("thinking", "redacted_thinking")


class AnthropicMessages(Remote):
    """A Provider (see base.py). Raises BadInputError where the key cannot be a key."""

    def __init__(self, model: str, settings: Settings | None = None) -> None:
        settings = settings or Settings()
        url = settings.base_url or URL
        key = find_key(KEY)
        name = "anthropic" if url == URL else f"anthropic:{url}"
        super().__init__(name, model, settings, LIMITS, missing=missing_key(KEY) if key is None else "")
        self._wire = Wire(anthropic, key=key, timeout=settings.timeout, base_url=url)
        self.client = anthropic.Anthropic(
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
        sources = [
            {"type": "base64", "media_type": "image/jpeg", "data": base64.b64encode(jpeg).decode("ascii")}
            for jpeg in request.images
        ]
        return self._wire.call(lambda: self._stream(self.body(request, sources)))

    def body(self, request: JudgeRequest, sources: Sequence[dict[str, str]]) -> dict[str, Any]:
        """The request's JSON; each of `sources` holds an image's data or the id of its file."""
        content: list[dict[str, Any]] = [
            # rather an error than a picture that was made smaller in silence
            {"type": "image", "source": source, "transformations": {"oversized_image": "error"}}
            for source in sources
        ]
        output: dict[str, Any] = {"format": {"type": "json_schema", "schema": request.schema}}
        if self._settings.effort is not None:
            output["effort"] = self._settings.effort
        return {
            "model": self.model,
            "max_tokens": self._settings.max_output_tokens or OUTPUT_TOKENS,
            "thinking": {"type": "adaptive"},
            "output_config": output,
            "system": [
                {
                    "type": "text",
                    "text": request.instruction,
                    "cache_control": {"type": "ephemeral", "ttl": "1h"},
                }
            ],
            "messages": [{"role": "user", "content": [*content, {"type": "text", "text": request.text}]}],
        }

    def _stream(self, body: dict[str, Any]) -> Reply:
        create: Any = self.client.messages.with_streaming_response.create
        with create(**body, stream=True) as response:
            request_id = self._wire.public(response.request_id) if response.request_id else None
            if not str(response.headers.get("content-type", "")).startswith("text/event-stream"):
                # it did not stream: a gateway's page, or a whole message after all
                text = response.read().decode("utf-8", "replace")
                return self.read_object(self._wire.json_object(text, request_id), request_id)
            return self.read_object(self._gather(response.iter_bytes(), request_id), request_id)

    def _gather(self, chunks: Iterable[bytes], request_id: str | None) -> dict[str, Any]:
        """The message that a stream of server-sent events builds up, types checked."""
        message: dict[str, Any] | None = None
        for data in _events(chunks):
            event = self._wire.json_object(data, request_id)
            kind = event.get("type")
            if kind == "error":
                error = event.get("error")
                error = error if isinstance(error, dict) else {}
                raise self._wire.stream_error({str(error.get("type"))}, str(error.get("message")), request_id)
            try:
                if kind == "message_start":
                    message = dict(event["message"])
                    message["content"] = []
                elif message is not None and kind == "content_block_start":
                    message["content"].append(dict(event["content_block"]))
                elif message is not None and kind == "content_block_delta":
                    block, delta = message["content"][event["index"]], event["delta"]
                    if delta["type"] == "text_delta":
                        block["text"] += delta["text"]
                elif message is not None and kind == "message_delta":
                    message |= event["delta"]
                    message["usage"] = {**message.get("usage", {}), **event.get("usage", {})}
                elif message is not None and kind == "message_stop":
                    return message
            except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
                raise broken_body(event, request_id) from error
        raise RecoverableError("connection", "the stream ended before the message did", request_id=request_id)

    def read_object(self, data: dict[str, Any], request_id: str | None) -> Reply:
        """A message's parts, types checked; thoughts are left out. Raises RecoverableError where it is no message."""
        content, reason = data.get("content"), data.get("stop_reason")
        if data.get("type") != "message" or not isinstance(content, list):
            raise broken_body(data, request_id)
        texts: list[str] = []
        for block in content:
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "text" and isinstance(block.get("text"), str):
                texts.append(block["text"])
            elif kind not in _THOUGHTS:
                raise RecoverableError(
                    "broken_body", f"a part is no text: {one_line(str(block))}", request_id=request_id
                )
        usage = counts(data.get("usage"))
        read, written = usage.get("cache_read_input_tokens", 0), usage.get("cache_creation_input_tokens", 0)
        return Reply(
            text=self._wire.without_key("".join(texts)) if texts else None,
            finish=_FINISH.get(str(reason), str(reason)),
            refusal=_refusal(data) if reason == "refusal" else None,
            model=text_or_none(data.get("model")),
            request_id=request_id or text_or_none(data.get("id")),
            usage=usage,
            tokens=Tokens(usage.get("input_tokens", 0) + read + written, usage.get("output_tokens", 0), read, written),
        )

    def _models(self) -> list[str] | None:
        client = self.client.with_options(timeout=20)
        response: Any = self._wire.call(lambda: client.models.with_raw_response.list(limit=1000))
        try:
            models = self._wire.json_object(response.text(), None).get("data")
        except RecoverableError:
            return None
        return [str(one.get("id")) for one in models if isinstance(one, dict)] if isinstance(models, list) else None


def _events(chunks: Iterable[bytes]) -> Iterable[str]:
    """The data of each server-sent event (HTML standard, section 9.2)."""
    rest = b""
    data: list[str] = []
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            text = line.decode("utf-8", "replace").rstrip("\r")
            if text.startswith("data:"):
                data.append(text[5:].removeprefix(" "))
            elif not text and data:
                yield "\n".join(data)
                data = []


def _refusal(data: dict[str, Any]) -> str:
    details = data.get("stop_details")
    words = details.get("explanation") or details.get("category") if isinstance(details, dict) else None
    return one_line(str(words)) if words else f"stop reason refusal: {one_line(json.dumps(data.get('content')))}"
