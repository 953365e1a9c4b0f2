# SPDX-License-Identifier: GPL-3.0-or-later
"""The add-on's preferences, and where it may write: its own folder under the user's, never the extension's."""

from pathlib import Path
from typing import Any

import bpy

from .. import __package__ as base_package
from .evaluator_process import EvaluatorChoice, choose_evaluator


def _evaluator_changed(preferences: Any, context: Any) -> None:
    from . import jobs

    jobs.refresh_evaluator()


class MatchcutPreferences(bpy.types.AddonPreferences):
    """What belongs to the machine rather than to a scene. Keys of judges are never stored here."""

    bl_idname = base_package

    evaluator_python: bpy.props.StringProperty(  # type: ignore[valid-type]
        name="Evaluator Python",
        description="Python that has the evaluator's packages; empty takes the one that Install Evaluator made",
        subtype="FILE_PATH",
        update=_evaluator_changed,
    )
    judge: bpy.props.StringProperty(  # type: ignore[valid-type]
        name="Judge",
        description="Judge for scenes that name none of their own, such as local:http://127.0.0.1:8000/v1#MODEL",
    )

    def draw(self, context: Any) -> None:
        """Lay out the preferences."""
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(self, "evaluator_python")
        layout.prop(self, "judge")


def get() -> MatchcutPreferences | None:
    """The preferences; None where the code runs without being an enabled add-on (a checkout, the bpy wheel)."""
    addon = bpy.context.preferences.addons.get(base_package)
    return addon.preferences if addon is not None else None


def evaluator_folder(*, create: bool = False) -> Path | None:
    """Where Install Evaluator makes its environment; None outside an installed extension."""
    try:
        return Path(bpy.utils.extension_path_user(base_package, path="evaluator", create=create))
    except ValueError:  # the package's name is not bl_ext.REPOSITORY.ID
        return None


def evaluator_choice() -> EvaluatorChoice:
    """The evaluator's interpreter, with the preferences considered. Raises BadInputError where none is found."""
    preferences = get()
    # no `//` path: it is of no file, and Blender has none to tell while it starts
    preferred = preferences.evaluator_python if preferences is not None else ""
    return choose_evaluator(preferred, evaluator_folder())


CLASSES = (MatchcutPreferences,)
