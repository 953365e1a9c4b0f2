# SPDX-License-Identifier: GPL-3.0-or-later
"""A film as a description: what is in it, how it moves, and how it is shot.

Metres; x to the right, y away, z up. Frames are those of the reference, counted from 0, both ends included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import atan2, degrees, hypot
from typing import Final, Literal

from ....evaluator.protocol.timeline import Timeline
from ..materials import Colour
from ..shapes import Point

Shape = Literal["figure", "ball", "box", "crate", "tree", "fir", "car", "house", "post", "barrier", "door", "tower"]
Kind = Literal["dialogue", "sport", "first person", "aerial", "racing", "cuts"]

COLOURS: Final[dict[str, Colour]] = {
    "red": (0.62, 0.035, 0.03),
    "orange": (0.75, 0.22, 0.02),
    "yellow": (0.78, 0.55, 0.04),
    "green": (0.05, 0.32, 0.06),
    "teal": (0.02, 0.3, 0.3),
    "blue": (0.04, 0.13, 0.5),
    "purple": (0.24, 0.05, 0.4),
    "brown": (0.23, 0.11, 0.045),
    "white": (0.8, 0.78, 0.72),
    "grey": (0.32, 0.32, 0.31),
}
"""Names that a check may use, and what they look like."""

SENSOR_MM: Final = 36.0


@dataclass(frozen=True)
class Track:
    """Numbers that change linearly between keys `(frame, values)` and rest before the first and after the last."""

    keys: tuple[tuple[int, tuple[float, ...]], ...]

    def at(self, frame: float) -> tuple[float, ...]:
        """The values at a frame."""
        keys = self.keys
        if frame <= keys[0][0]:
            return keys[0][1]
        for (first, start), (last, end) in pairwise(keys):
            if frame <= last:
                share = (frame - first) / (last - first)
                return tuple(a + share * (b - a) for a, b in zip(start, end, strict=True))
        return keys[-1][1]

    def late(self, frames: int) -> Track:
        """The same, that many frames later."""
        return Track(tuple((frame + frames, values) for frame, values in self.keys))

    def reduced(self, share: float) -> Track:
        """The same start, and only this share of every change."""
        start = self.keys[0][1]
        return Track(
            tuple(
                (frame, tuple(a + share * (b - a) for a, b in zip(start, at, strict=True))) for frame, at in self.keys
            )
        )


def still(*values: float) -> Track:
    """A track without a change."""
    return Track(((0, values),))


def moves(*keys: tuple[int, tuple[float, ...]]) -> Track:
    """A track through these keys."""
    return Track(keys)


STILL: Final = Track(((0, (0.0,)),))
"""Zero."""
WIDE: Final = Track(((0, (35.0,)),))
"""The lens that a shot has where it names none."""


@dataclass(frozen=True)
class Thing:
    """A subject. `place` is where it stands on the ground (x, y, z), `turn` its angle about the vertical in degrees.

    `pose` is an angle in degrees that the shape knows: the arm of a figure from hanging, the boom of a barrier from
    lying, the leaf of a door from closed; `pose_words` say what a growing angle does, what a
    falling one does, and what resting is.
    """

    id: str
    name: str
    shape: Shape
    colour: str
    size: float
    """Height in metres; of a car, its length."""
    place: Track
    turn: Track = STILL
    pose: Track = STILL
    pose_words: tuple[str, str, str] = ("", "", "")
    detail: str = ""
    """Name of the colour of what only Detailed asks for: a stripe, a cap, a door."""
    description: str = ""
    is_scenery: bool = False
    """Not asked about: it stands in the background."""


@dataclass(frozen=True)
class Shot:
    """Frames `first` to `last`, seen from `eye` towards `target`, through a lens of `focal` millimetres."""

    first: int
    last: int
    eye: Track
    target: Track
    focal: Track = WIDE


@dataclass(frozen=True)
class ClipSpan:
    """A part of a film that gets a checklist."""

    id: str
    first: int
    last: int


@dataclass(frozen=True)
class Film:
    """The whole description. `ground` and `sky` are colours."""

    id: str
    kind: Kind
    title: str
    timeline: Timeline
    things: tuple[Thing, ...]
    shots: tuple[Shot, ...]
    clips: tuple[ClipSpan, ...]
    ground: Colour = (0.3, 0.27, 0.22)
    sky: Colour = (0.5, 0.65, 0.85)

    @property
    def cuts(self) -> tuple[int, ...]:
        """First frames of all shots but the first."""
        return tuple(shot.first for shot in self.shots[1:])

    def shot_at(self, frame: int) -> Shot:
        """The shot that shows the frame; the last one beyond the end."""
        return next((shot for shot in self.shots if frame <= shot.last), self.shots[-1])

    def thing(self, name: str) -> Thing | None:
        """The thing of that id, if the film has it."""
        return next((thing for thing in self.things if thing.id == name), None)


@dataclass(frozen=True)
class View:
    """A camera at one frame: where it is, its axes in the world, and how far it sees."""

    eye: Point
    right: Point
    up: Point
    forward: Point
    focal: float
    width: int
    height: int

    def axes(self, vector: Sequence[float]) -> Point:
        """A vector of the world along the camera's right, up and forward."""
        return dot(vector, self.right), dot(vector, self.up), dot(vector, self.forward)

    def project(self, point: Sequence[float]) -> Point:
        """Where a point is in the picture: share of the width from the left, of the height from the top, and depth."""
        x, y, depth = self.axes([a - b for a, b in zip(point, self.eye, strict=True)])
        if depth <= 0.01:
            return -9.0, -9.0, depth
        scale = self.focal / SENSOR_MM * max(self.width, self.height) / depth
        return 0.5 + x * scale / self.width, 0.5 - y * scale / self.height, depth

    @property
    def pan_deg(self) -> float:
        """Angle about the vertical; it grows to image-right."""
        return degrees(atan2(self.forward[0], self.forward[1]))

    @property
    def tilt_deg(self) -> float:
        """Angle above the horizon."""
        return degrees(atan2(self.forward[2], hypot(self.forward[0], self.forward[1])))


def view_at(film: Film, frame: int) -> View:
    """The camera of a frame."""
    shot = film.shot_at(frame)
    eye, target = _point(shot.eye, frame), _point(shot.target, frame)
    forward = unit([b - a for a, b in zip(eye, target, strict=True)])
    right = unit((forward[1], -forward[0], 0.0))
    up = (
        right[1] * forward[2] - right[2] * forward[1],
        right[2] * forward[0] - right[0] * forward[2],
        right[0] * forward[1] - right[1] * forward[0],
    )
    size = film.timeline
    return View(eye, right, up, forward, shot.focal.at(frame)[0], size.width, size.height)


def place_of(thing: Thing, frame: int) -> Point:
    """Where a thing stands."""
    return _point(thing.place, frame)


def middle_of(thing: Thing, frame: int) -> Point:
    """The middle of a thing: half its height above where it stands."""
    x, y, z = _point(thing.place, frame)
    return x, y, z + thing.size * (0.17 if thing.shape == "car" else 0.5)


def dot(first: Sequence[float], second: Sequence[float]) -> float:
    """Inner product."""
    return sum(a * b for a, b in zip(first, second, strict=True))


def unit(vector: Sequence[float]) -> Point:
    """The vector at length one."""
    length = dot(vector, vector) ** 0.5
    x, y, z = (value / length for value in vector)
    return x, y, z


def _point(track: Track, frame: int) -> Point:
    x, y, z = track.at(frame)
    return x, y, z
