# SPDX-License-Identifier: GPL-3.0-or-later
"""What Matchcut keeps on a scene: the reference and what is known of it, how to score, and the last results."""

from fractions import Fraction
from typing import Any

import bpy
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, IntProperty, PointerProperty, StringProperty

from ..evaluator.protocol.timeline import Timeline

PATH_OPTIONS = {"PATH_SUPPORTS_BLEND_RELATIVE"}

SETTING_ITEMS = (
    ("proxy", "Proxy", "Simple shapes stand in for the subjects: camera, layout and motion are judged"),
    ("simplified", "Simplified", "Recognizable shapes and main colors: appearance is judged roughly"),
    ("detailed", "Detailed", "Full geometry, materials and light: appearance is judged in detail"),
)


def _reference_picked(reference: Any, context: Any) -> None:
    from . import workflow

    workflow.reference_picked(reference.id_data)


class MATCHCUT_PG_line(bpy.types.PropertyGroup):
    """One line of the results or of a list of warnings."""

    section: StringProperty()  # type: ignore[valid-type]
    label: StringProperty()  # type: ignore[valid-type]
    text: StringProperty()  # type: ignore[valid-type]
    verdict: StringProperty()  # type: ignore[valid-type]
    """good | bad | unscored | plain, as in results.ResultLine."""


class MATCHCUT_PG_reference(bpy.types.PropertyGroup):
    """The reference video. Everything but the path was read by the evaluator; `read_path` says of which file."""

    path: StringProperty(  # type: ignore[valid-type]
        name="Video",
        description="Video to rebuild in this scene",
        subtype="FILE_PATH",
        options=PATH_OPTIONS,
        update=_reference_picked,
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


class MATCHCUT_PG_results(bpy.types.PropertyGroup):
    """The last score of the scene, as lines to show, and where its files lie."""

    folder: StringProperty(subtype="DIR_PATH", options=PATH_OPTIONS)  # type: ignore[valid-type]
    lines: CollectionProperty(type=MATCHCUT_PG_line)  # type: ignore[valid-type]


class MATCHCUT_PG_scene(bpy.types.PropertyGroup):
    """Matchcut's part of a scene, `scene.matchcut`."""

    reference: PointerProperty(type=MATCHCUT_PG_reference)  # type: ignore[valid-type]
    setting: EnumProperty(  # type: ignore[valid-type]
        name="Setting",
        description="How much of the reference the scene wants to rebuild, which decides what is judged",
        items=SETTING_ITEMS,
    )
    use_samples: BoolProperty(  # type: ignore[valid-type]
        name="Limit Samples",
        description="Render with fewer samples than the scene asks for",
    )
    samples: IntProperty(  # type: ignore[valid-type]
        name="Samples",
        description="Samples per pixel of Matchcut's renders",
        default=16,
        min=1,
        soft_max=1024,
    )
    checklist: StringProperty(  # type: ignore[valid-type]
        name="Checklist",
        description="Clip file, or folder of clip files, whose checks a judge rates; empty for none",
        subtype="FILE_PATH",
        options=PATH_OPTIONS,
    )
    judge: StringProperty(  # type: ignore[valid-type]
        name="Judge",
        description="Model that rates the checks, such as local:http://127.0.0.1:8000/v1#MODEL",
    )
    output: StringProperty(  # type: ignore[valid-type]
        name="Output",
        description="Folder for renders and scores; empty takes a folder named matchcut beside the .blend file",
        subtype="DIR_PATH",
        options=PATH_OPTIONS,
    )
    last_render: StringProperty(subtype="FILE_PATH", options=PATH_OPTIONS)  # type: ignore[valid-type]
    results: PointerProperty(type=MATCHCUT_PG_results)  # type: ignore[valid-type]


CLASSES = (MATCHCUT_PG_line, MATCHCUT_PG_reference, MATCHCUT_PG_results, MATCHCUT_PG_scene)


def register() -> None:
    """Hang the properties on the scene."""
    bpy.types.Scene.matchcut = PointerProperty(type=MATCHCUT_PG_scene)


def unregister() -> None:
    """Take them off again."""
    del bpy.types.Scene.matchcut
