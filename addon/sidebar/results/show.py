# SPDX-License-Identifier: GPL-3.0-or-later
"""Goes to what a check is about: its frame, its two pictures, and the comparison in the 3D view."""

from __future__ import annotations

from typing import Any

from ....evaluator.protocol.errors import BadInputError
from . import pictures
from .record import Check, Score
from .store import known, selected


def show_check(scene: Any, score: Score, check: Check) -> None:
    """Go to the frame that tells most of the check, and have both pictures of it beside the list."""
    scene.frame_current = scene.frame_start + check.moment
    pictures.ask(score, check.moment)


def row_chosen(scene: Any) -> None:
    """Another row of the list is active: go to its check, unless it is the one that was chosen already."""
    score, check = known(scene).score, selected(scene)
    if score is not None and check is not None and check.key != scene.matchcut.results.selected:
        scene.matchcut.results.selected = check.key
        show_check(scene, score, check)


def choose(scene: Any, key: str) -> None:
    """Choose the check with this key and go to its frame. Raises BadInputError where the score has none such."""
    score = known(scene).score
    keys = [check.key for check in score.checks] if score is not None else []
    if score is None or key not in keys:
        raise BadInputError(f"{key}: the score that is shown has no such check; find the scores again")
    results = scene.matchcut.results
    results.selected = key  # first, so that the list's callback does not go there as well
    results.active = keys.index(key)
    show_check(scene, score, score.checks[results.active])


FAILING = ("unsatisfied", "partially_satisfied")


def next_failing(scene: Any, *, backwards: bool = False) -> None:
    """Choose the failing check whose frame comes next after the chosen one's, around the end; or the one before.

    Raises BadInputError where no check fails.
    """
    score, chosen = known(scene).score, selected(scene)
    checks = score.checks if score is not None else ()
    order = sorted(range(len(checks)), key=lambda index: (checks[index].moment, index))
    failing = [index for index in order if checks[index].rating in FAILING]
    if not failing:
        raise BadInputError("no check of the score that is shown fails")
    at = order.index(checks.index(chosen)) if chosen is not None and chosen in checks else -1
    places = [order.index(index) for index in failing]
    if backwards:
        found = next((place for place in reversed(places) if place < at), places[-1])
    else:
        found = next((place for place in places if place > at), places[0])
    choose(scene, checks[order[found]].key)


def compare_check(scene: Any) -> None:
    """Go to the chosen check's frame and have the reference beside the view there."""
    choose(scene, scene.matchcut.results.selected)
    compare = scene.matchcut.compare
    compare.mode, compare.source, compare.show = "SIDE", "VIEWPORT", True
