# SPDX-License-Identifier: GPL-3.0-or-later
"""How the evaluator's state looks, in the sidebar and in the preferences alike."""

from __future__ import annotations

from typing import Any, Final

import bpy
from bpy.app.translations import pgettext_iface as translated
from bpy.app.translations import pgettext_n

from ... import jobs
from ...preferences import asking
from ...preferences.sizes import size_text
from ..layout import fact, paragraph
from ..words import sentence
from . import environment

TITLES: Final = {
    "missing": pgettext_n("Not installed"),
    "unfinished": pgettext_n("The installation was cut off"),
    "outdated": pgettext_n("Of another version of Matchcut"),
    "broken": pgettext_n("Its Python is gone"),
    "wrong": pgettext_n("Not where it was named"),
}
WORDS: Final = {
    "missing": pgettext_n(
        "Reading references, rendering to video and scoring run in an environment of their own. Blender's own Python is"
        " left alone."
    ),
    "unfinished": pgettext_n("What was downloaded is kept; installing goes on from there."),
    "outdated": pgettext_n("Matchcut was updated, and needs other versions of some packages."),
    "broken": pgettext_n(
        "Blender or the system was updated, and took the Python away that the evaluator runs with. Update makes it"
        " again."
    ),
}
SOURCES: Final = {
    "the add-on": pgettext_n("Matchcut's own"),
    "matchcut setup": pgettext_n("Set up outside Blender"),
    "Matchcut's preferences": pgettext_n("Named in the preferences"),
    "$MATCHCUT_PYTHON": pgettext_n("Environment variable MATCHCUT_PYTHON"),
}
STAGES: Final = {
    "": pgettext_n("Preparing"),
    "download_packages": pgettext_n("Downloading packages"),
    "install_packages": pgettext_n("Unpacking packages"),
}
LABELS: Final = {"missing": pgettext_n("Install Evaluator"), "unfinished": pgettext_n("Resume Installation")}


def draw_evaluator(layout: Any, context: Any) -> None:
    """State, progress and buttons."""
    job = jobs.last()
    ours = job is not None and job.title in (environment.INSTALLING, environment.REMOVING)
    if job is not None and ours and job.state == "running":
        _running(layout, context, job)
        return
    state = jobs.evaluator()
    if state.problem:
        _needs(layout, context, state)
    else:
        _ready(layout, context, state)
    if job is not None and ours and job.state == "failed":
        paragraph(layout, context, sentence(job.error), "ERROR")
    _choice(layout, context)
    row = layout.row(align=True)
    row.operator("matchcut.evaluator_help", icon="HELP")
    row.operator("matchcut.copy_evaluator_log", text="", icon="COPYDOWN")
    row.operator("matchcut.show_evaluator_log", text="", icon="TEXT")


def _running(layout: Any, context: Any, job: jobs.Job) -> None:
    stage = translated(STAGES.get(job.stage, STAGES[""]))
    column = layout.column()
    column.label(text=job.title, icon="IMPORT" if job.title == environment.INSTALLING else "TRASH")
    column.progress(factor=job.fraction, text=f"{stage} {job.done} / {job.total}" if job.total else stage)
    if job.text:
        paragraph(column, context, job.text if job.total else sentence(job.text))
    column.operator("matchcut.cancel", icon="CANCEL")


def _needs(layout: Any, context: Any, state: jobs.EvaluatorState) -> None:
    """What is missing, and the button that mends it."""
    layout.label(text=TITLES.get(state.condition, TITLES["missing"]), icon="ERROR")
    paragraph(layout, context, WORDS.get(state.condition) or sentence(state.problem))
    if state.condition == "missing":
        fact(layout, context, "Download", size_text(environment.DOWNLOAD_BYTES))
        fact(layout, context, "On Disk", size_text(environment.INSTALLED_BYTES))
    if state.condition == "wrong":
        layout.operator("matchcut.use_own_evaluator", icon="LOOP_BACK")
        return
    online(layout, context)
    row = layout.row()
    row.scale_y = 1.4
    label = LABELS.get(state.condition, pgettext_n("Update Evaluator"))
    row.operator("matchcut.install_evaluator", text=label, icon="IMPORT")


def online(layout: Any, context: Any) -> None:
    """Where online access is off: that it is, and the way to allow it."""
    if bpy.app.online_access:
        return
    if bpy.app.online_access_override:
        paragraph(layout, context, "Blender was started in offline mode. Start it without it to install.", "INFO")
        return
    paragraph(layout, context, "Blender may not go online. Allow Online Access under Network to install.", "INFO")
    layout.operator("screen.userpref_show", text="Open System Preferences", icon="PREFERENCES").section = "SYSTEM"


def _ready(layout: Any, context: Any, state: jobs.EvaluatorState) -> None:
    """Where it is from and what it has."""
    known, checked = environment.known(), asking.answer(environment.CHECK)
    layout.label(text="Ready", icon="CHECKMARK")
    facts = layout.column(align=True)
    fact(facts, context, "From", SOURCES.get(state.source, state.source))
    if known.python:
        fact(facts, context, "Python", known.python)
    if known.packages:
        fact(facts, context, "Packages", str(known.packages))
    if known.bytes:
        fact(facts, context, "Size", size_text(known.bytes))
    if known.differing:
        fact(facts, context, "Differs", ", ".join(known.differing))
    if checked.problem:
        paragraph(layout, context, sentence(checked.problem), "ERROR")
    elif checked.data is not None:
        fact(facts, context, "Checked", "All packages work")
    row = layout.row(align=True)
    test = row.row(align=True)
    test.enabled = not checked.waits
    test.operator("matchcut.check_evaluator", text="Checking…" if checked.waits else "Check", icon="FILE_REFRESH")
    if known.is_own:
        if checked.problem:
            row.operator("matchcut.repair_evaluator", icon="MODIFIER")
        row.operator("matchcut.remove_evaluator", icon="TRASH")
    elif state.source == "Matchcut's preferences":
        row.operator("matchcut.use_own_evaluator", icon="LOOP_BACK")


def _choice(layout: Any, context: Any) -> None:
    """Another Python in its place, and what came of the last one chosen."""
    choice = asking.answer(environment.CHOICE)
    if choice.problem:
        paragraph(layout, context, sentence(choice.problem), "ERROR")
    row = layout.row()
    row.enabled = not choice.waits
    row.operator(
        "matchcut.choose_evaluator",
        text="Looking for the packages…" if choice.waits else "Use Another Python...",
        icon="FILE_FOLDER",
    )
