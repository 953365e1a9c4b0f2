# SPDX-License-Identifier: GPL-3.0-or-later
"""The Results panel's buttons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
from bpy.props import BoolProperty, StringProperty

from ....evaluator.protocol.errors import BadInputError
from ..base import Action
from ..paths import there
from . import show, store
from .record import Score
from .scored import when


class MATCHCUT_OT_open_report(Action, bpy.types.Operator):
    """Open Report."""

    bl_idname = "matchcut.open_report"
    bl_label = "Open Report"
    bl_description = "Open the report of the score that is shown in the web browser"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """The scene has been scored."""
        if not context.scene.matchcut.results.folder:
            cls.poll_message_set("The scene has not been scored yet")
            return False
        return True

    def _act(self, context: Any) -> None:
        bpy.ops.wm.url_open(url=there(store.report_path(context.scene), "report").as_uri())


class MATCHCUT_OT_open_score_folder(Action, bpy.types.Operator):
    """Open Score Folder."""

    bl_idname = "matchcut.open_score_folder"
    bl_label = "Open Score Folder"
    bl_description = "Show the files of the score: its report, both videos, judgments and the copy of the scene"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """The scene has been scored."""
        return bool(context.scene.matchcut.results.folder)

    def _act(self, context: Any) -> None:
        folder = store.folder_of(context.scene)
        there(folder and folder / "results.json", "score")
        bpy.ops.wm.path_open(filepath=str(folder))


class MATCHCUT_OT_find_scores(Action, bpy.types.Operator):
    """Find Scores."""

    bl_idname = "matchcut.find_scores"
    bl_label = "Find Scores"
    bl_description = (
        "Read the scores of this scene in its output folder again, as after files were moved or brought back"
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        """They are not being read."""
        return not store.known(context.scene).reading

    def _act(self, context: Any) -> None:
        store.find_again(context.scene)


class MATCHCUT_OT_show_score(Action, bpy.types.Operator):
    """Show Score."""

    bl_idname = "matchcut.show_score"
    bl_label = "Show Score"
    bl_description = "Show this score in the panel"
    bl_options = {"INTERNAL"}

    folder: StringProperty(  # type: ignore[valid-type]
        name="Folder",
        description="Folder of the score to show",
        options={"HIDDEN", "SKIP_SAVE"},
    )

    @classmethod
    def description(cls, context: Any, properties: Any) -> str:
        """When it was made, of what, and what it came to."""
        return next((_told(score) for score in _history(context) if str(score.folder) == properties.folder), "")

    def _act(self, context: Any) -> None:
        found = next((score for score in _history(context) if str(score.folder) == self.folder), None)
        if found is None:
            raise BadInputError(f"{self.folder}: no such score is in the history; choose one in History")
        store.show(context.scene, found)


class MATCHCUT_OT_go_to_check(Action, bpy.types.Operator):
    """Go to Check."""

    bl_idname = "matchcut.go_to_check"
    bl_label = "Go to Frame"
    bl_description = "Go to the frame that tells most of this check, and show it in the reference and in the render"
    bl_options = {"REGISTER", "UNDO", "INTERNAL"}

    key: StringProperty(  # type: ignore[valid-type]
        name="Check",
        description="Clip and name of the check; empty takes the one chosen in the list",
        options={"HIDDEN", "SKIP_SAVE"},
    )

    @classmethod
    def description(cls, context: Any, properties: Any) -> str:
        """The check's statement."""
        score = store.known(context.scene).score
        checks = score.checks if score is not None else ()
        statement = next((check.statement for check in checks if check.key == properties.key), "")
        return statement.rstrip(".") or cls.bl_description

    def _act(self, context: Any) -> None:
        show.choose(context.scene, self.key or context.scene.matchcut.results.selected)


class MATCHCUT_OT_next_check(Action, bpy.types.Operator):
    """Next Failing Check."""

    bl_idname = "matchcut.next_check"
    bl_label = "Next Failing Check"
    bl_description = "Go to the next check that the scene fails, in the order of the frames"
    bl_options = {"REGISTER", "UNDO"}

    backwards: BoolProperty(  # type: ignore[valid-type]
        name="Backwards",
        description="Go to the one before instead",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There are checks."""
        score = store.known(context.scene).score
        if score is None or not score.checks:
            cls.poll_message_set("No score with checks is shown")
            return False
        return True

    def _act(self, context: Any) -> None:
        show.next_failing(context.scene, backwards=self.backwards)


class MATCHCUT_OT_compare_check(Action, bpy.types.Operator):
    """Compare in View."""

    bl_idname = "matchcut.compare_check"
    bl_label = "Compare in View"
    bl_description = "Go to this check's frame and lay the reference beside what the 3D view shows"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        """A check is chosen."""
        return store.selected(context.scene) is not None

    def _act(self, context: Any) -> None:
        show.compare_check(context.scene)


class MATCHCUT_OT_clear_check_filter(Action, bpy.types.Operator):
    """Clear Filter."""

    bl_idname = "matchcut.clear_check_filter"
    bl_label = "Clear Filter"
    bl_description = "List all checks again"
    bl_options = {"REGISTER", "UNDO"}

    def _act(self, context: Any) -> None:
        chosen = context.scene.matchcut.results.filter
        for name in ("text", "ratings", "category", "entity", "setting"):
            chosen.property_unset(name)


class MATCHCUT_OT_why_unscored(Action, bpy.types.Operator):
    """Why Unscored."""

    bl_idname = "matchcut.why_unscored"
    bl_label = "Why Unscored"
    bl_description = "Why there is no score"
    bl_options = {"INTERNAL"}

    reason: StringProperty(  # type: ignore[valid-type]
        name="Reason",
        description="Why there is no score",
        options={"HIDDEN", "SKIP_SAVE"},
    )

    @classmethod
    def description(cls, context: Any, properties: Any) -> str:
        """The reason itself."""
        return properties.reason.rstrip(".") or cls.bl_description

    def _act(self, context: Any) -> None:
        self.report({"INFO"}, self.reason)


def _told(score: Score) -> str:
    value = f"overall {score.overall.value:.1f}" if score.overall.value is not None else "not judged"
    sgc = f"SGC {score.sgc.score:.3g}" if score.sgc.score is not None else "no SGC"
    where = Path(score.folder).name
    return f"Show {where} of {when(score.seconds)}: {score.setting.title()}, {value}, {sgc}"


def _history(context: Any) -> tuple[Score, ...]:
    return store.known(context.scene).history


CLASSES = (
    MATCHCUT_OT_open_report,
    MATCHCUT_OT_open_score_folder,
    MATCHCUT_OT_find_scores,
    MATCHCUT_OT_show_score,
    MATCHCUT_OT_go_to_check,
    MATCHCUT_OT_next_check,
    MATCHCUT_OT_compare_check,
    MATCHCUT_OT_clear_check_filter,
    MATCHCUT_OT_why_unscored,
)
