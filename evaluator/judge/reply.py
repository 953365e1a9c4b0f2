# SPDX-License-Identifier: GPL-3.0-or-later
"""Strict reading of a judge's reply: exactly one permitted label for every check, or a recorded reason.

A reply that is not exactly of its form gives no rating at all: never by position after a failed parse, never by a
word found in the text, never a default.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from .prompt import RATINGS
from .providers.base import Reply
from .records import Rating

REASONS: Final = (
    "refused", "content_filter", "truncated", "unfinished", "empty", "html", "thoughts_before", "fenced", "text_before",
    "text_after", "not_json", "duplicate_keys", "wrong_type", "wrong_fields", "invalid_label", "missing_ratings",
    "extra_ratings",
)  # fmt: skip
"""Why a reply cannot be used; docs/judge.md says what each means."""

_LABELS: Final[dict[str, Rating]] = {label: label for label in RATINGS}
_THOUGHTS: Final = re.compile(
    r"\s*(<\|?(think|thinking|thought|thoughts|reasoning|analysis|channel|scratchpad)\b|◁think▷|\[think\])",
    re.IGNORECASE,
)


class ReplyError(Exception):
    """A reply that cannot be used (an evaluation failure); `reason` is the recorded word, the text says more."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def read_reply(reply: Reply, count: int) -> list[Rating]:
    """The `count` labels of a reply, in the order of the checks.

    Raises ReplyError with one of REASONS.
    """
    if reply.refusal:
        raise ReplyError("refused", _short(reply.refusal))
    if reply.finish == "content_filter":
        raise ReplyError("content_filter", "the provider's filter held the answer back")
    if reply.finish == "length":
        raise ReplyError("truncated", f"the answer reached the output limit: {_short(reply.text or '')}")
    if reply.finish != "stop":
        raise ReplyError("unfinished", f"the answer ended with {reply.finish!r} instead of 'stop'")
    return _labels(_parse(reply.text), count)


def _parse(text: str | None) -> Any:
    if text is None or not text.strip():
        raise ReplyError("empty", "the answer holds no text")
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise _no_json(text) from None


def _no_json(text: str) -> ReplyError:
    """Why a text is no JSON, told by its beginning and end alone: nothing in it is ever looked for."""
    start = text.lstrip().lower()
    if start.startswith(("<!doctype", "<html")):
        return ReplyError("html", f"the answer is a web page: {_short(text)}")
    if _THOUGHTS.match(text):
        return ReplyError("thoughts_before", f"thoughts stand before the JSON: {_short(text)}")
    if start.startswith("```"):
        return ReplyError("fenced", f"the JSON is fenced: {_short(text)}")
    if start.startswith("{"):
        try:
            _, end = json.JSONDecoder(parse_constant=_no_constant).raw_decode(text.lstrip())
        except (ValueError, RecursionError):
            return ReplyError("not_json", f"broken JSON: {_short(text)}")
        return ReplyError("text_after", f"something follows the JSON: {_short(text.lstrip()[end:])}")
    if start.rstrip("`\n ").endswith("}"):
        return ReplyError("text_before", f"text stands before the JSON: {_short(text)}")
    return ReplyError("not_json", f"no JSON: {_short(text)}")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ReplyError("duplicate_keys", f"a name stands twice among {_short(str([name for name, _ in pairs]))}")
    return fields


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _labels(data: Any, count: int) -> list[Rating]:
    if not isinstance(data, dict):
        raise ReplyError("wrong_type", f"the answer is a {type(data).__name__}, not an object")
    if set(data) != {"results"}:
        raise ReplyError("wrong_fields", f"expected `results` alone, found {_short(str(sorted(data)))}")
    results = data["results"]
    if not isinstance(results, list):
        raise ReplyError("wrong_type", f"`results` is a {type(results).__name__}, not an array")
    for index, item in enumerate(results):
        if not isinstance(item, str):
            raise ReplyError("wrong_type", f"results/{index} is a {type(item).__name__}, not a label")
        if item not in _LABELS:
            raise ReplyError("invalid_label", f"results/{index} is {_short(repr(item))}")
    if len(results) != count:
        reason = "missing_ratings" if len(results) < count else "extra_ratings"
        raise ReplyError(reason, f"{len(results)} ratings for {count} checks")
    return [_LABELS[item] for item in results]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:119] + "…"
