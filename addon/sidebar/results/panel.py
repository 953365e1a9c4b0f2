# SPDX-License-Identifier: GPL-3.0-or-later
"""The Results panel: the score that is shown, what an edit did, and the scores before it."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path, PurePath
from typing import Any

import bpy
from bpy.app.handlers import persistent
from bpy.app.translations import pgettext_iface as translated

from ..base import SidebarPanel
from ..layout import empty_state, fact, paragraph
from ..words import scene_frames, sentence, sizes
from . import change_panel, check_panel, operators, pictures, properties, store
from .change import NOTICED, Change
from .record import Consistency, Figure, Score
from .scored import ScoredPanel, when

ICONS = {"good": "CHECKMARK", "bad": "ERROR", "unscored": "QUESTION", "plain": "BLANK1"}
BAR = 0.7
"""Share of the width that a score's bar takes; its coverage stands beside it."""
MOST_WRONG = 3
"""Things that are told at once of what is wrong with the timeline, with the cuts, and with what the scene holds."""
MOST_SCORES = 10
"""Of the history that are listed."""


class MATCHCUT_PT_results(SidebarPanel, bpy.types.Panel):
    """The score that is shown."""

    bl_label = "Results"
    bl_order = 60

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.layout
        scene = context.scene
        known = store.known(scene)
        if known.score is not None:
            if known.problem:
                paragraph(layout, context, known.problem, "ERROR")
                layout.label(text="Shown instead:")
            _score(layout, context, known.score, known.change)
        elif known.reading:
            layout.label(text="Reading the scores…", icon="SORTTIME")
        elif scene.matchcut.results.folder:
            problem = known.problem or "The files of this score have not been read: press Find Scores."
            paragraph(layout, context, problem, "ERROR")
            layout.operator("matchcut.find_scores", icon="FILE_REFRESH")
            _lines(layout, context, scene.matchcut.results.lines)
        else:
            empty_state(
                layout, context, "results", "Not scored yet: Score Against Reference tells here how close it is."
            )
            if scene.matchcut.reference.path:
                layout.operator("matchcut.find_scores", icon="FILE_REFRESH")


class MATCHCUT_PT_results_categories(ScoredPanel, bpy.types.Panel):
    """The eleven categories."""

    bl_label = "Categories"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """Something was judged."""
        score = store.known(context.scene).score
        return score is not None and score.state != "not_judged"

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        column = self.layout.column(align=True)
        known = store.known(context.scene)
        for figure in self.score(context).categories:
            _bar(column, context, figure, _by(known.change, figure))


class MATCHCUT_PT_results_sgc(ScoredPanel, bpy.types.Panel):
    """Whether the scene is one rigid world."""

    bl_label = "Geometric Consistency"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        _consistency(self.layout, context, self.score(context).sgc)


class MATCHCUT_PT_results_timeline(ScoredPanel, bpy.types.Panel):
    """Whether the render lies on the reference's timeline, and what the scene holds that it may not."""

    bl_label = "Timeline, Cuts and Audit"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        lines = [line for line in self.score(context).lines if line.section in ("Timeline", "Cuts", "Audit")]
        _lines(self.layout, context, lines)


class MATCHCUT_PT_results_history(ScoredPanel, bpy.types.Panel):
    """The scores before."""

    bl_label = "History"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Any) -> None:
        """Called by Blender."""
        layout = self.layout
        known, shown = store.known(context.scene), self.score(context)
        same = [score for score in known.history if score.reference_sha256 == shown.reference_sha256]
        listed = sorted(same[:MOST_SCORES], key=lambda score: score.setting != shown.setting)
        for setting, scores in groupby(listed, key=lambda score: score.setting):
            column = layout.column(align=True)
            _history_row(column, [setting.title() or "Scores", "Overall", "SGC"])
            for score in scores:
                _history_score(column, score, score.folder == shown.folder)
        if len(same) > MOST_SCORES:
            paragraph(layout, context, translated("and {count} older ones").format(count=len(same) - MOST_SCORES))
        if known.reading:
            layout.label(text="Reading…")
        layout.operator("matchcut.find_scores", icon="FILE_REFRESH")


def _score(layout: Any, context: Any, score: Score, change: Change | None) -> None:
    row = layout.row()
    row.label(text=f"{score.folder.name}, {when(score.seconds)}")
    row.operator("matchcut.open_score_folder", text="", icon="FILE_FOLDER")
    picked = PurePath(context.scene.matchcut.reference.path.replace("\\", "/")).name
    if picked and score.reference_name not in ("", picked):
        told = translated("Scored against {name}, another reference than now.").format(name=score.reference_name)
        paragraph(layout, context, told, "INFO")
    if score.state == "not_judged":
        paragraph(layout, context, sentence(score.reason or "not judged", context.scene.frame_start), "QUESTION")
    else:
        setting = translated(score.setting.title())
        layout.label(text=translated("Judged as {setting}").format(setting=setting))
        column = layout.column(align=True)
        for figure in (score.overall, *score.dimensions):
            _bar(column, context, figure, _by(change, figure))
        if score.state == "partly_judged":
            reason = sentence(score.reason or "not every clip was judged", context.scene.frame_start)
            paragraph(layout, context, reason, "INFO")
    _sgc_line(layout, context, score.sgc)
    wrong = [line for line in score.lines if line.verdict == "bad"]
    for section, lines in groupby(wrong, key=lambda line: line.section):
        faults = [
            _text(context, line) if line.label == section else f"{line.label.lower()} {_text(context, line)}"
            for line in lines
        ]
        more = f" … ({len(faults)})" if len(faults) > MOST_WRONG else ""
        paragraph(layout, context, f"{section}: {'; '.join(faults[:MOST_WRONG])}{more}", "ERROR")
    layout.operator("matchcut.open_report", icon="URL")


