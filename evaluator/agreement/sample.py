# SPDX-License-Identifier: GPL-3.0-or-later
"""Which comparisons people are asked for: balanced by exposure; scores do not enter (paper, appendix D)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from typing import Final, TypeVar

from ..checklist.benchmark import LoadedBenchmark
from ..checklist.records import DIMENSIONS, SETTINGS, Clip, Dimension, Setting
from ..protocol.errors import BadInputError
from .records import Study, Task

TASKS_PER_DIMENSION: Final = 480

T = TypeVar("T")
Available = Callable[[str, Setting, str], bool]
"""Whether there is a reconstruction of (configuration, setting, video)."""


def sample_study(
    benchmark: LoadedBenchmark,
    configurations: Sequence[str],
    available: Available,
    *,
    tasks: int = TASKS_PER_DIMENSION,
    settings: Collection[Setting] = SETTINGS,
    seed: int = 0,
) -> Study:
    """Draw `tasks` comparisons for each dimension.

    Settings, videos, configurations, pairs of them and clips come up as evenly as the checks and the reconstructions
    allow, and each configuration is A about as often as B. Raises BadInputError where nothing can be compared.
    """
    chance = random.Random(seed)  # noqa: S311  (no secret)
    drawn: list[Task] = []
    for dimension in DIMENSIONS:
        drawn += _sample(benchmark, sorted(configurations), available, dimension, tasks, settings, chance)
    names = [f"t{number:05d}" for number in range(len(drawn))]
    chance.shuffle(names)  # a task's name tells nothing of what it compares
    return Study(
        benchmark=f"{benchmark.record.name} {benchmark.record.version}",
        seed=seed,
        configurations=sorted(configurations),
        tasks=sorted(
            (task.model_copy(update={"id": name}) for task, name in zip(drawn, names, strict=True)),
            key=lambda task: task.id,
        ),
    )


def _sample(
    benchmark: LoadedBenchmark,
    configurations: Sequence[str],
    available: Available,
    dimension: Dimension,
    tasks: int,
    settings: Collection[Setting],
    chance: random.Random,
) -> list[Task]:
    clips = {
        (setting, video.id): found
        for setting in settings
        for video in benchmark.videos
        if (found := [clip for clip in video.clips if _asks(clip, setting, dimension)])
    }
    pairs: dict[tuple[Setting, str], list[tuple[str, str]]] = {}
    for setting, video in clips:
        there = [name for name in configurations if available(name, setting, video)]
        if len(there) > 1:
            pairs[setting, video] = list(combinations(there, 2))
    if not pairs:
        raise BadInputError(
            f"{benchmark.folder}: no video with checks of {dimension} has reconstructions of two configurations"
        )
    seen: Counter[object] = Counter()
    first_more: Counter[str] = Counter()  # how often each was A, less how often it was B
    drawn = []
    for _ in range(tasks):
        setting = _least(sorted({setting for setting, _ in pairs}), lambda s: (seen[s],), chance)
        here = [video for of, video in pairs if of == setting]
        video = _least(here, lambda v, s=setting: (seen[v], seen[s, v]), chance)  # type: ignore[misc]
        pair = _least(pairs[setting, video], _pair_exposure(seen, setting, video), chance)
        clip = _least(
            [clip.id for clip in clips[setting, video]],
            lambda c, p=pair, s=setting, v=video: (seen[s, v, c, p], seen[v, c]),  # type: ignore[misc]
            chance,
        )
        ends = list(pair)
        chance.shuffle(ends)
        a, b = sorted(ends, key=lambda name: first_more[name])
        first_more[a] += 1
        first_more[b] -= 1
        keys = [
            setting, video, (setting, video), pair, *pair, (pair, setting), (setting, video, clip, pair), (video, clip),
            *((name, setting) for name in pair), *((name, video) for name in pair),
        ]  # fmt: skip
        seen.update(keys)
        drawn.append(Task(id="t", dimension=dimension, setting=setting, video=video, clip=clip, a=a, b=b))
    return drawn


def _pair_exposure(
    seen: Mapping[object, int], setting: Setting, video: str
) -> Callable[[tuple[str, str]], tuple[int, ...]]:
    def exposure(pair: tuple[str, str]) -> tuple[int, ...]:
        return (
            seen[pair],
            max(seen[name] for name in pair),
            sum(seen[name] for name in pair),
            sum(seen[name, setting] for name in pair) + seen[pair, setting],
            sum(seen[name, video] for name in pair),
        )

    return exposure


def _least(options: Sequence[T], exposure: Callable[[T], tuple[int, ...]], chance: random.Random) -> T:
    """One of the options of the least exposure, at random."""
    found = [exposure(option) for option in options]
    least = min(found)
    return chance.choice([option for option, of in zip(options, found, strict=True) if of == least])


def _asks(clip: Clip, setting: Setting, dimension: Dimension) -> bool:
    return any(check.category in DIMENSIONS[dimension] for check in clip.applicable(setting))
