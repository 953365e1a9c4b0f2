# SPDX-License-Identifier: GPL-3.0-or-later
"""From ratings to scores (paper, appendix C.3).

Items are averaged within a clip and dimension, then over the clips that have an item in it, all clips weighing the
same; the overall score is the mean of the three dimensions. Categories follow the same procedure. 0–100.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import fsum
from typing import Final, Literal

from ..checklist.records import DIMENSIONS, Category, Clip, Setting
from ..judge.records import Judgment, OperationalFailure
from .records import ChecklistScore, Score

SCALE: Final = 100.0

ClipKey = tuple[str, str]  # video, clip
Values = Mapping[ClipKey, Mapping[str, float]]  # the value of every rated check of every judged clip


def score_checklist(
    clips: Sequence[Clip],
    judgments: Sequence[Judgment],
    failures: Sequence[OperationalFailure],
    setting: Setting,
    *,
    not_judged_reason: str | None = None,
) -> ChecklistScore:
    """Scores of one reconstruction under one setting, each beside its coverage.

    A clip without a judgment is left out of the means and lowers the coverage; it never counts as zero. With
    `not_judged_reason` everything is unscored for that reason. Raises ValueError where a judgment is of another
    setting, of a clip that is not among `clips`, or one of two for the same clip.
    """
    applicable = {(clip.video, clip.id): clip for clip in clips if clip.applicable(setting)}
    values: dict[ClipKey, dict[str, float]] = {}
    for judgment in judgments if not_judged_reason is None else ():
        key = (judgment.video, judgment.clip)
        if judgment.setting != setting or key not in applicable or key in values:
            raise ValueError(f"the judgment of {key} under {judgment.setting} has no place in a score under {setting}")
        asked = {check.id for check in applicable[key].applicable(setting)}
        values[key] = {rating.check: rating.value for rating in judgment.ratings if rating.check in asked}

    state, reason = _state(len(values), len(applicable), setting, failures)
    if not_judged_reason is not None:
        reason = not_judged_reason
    dimensions = {
        dimension: _score(applicable, values, categories, setting, dimension, reason)
        for dimension, categories in DIMENSIONS.items()
    }
    categories: dict[Category, Score] = {
        category: _score(applicable, values, (category,), setting, category, reason)
        for names in DIMENSIONS.values()
        for category in names
    }
    everything = _score(applicable, values, tuple(categories), setting, "any dimension", reason)
    found = [score.value for score in dimensions.values() if score.value is not None]
    if len(found) == len(dimensions):
        overall = everything.model_copy(update={"value": fsum(found) / len(found)})
    else:
        missing = "; ".join(f"{name}: {score.reason}" for name, score in dimensions.items() if score.value is None)
        why = reason if not values else f"a dimension has no score ({missing})"
        overall = everything.model_copy(update={"value": None, "reason": why})
    return ChecklistScore(
        setting=setting, state=state, reason=reason, overall=overall, dimensions=dimensions, categories=categories
    )


def _state(
    judged: int, expected: int, setting: Setting, failures: Sequence[OperationalFailure]
) -> tuple[Literal["judged", "partly_judged", "not_judged"], str]:
    if expected == 0:
        return "not_judged", f"no check applies under {setting}"
    if judged == expected:
        return "judged", ""
    counts = Counter(failure.reason for failure in failures if failure.setting == setting)
    reasons = ", ".join(f"{reason} ({count})" for reason, count in sorted(counts.items()))
    why = f"{judged} of {expected} clips judged" + (f"; failed: {reasons}" if reasons else "")
    return ("partly_judged" if judged else "not_judged"), why


def _score(
    applicable: Mapping[ClipKey, Clip],
    values: Values,
    categories: Collection[Category],
    setting: Setting,
    name: str,
    reason: str,
) -> Score:
    """The mean over clips of the means over their items in `categories`; `reason` says why clips are missing."""
    clip_means: list[float] = []
    clips_expected = checks_scored = checks_expected = 0
    for key, clip in applicable.items():
        items = [check.id for check in clip.applicable(setting) if check.category in categories]
        if not items:
            continue
        clips_expected += 1
        checks_expected += len(items)
        rated = [values[key][item] for item in items if item in values[key]] if key in values else []
        checks_scored += len(rated)
        if rated:
            clip_means.append(fsum(rated) / len(rated))
    if not clips_expected:
        reason = f"no check of {name} applies under {setting}"
    elif checks_scored == checks_expected:
        reason = ""
    # fsum rounds once, so the order of the clips changes no digit
    value = SCALE * (fsum(clip_means) / len(clip_means)) if clip_means else None
    return Score(
        value=value,
        clips_scored=len(clip_means),
        clips_expected=clips_expected,
        checks_scored=checks_scored,
        checks_expected=checks_expected,
        reason=reason,
    )
