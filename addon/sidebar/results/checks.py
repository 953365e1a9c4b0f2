# SPDX-License-Identifier: GPL-3.0-or-later
"""Which checks of a score are listed, and in which order. No bpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .record import CATEGORIES, RATINGS, Check

_CATEGORY_ORDER = {name: place for place, name in enumerate(name for names in CATEGORIES.values() for name in names)}
_RATING_ORDER = {rating: place for place, rating in enumerate(RATINGS)}


@dataclass(frozen=True)
class Filter:
    """What a check has to be to be listed; an empty value asks for nothing."""

    text: str = ""
    """Words that all have to be in the statement or in an entity's name, in any case."""
    ratings: frozenset[str] = frozenset()
    """Any of these keys of RATINGS."""
    category: str = ""
    """A category, or a dimension with all of its categories."""
    entity: str = ""
    setting: str = ""
    """One under which the check is judged as well."""

    def lets_through(self, check: Check) -> bool:
        """Whether the check is listed."""
        if self.ratings and check.rating not in self.ratings:
            return False
        if self.category and check.category not in CATEGORIES.get(self.category, (self.category,)):
            return False
        if self.entity and self.entity not in check.entities:
            return False
        if self.setting and self.setting not in check.settings:
            return False
        text = " ".join((check.statement, *check.entities)).casefold()
        return all(word in text for word in self.text.casefold().split())


SORTS = ("RATING", "CATEGORY", "START")


def listed(checks: Sequence[Check], wanted: Filter) -> list[bool]:
    """For each check whether it is listed."""
    return [wanted.lets_through(check) for check in checks]


def places(checks: Sequence[Check], sort: str) -> list[int]:
    """For each check its place in the list, sorted by one of SORTS; failing ones come first among equals."""
    order = sorted(range(len(checks)), key=lambda index: _key(checks[index], sort))
    found = [0] * len(checks)
    for place, index in enumerate(order):
        found[index] = place
    return found


def entities(checks: Sequence[Check]) -> list[str]:
    """The names of all entities that checks are about, in alphabetical order."""
    return sorted({name for check in checks for name in check.entities}, key=str.casefold)


def frames_text(first: int, last: int) -> str:
    """`12` or `12–40`."""
    return f"{first}" if first == last else f"{first}–{last}"


def _key(check: Check, sort: str) -> tuple[int, ...]:
    rating, category = _RATING_ORDER[check.rating], _CATEGORY_ORDER.get(check.category, len(_CATEGORY_ORDER))
    if sort == "START":
        return check.first, check.last, rating
    if sort == "CATEGORY":
        return category, rating, check.first, check.last
    return rating, check.first, check.last
