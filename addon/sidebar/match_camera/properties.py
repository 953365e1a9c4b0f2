# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scene keeps of its matched cameras: lines, points and what else is known, shot by shot.

Places in the picture are shares (u, v) of its width and height from the top left corner: see view.py.
"""

from typing import Any

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    StringProperty,
)

AXIS_ITEMS = (
    ("X", "X", "Runs along the X axis of the world", "NONE", 0),
    ("Y", "Y", "Runs along the Y axis of the world", "NONE", 1),
    ("Z", "Z", "Runs upright, along the Z axis of the world", "NONE", 2),
    ("HORIZON", "Horizon", "Is the horizon, where one sees it", "NONE", 3),
)
MODE_ITEMS = (
    ("LINES", "Lines", "Edges in the picture that run along the axes of the world", "NONE", 0),
    ("POINTS", "Points", "Points in the picture whose places in the scene are known", "NONE", 1),
)
FOCAL_ITEMS = (
    ("SOLVE", "Solve", "Find the focal length from what is drawn", "NONE", 0),
    ("GIVEN", "Known", "Keep the lens that is given; with one vanishing point it has to be", "NONE", 1),
)
PRINCIPAL_ITEMS = (
    ("CENTER", "Center", "The optical axis meets the middle of the picture, as in one that was not cropped", "NONE", 0),
    ("FREE", "Solve", "Find it: from lines along all three axes, or from six points not in one plane", "NONE", 1),
    ("GIVEN", "Given", "Keep the place that is given, and can be dragged in the picture", "NONE", 2),
)
SCALE_ITEMS = (
    ("NONE", "Unknown", "The origin is taken to be 10 units away", "NONE", 0),
    ("HEIGHT", "Camera Height", "How high the camera is above the ground is known", "NONE", 1),
    ("LENGTH", "Known Distance", "The distance between two points of the picture is known", "NONE", 2),
)
ALONG_ITEMS = (
    ("x", "X", "Along the X axis", "NONE", 0),
    ("y", "Y", "Along the Y axis", "NONE", 1),
    ("z", "Z", "Upright, from a point on the ground", "NONE", 2),
    ("ground", "Ground", "Any way along the ground", "NONE", 3),
)
SHAPE_ITEMS = (
    ("PERSON", "Person", "A standing person, 1.7 m tall", "USER", 0),
    ("CUBE", "Cube", "A cube with sides of 1 m", "CUBE", 1),
    ("DOOR", "Door", "A door, 0.9 m wide and 2.1 m high", "MESH_PLANE", 2),
    ("CAR", "Car", "A car, 4.5 m long, 1.8 m wide and 1.5 m high", "AUTO", 3),
)
SHAPE_SIZES = {
    "PERSON": (0.5, 0.3, 1.7), "CUBE": (1.0, 1.0, 1.0), "DOOR": (0.9, 0.05, 2.1), "CAR": (1.8, 4.5, 1.5),
}  # fmt: skip
"""Width, depth and height in meters."""
KEYS_ITEMS = (
    ("FEW", "Few", "As few as follow the motion: easy to edit", "NONE", 0),
    ("EVERY", "All", "Each frame as it was measured, with every shake; takes longer", "NONE", 1),
)


def _place(name: str, description: str, default: tuple[float, float]) -> Any:
    return FloatVectorProperty(name=name, description=description, size=2, default=default, precision=4)


def _changed(group: Any, context: Any) -> None:
    """What is drawn, and the camera where it follows, go with a value that the panel has changed."""
    from . import apply

    apply.changed(group.id_data)


def _chosen(group: Any, context: Any) -> None:
    from . import apply

    apply.redraw()


class MATCHCUT_PG_match_line(bpy.types.PropertyGroup):
    """A line that was drawn over the picture."""

    axis: EnumProperty(  # type: ignore[valid-type]
        name="Axis", description="What the line runs along", items=AXIS_ITEMS, update=_changed
    )
    start: _place("Start", "One end in the picture", (0, 0))  # type: ignore[valid-type]
    end: _place("End", "The other end in the picture", (0, 0))  # type: ignore[valid-type]


class MATCHCUT_PG_match_point(bpy.types.PropertyGroup):
    """A point that was picked in the picture, and the same one in the scene."""

    name: StringProperty(name="Name", description="What the point is in the scene")  # type: ignore[valid-type]
    place: _place("Place", "Where it is in the picture", (0, 0))  # type: ignore[valid-type]
    has_world: BoolProperty()  # type: ignore[valid-type]
    """Whether it was picked in the scene, too."""
    world: FloatVectorProperty(  # type: ignore[valid-type]
        name="In the Scene", description="Where it is in the scene", size=3, subtype="TRANSLATION", update=_changed
    )


class MATCHCUT_PG_match_shape(bpy.types.PropertyGroup):
    """A thing of known size that stands on the ground at a place of the picture."""

    kind: EnumProperty(name="Shape", description="The thing whose outline is drawn", items=SHAPE_ITEMS)  # type: ignore[valid-type]
    place: _place("Place", "Where it stands in the picture", (0.5, 0.8))  # type: ignore[valid-type]
    size: FloatVectorProperty(  # type: ignore[valid-type]
        name="Size",
        description="Width, depth and height; of a person only the height counts",
        size=3,
        subtype="XYZ_LENGTH",
        default=(1, 1, 1),
        min=0.001,
        soft_max=100,
        update=_changed,
    )
    heading: FloatProperty(  # type: ignore[valid-type]
        name="Turn", description="Angle about the vertical", subtype="ANGLE", update=_changed
    )


class MATCHCUT_PG_match(bpy.types.PropertyGroup):
    """What is known of the camera at one frame of a shot."""

    frame: IntProperty()  # type: ignore[valid-type]
    """Of the reference, from 0: the one whose picture was drawn on."""
    mode: EnumProperty(  # type: ignore[valid-type]
        name="From", description="What the camera is found from", items=MODE_ITEMS, update=_changed
    )
    lines: CollectionProperty(type=MATCHCUT_PG_match_line)  # type: ignore[valid-type]
    active_line: IntProperty(name="Line", description="The line that is chosen", update=_chosen)  # type: ignore[valid-type]
    points: CollectionProperty(type=MATCHCUT_PG_match_point)  # type: ignore[valid-type]
    active_point: IntProperty(name="Point", description="The point that is chosen", update=_chosen)  # type: ignore[valid-type]
    focal: EnumProperty(  # type: ignore[valid-type]
        name="Focal Length", description="Whether the focal length is found or known", items=FOCAL_ITEMS,
        update=_changed,
    )  # fmt: skip
    lens: FloatProperty(  # type: ignore[valid-type]
        name="Lens", description="Known focal length, for the sensor of the shot's camera", unit="CAMERA", default=50,
        min=1, soft_max=500, update=_changed,
    )  # fmt: skip
    principal: EnumProperty(  # type: ignore[valid-type]
        name="Principal Point", description="Where the optical axis meets the picture", items=PRINCIPAL_ITEMS,
        update=_changed,
    )  # fmt: skip
    principal_place: FloatVectorProperty(  # type: ignore[valid-type]
        name="Place", description="Where it is, as shares of the picture's width and height from its top left corner",
        size=2, default=(0.5, 0.5), soft_min=0, soft_max=1, precision=3, step=1, update=_changed,
    )  # fmt: skip
    turned: BoolProperty(  # type: ignore[valid-type]
        name="Turn Around",
        description="Have the X and Y axes run the other way, which the lines leave open",
        update=_changed,
    )
    origin: _place("Origin", "Where the world's origin is seen", (0.5, 0.75))  # type: ignore[valid-type]
    scale: EnumProperty(  # type: ignore[valid-type]
        name="Scale", description="What tells how large things are", items=SCALE_ITEMS, update=_changed
    )
    height: FloatProperty(  # type: ignore[valid-type]
        name="Camera Height", description="How high the camera is above the ground", unit="LENGTH", default=1.6,
        min=0.001, soft_max=100, update=_changed,
    )  # fmt: skip
    length: FloatProperty(  # type: ignore[valid-type]
        name="Distance", description="Known distance between the two ends that are drawn, the first of them on the "
        "ground", unit="LENGTH", default=1, min=0.001, soft_max=100, update=_changed,
    )  # fmt: skip
    length_along: EnumProperty(  # type: ignore[valid-type]
        name="Along", description="Which way it runs", items=ALONG_ITEMS, default="z", update=_changed
    )
    length_start: _place("Start", "Where it starts, on the ground", (0.4, 0.75))  # type: ignore[valid-type]
    length_end: _place("End", "Where it ends", (0.4, 0.5))  # type: ignore[valid-type]
    shapes: CollectionProperty(type=MATCHCUT_PG_match_shape)  # type: ignore[valid-type]
    active_shape: IntProperty(name="Shape", description="The shape that is chosen", update=_chosen)  # type: ignore[valid-type]


class MATCHCUT_PG_measured(bpy.types.PropertyGroup):
    """What was measured of a shot's motion, as lines to show."""

    first: IntProperty()  # type: ignore[valid-type]
    last: IntProperty()  # type: ignore[valid-type]
    kind: StringProperty()  # type: ignore[valid-type]
    """What the camera does, in words."""
    unknown: StringProperty()  # type: ignore[valid-type]
    """What the pictures do not tell, a line each."""


