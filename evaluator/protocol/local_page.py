# SPDX-License-Identifier: GPL-3.0-or-later
"""A page in the browser of the person at this machine: loopback only, with a token in every address.

Another page in the same browser can neither read nor send anything here: it does not know the token, the `Host` has to
be this server's own (a name that is rebound to 127.0.0.1 is not), and what is sent has to be JSON from this page.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self
from urllib.parse import urlsplit

HOST: Final = "127.0.0.1"
MAX_BODY: Final = 2**20
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:;"
    " connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class Request:
    """`path` is what follows the token, without a leading slash; `body` is the JSON that was sent, None for a GET."""

    path: str
    body: Any = None


@dataclass(frozen=True)
class Response:
    """What is sent back."""

    data: bytes
    type: str = "application/json"
    status: int = 200


def json_response(data: Any, status: int = 200) -> Response:
    """A JSON value as a response."""
    return Response(json.dumps(data, ensure_ascii=False, allow_nan=False).encode(), status=status)


NOT_FOUND: Final = Response(b"{}", status=404)


class LocalPage:
    """Serves `handle` until it is closed; requests are handled in threads of their own.

    `handle` gives None for an address that does not exist.
    """

    def __init__(self, handle: Callable[[Request], Response | None]) -> None:
        token = secrets.token_urlsafe(24)

        class Handler(_Handler):
            prefix = f"/{token}/"
            port = 0

            def answer(self, request: Request) -> Response:
                return handle(request) or NOT_FOUND

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        Handler.port = self.port
        self.address = f"http://{HOST}:{self.port}/{token}/"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="local page", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving; may be called twice."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class _Handler(BaseHTTPRequestHandler):
    prefix = ""
    port = 0
    protocol_version = "HTTP/1.1"
    timeout = 60  # a connection that nobody uses is let go

    def answer(self, request: Request) -> Response:
        raise NotImplementedError

    def do_GET(self) -> None:
        path = self._allowed_path()
        self._send(NOT_FOUND if path is None else self.answer(Request(path)))

    def do_POST(self) -> None:
        self.close_connection = True  # what is refused is left unread
        path = self._allowed_path()
        body = self._body()
        if path is None or body is None:
            self._send(NOT_FOUND if path is None else Response(b"{}", status=400))
        else:
            self._send(self.answer(Request(path, body[0])))

    def _allowed_path(self) -> str | None:
        own = f"{HOST}:{self.port}"
        origin = self.headers.get("Origin")
        path = urlsplit(self.path).path
        known = secrets.compare_digest(path[: len(self.prefix)].encode(), self.prefix.encode())
        if self.headers.get("Host") != own or origin not in (None, f"http://{own}") or not known:
            return None
        return path[len(self.prefix) :]

    def _body(self) -> tuple[Any] | None:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length[:9]) > MAX_BODY or len(length) > 9:
            return None
        if self.headers.get_content_type() != "application/json":
            return None
        try:
            return (json.loads(self.rfile.read(int(length))),)
        except (ValueError, RecursionError):
            return None

    def _send(self, response: Response) -> None:
        self.send_response(response.status)
        self.send_header("Content-Type", response.type)
        self.send_header("Content-Length", str(len(response.data)))
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        try:
            self.end_headers()
            self.wfile.write(response.data)
        except ConnectionError:  # the page was closed meanwhile
            self.close_connection = True

    def log_message(self, *args: Any) -> None:
        """Nothing: addresses hold the token."""
