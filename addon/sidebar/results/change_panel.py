# SPDX-License-Identifier: GPL-3.0-or-later
"""What an edit did: the score that is shown against the one before it."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.app.translations import pgettext_iface as translated

from ..layout import paragraph
from . import store
from .change import NOTICED, Change, CheckChange, signed
from .record import Consistency
from .scored import ScoredPanel, brief, shortened, when

MOST_CHANGES = 6
"""Checks that are listed under each heading of what changed."""


class MATCHCUT_PT_results_change(ScoredPanel, bpy.types.Panel):
    """What an edit did."""

    bl_label = "Since the Last Score"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is one before the one that is shown."""
        return store.known(context.scene).change is not None

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.layout
        change = store.known(context.scene).change
        assert change is not None
        since = {"score": change.since.folder.name, "when": when(change.since.seconds)}
        paragraph(layout, context, translated("Against {score}, {when}").format(**since))
        column = layout.column(align=True)
        for one in change.figures:
            if one.by is not None and abs(one.by) >= NOTICED:
                text = f"{translated(one.figure.label)} {one.before:.1f} → {one.figure.value:.1f} ({signed(one.by)})"
                paragraph(column, context, text, "TRIA_UP" if one.by > 0 else "TRIA_DOWN")
        _sgc_change(column, context, self.score(context).sgc, change)
        if not change.same_checks:
            paragraph(layout, context, "Not the same checks were judged both times: compare check by check.", "INFO")
        moved = False
        for heading, icon, checks in (
            ("Now satisfied", "CHECKMARK", change.satisfied),
            ("Now failing", "CANCEL", change.failing),
            ("Now partially satisfied", "TRIA_UP", change.better),
            ("Now unsatisfied", "TRIA_DOWN", change.worse),
        ):
            moved |= bool(checks)
            _changed_checks(layout, context, f"{translated(heading)} ({len(checks)})", icon, checks)
        if not moved and change.by:
            paragraph(layout, context, "No check is rated otherwise than before.")


def _sgc_change(layout: Any, context: Any, sgc: Consistency, change: Change) -> None:
    before = change.since.sgc.score
    if change.sgc is None or before is None or sgc.score is None or abs(change.sgc) < 0.0005:
        return
    verdict = "worse" if change.sgc > 0 else "better"
    text = f"SGC {before:.3f} → {sgc.score:.3f} ({signed(change.sgc, 3)}, {translated(verdict)})"
    paragraph(layout, context, text, "TRIA_UP" if change.sgc > 0 else "TRIA_DOWN")


def _changed_checks(layout: Any, context: Any, heading: str, icon: str, checks: tuple[CheckChange, ...]) -> None:
    if not checks:
        return
    column = layout.column(align=True)
    column.label(text=heading, icon=icon)
    for one in checks[:MOST_CHANGES]:
        row = column.row()
        row.alignment = "LEFT"
        text = shortened(context, brief(one.check.statement))
        row.operator("matchcut.go_to_check", text=text, emboss=False).key = one.check.key
    if len(checks) > MOST_CHANGES:
        column.label(text=translated("and {count} more").format(count=len(checks) - MOST_CHANGES))


CLASSES = (MATCHCUT_PT_results_change,)
