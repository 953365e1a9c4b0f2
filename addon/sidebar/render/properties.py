# SPDX-License-Identifier: GPL-3.0-or-later
"""How a scene is rendered, and its last renders."""

from typing import Any

import bpy
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, FloatProperty, IntProperty, StringProperty

from ..properties import PATH_OPTIONS

MODE_ITEMS = (
    ("PREVIEW", "Preview", "Smaller, with few samples, of a part or every nth frame: to look at"),
    ("FINAL", "Final", "Every frame in the reference's size: what a score takes if nothing has changed since"),
)

FRAMES_ITEMS = (
    ("ALL", "All", "The reference's whole range"),
    ("PREVIEW", "Preview Range", "The frames of the timeline's preview range"),
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


class MATCHCUT_PG_rendered(bpy.types.PropertyGroup):
    """One render on disk; `name` is its folder's."""

    folder: StringProperty(subtype="DIR_PATH", options=PATH_OPTIONS)  # type: ignore[valid-type]
    video: StringProperty(subtype="FILE_PATH", options=PATH_OPTIONS)  # type: ignore[valid-type]
    """What can be played of it; empty where it is one picture, or not finished."""
    frames: IntProperty()  # type: ignore[valid-type]
    of: IntProperty()  # type: ignore[valid-type]
    is_done: BoolProperty()  # type: ignore[valid-type]
    seconds: FloatProperty(default=-1.0)  # type: ignore[valid-type]
    """That its frames took; negative where that is not known."""


class MATCHCUT_PG_render(bpy.types.PropertyGroup):
    """How the scene is rendered, and its last renders."""

    mode: EnumProperty(  # type: ignore[valid-type]
        name="Quality",
        description="A quick look, or the whole reference as it will be scored",
        items=MODE_ITEMS,
    )
    frames: EnumProperty(  # type: ignore[valid-type]
        name="Frames",
        description="Which frames of the reference are rendered",
        items=FRAMES_ITEMS,
    )
    every: IntProperty(  # type: ignore[valid-type]
        name="Step",
        description="Render every nth frame only; the preview still plays at the right speed",
        default=1,
        min=1,
        soft_max=24,
    )
    preview_samples: IntProperty(  # type: ignore[valid-type]
        name="Samples",
        description="Samples per pixel of previews, so that they come quickly",
        default=16,
        min=1,
        soft_max=256,
    )
    scale: IntProperty(  # type: ignore[valid-type]
        name="Scale",
        description="Size of the preview in percent of the reference's; less is quicker to look at",
        subtype="PERCENTAGE",
        default=50,
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
    """The last one of all frames of the reference: of a final render or of a score."""
    renders: CollectionProperty(type=MATCHCUT_PG_rendered)  # type: ignore[valid-type]
    """The last renders on disk, the newest first."""
    active: IntProperty()  # type: ignore[valid-type]
    """The row of the list that is chosen."""


CLASSES = (MATCHCUT_PG_rendered, MATCHCUT_PG_render)
