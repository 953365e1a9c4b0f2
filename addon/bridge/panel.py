# SPDX-License-Identifier: GPL-3.0-or-later
"""The Agent panel: whether agents may connect, what they may do, who is connected, and what they did."""

from __future__ import annotations

import time
from itertools import groupby, islice
from typing import Any, Final

import bpy
from bpy.app.translations import pgettext_iface as translated

from ..sidebar.base import SidebarPanel
from ..sidebar.layout import paragraph
from . import operators, window
from .dispatcher import CallRecord
from .operators import PERIODS
from .trust import Trust, left_text

SHOWN_CALLS: Final = 10
ICONS: Final = {"done": "CHECKMARK", "not_allowed": "LOCKED"}
"""Of a call's outcome; any other is an error."""


class MATCHCUT_PT_agent(SidebarPanel, bpy.types.Panel):
    """Whether agents may connect, and what they may do."""

    bl_idname = "MATCHCUT_PT_agent"
    bl_label = "Agent"
    bl_order = 90  # below the panels of the artist's own work
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Any) -> None:
        """Draw the panel."""
        layout = self.layout
        bridge = window.running_bridge()
        if bridge is None:
            layout.operator("matchcut.bridge_start", icon="PLAY")
            paragraph(layout, context, "Off: no agent can connect.", "UNLINKED")
        else:
            layout.operator("matchcut.bridge_stop", icon="CANCEL")
            told = translated("On, as process {number}. Agents can look.").format(number=bridge.descriptor.pid)
            paragraph(layout, context, told, "LINKED")
            _draw_trust(layout, bridge.trust)
        layout.operator_menu_enum("matchcut.copy_config", "client", text="Copy Config", icon="COPYDOWN")


def _draw_trust(layout: bpy.types.UILayout, trust: Trust) -> None:
    left = trust.seconds_left
    if left:
        row = layout.row(align=True)
        row.alert = True
        row.label(text=translated("Python: {time}").format(time=left_text(left)), icon="UNLOCKED")
        row.operator("matchcut.bridge_forbid_python", text="", icon="X")
        return
    column = layout.column(align=True)
    column.label(text="Allow Python", icon="LOCKED")
    row = column.row(align=True)
    for key, (label, _, _) in PERIODS.items():
        row.operator("matchcut.bridge_allow_python", text=label).period = key


class _RunningPanel(SidebarPanel):
    """A part of the Agent panel that is there while the bridge is on."""

    bl_parent_id = "MATCHCUT_PT_agent"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """While the bridge is on."""
        return window.is_running()


class MATCHCUT_PT_agent_clients(_RunningPanel, bpy.types.Panel):
    """Who is connected."""

    bl_label = "Clients"

    def draw(self, context: Any) -> None:
        """Draw the panel."""
        bridge = window.running_bridge()
        clients = bridge.clients if bridge is not None else ()
        column = self.layout.column(align=True)
        for name in dict.fromkeys(clients):
            count = clients.count(name)
            column.label(text=name if count == 1 else f"{name} ({count} connections)", icon="USER")
        if not clients:
            column.label(text="Nobody is connected", icon="BLANK1")


class MATCHCUT_PT_agent_calls(_RunningPanel, bpy.types.Panel):
    """What agents asked for, the latest first."""

    bl_label = "Calls"

    def draw(self, context: Any) -> None:
        """Draw the panel."""
        bridge = window.running_bridge()
        log = bridge.dispatcher.log if bridge is not None else ()
        column = self.layout.column(align=True)
        for (client, minute), records in groupby(islice(reversed(log), SHOWN_CALLS), key=_headline):
            column.label(text=f"{minute}  {client}", icon="USER")
            for record in records:
                _draw_call(column, record)
        if bridge is not None and bridge.dispatcher.calls > SHOWN_CALLS:
            told = translated("{count} calls since Start").format(count=bridge.dispatcher.calls)
            column.label(text=told, icon="BLANK1")
        if not log:
            column.label(text="No calls yet", icon="BLANK1")


def _headline(record: CallRecord) -> tuple[str, str]:
    return record.client, time.strftime("%H:%M", time.localtime(record.at))


def _draw_call(column: bpy.types.UILayout, record: CallRecord) -> None:
    row = column.split(factor=0.6)
    left = row.row()
    left.alert = record.outcome not in ICONS
    left.label(text=record.method, icon=ICONS.get(record.outcome, "ERROR"))
    row.label(text=_taken(record.seconds) if record.outcome == "done" else record.outcome.replace("_", " "))


def _taken(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{1000 * seconds:.0f} ms" if seconds >= 0.001 else "< 1 ms"


CLASSES = (*operators.CLASSES, MATCHCUT_PT_agent, MATCHCUT_PT_agent_clients, MATCHCUT_PT_agent_calls)


def register() -> None:
    """Nothing beyond the classes: the bridge is off until Start is pressed."""


def unregister() -> None:
    """Stop the bridge."""
    window.stop()
