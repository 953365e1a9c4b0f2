# SPDX-License-Identifier: GPL-3.0-or-later
"""The buttons of the Agent panel."""

from __future__ import annotations

import math
import os
from typing import Any, Final

import bpy
from bpy.app.translations import pgettext_rpt as translated

from ...evaluator.environment.mcp_clients import CLIENTS, config_text
from ...evaluator.protocol.errors import MatchcutError
from ..evaluator_process import find_evaluator
from . import window

PERIODS: Final = {
    "MINUTES": ("15 Min", "for 15 minutes", 15 * 60.0),
    "HOUR": ("1 Hour", "for an hour", 60 * 60.0),
    "STOP": ("Until Stop", "until the bridge stops", math.inf),
}
"""How long Python can be allowed: the button's label, the words of its tooltip, seconds."""


class MATCHCUT_OT_bridge_start(bpy.types.Operator):
    """Start the bridge of this window."""

    bl_idname = "matchcut.bridge_start"
    bl_label = "Start"
    bl_description = (
        "Let agents on this computer that `matchcut mcp` serves look at this scene and render previews of it"
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        """While the bridge is off."""
        return not window.is_running()

    def execute(self, context: Any) -> set[str]:
        """See bl_description."""
        try:
            bridge = window.start()
        except MatchcutError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        told = translated("Agents can connect to process {number}").format(number=bridge.descriptor.pid)
        self.report({"INFO"}, told)
        return {"FINISHED"}


class MATCHCUT_OT_bridge_stop(bpy.types.Operator):
    """Stop the bridge of this window."""

    bl_idname = "matchcut.bridge_stop"
    bl_label = "Stop"
    bl_description = "Disconnect every agent and stop listening"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """While the bridge is on."""
        return window.is_running()

    def execute(self, context: Any) -> set[str]:
        """See bl_description."""
        window.stop()
        return {"FINISHED"}


class MATCHCUT_OT_bridge_allow_python(bpy.types.Operator):
    """Allow run_python for a while."""

    bl_idname = "matchcut.bridge_allow_python"
    bl_label = "Allow Python"
    bl_description = "Let connected agents run Python in this Blender for a while"

    period: bpy.props.EnumProperty(  # type: ignore[valid-type]
        name="Period",
        description="How long agents may run Python",
        items=[(key, label, f"Allow it {words}") for key, (label, words, _) in PERIODS.items()],
        default="MINUTES",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def description(cls, context: Any, properties: Any) -> str:
        """The tooltip of the button for this period."""
        return (
            f"Let connected agents run Python in this Blender {PERIODS[properties.period][1]}. Such code can do all "
            "that you can: change the scene, read and delete your files"
        )

    @classmethod
    def poll(cls, context: Any) -> bool:
        """While the bridge is on."""
        return window.is_running()

    def execute(self, context: Any) -> set[str]:
        """Allow it from now on."""
        bridge = window.running_bridge()
        if bridge is None:
            return {"CANCELLED"}
        bridge.trust.allow(PERIODS[self.period][2])
        return {"FINISHED"}


class MATCHCUT_OT_bridge_forbid_python(bpy.types.Operator):
    """Allow run_python no longer."""

    bl_idname = "matchcut.bridge_forbid_python"
    bl_label = "Forbid Python"
    bl_description = "Let no agent run Python any longer; they stay connected and can look"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """While Python is allowed."""
        bridge = window.running_bridge()
        return bridge is not None and bridge.trust.seconds_left > 0

    def execute(self, context: Any) -> set[str]:
        """See bl_description."""
        bridge = window.running_bridge()
        if bridge is not None:
            bridge.trust.withdraw()
        return {"FINISHED"}


class MATCHCUT_OT_copy_config(bpy.types.Operator):
    """Copy what a client is told so that it starts the server."""

    bl_idname = "matchcut.copy_config"
    bl_label = "Copy Config"
    bl_description = "Copy what this client is told to start Matchcut's server: a command to run or a text to paste"

    client: bpy.props.EnumProperty(  # type: ignore[valid-type]
        name="Client",
        description="Program whose agent is to use this Blender",
        items=[(key, one.label, one.note) for key, one in CLIENTS.items()],
        options={"SKIP_SAVE"},
    )

    def execute(self, context: Any) -> set[str]:
        """See bl_description."""
        # clients start their servers with few variables; this Blender is the one to render with
        environment = {"BLENDER": bpy.app.binary_path} if bpy.app.binary_path else {}
        if folder := os.environ.get("MATCHCUT_BRIDGE_FOLDER"):
            environment["MATCHCUT_BRIDGE_FOLDER"] = folder
        try:
            text = config_text(self.client, [*find_evaluator(), "mcp"], environment)
        except MatchcutError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        context.window_manager.clipboard = text
        self.report({"INFO"}, f"{translated('Copied.')} {CLIENTS[self.client].note}")
        return {"FINISHED"}


CLASSES = (
    MATCHCUT_OT_bridge_start,
    MATCHCUT_OT_bridge_stop,
    MATCHCUT_OT_bridge_allow_python,
    MATCHCUT_OT_bridge_forbid_python,
    MATCHCUT_OT_copy_config,
)
