# SPDX-License-Identifier: GPL-3.0-or-later
"""The checklist of a clip: 30 statements over all categories, and the right rating of each for any reconstruction.

A statement is written from what is measured on the film; the same is measured on a reconstruction's description, and
`grades` compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, Final

from .grades import NO, PARTLY, YES, Rating
from .records import ClipSpan, Film

ALL: Final = ("proxy", "simplified", "detailed")
LOOKS: Final = ("simplified", "detailed")
CLOSE: Final = ("detailed",)

COUNTS: Final[dict[str, int]] = {
    "translation": 3, "rotation": 3, "zoom": 2, "position": 2, "target": 3, "shot_transitions": 2,
    "object_presence": 4, "object_appearance": 4, "spatial_relations": 3, "subject_motion": 2, "action_events": 2,
}  # fmt: skip
"""Checks of each category in every clip."""


@dataclass(frozen=True)
class KnownCheck:
    """A check as a clip file has it, with its right rating for any film that wants to be the reference."""

    category: str
    settings: tuple[str, ...]
    subjects: tuple[str, ...]
    start: int
    end: int
    evidence: tuple[int, ...]
    statement: str
    rate: Callable[[Film], Rating]
    """Frames in it are those of the reference, not the clip's."""

    def to_json(self, number: int) -> dict[str, Any]:
        """The check of the clip file, the `number`th of its category from 1."""
        return {
            "id": f"{self.category}_{number}",
            "category": self.category,
            "settings": list(self.settings),
            "subjects": list(self.subjects),
            "start": self.start,
            "end": self.end,
            "evidence_frames": list(self.evidence),
            "statement": self.statement,
        }


def checks_of(film: Film, clip: ClipSpan) -> list[KnownCheck]:
    """The clip's checks, as many of each category as COUNTS says."""
    from . import checks_camera, checks_scene

    found: list[KnownCheck] = []
    for category, make in {**checks_camera.MAKERS, **checks_scene.MAKERS}.items():
        made = list(islice(make(film, clip), COUNTS[category]))
        assert len(made) == COUNTS[category], f"{film.id} {clip.id}: {len(made)} checks of {category}"
        found += made
    return found


def clip_json(film: Film, clip: ClipSpan) -> dict[str, Any]:
    """The clip file: entities and checks."""
    counts: dict[str, int] = {}
    checks = []
    for check in checks_of(film, clip):
        counts[check.category] = counts.get(check.category, 0) + 1
        checks.append(check.to_json(counts[check.category]))
    named = {name for check in checks for name in check["subjects"]}
    return {
        "format": "matchcut-clip/1",
        "id": clip.id,
        "video": film.id,
        "frame_offset": clip.first,
        "frame_count": clip.last - clip.first + 1,
        "shot_transitions": [cut - clip.first for cut in film.cuts if clip.first < cut <= clip.last],
        "entities": [
            {"id": thing.id, "name": thing.name, "description": thing.description or describe(thing), "first_frame": 0}
            for thing in film.things
            if thing.id in named
        ],
        "checks": checks,
    }


def ratings_of(film: Film, clip: ClipSpan, ours: Film) -> dict[str, Rating]:
    """By check id: the right rating of the reconstruction `ours`."""
    counts: dict[str, int] = {}
    found: dict[str, Rating] = {}
    for check in checks_of(film, clip):
        counts[check.category] = counts.get(check.category, 0) + 1
        found[f"{check.category}_{counts[check.category]}"] = check.rate(ours)
    return found


def describe(thing: Any) -> str:
    """What an entity looks like, for the judge's table."""
    return f"The {thing.colour} {SHAPE_WORDS[thing.shape]}"


SHAPE_WORDS: Final[dict[str, str]] = {
    "figure": "standing figure of simple shapes", "ball": "ball", "box": "plain box", "crate": "framed crate",
    "tree": "tree with a round crown", "fir": "cone-shaped tree", "car": "low car on four wheels",
    "house": "house with a pointed roof", "post": "upright post", "barrier": "barrier with a boom",
    "door": "door in its frame", "tower": "tower with a pointed roof",
}  # fmt: skip


def spans(film: Film, clip: ClipSpan) -> Iterator[tuple[int, int]]:
    """Intervals of the clip without a cut in them: the parts between cuts, then halves and thirds of the longest."""
    bounds = [clip.first, *(cut for cut in film.cuts if clip.first < cut <= clip.last), clip.last + 1]
    parts = [(first, after - 1) for first, after in pairwise(bounds) if after - first >= 4]
    parts.sort(key=lambda part: part[0] - part[1])
    yield from parts
    first, last = parts[0]
    for pieces in (2, 3):
        length = (last - first + 1) // pieces
        for number in range(pieces):
            yield first + number * length, first + (number + 1) * length - 1


def moments(clip: ClipSpan) -> Iterator[int]:
    """Single frames to look at, spread over the clip."""
    length = clip.last - clip.first
    for share in (0.5, 0.1, 0.9, 0.3, 0.7, 0.0, 1.0, 0.2, 0.8, 0.4, 0.6):
        yield clip.first + round(share * length)


def evidence(first: int, last: int) -> tuple[int, ...]:
    """The frames that show a change: its ends and its middle."""
    return tuple(sorted({first, (first + last) // 2, last}))


__all__ = ["ALL", "CLOSE", "LOOKS", "NO", "PARTLY", "YES", "KnownCheck", "evidence", "moments", "spans"]
