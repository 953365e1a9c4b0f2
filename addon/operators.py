# SPDX-License-Identifier: GPL-3.0-or-later
"""The buttons. Each is thin: what it does is a function elsewhere, whose one-line error it reports."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy

from ..evaluator.protocol.errors import BadInputError, MatchcutError
from . import jobs, workflow
from .timeline import match_timeline


class Action:
    """Runs `_act` and turns an expected error into a report; a job that it starts is waited for in background mode."""

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


def _idle() -> bool:
    return jobs.running() is None


class MATCHCUT_OT_read_reference(Action, bpy.types.Operator):
    """Read Reference."""

    bl_idname = "matchcut.read_reference"
    bl_label = "Read Reference"
    bl_description = "Read the size, rate and number of frames of the reference"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """A reference is picked and nothing runs."""
        return bool(context.scene.matchcut.reference.path) and _idle()

    def _act(self, context: Any) -> Any:
        return workflow.read_reference(context.scene)


class MATCHCUT_OT_match_timeline(Action, bpy.types.Operator):
    """Match Timeline."""

    bl_idname = "matchcut.match_timeline"
    bl_label = "Match Timeline"
    bl_description = "Give the scene the resolution, frame rate and length of the reference"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """The reference has been read."""
        return bool(context.scene.matchcut.reference.known)

    def _act(self, context: Any) -> None:
        changes = match_timeline(context.scene, context.scene.matchcut.reference.timeline())
        self.report({"INFO"}, "; ".join(changes) or "The scene is on the reference's timeline already")


class MATCHCUT_OT_render(Action, bpy.types.Operator):
    """Render."""

    bl_idname = "matchcut.render"
    bl_label = "Render"
    bl_description = "Render a copy of the scene on the reference's timeline, in another process"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """A reference is picked and nothing runs."""
        return bool(context.scene.matchcut.reference.path) and _idle()

    def _act(self, context: Any) -> Any:
        return workflow.render(context.scene)


class MATCHCUT_OT_resume_render(Action, bpy.types.Operator):
    """Resume Render."""

    bl_idname = "matchcut.resume_render"
    bl_label = "Resume Render"
    bl_description = "Render what is missing of the last render, from the copy of the scene that it was started with"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """A render was cancelled or failed, and nothing runs."""
        return bool(workflow.unfinished_render(context.scene)) and _idle()

    def _act(self, context: Any) -> Any:
        return workflow.resume_render(context.scene)


class MATCHCUT_OT_score(Action, bpy.types.Operator):
    """Score Against Reference."""

    bl_idname = "matchcut.score"
    bl_label = "Score Against Reference"
    bl_description = "Render a copy of the scene and score it against the reference, in another process"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """A reference is picked and nothing runs."""
        return bool(context.scene.matchcut.reference.path) and _idle()

    def _act(self, context: Any) -> Any:
        return workflow.score(context.scene)


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
        bpy.ops.wm.url_open(url=_there(workflow.report_path(context.scene), "report").as_uri())


class MATCHCUT_OT_play_render(Action, bpy.types.Operator):
    """Play Render."""

    bl_idname = "matchcut.play_render"
    bl_label = "Play Render"
    bl_description = "Play the last rendered video in the system's player"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """All frames have been rendered."""
        if context.scene.matchcut.render.folder and not context.scene.matchcut.render.video:
            cls.poll_message_set("A part of the frames makes no video; open its folder")
        return bool(context.scene.matchcut.render.video)

    def _act(self, context: Any) -> None:
        video = _there(workflow.absolute(context.scene.matchcut.render.video), "video")
        bpy.ops.wm.path_open(filepath=str(video))


class MATCHCUT_OT_open_render_folder(Action, bpy.types.Operator):
    """Open Render Folder."""

    bl_idname = "matchcut.open_render_folder"
    bl_label = "Open Render Folder"
    bl_description = "Show the files of the last render: pictures, video, passes and log"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """The scene has been rendered."""
        return bool(context.scene.matchcut.render.folder)

    def _act(self, context: Any) -> None:
        folder = workflow.absolute(context.scene.matchcut.render.folder)
        _there(folder / "job.json", "render")
        bpy.ops.wm.path_open(filepath=str(folder))


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
        return _idle()

    def _act(self, context: Any) -> Any:
        return workflow.install_evaluator()


def _there(path: Path | None, what: str) -> Path:
    if path is None or not path.is_file():
        raise BadInputError(f"{path}: the {what} is not there any more; make it again")
    return path


CLASSES = (
    MATCHCUT_OT_read_reference,
    MATCHCUT_OT_match_timeline,
    MATCHCUT_OT_render,
    MATCHCUT_OT_resume_render,
    MATCHCUT_OT_score,
    MATCHCUT_OT_cancel,
    MATCHCUT_OT_open_report,
    MATCHCUT_OT_play_render,
    MATCHCUT_OT_open_render_folder,
    MATCHCUT_OT_copy_details,
    MATCHCUT_OT_install_evaluator,
)
