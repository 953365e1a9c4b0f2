# SPDX-License-Identifier: GPL-3.0-or-later
"""Reconstructions of a film with known errors, from good to poor, and one that cheats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from .records import Film, Shot, Thing, Track

CHEATING: Final = "cheating"


def good(film: Film) -> Film:
    """Nearly right: one subject in a colour of its neighbourhood, details left out of half of them, a late action."""
    subjects = [thing for thing in film.things if not thing.is_scenery]
    things = tuple(
        replace(thing, detail="") if thing in subjects[::2] else _late(thing, 2) if thing in subjects else thing
        for thing in film.things
    )
    return replace(
        film,
        things=_recoloured(things, subjects[0].id, {"red": "orange", "teal": "blue"}.get(subjects[0].colour, "grey")),
    )


def middle(film: Film) -> Film:
    """The camera goes half its way, a subject is missing, one has another colour, actions are late, a cut is off."""
    subjects = [thing for thing in film.things if not thing.is_scenery]
    kept = [_late(replace(thing, detail=""), 9) for thing in film.things if thing is not subjects[-2]]
    shots = tuple(_slow(shot, 0.5) for shot in film.shots)
    if len(shots) > 1:
        shots = (replace(shots[0], last=shots[0].last + 2), replace(shots[1], first=shots[1].first + 2), *shots[2:])
    things = _recoloured(tuple(kept), subjects[1].id, "grey")
    return replace(film, things=things, shots=shots)


def poor(film: Film) -> Film:
    """One camera that rests, every second subject missing, boxes for the rest, nothing moves."""
    subjects = [thing for thing in film.things if not thing.is_scenery]
    kept = tuple(
        replace(thing, shape="box", colour="grey", detail="", place=_first(thing.place), pose=_first(thing.pose))
        for thing in subjects[::2]
    )
    first = film.shots[0]
    shot = Shot(0, film.timeline.frames - 1, _first(first.eye), _first(first.target), _first(first.focal))
    return replace(film, things=kept, shots=(shot,))


def cheating(film: Film) -> Film:
    """The reference itself on a screen: each picture is right, and nothing is modelled. The audit has to tell."""
    return film


RECONSTRUCTIONS: Final[dict[str, Callable[[Film], Film]]] = {
    "good": good, "middle": middle, "poor": poor, CHEATING: cheating,
}  # fmt: skip


def _late(thing: Thing, frames: int) -> Thing:
    return replace(thing, pose=thing.pose.late(frames))


def _slow(shot: Shot, share: float) -> Shot:
    return replace(
        shot, eye=shot.eye.reduced(share), target=shot.target.reduced(share), focal=shot.focal.reduced(share)
    )


def _first(track: Track) -> Track:
    return Track(track.keys[:1])


def _recoloured(things: tuple[Thing, ...], which: str, colour: str) -> tuple[Thing, ...]:
    return tuple(replace(thing, colour=colour) if thing.id == which else thing for thing in things)
