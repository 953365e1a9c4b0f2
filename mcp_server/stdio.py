# SPDX-License-Identifier: GPL-3.0-or-later
"""What a client sends on standard input: a line that cannot be read is mended or answered, not passed over in silence.

Half of a surrogate pair is what a model's broken emoji becomes; JSON lets it be written, and the SDK drops the line.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

_ID: Final = re.compile(r'"id"\s*:\s*(\d{1,15}|"[^"\\]{1,100}")\s*[,}]')
LOOKED_THROUGH: Final = 2000  # characters of a line that are searched for its id


@asynccontextmanager
async def readable(read: Any, write: Any) -> AsyncIterator[MemoryObjectReceiveStream[SessionMessage | Exception]]:
    """The messages of `read`, without the lines that are none; who can be told so by an id is told through `write`."""
    sender, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)

    async def work() -> None:
        async with sender:
            async for message in read:
                found = mended(message) if isinstance(message, Exception) else message
                if found is None:
                    continue
                is_answer = isinstance(found.message, JSONRPCError) and isinstance(message, Exception)
                await (write if is_answer else sender).send(found)

    async with anyio.create_task_group() as group:
        group.start_soon(work)
        yield messages
        group.cancel_scope.cancel()


def mended(error: Exception) -> SessionMessage | None:
    """The message of a line that could not be read, with ? for half characters; else the answer that it is none.

    None where it has no id, so that nobody waits for an answer.
    """
    line = error.errors()[0]["input"] if isinstance(error, ValidationError) else None
    if not isinstance(line, str):
        return None
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
        return SessionMessage(jsonrpc_message_adapter.validate_json(text.encode("utf-8", "replace"), by_name=False))
    except ValidationError:
        return _refusal(line, INVALID_REQUEST, "bad_params: this is no request of the protocol")
    except (ValueError, RecursionError):
        return _refusal(
            line, PARSE_ERROR, "bad_params: this is no JSON, or nested too deeply, or has too long a number"
        )


def _refusal(line: str, code: int, text: str) -> SessionMessage | None:
    found = _ID.search(line[:LOOKED_THROUGH])
    if found is None:
        return None
    return SessionMessage(
        JSONRPCError(jsonrpc="2.0", id=json.loads(found[1]), error=ErrorData(code=code, message=text))
    )
