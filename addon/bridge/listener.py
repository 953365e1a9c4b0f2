# SPDX-License-Identifier: GPL-3.0-or-later
"""The socket: one thread that takes connections, checks who they are, and moves frames. It never touches bpy."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from pathlib import Path
from typing import Any, Final

from ...evaluator.protocol.bridge import (
    CLIENT_LIMIT,
    FRAME_LIMIT,
    HANDSHAKE_LIMIT,
    PROTOCOL,
    FrameError,
    client_name,
    decode_body,
    encode_frame,
    frame_length,
    is_nonce,
    new_nonce,
    proof,
    proves,
)
from ...evaluator.protocol.errors import OperationalError
from .dispatcher import Dispatcher, Request, error_fields

BACKLOG: Final = 128
HANDSHAKE_SECONDS: Final = 5.0
FRAME_SECONDS: Final = 30.0  # for the rest of a frame that has begun
STRANGER_LIMIT: Final = 32  # connections that have not proved themselves; the oldest makes room for the next

Message = dict[str, Any]


class Listener:
    """Listens at a Unix socket or a free loopback port, in a thread of its own, until it is stopped."""

    def __init__(self, token: str, dispatcher: Dispatcher, socket_path: Path | None = None) -> None:
        """`socket_path`: where the Unix socket shall be; None, or where that cannot be: a port."""
        self._token = token
        self._dispatcher = dispatcher
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="matchcut-bridge", daemon=True)
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._failure: OSError | None = None
        self._strangers: dict[asyncio.Task[None], None] = {}  # in the order of their coming
        self._clients: dict[asyncio.Task[None], str] = {}
        self.socket_path = socket_path
        self.port = 0

    @property
    def clients(self) -> tuple[str, ...]:
        """The names of the authenticated clients that are connected, in the order of their coming."""
        return tuple(self._clients.values())

    def start(self) -> None:
        """Listen: then either `socket_path` is set or `port`. Raises OperationalError where there is no socket."""
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            self._thread.join()
            raise OperationalError(f"the bridge cannot listen on 127.0.0.1: {self._failure}; restart Blender")

    def stop(self) -> None:
        """Stop listening, close every connection, and wait for the thread."""
        if self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # it is just ending
                self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(timeout=5.0)
        if self.socket_path is not None:
            with contextlib.suppress(OSError):
                self.socket_path.unlink(missing_ok=True)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._listen())

    async def _listen(self) -> None:
        try:
            server = await self._open()
        except OSError as error:
            self._failure = error
            self._ready.set()
            return
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in [*self._strangers, *self._clients]:
            task.cancel()

    async def _open(self) -> asyncio.Server:
        if sys.platform != "win32" and self.socket_path is not None:
            try:
                return await asyncio.start_unix_server(self._accept, self.socket_path, backlog=BACKLOG)
            except OSError:  # a folder on a file system that knows no sockets
                self.socket_path = None
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0, backlog=BACKLOG)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._strangers) >= STRANGER_LIMIT:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.cancel()
        self._strangers[task] = None
        try:
            try:
                async with asyncio.timeout(HANDSHAKE_SECONDS):
                    name = await self._handshake(reader, writer)
            finally:
                self._strangers.pop(task, None)
            if name is not None:
                self._clients[task] = name
                await self._serve(reader, writer, name)
        except (OSError, EOFError, FrameError, asyncio.CancelledError):
            pass  # a stranger, a client that left, or the end of the bridge: closed without a word
        finally:
            self._clients.pop(task, None)
            writer.close()

    async def _handshake(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str | None:
        """The client's name, or None for a stranger."""
        hello = await _read(reader, HANDSHAKE_LIMIT)
        client_nonce = hello.get("nonce")
        if hello.get("bridge") != PROTOCOL or not is_nonce(client_nonce):
            return None
        nonce = new_nonce()
        own_proof = proof(self._token, "server", str(client_nonce), nonce)
        writer.write(encode_frame({"nonce": nonce, "proof": own_proof}))
        answer = await _read(reader, HANDSHAKE_LIMIT)
        if not proves(answer, proof(self._token, "client", str(client_nonce), nonce)):
            return None
        if len(self._clients) >= CLIENT_LIMIT:
            return None  # before it is told to send anything, so that it knows that nothing ran
        writer.write(encode_frame({"ready": True}))
        return client_name(answer.get("name")) or "unnamed"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: str) -> None:
        waiting: dict[int, Request] = {}
        try:
            while True:
                message = await _read(reader)
                if "withdraw" in message:
                    self._withdraw(message["withdraw"], waiting, writer)
                else:
                    self._submit(message, client, waiting, writer)
                await writer.drain()
        finally:
            for request in waiting.values():
                self._dispatcher.withdraw(request)

    def _submit(self, message: Message, client: str, waiting: dict[int, Request], writer: asyncio.StreamWriter) -> None:
        number, method, params = message.get("id"), message.get("method"), message.get("params", {})
        if not isinstance(number, int) or not isinstance(method, str) or not isinstance(params, dict):
            raise FrameError("no request")
        if number in waiting:
            raise FrameError("two requests of one id")

        def send(fields: Message) -> None:
            waiting.pop(number, None)
            _write(writer, number, fields)

        def reply(fields: Message) -> None:
            try:
                self._loop.call_soon_threadsafe(send, fields)
            except RuntimeError:
                pass  # the bridge was stopped while this request ran: there is nobody left to tell

        waiting[number] = Request(method, params, reply, client)
        self._dispatcher.submit(waiting[number])

    def _withdraw(self, number: object, waiting: dict[int, Request], writer: asyncio.StreamWriter) -> None:
        if not isinstance(number, int):
            raise FrameError("no request")
        request = waiting.get(number)
        if request is None:
            return  # answered already; that answer is on its way
        running = self._dispatcher.running()
        withdrawn = self._dispatcher.withdraw(request)
        if withdrawn:
            waiting.pop(number)
        _write(writer, number, {"withdrawn": withdrawn, "running": running})


async def _read(reader: asyncio.StreamReader, limit: int = FRAME_LIMIT) -> Message:
    """The next frame, waited for as long as it takes to begin. Raises TimeoutError where its rest does not follow."""
    begin = await reader.readexactly(1)
    async with asyncio.timeout(FRAME_SECONDS):
        length = frame_length(begin + await reader.readexactly(3), limit)
        return decode_body(await reader.readexactly(length))


def _write(writer: asyncio.StreamWriter, number: int, fields: Message) -> None:
    if writer.is_closing():
        return
    try:
        frame = encode_frame({"id": number, **fields})
    except FrameError as error:
        frame = encode_frame({"id": number, **error_fields("failed", f"the result cannot be sent: {error}")})
    writer.write(frame)
