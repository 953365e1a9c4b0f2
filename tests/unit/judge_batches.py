# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers of the OpenAI and Anthropic batch interfaces on this machine, for tests."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class BatchStub:
    """`answer(key, request)` gives a line of the results, or None where none is to come; `log` is what was asked.

    `ready` says how often a batch has to be looked at until it has ended.
    """

    def __init__(self, anthropic: bool, answer: Callable[[str, Any], Any], ready: int = 1) -> None:
        self.anthropic, self.answer, self.ready = anthropic, answer, ready
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        """Keys of every request in every batch."""
        self.lose_create = 0
        """How many creations are carried out without an answer."""
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def base(self) -> str:
        url = f"http://127.0.0.1:{self._server.server_address[1]}"
        return url if self.anthropic else f"{url}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def images(self) -> list[bytes]:
        return [data for data in self.files.values() if data.startswith(b"\xff\xd8")]

    def _upload(self, body: bytes, kind: str) -> dict[str, Any]:
        boundary = re.search(r"boundary=([^;]+)", kind)[1].strip('"').encode()
        part = next(one for one in body.split(b"--" + boundary) if b'name="file"' in one)
        data = part.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n")
        name = f"file_{len(self.files)}"
        self.files[name] = data
        return {"id": name, "object": "file", "type": "file", "bytes": len(data)}

    def _create(self, requests: list[tuple[str, Any]], metadata: Any) -> dict[str, Any]:
        name = f"batch_{len(self.batches)}"
        self.asked += [key for key, _ in requests]
        lines = [line for line in (self.answer(key, request) for key, request in requests) if line is not None]
        lines.reverse()  # the order is the service's own
        self.batches[name] = {
            "requests": requests, "lines": lines, "looks": 0, "metadata": metadata,
            "created_at": datetime.now(UTC).isoformat(),
        }  # fmt: skip
        return self._state(name, look=False)

    def _state(self, name: str, *, look: bool = True) -> dict[str, Any]:
        batch = self.batches[name]
        batch["looks"] += look
        ended, total = batch["looks"] >= self.ready, len(batch["requests"])
        if self.anthropic:
            counts = {"processing": 0 if ended else total, "succeeded": total if ended else 0, "errored": 0}
            return {
                "id": name, "type": "message_batch", "processing_status": "ended" if ended else "in_progress",
                "request_counts": counts, "created_at": batch["created_at"], "expires_at": batch["created_at"],
                "results_url": f"{self.base}/v1/messages/batches/{name}/results" if ended else None,
            }  # fmt: skip
        good = [line for line in batch["lines"] if line.get("error") is None]
        bad = [line for line in batch["lines"] if line.get("error") is not None]
        for kind, lines in (("out", good), ("err", bad)):
            self.files[f"{name}-{kind}"] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        return {
            "id": name, "object": "batch", "status": "completed" if ended else "in_progress", "endpoint": "",
            "metadata": batch["metadata"], "output_file_id": f"{name}-out" if ended else None,
            "error_file_id": f"{name}-err" if ended and bad else None, "created_at": 0, "input_file_id": "x",
            "request_counts": {"total": total, "completed": total if ended else 0, "failed": 0},
        }  # fmt: skip

    def _get(self, path: str) -> Any:
        path = path.partition("?")[0]
        if path == "/v1/models":
            return {"data": [{"id": "stub"}]}
        if path in ("/v1/batches", "/v1/messages/batches"):
            return {"data": [self._state(name, look=False) for name in self.batches], "has_more": False}
        if path.endswith("/content"):
            return self.files[path.split("/")[3]]
        if path.endswith("/results"):
            return b"".join(json.dumps(line).encode() + b"\n" for line in self.batches[path.split("/")[4]]["lines"])
        return self._state(path.rsplit("/", 1)[1])

    def _post(self, path: str, body: bytes, kind: str) -> Any:
        if path == "/v1/files":
            return self._upload(body, kind)
        data = json.loads(body)
        if path == "/v1/batches":
            lines = [json.loads(line) for line in self.files[data["input_file_id"]].splitlines()]
            assert all(line["url"] == "/v1/responses" and line["method"] == "POST" for line in lines)
            return self._create([(line["custom_id"], line["body"]) for line in lines], data["metadata"])
        assert path == "/v1/messages/batches", path
        return self._create([(one["custom_id"], one["params"]) for one in data["requests"]], None)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                with stub._lock:
                    self._send(stub._get(self.path))

            def do_POST(self) -> None:
                if "chunked" in self.headers.get("transfer-encoding", ""):
                    body = b""
                    while size := int(self.rfile.readline(), 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    body = self.rfile.read(int(self.headers["content-length"]))
                path = self.path.partition("?")[0]
                with stub._lock:
                    answer = stub._post(path, body, self.headers.get("content-type", ""))
                    if path.endswith("batches") and stub.lose_create:
                        stub.lose_create -= 1
                        self.close_connection = True
                        return
                self._send(answer)

            def _send(self, answer: Any) -> None:
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: object) -> None:
                pass

        return Handler
