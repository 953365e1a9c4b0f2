# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests over HTTP through the openai and anthropic packages, whose clients and errors have the same shapes.

Every request has a connection of its own and a moment at which it ends: a server that sends a byte now and then would
keep the packages' own timeouts, which are for each wait, from ever ending it. The same handle lets a run be left.
"""

from __future__ import annotations

import html
import ipaddress
import json
import logging
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlsplit

import httpx2

from ...protocol.errors import BadInputError
from .base import FatalError, RecoverableError, RequestError, StoppedError

CONNECT_SECONDS: Final = 20.0
"""Until a server takes the connection, which is done before any work."""
HIDDEN: Final = "[key]"
SHORTEST_KEY: Final = 6
"""Characters; what is shorter stands in for a key where a server wants any, and would be found in every text."""
DEEPEST: Final = 64
"""Objects and arrays within each other; no service's answer comes near."""
MOST_TOKENS: Final = 2**53
"""Above this a count is none."""

_SURROGATES: Final = re.compile("[\ud800-\udfff]")

_SPENT: Final = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error", "spend_limit_reached"}
)
# status → reason, and whether every other request would end the same way
_FATAL: Final[dict[int, tuple[str, bool]]] = {
    400: ("bad_request", False),
    401: ("unauthorized", True),
    402: ("quota_spent", True),
    403: ("forbidden", True),
    404: ("not_found", True),
    413: ("too_large", False),
    422: ("bad_request", False),
}
_Answer = TypeVar("_Answer")


