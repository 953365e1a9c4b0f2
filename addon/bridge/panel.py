# SPDX-License-Identifier: GPL-3.0-or-later
"""The Agent panel: whether agents may connect, who is connected, and what they may do."""

from __future__ import annotations

from typing import Any

import bpy

from ..panels import SidebarPanel
from . import server
from .operators import MATCHCUT_OT_bridge_allow_python, MATCHCUT_OT_bridge_start, MATCHCUT_OT_bridge_stop


class MATCHCUT_PT_agent(SidebarPanel, bpy.types.Panel):
    """Whether agents may connect."""

    bl_idname = "MATCHCUT_PT_agent"
    bl_label = "Agent"
    bl_order = 90  # below the panels of the artist's own work
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Any) -> None:
        """Draw the panel."""
        layout = self.layout
        bridge = server.running_bridge()
        if bridge is None:
            layout.operator("matchcut.bridge_start", icon="PLAY")
            layout.label(text="Off: no agent can connect")
            return
        layout.operator("matchcut.bridge_stop", icon="PAUSE")
        layout.operator(
            "matchcut.bridge_allow_python",
            icon="CHECKBOX_HLT" if bridge.allow_python else "CHECKBOX_DEHLT",
            depress=bridge.allow_python,
        )
        column = layout.column(align=True)
        column.label(text=f"Process {bridge.descriptor.pid}, clients: {bridge.clients}")
        calls = bridge.dispatcher.calls
        column.label(text=f"Calls: {calls}, last: {bridge.dispatcher.last_method}" if calls else "No calls yet")


CLASSES = (
    MATCHCUT_OT_bridge_start,
    MATCHCUT_OT_bridge_stop,
    MATCHCUT_OT_bridge_allow_python,
    MATCHCUT_PT_agent,
)


def register() -> None:
    """Nothing beyond the classes: the bridge is off until Start is pressed."""


def unregister() -> None:
    """Stop the bridge."""
    server.stop()
