# SPDX-License-Identifier: GPL-3.0-or-later
"""The server over streamable HTTP: on 127.0.0.1 alone, for whoever has the token, and for no page in a browser.

Every request needs `Authorization: Bearer TOKEN`, exactly this server's `Host` (a name that is rebound to 127.0.0.1 is
another one), and no `Origin`, which browsers send and programs do not.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
from asyncio import TimerHandle, Transport
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..evaluator.protocol.bridge import descriptor_folder, private_folder
from ..evaluator.protocol.errors import BadInputError, OperationalError

ADDRESS: Final = "127.0.0.1"
PATH: Final = "/mcp"
TOKEN_VARIABLE: Final = "MATCHCUT_MCP_TOKEN"  # noqa: S105  the name of a variable
TOKEN_LENGTH: Final = 32  # characters that a token given by the user has at least
BODY_BYTES: Final = 4 * 1024 * 1024
REQUEST_SECONDS: Final = 20.0  # in which a request has to be there, head and body
SESSIONS: Final = 64
END_SECONDS: Final = 3  # that running calls get when the server is asked to end


def given_token() -> str:
    """The token in `$MATCHCUT_MCP_TOKEN`, empty where it is not set. Raises BadInputError where it is too weak."""
    token = os.environ.get(TOKEN_VARIABLE, "")
    if token and (len(token) < TOKEN_LENGTH or not token.isascii() or not token.isprintable() or " " in token):
        raise BadInputError(
            f"${TOKEN_VARIABLE}: expected at least {TOKEN_LENGTH} ASCII characters without spaces; unset it, and a "
            "token is made for you"
        )
    return token


def token_file(port: int) -> Path:
    """Where the server at `port` leaves the token that it made."""
    return descriptor_folder() / f"http-{port}.token"


def write_token(port: int) -> tuple[str, Path]:
    """A new token, and its file, which only this user can read. Raises OperationalError where it cannot be written."""
    token, path = secrets.token_urlsafe(32), private_folder() / token_file(port).name
    try:
        path.unlink(missing_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(token)
    except OSError as error:
        raise OperationalError(
            f"{path}: the token cannot be written ({error.strerror or error}); set ${TOKEN_VARIABLE} instead"
        ) from error
    return token, path


def serve_http(server: MCPServer, port: int, say: Callable[[str, Path | None], None]) -> None:
    """Serve until interrupted; `port` 0 is a free one. `say` is told the address, and the token's file if one was made.

    Raises OperationalError where the port is taken, KeyboardInterrupt once it has ended on a signal.
    """
    token, made = given_token(), None
    try:
        listening = socket.create_server((ADDRESS, port), backlog=128)
    except OSError as error:
        raise OperationalError(f"{ADDRESS}:{port} cannot be used ({error.strerror or error}); try --port 0") from error
    with listening:
        port = listening.getsockname()[1]
        if not token:
            token, made = write_token(port)
        try:
            web = web_server(server, f"{ADDRESS}:{port}", token)
            say(f"http://{ADDRESS}:{port}{PATH}", made)
            web.run(sockets=[listening])
        finally:
            if made is not None:
                with contextlib.suppress(OSError):
                    made.unlink()


def web_server(server: MCPServer, host: str, token: str) -> uvicorn.Server:
    """What serves `server` to requests with this `Host` and token, once it is given a socket."""
    security = TransportSecuritySettings(allowed_hosts=[host], allowed_origins=[])
    app = server.streamable_http_app(
        streamable_http_path=PATH, transport_security=security, max_request_body_size=BODY_BYTES, max_sessions=SESSIONS
    )
    return uvicorn.Server(
        uvicorn.Config(
            Guard(app, host, token), http=ImpatientProtocol, ws="none", lifespan="on", log_config=None,
            access_log=False, server_header=False, proxy_headers=False, timeout_graceful_shutdown=END_SECONDS,
        )
    )  # fmt: skip


class Guard:
    """The ASGI application around the library's: lets through what is authorized, whole and of a bearable size."""

    def __init__(self, app: ASGIApp, host: str, token: str) -> None:
        self._app = app
        self._host = host.encode()
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refused = self._refusal(scope["headers"]) if scope["type"] == "http" else (404, "not found")
        body: Message | None = None
        if refused is None and scope["method"] == "POST":
            body, refused = await _whole_body(receive)
        if refused is not None:
            status, text = refused
            headers = {"Connection": "close"} | ({"WWW-Authenticate": "Bearer"} if status == 401 else {})
            await PlainTextResponse(text + "\n", status_code=status, headers=headers)(scope, receive, send)
            return
        given = [body] if body is not None else []

        async def replay() -> Message:
            return given.pop() if given else await receive()

        await self._app(scope, replay, send)

    def _refusal(self, headers: list[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        def values(name: bytes) -> list[bytes]:
            return [value for key, value in headers if key.lower() == name]

        if values(b"host") != [self._host]:
            return 421, "another Host"
        if values(b"origin"):
            return 403, "no Origin is allowed"
        given = values(b"authorization")
        scheme, _, token = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        known = secrets.compare_digest(token, self._token) and scheme.lower() == b"bearer"
        return None if known else (401, "the token is missing or wrong")


async def _whole_body(receive: Receive) -> tuple[Message | None, tuple[int, str] | None]:
    """The body as one message, or the status and text of a refusal."""
    found = bytearray()
    with anyio.move_on_after(REQUEST_SECONDS):
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None, (400, "the request ended in the middle")
            found += message.get("body", b"")
            if len(found) > BODY_BYTES:
                return None, (413, f"more than {BODY_BYTES} bytes")
            if not message.get("more_body", False):
                return {"type": "http.request", "body": bytes(found), "more_body": False}, None
    return None, (408, f"the request was not there within {REQUEST_SECONDS:.0f} s")


class ImpatientProtocol(H11Protocol):
    """uvicorn's, which would wait for ever for the rest of a request's head."""

    _patience: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Give the first request's head its time."""
        super().connection_made(transport)
        self._patience = self.loop.call_later(REQUEST_SECONDS, self._end_silence)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        if self._patience is not None:
            self._patience.cancel()
        super().connection_lost(exc)

    def _end_silence(self) -> None:
        cycle: Any = self.cycle  # the running request, or the last one
        if (cycle is None or cycle.response_complete) and not self.transport.is_closing():
            self.transport.close()
        else:
            self._patience = self.loop.call_later(REQUEST_SECONDS, self._end_silence)
