# SPDX-License-Identifier: GPL-3.0-or-later
"""Statements about what is in the picture: presence, looks, arrangement, motion and action."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import sqrt
from typing import Final

from .checks import ALL, CLOSE, LOOKS, SHAPE_WORDS, KnownCheck, evidence, moments, spans
from .checks_camera import is_shown, subjects_shown
from .grades import NO, PARTLY, YES, Rating, change, order
from .records import COLOURS, ClipSpan, Film, Thing, middle_of, place_of, view_at

LEAST_WAY: Final = 0.05
"""Metres below which a subject counts as resting."""
LEAST_POSE_DEG: Final = 6.0
APART: Final = 0.06
"""Share of the picture's width by which two subjects have to be apart for one to be at the left of the other."""
ALIKE: Final = 0.3
"""Distance of two colours below which one passes for the other in part."""


def object_presence(film: Film, clip: ClipSpan) -> Iterator[KnownCheck]:
    """A subject is in the picture."""
    for thing, frame in subjects_shown(film, clip):

        def rate(ours: Film, thing: Thing = thing, frame: int = frame) -> Rating:
            own = ours.thing(thing.id)
            if own is None:
                return NO
            return YES if is_shown(ours, own, frame, 0.0) else PARTLY if is_shown(ours, own, frame, -0.12) else NO

        local = frame - clip.first
        statement = f"At local frame {local} {thing.name} is in the picture."
        yield KnownCheck("object_presence", ALL, (thing.id,), local, local, (local,), statement, rate)


def object_appearance(film: Film, clip: ClipSpan) -> Iterator[KnownCheck]:
    """A subject's colour, its shape, and what only Detailed asks for."""
    for thing, frame in subjects_shown(film, clip):
        local = frame - clip.first
        for settings, said, what in (
            (LOOKS, f"the main color of {thing.name} is {thing.colour}", "colour"),
            (LOOKS, f"{thing.name} has the shape of a {SHAPE_WORDS[thing.shape]}", "shape"),
            (CLOSE, f"{thing.name} has a part in {thing.detail} that stands out from its main color", "detail"),
        ):
            if what == "detail" and not thing.detail:
                continue

            def rate(ours: Film, thing: Thing = thing, what: str = what) -> Rating:
                own = ours.thing(thing.id)
                if own is None:
                    return NO
                if what == "colour":
                    return _colour(thing.colour, own.colour)
                return YES if getattr(own, what) == getattr(thing, what) else NO

            statement = f"At local frame {local} {said}."
            yield KnownCheck("object_appearance", settings, (thing.id,), local, local, (local,), statement, rate)


def spatial_relations(film: Film, clip: ClipSpan) -> Iterator[KnownCheck]:
    """Which of two subjects is at the left, and which is nearer."""
    subjects = [thing for thing in film.things if not thing.is_scenery]
    for frame in moments(clip):
        shown = [thing for thing in subjects if is_shown(film, thing, frame)]
        local = frame - clip.first
        for first, second in combinations(shown, 2):
            for what in ("across", "nearer"):
                least = APART if what == "across" else 0.1
                apart = _relation(film, first, second, frame, what)
                if apart is None or abs(apart) < 2 * least:
                    continue

                def rate(
                    ours: Film, pair: tuple[Thing, Thing] = (first, second), frame: int = frame, what: str = what,
                    apart: float = apart, least: float = least,
                ) -> Rating:  # fmt: skip
                    own = [ours.thing(thing.id) for thing in pair]
                    if own[0] is None or own[1] is None:
                        return NO
                    between = _relation(ours, own[0], own[1], frame, what)
                    return NO if between is None else order(apart, between, least / 2)

                words = (
                    ("at the image-left of", "at the image-right of")
                    if what == "across"
                    else ("nearer than", "farther than")
                )
                said = f"{first.name} is {words[0] if apart < 0 else words[1]} {second.name}"
                statement = f"At local frame {local} {said}."
                yield KnownCheck(
                    "spatial_relations", ALL, (first.id, second.id), local, local, (local,), statement, rate
                )


