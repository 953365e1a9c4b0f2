# SPDX-License-Identifier: GPL-3.0-or-later
"""Two more formats of model providers: OpenAI's chat completions, which most servers speak, and Gemini's own."""

from __future__ import annotations

import base64
import itertools
import json
import re
from typing import Any

from model_wires import FAILURE, Event
from scripted_agent import Answer, Call

NAME = re.compile(r"(?:mcp_{1,2})?matchcut_{1,2}(\w+)")
"""How programs name our tools to the model: `matchcut_look`, `mcp__matchcut__look`."""
WRAPPING = re.compile(r"</?untrusted_context>\n?|\[Tool '\w+' provided the following image data .*\]|\AWall time: .*\n")
"""What Gemini CLI, Qwen Code and Kimi Code CLI put around the answer of a server."""
PROGRAMS_WORDS = re.compile(
    r"\A(?:MCP tool '\w+' reported tool error.*?\"text\":\"|Error: |<system>ERROR: Tool execution failed.</system>\n)"
)
"""What a program puts before an error of ours."""
TOKENS = {
    "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "prompt_tokens_details": {"cached_tokens": 2},
}  # fmt: skip
"""Of every response, of whatever kind."""

_numbers = itertools.count(1)


def _ours(names: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = ((NAME.fullmatch(name), schema) for name, schema in names.items())
    return {match[1]: schema for match, schema in found if match is not None}


def _full(names: dict[str, dict[str, Any]], tool: str) -> str:
    return next(name for name in names if (match := NAME.fullmatch(name)) is not None and match[1] == tool)


def _answer(text: str, pictures: list[bytes]) -> Answer:
    """An answer whose text alone says whether the call failed."""
    text = WRAPPING.sub("", text).strip()
    bare = PROGRAMS_WORDS.sub("", text)
    return Answer(bare, tuple(pictures), bare != text or re.match(FAILURE, bare) is not None)


class OpenaiChat:
    """Chat completions, as Qwen Code, OpenCode and Kimi Code CLI speak them."""

    path = "/v1/chat/completions"
    last = "[DONE]"
    model = ""

    def tools(self, body: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """See Wire."""
        return _ours(self._offered(body))

    def is_turn(self, body: dict[str, Any]) -> bool:
        """See Wire."""
        return bool(self.tools(body))

    def answer(self, body: dict[str, Any]) -> Answer | None:
        """See Wire; pictures may follow in a message of the user's, as the format has none in a tool's."""
        messages = body.get("messages", [])
        last = max((at for at, one in enumerate(messages) if one["role"] == "assistant"), default=len(messages))
        texts, pictures, found = [], [], False
        for message in messages[last + 1 :]:
            found = found or message["role"] == "tool"
            content = message.get("content") or ""
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            if message["role"] == "tool":
                texts += [part["text"] for part in parts if part["type"] == "text"]
            addresses = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
            pictures += [base64.b64decode(address.partition(",")[2]) for address in addresses]
        return _answer("\n".join(texts), pictures) if found else None

    def call(self, call: Call, body: dict[str, Any]) -> list[Event]:
        """See Wire."""
        return self._use(_full(self._offered(body), call.tool), call.arguments, body)

    def _use(self, name: str, arguments: dict[str, Any], body: dict[str, Any]) -> list[Event]:
        function = {"name": name, "arguments": json.dumps(arguments)}
        made = {"index": 0, "id": f"call_{next(_numbers):08d}", "type": "function", "function": function}
        return self._chunks(body, {"role": "assistant", "content": None, "tool_calls": [made]}, "tool_calls")

    def search(self, names: list[str], body: dict[str, Any]) -> list[Event]:
        """See Wire; these programs keep none back."""
        return self.say(f"{', '.join(names)} are not there.", body)

    def say(self, text: str, body: dict[str, Any]) -> list[Event]:
        """See Wire."""
        return self._chunks(body, {"role": "assistant", "content": text}, "stop")

    @staticmethod
    def _offered(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
        functions = [tool["function"] for tool in body.get("tools") or () if tool.get("type") == "function"]
        return {one["name"]: one.get("parameters", {}) for one in functions}

    @staticmethod
    def _chunks(body: dict[str, Any], delta: dict[str, Any], reason: str) -> list[Event]:
        head = {"id": f"chat_{next(_numbers):08d}", "created": 1, "model": body.get("model", "")}
        if not body.get("stream"):
            choice = {"index": 0, "message": delta, "finish_reason": reason}
            return [("", {**head, "object": "chat.completion", "choices": [choice], "usage": TOKENS})]
        head["object"] = "chat.completion.chunk"
        choices = [
            {"index": 0, "delta": delta, "finish_reason": None},
            {"index": 0, "delta": {}, "finish_reason": reason},
        ]
        chunks = [{**head, "choices": [choice]} for choice in choices]
        return [("", one) for one in (*chunks, {**head, "choices": [], "usage": TOKENS})]


class GrokChat(OpenaiChat):
    """As Grok Build speaks chat completions: it keeps a server's tools back, behind one that finds and one that calls.

    A tool's name there is `matchcut__look`.
    """

    model = "grok-4.6"

    def tools(self, body: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """See Wire; those that were found."""
        found = [str(one.get("content")) for one in body.get("messages", ()) if one["role"] == "tool"]
        return {name: {} for name in re.findall(r"matchcut__(\w+)", "\n".join(found))}

    def is_turn(self, body: dict[str, Any]) -> bool:
        """See Wire; it also has the last turn summed up, with all tools in the request."""
        last = str(body["messages"][-1].get("content"))
        return "use_tool" in self._offered(body) and "ultra-short dashboard line" not in last

    def call(self, call: Call, body: dict[str, Any]) -> list[Event]:
        """See Wire."""
        return self._use("use_tool", {"tool_name": f"matchcut__{call.tool}", "tool_input": call.arguments}, body)

    def search(self, names: list[str], body: dict[str, Any]) -> list[Event]:
        """See Wire."""
        return self._use("search_tool", {"query": " ".join(["matchcut", *names]), "limit": 40}, body)


class GeminiContent:
    """`generateContent` and `streamGenerateContent`, as Gemini CLI speaks them."""

    path = "/v1beta/models/"
    last = ""
    model = ""

    def tools(self, body: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """See Wire."""
        return _ours(self._offered(body))

    def is_turn(self, body: dict[str, Any]) -> bool:
        """See Wire."""
        return bool(self.tools(body))

    def answer(self, body: dict[str, Any]) -> Answer | None:
        """See Wire; pictures lie in the parts of the response, or beside it."""
        contents = body.get("contents", [])
        last = max((at for at, one in enumerate(contents) if one.get("role") == "model"), default=len(contents))
        parts = [part for one in contents[last + 1 :] for part in one["parts"]]
        responses = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if not responses:
            return None
        inner = [part for one in responses for part in one.get("parts") or ()]
        data = [part["inlineData"]["data"] for part in (*parts, *inner) if "inlineData" in part]
        texts = [str(one["response"].get("output", one["response"].get("error", ""))) for one in responses]
        return _answer("\n".join(texts), [base64.b64decode(one) for one in data])

    def call(self, call: Call, body: dict[str, Any]) -> list[Event]:
        """See Wire."""
        name = _full(self._offered(body), call.tool)
        return self._candidate({"functionCall": {"id": f"c{next(_numbers)}", "name": name, "args": call.arguments}})

    def search(self, names: list[str], body: dict[str, Any]) -> list[Event]:
        """See Wire; it keeps none back."""
        return self.say(f"{', '.join(names)} are not there.", body)

    def say(self, text: str, body: dict[str, Any]) -> list[Event]:
        """See Wire."""
        return self._candidate({"text": text})

    @staticmethod
    def _offered(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
        declared = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations") or ()]
        return {one["name"]: one.get("parametersJsonSchema", one.get("parameters", {})) for one in declared}

    @staticmethod
    def _candidate(part: dict[str, Any]) -> list[Event]:
        usage = {
            "promptTokenCount": 7, "candidatesTokenCount": 3, "totalTokenCount": 10, "cachedContentTokenCount": 2,
        }  # fmt: skip
        candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
        return [("", {"candidates": [candidate], "usageMetadata": usage})]
