# SPDX-License-Identifier: GPL-3.0-or-later
"""What every panel and every button of ours begins with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy

from ...evaluator.protocol.errors import BadInputError, MatchcutError
from .. import jobs
from .icons import icon_id


class SidebarPanel:
    """Where every panel of ours lies. Drawing reads properties and what is in memory: no file, no network."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Matchcut"

    @property
    def own_icon(self) -> int:
        """The icon of the panel's name, as a layout's `icon_value`: `MATCHCUT_PT_results` has results.png."""
        return icon_id(type(self).__name__.removeprefix("MATCHCUT_PT_").partition("__")[0])

    def draw_header(self, context: Any) -> None:
        """The panel's icon before its label."""
        if self.own_icon:
            self.layout.label(icon_value=self.own_icon)  # type: ignore[attr-defined]

    def aligned(self) -> Any:
        """The panel's layout with labels on the left, as Blender's own panels have them."""
        layout: Any = self.layout  # type: ignore[attr-defined]
        layout.use_property_split = True
        layout.use_property_decorate = False
        return layout


class Action:
    """An operator that runs `_act` and turns an expected error into a report.

    What it does is a function elsewhere. A job that it starts is waited for in background mode.
    """

    _act: Callable[[Any], Any]
    report: Callable[[set[str], str], None]

    def execute(self, context: Any) -> set[str]:
        """Called by Blender."""
        try:
            started = self._act(context)
            if isinstance(started, jobs.Job) and bpy.app.background:
                jobs.wait(started)
        except MatchcutError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return {"FINISHED"}


def check_own(scene: Any) -> None:
    """Raise BadInputError where the scene is linked from another file, so that nothing can be put into it."""
    if scene.library is not None:
        raise BadInputError(f"scene {scene.name}: it is linked from {scene.library.name}; make it local, or open that")


def idle(cls: Any) -> bool:
    """For the poll of an operator: whether no job runs; where one does, the button's tooltip says so."""
    if jobs.running() is not None:
        cls.poll_message_set("Something is running; wait for it, or cancel it")
    return jobs.running() is None
