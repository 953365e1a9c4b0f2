# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scene keeps of its scores, and how their checks are listed."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import CollectionProperty, EnumProperty, IntProperty, PointerProperty, StringProperty

from ..properties import PATH_OPTIONS, MATCHCUT_PG_line
from . import show, store
from .checks import Filter, entities
from .record import CATEGORIES, title

SORT_ITEMS = (
    ("RATING", "Rating", "Failing checks first", "SORT_DESC", 0),
    ("CATEGORY", "Category", "By what is checked: camera, then static, then dynamic", "SORTALPHA", 1),
    ("START", "Time", "In the order in which the reference shows them", "SORTTIME", 2),
)
RATING_ITEMS = (
    ("unsatisfied", "Unsatisfied", "Checks that the render does not fulfil", "CANCEL", 1),
    ("partially_satisfied", "Partially Satisfied", "Checks that the render fulfils in part", "REMOVE", 2),
    ("not_judged", "Not Judged", "Checks that no judge has rated", "QUESTION", 4),
    ("fully_satisfied", "Satisfied", "Checks that the render fulfils", "CHECKMARK", 8),
)
SETTING_ITEMS = (
    ("ALL", "Any Setting", "Checks of every setting"),
    ("proxy", "Proxy", "Checks that count under Proxy as well"),
    ("simplified", "Simplified", "Checks that count under Simplified as well"),
    ("detailed", "Detailed", "Checks that count under Detailed as well"),
)
CATEGORY_ITEMS = (
    ("ALL", "Any Category", "Checks of every category"),
    *(
        (name, title(name), f"All checks of the {name} dimension" if name in CATEGORIES else f"Checks of {title(name)}")
        for dimension, names in CATEGORIES.items()
        for name in (dimension, *names)
    ),
)


def _entities(group: Any, context: Any, text: str) -> list[str]:
    score = store.known(group.id_data).score
    return entities(score.checks) if score is not None else []


def _selected(results: Any, context: Any) -> None:
    show.row_chosen(results.id_data)


class MATCHCUT_PG_check_filter(bpy.types.PropertyGroup):
    """Which checks are listed, and in which order."""

    text: StringProperty(  # type: ignore[valid-type]
        name="Search",
        description="Words that have to be in a check's statement, or in the name of an entity that it is about",
        options={"TEXTEDIT_UPDATE"},
    )
    ratings: EnumProperty(  # type: ignore[valid-type]
        name="Rating",
        description="Ratings that are listed; none chosen lists all",
        items=RATING_ITEMS,
        options={"ENUM_FLAG"},
    )
    category: EnumProperty(  # type: ignore[valid-type]
        name="Category",
        description="What the checks are about",
        items=CATEGORY_ITEMS,
    )
    entity: StringProperty(  # type: ignore[valid-type]
        name="Entity",
        description="Subject of the reference that the checks are about; empty lists all",
        search=_entities,
    )
    setting: EnumProperty(  # type: ignore[valid-type]
        name="Setting",
        description="Only checks that count under this setting as well",
        items=SETTING_ITEMS,
    )
    sort: EnumProperty(  # type: ignore[valid-type]
        name="Sort",
        description="Order of the list",
        items=SORT_ITEMS,
    )

    def wanted(self) -> Filter:
        """What is chosen, as `checks.listed` takes it."""
        return Filter(
            text=self.text,
            ratings=frozenset("" if rating == "not_judged" else rating for rating in self.ratings),
            category="" if self.category == "ALL" else self.category,
            entity=self.entity,
            setting="" if self.setting == "ALL" else self.setting,
        )


class MATCHCUT_PG_check(bpy.types.PropertyGroup):
    """One check of the score that is shown: its `name` is the check's key. All else is read from the score's folder."""


class MATCHCUT_PG_results(bpy.types.PropertyGroup):
    """The score that is shown, as lines to show, and where its files lie."""

    folder: StringProperty(subtype="DIR_PATH", options=PATH_OPTIONS)  # type: ignore[valid-type]
    lines: CollectionProperty(type=MATCHCUT_PG_line)  # type: ignore[valid-type]
    checks: CollectionProperty(type=MATCHCUT_PG_check)  # type: ignore[valid-type]
    active: IntProperty(  # type: ignore[valid-type]
        name="Check",
        description="Check that is shown below; choosing one goes to its frame",
        default=-1,
        update=_selected,
    )
    selected: StringProperty()  # type: ignore[valid-type]
    """Key of the check that was chosen last: it stays chosen when another score comes in."""
    filter: PointerProperty(type=MATCHCUT_PG_check_filter)  # type: ignore[valid-type]
    scene_id: StringProperty()  # type: ignore[valid-type]
    """By which the folders of the scene's scores name it; it was made for the scene called `scene_name` then."""
    scene_name: StringProperty()  # type: ignore[valid-type]


CLASSES = (
    MATCHCUT_PG_check_filter,
    MATCHCUT_PG_check,
    MATCHCUT_PG_results,
)
