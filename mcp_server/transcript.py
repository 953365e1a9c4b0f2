# SPDX-License-Identifier: GPL-3.0-or-later
"""Every request of a client as a line of the transcript: the tool, sizes, progress, time, outcome."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

import anyio
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.session import ServerSession
from pydantic import BaseModel, ValidationError

from ..evaluator.protocol.transcript import TranscriptWriter, measure

KIND_LENGTH: Final = 40


class Recorder:
    """The middleware that writes requests to a transcript; notifications are not written, but for a cancellation."""

    def __init__(self, writer: TranscriptWriter) -> None:
        self._writer = writer

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """See ServerMiddleware."""
        if ctx.request_id is None:
            if ctx.method == "notifications/cancelled":
                self._writer.write("cancel", request=str((ctx.params or {}).get("requestId")))
            return await call_next(ctx)
        session = _CountingSession(ctx.session)
        fields = {"request": str(ctx.request_id), "method": ctx.method, **_asked(ctx)}
        begun = time.monotonic()
        try:
            result = await call_next(replace(ctx, session=cast("ServerSession", session)))
        except anyio.get_cancelled_exc_class():
            self._end(fields, session, begun, {"outcome": "cancelled"})
            raise
        except (MCPError, ValidationError) as error:
            self._end(fields, session, begun, {"outcome": "refused", "error": type(error).__name__})
            raise
        except Exception as error:
            self._end(fields, session, begun, {"outcome": "failed", "error": type(error).__name__})
            raise
        self._end(fields, session, begun, _answered(result))
        return result

    def _end(self, fields: dict[str, Any], session: _CountingSession, begun: float, ended: dict[str, Any]) -> None:
        seconds = round(time.monotonic() - begun, 4)
        self._writer.write("request", **fields, seconds=seconds, progress=session.progress, **ended)


class _CountingSession:
    """A ServerSession that counts the progress that it reports."""

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        self.progress = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        self.progress += 1
        await self._session.report_progress(progress, total, message)


def _asked(context: ServerRequestContext[Any, Any]) -> dict[str, Any]:
    params: Mapping[str, Any] = context.params or {}
    if context.method == "tools/call":
        arguments = params.get("arguments") or {}
        names = sorted(map(str, arguments)) if isinstance(arguments, Mapping) else []
        return {"name": str(params.get("name")), "arguments": {**measure(arguments), "names": names}}
    if context.method in ("prompts/get", "resources/read"):
        return {"name": str(params.get("name") or params.get("uri"))}
    if context.method == "initialize":
        return {"client": params.get("clientInfo"), "protocol": params.get("protocolVersion")}
    return {}


def _answered(result: HandlerResult) -> dict[str, Any]:
    data = result.model_dump(mode="json", by_alias=True, exclude_none=True) if isinstance(result, BaseModel) else result
    data = data or {}
    content = data.get("content")
    if not isinstance(content, list):
        return {"outcome": "ok", "result": measure(data)}
    images = [len(block.get("data", "")) for block in content if block.get("type") == "image"]
    texts = [block.get("text", "") for block in content if block.get("type") == "text"]
    found: dict[str, Any] = {"outcome": "ok", "result": {**measure(data), "images": len(images)}}
    if data.get("isError"):
        # the first word of an error says its kind
        found |= {"outcome": "error", "error": "".join(texts).partition(":")[0][:KIND_LENGTH]}
    return found
