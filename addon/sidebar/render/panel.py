# SPDX-License-Identifier: GPL-3.0-or-later
"""The Render panel: the scene on the reference's timeline, as a preview or as it is scored, and the last renders."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.app.handlers import persistent
from bpy.app.translations import pgettext_iface as translated

from ... import jobs
from .. import aside
from ..base import SidebarPanel
from ..layout import paragraph
from ..paths import goes_with_blender
from ..progress import clock, running_job
from . import operators, properties, run

ROWS = 4
"""Of the list of renders, at most, before it scrolls."""


class MATCHCUT_PT_render(SidebarPanel, bpy.types.Panel):
    """The scene on the reference's timeline."""

    bl_label = "Render"
    bl_order = 40

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.aligned()
        scene, state = context.scene, context.scene.matchcut
        mode = layout.row()
        mode.use_property_split = False
        mode.prop(state.render, "mode", expand=True)
        if state.render.mode == "PREVIEW":
            _preview(layout, state.render)
        else:
            _final(layout, context, state)
        job = jobs.running()
        if job is not None and job.title == run.RENDERING:
            running_job(layout, context, job)
        else:
            if state.reference.path and goes_with_blender(scene):
                paragraph(layout, context, run.NOT_SAVED, "ERROR")
            preview = state.render.mode == "PREVIEW"
            icon = "RENDER_STILL" if preview and state.render.frames == "CURRENT" else "RENDER_ANIMATION"
            layout.operator("matchcut.render", text="Render Preview" if preview else "Render Final", icon=icon)
        unfinished = run.unfinished_render(scene)
        if unfinished and job is None:
            text = translated("Resume {folder}").format(folder=unfinished)
            layout.operator("matchcut.resume_render", text=text, icon="FILE_REFRESH", translate=False)


def _preview(layout: Any, render: Any) -> None:
    column = layout.column()
    column.prop(render, "frames")
    step = column.row()
    step.active = render.frames != "CURRENT"
    step.prop(render, "every")
    column.prop(render, "scale", slider=True)
    column.prop(render, "preview_samples")


def _final(layout: Any, context: Any, state: Any) -> None:
    reference = state.reference
    if reference.known:
        text = translated("{frames} frames of {width} × {height}")
        text = text.format(frames=reference.frames, width=reference.width, height=reference.height)
        paragraph(layout, context, text, "OUTPUT")
    row = layout.row(heading="Limit Samples")
    row.prop(state, "use_samples", text="")
    value = row.row()
    value.active = state.use_samples
    value.prop(state, "samples", text="")


class MATCHCUT_PT_render_options(SidebarPanel, bpy.types.Panel):
    """What seldom changes from render to render."""

    bl_label = "Options"
    bl_parent_id = "MATCHCUT_PT_render"
    bl_options = {"DEFAULT_CLOSED"}
    bl_order = 2

    def draw_header(self, context: Any) -> None:
        """Sub-panels have no icon of their own."""

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
        passes = layout.row()
        passes.active = render.mode == "FINAL"
        passes.prop(render, "passes")
        layout.prop(context.scene.matchcut, "output", placeholder="//matchcut")


class MATCHCUT_PT_renders(SidebarPanel, bpy.types.Panel):
    """The last renders."""

    bl_label = "Last Renders"
    bl_parent_id = "MATCHCUT_PT_render"
    bl_order = 1

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is one."""
        return len(context.scene.matchcut.render.renders) > 0

    def draw_header(self, context: Any) -> None:
        """Sub-panels have no icon of their own."""

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        render = context.scene.matchcut.render
        rows = max(1, min(ROWS, len(render.renders)))
        self.layout.template_list(
            "MATCHCUT_UL_renders", "", render, "renders", render, "active", rows=rows, maxrows=ROWS
        )


class MATCHCUT_UL_renders(bpy.types.UIList):
    """The last renders, each with its frames, the time that they took, and its buttons."""

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: int, active: Any, name: str, number: int
    ) -> None:
        """Called by Blender."""
        split = layout.split(factor=0.44)
        split.label(text=item.name, icon="CHECKMARK" if item.is_done else "PAUSE", translate=False)
        facts = split.row(align=True)
        counted = str(item.frames) if item.is_done else f"{item.frames} / {item.of}"
        took = f" · {clock(item.seconds)}" if item.is_done and item.seconds >= 0 else ""
        facts.label(text=counted + took, translate=False)
        play = facts.row(align=True)
        play.enabled = bool(item.video)
        play.operator("matchcut.play_render", text="", icon="PLAY", emboss=False).row = number
        facts.operator("matchcut.open_render_folder", text="", icon="FILE_FOLDER", emboss=False).row = number

    def filter_items(self, context: Any, data: Any, name: str) -> tuple[list[int], list[int]]:
        """All of them, in their own order."""
        return [], []


CLASSES = (
    *properties.CLASSES,
    *operators.CLASSES,
    MATCHCUT_UL_renders,
    MATCHCUT_PT_render,
    MATCHCUT_PT_render_options,
    MATCHCUT_PT_renders,
)


@persistent  # type: ignore[untyped-decorator]
def _loaded(*_: Any) -> None:
    aside.forget()
    run.forget()
    if bpy.app.background:
        return
    for scene in bpy.data.scenes:
        if scene.matchcut.reference.path or scene.matchcut.render.renders:
            run.find_renders(scene)


def register() -> None:
    """Listen for files being opened."""
    bpy.app.handlers.load_post.append(_loaded)


def unregister() -> None:
    """Listen no longer."""
    if _loaded in bpy.app.handlers.load_post:  # other code may have emptied the list
        bpy.app.handlers.load_post.remove(_loaded)
    run.forget()
    aside.unregister()