class Wire:
    """The HTTP side of one service: clients, deadlines, the meaning of errors, and texts without the key."""

    def __init__(self, sdk: Any, *, key: str | None, timeout: float, base_url: str) -> None:
        self._sdk, self._timeout = sdk, timeout
        self._hidden = _forms(key) if key is not None and len(key) >= SHORTEST_KEY else None
        self._open: set[_Call] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._current = threading.local()
        # the packages' debug logs hold whole requests
        for name in ("openai", "anthropic", "httpx2", "httpcore2"):
            logging.getLogger(name).setLevel(logging.WARNING)
        try:
            self.http_client = sdk.DefaultHttpxClient(
                event_hooks={"request": [self._watch]},
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),
                timeout=self.timeout,
                follow_redirects=False,  # another address than the one that was named never sees images or key
                # a proxy set for the outside world cannot reach this machine's own servers
                trust_env=not _is_loopback(base_url),
            )
        except (ValueError, ImportError, OSError) as error:  # the text may hold a proxy's password
            raise BadInputError(
                f"judge: no connection can be made with the proxy or certificates of the environment"
                f" ({type(error).__name__}); look at HTTPS_PROXY, HTTP_PROXY, ALL_PROXY (http:// or https://),"
                " SSL_CERT_FILE and SSL_CERT_DIR"
            ) from error

    @property
    def timeout(self) -> httpx2.Timeout:
        """For each single wait; `call` bounds the whole."""
        return httpx2.Timeout(self._timeout, connect=min(self._timeout, CONNECT_SECONDS))

    def call(self, send: Callable[[], _Answer]) -> _Answer:
        """Run `send`, which uses the client once, until its answer is there or the time is up.

        Raises RecoverableError, FatalError, or StoppedError.
        """
        sdk = self._sdk
        with self._within() as call:
            try:
                return send()
            except (sdk.APIConnectionError, httpx2.TransportError) as error:
                if call.stopped:
                    raise StoppedError from None
                timed_out = isinstance(error, (sdk.APITimeoutError, httpx2.TimeoutException))
                if call.expired or timed_out:
                    detail = f"no whole answer within {self._timeout:g} s"
                    raise RecoverableError("timeout", detail) from error
                cause = f" ({error.__cause__})" if error.__cause__ else ""
                raise RecoverableError("connection", self.public(f"{error}{cause}")) from error
            except sdk.APIStatusError as error:
                if call.stopped:
                    raise StoppedError from None
                raise self.status_error(error) from error

    def close(self) -> None:
        """End all calls, and every later one."""
        with self._lock:
            self._closed = True
            calls = list(self._open)
        for call in calls:
            call.end(stopped=True)

    def status_error(self, error: Any) -> RequestError:
        """The meaning of a request that the package says was refused."""
        request_id = self.public(error.request_id) if error.request_id else None
        wait = retry_after_seconds(error.response.headers.get("retry-after"))
        return self.meaning(error.status_code, error.body, str(error.message), request_id, wait)

    def meaning(
        self, status: int, body: Any, message: str, request_id: str | None = None, wait: float | None = None
    ) -> RequestError:
        """What a refused request's status and body say; what is neither known nor a server's fault ends the run."""
        found = body if isinstance(body, dict) else {}
        inner = found.get("error") if isinstance(found.get("error"), dict) else found
        codes = {str(inner.get("type")), str(inner.get("code"))} if isinstance(inner, dict) else set()
        detail = self.public(f"HTTP {status}: {message}")
        if status == 402 or (status == 429 and _SPENT & codes):
            return FatalError("quota_spent", detail, request_id=request_id, whole_run=True)
        if status == 429:
            return RecoverableError("rate_limited", detail, request_id=request_id, retry_after=wait)
        if status == 529 or "overloaded_error" in codes:
            return RecoverableError("overloaded", detail, request_id=request_id, retry_after=wait)
        if status in (408, 409) or status >= 500:
            return RecoverableError(f"http_{status}", detail, request_id=request_id, retry_after=wait)
        reason, whole_run = _FATAL.get(status, (f"http_{status}", True))
        return FatalError(reason, detail, request_id=request_id, whole_run=whole_run)

    def stream_error(self, codes: set[str], message: str, request_id: str | None) -> RequestError:
        """The meaning of an error that a service reports after it had begun to answer, or within a batch."""
        detail = self.public(f"{'/'.join(sorted(codes - {'None', ''})) or 'error'}: {message}")
        for words, reason in (
            (("overloaded_error",), "overloaded"),
            (("rate_limit_error", "rate_limit_exceeded"), "rate_limited"),
            (("timeout_error",), "timeout"),
            (("api_error", "server_error", "internal_error", "vector_store_timeout"), "server_error"),
        ):
            if codes & set(words):
                return RecoverableError(reason, detail, request_id=request_id)
        if codes & _SPENT:
            return FatalError("quota_spent", detail, request_id=request_id, whole_run=True)
        for word, reason in (
            ("authentication_error", "unauthorized"),
            ("permission_error", "forbidden"),
            ("not_found_error", "not_found"),
        ):
            if word in codes:
                return FatalError(reason, detail, request_id=request_id, whole_run=True)
        reason = "too_large" if "request_too_large" in codes else "bad_request"
        return FatalError(reason, detail, request_id=request_id, whole_run=False)

    def json_object(self, body: str, request_id: str | None) -> dict[str, Any]:
        """The JSON object of a body that came with a good status. Raises RecoverableError html or broken_body."""
        try:
            data = self._clean(json.loads(body))
        except (ValueError, RecursionError):
            page = body.lstrip()[:9].lower().startswith(("<!doctype", "<html"))
            detail = f"HTTP 200 with {'a web page' if page else 'no JSON'}: {self.public(body)}"
            raise RecoverableError("html" if page else "broken_body", detail, request_id=request_id) from None
        if not isinstance(data, dict):
            raise broken_body(body, request_id)
        return data

    def without_key(self, text: str) -> str:
        """`text` with the key hidden, however it is written, and without what UTF-8 cannot hold."""
        text = _SURROGATES.sub("\ufffd", text)
        return self._hidden.sub(HIDDEN, text) if self._hidden else text

    def _clean(self, data: Any, depth: int = 0) -> Any:
        """Parsed JSON without the key: only now is every way of writing it in JSON the same. Raises RecursionError."""
        if depth > DEEPEST:
            raise RecursionError
        if isinstance(data, str):
            return self.without_key(data)
        if isinstance(data, list):
            return [self._clean(item, depth + 1) for item in data]
        if isinstance(data, dict):
            return {self.without_key(name): self._clean(value, depth + 1) for name, value in data.items()}
        return data

    def public(self, text: object) -> str:
        """One line that may stand in files and messages."""
        return one_line(self.without_key(str(text)))

    @contextmanager
    def _within(self) -> Iterator[_Call]:
        call = _Call()
        timer = threading.Timer(self._timeout, call.end)
        timer.daemon = True
        with self._lock:
            if self._closed:
                raise StoppedError
            self._open.add(call)
        timer.start()
        self._current.call = call
        try:
            yield call
        finally:
            timer.cancel()
            self._current.call = None
            with self._lock:
                self._open.discard(call)

    def _watch(self, request: httpx2.Request) -> None:
        call = getattr(self._current, "call", None)
        if call is not None:
            request.extensions = {**request.extensions, "trace": call.trace}


