# SPDX-License-Identifier: GPL-3.0-or-later
"""How two model providers speak: what a request tells of the last tool call, and a reply as server-sent events."""

from __future__ import annotations

import base64
import itertools
import json
import re
from typing import Any, Protocol

from scripted_agent import Answer, Call

Event = tuple[str, dict[str, Any]]
SERVER = "mcp__matchcut"
FAILURE = r"(?:[a-z_]+|\w*Error): |MCP tool call requires approval"
"""How the text of every failure begins: our kind of error, Python's, or the program's own refusal."""

_numbers = itertools.count(1)


class Wire(Protocol):
    """One provider's format."""

    path: str
    last: str
    """What ends a stream of events; empty for nothing."""
    model: str
    """The one that the provider lists; empty where the program does not ask."""

    def tools(self, body: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Our tools that the model may call now, by their own names, with their input schemas."""

    def is_turn(self, body: dict[str, Any]) -> bool:
        """Whether this is the agent's own conversation, and not a title or summary that the program wants."""

    def answer(self, body: dict[str, Any]) -> Answer | None:
        """The result of the last tool call; None where the request has none after the model's last words."""

    def call(self, call: Call, body: dict[str, Any]) -> list[Event]:
        """The model's reply that calls a tool."""

    def search(self, names: list[str], body: dict[str, Any]) -> list[Event]:
        """The model's reply that loads the tools which the program keeps back."""

    def say(self, text: str, body: dict[str, Any]) -> list[Event]:
        """The model's reply that ends its turn."""


class AnthropicMessages:
    """The Messages API, as Claude Code speaks it."""

    path = "/v1/messages"
    last = ""
    model = ""

    def tools(self, body: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """See Wire; what ToolSearch has loaded counts."""
        listed = {tool["name"]: tool.get("input_schema", {}) for tool in body.get("tools", ())}
        for block in self._blocks(body):
            for reference in block.get("content") or () if block.get("type") == "tool_result" else ():
                if isinstance(reference, dict) and reference.get("type") == "tool_reference":
                    listed.setdefault(reference["tool_name"], {})
        prefix = f"{SERVER}__"
        return {name.removeprefix(prefix): schema for name, schema in listed.items() if name.startswith(prefix)}

    def is_turn(self, body: dict[str, Any]) -> bool:
        """See Wire."""
        return bool(body.get("tools"))

    def answer(self, body: dict[str, Any]) -> Answer | None:
        """See Wire."""
        for block in self._blocks({"messages": self._after_the_model(body)}):
            if block.get("type") == "tool_result":
                return _anthropic_answer(block)
        return None

    def call(self, call: Call, body: dict[str, Any]) -> list[Event]:
        """See Wire."""
        return self._use(f"{SERVER}__{call.tool}", call.arguments, body)

    def search(self, names: list[str], body: dict[str, Any]) -> list[Event]:
        """See Wire."""
        query = "select:" + ",".join(f"{SERVER}__{name}" for name in names)
        return self._use("ToolSearch", {"query": query, "max_results": len(names)}, body)

    def say(self, text: str, body: dict[str, Any]) -> list[Event]:
        """See Wire."""
        return self._message(body, {"type": "text", "text": ""}, {"type": "text_delta", "text": text}, "end_turn")

    def _use(self, name: str, arguments: dict[str, Any], body: dict[str, Any]) -> list[Event]:
        block = {"type": "tool_use", "id": f"toolu_{next(_numbers):08d}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        return self._message(body, block, delta, "tool_use")

    @staticmethod
    def _message(body: dict[str, Any], block: dict[str, Any], delta: dict[str, Any], reason: str) -> list[Event]:
        message = {
            "id": f"msg_{next(_numbers):08d}", "type": "message", "role": "assistant", "model": body.get("model", ""),
            "content": [], "stop_reason": None, "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None},
             "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]  # fmt: skip
        return [(event["type"], event) for event in events]

    @staticmethod
    def _blocks(body: dict[str, Any]) -> list[dict[str, Any]]:
        contents = [message["content"] for message in body.get("messages", ())]
        return [block for content in contents if isinstance(content, list) for block in content]

    @staticmethod
    def _after_the_model(body: dict[str, Any]) -> list[dict[str, Any]]:
        messages = body.get("messages", [])
        last = max((at for at, one in enumerate(messages) if one["role"] == "assistant"), default=len(messages))
        return messages[last + 1 :]


class OpenaiResponses:
    """The Responses API, as Codex CLI speaks it."""

    path = "/v1/responses"
    last = ""
    model = ""

    def tools(self, body: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """See Wire; what tool_search has loaded counts."""
        found = [item for item in body.get("input", ()) if item.get("type") == "tool_search_output"]
        offered = [*body.get("tools", ()), *(tool for item in found for tool in item.get("tools", ()))]
        spaces = [tool for tool in offered if tool.get("type") == "namespace" and _is_ours(tool)]
        return {tool["name"]: tool.get("parameters", {}) for space in spaces for tool in space["tools"]}

    def is_turn(self, body: dict[str, Any]) -> bool:
        """See Wire."""
        return bool(body.get("tools"))

    def answer(self, body: dict[str, Any]) -> Answer | None:
        """See Wire."""
        last = body.get("input", [{}])[-1]
        return _openai_answer(last["output"]) if last.get("type") == "function_call_output" else None

    def call(self, call: Call, body: dict[str, Any]) -> list[Event]:
        """See Wire."""
        item = {
            "type": "function_call", "id": f"fc_{next(_numbers):08d}", "call_id": f"call_{next(_numbers):08d}",
            "namespace": SERVER, "name": call.tool, "arguments": json.dumps(call.arguments), "status": "completed",
        }  # fmt: skip
        return self._response(item)

    def search(self, names: list[str], body: dict[str, Any]) -> list[Event]:
        """See Wire."""
        item = {
            "type": "tool_search_call", "id": f"ts_{next(_numbers):08d}", "call_id": f"call_{next(_numbers):08d}",
            "execution": "client", "status": "completed",
            "arguments": {"query": " ".join(["matchcut", *names]), "limit": 40},
        }  # fmt: skip
        return self._response(item)

    def say(self, text: str, body: dict[str, Any]) -> list[Event]:
        """See Wire."""
        content = [{"type": "output_text", "text": text, "annotations": []}]
        message = {"type": "message", "id": f"msg_{next(_numbers):08d}", "role": "assistant", "status": "completed"}
        return self._response({**message, "content": content})

    @staticmethod
    def _response(item: dict[str, Any]) -> list[Event]:
        response = {"id": f"resp_{next(_numbers):08d}"}
        usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": response},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {**response, "usage": {**usage, "total_tokens": 2}}},
        ]
        return [(event["type"], event) for event in events]


def _is_ours(tool: dict[str, Any]) -> bool:
    return str(tool.get("name", "")).rstrip("_") == SERVER


def _anthropic_answer(block: dict[str, Any]) -> Answer:
    content = block.get("content") or ""
    if isinstance(content, str):
        return Answer(content, (), bool(block.get("is_error")))
    texts = [part["text"] for part in content if part.get("type") == "text"]
    pictures = [base64.b64decode(part["source"]["data"]) for part in content if part.get("type") == "image"]
    return Answer("\n".join(texts), tuple(pictures), bool(block.get("is_error")))


def _openai_answer(output: str | list[dict[str, Any]]) -> Answer:
    """Codex puts its own line before, and tells no model that a call failed: our text alone can say so."""
    if isinstance(output, str):
        output = [{"type": "input_text", "text": output}]
    texts = [part["text"] for part in output if part.get("type") == "input_text"]
    texts[0] = re.sub(r"\AWall time: .*\nOutput:\n?", "", texts[0])
    text = "\n".join(part for part in texts if part)
    addresses = [part["image_url"] for part in output if part.get("type") == "input_image"]
    pictures = tuple(base64.b64decode(address.partition(",")[2]) for address in addresses)
    return Answer(text, pictures, re.match(FAILURE, text) is not None)
