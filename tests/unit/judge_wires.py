# SPDX-License-Identifier: GPL-3.0-or-later
"""The three wire formats of judges, for one test to ask the same of each: chat completions, Responses, Messages."""

from __future__ import annotations

import json
from typing import Any

import judge_stub
from judge_stub import MODEL, Answer, JudgeStub, json_answer
from matchcut.evaluator.judge.providers import Provider, Settings, open_provider

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MATCHCUT_LOCAL_API_KEY")


class Chat:
    """What `local:` speaks, and with `gemini` what Google's compatible address does."""

    path = "/v1/chat/completions"
    input, output = "prompt_tokens", "completion_tokens"

    def __init__(self, gemini: bool = False) -> None:
        self.name = "gemini" if gemini else "local"
        self.key = "GEMINI_API_KEY" if gemini else "MATCHCUT_LOCAL_API_KEY"

    def open(self, stub: JudgeStub, **settings: Any) -> Provider:
        if self.name == "gemini":
            return open_provider("gemini:stub", Settings(base_url=stub.url, **settings))
        return open_provider(f"local:{stub.url}#stub", Settings(**settings))

    def text(self, text: Any, **options: Any) -> Answer:
        return judge_stub.completion(text, **options)

    def refusal(self, words: str, text: str | None = None) -> Answer:
        return judge_stub.completion(text, refusal=words)

    def truncated(self, text: str) -> Answer:
        return judge_stub.completion(text, finish="length")

    def filtered(self) -> Answer | None:
        return judge_stub.completion(None, finish="content_filter")

    def unfinished(self) -> Answer:
        return judge_stub.completion(None, finish="tool_calls")

    def overloaded(self) -> Answer | None:
        return None

    def error(self, status: int, message: str = "no", code: str | None = None, **headers: str) -> Answer:
        return judge_stub.error(status, message, code, **headers)

    def asked(self, body: Any) -> tuple[str, list[str], Any]:
        """(instruction, images in base64, entities and checks)."""
        system, user = body["messages"]
        *images, text = user["content"]
        urls = [image["image_url"]["url"].removeprefix("data:image/jpeg;base64,") for image in images]
        return system["content"], urls, json.loads(text["text"])


