# SPDX-License-Identifier: GPL-3.0-or-later
"""How a scene is scored, besides what its reference and its judge are."""

from typing import Any

import bpy
from bpy.props import EnumProperty, FloatProperty

from ... import preferences
from ...preferences.judges import PROVIDERS

SGC_ITEMS = (
    ("ROBUST", "Robust", "Geometric consistency with what spoils it left out; comparable between scenes"),
    ("PAPER", "As Published", "Geometric consistency by the published definition"),
    ("OFF", "Off", "No geometric consistency: depth and motion are not rendered, which is quicker"),
)


FORMS = ("openai:MODEL", "anthropic:MODEL", "gemini:MODEL", "local:http://127.0.0.1:8000/v1#MODEL", "human")
"""How judges are written, where nothing is known of any."""


def known_judges(state: Any, context: Any, text: str) -> list[str]:
    """The judges that the preferences name and those of other scenes, then the forms of others."""
    stored = preferences.get()
    found = [stored.judge_of(provider.kind) for provider in PROVIDERS] if stored is not None else []
    found += [scene.matchcut.judge for scene in bpy.data.scenes]
    return [judge for judge in dict.fromkeys([*found, *FORMS]) if judge]


class MATCHCUT_PG_score(bpy.types.PropertyGroup):
    """How the scene is scored."""

    sgc: EnumProperty(  # type: ignore[valid-type]
        name="SGC",
        description="How the consistency of the scene's geometry from frame to frame is measured",
        items=SGC_ITEMS,
    )
    budget: FloatProperty(  # type: ignore[valid-type]
        name="Budget",
        description="Dollars that the judge may cost in one score; 0 for no limit. Nothing is sent beyond it",
        default=0.0,
        min=0.0,
        soft_max=100.0,
        precision=2,
    )


CLASSES = (MATCHCUT_PG_score,)