class _Call:
    """One call's connections, so that they can be ended from outside; also while the server is silent."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self.expired = self.stopped = False

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Told by the HTTP library about every step of a request."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            with self._lock:
                self._sockets.append(info["return_value"].get_extra_info("socket"))
                ended = self.expired or self.stopped
            if ended:
                self.end(stopped=self.stopped)

    def end(self, *, stopped: bool = False) -> None:
        """Shut the connections down; what waits for them fails at once."""
        with self._lock:
            self.expired, self.stopped = self.expired or not stopped, self.stopped or stopped
            for connection in self._sockets:
                with suppress(OSError):  # closed already
                    # the plain socket's: that of a TLS socket would forget its keys under a reader's hands
                    socket.socket.shutdown(connection, socket.SHUT_RDWR)


def broken_body(body: object, request_id: str | None) -> RecoverableError:
    """A body that is not what the service's own format says."""
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    return RecoverableError(
        "broken_body", f"HTTP 200 without exactly one answer in it: {one_line(text)}", request_id=request_id
    )


def counts(usage: Any, prefix: str = "") -> dict[str, int]:
    """Every count of a usage object, nested ones under `outer.inner`; what cannot be one is left out."""
    found: dict[str, int] = {}
    for name, value in usage.items() if isinstance(usage, dict) else ():
        if type(value) is int and 0 <= value < MOST_TOKENS:
            found[f"{prefix}{name}"] = value
        elif isinstance(value, dict):
            found |= counts(value, f"{prefix}{name}.")
    return found


def text_or_none(value: Any) -> str | None:
    """A text that says something."""
    return value if isinstance(value, str) and value else None


def retry_after_seconds(header: str | None) -> float | None:
    """The `Retry-After` header, seconds or a date, as seconds from now, at least 0; None where there is none."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            moment = parsedate_to_datetime(header)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            seconds = (moment - datetime.now(UTC)).total_seconds()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds < float("inf") else None


def one_line(text: str) -> str:
    """At most 300 characters without line feeds, and without what would steer a terminal."""
    line = "".join(one if one.isprintable() else "\ufffd" for one in " ".join(text[:4000].split()))
    return line if len(line) <= 300 else line[:299] + "…"


def _forms(key: str) -> re.Pattern[str]:
    """The key as it may be written where it is echoed: in JSON or Python, also within each other, in a URL or HTML."""

    def form(one: str) -> str:
        if one.isalnum():
            return one
        if one == "\\":
            return r"(?:\\+|%5C)"
        others = {re.escape(quote(one, safe="")), re.escape(html.escape(one)), re.escape(one)}
        return rf"(?:\\*(?:{'|'.join(sorted(others, key=len, reverse=True))}))"

    return re.compile("".join(map(form, key)))


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
