# SPDX-License-Identifier: GPL-3.0-or-later
"""The Results panel: the last score."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import bpy

from ..base import SidebarPanel
from ..layout import fact, paragraph
from . import operators, properties

ICONS = {"good": "CHECKMARK", "bad": "ERROR", "unscored": "QUESTION", "plain": "BLANK1"}


class MATCHCUT_PT_results(SidebarPanel, bpy.types.Panel):
    """The last score."""

    bl_label = "Results"
    bl_order = 60

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.layout
        results = context.scene.matchcut.results
        if not results.folder:
            paragraph(layout, context, "Not scored yet.", "INFO")
            return
        for section, lines in groupby(results.lines, lambda line: line.section):
            column = layout.column(align=True)
            column.label(text=section)
            for line in lines:
                fact(column, context, line.label, line.text, ICONS.get(line.verdict, "NONE"))
        layout.operator("matchcut.open_report", icon="URL")


CLASSES = (
    *properties.CLASSES,
    *operators.CLASSES,
    MATCHCUT_PT_results,
)
