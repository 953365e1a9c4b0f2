# SPDX-License-Identifier: GPL-3.0-or-later
"""The Evaluator panel: the environment that measures and judges."""

from __future__ import annotations

from typing import Any

import bpy

from ... import jobs
from ..base import SidebarPanel
from ..layout import paragraph, sentence
from . import operators


class MATCHCUT_PT_evaluator(SidebarPanel, bpy.types.Panel):
    """The environment that measures and judges."""

    bl_label = "Evaluator"
    bl_order = 95

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.layout
        evaluator = jobs.evaluator()
        if not evaluator.problem:
            paragraph(layout, context, f"Ready, from {evaluator.source}.", "CHECKMARK")
            return
        paragraph(layout, context, sentence(evaluator.problem), "ERROR")
        if not bpy.app.online_access:
            paragraph(
                layout, context, "Installing needs Allow Online Access in Preferences > System > Network.", "INFO"
            )
        layout.operator("matchcut.install_evaluator", icon="IMPORT")


CLASSES = (
    *operators.CLASSES,
    MATCHCUT_PT_evaluator,
)
