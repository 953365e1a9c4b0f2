# SPDX-License-Identifier: GPL-3.0-or-later
"""The Render panel: the scene on the reference's timeline."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import bpy
from bpy.app.handlers import persistent

from ... import jobs
from ..base import SidebarPanel
from ..progress import running_job
from . import operators, properties, run


class MATCHCUT_PT_render(SidebarPanel, bpy.types.Panel):
    """The scene on the reference's timeline."""

    bl_label = "Render"
    bl_order = 40

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.aligned()
        state = context.scene.matchcut
        layout.prop(state.render, "frames")
        layout.prop(state.render, "scale", slider=True)
        row = layout.row(heading="Limit Samples")
        row.prop(state, "use_samples", text="")
        value = row.row()
        value.active = state.use_samples
        value.prop(state, "samples", text="")
        layout.prop(state, "output", placeholder="//matchcut")
        job = jobs.running()
        if job is not None and job.title == run.RENDERING:
            running_job(layout, context, job)
        else:
            layout.operator("matchcut.render", icon="RENDER_ANIMATION")
        unfinished = run.unfinished_render(context.scene)
        if unfinished and job is None:
            layout.operator("matchcut.resume_render", text=f"Resume {unfinished}", icon="FILE_REFRESH")
        if state.render.folder:
            row = layout.row(align=True)
            row.label(text=PurePath(state.render.folder).name, icon="CHECKMARK")
            row.operator("matchcut.play_render", text="Play", icon="PLAY")
            row.operator("matchcut.open_render_folder", text="", icon="FILE_FOLDER")


class MATCHCUT_PT_render_options(SidebarPanel, bpy.types.Panel):
    """What seldom changes from render to render."""

    bl_label = "Options"
    bl_parent_id = "MATCHCUT_PT_render"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.aligned()
        render = context.scene.matchcut.render
        engine = render.engine if render.engine != "SCENE" else context.scene.render.engine
        layout.prop(render, "engine")
        device = layout.row()
        device.active = engine == "CYCLES"
        device.prop(render, "device")
        layout.prop(render, "view_transform", placeholder="As Scene")
        layout.prop(render, "workers")
        layout.prop(render, "passes")


CLASSES = (
    *properties.CLASSES,
    *operators.CLASSES,
    MATCHCUT_PT_render,
    MATCHCUT_PT_render_options,
)


@persistent  # type: ignore[untyped-decorator]
def _loaded(*_: Any) -> None:
    run.forget()


def register() -> None:
    """Listen for files being opened."""
    bpy.app.handlers.load_post.append(_loaded)


def unregister() -> None:
    """Listen no longer."""
    if _loaded in bpy.app.handlers.load_post:  # other code may have emptied the list
        bpy.app.handlers.load_post.remove(_loaded)
    run.forget()
