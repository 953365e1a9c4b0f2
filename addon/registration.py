# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that Blender is told of, in order; taken back in reverse."""

from typing import Any

import bpy

from . import jobs, properties, state, translations
from .bridge import panel as bridge_panel
from .preferences import panel as preferences
from .sidebar import editors, icons, kept, keymap, menu
from .sidebar import properties as shared_properties
from .sidebar.compare import panel as compare
from .sidebar.evaluator import panel as evaluator
from .sidebar.match_camera import panel as match_camera
from .sidebar.reference import panel as reference
from .sidebar.render import panel as render
from .sidebar.results import panel as results
from .sidebar.score import panel as score

SIDEBAR = (reference, compare, match_camera, render, score, results, evaluator)
"""What the tab shows; the lines of Match Camera are drawn over what Compare draws, and so registered after it."""
BESIDE_VIDEO = (reference, render, score, results)
"""Those that are of use in the sequencer and in the movie clip editor too."""
CLASSES = (
    *preferences.CLASSES,
    *shared_properties.CLASSES,
    *(cls for feature in SIDEBAR for cls in feature.CLASSES),
    *properties.CLASSES,
    *bridge_panel.CLASSES,
    *menu.CLASSES,
    *editors.elsewhere(cls for feature in BESIDE_VIDEO for cls in feature.CLASSES),
)
MODULES = (translations, icons, properties, state, kept, jobs, preferences, *SIDEBAR, bridge_panel, keymap, menu)
"""Those that may have a register and an unregister of their own."""

_command: Any = None


def _run_command(arguments: list[str]) -> int:
    from .cli import main

    return main(arguments) or 0


def register() -> None:
    """Register classes, properties, handlers and `blender --command matchcut`."""
    global _command  # noqa: PLW0603
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    for module in MODULES:
        if hasattr(module, "register"):
            module.register()
    _command = bpy.utils.register_cli_command("matchcut", _run_command)


def unregister() -> None:
    """Undo `register`; a running job is ended first."""
    global _command  # noqa: PLW0603
    if _command is not None:
        bpy.utils.unregister_cli_command(_command)
        _command = None
    for module in reversed(MODULES):
        if hasattr(module, "unregister"):
            module.unregister()
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
