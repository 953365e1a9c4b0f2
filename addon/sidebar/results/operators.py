# SPDX-License-Identifier: GPL-3.0-or-later
"""The Results panel's buttons."""

from __future__ import annotations

from typing import Any

import bpy

from ..base import Action
from ..paths import there
from .store import report_path


class MATCHCUT_OT_open_report(Action, bpy.types.Operator):
    """Open Report."""

    bl_idname = "matchcut.open_report"
    bl_label = "Open Report"
    bl_description = "Open the report of the last score in the web browser"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """The scene has been scored."""
        return bool(context.scene.matchcut.results.folder)

    def _act(self, context: Any) -> None:
        bpy.ops.wm.url_open(url=there(report_path(context.scene), "report").as_uri())


CLASSES = (MATCHCUT_OT_open_report,)
