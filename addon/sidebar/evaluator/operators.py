# SPDX-License-Identifier: GPL-3.0-or-later
"""The Evaluator panel's buttons."""

from __future__ import annotations

from typing import Any

import bpy

from ..base import Action, idle
from . import install


class MATCHCUT_OT_install_evaluator(Action, bpy.types.Operator):
    """Install Evaluator."""

    bl_idname = "matchcut.install_evaluator"
    bl_label = "Install Evaluator"
    bl_description = "Download what scoring needs into an environment of its own; Blender's own Python is left alone"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """Online access is allowed and nothing runs."""
        if not bpy.app.online_access:
            cls.poll_message_set("Allow Online Access in Preferences > System > Network first")
            return False
        return idle()

    def _act(self, context: Any) -> Any:
        return install.install_evaluator()


CLASSES = (MATCHCUT_OT_install_evaluator,)