def _bar(layout: Any, context: Any, figure: Figure, by: float | None) -> None:
    """A score as a bar with its coverage beside it; what is unscored is grey, and its tooltip says why."""
    row = layout.split(factor=BAR, align=True)
    if figure.value is None:
        row.active = False
        row.label(text=figure.label)
        reason = sentence(figure.reason or "unscored", context.scene.frame_start)
        row.operator("matchcut.why_unscored", text="–", icon="QUESTION", emboss=False).reason = reason
        return
    row.progress(factor=figure.value / 100, text=f"{translated(figure.label)} {figure.value:.1f}")
    beside = row.row()
    beside.alignment = "RIGHT"
    beside.label(text=f"{figure.scored}/{figure.expected}", icon=_arrow(by))


def _arrow(by: float | None) -> str:
    if by is None or abs(by) < NOTICED:
        return "NONE"
    return "TRIA_UP" if by > 0 else "TRIA_DOWN"


def _by(change: Change | None, figure: Figure) -> float | None:
    return change.by.get(figure.name) if change is not None else None


def _sgc_line(layout: Any, context: Any, sgc: Consistency) -> None:
    if sgc.score is None:
        why = translated(sentence(sgc.reason or "unscored", context.scene.frame_start))
        paragraph(layout, context, f"{translated('SGC')}: {why}", "QUESTION")
        return
    text = translated("{score:.3g} (lower is better)")
    if sgc.floor is not None:
        text = translated("{score:.3g}, floor {floor:.3g} (lower is better)")
    fact(layout, context, "SGC", text.format(score=sgc.score, floor=sgc.floor))


def _consistency(layout: Any, context: Any, sgc: Consistency) -> None:
    if sgc.score is None:
        paragraph(layout, context, sentence(sgc.reason or "unscored", context.scene.frame_start), "QUESTION")
    else:
        facts = layout.column(align=True)
        fact(facts, context, "Score", translated("{score:.3g} (lower is better)").format(score=sgc.score))
        if sgc.low is not None and sgc.high is not None:
            between = translated("{low:.3g} to {high:.3g}").format(low=sgc.low, high=sgc.high)
            fact(facts, context, "95 %", between)
        if sgc.floor is not None:
            fact(facts, context, "Noise Floor", f"{sgc.floor:.3g}")
        if sgc.reference is not None:
            fact(facts, context, "Reference", f"{sgc.reference:.3g}")
        if sgc.excess is not None:
            above = sgc.excess > 0
            text = (
                translated("{excess:.3g} above what clean renders score.").format(excess=sgc.excess)
                if above
                else "As good as clean renders: nothing is inconsistent that could be measured."
            )
            paragraph(layout, context, text, "INFO" if above else "CHECKMARK")
    facts = layout.column(align=True)
    if sgc.expected:
        fact(facts, context, "Frame Pairs", translated("{0} of {1}").format(sgc.scored, sgc.expected))
    for component in sgc.components:
        fact(facts, context, component.label, component.text or "unscored", "NONE" if component.text else "QUESTION")
    for note in sgc.notes:
        paragraph(layout, context, sentence(note, context.scene.frame_start), "INFO")


def _history_row(layout: Any, texts: list[str]) -> None:
    split = layout.split(factor=0.56)
    split.label(text=texts[0])
    numbers = split.row()
    for text in texts[1:]:
        cell = numbers.row()
        cell.alignment = "RIGHT"
        cell.label(text=text)


def _history_score(layout: Any, score: Score, shown: bool) -> None:
    split = layout.split(factor=0.56)
    name = Path(score.folder).name.removeprefix("score-")
    text = f"{name}  {when(score.seconds)}"
    split.operator("matchcut.show_score", text=text, depress=shown).folder = str(score.folder)
    numbers = split.row()
    overall = f"{score.overall.value:.1f}" if score.overall.value is not None else "–"
    sgc = f"{score.sgc.score:.3f}" if score.sgc.score is not None else "–"
    for value in (overall, sgc):
        cell = numbers.row()
        cell.alignment = "RIGHT"
        cell.label(text=value)


def _lines(layout: Any, context: Any, lines: Any) -> None:
    for section, of_it in groupby(lines, lambda line: line.section):
        column = layout.column(align=True)
        column.label(text=section)
        for line in of_it:
            fact(column, context, line.label, _text(context, line), ICONS.get(line.verdict, "NONE"))


def _text(context: Any, line: Any) -> str:
    """What stands beside a line's label, in the scene's counting of frames."""
    return sizes(scene_frames(line.text, context.scene.frame_start))


CLASSES = (
    *properties.CLASSES,
    *operators.CLASSES,
    MATCHCUT_PT_results,
    *change_panel.CLASSES,
    MATCHCUT_PT_results_categories,
    *check_panel.CLASSES,
    MATCHCUT_PT_results_sgc,
    MATCHCUT_PT_results_timeline,
    MATCHCUT_PT_results_history,
)


@persistent  # type: ignore[untyped-decorator]
def _loaded(*_: Any) -> None:
    pictures.forget()
    store.find_all_again()


def register() -> None:
    """Listen for files being opened."""
    bpy.app.handlers.load_post.append(_loaded)


def unregister() -> None:
    """Listen no longer, and drop what is in memory."""
    if _loaded in bpy.app.handlers.load_post:  # other code may have emptied the list
        bpy.app.handlers.load_post.remove(_loaded)
    store.forget()
    pictures.forget()
