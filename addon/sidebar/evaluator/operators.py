# SPDX-License-Identifier: GPL-3.0-or-later
"""The Evaluator panel's buttons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
from bpy.app.translations import pgettext_iface as translated
from bpy.props import BoolProperty, StringProperty

from ....evaluator.protocol.errors import BadInputError
from ... import preferences
from ...preferences.sizes import size_text
from ..base import Action, idle
from . import environment


def _may_download(cls: Any) -> bool:
    if not bpy.app.online_access:
        cls.poll_message_set("Allow Online Access in Preferences > System > Network first")
        return False
    return idle(cls)


class MATCHCUT_OT_install_evaluator(Action, bpy.types.Operator):
    """Install Evaluator."""

    bl_idname = "matchcut.install_evaluator"
    bl_label = "Install Evaluator"
    bl_description = (
        "Download what measuring and scoring need into an environment of its own, each package checked against the one"
        " that was tested; what is already downloaded is not downloaded again. Blender's own Python is left alone"
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        """Online access is allowed and nothing runs."""
        return _may_download(cls)

    def _act(self, context: Any) -> Any:
        return environment.install()


class MATCHCUT_OT_repair_evaluator(Action, bpy.types.Operator):
    """Repair."""

    bl_idname = "matchcut.repair_evaluator"
    bl_label = "Repair"
    bl_description = "Make the evaluator's environment anew, from what was downloaded where that is still there"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """Online access is allowed and nothing runs."""
        return _may_download(cls)

    def _act(self, context: Any) -> Any:
        return environment.install(anew=True)


class MATCHCUT_OT_remove_evaluator(Action, bpy.types.Operator):
    """Remove."""

    bl_idname = "matchcut.remove_evaluator"
    bl_label = "Remove"
    bl_description = "Delete the evaluator's environment; it can be installed again at any time"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """Nothing runs, which might use it."""
        return idle(cls)

    def invoke(self, context: Any, event: Any) -> Any:
        """Ask first, with what it frees."""
        size = environment.known().bytes
        frees = translated("This frees {size}.").format(size=size_text(size)) if size else ""
        return context.window_manager.invoke_confirm(
            self, event, title=translated("Remove the Evaluator?"),
            confirm_text="Remove", icon="WARNING",
            message=f"{frees} {translated('Without it nothing can be measured or scored.')}".strip(),
        )  # fmt: skip

    def _act(self, context: Any) -> Any:
        return environment.remove()


class MATCHCUT_OT_check_evaluator(Action, bpy.types.Operator):
    """Check."""

    bl_idname = "matchcut.check_evaluator"
    bl_label = "Check"
    bl_description = "Start the evaluator's Python and see whether all packages work, and in which versions"

    def _act(self, context: Any) -> Any:
        return environment.check()


class MATCHCUT_OT_choose_evaluator(Action, bpy.types.Operator):
    """Use Another Python."""

    bl_idname = "matchcut.choose_evaluator"
    bl_label = "Use This Python"
    bl_description = (
        "Take a Python that has the evaluator's packages already, such as that of a virtual environment. It is tried"
        " before it is taken"
    )

    filepath: StringProperty(  # type: ignore[valid-type]
        name="Python",
        description="Program that runs Python, such as bin/python of a virtual environment",
        subtype="FILE_PATH",
        options={"SKIP_SAVE"},
    )
    hide_props_region: BoolProperty(default=True, options={"HIDDEN", "SKIP_SAVE"})  # type: ignore[valid-type]

    def invoke(self, context: Any, event: Any) -> set[str]:
        """Let a program be chosen."""
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def _act(self, context: Any) -> Any:
        if not self.filepath:
            raise BadInputError("no program was chosen")
        return environment.choose(Path(self.filepath))


class MATCHCUT_OT_use_own_evaluator(Action, bpy.types.Operator):
    """Use Matchcut's Own."""

    bl_idname = "matchcut.use_own_evaluator"
    bl_label = "Use Matchcut's Own"
    bl_description = "Name no other Python in the preferences any more: take the environment that Matchcut installs"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """One is named in the preferences."""
        stored = preferences.get()
        if stored is None or not stored.evaluator_python:
            cls.poll_message_set("The environment variable MATCHCUT_PYTHON names it; change it and start Blender again")
            return False
        return True

    def _act(self, context: Any) -> None:
        environment.take_own()


class MATCHCUT_OT_copy_evaluator_log(Action, bpy.types.Operator):
    """Copy Log."""

    bl_idname = "matchcut.copy_evaluator_log"
    bl_label = "Copy Log"
    bl_description = "Copy what the last installation said to the clipboard"

    def _act(self, context: Any) -> None:
        text = environment.log_text()
        if not text:
            raise BadInputError("there is nothing to copy: nothing was installed since Matchcut was set up")
        context.window_manager.clipboard = text


class MATCHCUT_OT_show_evaluator_log(Action, bpy.types.Operator):
    """Show Log."""

    bl_idname = "matchcut.show_evaluator_log"
    bl_label = "Show Log"
    bl_description = "Open what the last installation said in the system's text viewer"

    def _act(self, context: Any) -> None:
        bpy.ops.wm.path_open(filepath=str(environment.log()))


class MATCHCUT_OT_evaluator_help(Action, bpy.types.Operator):
    """Help."""

    bl_idname = "matchcut.evaluator_help"
    bl_label = "Help"
    bl_description = (
        "Open the page that tells what to do where the evaluator cannot be installed; it is on this machine"
    )

    def _act(self, context: Any) -> None:
        bpy.ops.wm.url_open(url=environment.HELP.as_uri())


CLASSES = (
    MATCHCUT_OT_install_evaluator,
    MATCHCUT_OT_repair_evaluator,
    MATCHCUT_OT_remove_evaluator,
    MATCHCUT_OT_check_evaluator,
    MATCHCUT_OT_choose_evaluator,
    MATCHCUT_OT_use_own_evaluator,
    MATCHCUT_OT_copy_evaluator_log,
    MATCHCUT_OT_show_evaluator_log,
    MATCHCUT_OT_evaluator_help,
)
