# SPDX-License-Identifier: GPL-3.0-or-later
"""View > Matchcut in the 3D view: every command that makes sense by itself, where the menu search (F3) finds it."""

from __future__ import annotations

from typing import Any, Final

import bpy

COMMANDS: Final = (
    ("pick_reference", "read_reference", "match_timeline", "show_in_camera", "make_shot_cameras"),
    ("add_camera", "view_camera", "edit_lines", "pick_points", "apply_match", "use_measured_motion"),
    ("compare", "compare_mode", "compare_source"),
    ("render", "resume_render", "play_render", "open_render_folder"),
    ("score", "cancel", "next_check", "open_report", "open_score_folder", "find_scores", "copy_details"),
    ("install_evaluator", "open_preferences"),
)
"""Names below `matchcut.`, in groups in the order of the work."""


class MATCHCUT_MT_commands(bpy.types.Menu):
    """All commands of the tab."""

    bl_label = "Matchcut"

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        for number, group in enumerate(COMMANDS):
            if number:
                self.layout.separator()
            for name in group:
                self.layout.operator(f"matchcut.{name}")


CLASSES = (MATCHCUT_MT_commands,)


def _in_view_menu(menu: Any, context: Any) -> None:
    menu.layout.separator()
    menu.layout.menu("MATCHCUT_MT_commands")


def register() -> None:
    """Hang the menu into the 3D view's View menu."""
    bpy.types.VIEW3D_MT_view.append(_in_view_menu)


def unregister() -> None:
    """Take it out again."""
    bpy.types.VIEW3D_MT_view.remove(_in_view_menu)
