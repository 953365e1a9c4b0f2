# SPDX-License-Identifier: GPL-3.0-or-later
"""The other end of the bridge: connects to a Blender, sends requests, and says plainly what became of each."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final, Literal

from .bridge import (
    FRAME_LIMIT,
    HANDSHAKE_LIMIT,
    PROTOCOL,
    BridgeCallError,
    Descriptor,
    FrameBuffer,
    FrameError,
    client_name,
    encode_frame,
    is_nonce,
    new_nonce,
    proof,
    proves,
    read_descriptors,
    remove_descriptor,
)
from .errors import OperationalError

HANDSHAKE_SECONDS: Final = 5.0
WITHDRAW_SECONDS: Final = 3.0  # the bridge's thread answers a withdrawal at once, whatever Blender is doing
_SYNCHRONIZE: Final = 0x00100000  # the right to wait for a process, and ERROR_ACCESS_DENIED, of the Windows API
_ACCESS_DENIED: Final = 5
_SLICE_SECONDS: Final = 0.2  # how often a waiting call looks whether its caller gave up


ConnectFailure = Literal["gone", "silent", "closed"]


class BridgeConnectError(OperationalError):
    """No connection could be made, so nothing was sent.

    `reason`: gone (nobody, or somebody else, listens there), silent (it takes the connection and does not answer in
    time), closed (it hung up).
    """

    def __init__(self, message: str, reason: ConnectFailure) -> None:
        super().__init__(message)
        self.reason: ConnectFailure = reason


class BridgeClient:
    """One authenticated connection; one call at a time, from any thread."""

    def __init__(self, descriptor: Descriptor, connection: socket.socket, buffer: FrameBuffer) -> None:
        self.descriptor = descriptor
        self._socket = connection
        self._buffer = buffer
        self._lock = threading.Lock()
        self._last_id = 0

    @classmethod
    def connect(cls, descriptor: Descriptor, *, name: str = "", timeout: float = HANDSHAKE_SECONDS) -> BridgeClient:
        """Connect and prove on both sides that the token is known. `name` is what the panel calls this client.

        Raises BridgeConnectError; nothing was run then.
        """
        deadline = time.monotonic() + timeout
        try:
            connection = _open(descriptor, timeout)
        except TimeoutError:
            raise BridgeConnectError(f"{descriptor}: it does not take connections; try again", "silent") from None
        except OSError as error:
            raise BridgeConnectError(f"{descriptor}: nobody listens there any more ({error})", "gone") from error
        try:
            client = cls(descriptor, connection, FrameBuffer(HANDSHAKE_LIMIT))
            client._handshake(deadline, client_name(name))
        except TimeoutError:
            connection.close()
            raise BridgeConnectError(
                f"{descriptor}: no answer within {timeout:.0f} s; it is busy, try again", "silent"
            ) from None
        except FrameError as error:
            connection.close()
            raise BridgeConnectError(
                f"{descriptor}: what listens in its place is not that bridge ({error}); start the bridge again", "gone"
            ) from error
        except (OSError, EOFError) as error:
            connection.close()
            raise BridgeConnectError(f"{descriptor}: it hung up ({error}); try again", "closed") from error
        return client

    def _handshake(self, deadline: float, name: str) -> None:
        nonce = new_nonce()
        self._socket.sendall(encode_frame({"bridge": PROTOCOL, "nonce": nonce}))
        challenge = self._receive(deadline)
        server_nonce = challenge.get("nonce")
        if not is_nonce(server_nonce):
            raise FrameError("no nonce")
        token = self.descriptor.token
        # the server proves itself first: a stranger who took over the port learns nothing that it could replay
        if not proves(challenge, proof(token, "server", nonce, str(server_nonce))):
            raise FrameError("it does not know the token")
        own_proof = proof(token, "client", nonce, str(server_nonce))
        self._socket.sendall(encode_frame({"proof": own_proof, "name": name}))
        if self._receive(deadline).get("ready") is not True:
            raise FrameError("it did not accept the token")
        self._buffer.limit = FRAME_LIMIT

    def _receive(self, deadline: float) -> dict[str, Any]:
        """The next message. Raises TimeoutError at the deadline (time.monotonic), EOFError, OSError, FrameError."""
        while (message := self._buffer.next()) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)
            data = self._socket.recv(1 << 16)
            if not data:
                raise EOFError("the connection was closed")
            self._buffer.feed(data)
        return message

    def is_open(self) -> bool:
        """Whether the other side is still there, as far as this side has heard."""
        with self._lock:
            try:
                self._socket.settimeout(0)
                data = self._socket.recv(1 << 16)
            except (BlockingIOError, InterruptedError):
                return True
            except OSError:
                return False
            self._buffer.feed(data)  # the late answer of a call that was given up; its id is of no call to come
            return bool(data)

    def close(self) -> None:
        """End the connection; requests of it that have not begun are then dropped by the bridge."""
        self._socket.close()

    def call(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        timeout: float = 60.0,
        start_timeout: float | None = None,
        cancelled: Callable[[], bool] | None = None,
        leave: bool = True,
    ) -> dict[str, Any]:
        """Send one request, once, and wait for its result.

        Not begun within `start_timeout` seconds (at most `timeout`), it is taken back: BridgeCallError `busy`, nothing
        ran. Begun and not answered within `timeout` seconds: `unfinished`. Connection ended in between: `lost`.
        `cancelled` is asked now and then; once true the request is taken back: `cancelled`. What has begun is left to
        itself then (`cancelled` too), or without `leave` waited for all the same.
        Raises BridgeConnectError where the request could not be sent, so that nothing ran.
        """
        with self._lock:
            self._last_id += 1
            try:
                frame = encode_frame({"id": self._last_id, "method": method, "params": params or {}})
            except FrameError as error:
                raise BridgeCallError("bad_params", f"{method}: its parameters cannot be sent: {error}") from error
            try:
                self._socket.settimeout(HANDSHAKE_SECONDS)
                self._socket.sendall(frame)
            except OSError as error:
                # a frame that was not sent whole is never run
                self._socket.close()
                raise BridgeConnectError(f"{self.descriptor}: the connection is gone ({error})", "closed") from error
            try:
                return self._wait(method, timeout, min(timeout, start_timeout or timeout), cancelled, leave=leave)
            except (EOFError, OSError, FrameError) as error:
                self._socket.close()
                raise BridgeCallError(
                    "lost", f"the connection to Blender ended during {method} ({error}); whether it finished is unknown"
                ) from error

    def _wait(
        self, method: str, timeout: float, start_timeout: float, cancelled: Callable[[], bool] | None, *, leave: bool
    ) -> dict[str, Any]:
        begun_at = time.monotonic()
        end, begin_by = begun_at + timeout, begun_at + start_timeout
        has_begun = False
        while True:
            now = time.monotonic()
            given_up = cancelled is not None and cancelled()
            if given_up or now >= end or (now >= begin_by and not has_begun):
                withdrawn = self._withdraw()
                if "withdrawn" not in withdrawn:  # the result itself was under way
                    return _result_of(withdrawn)
                if withdrawn["withdrawn"]:
                    running = f" (now: {withdrawn['running']})" if withdrawn.get("running") else ""
                    raise BridgeCallError(
                        "cancelled" if given_up else "busy",
                        f"{method} did not run: Blender was busy for {now - begun_at:.0f} s{running}; try again later",
                    )
                has_begun = True
                if given_up and not leave:
                    cancelled, given_up = None, False
                if given_up or now >= end:
                    raise BridgeCallError(
                        "cancelled" if given_up else "unfinished",
                        f"{method} has run for {now - begun_at:.0f} s and goes on; its outcome is unknown, and it is "
                        "not sent again",
                    )
            until = end if has_begun else begin_by
            message = self._answer(min(until, now + _SLICE_SECONDS))
            if message is not None:
                return _result_of(message)

    def _answer(self, deadline: float) -> dict[str, Any] | None:
        """The next message about the latest request, or None at the deadline; late answers to others are dropped."""
        while True:
            try:
                message = self._receive(deadline)
            except TimeoutError:
                return None
            if message.get("id") == self._last_id:
                return message

    def _withdraw(self) -> dict[str, Any]:
        self._socket.settimeout(HANDSHAKE_SECONDS)
        self._socket.sendall(encode_frame({"withdraw": self._last_id}))
        answer = self._answer(time.monotonic() + WITHDRAW_SECONDS)
        if answer is None:
            raise EOFError("the bridge answers nothing at all")
        return answer


def _open(descriptor: Descriptor, timeout: float) -> socket.socket:
    """A connection to where the descriptor says. Raises OSError, TimeoutError among them."""
    if sys.platform == "win32" or descriptor.socket_path is None:
        # Windows tries a closed port for two seconds before it says so
        patience = max(timeout, 3.0) if sys.platform == "win32" else timeout
        connection = socket.create_connection(("127.0.0.1", descriptor.port), timeout=patience)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection
    deadline = time.monotonic() + timeout
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(timeout)
        while True:
            try:
                connection.connect(str(descriptor.socket_path))
                return connection
            except BlockingIOError:  # too many wait to be taken: unlike a port, a Unix socket says so at once
                if time.monotonic() >= deadline:
                    raise TimeoutError from None
                time.sleep(0.01)
    except BaseException:
        connection.close()
        raise


def _result_of(message: dict[str, Any]) -> dict[str, Any]:
    error = message.get("error")
    if isinstance(error, dict):
        raise BridgeCallError(error.get("code", "failed"), str(error.get("message", "no reason given")))
    result = message.get("result")
    if not isinstance(result, dict):
        raise FrameError("an answer with neither result nor error")
    return result


def live_descriptors(timeout: float = 1.0) -> list[Descriptor]:
    """The descriptors whose bridge listens; files of processes that have ended are removed.

    One that takes the connection and does not answer within `timeout` seconds counts as live while its process is
    there: it is busy. Whatever else keeps this process from connecting is no reason to remove another's file.
    """
    live = []
    for descriptor in read_descriptors():
        try:
            BridgeClient.connect(descriptor, timeout=timeout).close()
        except BridgeConnectError as error:
            is_there = is_process(descriptor.pid)
            if not is_there:
                remove_descriptor(descriptor)
            if not is_there or error.reason != "silent":
                continue
        live.append(descriptor)
    return live


def is_process(pid: int) -> bool:
    """Whether a process of that id is there, which may be another one by now."""
    if sys.platform == "win32":  # where os.kill ends the process that it asks about
        import ctypes

        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.OpenProcess.restype = ctypes.c_void_p
        handle = kernel.OpenProcess(_SYNCHRONIZE, False, pid)
        if not handle:
            return bool(ctypes.get_last_error() == _ACCESS_DENIED)
        ended = kernel.WaitForSingleObject(ctypes.c_void_p(handle), 0) == 0
        kernel.CloseHandle(ctypes.c_void_p(handle))
        return not ended
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
