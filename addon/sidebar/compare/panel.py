# SPDX-License-Identifier: GPL-3.0-or-later
"""The Compare panel: the reference over the view or over the last render, and along the timeline."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.app.translations import pgettext_iface, pgettext_n

from ..base import SidebarPanel
from ..layout import fact, paragraph
from ..reference import background
from . import draw, feeds, filmstrip, follow, operators, properties, views, wipe
from .timings import timings

__all__ = ["CLASSES", "register", "timings", "unregister"]

SETTINGS = {"WIPE": "wipe", "ONION": "opacity", "DIFFERENCE": "gain", "FLICKER": "interval"}
"""The property that belongs to a mode."""


class MATCHCUT_PT_compare(SidebarPanel, bpy.types.Panel):
    """The reference beside what is there."""

    bl_label = "Compare"
    bl_order = 30

    def draw_header(self, context: Any) -> None:
        """Called by Blender."""
        row = self.layout.row()
        row.active = bool(context.scene.matchcut.reference.path)
        row.prop(context.scene.matchcut.compare, "show", text="")

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.aligned()
        scene = context.scene
        compare = scene.matchcut.compare
        if not scene.matchcut.reference.path:
            paragraph(layout, context, "Pick a reference to compare with.", "INFO")
            return
        column = layout.column()
        column.active = compare.show
        modes = column.column(align=True)
        modes.use_property_split = False
        for start in range(0, len(properties.MODE_ITEMS), 2):
            row = modes.row(align=True)
            for item in properties.MODE_ITEMS[start : start + 2]:
                row.prop_enum(compare, "mode", item[0])
        if compare.mode in SETTINGS:
            column.prop(compare, SETTINGS[compare.mode], slider=compare.mode in ("WIPE", "ONION"))
        against = column.row()
        against.use_property_split = False
        against.prop(compare, "source", expand=True)
        if compare.source == "RENDER" and not scene.matchcut.render.video:
            paragraph(column, context, "Nothing has been rendered yet.", "INFO")
        if compare.show and compare.source == "VIEWPORT" and background.shown(scene) is not None:
            paragraph(column, context, "The camera shows the reference too: Show in Camera hides it.", "INFO")
        column.prop(compare, "size")
        column.prop(compare, "camera_only")
        layout.prop(compare, "filmstrip")
        if compare.show or compare.filmstrip:
            _state(layout, context, scene)


def _state(layout: Any, context: Any, scene: Any) -> None:
    """How far the frames have come, or why there are none; a button where that can be mended."""
    compare = scene.matchcut.compare
    shown = []
    if compare.show:
        shown.append((pgettext_n("Reference"), follow.reference_wanted(scene)))
        if compare.source == "RENDER":
            shown.append((pgettext_n("Render"), follow.render_wanted(scene)))
    elif compare.filmstrip:
        shown.append((pgettext_n("Filmstrip"), follow.strip_wanted(scene)))
    facts = layout.column(align=True)
    for name, wanted in shown:
        feed = feeds.find(wanted) if wanted is not None else None
        problem = follow.problem(feed, pgettext_iface(name))
        if problem:
            paragraph(layout, context, problem, "ERROR")
            layout.operator("matchcut.compare_again", icon="FILE_REFRESH")
        elif feed is not None and feed.store is not None:
            count = len(feed.reader.there)
            fact(facts, context, name, pgettext_iface("{0} of {1} frames").format(count, feed.expected))
        elif feed is not None:
            fact(facts, context, name, pgettext_iface("Reading"))


CLASSES = (*properties.CLASSES, *operators.CLASSES, *wipe.CLASSES, MATCHCUT_PT_compare)


def register() -> None:
    """Have the views and the timelines drawn over, and listen for files being opened."""
    follow.register()
    views.register()
    draw.register()
    filmstrip.register()


def unregister() -> None:
    """Leave neither handler, timer, thread nor texture."""
    filmstrip.unregister()
    draw.unregister()
    views.unregister()
    follow.unregister()
