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
from types import TracebackType
from typing import Any, Final

import bpy

from ...evaluator.protocol.bridge import BridgeCallError
from .methods import current_scene, plain_text

OUTPUT_LIMIT: Final = 100_000  # characters of what it printed
RESULT_LIMIT: Final = 20_000  # characters of the result, and of the traceback
CHANGED_LIMIT: Final = 20  # names of changed data-blocks
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


class Changes:
    """Collects what changes between `start` and `stop`: updates of the dependency graph, data-blocks, markers.

    It misses what neither updates the graph nor adds or removes data: a custom property, an unused material's colour.
    """

    def __init__(self) -> None:
        self._names: dict[str, None] = {}
        self._before: dict[str, set[str]] = {}
        self._markers: list[tuple[Any, ...]] = []

    def _on_update(self, scene: Any, graph: Any) -> None:
        for update in graph.updates:
            self._names[f"{update.id.bl_rna.identifier} {plain_text(update.id.name)}"] = None

    def start(self) -> None:
        """Look at the data as they are."""
        _update_view_layer()  # what was pending before is not this code's doing
        self._before = _data_blocks()
        self._markers = _markers()
        # added afresh by every call and removed by `stop`, so it need not outlive the opening of a file
        bpy.app.handlers.depsgraph_update_post.append(self._on_update)

    def stop(self) -> list[str]:
        """The changed data-blocks as `Type name`, and `collection name added` or `removed`."""
        _update_view_layer()
        with contextlib.suppress(ValueError):  # opening a file removes handlers
            bpy.app.handlers.depsgraph_update_post.remove(self._on_update)
        after = _data_blocks()
        for kind, names in after.items():
            for name in sorted(names ^ self._before[kind]):
                how = "added" if name in names else "removed"
                self._names[f"{kind} {plain_text(name)} {how}"] = None
        if _markers() != self._markers:
            self._names["timeline_markers"] = None
        return list(self._names)


def run_python(code: str, label: str = "") -> dict[str, Any]:
    """Run `code` in a fresh namespace that has `bpy`; its last expression's repr is the result.

    Whatever the code raises, SystemExit included, is returned as `error` (one line) and `traceback`. In a window the
    call becomes one undo step named after `label`.
    """
    if not isinstance(code, str) or not isinstance(label, str):
        raise BridgeCallError("bad_params", "code and label have to be text")
    output = BoundedOutput(OUTPUT_LIMIT)
    changes = Changes()
    changes.start()
    begun = time.monotonic()
    result, error, trace = _execute(code, output)
    seconds = time.monotonic() - begun
    changed = changes.stop()
    step = _push_undo_step(label) if not bpy.app.background else ""
    return {
        "result": result,
        "output": output.text(),
        "error": error,
        "traceback": trace,
        "changed": changed[:CHANGED_LIMIT],
        "changed_total": len(changed),
        "undo_step": step,
        "seconds": round(seconds, 4),
    }


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


def _update_view_layer() -> None:
    scene = current_scene()
    if scene is not None:
        for layer in scene.view_layers:
            layer.update()


def _data_blocks() -> dict[str, set[str]]:
    properties = bpy.types.BlendData.bl_rna.properties
    kinds = [one.identifier for one in properties if one.type == "COLLECTION" and one.identifier != "all_ids"]
    return {kind: {one.name_full for one in getattr(bpy.data, kind)} for kind in kinds}


def _markers() -> list[tuple[Any, ...]]:
    scene = current_scene()
    if scene is None:
        return []
    return [
        (one.name, int(one.frame), one.camera.name if one.camera is not None else "") for one in scene.timeline_markers
    ]


def _push_undo_step(label: str) -> str:
    windows = bpy.context.window_manager.windows
    if not windows:
        return ""
    name = f"Agent: {plain_text(label).strip() or 'Python'}"[:LABEL_LIMIT]
    with bpy.context.temp_override(window=windows[0]):
        bpy.ops.ed.undo_push(message=name)
    return name
