# SPDX-License-Identifier: GPL-3.0-or-later
"""The batch interfaces of OpenAI and Anthropic, brought to one form; images are uploaded once."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from ...protocol.errors import BadInputError
from ...protocol.files import atomic_path
from ..providers.anthropic_messages import AnthropicMessages
from ..providers.base import FatalError, JudgeRequest, Provider, RecoverableError, Reply, RequestError
from ..providers.openai_responses import OpenAIResponses
from ..providers.wire import Wire

KEPT_SECONDS: Final = 30 * 86400
"""How long a service is asked to keep an image."""
Answer = Reply | RequestError


@dataclass(frozen=True)
class State:
    """How far a batch is. `fault` says why the service refused it as a whole."""

    ended: bool
    done: int
    total: int
    fault: str = ""


class BatchService(Protocol):
    """One service's batches. Every method raises RecoverableError, FatalError or StoppedError."""

    most_requests: int
    most_bytes: int

    def upload(self, jpeg: bytes, name: str) -> str:
        """Hand over an image; returns the service's id for it."""

    def line(self, key: str, request: JudgeRequest, files: Sequence[str]) -> bytes:
        """One request as a line of JSON; `request` needs no images, `files` are their ids in order."""

    def create(self, lines: Path, mark: str) -> str:
        """Send a batch; returns its id."""

    def find(self, mark: str, created_at: float, count: int, taken: Sequence[str]) -> str | None:
        """The id of a batch whose sending was interrupted, if the service has it; `taken` are other batches' ids."""

    def state(self, batch: str) -> State:
        """How far it is."""

    def fetch(self, batch: str, out: Path) -> None:
        """Write what came back, one JSON object a line, in any order."""

    def read(self, data: dict[str, Any]) -> tuple[str, Answer]:
        """(key, what came back) of one line. Raises KeyError where it names no request."""


def batch_service(provider: Provider) -> BatchService:
    """The batches of a judge. Raises BadInputError where it has none."""
    if isinstance(provider, OpenAIResponses):
        return OpenAIBatches(provider)
    if isinstance(provider, AnthropicMessages):
        return AnthropicBatches(provider)
    raise BadInputError(f"--batch: {provider.name} has no batches; leave it out, or take openai: or anthropic:")


class OpenAIBatches:
    """The Batch interface over /v1/responses (at most 50,000 requests and 200 MB a file)."""

    most_requests = 50_000
    most_bytes = 200_000_000

    def __init__(self, provider: OpenAIResponses) -> None:
        self._provider, self._client, self._wire = provider, provider.client, provider.wire

    def upload(self, jpeg: bytes, name: str) -> str:
        """See BatchService."""
        raw = self._wire.call(
            lambda: self._client.files.with_raw_response.create(
                file=(name, jpeg, "image/jpeg"),
                purpose="vision",
                expires_after={"anchor": "created_at", "seconds": KEPT_SECONDS},
            )
        )
        return _id(self._wire, raw.text)

    def line(self, key: str, request: JudgeRequest, files: Sequence[str]) -> bytes:
        """See BatchService."""
        body = self._provider.body(request, [{"file_id": file} for file in files])
        return _line({"custom_id": key, "method": "POST", "url": "/v1/responses", "body": body})

    def create(self, lines: Path, mark: str) -> str:
        """See BatchService."""
        with lines.open("rb") as file:
            raw = self._wire.call(
                lambda: self._client.files.with_raw_response.create(
                    file=(f"{mark}.jsonl", file, "application/jsonl"), purpose="batch"
                )
            )
        sent = _id(self._wire, raw.text)
        created = self._wire.call(
            lambda: self._client.batches.with_raw_response.create(
                input_file_id=sent,
                endpoint="/v1/responses",
                completion_window="24h",
                metadata={"matchcut": mark},
            )
        )
        return _id(self._wire, created.text)

    def find(self, mark: str, created_at: float, count: int, taken: Sequence[str]) -> str | None:
        """See BatchService."""
        raw = self._wire.call(lambda: self._client.batches.with_raw_response.list(limit=100))
        for one in self._wire.json_object(raw.text, None).get("data") or []:
            if isinstance(one, dict) and (one.get("metadata") or {}).get("matchcut") == mark:
                return str(one["id"])
        return None

    def state(self, batch: str) -> State:
        """See BatchService."""
        data = self._retrieve(batch)
        counts = data.get("request_counts") or {}
        done = int(counts.get("completed") or 0) + int(counts.get("failed") or 0)
        status, fault = data.get("status"), ""
        if status == "failed":
            errors = (data.get("errors") or {}).get("data") or [{}]
            fault = self._wire.public(errors[0].get("message") or "the service refused the batch")
        ended = status in ("completed", "failed", "expired", "cancelled")
        return State(ended, done, int(counts.get("total") or 0), fault)

    def fetch(self, batch: str, out: Path) -> None:
        """See BatchService."""
        data = self._retrieve(batch)
        files = [data[name] for name in ("output_file_id", "error_file_id") if data.get(name)]
        with atomic_path(out) as temporary, temporary.open("wb") as file:
            for one in files:
                self._wire.call(lambda one=one: self._copy(one, file))  # type: ignore[misc]

    def read(self, data: dict[str, Any]) -> tuple[str, Answer]:
        """See BatchService."""
        key, response, error = data["custom_id"], data.get("response"), data.get("error")
        if isinstance(error, dict):
            code = str(error.get("code"))
            if code in ("batch_expired", "batch_cancelled"):
                return key, RecoverableError("expired", self._wire.public(f"{code}: {error.get('message')}"))
            return key, self._wire.stream_error({code}, str(error.get("message")), None)
        if not isinstance(response, dict):
            return key, RecoverableError("broken_body", "a line of the batch has neither response nor error")
        body, request_id = response.get("body"), response.get("request_id")
        if response.get("status_code") != 200:
            status = response.get("status_code")
            return key, self._wire.meaning(status if isinstance(status, int) else 500, body, str(body), request_id)
        return key, _read(lambda: self._provider.read_object(body if isinstance(body, dict) else {}, request_id))

    def _retrieve(self, batch: str) -> dict[str, Any]:
        raw = self._wire.call(lambda: self._client.batches.with_raw_response.retrieve(batch))
        return self._wire.json_object(raw.text, None)

    def _copy(self, name: str, out: Any) -> None:
        with self._client.files.with_streaming_response.content(name) as response:
            _copy(self._wire, response.iter_bytes(), out)


