# SPDX-License-Identifier: GPL-3.0-or-later
"""An agent without a model: a list of steps, each a tool and its arguments made from what earlier steps answered.

It knows no transport. `drive` runs a script through our own client; `model_server` runs the same script as the "model"
that a real agent program asks.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What a model sees of one tool call: text, pictures (encoded), and whether the client called it an error."""

    text: str
    pictures: tuple[bytes, ...] = ()
    failed: bool = False

    @property
    def data(self) -> dict[str, Any]:
        """The first object of JSON in the text, which some programs add to; empty where there is none."""
        start = self.text.find("{")
        try:
            return json.JSONDecoder().raw_decode(self.text[start:])[0] if start >= 0 else {}
        except json.JSONDecodeError:
            return {}


Memory = Mapping[str, Answer]
"""Each tool's last answer, by the step's name."""


@dataclass(frozen=True)
class Step:
    """One call. `arguments` may be made from the memory; `again` says of its answer whether it is called once more."""

    tool: str
    arguments: Mapping[str, Any] | Callable[[Memory], Mapping[str, Any]] = field(default_factory=dict)
    name: str = ""
    again: Callable[[Answer], bool] = lambda answer: False
    fails: str = ""
    """How the text of the error starts that is expected; empty where none is."""
    shows: int = 0
    """How many pictures the answer has at least."""


@dataclass(frozen=True)
class Call:
    """A call that the agent wants made."""

    tool: str
    arguments: dict[str, Any]


class UnexpectedAnswerError(AssertionError):
    """A tool answered otherwise than the script's step expects."""


class Script:
    """The steps under way: `next` takes the answer of the last call and gives the next one, None at the end."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = list(steps)
        self._at = -1
        self._rounds = 0
        self._needed = {step.tool for step in steps}
        self.memory: dict[str, Answer] = {}

    def need(self, tools: set[str]) -> None:
        """Ask for these tools too, whether or not a step calls them."""
        self._needed |= tools

    def tools(self) -> set[str]:
        """The tools that it wants to be offered."""
        return self._needed

    def next(self, answer: Answer | None) -> Call | None:
        """The call that follows on `answer` (None before the first). Raises UnexpectedAnswerError."""
        if self._at >= 0:
            step = self._steps[self._at]
            if answer is None:
                raise UnexpectedAnswerError(f"{step.tool}: the client sent no result")
            _check(step, answer)
            self.memory[step.name or step.tool] = answer
            self._rounds += 1
            if step.again(answer) and self._rounds < 200:
                return self._call()
        self._at, self._rounds = self._at + 1, 0
        return self._call() if self._at < len(self._steps) else None

    def _call(self) -> Call:
        step = self._steps[self._at]
        arguments = step.arguments(self.memory) if callable(step.arguments) else step.arguments
        return Call(step.tool, dict(arguments))


def _check(step: Step, answer: Answer) -> None:
    wanted = f"{step.tool} ({step.name})" if step.name else step.tool
    if answer.failed != bool(step.fails) or (step.fails and step.fails not in answer.text):
        raise UnexpectedAnswerError(f"{wanted}: {'failed' if answer.failed else 'went well'}: {answer.text[:2000]}")
    if len(answer.pictures) < step.shows:
        raise UnexpectedAnswerError(f"{wanted}: {len(answer.pictures)} pictures instead of {step.shows}: {answer.text}")


async def drive(script: Script, client: Any) -> list[tuple[Call, Answer]]:
    """Run the script by an `mcp.Client`; every call with its answer."""
    made: list[tuple[Call, Answer]] = []
    call = script.next(None)
    while call is not None:
        result = await client.call_tool(call.tool, call.arguments)
        texts = [block.text for block in result.content if block.type == "text"]
        pictures = [base64.b64decode(block.data) for block in result.content if block.type == "image"]
        answer = Answer("\n".join(texts), tuple(pictures), bool(result.is_error))
        made.append((call, answer))
        call = script.next(answer)
    return made
