# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of checks with its filter, and what is known of the chosen one."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.app.translations import pgettext_iface as translated
from bpy.app.translations import pgettext_n

from ..base import SidebarPanel
from ..layout import ICON, MARGIN, fact, paragraph
from ..words import sentence
from . import pictures, store
from .checks import Filter, frames_text, listed, places
from .record import RATINGS, Check, Score, title
from .scored import ScoredPanel, brief, shortened

RATING_ICONS = {
    "unsatisfied": "CANCEL",
    "partially_satisfied": "REMOVE",
    "": "QUESTION",
    "fully_satisfied": "CHECKMARK",
}
ROWS = 7
NAMES: dict[pictures.Role, str] = {"reference": pgettext_n("reference"), "reconstruction": pgettext_n("render")}


_listed: tuple[Score, Filter, list[bool]] | None = None


def which(score: Score, wanted: Filter) -> list[bool]:
    """For each check of the score whether it is listed; told again without looking while nothing has changed."""
    global _listed  # noqa: PLW0603
    if _listed is None or _listed[0] is not score or _listed[1] != wanted:
        _listed = (score, wanted, listed(score.checks, wanted))
    return _listed[2]


class MATCHCUT_UL_checks(bpy.types.UIList):
    """Checks, failing first; all but the key is looked up in the score that is in memory."""

    def draw_item(
        self,
        context: Any,
        layout: Any,
        data: Any,
        item: Any,
        icon: Any,
        active: Any,
        property_name: Any,
        index: int = 0,
    ) -> None:
        """Called by Blender."""
        score = store.known(context.scene).score
        if score is None or index >= len(score.checks):
            return
        check = score.checks[index]
        row = layout.row()
        text = shortened(context, brief(check.statement), 0.78)
        row.label(text=text, icon=RATING_ICONS[check.rating], translate=False)
        frame = row.row()
        frame.alignment = "RIGHT"
        frame.active = False
        frame.label(text=str(context.scene.frame_start + check.moment), translate=False)

    def draw_filter(self, context: Any, layout: Any) -> None:
        """Called by Blender where the list's own filter is unfolded."""
        layout.row().prop(context.scene.matchcut.results.filter, "sort", expand=True)

    def filter_items(self, context: Any, data: Any, property_name: str) -> tuple[list[int], list[int]]:
        """Called by Blender: which rows are shown, and the place of each."""
        score = store.known(context.scene).score
        if score is None or len(score.checks) != len(getattr(data, property_name)):
            return [], []
        wanted = data.filter
        flags = [self.bitflag_filter_item if shown else 0 for shown in which(score, wanted.wanted())]
        return flags, places(score.checks, wanted.sort)


class MATCHCUT_PT_check_filter(SidebarPanel, bpy.types.Panel):
    """Which checks are listed."""

    bl_label = "Filter Checks"
    bl_options = {"INSTANCED"}
    bl_ui_units_x = 14

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.aligned()
        wanted = context.scene.matchcut.results.filter
        layout.column().prop(wanted, "ratings", expand=True)
        layout.prop(wanted, "category")
        layout.prop(wanted, "entity", placeholder="Any Entity")
        layout.prop(wanted, "setting")
        layout.prop(wanted, "sort")
        layout.operator("matchcut.clear_check_filter", icon="X")


class MATCHCUT_PT_results_checks(ScoredPanel, bpy.types.Panel):
    """The checks, failing ones first."""

    bl_label = "Checks"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """The score that is shown has checks."""
        score = store.known(context.scene).score
        return score is not None and bool(score.checks)

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.layout
        score, results = self.score(context), context.scene.matchcut.results
        layout.label(text=_counts(score))
        wanted = results.filter
        chosen = wanted.wanted()
        row = layout.row(align=True)
        row.prop(wanted, "text", text="", icon="VIEWZOOM", placeholder="Search")
        row.popover(panel="MATCHCUT_PT_check_filter", text="", icon="FILTER")
        layout.template_list("MATCHCUT_UL_checks", "", results, "checks", results, "active", rows=ROWS)
        shown = sum(which(score, chosen))
        if shown < len(score.checks):
            row = layout.row()
            row.label(text=translated("{0} of {1} checks").format(shown, len(score.checks)))
            row.operator("matchcut.clear_check_filter", text="", icon="X")
        row = layout.row(align=True)
        row.operator("matchcut.next_check", text="Previous", icon="TRIA_LEFT").backwards = True
        row.operator("matchcut.next_check", text="Next", icon="TRIA_RIGHT").backwards = False
        check = store.selected(context.scene)
        if check is None:
            paragraph(layout, context, "Choose a check to go to its frame.", "INFO")
        else:
            _check(layout, context, score, check)


