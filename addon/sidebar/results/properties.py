# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scene keeps of its scores."""

import bpy
from bpy.props import CollectionProperty, StringProperty

from ..properties import PATH_OPTIONS, MATCHCUT_PG_line


class MATCHCUT_PG_results(bpy.types.PropertyGroup):
    """The last score of the scene, as lines to show, and where its files lie."""

    folder: StringProperty(subtype="DIR_PATH", options=PATH_OPTIONS)  # type: ignore[valid-type]
    lines: CollectionProperty(type=MATCHCUT_PG_line)  # type: ignore[valid-type]


CLASSES = (MATCHCUT_PG_results,)
