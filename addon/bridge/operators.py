# SPDX-License-Identifier: GPL-3.0-or-later
"""The buttons of the Agent panel."""

from __future__ import annotations

from typing import Any

import bpy

from ...evaluator.protocol.errors import MatchcutError
from . import server


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
        return not server.is_running()

    def execute(self, context: Any) -> set[str]:
        """See bl_description."""
        try:
            bridge = server.start()
        except MatchcutError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self.report({"INFO"}, f"Agents can connect to process {bridge.descriptor.pid}")
        return {"FINISHED"}


class MATCHCUT_OT_bridge_stop(bpy.types.Operator):
    """Stop the bridge of this window."""

    bl_idname = "matchcut.bridge_stop"
    bl_label = "Stop"
    bl_description = "Disconnect every agent and stop listening"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """While the bridge is on."""
        return server.is_running()

    def execute(self, context: Any) -> set[str]:
        """See bl_description."""
        server.stop()
        return {"FINISHED"}


class MATCHCUT_OT_bridge_allow_python(bpy.types.Operator):
    """Switch run_python on or off."""

    bl_idname = "matchcut.bridge_allow_python"
    bl_label = "Allow Python"
    bl_description = (
        "Let connected agents run Python in this Blender until the bridge stops. Such code can do all that you can: "
        "change the scene, read and delete your files"
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        """While the bridge is on."""
        return server.is_running()

    def execute(self, context: Any) -> set[str]:
        """Switch it on or off."""
        bridge = server.running_bridge()
        if bridge is None:
            return {"CANCELLED"}
        bridge.allow_python = not bridge.allow_python
        return {"FINISHED"}
