# SPDX-License-Identifier: GPL-3.0-or-later
"""A judge for tests: a real HTTP server on this machine that speaks the chat-completions wire format.

In a test: `with JudgeStub(answers) as stub:` where `answers` is a list of Answer (the last one repeats) or a function
from a request's JSON to an Answer; `stub.requests` holds what came in. As a program it answers a sample's checks with
their right ratings, so that the whole path can be shown without a model:

    python tests/unit/judge_stub.py --ratings assets_ui/samples/two_shots/ratings.json
    matchcut demo --judge local:http://127.0.0.1:PORT/v1#stub

Only the standard library is used.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

MODEL = "stub-model-2026-11"
FULL = "fully_satisfied"


@dataclass(frozen=True)
class Answer:
    """What the server sends back; `cut` ends the connection in the middle of the body, or of a stream."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False
    drip: float = 0.0
    """Seconds after each byte of the body."""


@dataclass(frozen=True)
class Recorded:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: Any


def completion(
    content: Any, *, finish: Any = "stop", refusal: str | None = None, delay: float = 0.0, cut: bool = False
) -> Answer:
    """A chat completion with one choice."""
    data = {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "created": 1796000000,
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, "refusal": refusal},
                "finish_reason": finish,
                "logprobs": None,
            }
        ],
        "usage": {
            "prompt_tokens": 1200,
            "completion_tokens": 34,
            "total_tokens": 1234,
            "prompt_tokens_details": {"cached_tokens": 0},
        },
    }
    return json_answer(data, delay=delay, cut=cut)


def json_answer(data: Any, status: int = 200, delay: float = 0.0, cut: bool = False, **headers: str) -> Answer:
    """Any JSON body; header names are given with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(json.dumps(data).encode(), status, {"content-type": "application/json", **named}, delay, cut)


def labels(*ratings: Any, **options: Any) -> Answer:
    """A reply of the right form with these labels."""
    return completion(json.dumps({"results": list(ratings)}), **options)


def error(status: int, message: str = "no", code: str | None = None, **headers: str) -> Answer:
    """An error in the wire format."""
    return json_answer({"error": {"message": message, "type": code, "param": None, "code": code}}, status, **headers)


HTML = Answer(b"<!DOCTYPE html><html><body>502 Bad Gateway</body></html>", 200, {"content-type": "text/html"})
BROKEN_JSON = Answer(b'{"id": "chatcmpl-stub", "choices": [', 200, {"content-type": "application/json"})


def asked(body: Any) -> dict[str, Any]:
    """The entity table and checks in a request's JSON."""
    return json.loads(body["messages"][1]["content"][-1]["text"])


def satisfied(body: Any) -> Answer:
    """Every check is fully satisfied."""
    return labels(*[FULL] * len(asked(body)["checks"]))


class JudgeStub:
    """The server: a context manager; `url` is the base URL."""

    def __init__(
        self,
        answers: Sequence[Answer] | Callable[[Any], Answer] = satisfied,
        port: int = 0,
        path: str = "/v1/chat/completions",
        models: Sequence[str] = ("stub",),
    ) -> None:
        self.requests: list[Recorded] = []
        self.looks: list[Recorded] = []
        """GET requests."""
        self._path, self._models = path, models
        self._answers = answers
        self._lock = threading.Lock()
        self._connections: list[socket.socket] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def spec(self) -> str:
        """What `--judge` takes."""
        return f"local:{self.url}#stub"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        for connection in self._connections:  # a connection that is kept open would go on being answered
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def _answer(self, recorded: Recorded) -> Answer:
        with self._lock:
            self.requests.append(recorded)
            number = len(self.requests) - 1
        if recorded.path != self._path:
            return error(404, f"no such path: {recorded.path}")
        if callable(self._answers):
            return self._answers(recorded.body)
        return self._answers[min(number, len(self._answers) - 1)]

    def look(self, path: str) -> Answer:
        """A GET request: the list of models."""
        if path.partition("?")[0] != "/v1/models":
            return error(404, f"no such path: {path}")
        return json_answer({"object": "list", "data": [{"id": name, "object": "model"} for name in self._models]})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                stub._connections.append(self.connection)

            def do_GET(self) -> None:
                stub.looks.append(Recorded(self.path, {k.lower(): v for k, v in self.headers.items()}, None))
                self._send(stub.look(self.path))

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["content-length"]))
                recorded = Recorded(self.path, {k.lower(): v for k, v in self.headers.items()}, json.loads(data))
                answer = stub._answer(recorded)
                time.sleep(answer.delay)
                try:
                    self._send(answer)
                except OSError:
                    self.close_connection = True  # the client did not wait

            def _send(self, answer: Answer) -> None:
                self.send_response(answer.status)
                number = f"req-{len(stub.requests)}"
                headers = {"x-request-id": number, "request-id": number, **answer.headers}
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(answer.body)))
                self.end_headers()
                body = answer.body[: len(answer.body) // 2] if answer.cut else answer.body
                if answer.drip:
                    for byte in body:
                        self.wfile.write(bytes([byte]))
                        time.sleep(answer.drip)
                else:
                    self.wfile.write(body)
                self.close_connection = self.close_connection or answer.cut

            def log_message(self, *args: object) -> None:
                pass

        return Handler


def right_ratings(path: Path) -> Callable[[Any], Answer]:
    """Answers with the ratings of a `matchcut-ratings/1` file; the clips lie beside it in `clips/`.

    A request is recognised by its checks alone, as a judge would see them.
    """
    ratings = json.loads(path.read_text(encoding="utf-8"))
    if ratings.get("format") != "matchcut-ratings/1":
        raise SystemExit(f"{path}: its format is {ratings.get('format')!r}; expected 'matchcut-ratings/1'")
    clips = [json.loads(file.read_text(encoding="utf-8")) for file in sorted((path.parent / "clips").glob("*.json"))]

    def answer(body: Any) -> Answer:
        data = asked(body)
        for clip in clips:
            applicable = [check for check in clip["checks"] if data["setting"] in check["settings"]]
            if [_as_asked(check) for check in applicable] == data["checks"]:
                right = ratings["ratings"][data["setting"]][clip["id"]]
                return labels(*[right[check["id"]] for check in applicable])
        return error(400, "these checks are not the sample's")

    return answer


def _as_asked(check: dict[str, Any]) -> dict[str, Any]:
    return {
        "statement": check["statement"],
        "category": check["category"],
        "subjects": check["subjects"],
        "frames": [check["start"], check["end"]],
        "evidence_frames": check["evidence_frames"],
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="A stand-in judge that answers a sample's checks rightly.")
    parser.add_argument("--ratings", type=Path, required=True, help="a matchcut-ratings/1 file with clips/ beside it")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    args = parser.parse_args(arguments)
    with JudgeStub(right_ratings(args.ratings), args.port) as stub:
        sys.stdout.write(f"{stub.url}\n")
        sys.stdout.flush()
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
