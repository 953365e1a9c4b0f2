# SPDX-License-Identifier: GPL-3.0-or-later
"""The buttons that score, cancel what runs, and tell of what went wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
from bpy.app.translations import pgettext_iface as translated

from .... import __package__ as base_package
from ....evaluator.protocol.errors import MatchcutError
from ... import jobs, preferences
from ...preferences.judges import receiver
from ..base import Action, idle
from ..layout import wrap
from . import run
from .tell import to_tell

DIALOG_WIDTH = 380
"""Pixels at resolution scale 1."""
_LOOK_SECONDS = 0.1

_told: set[str] = set()
"""Judges that send nothing away, of which was told in this session what a score does with them."""


class MATCHCUT_OT_score(Action, bpy.types.Operator):
    """Score Against Reference."""

    bl_idname = "matchcut.score"
    bl_label = "Score Against Reference"
    bl_description = (
        "Render a copy of the scene where it has changed, and score it against the reference, in another process. What "
        "is sent to a judge, and what it costs, is told before it starts"
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        """A reference is picked and nothing runs."""
        if not context.scene.matchcut.reference.path:
            cls.poll_message_set("Pick a reference first")
            return False
        return idle(cls) and run.waiting() is None

    def invoke(self, context: Any, event: Any) -> set[str]:
        """Called by Blender where a button was pressed: says first what it will do, once for each judge."""
        judge = run.judge_of(context.scene) if context.scene.matchcut.checklist else ""
        return _tell_first(self, context, judge, resumed=False)

    def _act(self, context: Any) -> Any:
        return run.score(context.scene)


def _tell_first(operator: Any, context: Any, judge: str, *, resumed: bool) -> set[str]:
    """Run the operator where it was told before what happens with this judge; else have it told, and asked."""
    told = judge in _told if run.is_here(judge) else preferences.may_send(judge)
    if bpy.app.background or told:
        found: set[str] = operator.execute(context)
        return found
    try:
        run.prepare(context.scene, resumed=resumed)
    except MatchcutError as error:
        operator.report({"ERROR"}, str(error))
        return {"CANCELLED"}
    if not bpy.app.timers.is_registered(_ask):
        bpy.app.timers.register(_ask, first_interval=_LOOK_SECONDS)
    return {"FINISHED"}


def _ask() -> float | None:
    """Ask once it is known what the score will do."""
    waiting = run.waiting()
    if waiting is None:
        return None
    if waiting.plan is None:
        return _LOOK_SECONDS
    windows = bpy.context.window_manager.windows
    window = next((one for one in windows if one.scene.session_uid == waiting.uid), windows[0])
    area = next((one for one in window.screen.areas if one.type == "VIEW_3D"), window.screen.areas[0])
    region = next((one for one in area.regions if one.type == "WINDOW"), area.regions[0])
    with bpy.context.temp_override(window=window, area=area, region=region):
        bpy.ops.matchcut.confirm_score("INVOKE_DEFAULT")
    return None


class MATCHCUT_OT_confirm_score(Action, bpy.types.Operator):
    """The question before a score."""

    bl_idname = "matchcut.confirm_score"
    bl_label = "Score Against Reference"
    bl_description = "Start the score that waits"
    bl_options = {"INTERNAL"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """One waits and it is known what it will do."""
        waiting = run.waiting()
        return waiting is not None and waiting.plan is not None

    def invoke(self, context: Any, event: Any) -> set[str]:
        """Called by Blender."""
        found: set[str] = context.window_manager.invoke_props_dialog(
            self, width=DIALOG_WIDTH, title=translated("Score Against Reference"), confirm_text=translated("Score")
        )
        return found

    def draw(self, context: Any) -> None:
        """What will be done, sent and paid."""
        waiting = run.waiting()
        if waiting is None or waiting.plan is None:
            return
        column = self.layout.column()
        for icon, text in to_tell(waiting.plan, receiver(waiting.judge)):
            for number, line in enumerate(wrap(text, 62, len)):
                column.label(text=line, icon=icon if number == 0 else "BLANK1", translate=False)

    def cancel(self, context: Any) -> None:
        """Called by Blender where the answer is no."""
        run.give_up()

    def _act(self, context: Any) -> Any:
        waiting = run.waiting()
        if waiting is not None and waiting.sends:  # where nothing is sent, nothing was agreed to
            preferences.agree_to_send(waiting.judge)
        if waiting is not None:
            _told.add(waiting.judge)
        return run.go_ahead()


class MATCHCUT_OT_resume_score(Action, bpy.types.Operator):
    """Resume Score."""

    bl_idname = "matchcut.resume_score"
    bl_label = "Resume Score"
    bl_description = (
        "Go on with the last score, which did not come to its end, with the copy of the scene that it was started "
        "with. What is rendered and judged is not done again"
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        """A score was cancelled, failed, or ended with Blender."""
        if not run.unfinished_score(context.scene):
            cls.poll_message_set("The last score came to its end")
            return False
        return idle(cls) and run.waiting() is None

    def invoke(self, context: Any, event: Any) -> set[str]:
        """Called by Blender where a button was pressed: who is sent what is said here as well."""
        return _tell_first(self, context, run.unfinished_judge(context.scene), resumed=True)

    def _act(self, context: Any) -> Any:
        return run.resume_score(context.scene)


class MATCHCUT_OT_cancel(Action, bpy.types.Operator):
    """Cancel."""

    bl_idname = "matchcut.cancel"
    bl_label = "Cancel"
    bl_description = "Stop what is running; what is finished of it stays, and can be gone on with"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """A job runs and is not being cancelled already."""
        job = jobs.running()
        return run.waiting() is not None or (job is not None and not job.process.cancelling)

    def _act(self, context: Any) -> None:
        if jobs.running() is not None:
            jobs.cancel()
        else:
            run.give_up()


class MATCHCUT_OT_copy_details(Action, bpy.types.Operator):
    """Copy Details."""

    bl_idname = "matchcut.copy_details"
    bl_label = "Copy Details"
    bl_description = "Copy the error and the last lines of the evaluator's log to the clipboard"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There was a job."""
        return jobs.last() is not None

    def _act(self, context: Any) -> None:
        job = jobs.last()
        if job is not None:
            lines = [job.title, job.error, *job.warnings, job.details]
            text = "\n".join(line for line in lines if line)
            context.window_manager.clipboard = text.replace(str(Path.home()), "~")


class MATCHCUT_OT_open_preferences(Action, bpy.types.Operator):
    """Open Preferences."""

    bl_idname = "matchcut.open_preferences"
    bl_label = "Open Preferences"
    bl_description = "Show Matchcut's preferences, where judges, their keys and the evaluator are set"

    def _act(self, context: Any) -> None:
        if context.preferences.addons.get(base_package) is not None:
            bpy.ops.preferences.addon_show(module=base_package)
        else:
            bpy.ops.screen.userpref_show("INVOKE_DEFAULT")


CLASSES = (
    MATCHCUT_OT_score,
    MATCHCUT_OT_confirm_score,
    MATCHCUT_OT_resume_score,
    MATCHCUT_OT_cancel,
    MATCHCUT_OT_copy_details,
    MATCHCUT_OT_open_preferences,
)
