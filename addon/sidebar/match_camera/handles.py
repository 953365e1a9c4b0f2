# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be grabbed in the picture: ends of lines, the origin, a known distance, points, the feet of shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import hypot
from typing import Any, NamedTuple

from .view import CameraView, Pair


class Handle(NamedTuple):
    """A place in the picture that can be dragged. `what` names the property that holds it, of item `number`."""

    kind: str
    """line | match | point | shape."""
    number: int
    what: str
    """start | end | both (a whole line) | place | origin | length_start | length_end | principal_place."""


def handles_of(match: Any) -> Iterator[Handle]:
    """The handles that a match shows, those that lie on top first."""
    if match.mode == "POINTS":
        yield from (Handle("point", index, "place") for index in range(len(match.points)))
    else:
        yield from (Handle("line", index, end) for index in range(len(match.lines)) for end in ("start", "end"))
        yield Handle("match", 0, "origin")
        if match.scale == "LENGTH":
            yield from (Handle("match", 0, end) for end in ("length_start", "length_end"))
    if match.principal == "GIVEN":
        yield Handle("match", 0, "principal_place")
    yield from (Handle("shape", index, "place") for index in range(len(match.shapes)))
    if match.mode == "LINES":
        yield from (Handle("line", index, "both") for index in range(len(match.lines)))


def owner_of(match: Any, handle: Handle) -> Any:
    """The group that holds a handle's places; None where it is gone."""
    if handle.kind == "match":
        return match
    items = {"line": match.lines, "point": match.points, "shape": match.shapes}[handle.kind]
    return items[handle.number] if handle.number < len(items) else None


def places_of(match: Any, handle: Handle) -> list[Pair]:
    """Where a handle is: one place, or both ends of a line; empty where it is gone."""
    owner = owner_of(match, handle)
    if owner is None:
        return []
    return [tuple(getattr(owner, name)) for name in _names(handle)]


def put(match: Any, handle: Handle, places: Sequence[Pair]) -> None:
    """Put a handle at its places."""
    owner = owner_of(match, handle)
    if owner is not None:
        for name, place in zip(_names(handle), places, strict=True):
            setattr(owner, name, place)


def _names(handle: Handle) -> tuple[str, ...]:
    return ("start", "end") if handle.what == "both" else (handle.what,)


def handle_at(match: Any, view: CameraView, point: Pair, reach: float) -> Handle | None:
    """The handle nearest to a point of the region, within `reach` pixels; a line's ends come before its middle."""
    best: tuple[float, Handle] | None = None
    for handle in handles_of(match):
        places = [view.region_of(place) for place in places_of(match, handle)]
        if handle.what == "both":
            if best is None and distance_to(point, *places) <= 0.6 * reach:
                return handle
            continue
        away = hypot(places[0][0] - point[0], places[0][1] - point[1])
        if away <= reach and (best is None or away < best[0]):
            best = away, handle
    return None if best is None else best[1]


def distance_to(point: Pair, start: Pair, end: Pair) -> float:
    """How far a point is from the line between two others."""
    along = end[0] - start[0], end[1] - start[1]
    square = along[0] ** 2 + along[1] ** 2
    share = 0.0
    if square > 0:
        share = ((point[0] - start[0]) * along[0] + (point[1] - start[1]) * along[1]) / square
    share = min(1.0, max(0.0, share))
    return hypot(start[0] + share * along[0] - point[0], start[1] + share * along[1] - point[1])


def remove(match: Any, handle: Handle) -> bool:
    """Take away the line, point or shape that a handle belongs to; whether there was one."""
    kinds = {"line": ("lines", "active_line"), "point": ("points", "active_point"), "shape": ("shapes", "active_shape")}
    if handle.kind not in kinds or owner_of(match, handle) is None:
        return False
    items, active = kinds[handle.kind]
    getattr(match, items).remove(handle.number)
    setattr(match, active, max(0, min(getattr(match, active), len(getattr(match, items)) - 1)))
    return True


def choose(match: Any, handle: Handle) -> None:
    """Have the panel's list show what a handle belongs to."""
    active = {"line": "active_line", "point": "active_point", "shape": "active_shape"}.get(handle.kind)
    if active is not None and getattr(match, active) != handle.number:
        setattr(match, active, handle.number)
