# SPDX-License-Identifier: GPL-3.0-or-later
"""The sections of Matchcut's preferences, each a function that draws it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
from bpy.app.translations import pgettext_iface as translated
from bpy.app.translations import pgettext_n

from .. import jobs
from ..sidebar.layout import fact, paragraph
from ..sidebar.words import sentence
from . import asking, judges
from .sizes import size_text

CACHES = {
    "downloads": (pgettext_n("Downloads"), pgettext_n("Packages of the evaluator, kept for an update or a repair")),
    "frames": (pgettext_n("Frames"), pgettext_n("Frames of videos, decoded ahead")),
    "motion": (pgettext_n("Motion"), pgettext_n("What was measured of videos")),
    "scratch": (pgettext_n("Leftovers"), pgettext_n("Temporary files of runs that were ended by force")),
}
"""Name of a cache → its label, and what it holds."""
PRIVACY = (
    pgettext_n("Videos, scenes and scores stay on this machine. Matchcut collects no usage data."),
    pgettext_n(
        "A judge elsewhere is sent frames of the reference and of your render beside each other, and the checks' texts."
    ),
    pgettext_n("The scene is never sent. You are asked once for each receiver, before anything is sent."),
    pgettext_n("Install and Update download packages from the Python package index."),
)


def panel(layout: Any, name: str, *, closed: bool) -> Any:
    """A part that opens and closes: its header, and its body or None."""
    return layout.panel(f"MATCHCUT_preferences_{name}", default_closed=closed)


draw_evaluator: Callable[[Any, Any], None] | None = None
"""Draws the state of the evaluator and its buttons: the sidebar's panel of it puts its own here."""


def evaluator(layout: Any, context: Any, preferences: Any) -> None:
    """The environment that measures and judges."""
    if draw_evaluator is not None:
        draw_evaluator(layout, context)
    layout.separator()
    layout.prop(preferences, "evaluator_python", placeholder="Matchcut's Own")


def judge(layout: Any, context: Any, preferences: Any) -> None:
    """Who rates, with which model and key."""
    layout.prop(preferences, "judge_kind")
    if preferences.judge_kind != "none" and not preferences.judge:
        fact(layout, context, "", "Name its model below", "INFO")
    if not jobs.evaluator().problem:
        asking.want("keys", asking.look_for_keys)
    if asking.answer("keys").problem:
        fact(layout, context, "Keyring", sentence(asking.answer("keys").problem), "ERROR")
    for provider in judges.PROVIDERS:
        header, body = panel(layout, f"judge_{provider.kind}", closed=True)
        header.label(text=provider.label)
        header.label(text=_state(provider, preferences), icon=_state_icon(provider))
        if body is not None:
            _provider(body, context, preferences, provider)


def _provider(layout: Any, context: Any, preferences: Any, provider: judges.Provider) -> None:
    if provider.kind == "local":
        layout.prop(preferences, "local_url", placeholder="http://127.0.0.1:8000/v1")
    layout.prop(preferences, f"{provider.kind}_model", placeholder="Name of the Model")
    key = judges.key_of(provider)
    text, icon = _key_text(provider, key)
    fact(layout, context, "Key", text, icon)
    row = _indented(layout)
    if key.keyring_problem and key.place != "environment":
        fact(layout, context, "", sentence(key.keyring_problem), "INFO")
    else:
        row.operator("matchcut.store_judge_key", text="Store Key...").kind = provider.kind
    if key.place == "keyring":
        row.operator("matchcut.forget_judge_key", text="", icon="TRASH").kind = provider.kind
    test = row.row()
    test.enabled = not asking.answer(f"test {provider.kind}").waits
    test.operator("matchcut.test_judge").kind = provider.kind
    result = _result(provider)
    if result is not None:
        fact(layout, context, "Test", *result)


def _state(provider: judges.Provider, preferences: Any) -> str:
    """What a closed provider's line says: its model, or that nothing is set."""
    return str(getattr(preferences, f"{provider.kind}_model")) or translated("No Model")


def _state_icon(provider: judges.Provider) -> str:
    answer = asking.answer(f"test {provider.kind}")
    if answer.problem:
        return "ERROR"
    return "CHECKMARK" if answer.data is not None else "NONE"


def _key_text(provider: judges.Provider, key: judges.KeyPlace) -> tuple[str, str]:
    if key.place == "environment":
        return translated("In the environment variable {name}").format(name=provider.variable), "CHECKMARK"
    if key.place == "keyring":
        return translated("In the system's keyring"), "CHECKMARK"
    if provider.kind == "local":
        return translated("Not set, and seldom needed; else {name}").format(name=provider.variable), "NONE"
    if key.place == "unknown":
        return translated("Not in the environment variable {name}").format(name=provider.variable), "NONE"
    text = translated("Neither in the environment variable {name} nor in the system's keyring")
    return text.format(name=provider.variable), "ERROR"


