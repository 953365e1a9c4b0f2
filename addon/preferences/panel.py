# SPDX-License-Identifier: GPL-3.0-or-later
"""What Blender's Preferences show of Matchcut."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, IntProperty, StringProperty

from ... import __package__ as base_package
from .. import jobs
from ..sidebar.render.properties import ENGINE_ITEMS
from . import asking, judges, operators, sections

JUDGE_ITEMS = (
    ("none", "None", "Nothing is judged where a scene names no judge of its own"),
    ("openai", "OpenAI", "A model of OpenAI"),
    ("anthropic", "Anthropic", "A model of Anthropic"),
    ("gemini", "Gemini", "A model of Google"),
    ("local", "Own Server", "A server that you run, or another that speaks chat completions"),
)


def _evaluator_changed(preferences: Any, context: Any) -> None:
    jobs.refresh_evaluator()
    asking.forget("evaluator", "keys")
    judges.forget_keys()


def _models(kind: str) -> Any:
    def search(preferences: Any, context: Any, text: str) -> list[str]:
        return [name for name in judges.models_of(kind) if text.lower() in name.lower()]

    return search


def _changed(kind: str) -> Any:
    def forget(preferences: Any, context: Any) -> None:
        asking.forget(f"test {kind}")  # what it told was of another model

    return forget


def _model(kind: str) -> Any:
    return StringProperty(
        name="Model",
        description="Name of the model as the service gives it; Test without one lists those that there are",
        search=_models(kind),
        search_options={"SUGGESTION"},
        update=_changed(kind),
    )


class MATCHCUT_PG_consent(bpy.types.PropertyGroup):
    """A receiver that may be sent pictures (`name`), and the day on which that was agreed to."""

    given: StringProperty()  # type: ignore[valid-type]


class MatchcutPreferences(bpy.types.AddonPreferences):
    """What belongs to the machine rather than to a scene. Keys of judges are never stored here."""

    bl_idname = base_package

    evaluator_python: StringProperty(  # type: ignore[valid-type]
        name="Other Python",
        description="Python that has the evaluator's packages already; empty takes the one that Matchcut installs",
        subtype="FILE_PATH",
        update=_evaluator_changed,
    )
    judge_kind: EnumProperty(  # type: ignore[valid-type]
        name="Default Judge",
        description="Who rates the checks of scenes that name no judge of their own",
        items=JUDGE_ITEMS,
    )
    openai_model: _model("openai")  # type: ignore[valid-type]
    anthropic_model: _model("anthropic")  # type: ignore[valid-type]
    gemini_model: _model("gemini")  # type: ignore[valid-type]
    local_model: _model("local")  # type: ignore[valid-type]
    local_url: StringProperty(  # type: ignore[valid-type]
        name="Address",
        description="Where the server answers chat completions; it ends in /v1, as http://127.0.0.1:8000/v1",
        update=_changed("local"),
    )
    render_engine: EnumProperty(  # type: ignore[valid-type]
        name="Engine",
        description="What new scenes are rendered with",
        items=ENGINE_ITEMS,
    )
    preview_scale: IntProperty(  # type: ignore[valid-type]
        name="Preview Scale",
        description="Size of new scenes' previews in percent of the reference's",
        subtype="PERCENTAGE",
        default=50,
        min=1,
        max=100,
    )
    preview_samples: IntProperty(  # type: ignore[valid-type]
        name="Preview Samples",
        description="Samples per pixel of new scenes' previews",
        default=16,
        min=1,
        soft_max=256,
    )
    use_samples: BoolProperty(  # type: ignore[valid-type]
        name="Limit Samples",
        description="Render new scenes with fewer samples than they ask for when they are scored, too",
    )
    samples: IntProperty(  # type: ignore[valid-type]
        name="Samples",
        description="Samples per pixel of new scenes' renders",
        default=16,
        min=1,
        soft_max=1024,
    )
    render_workers: IntProperty(  # type: ignore[valid-type]
        name="Workers",
        description="How many Blenders render a new scene side by side; each needs the scene's memory",
        default=1,
        min=1,
        max=64,
        soft_max=8,
    )
    consents: CollectionProperty(type=MATCHCUT_PG_consent)  # type: ignore[valid-type]

    @property
    def judge(self) -> str:
        """The default judge as `--judge` takes it; empty for none."""
        return self.judge_of(self.judge_kind)

    def judge_of(self, kind: str, *, ask_for_models: bool = False) -> str:
        """The judge of one kind; empty where it is not named in full.

        With `ask_for_models` one without a model is named too, in the form that lists the models.
        """
        if kind not in (provider.kind for provider in judges.PROVIDERS):
            return ""
        named = judges.spec(kind, getattr(self, f"{kind}_model"), self.local_url)
        if named or not ask_for_models:
            return named
        if kind == "local":
            return f"local:{self.local_url.strip()}" if self.local_url.strip() else ""
        return kind

    def draw(self, context: Any) -> None:
        """Lay out the preferences."""
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        for name, label, closed, draw in sections.SECTIONS:
            header, body = sections.panel(layout, name, closed=closed)
            header.label(text=label)
            if body is not None:
                draw(body, context, self)


CLASSES = (*operators.CLASSES, MATCHCUT_PG_consent, MatchcutPreferences)


def unregister() -> None:
    """Forget what was asked."""
    asking.unregister()
