# SPDX-License-Identifier: GPL-3.0-or-later
"""The preferences' buttons."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.app.translations import pgettext_iface as translated
from bpy.props import StringProperty

from ...evaluator.protocol.errors import BadInputError
from .. import jobs
from ..sidebar.base import Action
from . import asking, forget_consent, get
from .judges import PROVIDERS, receiver

_LABELS = {provider.kind: provider.label for provider in PROVIDERS}


class MATCHCUT_OT_test_judge(Action, bpy.types.Operator):
    """Test."""

    bl_idname = "matchcut.test_judge"
    bl_label = "Test"
    bl_description = (
        "Ask this judge about one tiny picture made for it: shows whether key, model and address work, and costs what a"
        " few hundred tokens cost. Without a model only the key is tried and the models are listed, at no cost"
    )
    bl_options = {"INTERNAL"}

    kind: StringProperty(options={"HIDDEN", "SKIP_SAVE"})  # type: ignore[valid-type]

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is an evaluator to ask with."""
        if jobs.evaluator().problem:
            cls.poll_message_set("Install the evaluator first")
            return False
        return True

    def _act(self, context: Any) -> Any:
        judge = get().judge_of(self.kind, ask_for_models=True)
        if not judge:
            raise BadInputError("no address is given; enter the server's, which ends in /v1")
        if receiver(judge) and not bpy.app.online_access:
            raise BadInputError("online access is off; allow it in Preferences > System > Network")
        return asking.test_judge(self.kind, judge)


class MATCHCUT_OT_store_judge_key(Action, bpy.types.Operator):
    """Store Key."""

    bl_idname = "matchcut.store_judge_key"
    bl_label = "Store Key"
    bl_description = (
        "Put a key into the system's keyring, where the evaluator looks for it. Blender keeps it neither in its"
        " preferences nor in a file"
    )
    bl_options = {"INTERNAL"}  # neither in the Info editor nor repeated

    kind: StringProperty(options={"HIDDEN", "SKIP_SAVE"})  # type: ignore[valid-type]
    key: StringProperty(  # type: ignore[valid-type]
        name="Key",
        description="Paste the key that the service gave you",
        subtype="PASSWORD",
        options={"HIDDEN", "SKIP_SAVE"},
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        """There is an evaluator, which speaks to the keyring."""
        if jobs.evaluator().problem:
            cls.poll_message_set("Install the evaluator first")
            return False
        return True

    def invoke(self, context: Any, event: Any) -> Any:
        """Ask for the key."""
        self.key = ""
        title = translated("Key of {name}").format(name=_LABELS.get(self.kind, self.kind))
        return context.window_manager.invoke_props_dialog(self, width=420, title=title, confirm_text="Store Key")

    def draw(self, context: Any) -> None:
        """The field alone."""
        layout: Any = self.layout
        layout.use_property_split = True
        layout.prop(self, "key")

    def _act(self, context: Any) -> Any:
        key, self.key = self.key, ""
        if not key.strip():
            raise BadInputError("no key was entered; paste it, and try again")
        return asking.store_key(self.kind, key.strip())


class MATCHCUT_OT_forget_judge_key(Action, bpy.types.Operator):
    """Forget Key."""

    bl_idname = "matchcut.forget_judge_key"
    bl_label = "Forget Key"
    bl_description = "Remove this key from the system's keyring"
    bl_options = {"INTERNAL"}

    kind: StringProperty(options={"HIDDEN", "SKIP_SAVE"})  # type: ignore[valid-type]

    def invoke(self, context: Any, event: Any) -> Any:
        """Ask first."""
        title = translated("Forget the key of {name}?").format(name=_LABELS.get(self.kind, self.kind))
        return context.window_manager.invoke_confirm(self, event, title=title, confirm_text="Forget Key")

    def _act(self, context: Any) -> Any:
        return asking.forget_key(self.kind)


class MATCHCUT_OT_look_for_keys(Action, bpy.types.Operator):
    """Look Again."""

    bl_idname = "matchcut.look_for_keys"
    bl_label = "Look Again"
    bl_description = "Look again for keys in the system's keyring"
    bl_options = {"INTERNAL"}

    def _act(self, context: Any) -> Any:
        return asking.look_for_keys()


class MATCHCUT_OT_count_caches(Action, bpy.types.Operator):
    """Count Again."""

    bl_idname = "matchcut.count_caches"
    bl_label = "Count Again"
    bl_description = "Count again how much the caches hold"
    bl_options = {"INTERNAL"}

    def _act(self, context: Any) -> Any:
        return asking.count_caches()


class MATCHCUT_OT_clear_cache(Action, bpy.types.Operator):
    """Clear."""

    bl_idname = "matchcut.clear_cache"
    bl_label = "Clear"
    bl_description = "Empty this cache; what is needed again is made or downloaded again"
    bl_options = {"INTERNAL"}

    cache: StringProperty(options={"HIDDEN", "SKIP_SAVE"})  # type: ignore[valid-type]

    def _act(self, context: Any) -> Any:
        return asking.clear_cache(self.cache)


class MATCHCUT_OT_forget_consent(Action, bpy.types.Operator):
    """Forget."""

    bl_idname = "matchcut.forget_consent"
    bl_label = "Forget"
    bl_description = "Take this agreement back: you are asked again before anything is sent there"
    bl_options = {"INTERNAL"}

    receiver: StringProperty(options={"HIDDEN", "SKIP_SAVE"})  # type: ignore[valid-type]

    def _act(self, context: Any) -> None:
        forget_consent(self.receiver)


CLASSES = (
    MATCHCUT_OT_test_judge,
    MATCHCUT_OT_store_judge_key,
    MATCHCUT_OT_forget_judge_key,
    MATCHCUT_OT_look_for_keys,
    MATCHCUT_OT_count_caches,
    MATCHCUT_OT_clear_cache,
    MATCHCUT_OT_forget_consent,
)