class MATCHCUT_PG_match_camera(bpy.types.PropertyGroup):
    """The scene's matches, one or more a shot, and how they are edited."""

    matches: CollectionProperty(type=MATCHCUT_PG_match)  # type: ignore[valid-type]
    measured: CollectionProperty(type=MATCHCUT_PG_measured)  # type: ignore[valid-type]
    show: BoolProperty(  # type: ignore[valid-type]
        name="Show in Camera View",
        description="Draw lines, points, horizon and shapes over the camera view",
        default=True,
        update=_chosen,
    )
    live: BoolProperty(  # type: ignore[valid-type]
        name="Live",
        description="Move the shot's camera while one drags; each drag is one step of undo",
        update=_changed,
    )
    axis: EnumProperty(  # type: ignore[valid-type]
        name="Draw", description="What the next line runs along", items=AXIS_ITEMS
    )
    distance: FloatProperty(  # type: ignore[valid-type]
        name="Distance", description="How far the camera is, at the shot's first frame, from the middle of what is "
        "seen: it is the scale of the measured motion", unit="LENGTH", default=5, min=0.001, soft_max=1000,
    )  # fmt: skip
    keys: EnumProperty(  # type: ignore[valid-type]
        name="Keyframes", description="How many keyframes are laid down", items=KEYS_ITEMS
    )


CLASSES = (
    MATCHCUT_PG_match_line,
    MATCHCUT_PG_match_point,
    MATCHCUT_PG_match_shape,
    MATCHCUT_PG_match,
    MATCHCUT_PG_measured,
    MATCHCUT_PG_match_camera,
)