class MATCHCUT_PT_results_failures(ScoredPanel, bpy.types.Panel):
    """What could not be judged, which is no failure of the scene."""

    bl_label = "Could Not Be Judged"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is something."""
        score = store.known(context.scene).score
        return score is not None and bool(score.failures)

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.layout
        score = self.score(context)
        paragraph(layout, context, "These are no faults of the scene: score again to have them judged.", "INFO")
        for failure in score.failures:
            column = layout.column(align=True)
            told = translated("{reason}: {clips}").format(reason=failure.reason, clips=", ".join(failure.clips))
            paragraph(column, context, told, "QUESTION")
            if failure.detail:
                paragraph(column, context, sentence(failure.detail, context.scene.frame_start), "BLANK1")


def _counts(score: Score) -> str:
    failing = sum(check.rating in ("unsatisfied", "partially_satisfied") for check in score.checks)
    unjudged = sum(not check.rating for check in score.checks)
    counts = {"failing": failing, "checks": len(score.checks), "unjudged": unjudged}
    if unjudged == len(score.checks):
        return str(translated("{checks} checks, none judged").format(**counts))
    if unjudged:
        return str(translated("{failing} of {checks} fail, {unjudged} not judged").format(**counts))
    return str(translated("{failing} of {checks} fail").format(**counts))


def _check(layout: Any, context: Any, score: Score, check: Check) -> None:
    """All that is known of one check, and its two pictures."""
    column = layout.column(align=True)
    paragraph(
        column,
        context,
        f"{translated(RATINGS[check.rating])}: {translated(title(check.category))}",
        RATING_ICONS[check.rating],
    )
    paragraph(column, context, check.statement)
    facts = layout.column(align=True)
    if check.entities:
        fact(facts, context, "About", ", ".join(check.entities))
    start = context.scene.frame_start  # frames as the timeline counts them
    fact(facts, context, "Frames", frames_text(start + check.first, start + check.last))
    if check.evidence:
        fact(facts, context, "Evidence", ", ".join(str(start + frame) for frame in check.evidence))
    if check.shown:
        fact(facts, context, "Judge Saw", _some(tuple(start + frame for frame in check.shown)))
    if check.judge and check.rating:
        fact(facts, context, "Judge", check.judge)
    if check.reason:
        fact(facts, context, "Why", sentence(check.reason, start), "QUESTION")
    _pictures(layout, context, score, check)
    row = layout.row(align=True)
    row.operator("matchcut.go_to_check", icon="TIME").key = check.key
    row.operator("matchcut.compare_check", text="Compare", icon="IMGDISPLAY")


def _some(frames: tuple[int, ...], most: int = 8) -> str:
    """Frames as a list, the middle ones of many left out."""
    if len(frames) <= most:
        return ", ".join(map(str, frames))
    return f"{frames[0]}, {frames[1]} … {frames[-1]} ({len(frames)})"


def _pictures(layout: Any, context: Any, score: Score, check: Check) -> None:
    shown = pictures.shown(score, check.moment)
    if shown is None:
        return
    column = layout.column(align=True)
    if shown.waiting:
        column.label(text="Reading the pictures…", icon="SORTTIME")
    if shown.icon:
        scale = context.preferences.system.ui_scale
        units = (context.region.width / scale - MARGIN + ICON) / 20
        column.template_icon(icon_value=shown.icon, scale=max(4.0, units))
        text = translated("Frame {frame}: {what}")
        if len(shown.files) == len(pictures.ROLES) and shown.above:
            text = translated("Frame {frame}: reference above, then the render")
        elif len(shown.files) == len(pictures.ROLES):
            text = translated("Frame {frame}: reference at the left, then the render")
        frame, what = context.scene.frame_start + shown.frame, translated(NAMES[next(iter(shown.files))])
        paragraph(column, context, text.format(frame=frame, what=what))
    for role, reason in shown.missing.items():
        told = translated("No picture of the {what}: {reason}").format(what=translated(NAMES[role]), reason=reason)
        paragraph(column, context, told, "ERROR")


CLASSES = (
    MATCHCUT_UL_checks,
    MATCHCUT_PT_check_filter,
    MATCHCUT_PT_results_checks,
    MATCHCUT_PT_results_failures,
)
