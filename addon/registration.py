# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that Blender is told of, in order; taken back in reverse."""

from typing import Any

import bpy

from . import jobs, operators, panels, preferences, properties, workflow
from .bridge import panel as bridge_panel

CLASSES = (
    *preferences.CLASSES,
    *properties.CLASSES,
    *operators.CLASSES,
    *panels.CLASSES,
    *bridge_panel.CLASSES,
)
MODULES = (properties, workflow, jobs, bridge_panel)
"""Those with a register and an unregister of their own."""

_command: Any = None


def _run_command(arguments: list[str]) -> int:
    from .cli import main

    return main(arguments)


def register() -> None:
    """Register classes, properties, handlers and `blender --command matchcut`."""
    global _command  # noqa: PLW0603
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    for module in MODULES:
        module.register()
    _command = bpy.utils.register_cli_command("matchcut", _run_command)


def unregister() -> None:
    """Undo `register`; a running job is ended first."""
    global _command  # noqa: PLW0603
    if _command is not None:
        bpy.utils.unregister_cli_command(_command)
        _command = None
    for module in reversed(MODULES):
        module.unregister()
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
