# SPDX-License-Identifier: GPL-3.0-or-later
"""How much a checklist asks: the counts of the paper's appendix A.1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..protocol.timeline import Timeline
from .records import DIMENSIONS, SETTINGS, Clip


def checklist_statistics(clips: Sequence[Clip], reference: Timeline | None = None) -> dict[str, Any]:
    """Counts of clips, entities and checks, as plain JSON values.

    `checks` has one row per category and setting; a check of several settings counts in each of them, and once in
    `records`. Seconds are there where `reference` gives the rate: a clip lasts frame count / rate.
    """
    frames = [clip.frame_count for clip in clips]
    counts = Counter(
        (check.category, setting) for clip in clips for check in clip.checks for setting in set(check.settings)
    )
    statistics: dict[str, Any] = {
        "videos": len({clip.video for clip in clips}),
        "clips": len(clips),
        "clips_crossing_a_cut": sum(bool(clip.shot_transitions) for clip in clips),
        "entities": sum(len(clip.entities) for clip in clips),
        "frames": {"total": sum(frames), "shortest": min(frames), "longest": max(frames)},
        "records": sum(len(clip.checks) for clip in clips),
        "checks": {
            category: {setting: counts[category, setting] for setting in SETTINGS}
            for categories in DIMENSIONS.values()
            for category in categories
        },
        "checks_per_setting": {
            setting: sum(count for (_, of), count in counts.items() if of == setting) for setting in SETTINGS
        },
    }
    if reference is not None:
        seconds = [float(count / reference.rate) for count in frames]
        statistics["clip_seconds"] = {
            "mean": round(sum(seconds) / len(seconds), 3),
            "shortest": round(min(seconds), 3),
            "longest": round(max(seconds), 3),
        }
    return statistics
