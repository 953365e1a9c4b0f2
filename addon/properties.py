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

FRAMES_ITEMS = (
    ("ALL", "All", "Every frame of the reference; they become a video"),
    ("PREVIEW", "Preview Range", "The frames of the timeline's preview range, as pictures"),
    ("CURRENT", "Current Frame", "The frame that is shown, as a picture"),
)

AS_SCENE = ("SCENE", "As Scene", "What the scene is set to")

ENGINE_ITEMS = (
    AS_SCENE,
    ("CYCLES", "Cycles", "Path tracing, on the processor or a graphics card"),
    ("EEVEE", "EEVEE", "Rasterization; needs a graphics driver"),
    ("WORKBENCH", "Workbench", "The look of solid view, for a quick check of layout and motion"),
)

DEVICE_ITEMS = (
    ("AUTO", "Automatic", "The graphics card where Cycles can use one, else the processor"),
    ("CPU", "CPU", "The processor"),
    ("CUDA", "CUDA", "NVIDIA graphics cards"),
    ("OPTIX", "OptiX", "NVIDIA graphics cards with hardware ray tracing"),
    ("HIP", "HIP", "AMD graphics cards"),
    ("METAL", "Metal", "Graphics processors of Apple computers"),
    ("ONEAPI", "oneAPI", "Intel graphics cards"),
)

VIEW_TRANSFORMS = ("AgX", "Standard", "Khronos PBR Neutral", "ACES 2.0", "ACES 1.3", "Filmic", "Raw")
"""Suggested ones, of Blender's own color configuration; others have others."""


def _view_transforms(render: Any, context: Any, text: str) -> tuple[str, ...]:
    return VIEW_TRANSFORMS


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


class MATCHCUT_PG_render(bpy.types.PropertyGroup):
    """How the scene is rendered, and where the last render lies."""

    frames: EnumProperty(  # type: ignore[valid-type]
        name="Frames",
        description="Which frames of the reference are rendered",
        items=FRAMES_ITEMS,
    )
    scale: IntProperty(  # type: ignore[valid-type]
        name="Scale",
        description="Size of the render in percent of the reference's; less is quicker to look at",
        subtype="PERCENTAGE",
        default=100,
        min=1,
        soft_min=10,
        soft_max=100,
        max=400,
    )
    engine: EnumProperty(  # type: ignore[valid-type]
        name="Engine",
        description="Engine of the copy that is rendered; the scene keeps its own",
        items=ENGINE_ITEMS,
    )
    device: EnumProperty(  # type: ignore[valid-type]
        name="Device",
        description="What Cycles computes on",
        items=DEVICE_ITEMS,
    )
    view_transform: StringProperty(  # type: ignore[valid-type]
        name="View Transform",
        description="How scene light becomes display color; empty for what the scene is set to",
        search=_view_transforms,
    )
    workers: IntProperty(  # type: ignore[valid-type]
        name="Workers",
        description="Blenders that render at a time; more pay where one leaves processor cores idle, and take memory",
        default=1,
        min=1,
        soft_max=8,
        max=64,
    )
    passes: BoolProperty(  # type: ignore[valid-type]
        name="Geometry Passes",
        description="Also write every frame's depth, motion, object ids and camera, which geometric scores are made of",
    )
    folder: StringProperty(subtype="DIR_PATH", options=PATH_OPTIONS)  # type: ignore[valid-type]
    """Of the last render that ended well."""
    video: StringProperty(subtype="FILE_PATH", options=PATH_OPTIONS)  # type: ignore[valid-type]
    """In it; empty where a part was rendered."""


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
    render: PointerProperty(type=MATCHCUT_PG_render)  # type: ignore[valid-type]
    results: PointerProperty(type=MATCHCUT_PG_results)  # type: ignore[valid-type]


CLASSES = (MATCHCUT_PG_line, MATCHCUT_PG_reference, MATCHCUT_PG_results, MATCHCUT_PG_render, MATCHCUT_PG_scene)


def register() -> None:
    """Hang the properties on the scene."""
    bpy.types.Scene.matchcut = PointerProperty(type=MATCHCUT_PG_scene)


def unregister() -> None:
    """Take them off again."""
    del bpy.types.Scene.matchcut