def subject_motion(film: Film, clip: ClipSpan) -> Iterator[KnownCheck]:
    """How a subject moves through the scene, as the camera sees it; what moves comes before what rests."""
    resting = []
    for first, last in spans(film, clip):
        for thing in film.things:
            if thing.is_scenery or not is_shown(film, thing, first, 0.0):
                continue
            way = _way(film, thing, first, last)
            words = _way_words(way)
            said = f"{thing.name} moves {words}" if words else f"{thing.name} stays where it is"

            def rate(
                ours: Film, thing: Thing = thing, first: int = first, last: int = last, way: tuple[float, ...] = way
            ) -> Rating:
                own = ours.thing(thing.id)
                return NO if own is None else change(way, _way(ours, own, first, last), LEAST_WAY)

            start, end = first - clip.first, last - clip.first
            statement = f"From local frame {start} to {end} {said}."
            made = KnownCheck("subject_motion", ALL, (thing.id,), start, end, evidence(start, end), statement, rate)
            if words:
                yield made
            else:
                resting.append(made)
    yield from resting


def action_events(film: Film, clip: ClipSpan) -> Iterator[KnownCheck]:
    """What a subject does with the part of it that can move; what happens comes before what does not."""
    resting = []
    for first, last in spans(film, clip):
        for thing in film.things:
            if not thing.pose_words[0] or not is_shown(film, thing, (first + last) // 2, 0.0):
                continue
            turn = _pose(thing, first, last)
            does, undoes, rests = thing.pose_words
            said = rests if abs(turn) <= LEAST_POSE_DEG else does if turn > 0 else undoes

            def rate(
                ours: Film, thing: Thing = thing, first: int = first, last: int = last, turn: float = turn
            ) -> Rating:
                own = ours.thing(thing.id)
                return NO if own is None else change((turn,), (_pose(own, first, last),), LEAST_POSE_DEG)

            start, end = first - clip.first, last - clip.first
            statement = f"From local frame {start} to {end} {thing.name} {said}."
            made = KnownCheck("action_events", ALL, (thing.id,), start, end, evidence(start, end), statement, rate)
            if abs(turn) > LEAST_POSE_DEG:
                yield made
            else:
                resting.append(made)
    yield from resting


def _colour(wanted: str, got: str) -> Rating:
    if wanted == got:
        return YES
    apart = sqrt(sum((a - b) ** 2 for a, b in zip(COLOURS[wanted], COLOURS[got], strict=True)))
    return PARTLY if apart < ALIKE else NO


def _relation(film: Film, first: Thing, second: Thing, frame: int, what: str) -> float | None:
    """Of the first against the second: share of the width to the right of it, or log of its depth over its own."""
    view = view_at(film, frame)
    one, other = view.project(middle_of(first, frame)), view.project(middle_of(second, frame))
    if one[2] <= 0.01 or other[2] <= 0.01:
        return None
    return one[0] - other[0] if what == "across" else (one[2] - other[2]) / max(one[2], other[2])


def _way(film: Film, thing: Thing, first: int, last: int) -> tuple[float, ...]:
    begin, end = place_of(thing, first), place_of(thing, last)
    return view_at(film, first).axes([b - a for a, b in zip(begin, end, strict=True)])


def _way_words(way: tuple[float, ...]) -> str:
    length = sqrt(sum(value * value for value in way))
    if length <= LEAST_WAY:
        return ""
    pairs = (("to image-right", "to image-left"), ("up", "down"), ("away from the camera", "towards the camera"))
    words = [
        pair[0] if value > 0 else pair[1] for value, pair in zip(way, pairs, strict=True) if abs(value) > 0.35 * length
    ]
    return " and ".join(words)


def _pose(thing: Thing, first: int, last: int) -> float:
    return thing.pose.at(last)[0] - thing.pose.at(first)[0]


MAKERS: Final = {
    "object_presence": object_presence, "object_appearance": object_appearance,
    "spatial_relations": spatial_relations, "subject_motion": subject_motion, "action_events": action_events,
}  # fmt: skip
