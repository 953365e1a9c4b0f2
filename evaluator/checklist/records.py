# SPDX-License-Identifier: GPL-3.0-or-later
"""Clips, entities and checks as they lie on disk (docs/formats.md); paper, appendix A."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter, ValidationError

from ..records import Record

CLIP_FORMAT: Final = "matchcut-clip/1"

Setting = Literal["proxy", "simplified", "detailed"]
Dimension = Literal["camera", "static", "dynamic"]
Category = Literal[
    "translation", "rotation", "zoom", "position", "target", "shot_transitions",
    "object_presence", "object_appearance", "spatial_relations",
    "subject_motion", "action_events",
]  # fmt: skip

SETTINGS: tuple[Setting, ...] = ("proxy", "simplified", "detailed")
DIMENSIONS: dict[Dimension, tuple[Category, ...]] = {
    "camera": ("translation", "rotation", "zoom", "position", "target", "shot_transitions"),
    "static": ("object_presence", "object_appearance", "spatial_relations"),
    "dynamic": ("subject_motion", "action_events"),
}
FRAME_CATEGORIES: frozenset[Category] = frozenset(
    {"position", "target", "object_presence", "object_appearance", "spatial_relations"}
)
"""Checked at single frames (start = end); the others are checked over intervals."""

Identifier = Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
_IDENTIFIER = TypeAdapter(Identifier)
FrameIndex = Annotated[int, Field(ge=0, le=2**31 - 1)]


def is_identifier(name: str) -> bool:
    """Whether `name` can name a clip, a video, a configuration or a rater."""
    try:
        _IDENTIFIER.validate_python(name)
    except ValidationError:
        return False
    return True


class Entity(Record):
    """A named subject of a clip. `first_frame` is the local frame at which it can first be identified."""

    id: Identifier
    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: Annotated[str, Field(max_length=2000)]
    first_frame: FrameIndex
    members: list[Identifier] = []
    """For a group: the entities in it, which are not counted again."""


class Check(Record):
    """One assessable statement. `start` and `end` are local frames, both included."""

    id: Identifier
    category: Category
    settings: Annotated[list[Setting], Field(min_length=1)]
    subjects: list[Identifier]
    start: FrameIndex
    end: FrameIndex
    evidence_frames: list[FrameIndex]
    sample_frames: list[FrameIndex] = []
    statement: Annotated[str, Field(min_length=1, max_length=2000)]


class Clip(Record):
    """At most two seconds of a reference with its checks. `frame_offset` is the clip's first frame in the reference."""

    format: Literal["matchcut-clip/1"] = CLIP_FORMAT
    id: Identifier
    video: Identifier
    frame_offset: FrameIndex
    frame_count: Annotated[int, Field(ge=1, le=2**31 - 1)]
    shot_transitions: list[FrameIndex]
    """Local frames at which a new shot begins."""
    entities: list[Entity]
    checks: list[Check]

    def applicable(self, setting: Setting) -> list[Check]:
        """The checks of one setting, in the order of the file."""
        return [check for check in self.checks if setting in check.settings]