def _result(provider: judges.Provider) -> tuple[str, str] | None:
    """How the last test ended, with its icon; None where there was none."""
    answer = asking.answer(f"test {provider.kind}")
    if answer.waits:
        return translated("Waiting for an answer…"), "SORTTIME"
    if answer.problem:
        return sentence(answer.problem), "ERROR"
    if answer.data is None:
        return None
    seconds = f"{answer.data.get('seconds', 0):.1f} s"
    if "model" not in answer.data:
        text = translated("The key works; choose one of {count} models ({seconds})")
        return text.format(count=len(answer.data.get("models", [])), seconds=seconds), "CHECKMARK"
    if answer.data.get("problem"):
        reason = str(answer.data["problem"]).replace("_", " ")
        text = translated("{model} answered in {seconds}, but not in the form asked for ({reason})")
        return text.format(model=answer.data["model"], seconds=seconds, reason=reason), "ERROR"
    text = translated("{model} answered in {seconds}")
    return text.format(model=answer.data["model"], seconds=seconds), "CHECKMARK"


def caches(layout: Any, context: Any, preferences: Any) -> None:
    """What is kept that can be made again, and how it goes."""
    asking.want("caches", asking.count_caches)
    answer = asking.answer("caches")
    if answer.problem:
        paragraph(layout, context, sentence(answer.problem), "ERROR")
    known = {one["name"]: one for one in (answer.data or {}).get("caches", [])}
    for name in [*CACHES, *(name for name in known if name not in CACHES)]:
        label, what = CACHES.get(name, (name.replace("_", " ").title(), ""))
        found = known.get(name)
        split = layout.split(factor=0.3)
        left = split.row()
        left.alignment = "RIGHT"
        left.label(text=label)
        row = split.split(factor=0.6)
        row.label(text=what)
        row = row.split(factor=0.4)
        size = row.row()
        size.alignment = "RIGHT"
        size.label(
            text="…" if answer.data is None and not answer.problem else size_text(found["bytes"] if found else 0)
        )
        clear = row.row()
        clear.enabled = found is not None and not answer.waits
        clear.operator("matchcut.clear_cache").cache = name
    row = _indented(layout)
    row.operator("matchcut.count_caches", icon="FILE_REFRESH")


def render(layout: Any, context: Any, preferences: Any) -> None:
    """What a scene's render settings begin with."""
    paragraph(layout, context, "A scene takes these on when its first reference is picked.")
    layout.prop(preferences, "render_engine")
    layout.prop(preferences, "render_workers")
    layout.prop(preferences, "preview_scale", slider=True)
    layout.prop(preferences, "preview_samples")
    row = layout.row(heading="Limit Samples")
    row.prop(preferences, "use_samples", text="")
    value = row.row()
    value.active = preferences.use_samples
    value.prop(preferences, "samples", text="")


def privacy(layout: Any, context: Any, preferences: Any) -> None:
    """What leaves this machine, and what was agreed to."""
    for text in PRIVACY:
        paragraph(layout, context, text)
    fact(layout, context, "Online Access", "Allowed" if bpy.app.online_access else "Off: nothing is sent or downloaded")
    row = _indented(layout)
    row.operator("screen.userpref_show", text="Open System Preferences").section = "SYSTEM"
    if not preferences.consents:
        fact(layout, context, "Agreements", "None")
    for number, entry in enumerate(preferences.consents):
        split = layout.split(factor=0.36)
        left = split.row()
        left.alignment = "RIGHT"
        left.label(text="Agreements" if number == 0 else "")
        row = split.row()
        since = translated("{name}, since {day}").format(name=entry.name, day=entry.given)
        row.label(text=since, translate=False)
        row.operator("matchcut.forget_consent").receiver = entry.name


def _indented(layout: Any) -> Any:
    """A row where values stand, beside the column of labels."""
    split = layout.split(factor=0.36)
    split.label(text="")
    return split.row()


SECTIONS = (
    ("evaluator", pgettext_n("Evaluator"), False, evaluator),
    ("judge", pgettext_n("Judges"), False, judge),
    ("render", pgettext_n("Render Defaults"), True, render),
    ("caches", pgettext_n("Caches"), True, caches),
    ("privacy", pgettext_n("Privacy"), True, privacy),
)
"""Name, label, whether it begins closed, and what draws it."""
