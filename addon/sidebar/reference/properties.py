# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scene keeps of its reference."""

from fractions import Fraction
from typing import Any

import bpy
from bpy.props import BoolProperty, CollectionProperty, FloatProperty, IntProperty, StringProperty

from ....evaluator.protocol.timeline import Timeline
from ..paths import absolute
from ..properties import PATH_OPTIONS, MATCHCUT_PG_line
from . import background, read, shots, watch


def _picked(reference: Any, context: Any) -> None:
    read.reference_picked(reference.id_data)


class MATCHCUT_PG_shot(bpy.types.PropertyGroup):
    """A shot of the reference: its frames, counted from 0, both ends included."""

    first: IntProperty()  # type: ignore[valid-type]
    last: IntProperty()  # type: ignore[valid-type]


class MATCHCUT_PG_reference(bpy.types.PropertyGroup):
    """The reference video. Everything but the path was read by the evaluator; `read_path` says of which file."""

    path: StringProperty(  # type: ignore[valid-type]
        name="Video",
        description="Video to rebuild in this scene",
        subtype="FILE_PATH",
        options=PATH_OPTIONS,
        update=_picked,
    )
    read_path: StringProperty(subtype="FILE_PATH", options=PATH_OPTIONS)  # type: ignore[valid-type]
    read_mark: StringProperty()  # type: ignore[valid-type]
    """What the file was known by when it was read, as in watch.py."""
    width: IntProperty()  # type: ignore[valid-type]
    height: IntProperty()  # type: ignore[valid-type]
    rate: StringProperty()  # type: ignore[valid-type]
    frames: IntProperty()  # type: ignore[valid-type]
    shots: CollectionProperty(type=MATCHCUT_PG_shot)  # type: ignore[valid-type]
    """In order and without gaps, over all frames."""
    warnings: CollectionProperty(type=MATCHCUT_PG_line)  # type: ignore[valid-type]
    """Those of section `conform` are mended by Conform."""
    misplaced: BoolProperty()  # type: ignore[valid-type]
    """Whether Blender's own player shows other frames than the evaluator, or the picture the other way round."""
    original: StringProperty(subtype="FILE_PATH", options=PATH_OPTIONS)  # type: ignore[valid-type]
    """What `conformed` was made of."""
    conformed: StringProperty(subtype="FILE_PATH", options=PATH_OPTIONS)  # type: ignore[valid-type]
    """The reference that Conform wrote last."""
    shot: IntProperty(  # type: ignore[valid-type]
        name="Shot",
        description="Shot at the current frame; a click on one goes to its first frame",
        get=lambda reference: shots.current_shot(reference.id_data),
        set=lambda reference, value: shots.go_to_shot(reference.id_data, value),
        options={"SKIP_SAVE"},
    )
    opacity: FloatProperty(  # type: ignore[valid-type]
        name="Opacity",
        description="How much of the reference is seen in the camera view",
        subtype="FACTOR",
        min=0.0,
        max=1.0,
        get=lambda reference: background.opacity(reference.id_data),
        set=lambda reference, value: background.set_opacity(reference.id_data, value),
        options={"SKIP_SAVE"},
    )
    in_front: BoolProperty(  # type: ignore[valid-type]
        name="In Front",
        description="Show the reference in front of the objects instead of behind them",
        get=lambda reference: background.in_front(reference.id_data),
        set=lambda reference, value: background.set_in_front(reference.id_data, value),
        options={"SKIP_SAVE"},
    )

    @property
    def state(self) -> watch.State:
        """Whether the file is still the one that was read, as it was last found; from memory."""
        return watch.known_state(absolute(self.path), self.read_mark)

    @property
    def read(self) -> bool:
        """Whether what is stored was read from the path that is picked, whatever lies there now."""
        return bool(self.path) and self.read_path == self.path

    @property
    def known(self) -> bool:
        """Whether the file that is picked has been read, and is still there as it was."""
        return self.read and self.state == "same"

    def timeline(self) -> Timeline:
        """The reference's timeline; only where it was `read`."""
        return Timeline(self.width, self.height, Fraction(self.rate), self.frames)


CLASSES = (MATCHCUT_PG_shot, MATCHCUT_PG_reference)
