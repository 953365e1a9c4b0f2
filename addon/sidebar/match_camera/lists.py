# SPDX-License-Identifier: GPL-3.0-or-later
"""The lists of the Match Camera panel."""

from __future__ import annotations

from typing import Any

import bpy

from .finding import solution_of
from .properties import AXIS_ITEMS, SHAPE_ITEMS
from .solve import Solution

ICONS = {"X": "COLORSET_01_VEC", "Y": "COLORSET_03_VEC", "Z": "COLORSET_04_VEC", "HORIZON": "COLORSET_09_VEC"}

NAMES = {item[0]: item[1] for item in AXIS_ITEMS}
SHAPES = {item[0]: (item[1], item[3]) for item in SHAPE_ITEMS}


class MATCHCUT_UL_match_lines(bpy.types.UIList):
    """Lines with what each is off by."""

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active_data: Any, active_name: Any,
        index: int = 0,
    ) -> None:  # fmt: skip
        """Called by Blender."""
        row = layout.row()
        row.label(text=NAMES[item.axis], icon=ICONS[item.axis])
        _residual(row, solution_of(context.scene, data), index)


class MATCHCUT_UL_match_points(bpy.types.UIList):
    """Pairs of points with what each is off by."""

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active_data: Any, active_name: Any,
        index: int = 0,
    ) -> None:  # fmt: skip
        """Called by Blender."""
        row = layout.row()
        text = row.row()
        text.active = item.has_world
        text.prop(item, "name", text="", emboss=False, icon="DECORATE_KEYFRAME" if item.has_world else "QUESTION")
        _residual(row, solution_of(context.scene, data), index)


class MATCHCUT_UL_match_shapes(bpy.types.UIList):
    """Shapes of known size."""

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active_data: Any, active_name: Any,
        index: int = 0,
    ) -> None:  # fmt: skip
        """Called by Blender."""
        row = layout.row()
        row.label(text=SHAPES[item.kind][0], icon=SHAPES[item.kind][1])
        row.prop(item, "size", index=2, text="", emboss=False)


def _residual(row: Any, solution: Solution, index: int) -> None:
    missed = solution.residuals[index] if index < len(solution.residuals) else None
    side = row.row()
    side.alignment = "RIGHT"
    side.label(text="–" if missed is None else f"{missed:.2f} px")


CLASSES = (MATCHCUT_UL_match_lines, MATCHCUT_UL_match_points, MATCHCUT_UL_match_shapes)
