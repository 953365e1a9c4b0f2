# SPDX-License-Identifier: GPL-3.0-or-later
"""The Score panel: the one button, and what runs."""

from __future__ import annotations

from typing import Any

import bpy

from ... import jobs
from ..base import SidebarPanel
from ..layout import paragraph, sentence
from ..progress import running_job
from ..render import run as render
from . import operators


class MATCHCUT_PT_score(SidebarPanel, bpy.types.Panel):
    """The one button."""

    bl_label = "Score"
    bl_order = 50

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.aligned()
        state = context.scene.matchcut
        layout.prop(state, "checklist", placeholder="None")
        judge = layout.row()
        judge.active = bool(state.checklist)
        judge.prop(state, "judge", placeholder="As in Preferences")
        row = layout.row()
        row.scale_y = 1.4
        row.operator("matchcut.score", icon="CHECKBOX_HLT")


class MATCHCUT_PT_progress(SidebarPanel, bpy.types.Panel):
    """What runs, or how it ended where that was not well."""

    bl_label = "Progress"
    bl_order = 55

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is something to tell."""
        job = jobs.last()
        elsewhere = job is not None and job.state == "running" and job.title == render.RENDERING
        return job is not None and not elsewhere and (job.state != "done" or bool(job.warnings))

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.layout
        job = jobs.last()
        if job is None:
            return
        if job.state == "running":
            running_job(layout, context, job)
        elif job.state == "cancelled":
            layout.label(text=f"{job.title}: cancelled", icon="CANCEL")
        elif job.state == "failed":
            layout.label(text=f"{job.title} failed", icon="ERROR")
            paragraph(layout, context, sentence(job.error))
            layout.operator("matchcut.copy_details", icon="COPYDOWN")
        for warning in job.warnings:
            paragraph(layout, context, sentence(warning), "ERROR")


CLASSES = (
    *operators.CLASSES,
    MATCHCUT_PT_score,
    MATCHCUT_PT_progress,
)
