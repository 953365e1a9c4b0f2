# SPDX-License-Identifier: GPL-3.0-or-later
"""The Reference panel: the video to rebuild, and how much of it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import bpy

from ..base import SidebarPanel
from ..layout import fact, paragraph
from . import operators, properties


class MATCHCUT_PT_reference(SidebarPanel, bpy.types.Panel):
    """The video to rebuild."""

    bl_label = "Reference"
    bl_order = 10

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.aligned()
        reference = context.scene.matchcut.reference
        layout.prop(reference, "path", text="Video")
        if not reference.path:
            paragraph(layout, context, "Pick the video to rebuild.", "INFO")
        elif not reference.known:
            layout.operator("matchcut.read_reference", icon="FILE_REFRESH")
        else:
            facts = layout.column(align=True)
            fact(facts, context, "Size", f"{reference.width} × {reference.height}")
            fact(facts, context, "Rate", f"{rate_text(reference.rate)} fps")
            fact(facts, context, "Frames", length_text(reference.frames, reference.rate))
            for warning in reference.warnings:
                paragraph(layout, context, warning.text, "ERROR")
        row = layout.row(align=True)
        row.operator("matchcut.match_timeline", icon="TIME")
        if reference.known:
            row.operator("matchcut.read_reference", text="", icon="FILE_REFRESH")


class MATCHCUT_PT_setting(SidebarPanel, bpy.types.Panel):
    """How much of the reference is rebuilt."""

    bl_label = "Setting"
    bl_order = 15

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.layout
        layout.row().prop(context.scene.matchcut, "setting", expand=True)


def rate_text(rate: str) -> str:
    """`24000/1001` as `23.976`, `25/1` as `25`."""
    return f"{float(Fraction(rate)):.3f}".rstrip("0").rstrip(".")


def length_text(frames: int, rate: str) -> str:
    """A number of frames with its length in seconds, `72 (3.00 s)`."""
    return f"{frames} ({float(frames / Fraction(rate)):.2f} s)"


CLASSES = (
    *properties.CLASSES,
    *operators.CLASSES,
    MATCHCUT_PT_reference,
    MATCHCUT_PT_setting,
)
