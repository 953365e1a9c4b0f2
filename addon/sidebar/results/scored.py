# SPDX-License-Identifier: GPL-3.0-or-later
"""What the parts of the Results panel begin with."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from ..base import SidebarPanel
from ..layout import text_lines
from . import store
from .record import Score

_WHEN = re.compile(r"^(?:At|In|On|From|Between|During|Over|By) local frames? [0-9]+(?: ?(?:to|and|-|–) ?[0-9]+)?,? ")


class ScoredPanel(SidebarPanel):
    """A part of the results, there once a score is."""

    bl_parent_id = "MATCHCUT_PT_results"

    @classmethod
    def poll(cls, context: Any) -> bool:
        """A score is shown."""
        return store.known(context.scene).score is not None

    def score(self, context: Any) -> Score:
        """The one that is shown; `poll` has seen to it."""
        score = store.known(context.scene).score
        assert score is not None
        return score


def brief(statement: str) -> str:
    """A statement without the frames that it begins with, which a row shows otherwise."""
    rest = _WHEN.sub("", statement)
    return rest[:1].upper() + rest[1:]


def shortened(context: Any, text: str, share: float = 1.0) -> str:
    """As much of a text as fits one line of that share of the sidebar, after an icon, with an ellipsis where cut."""
    lines = text_lines(context, text, share, "BLANK1")
    return lines[0] if len(lines) == 1 else f"{lines[0]}…"


def when(seconds: float) -> str:
    """A time as the panel names it, `30 Nov 13:52`, in the local time zone."""
    moment = datetime.fromtimestamp(seconds)  # noqa: DTZ006 (local time is what an artist's clock shows)
    return f"{moment.day} {moment:%b %H:%M}"
