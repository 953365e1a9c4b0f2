# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scene keeps of its reference."""

from fractions import Fraction
from typing import Any

import bpy
from bpy.props import CollectionProperty, IntProperty, StringProperty

from ....evaluator.protocol.timeline import Timeline
from ..properties import PATH_OPTIONS, MATCHCUT_PG_line
from . import read


def _picked(reference: Any, context: Any) -> None:
    read.reference_picked(reference.id_data)


class MATCHCUT_PG_reference(bpy.types.PropertyGroup):
    """The reference video. Everything but the path was read by the evaluator; `read_path` says of which file."""

    path: StringProperty(  # type: ignore[valid-type]
        name="Video",
        description="Video to rebuild in this scene",
        subtype="FILE_PATH",
        options=PATH_OPTIONS,
        update=_picked,
    )
    read_path: StringProperty()  # type: ignore[valid-type]
    width: IntProperty()  # type: ignore[valid-type]
    height: IntProperty()  # type: ignore[valid-type]
    rate: StringProperty()  # type: ignore[valid-type]
    frames: IntProperty()  # type: ignore[valid-type]
    warnings: CollectionProperty(type=MATCHCUT_PG_line)  # type: ignore[valid-type]

    @property
    def known(self) -> bool:
        """Whether the file that is picked has been read."""
        return bool(self.path) and self.read_path == self.path

    def timeline(self) -> Timeline:
        """The reference's timeline; only where it is `known`."""
        return Timeline(self.width, self.height, Fraction(self.rate), self.frames)


CLASSES = (MATCHCUT_PG_reference,)
