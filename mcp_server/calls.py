# SPDX-License-Identifier: GPL-3.0-or-later
"""A call of a tool to Blender: in a thread, with elapsed seconds as progress, taken back where the client cancels."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Annotated, Any, Final, Protocol

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from ..evaluator.protocol.errors import MatchcutError

_KIND: Final = re.compile(r"[a-z_]+: ")
PROGRESS_SECONDS: Final = 5.0  # clients end a call that says nothing for long

Instance = Annotated[int | None, Field(description="Process id, if several Blenders are open")]


class Calls(Protocol):
    """The part of Session that the tools use."""

    client_name: str

    def call(
        self,
        method: str,
        params: dict[str, Any],
        *,
        timeout: float,
        instance: int | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> tuple[dict[str, Any], str]:
        """See Session.call."""


async def call(
    session: Calls, context: Context | None, method: str, params: dict[str, Any], timeout: float, instance: int | None
) -> tuple[dict[str, Any], str]:
    """The method's result, and the note on which Blender that was. Raises ToolError with the error's one line.

    Without a `context` (a resource has none) no progress is told.
    """
    if context is not None and (params_of_client := context.session.client_params) is not None:
        known = params_of_client.client_info
        session.client_name = f"{known.title or known.name} {known.version}".strip()
    given_up = threading.Event()
    outcome: list[tuple[dict[str, Any], str]] = []

    def work() -> tuple[dict[str, Any], str]:
        return session.call(method, params, timeout=timeout, instance=instance, cancelled=given_up.is_set)

    async def tell() -> None:
        elapsed = 0.0
        while context is not None:
            await anyio.sleep(PROGRESS_SECONDS)
            elapsed += PROGRESS_SECONDS
            await context.report_progress(elapsed, timeout, f"{method}: {elapsed:.0f} s")

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(tell)
            outcome.append(await anyio.to_thread.run_sync(work, abandon_on_cancel=True))
            group.cancel_scope.cancel()
    except* MatchcutError as errors:
        text = str(errors.exceptions[0])
        raise ToolError(text if _KIND.match(text) else f"failed: {text}") from errors
    finally:
        given_up.set()
    return outcome[0]
