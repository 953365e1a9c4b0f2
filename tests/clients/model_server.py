# SPDX-License-Identifier: GPL-3.0-or-later
"""A model provider on the loopback whose model is a script, and a proxy that records and refuses what would leave."""

from __future__ import annotations

import gzip
import json
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from model_wires import Event, Wire
from scripted_agent import Answer, Call, Script, UnexpectedAnswerError

SEARCHES = 20
DONE = "The reconstruction is submitted."


@dataclass(frozen=True)
class Request:
    """One request to the provider."""

    method: str
    path: str
    body: dict[str, Any]
    size: int


@dataclass(frozen=True)
class Made:
    """One call that the program made for the model: its answer as the model saw it, and the seconds until it came."""

    call: Call
    answer: Answer
    seconds: float


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class ModelServer(_Server):
    """Answers the program as the provider would, by one wire and one script; `with` starts and ends it."""

    def __init__(self, wire: Wire, script: Script) -> None:
        super().__init__(_ModelHandler)
        self.wire, self.script = wire, script
        self.requests: list[Request] = []
        self.made: list[Made] = []
        self.failure = ""
        """What went against the script; the model then ends its turn."""
        self._asked: tuple[Call, float] | None = None
        self._searches = 0
        self._lock = threading.Lock()

    def turns(self) -> list[Request]:
        """The requests of the agent's own conversation."""
        return [one for one in self.requests if one.path.startswith(self.wire.path) and self.wire.is_turn(one.body)]

    def reply(self, request: Request) -> list[Event]:
        """The events of the reply."""
        with self._lock:
            self.requests.append(request)
            if not self.wire.is_turn(request.body):
                return self.wire.say("ok", request.body)
            try:
                return self._next(request.body)
            except UnexpectedAnswerError as error:
                self.failure = self.failure or str(error)
                return self.wire.say(f"I stop: {error}", request.body)

    def _next(self, body: dict[str, Any]) -> list[Event]:
        answer = self.wire.answer(body) if self._asked is not None else None
        if self._asked is not None and answer is not None:
            call, begun = self._asked
            self.made.append(Made(call, answer, time.monotonic() - begun))
        known = self.wire.tools(body)
        wanted = sorted(self.script.tools() - set(known))
        if self._asked is None and wanted and self._searches < SEARCHES:
            time.sleep(min(self._searches, 1))  # some programs ask before our server has answered them
            self._searches += 1
            return self.wire.search(wanted, body)
        call = self.script.next(answer)
        if call is None:
            self._asked = None
            return self.wire.say(DONE, body)
        if call.tool not in known:
            raise UnexpectedAnswerError(f"the program does not offer {call.tool}; it offers {', '.join(sorted(known))}")
        self._asked = (call, time.monotonic())
        return self.wire.call(call, body)


class RefusingProxy(_Server):
    """What a program is told to use for every address but the loopback: it notes the address, and refuses."""

    def __init__(self) -> None:
        super().__init__(_ProxyHandler)
        self.refused: list[str] = []


class _ProxyHandler(BaseHTTPRequestHandler):
    server: RefusingProxy

    def _refuse(self) -> None:
        self.server.refused.append(f"{self.command} {self.path}")
        self.send_error(403)

    do_CONNECT = do_GET = do_HEAD = do_POST = do_PUT = _refuse

    def log_message(self, *values: object) -> None:
        """Nothing is printed."""


class _ModelHandler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_POST(self) -> None:
        """A question to the model."""
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            data = gzip.decompress(data)
        request = Request(self.command, self.path, json.loads(data), len(data))
        if not self.path.startswith(self.server.wire.path) or "count_tokens" in self.path:
            self._other(request)
            return
        events = self.server.reply(request)
        streams = len(events) > 1 or "stream" in self.path.lower()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if streams else "application/json")
        self.end_headers()
        if not streams:
            self.wfile.write(json.dumps(events[0][1]).encode())
            return
        for name, event in events:
            kind = f"event: {name}\n" if name else ""
            self.wfile.write(f"{kind}data: {json.dumps(event)}\n\n".encode())
        if self.server.wire.last:
            self.wfile.write(f"data: {self.server.wire.last}\n\n".encode())

    def do_GET(self) -> None:
        """Anything else that a program may ask its provider for; which models there are where its wire has one."""
        request, model = Request(self.command, self.path, {}, 0), self.server.wire.model
        if not model or not self.path.endswith("/models"):
            self._other(request)
            return
        self.server.requests.append(request)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        found = {"id": model, "object": "model", "created": 1, "owned_by": "loopback"}
        self.wfile.write(json.dumps({"object": "list", "data": [found]}).encode())

    do_HEAD = do_GET

    def _other(self, request: Request) -> None:
        self.server.requests.append(request)
        self.send_error(404)

    def log_message(self, *values: object) -> None:
        """Nothing is printed."""
