# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs an agent's Python in this Blender: what it printed, gave and changed, or how it failed."""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import sys
import time
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import bpy

from ...evaluator.protocol.bridge import BridgeCallError
from ...evaluator.protocol.errors import OperationalError
from .changes import Changes
from .checkpoint import CHECKPOINTS
from .methods import plain_text
from .risks import Risks, scan
from .undo import HISTORY

OUTPUT_LIMIT: Final = 20_000  # characters of what it printed: clients cut an answer at about 25,000 tokens
RESULT_LIMIT: Final = 20_000  # characters of the result, and of the traceback
CHANGED_LIMIT: Final = 20  # names of changed data-blocks
RISKS_LIMIT: Final = 5
LABEL_LIMIT: Final = 48
SOURCE: Final = "<agent>"


class BoundedOutput(io.TextIOBase):
    """Keeps the first `limit` characters written and counts the rest."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._parts: list[str] = []
        self._left = limit
        self._dropped = 0

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, text: str) -> int:
        """Keep what still fits."""
        kept = text[: self._left]
        if kept:
            self._parts.append(kept)
            self._left -= len(kept)
        self._dropped += len(text) - len(kept)
        return len(text)

    def text(self) -> str:
        """What was kept, with a note where something was left out."""
        note = f"\n[{self._dropped} more characters left out]" if self._dropped else ""
        return plain_text("".join(self._parts)) + note


def run_python(code: str, label: str = "", checkpoint: bool = False) -> dict[str, Any]:
    """Run `code` in a fresh namespace that has `bpy`; its last expression's repr is the result.

    Whatever the code raises, SystemExit included, is returned as `error` (one line) and `traceback`. What changes data
    becomes one step of Blender's undo history, named after `label`. A copy of the scene is saved before code that could
    lose it (`risks`), where `checkpoint` asks for it, and now and then; `checkpoint` of the answer is its path, or
    empty. Raises OperationalError where one that was asked for cannot be saved; nothing ran then.
    """
    if not isinstance(code, str) or not isinstance(label, str) or not isinstance(checkpoint, bool):
        raise BridgeCallError("bad_params", "code and label have to be text, checkpoint true or false")
    risks = scan(code)
    saved = _checkpoint(risks, asked=checkpoint)
    output = BoundedOutput(OUTPUT_LIMIT)
    HISTORY.begin()
    changes = Changes()
    changes.start()
    begun = time.monotonic()
    result, error, trace = _execute(code, output)
    seconds = time.monotonic() - begun
    changed = changes.stop()
    step = ""
    if changed or HISTORY.loaded:
        name = f"Agent: {plain_text(label).strip() or 'Python'}"[:LABEL_LIMIT]
        step = HISTORY.end(name, before=saved)
    if risks.moves_history:  # the newest step may be another than this one
        HISTORY.forget()
    return {
        "result": result,
        "output": output.text(),
        "error": error,
        "traceback": trace,
        "changed": changed[:CHANGED_LIMIT],
        "changed_total": len(changed),
        "undo_step": "" if risks.moves_history else step,
        "checkpoint": plain_text(str(saved)) if saved is not None else "",
        "risks": [plain_text(one) for one in risks.found[:RISKS_LIMIT]],
        "seconds": round(seconds, 4),
    }


def _checkpoint(risks: Risks, *, asked: bool) -> Path | None:
    """A file that holds the scene as it is now, where one is wanted."""
    if not (asked or risks.found or CHECKPOINTS.is_due()):
        return None
    try:
        return CHECKPOINTS.take(HISTORY.version)
    except OperationalError as error:
        if asked:
            raise
        sys.stderr.write(f"matchcut: bridge: {error}\n")  # the code may still go well, and its answer names no path
        return None


def _execute(code: str, output: BoundedOutput) -> tuple[str | None, str | None, str | None]:
    """Result, error line and traceback; the last two are None where it ran to its end."""
    # the traceback then shows the code's own lines
    linecache.cache[SOURCE] = (len(code), None, code.splitlines(keepends=True), SOURCE)
    stdin = sys.stdin
    sys.stdin = io.StringIO()  # input() raises EOFError at once: nobody sits there to answer
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            body = ast.parse(code, SOURCE)
            last = body.body.pop() if body.body and isinstance(body.body[-1], ast.Expr) else None
            space: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__, "bpy": bpy}
            exec(compile(body, SOURCE, "exec"), space)  # noqa: S102  the purpose of this function
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), SOURCE, "eval"), space)  # noqa: S307
                return (_bounded(repr(value)) if value is not None else None), None, None
        return None, None, None
    except BaseException as error:  # noqa: BLE001  an agent's SystemExit or endless recursion must not end Blender
        return None, *_describe(error, error.__traceback__)
    finally:
        sys.stdin = stdin


def _describe(error: BaseException, trace: TracebackType | None) -> tuple[str, str]:
    own = trace
    while own is not None and own.tb_frame.f_code.co_filename != SOURCE:
        own = own.tb_next
    try:
        report = traceback.TracebackException(type(error), error, own, compact=True)
        lines = list(report.format())
        line = "".join(report.format_exception_only()).strip().splitlines()
    except Exception as failure:  # noqa: BLE001  the exception's own methods are the agent's code too
        return type(error).__name__, f"{type(error).__name__} (its text cannot be shown: {type(failure).__name__})"
    return _bounded(line[-1] if line else type(error).__name__), _bounded("".join(lines), keep_end=True)


def _bounded(text: str, *, keep_end: bool = False) -> str:
    text = plain_text(text)
    if len(text) <= RESULT_LIMIT:
        return text
    note = f"[{len(text) - RESULT_LIMIT} characters left out]"
    return f"{note}\n{text[-RESULT_LIMIT:]}" if keep_end else f"{text[:RESULT_LIMIT]}\n{note}"
