# SPDX-License-Identifier: GPL-3.0-or-later
"""What Matchcut keeps on a scene, `scene.matchcut`: a group for each panel, and what several of them share."""

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty, PointerProperty, StringProperty

from .sidebar.compare.properties import MATCHCUT_PG_compare
from .sidebar.match_camera.properties import MATCHCUT_PG_match_camera
from .sidebar.properties import PATH_OPTIONS
from .sidebar.reference.properties import MATCHCUT_PG_reference
from .sidebar.render.properties import MATCHCUT_PG_render
from .sidebar.results.properties import MATCHCUT_PG_results
from .sidebar.score.properties import MATCHCUT_PG_score, known_judges

SETTING_ITEMS = (
    ("proxy", "Proxy", "Simple shapes stand in for the subjects: camera, layout and motion are judged"),
    ("simplified", "Simplified", "Recognizable shapes and main colors: appearance is judged roughly"),
    ("detailed", "Detailed", "Full geometry, materials and light: appearance is judged in detail"),
)


class MATCHCUT_PG_scene(bpy.types.PropertyGroup):
    """Matchcut's part of a scene, `scene.matchcut`."""

    version: IntProperty()  # type: ignore[valid-type]
    """Of the layout of these properties, as in state.py."""
    base: StringProperty()  # type: ignore[valid-type]
    """The folder that `//` of these paths means; state.py sees to it."""
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
        search=known_judges,
        search_options={"SUGGESTION"},
    )
    output: StringProperty(  # type: ignore[valid-type]
        name="Output",
        description="Folder for renders and scores; empty takes a folder named matchcut beside the .blend file",
        subtype="DIR_PATH",
        options=PATH_OPTIONS,
    )
    match_camera: PointerProperty(type=MATCHCUT_PG_match_camera)  # type: ignore[valid-type]
    compare: PointerProperty(type=MATCHCUT_PG_compare)  # type: ignore[valid-type]
    render: PointerProperty(type=MATCHCUT_PG_render)  # type: ignore[valid-type]
    score: PointerProperty(type=MATCHCUT_PG_score)  # type: ignore[valid-type]
    results: PointerProperty(type=MATCHCUT_PG_results)  # type: ignore[valid-type]


CLASSES = (MATCHCUT_PG_scene,)


def register() -> None:
    """Hang the properties on the scene."""
    bpy.types.Scene.matchcut = PointerProperty(type=MATCHCUT_PG_scene)


def unregister() -> None:
    """Take them off again."""
    del bpy.types.Scene.matchcut