class AnthropicBatches:
    """Message Batches (at most 100,000 requests and 256 MB a batch; sent in one body, so smaller here)."""

    most_requests = 10_000
    most_bytes = 64_000_000

    def __init__(self, provider: AnthropicMessages) -> None:
        self._provider, self._client, self._wire = provider, provider.client, provider.wire

    def upload(self, jpeg: bytes, name: str) -> str:
        """See BatchService."""
        raw: Any = self._wire.call(
            lambda: self._client.files.with_raw_response.upload(
                file=(name, jpeg, "image/jpeg"), expires_in_seconds=KEPT_SECONDS
            )
        )
        return _id(self._wire, raw.text())

    def line(self, key: str, request: JudgeRequest, files: Sequence[str]) -> bytes:
        """See BatchService."""
        body = self._provider.body(request, [{"type": "file", "file_id": file} for file in files])
        return _line({"custom_id": key, "params": body})

    def create(self, lines: Path, mark: str) -> str:
        """See BatchService."""
        requests = [json.loads(line) for line in lines.read_bytes().splitlines()]
        raw: Any = self._wire.call(lambda: self._client.messages.batches.with_raw_response.create(requests=requests))
        return _id(self._wire, raw.text())

    def find(self, mark: str, created_at: float, count: int, taken: Sequence[str]) -> str | None:
        """See BatchService. There is no place for a mark: it is the one batch of this size from then on."""
        raw: Any = self._wire.call(lambda: self._client.messages.batches.with_raw_response.list(limit=100))
        found: list[str] = []
        for one in self._wire.json_object(raw.text(), None).get("data") or []:
            counts = one.get("request_counts") if isinstance(one, dict) else None
            total = sum(value for value in counts.values() if type(value) is int) if isinstance(counts, dict) else -1
            if total == count and one["id"] not in taken and _seconds(one.get("created_at")) > created_at - 60:
                found.append(str(one["id"]))
        return found[-1] if found else None

    def state(self, batch: str) -> State:
        """See BatchService."""
        raw: Any = self._wire.call(lambda: self._client.messages.batches.with_raw_response.retrieve(batch))
        data = self._wire.json_object(raw.text(), None)
        counts = {name: value for name, value in (data.get("request_counts") or {}).items() if type(value) is int}
        total = sum(counts.values())
        return State(data.get("processing_status") == "ended", total - counts.get("processing", 0), total)

    def fetch(self, batch: str, out: Path) -> None:
        """See BatchService."""
        with atomic_path(out) as temporary, temporary.open("wb") as file:
            self._wire.call(lambda: self._copy(batch, file))

    def read(self, data: dict[str, Any]) -> tuple[str, Answer]:
        """See BatchService."""
        key, result = data["custom_id"], data.get("result")
        result = result if isinstance(result, dict) else {}
        kind = result.get("type")
        if kind == "succeeded":  # which may still be cut short or refused
            message = result.get("message")
            return key, _read(lambda: self._provider.read_object(message if isinstance(message, dict) else {}, None))
        if kind == "errored":
            error = result.get("error")
            inner = error.get("error") if isinstance(error, dict) and isinstance(error.get("error"), dict) else error
            inner = inner if isinstance(inner, dict) else {}
            return key, self._wire.stream_error({str(inner.get("type"))}, str(inner.get("message")), None)
        if kind in ("expired", "canceled"):
            return key, RecoverableError("expired", f"the batch {kind} before the request was answered")
        return key, RecoverableError("broken_body", f"a result of the type {str(kind)[:40]}")

    def _copy(self, batch: str, out: Any) -> None:
        response: Any
        with self._client.messages.batches.with_streaming_response.results(batch) as response:
            _copy(self._wire, response.iter_bytes(), out)


def parse_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file of lines; what is none is passed over, and its request counts as not answered."""
    with path.open("rb") as file:
        for line in file:
            try:
                data = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(data, dict) and isinstance(data.get("custom_id"), str):
                yield data


def _line(data: dict[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _read(read: Any) -> Answer:
    try:
        reply: Reply = read()
    except (RecoverableError, FatalError) as error:
        return error
    return reply


def _id(wire: Wire, body: str) -> str:
    found = wire.json_object(body, None).get("id")
    if not isinstance(found, str) or not found:
        raise RecoverableError("broken_body", f"an answer without an id: {wire.public(body)}")
    return found


def _copy(wire: Wire, chunks: Iterable[bytes], out: Any) -> None:
    """Write whole lines, none of them with the key in it."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            out.write(wire.without_key(line.decode("utf-8", "replace")).encode() + b"\n")
    if rest:
        out.write(wire.without_key(rest.decode("utf-8", "replace")).encode() + b"\n")


def _seconds(moment: Any) -> float:
    from datetime import datetime

    try:
        return datetime.fromisoformat(str(moment)).timestamp()
    except ValueError:
        return time.time()
