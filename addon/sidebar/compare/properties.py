# SPDX-License-Identifier: GPL-3.0-or-later
"""How a scene is compared with its reference."""

from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty

MODE_ITEMS = (
    ("WIPE", "Wipe", "The reference on one side of a line that can be dragged", "SPLIT_VERTICAL", 0),
    ("ONION", "Onion Skin", "The reference over the view, as opaque as you like", "ONIONSKIN_ON", 1),
    ("SIDE", "Side by Side", "The reference on the left, the view on the right", "IMGDISPLAY", 2),
    ("DIFFERENCE", "Difference", "How far each pixel is from the reference's; black where they are the same",
     "SELECT_DIFFERENCE", 3),
    ("FLICKER", "Flicker", "The reference and the view in turns, so that the eye sees what moves", "FILE_REFRESH", 4),
)  # fmt: skip
SOURCE_ITEMS = (
    ("VIEWPORT", "Viewport", "What the 3D view shows", "VIEW3D", 0),
    ("RENDER", "Render", "The video of the last render", "RENDER_ANIMATION", 1),
)
SIZE_ITEMS = (
    ("480", "Small", "480 pixels on the longer side: quick to decode, little room on the disk"),
    ("960", "Medium", "960 pixels on the longer side"),
    ("1920", "Large", "1920 pixels on the longer side: sharp, four times the room of medium"),
)


def _changed(compare: Any, context: Any) -> None:
    from . import follow

    follow.wake()
    follow.redraw()


class MATCHCUT_PG_compare(bpy.types.PropertyGroup):
    """What is laid over the view, and how."""

    show: BoolProperty(  # type: ignore[valid-type]
        name="Compare",
        description="Lay the reference over the 3D view, exactly over the camera's frame in a camera view",
        update=_changed,
    )
    mode: EnumProperty(  # type: ignore[valid-type]
        name="Mode",
        description="How the reference and the other picture are shown together",
        items=MODE_ITEMS,
        update=_changed,
    )
    source: EnumProperty(  # type: ignore[valid-type]
        name="Against",
        description="What the reference is compared with",
        items=SOURCE_ITEMS,
        update=_changed,
    )
    opacity: FloatProperty(  # type: ignore[valid-type]
        name="Opacity",
        description="How much of the reference shows over the other picture",
        subtype="FACTOR",
        default=0.5,
        min=0.0,
        max=1.0,
        update=_changed,
    )
    wipe: FloatProperty(  # type: ignore[valid-type]
        name="Position",
        description="Where the line lies that the reference ends at; it can be dragged in the view",
        subtype="FACTOR",
        default=0.5,
        min=0.0,
        max=1.0,
        update=_changed,
    )
    gain: FloatProperty(  # type: ignore[valid-type]
        name="Gain",
        description="How many times the difference is brightened, so that small ones are seen",
        default=1.0,
        min=1.0,
        max=32.0,
        soft_max=8.0,
        update=_changed,
    )
    interval: FloatProperty(  # type: ignore[valid-type]
        name="Interval",
        description="How long each picture stays",
        subtype="TIME_ABSOLUTE",
        unit="TIME_ABSOLUTE",
        default=0.5,
        min=0.1,
        soft_max=2.0,
        max=10.0,
        update=_changed,
    )
    size: EnumProperty(  # type: ignore[valid-type]
        name="Detail",
        description="How large the frames are that are decoded for the overlay",
        items=SIZE_ITEMS,
        default="960",
        update=_changed,
    )
    camera_only: BoolProperty(  # type: ignore[valid-type]
        name="Camera Views Only",
        description="Leave views alone that do not look through a camera",
        update=_changed,
    )
    filmstrip: BoolProperty(  # type: ignore[valid-type]
        name="Filmstrip",
        description="Show the reference's frames and cuts along the timeline",
        update=_changed,
    )


CLASSES = (MATCHCUT_PG_compare,)
