# SPDX-License-Identifier: GPL-3.0-or-later
"""What belongs to this machine's artist rather than to a scene, and where the add-on may write.

`panel.py` is what Blender shows of it. Everything here also answers where the code runs without being an enabled add-on
(a checkout, the bpy wheel): there are no preferences then.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import bpy

from ... import __package__ as base_package
from ..evaluator_process import EvaluatorChoice, choose_evaluator
from .judges import receiver

_consents: set[str] = set()
"""Given where there are no preferences to keep them in; for this session."""


def get() -> Any:
    """The preferences (`panel.MatchcutPreferences`); None where there are none."""
    addon = bpy.context.preferences.addons.get(base_package)
    return addon.preferences if addon is not None else None


def evaluator_folder(*, create: bool = False) -> Path | None:
    """Where Install Evaluator makes its environment; None outside an installed extension."""
    try:
        base = bpy.utils.extension_path_user(base_package, path="", create=create)
    except ValueError:  # the package's name is not bl_ext.REPOSITORY.ID
        return None
    return Path(base) / "evaluator"


def evaluator_choice() -> EvaluatorChoice:
    """The evaluator's interpreter, with the preferences considered. Raises BadInputError where none is found."""
    preferences = get()
    # no `//` path: it is of no file, and Blender has none to tell while it starts
    preferred = preferences.evaluator_python if preferences is not None else ""
    return choose_evaluator(preferred, evaluator_folder())


def default_judge() -> str:
    """The judge for scenes that name none of their own, as `--judge` takes it; empty for none."""
    preferences = get()
    return str(preferences.judge) if preferences is not None else ""


def may_send(judge: str) -> bool:
    """Whether `judge` may be sent pictures: it is on this machine, or its receiver was agreed to once."""
    to = receiver(judge)
    return not to or to in consents()


def agree_to_send(judge: str) -> None:
    """Remember that pictures may be sent to who receives them for `judge`, until that is taken back."""
    to, preferences = receiver(judge), get()
    if not to or to in consents():
        return
    if preferences is None:
        _consents.add(to)
        return
    entry = preferences.consents.add()
    entry.name, entry.given = to, time.strftime("%Y-%m-%d")
    bpy.context.preferences.is_dirty = True  # saved with the others when Blender quits


def forget_consent(to: str) -> None:
    """Ask again before anything is sent to this receiver."""
    preferences = get()
    _consents.discard(to)
    if preferences is not None and preferences.consents.find(to) >= 0:
        preferences.consents.remove(preferences.consents.find(to))
        bpy.context.preferences.is_dirty = True


def consents() -> set[str]:
    """The receivers that were agreed to."""
    preferences = get()
    return _consents if preferences is None else {entry.name for entry in preferences.consents}


def apply_defaults(scene: Any) -> None:
    """Give a scene that meets Matchcut for the first time the render defaults; what it has set itself stays."""
    preferences = get()
    if preferences is None:
        return
    render, shared = scene.matchcut.render, scene.matchcut
    for group, name, value in (
        (render, "engine", preferences.render_engine),
        (render, "workers", preferences.render_workers),
        (render, "scale", preferences.preview_scale),
        (render, "preview_samples", preferences.preview_samples),
        (shared, "use_samples", preferences.use_samples),
        (shared, "samples", preferences.samples),
    ):
        if not group.is_property_set(name):
            setattr(group, name, value)
