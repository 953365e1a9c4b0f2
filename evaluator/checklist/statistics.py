# SPDX-License-Identifier: GPL-3.0-or-later
"""How much a checklist or a benchmark asks: the counts of the paper's appendix A.1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any

from ..protocol.timeline import Timeline
from .benchmark import LoadedBenchmark
from .records import DIMENSIONS, SETTINGS, Category, Clip, Setting

Counts = Mapping[tuple[Category, Setting], int]


def benchmark_statistics(benchmark: LoadedBenchmark) -> dict[str, Any]:
    """As `checklist_statistics` over all clips, with the videos' lengths and how many clips each has."""
    timelines = {video.id: video.record.timeline for video in benchmark.videos}
    return {
        "benchmark": {"name": benchmark.record.name, "version": benchmark.record.version},
        **checklist_statistics(benchmark.clips, timelines),
        "video_seconds": _spread([float(timeline.duration) for timeline in timelines.values()]),
        "clips_per_video": _spread([len(video.clips) for video in benchmark.videos]),
    }


def checklist_statistics(
    clips: Sequence[Clip], reference: Timeline | Mapping[str, Timeline] | None = None
) -> dict[str, Any]:
    """Counts of clips, entities and checks, as plain JSON values.

    `checks` has one row per category and setting; a check of several settings counts in each of them, and once in
    `records`. Seconds are there where `reference` (of all clips, or one for each video) gives the rate: a clip lasts
    frame count / rate. `same_in_all_settings` says of camera and dynamics whether every setting asks for the same
    categories, subjects and intervals.
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
        "checks_per_dimension": {
            dimension: _of_categories(categories, counts) for dimension, categories in DIMENSIONS.items()
        },
        "checks_per_setting": _of_categories(
            [category for categories in DIMENSIONS.values() for category in categories], counts
        ),
        "checks_of_all_settings": sum(counts.values()),
        "same_in_all_settings": {
            "camera": all(_same_in_all_settings(clip, DIMENSIONS["camera"]) for clip in clips),
            "dynamic": all(_same_in_all_settings(clip, DIMENSIONS["dynamic"]) for clip in clips),
        },
    }
    if reference is not None:
        rates = [(reference if isinstance(reference, Timeline) else reference[clip.video]).rate for clip in clips]
        statistics["clip_seconds"] = _spread([float(count / rate) for count, rate in zip(frames, rates, strict=True)])
    return statistics


def _of_categories(categories: Sequence[Category], counts: Counts) -> dict[str, int]:
    return {setting: sum(counts[category, setting] for category in categories) for setting in SETTINGS}


def _same_in_all_settings(clip: Clip, categories: Sequence[Category]) -> bool:
    asked = [
        Counter(
            (check.category, tuple(sorted(check.subjects)), check.start, check.end)
            for check in clip.applicable(setting)
            if check.category in categories
        )
        for setting in SETTINGS
    ]
    return asked[0] == asked[1] == asked[2]


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {
        "total": round(fsum(values), 3),
        "mean": round(fsum(values) / len(values), 3),
        "shortest": round(min(values), 3),
        "longest": round(max(values), 3),
    }