class Responses:
    """What `openai:` speaks."""

    name, path, key = "openai", "/v1/responses", "OPENAI_API_KEY"
    input, output = "input_tokens", "output_tokens"

    def open(self, stub: JudgeStub, **settings: Any) -> Provider:
        return open_provider("openai:stub", Settings(base_url=stub.url, **settings))

    def body(self, output: Any, status: str = "completed", **fields: Any) -> dict[str, Any]:
        return {
            "id": "resp_stub", "object": "response", "created_at": 1796000000, "model": MODEL, "status": status,
            "error": None, "incomplete_details": None, "output": output,
            "usage": {
                "input_tokens": 1200, "output_tokens": 34, "total_tokens": 1234,
                "input_tokens_details": {"cached_tokens": 1000, "cache_write_tokens": 0},
                "output_tokens_details": {"reasoning_tokens": 20},
            },
            **fields,
        }  # fmt: skip

    def message(self, *parts: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
        thoughts = {"id": "rs", "type": "reasoning", "summary": [{"type": "summary_text", "text": "unsatisfied?"}]}
        return [thoughts, {"id": "msg", "type": "message", "role": "assistant", "content": list(parts), **fields}]

    def text(self, text: Any, delay: float = 0.0, cut: bool = False, **fields: Any) -> Answer:
        parts = [] if text is None else [{"type": "output_text", "text": text, "annotations": []}]
        return json_answer(self.body(self.message(*parts, **fields)), delay=delay, cut=cut)

    def refusal(self, words: str, text: str | None = None) -> Answer:
        parts = [{"type": "output_text", "text": text, "annotations": []}] if text else []
        return json_answer(self.body(self.message(*parts, {"type": "refusal", "refusal": words})))

    def _incomplete(self, text: str | None, reason: str) -> Answer:
        parts = [] if text is None else [{"type": "output_text", "text": text, "annotations": []}]
        return json_answer(self.body(self.message(*parts), "incomplete", incomplete_details={"reason": reason}))

    def truncated(self, text: str) -> Answer:
        return self._incomplete(text, "max_output_tokens")

    def filtered(self) -> Answer | None:
        return self._incomplete(None, "content_filter")

    def unfinished(self) -> Answer:
        return self._incomplete(None, "steered")

    def overloaded(self) -> Answer | None:
        return json_answer(self.body([], "failed", error={"code": "server_error", "message": "overloaded"}))

    def error(self, status: int, message: str = "no", code: str | None = None, **headers: str) -> Answer:
        return judge_stub.error(status, message, code, **headers)

    def asked(self, body: Any) -> tuple[str, list[str], Any]:
        *images, text = body["input"][0]["content"]
        urls = [image["image_url"].removeprefix("data:image/jpeg;base64,") for image in images]
        return body["instructions"], urls, json.loads(text["text"])


class Messages:
    """What `anthropic:` speaks: a stream of server-sent events."""

    name, path, key = "anthropic", "/v1/messages", "ANTHROPIC_API_KEY"
    input, output = "input_tokens", "output_tokens"

    def open(self, stub: JudgeStub, **settings: Any) -> Provider:
        return open_provider("anthropic:stub", Settings(base_url=stub.url.removesuffix("/v1"), **settings))

    def events(self, text: str | None, reason: str = "end_turn", **delta: Any) -> list[dict[str, Any]]:
        usage = {"input_tokens": 200, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 0}
        message = {
            "id": "msg_stub", "type": "message", "role": "assistant", "model": MODEL, "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": {**usage, "output_tokens": 1},
        }  # fmt: skip
        blocks: list[dict[str, Any]] = [{"type": "thinking", "thinking": "", "signature": ""}]
        found = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": blocks[0]},
            {"type": "ping"},
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "thinking_delta", "thinking": "unsatisfied?"},
            },
            {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}},
            {"type": "content_block_stop", "index": 0},
        ]
        if text is not None:
            found.append({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}})
            for start in range(0, len(text), 7):
                piece = {"type": "text_delta", "text": text[start : start + 7]}
                found.append({"type": "content_block_delta", "index": 1, "delta": piece})
            found.append({"type": "content_block_stop", "index": 1})
        ending = {"stop_reason": reason, "stop_sequence": None, **delta}
        found.append({"type": "message_delta", "delta": ending, "usage": {"output_tokens": 34}})
        return [*found, {"type": "message_stop"}]

    def stream(self, events: list[dict[str, Any]], **options: Any) -> Answer:
        body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        return Answer(body.encode(), 200, {"content-type": "text/event-stream"}, **options)

    def text(self, text: Any, **options: Any) -> Answer:
        return self.stream(self.events(text), **options)

    def refusal(self, words: str, text: str | None = None) -> Answer:
        details = {"type": "refusal", "category": "general_harms", "explanation": words}
        return self.stream(self.events(text, "refusal", stop_details=details))

    def truncated(self, text: str) -> Answer:
        return self.stream(self.events(text, "max_tokens"))

    def filtered(self) -> Answer | None:
        return None

    def unfinished(self) -> Answer:
        return self.stream(self.events(None, "pause_turn"))

    def overloaded(self) -> Answer | None:
        half = self.events('{"results": ["fully_satisfied"')[:-3]
        problem = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        return self.stream([*half, problem])

    def error(self, status: int, message: str = "no", code: str | None = None, **headers: str) -> Answer:
        body = {"type": "error", "error": {"type": code or "some_error", "message": message}, "request_id": "req-x"}
        return json_answer(body, status, **headers)

    def asked(self, body: Any) -> tuple[str, list[str], Any]:
        *images, text = body["messages"][0]["content"]
        data = [image["source"]["data"] for image in images]
        return body["system"][0]["text"], data, json.loads(text["text"])


WIRES = (Chat(), Chat(gemini=True), Responses(), Messages())
