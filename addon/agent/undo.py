# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps back and forward through what agents did, by Blender's own undo history.

The history is one line of steps that an artist in the window shares, and Blender tells nobody what is in it. So only
steps are taken back that are known to be the agents' and the newest: as soon as anything else changes the scene, or
moves through the history, the steps before that are the artist's to take back. In the background the history starts
with the first call.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import bpy

from ...evaluator.protocol.bridge import BridgeCallError
from .checkpoint import in_window
from .methods import current_scene, plain_text, whole

STEPS_LIMIT: Final = 64
BASE: Final = "Before Agent"
# modes with steps of their own kind, which hold nothing but the object that is edited
_OWN_STEPS: Final = {"EDIT", "EDIT_GPENCIL", "SCULPT", "SCULPT_CURVES", "TEXTURE_PAINT"}


@dataclass(frozen=True)
class Step:
    """One call's step. `file`: where the call opened another file, the one that holds the scene before it."""

    name: str
    file: Path | None = None


class History:
    """What is known of the newest steps, and a count of the changes that were seen."""

    def __init__(self) -> None:
        self.version = 0
        self.loaded = False  # a file was opened since `begin`
        self.done: list[Step] = []
        self.undone: list[Step] = []
        self._is_calling: Callable[[], object] = lambda: True
        self._pushed = -1  # the version that the newest step of the history holds
        self._stepping = False

    def watch(self, is_calling: Callable[[], object]) -> None:
        """See what changes the scene beside the agents' calls; `is_calling` says whether one of those is under way."""
        self.unwatch()
        self.forget()
        self.version += 1  # what has changed until now was not seen
        self._is_calling = is_calling
        for name, handler in self._handlers():
            getattr(bpy.app.handlers, name).append(handler)

    def unwatch(self) -> None:
        """Remove the handlers that `watch` has added, also another instance's (the add-on was loaded again)."""
        for name, handler in self._handlers():
            present = getattr(bpy.app.handlers, name)
            for one in [one for one in present if _place(one) == _place(handler)]:
                present.remove(one)

    def _handlers(self) -> list[tuple[str, Any]]:
        return [
            ("depsgraph_update_post", _on_update), ("undo_post", _on_step), ("redo_post", _on_step),
            ("load_post", _on_load),
        ]  # fmt: skip

    def seen_update(self, updates: int) -> None:
        """Data has changed."""
        self.version += 1
        if updates and not self._is_calling():
            self.forget()

    def seen_step(self) -> None:
        """Somebody stepped through the history."""
        self.version += 1
        if not self._stepping:
            self.forget()

    def seen_load(self) -> None:
        """A file was opened, and the history is another."""
        self.version += 1
        self.loaded = True
        self.forget()

    def forget(self) -> None:
        """No step is known any more to be the newest."""
        self.done.clear()
        self.undone.clear()

    def begin(self) -> None:
        """Before a call that may change the scene: see to it that the state to come back to is in the history.

        In a window it is: Blender adds a step after everything that an artist does.
        """
        self.loaded = False
        if bpy.app.background and not self.done and self._pushed != self.version:
            _push(BASE)
            self._pushed = self.version

    def end(self, name: str, *, before: Path | None = None) -> str:
        """After it: one step of that name, which is returned; empty where the user has switched Global Undo off.

        `before` holds the scene as it was, for a call that has opened another file.
        """
        self.version += 1
        if self.loaded:
            self.forget()
            if before is not None:
                self.done.append(Step(name, before))
        if not _push(name):
            return ""
        self._pushed = self.version
        if not self.loaded:
            self.done.append(Step(name))
        self.undone.clear()
        # Blender drops the oldest steps beyond this number, the base among them
        del self.done[: -max(1, bpy.context.preferences.edit.undo_steps - 1)]
        return name if self.done else ""

    def move(self, steps: int) -> list[str]:
        """Take back `steps` steps, or do -`steps` again; their names in that order. Raises BridgeCallError."""
        source, target = (self.done, self.undone) if steps > 0 else (self.undone, self.done)
        if abs(steps) > len(source):
            raise BridgeCallError("failed", self._too_far(abs(steps), source, "back" if steps > 0 else "again"))
        moved: list[str] = []
        for _ in range(abs(steps)):
            step = source[-1]
            if step.file is not None:
                self._reopen(step.file)
                return [*moved, step.name]
            self._operate(bpy.ops.ed.undo if steps > 0 else bpy.ops.ed.redo, step.name)
            target.append(source.pop())
            moved.append(step.name)
        return moved

    def _operate(self, operator: Callable[[], set[str]], name: str) -> None:
        self._stepping = True
        try:
            with in_window():
                operator()
        except RuntimeError as error:
            self.forget()
            reason = plain_text(" ".join(str(error).split()))
            raise BridgeCallError(
                "failed", f"Blender did not step past {name!r}: {reason}; look at the scene"
            ) from error
        finally:
            self._stepping = False

    def _reopen(self, file: Path) -> None:
        try:
            with in_window():
                bpy.ops.wm.open_mainfile(filepath=str(file), load_ui=False, use_scripts=False)
        except RuntimeError as error:
            reason = plain_text(" ".join(str(error).split()))
            raise BridgeCallError("failed", f"the scene from before cannot be opened again: {reason}") from error

    def _too_far(self, steps: int, source: list[Step], way: str) -> str:
        known = ", ".join(repr(one.name) for one in reversed(source[-10:])) or "none"
        edit = bpy.context.preferences.edit
        off = "" if edit.use_global_undo else "; Global Undo is off in Blender's preferences"
        return (
            f"{steps} steps cannot be taken {way}: of the newest in Blender's history {len(source)} are known to be an "
            f"agent's ({known}); what lies beyond was done by others, or is no longer kept{off}. Change the scene by "
            "run_python, or open a checkpoint"
        )


