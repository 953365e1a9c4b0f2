# SPDX-License-Identifier: GPL-3.0-or-later
"""From ratings to scores (paper, appendix C.3).

Items are averaged within a clip and dimension, then over the clips that have an item in it, all clips weighing the
same; the overall score is the mean of the three dimensions. Categories follow the same procedure. 0–100.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum
from typing import Final, Literal

import numpy as np

from ..checklist.records import DIMENSIONS, Clip, Setting
from ..judge.records import Judgment, OperationalFailure
from .items import ANY, CATEGORIES, MEASURES, ClipKey, Tally, items_of
from .records import ChecklistScore, Score

SCALE: Final = 100.0


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
    items = items_of(clips, setting)
    rated: dict[ClipKey, Mapping[str, float]] = {}
    for judgment in judgments if not_judged_reason is None else ():
        key = (judgment.video, judgment.clip)
        if judgment.setting != setting or key not in items.numbers or key in rated:
            raise ValueError(f"the judgment of {key} under {judgment.setting} has no place in a score under {setting}")
        rated[key] = {rating.check: rating.value for rating in judgment.ratings}
    reasons = Counter(failure.reason for failure in failures if failure.setting == setting)
    tally = items.tally(items.values(rated.items()))
    return score_tally(tally, setting, len(rated), reasons, not_judged_reason=not_judged_reason)


def score_tally(
    tally: Tally, setting: Setting, judged: int, reasons: Mapping[str, int], *, not_judged_reason: str | None = None
) -> ChecklistScore:
    """Scores out of the means within clips; `judged` clips have ratings, `reasons` count why others have none."""
    state, reason = _state(judged, len(tally.means), setting, reasons)
    if not_judged_reason is not None:
        reason = not_judged_reason
    scores = {name: _score(tally, column, name, setting, reason) for column, name in enumerate(MEASURES)}
    dimensions = {dimension: scores[dimension] for dimension in DIMENSIONS}
    everything = _score(tally, ANY, "any dimension", setting, reason)
    found = [score.value for score in dimensions.values() if score.value is not None]
    if len(found) == len(dimensions):
        overall = everything.model_copy(update={"value": fsum(found) / len(found)})
    else:
        missing = "; ".join(f"{name}: {score.reason}" for name, score in dimensions.items() if score.value is None)
        why = reason if not judged else f"a dimension has no score ({missing})"
        overall = everything.model_copy(update={"value": None, "reason": why})
    return ChecklistScore(
        setting=setting,
        state=state,
        reason=reason,
        overall=overall,
        dimensions=dimensions,
        categories={category: scores[category] for category in CATEGORIES},
    )


def _state(
    judged: int, expected: int, setting: Setting, reasons: Mapping[str, int]
) -> tuple[Literal["judged", "partly_judged", "not_judged"], str]:
    if expected == 0:
        return "not_judged", f"no check applies under {setting}"
    if judged == expected:
        return "judged", ""
    failed = ", ".join(f"{reason} ({count})" for reason, count in sorted(reasons.items()))
    why = f"{judged} of {expected} clips judged" + (f"; failed: {failed}" if failed else "")
    return ("partly_judged" if judged else "not_judged"), why


def _score(tally: Tally, column: int, name: str, setting: Setting, reason: str) -> Score:
    """The mean over clips of the means over their items; `reason` says why clips are missing."""
    means = tally.means[:, column]
    found = means[~np.isnan(means)]
    expected, rated = tally.expected[:, column], int(tally.rated[:, column].sum())
    asked = int(expected.sum())
    if not asked:
        reason = f"no check of {name} applies under {setting}"
    elif rated == asked:
        reason = ""
    return Score(
        # fsum rounds once, so the order of the clips changes no digit
        value=SCALE * (fsum(found.tolist()) / len(found)) if len(found) else None,
        clips_scored=len(found),
        clips_expected=int((expected > 0).sum()),
        checks_scored=rated,
        checks_expected=asked,
        reason=reason,
    )
