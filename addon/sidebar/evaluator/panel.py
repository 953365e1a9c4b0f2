# SPDX-License-Identifier: GPL-3.0-or-later
"""The Evaluator panel: the environment that measures and judges."""

from __future__ import annotations

from typing import Any

import bpy

from ...preferences import sections
from ..base import SidebarPanel
from . import operators
from .look import draw_evaluator


class MATCHCUT_PT_evaluator(SidebarPanel, bpy.types.Panel):
    """The environment that measures and judges."""

    bl_label = "Evaluator"
    bl_order = 95

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        draw_evaluator(self.layout, context)


CLASSES = (
    *operators.CLASSES,
    MATCHCUT_PT_evaluator,
)


def register() -> None:
    """The preferences show the same."""
    sections.draw_evaluator = draw_evaluator


def unregister() -> None:
    """They show nothing of it any more."""
    sections.draw_evaluator = None
