# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface in other languages: `assets_ui/translations/LANGUAGE.json` holds every text of ours.

Blender looks up labels and tooltips by itself; texts that are put together pass through its `pgettext_iface` before
their parts are filled in.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import bpy

from .. import __package__ as base_package
from ..evaluator.protocol.files import read_json

FOLDER: Final = Path(__file__).resolve().parents[1] / "assets_ui" / "translations"
FORMAT: Final = "matchcut-translations/1"


def catalogue() -> dict[str, dict[tuple[str, str], str]]:
    """By language and by context and English text: the text in that language."""
    found = {}
    for path in sorted(FOLDER.glob("*.json")):
        texts = read_json(path, FORMAT)["texts"]
        # Blender looks for an operator's label in its own context, for anything else in the default one
        contexts = (bpy.app.translations.contexts.default, bpy.app.translations.contexts.operator_default)
        found[path.stem] = {(context, text): shown for text, shown in texts.items() for context in contexts}
    return found


def register() -> None:
    """Tell Blender of the catalogue."""
    bpy.app.translations.register(base_package, catalogue())


def unregister() -> None:
    """Take it back."""
    bpy.app.translations.unregister(base_package)
