# SPDX-License-Identifier: GPL-3.0-or-later
"""The judge's scores of both sides of a comparison: same dimension, clip and setting (paper, appendix D)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..scoring.items import MEASURES
from ..tables.board import RunKey, RunValues
from ..tables.results import BenchmarkItems
from .records import Study


def automatic_scores(
    study: Study, checks: BenchmarkItems, runs: Mapping[RunKey, RunValues]
) -> dict[str, tuple[float | None, float | None]]:
    """(score of A, score of B) of each task, 0 … 1; None where the clip has none."""
    means = {key: checks.items[key.setting].tally(run.values).means for key, run in runs.items()}
    places = {
        setting: {clip: index for index, clip in enumerate(items.clips)} for setting, items in checks.items.items()
    }

    def score(key: RunKey, video: str, clip: str, column: int) -> float | None:
        place = places[key.setting].get((video, clip))
        if key not in means or place is None:
            return None
        value = float(means[key][place, column])
        return None if np.isnan(value) else value

    found = {}
    for task in study.tasks:
        column = MEASURES.index(task.dimension)
        a, b = (score(RunKey(name, task.setting), task.video, task.clip, column) for name in (task.a, task.b))
        found[task.id] = a, b
    return found
