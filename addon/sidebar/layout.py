# SPDX-License-Identifier: GPL-3.0-or-later
"""Text in a narrow sidebar: wrapped lines, and label and value side by side."""

from typing import Any

import blf
import bpy
from bpy.app.translations import pgettext_iface as translated

from .icons import icon_id

MARGIN = 58
"""Pixels at resolution scale 1 that the tabs and a panel's edges take from the region's width."""
ICON = 24
"""Pixels at resolution scale 1 that an icon before a text takes."""
VALUE_SHARE = 0.64
"""Share of the width to the right of a label column."""
GAP = 0.04
"""Share of the width between the two."""


def wrap(text: str, width: float, text_width: Any) -> list[str]:
    """Break `text` between words into lines that `text_width(line)` says are at most `width` pixels wide.

    A word that is too long by itself (a path) is broken where it has to be.
    """
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}".lstrip()
        if text_width(joined) <= width:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        while word and text_width(word) > width:
            fits = max(1, next((n for n in range(len(word), 0, -1) if text_width(word[:n]) <= width), 1))
            lines[-1], word = word[:fits], word[fits:]
            lines.append("")
        lines[-1] = word
    return lines if lines[-1] else lines[:-1] or [""]


def text_lines(context: Any, text: str, share: float = 1.0, icon: str = "NONE") -> list[str]:
    """`text` in the interface's language, in lines for a share of the sidebar's width, beside an icon if any."""
    style = context.preferences.ui_styles[0].widget
    scale = context.preferences.system.ui_scale
    blf.size(0, style.points * scale)
    width = (context.region.width - MARGIN * scale) * share - scale * (0 if icon == "NONE" else ICON)
    return wrap(translated(text), max(60.0, width), lambda line: blf.dimensions(0, line)[0])


def paragraph(layout: bpy.types.UILayout, context: Any, text: str, icon: str = "NONE", *, alert: bool = False) -> None:
    """A text over as many lines as it needs, with an icon before the first."""
    column = layout.column(align=True)
    column.alert = alert
    for number, line in enumerate(text_lines(context, text, icon=icon)):
        shown = icon if number == 0 or icon == "NONE" else "BLANK1"
        column.label(text=line, icon=shown, translate=False)


def fact(layout: bpy.types.UILayout, context: Any, label: str, text: str, icon: str = "NONE") -> None:
    """A label on the left, aligned as Blender aligns those of properties, and a text beside it."""
    split = layout.split(factor=1 - VALUE_SHARE)
    left = split.column(align=True)
    left.alignment = "RIGHT"
    for line in text_lines(context, label, 1 - VALUE_SHARE):
        left.label(text=line, translate=False)
    right = split.column(align=True)
    for number, line in enumerate(text_lines(context, text, VALUE_SHARE - GAP, icon)):
        shown = icon if number == 0 or icon == "NONE" else "BLANK1"
        right.label(text=line, icon=shown, translate=False)


def empty_state(layout: bpy.types.UILayout, context: Any, icon: str, text: str) -> None:
    """What a panel shows before there is anything in it: an icon of ours, large, and what to do first."""
    column = layout.column()
    if icon_id(icon):
        picture = column.row()
        picture.alignment = "CENTER"
        picture.template_icon(icon_value=icon_id(icon), scale=2.5)
    for line in text_lines(context, text):
        row = column.row()
        row.alignment = "CENTER"
        row.label(text=line, translate=False)