HISTORY: Final = History()


def _place(function: Any) -> tuple[str, str]:
    return getattr(function, "__module__", ""), getattr(function, "__qualname__", "")


@bpy.app.handlers.persistent  # type: ignore[untyped-decorator]
def _on_update(scene: Any, graph: Any = None) -> None:
    HISTORY.seen_update(len(graph.updates) if graph is not None else 0)


@bpy.app.handlers.persistent  # type: ignore[untyped-decorator]
def _on_step(*_: object) -> None:
    HISTORY.seen_step()


@bpy.app.handlers.persistent  # type: ignore[untyped-decorator]
def _on_load(*_: object) -> None:
    HISTORY.seen_load()


def undo(steps: int = 1) -> dict[str, Any]:
    """Take back the agents' `steps` newest steps, or with a negative number do those taken back again.

    Returns the names of the steps moved past, of those that can be taken back or done again now (newest first), and
    the open file, which is a checkpoint where a step back led behind the opening of another file. Raises
    BridgeCallError `failed` where fewer are known; nothing has moved then.
    """
    if whole("steps", steps, -STEPS_LIMIT, STEPS_LIMIT) == 0:
        raise BridgeCallError("bad_params", "steps is 0; expected 1 for one step back, -1 for one step forward again")
    moved = HISTORY.move(steps)
    return {
        "moved": moved,
        "can_undo": [one.name for one in reversed(HISTORY.done)],
        "can_redo": [one.name for one in reversed(HISTORY.undone)],
        "file": plain_text(bpy.data.filepath),
    }


def _push(name: str) -> bool:
    """Add a step to Blender's history that holds all data; False where it keeps none."""
    if not bpy.context.preferences.edit.use_global_undo:
        return False
    with in_window(), _in_object_mode():
        bpy.ops.ed.undo_push(message=name)
    return True


@contextlib.contextmanager
def _in_object_mode() -> Iterator[None]:
    """Leave a mode whose steps hold the edited object alone, and enter it again."""
    scene = current_scene()
    layer = bpy.context.view_layer if scene is not None else None
    active = layer.objects.active if layer is not None else None
    mode = active.mode if active is not None else "OBJECT"
    if mode not in _OWN_STEPS or not bpy.ops.object.mode_set.poll():
        yield
        return
    bpy.ops.object.mode_set(mode="OBJECT")
    try:
        yield
    finally:
        bpy.ops.object.mode_set(mode=mode)
