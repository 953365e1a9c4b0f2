# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether lines or points are being edited, and what lies under the mouse: what panel and overlay look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import bpy

from .handles import Handle
from .scene_points import Places
from .view import Pair

LINES_TEXT = (
    "Drag: Draw a Line, or Move an End    Ctrl Drag: New Line at an End    1 2 3: Next Line along X Y Z    "
    "4: Next Is Horizon    Shift: Precise    X: Delete    Ctrl Z: Undo    Enter: Done"
)
LINE_TEXT = (
    "Drag: Move the Line or Its End    Ctrl Drag: New Line Here    1 2 3: This Line Runs along X Y Z    "
    "4: It Is the Horizon    Shift: Precise    X: Delete    Ctrl Z: Undo    Enter: Done"
)
POINT_TEXT = (
    "Click: Pick a Point in the Picture    Drag: Move a Point    Shift: Precise    X: Delete    Ctrl Z: Undo    "
    "Enter: Done"
)
PLACE_TEXT = (
    "Click the Same Place in the Scene (from Any Side): Vertex or Origin    O: Origin of Active Object    "
    "C: 3D Cursor    X: Delete the Point    Enter: Done"
)
DRAG_TEXT = "Release: Confirm    Shift: Precise    Esc, Right Click: Cancel"


@dataclass(eq=False)
class Mode:
    """What is edited at the moment."""

    kind: Literal["LINES", "POINTS"]
    hover: Handle | None = None
    dragged: Handle | None = None
    cursor: Pair = (0.0, 0.0)
    """Where the mouse is, in the region that it is over."""
    region: int = 0
    """The address of that region."""
    places: Places | None = None
    """What of the scene can be clicked on, while the active point waits for it."""
    place: int | None = None
    """The index of what is under the mouse."""
    drawn: int | None = None
    """Number of the line that was drawn last, until the mouse has left it: keys are about the next one by then."""
    problem: str = ""
    """Why the last click did nothing."""

    @property
    def line(self) -> int | None:
        """Number of the line that the mouse was moved to; None over no line, and over one that was drawn just now."""
        on_line = self.hover is not None and self.hover.kind == "line" and self.hover.number != self.drawn
        return self.hover.number if on_line and self.hover is not None else None

    def text(self, match: Any) -> str:
        """What the keys do now."""
        if self.dragged is not None:
            return DRAG_TEXT
        if self.problem:
            return self.problem
        if self.kind == "LINES":
            return LINES_TEXT if self.line is None else LINE_TEXT
        return PLACE_TEXT if waiting_point(match) is not None else POINT_TEXT


_current: Mode | None = None


def current() -> Mode | None:
    """What is edited; None where nothing is."""
    return _current


def begin(kind: Literal["LINES", "POINTS"]) -> Mode:
    """Edit from now on."""
    global _current  # noqa: PLW0603
    _current = Mode(kind)
    return _current


def end() -> None:
    """Edit no longer, and take the keys' help off."""
    global _current  # noqa: PLW0603
    _current = None
    manager = bpy.context.window_manager
    for window in manager.windows if manager is not None else ():
        window.workspace.status_text_set(None)


def waiting_point(match: Any) -> Any:
    """The active point where it was not picked in the scene yet; else None."""
    if match is None or not 0 <= match.active_point < len(match.points):
        return None
    point = match.points[match.active_point]
    return None if point.has_world else point
