# SPDX-License-Identifier: GPL-3.0-or-later
"""Statements about the camera: how it moves, turns and zooms, where it stands, what it shows, where it cuts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import degrees, log, sqrt
from typing import Final

from .checks import ALL, KnownCheck, evidence, moments, spans
from .grades import NO, PARTLY, YES, Rating, amount, change
from .records import ClipSpan, Film, Thing, middle_of, view_at

LEAST_TURN_DEG: Final = 0.6
LEAST_ZOOM: Final = 0.02
"""Change of the focal length's logarithm."""
CENTRE: Final = 0.12
"""Share of the picture by which a subject may be off where it was."""


def translation(film: Film, clip: ClipSpan) -> Iterator[KnownCheck]:
    """The camera's way between two frames, along its own axes at the first."""
    for first, last in spans(film, clip):
        least = 0.01 * _reach(film, first)
        way = _way(film, first, last)
        words = _direction(way, least, ("to image-right", "to image-left"), ("up", "down"), ("forward", "backward"))
        said = f"the camera moves {words}" if words else "the camera stays at one place"

        def rate(
            ours: Film, first: int = first, last: int = last, least: float = least, way: tuple[float, ...] = way
        ) -> Rating:
            return change(way, _way(ours, first, last), least)

        yield _interval("translation", clip, first, last, said, rate)


def rotation(film: Film, clip: ClipSpan) -> Iterator[KnownCheck]:
    """The camera's pan and tilt between two frames."""
    for first, last in spans(film, clip):
        turn = _turn(film, first, last)
        words = _direction(
            (turn[0], turn[1], 0.0), LEAST_TURN_DEG, ("to image-right", "to image-left"), ("up", "down"), ("", "")
        )
        said = f"the camera turns {words}, by about {max(map(abs, turn)):.0f}°" if words else "the camera does not turn"

        def rate(ours: Film, first: int = first, last: int = last, turn: tuple[float, ...] = turn) -> Rating:
            return change(turn, _turn(ours, first, last), LEAST_TURN_DEG)

        yield _interval("rotation", clip, first, last, said, rate)


def zoom(film: Film, clip: ClipSpan) -> Iterator[KnownCheck]:
    """The change of focal length between two frames."""
    for first, last in spans(film, clip):
        factor = _zoom(film, first, last)
        said = "the focal length does not change"
        if abs(factor) > LEAST_ZOOM:
            said = "the camera zooms in" if factor > 0 else "the camera zooms out"

        def rate(ours: Film, first: int = first, last: int = last, factor: float = factor) -> Rating:
            return change((factor,), (_zoom(ours, first, last),), LEAST_ZOOM)

        yield _interval("zoom", clip, first, last, said, rate)


def position(film: Film, clip: ClipSpan) -> Iterator[KnownCheck]:
    """From how high and from how far the camera looks at a subject."""
    for thing, frame in subjects_shown(film, clip):
        if thing.is_scenery:
            continue
        above = _elevation(film, thing, frame)
        words = "level with" if abs(above) < 4 else "from above" if above > 0 else "from below"
        said = f"the camera looks at {thing.name} {words if words != 'level with' else 'from its own height'}"

        def rate_height(ours: Film, thing: Thing = thing, frame: int = frame, above: float = above) -> Rating:
            own = ours.thing(thing.id)
            return NO if own is None else amount(above, _elevation(ours, own, frame), 6)

        yield _moment("position", clip, frame, said, (thing.id,), rate_height)
        far = _distance(film, thing, frame)

        def rate_distance(ours: Film, thing: Thing = thing, frame: int = frame, far: float = far) -> Rating:
            own = ours.thing(thing.id)
            return NO if own is None else amount(0.0, log(_distance(ours, own, frame) / far), 0.25)

        said = f"the camera is about {far / thing.size:.0f} times the size of {thing.name} away from it"
        yield _moment("position", clip, frame, said, (thing.id,), rate_distance)


def target(film: Film, clip: ClipSpan) -> Iterator[KnownCheck]:
    """Where in the picture a subject is."""
    for thing, frame in subjects_shown(film, clip):
        x, y, _ = view_at(film, frame).project(middle_of(thing, frame))
        across = "the image-left third" if x < 1 / 3 else "the image-right third" if x > 2 / 3 else "the middle third"
        height = "upper" if y < 0.4 else "lower" if y > 0.6 else "middle"
        said = f"{thing.name} is in {across} of the picture, at its {height} height"

        def rate(ours: Film, thing: Thing = thing, frame: int = frame, x: float = x, y: float = y) -> Rating:
            own = ours.thing(thing.id)
            if own is None:
                return NO
            at = view_at(ours, frame).project(middle_of(own, frame))
            return amount(0.0, sqrt((at[0] - x) ** 2 + (at[1] - y) ** 2), CENTRE)

        yield _moment("target", clip, frame, said, (thing.id,), rate)


