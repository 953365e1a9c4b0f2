# SPDX-License-Identifier: GPL-3.0-or-later
"""The buttons that score, cancel what runs, and tell of what went wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy

from ... import jobs
from ..base import Action, idle
from . import run


class MATCHCUT_OT_score(Action, bpy.types.Operator):
    """Score Against Reference."""

    bl_idname = "matchcut.score"
    bl_label = "Score Against Reference"
    bl_description = "Render a copy of the scene and score it against the reference, in another process"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """A reference is picked and nothing runs."""
        return bool(context.scene.matchcut.reference.path) and idle()

    def _act(self, context: Any) -> Any:
        return run.score(context.scene)


class MATCHCUT_OT_cancel(Action, bpy.types.Operator):
    """Cancel."""

    bl_idname = "matchcut.cancel"
    bl_label = "Cancel"
    bl_description = "Stop what is running; finished frames stay, a result is not written"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """A job runs and is not being cancelled already."""
        job = jobs.running()
        return job is not None and not job.process.cancelling

    def _act(self, context: Any) -> None:
        jobs.cancel()


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


CLASSES = (
    MATCHCUT_OT_score,
    MATCHCUT_OT_cancel,
    MATCHCUT_OT_copy_details,
)
