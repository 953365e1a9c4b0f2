# SPDX-License-Identifier: GPL-3.0-or-later
"""A tool's work done by a command of the evaluator, as a child: progress passed on, ended where the client cancels."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from ..evaluator.protocol.children import child_environment
from ..evaluator.protocol.command import EvaluatorProcess
from ..evaluator.protocol.errors import ExitStatus, MatchcutError
from ..evaluator.protocol.messages import Message
from . import calls

ROOT: Final = Path(__file__).resolve().parents[1]
POLL_SECONDS: Final = 0.05


def environment_of(blender: str) -> dict[str, str]:
    """The environment of a command whose children `blender` runs: the one that is open, as far as it can be started.

    `$BLENDER` goes before it, and a program that is not to be found from here (it may be a sandbox) is no one.
    """
    usable = bool(blender) and not os.environ.get("BLENDER") and Path(blender).is_file()
    return child_environment(blender if usable else "")


def command_line(arguments: Sequence[str]) -> list[str]:
    """The command line of `matchcut ARGUMENTS` in this server's own environment."""
    return [sys.executable, str(ROOT / "__main__.py"), *arguments]


async def run_command(context: Context | None, arguments: Sequence[str], *, seconds: float) -> list[Message]:
    """Run `matchcut ARGUMENTS` to its end; returns its `result` and `warning` messages in order.

    Its progress is passed on through `context`, where there is one.

    Raises ToolError with the command's own line where it fails, and with `deadline` after `seconds`. However this ends,
    no child is left.
    """
    try:
        process = EvaluatorProcess(command_line(arguments), child_environment())
    except MatchcutError as error:
        raise ToolError(f"failed: {error}") from error
    begun = told = time.monotonic()
    kept: list[Message] = []
    failure = ""
    try:
        while process.returncode is None:
            for message in process.poll():
                if message.type in ("result", "warning"):
                    kept.append(message)
                elif message.type == "error":
                    failure = message.text
                elif message.type == "progress" or time.monotonic() - told > calls.PROGRESS_SECONDS:
                    told = time.monotonic()
                    text = message.text or (f"{message.done} of {message.total}" if message.total else "")
                    text = f"{message.stage}: {text}" if message.stage else text
                    if context is not None:
                        await context.report_progress(message.done, message.total or None, text)
            if context is not None and time.monotonic() - told > calls.PROGRESS_SECONDS:
                told = time.monotonic()
                await context.report_progress(told - begun, seconds, f"{arguments[0]}: {told - begun:.0f} s")
            if time.monotonic() - begun > seconds:
                raise ToolError(
                    f"deadline: {arguments[0]} did not end within {seconds:.0f} s and was ended; ask for less at a time"
                )
            await anyio.sleep(POLL_SECONDS)
    finally:
        if process.returncode is None:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(process.stop)
    if process.returncode != ExitStatus.DONE:
        raise ToolError(_why(process, failure, arguments[0]))
    return kept


def only_result(messages: Sequence[Message]) -> dict[str, Any]:
    """The data of the last `result` message; empty where there is none."""
    return next((one.data or {} for one in reversed(messages) if one.type == "result"), {})


def _why(process: EvaluatorProcess, error: str, name: str) -> str:
    kind = "bad_params" if process.returncode == ExitStatus.BAD_INPUT else "failed"
    last = (process.log_tail().splitlines() or ["it said nothing"])[-1]
    return f"{kind}: {error or f'{name} ended with status {process.returncode}: {last[:300]}'}"