def shot_transitions(film: Film, clip: ClipSpan) -> Iterator[KnownCheck]:
    """Cuts of the clip: each at its frame, and how many there are."""
    cuts = [cut for cut in film.cuts if clip.first < cut <= clip.last]
    for cut in cuts:

        def rate_cut(ours: Film, cut: int = cut) -> Rating:
            off = min((abs(own - cut) for own in ours.cuts), default=99)
            return YES if off == 0 else PARTLY if off <= 3 else NO

        yield _interval("shot_transitions", clip, cut - 1, cut, "there is a hard cut", rate_cut)
    number = {0: "no transition", 1: "exactly one transition"}.get(len(cuts), f"exactly {len(cuts)} transitions")
    length = clip.last - clip.first + 1
    for first, last in (
        (clip.first, clip.last),
        (clip.first, clip.first + length // 2),
        (clip.first + length // 3, clip.last),
    ):
        inside = _cuts(film, first, last)
        words = {0: "no transition", 1: "exactly one transition"}.get(inside, f"exactly {inside} transitions")

        def rate_number(ours: Film, first: int = first, last: int = last, inside: int = inside) -> Rating:
            return YES if _cuts(ours, first, last) == inside else NO

        said = f"there is {number if (first, last) == (clip.first, clip.last) else words}"
        yield _interval("shot_transitions", clip, first, last, said, rate_number)


def subjects_shown(film: Film, clip: ClipSpan) -> Iterator[tuple[Thing, int]]:
    """Subjects that are well inside the picture, each at a frame; every subject once, then again at other frames."""
    again: list[tuple[Thing, int]] = []
    for thing in film.things:
        if thing.is_scenery:
            continue
        frames = [frame for frame in moments(clip) if is_shown(film, thing, frame)]
        if frames:
            yield thing, frames[0]
            again += [(thing, frame) for frame in frames[1:]]
    yield from again


def is_shown(film: Film, thing: Thing, frame: int, margin: float = 0.06) -> bool:
    """Whether the middle of a thing lies in the picture, `margin` of its size from the edge."""
    x, y, depth = view_at(film, frame).project(middle_of(thing, frame))
    return depth > 0 and margin <= x <= 1 - margin and margin <= y <= 1 - margin


def _interval(
    category: str, clip: ClipSpan, first: int, last: int, said: str, rate: Callable[[Film], Rating]
) -> KnownCheck:
    start, end = first - clip.first, last - clip.first
    statement = f"From local frame {start} to {end} {said}."
    return KnownCheck(category, ALL, (), start, end, evidence(start, end), statement, rate)


def _moment(
    category: str, clip: ClipSpan, frame: int, said: str, subjects: tuple[str, ...], rate: Callable[[Film], Rating]
) -> KnownCheck:
    local = frame - clip.first
    return KnownCheck(category, ALL, subjects, local, local, (local,), f"At local frame {local} {said}.", rate)


def _direction(
    vector: tuple[float, ...], least: float, across: tuple[str, str], upright: tuple[str, str], along: tuple[str, str]
) -> str:
    """The main components in words; empty where the whole is below `least`."""
    length = sqrt(sum(value * value for value in vector))
    if length <= least:
        return ""
    named = zip(vector, (across, upright, along), strict=True)
    words = [pair[0] if value > 0 else pair[1] for value, pair in named if abs(value) > 0.35 * length]
    return " and ".join(word for word in words if word)


def _way(film: Film, first: int, last: int) -> tuple[float, ...]:
    begin, end = view_at(film, first), view_at(film, last)
    return begin.axes([b - a for a, b in zip(begin.eye, end.eye, strict=True)])


def _turn(film: Film, first: int, last: int) -> tuple[float, float]:
    begin, end = view_at(film, first), view_at(film, last)
    return (end.pan_deg - begin.pan_deg + 180) % 360 - 180, end.tilt_deg - begin.tilt_deg


def _zoom(film: Film, first: int, last: int) -> float:
    return log(view_at(film, last).focal / view_at(film, first).focal)


def _reach(film: Film, frame: int) -> float:
    shot = film.shot_at(frame)
    return sqrt(sum((a - b) ** 2 for a, b in zip(shot.eye.at(frame), shot.target.at(frame), strict=True)))


def _distance(film: Film, thing: Thing, frame: int) -> float:
    eye = view_at(film, frame).eye
    return max(0.01, sqrt(sum((a - b) ** 2 for a, b in zip(eye, middle_of(thing, frame), strict=True))))


def _elevation(film: Film, thing: Thing, frame: int) -> float:
    """Angle in degrees by which the camera is higher than the subject's middle, as seen from the subject."""
    from math import asin

    eye, middle = view_at(film, frame).eye, middle_of(thing, frame)
    return degrees(asin(max(-1.0, min(1.0, (eye[2] - middle[2]) / _distance(film, thing, frame)))))


def _cuts(film: Film, first: int, last: int) -> int:
    return sum(first < cut <= last for cut in film.cuts)


MAKERS: Final = {
    "translation": translation, "rotation": rotation, "zoom": zoom, "position": position, "target": target,
    "shot_transitions": shot_transitions,
}  # fmt: skip
