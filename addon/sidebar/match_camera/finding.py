# SPDX-License-Identifier: GPL-3.0-or-later
"""The camera of what is drawn, looked for between the window's other work.

Lines take about ten milliseconds, points up to a hundred: a timer goes on with it in slices, and what was found last
stays until there is more. While a handle is dragged, a search that has begun comes to its end before the next one
begins, for the place where the handle is by then. Without a window nobody waits, and it is done at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import bpy

from ....evaluator.camera.core.least_squares import Slices
from ....evaluator.camera.core.pinhole import Pinhole
from ..paths import scenes_of
from .solve import Asked, Solution, asked_of, solving

SLICE: Final = 0.004
"""Seconds after which the window has its turn; the search lets go every one to three milliseconds."""
PAUSE: Final = 0.002
"""Seconds between two slices."""
REMEMBERED: Final = 24
SEARCHING: Final = "the camera is being looked for"

Key = tuple[Asked, bool]
"""What is asked, and whether it is looked for near another camera alone."""
Place = tuple[int, int]
"""Session id of a scene, and the frame of one of its matches."""


@dataclass(frozen=True, eq=False)
class _Search:
    """A camera that is being looked for."""

    key: Key
    slices: Slices[Solution]


_known: dict[Key, Solution] = {}
_shown: dict[Place, Key] = {}
"""What was found last for a match."""
_searches: dict[Place, _Search] = {}
_near: Pinhole | None = None
_dragging = False
_rested = 0.0
"""When the last slice ended."""
_found: Callable[[Any], None] | None = None
"""Called with the scene after a search that took more than one slice."""


def solution_of(scene: Any, match: Any, *, final: bool = False) -> Solution:
    """The camera of what is drawn; while it is looked for the one that was found last, unless it has to be `final`.

    While something is dragged (`begin_near`) it is looked for near the one of a moment ago, which answers sooner.
    What was asked lately is not computed again.
    """
    key, place = (asked_of(scene, match), _near is not None), _place(scene, match)
    if key not in _known:
        _look(key, place, final=final or bpy.app.background)
    if key in _known:
        _shown[place] = key
        return _known[key]
    return _meanwhile(key[0], _shown.get(place))


def is_searching(scene: Any, match: Any) -> bool:
    """Whether a better answer is on its way."""
    return match is not None and _place(scene, match) in _searches


def begin_near(scene: Any, match: Any) -> None:
    """From now on answer quickly, near the present solution, if points tell one."""
    global _near, _dragging  # noqa: PLW0603
    found, _dragging = solution_of(scene, match), True
    _near = found.fit.camera if found.fit is not None and match.mode == "POINTS" else None


def end_near() -> None:
    """From now on look for the best camera again."""
    global _near, _dragging
    _near, _dragging = None, False


def _place(scene: Any, match: Any) -> Place:
    return scene.session_uid, match.frame


def _look(key: Key, place: Place, *, final: bool) -> None:
    """The first slice of a search, or with `final` all of it; a timer goes on with what is left."""
    search = _searches.get(place)
    other = search is not None and search.key != key
    if search is None or (other and (final or not _dragging or search.key[1] != key[1])):
        _searches[place] = _Search(key, solving(key[0], _near))
    elif not final:
        return
    if final or time.perf_counter() - _rested > PAUSE:  # else it would be one long slice with the one before
        _slice(place, float("inf") if final else SLICE)
    if _searches and not bpy.app.background and not bpy.app.timers.is_registered(_tick):
        bpy.app.timers.register(_tick, first_interval=PAUSE, persistent=True)


def _slice(place: Place, seconds: float) -> bool:
    """Go on with a search for some time; whether it has come to its end."""
    global _near, _rested  # noqa: PLW0603
    search = _searches.pop(place)
    until = time.perf_counter() + seconds
    try:
        next(search.slices)
        while time.perf_counter() < until:
            next(search.slices)
    except StopIteration as end:
        found: Solution = end.value
        _known[search.key] = found
        _shown[place] = search.key
        while len(_known) > REMEMBERED:
            del _known[next(iter(_known))]
        if _near is not None and search.key[1] and found.fit is not None:
            _near = found.fit.camera
        return True
    finally:
        _rested = time.perf_counter()
    _searches[place] = search  # the last in the row, where there are several
    return False


def _meanwhile(asked: Asked, last: Key | None) -> Solution:
    """What is shown until the camera is found: the one before, if one was found for such a picture."""
    nothing: tuple[float | None, ...] = (None,) * len(asked.points if asked.lines is None else asked.lines)
    found = None if last is None else _known.get(last)
    if (
        last is None or found is None or found.fit is None or last[0].size != asked.size
        or (last[0].lines is None) != (asked.lines is None)
    ):  # fmt: skip
        return Solution(None, "", nothing, 0, (SEARCHING,))
    same = len(found.residuals) == len(nothing)
    return found if same else replace(found, residuals=nothing, waiting=(SEARCHING,))


def _tick() -> float | None:
    place = next(iter(_searches), None)
    if place is not None and _slice(place, SLICE) and _found is not None:
        for scene in scenes_of(place[0]):
            _found(scene)
    return PAUSE if _searches else None


def forget() -> None:
    """Another file: nothing is looked for, and nothing is known any more."""
    end_near()
    for kept in (_known, _shown, _searches):
        kept.clear()


def register(found: Callable[[Any], None]) -> None:
    """Call `found(scene)` whenever a search has come to its end."""
    global _found  # noqa: PLW0603
    _found = found


def unregister() -> None:
    """Leave no timer."""
    global _found  # noqa: PLW0603
    _found = None
    forget()
    if bpy.app.timers.is_registered(_tick):
        bpy.app.timers.unregister(_tick)
