# SPDX-License-Identifier: GPL-3.0-or-later
"""The socket: one thread that takes connections, checks who they are, and moves frames. It never touches bpy."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Final

from ...evaluator.protocol.bridge import (
    CLIENT_LIMIT,
    HANDSHAKE_LIMIT,
    PROTOCOL,
    FrameError,
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

HANDSHAKE_SECONDS: Final = 5.0
STRANGER_LIMIT: Final = 32  # connections that have not proved themselves; the oldest makes room for the next

Message = dict[str, Any]


class Listener:
    """Listens on a free loopback port, in a thread of its own, until it is stopped."""

    def __init__(self, token: str, dispatcher: Dispatcher) -> None:
        self._token = token
        self._dispatcher = dispatcher
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="matchcut-bridge", daemon=True)
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._failure: OSError | None = None
        self._strangers: dict[asyncio.Task[None], None] = {}  # in the order of their coming
        self._clients: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def clients(self) -> int:
        """How many authenticated clients are connected."""
        return len(self._clients)

    def start(self) -> int:
        """Listen; returns the port. Raises OperationalError where the system gives no socket."""
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            self._thread.join()
            raise OperationalError(f"the bridge cannot listen on 127.0.0.1: {self._failure}; restart Blender")
        return self.port

    def stop(self) -> None:
        """Close the port and every connection, and wait for the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(timeout=5.0)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._listen())

    async def _listen(self) -> None:
        try:
            server = await asyncio.start_server(self._accept, "127.0.0.1", 0, backlog=128)
        except OSError as error:
            self._failure = error
            self._ready.set()
            return
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in [*self._strangers, *self._clients]:
            task.cancel()

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
                    known = await self._handshake(reader, writer)
            finally:
                self._strangers.pop(task, None)
            if known:
                self._clients.add(task)
                await self._serve(reader, writer)
        except (OSError, EOFError, FrameError, asyncio.CancelledError):
            pass  # a stranger, a client that left, or the end of the bridge: closed without a word
        finally:
            self._clients.discard(task)
            writer.close()

    async def _handshake(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        hello = await _read(reader, HANDSHAKE_LIMIT)
        client_nonce = hello.get("nonce")
        if hello.get("bridge") != PROTOCOL or not is_nonce(client_nonce):
            return False
        nonce = new_nonce()
        own_proof = proof(self._token, "server", str(client_nonce), nonce)
        writer.write(encode_frame({"nonce": nonce, "proof": own_proof}))
        answer = await _read(reader, HANDSHAKE_LIMIT)
        if not proves(answer, proof(self._token, "client", str(client_nonce), nonce)):
            return False
        if len(self._clients) >= CLIENT_LIMIT:
            return False  # before it is told to send anything, so that it knows that nothing ran
        writer.write(encode_frame({"ready": True}))
        return True

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        waiting: dict[int, Request] = {}
        try:
            while True:
                message = await _read(reader)
                if "withdraw" in message:
                    self._withdraw(message["withdraw"], waiting, writer)
                else:
                    self._submit(message, waiting, writer)
                await writer.drain()
        finally:
            for request in waiting.values():
                self._dispatcher.withdraw(request)

    def _submit(self, message: Message, waiting: dict[int, Request], writer: asyncio.StreamWriter) -> None:
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

        waiting[number] = Request(method, params, reply)
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


async def _read(reader: asyncio.StreamReader, limit: int | None = None) -> Message:
    header = await reader.readexactly(4)
    length = frame_length(header) if limit is None else frame_length(header, limit)
    return decode_body(await reader.readexactly(length))


def _write(writer: asyncio.StreamWriter, number: int, fields: Message) -> None:
    if writer.is_closing():
        return
    try:
        frame = encode_frame({"id": number, **fields})
    except FrameError as error:
        frame = encode_frame({"id": number, **error_fields("failed", f"the result cannot be sent: {error}")})
    writer.write(frame)
