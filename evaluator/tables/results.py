# SPDX-License-Identifier: GPL-3.0-or-later
"""What `judge run` left in its folder, as values of a benchmark's checks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ValidationError

from ..checklist.benchmark import LoadedBenchmark
from ..checklist.controls import CONTROLS
from ..checklist.records import SETTINGS, Setting
from ..judge.records import RATING_VALUES, Rating
from ..judge.units import JudgedUnit, judgment_path, read_units
from ..protocol.errors import BadInputError
from ..scoring.bootstrap import SAMPLES, SEED, draw_videos, video_indices
from ..scoring.items import ClipKey, Items, items_of
from .board import Board, RunKey, RunValues

Values = Mapping[str, float]

NOT_RUN: Final = "not_run"
MISSING: Final = "judgment_missing"
CHANGED: Final = "checks_changed"
"""A judgment whose checks are no longer those of the clip."""


class _Rated(BaseModel):
    check: str
    rating: Rating


class _Judgment(BaseModel):
    """Of a Judgment only what scores need: the other fields are most of a file."""

    format: Literal["matchcut-judgment/1"]
    key: str
    video: str
    clip: str
    setting: Setting
    ratings: list[_Rated]


@dataclass(frozen=True)
class JudgeResults:
    """All that one judge rated; `runs` by number of the repetition, 0 the first."""

    judge: str
    provider: str
    model: str
    runs: Mapping[int, Mapping[RunKey, RunValues]]

    def contestants(self) -> JudgeResults:
        """Without the controls. Raises BadInputError where nothing else was judged."""
        left = {
            repeat: {key: run for key, run in runs.items() if key.configuration not in CONTROLS}
            for repeat, runs in self.runs.items()
        }
        if not left.get(0):
            raise BadInputError(f"{self.judge} rated nothing but {', '.join(CONTROLS)}; see matchcut judge reliability")
        return replace(self, runs=left)


@dataclass(frozen=True)
class BenchmarkItems:
    """A benchmark's checks, numbered through under each setting."""

    benchmark: LoadedBenchmark
    items: Mapping[Setting, Items]

    @property
    def name(self) -> str:
        """Name and version of the benchmark."""
        return f"{self.benchmark.record.name} {self.benchmark.record.version}"

    @property
    def videos(self) -> list[str]:
        """Names in the benchmark's order."""
        return [video.id for video in self.benchmark.videos]

    def board(
        self, runs: Mapping[RunKey, RunValues], *, samples: int = SAMPLES, seed: int = SEED,
        disqualified: Collection[str] = (),
    ) -> Board:  # fmt: skip
        """Scores of runs, with a bootstrap over the benchmark's videos."""
        video_of = {setting: video_indices(items.clips, self.videos) for setting, items in self.items.items()}
        return Board(self.items, runs, video_of, draw_videos(len(self.videos), samples=samples, seed=seed),
                     disqualified=disqualified)  # fmt: skip


def number_items(benchmark: LoadedBenchmark) -> BenchmarkItems:
    """The checks of every setting."""
    clips = benchmark.clips
    return BenchmarkItems(benchmark, {setting: items_of(clips, setting) for setting in SETTINGS})


def known_judges(results: Path) -> list[str]:
    """The judges that rated anything in `results`. Raises BadInputError where there is none."""
    judges = sorted({unit.judge for unit in read_units(results)})
    if not judges:
        raise BadInputError(f"{results}: holds nothing that was judged (units/); run matchcut judge run first")
    return judges


def choose_judge(results: Path, judge: str | None) -> str:
    """The judge of that name, or the only one. Raises BadInputError where it is not clear which is meant."""
    judges = known_judges(results)
    if judge is None and len(judges) == 1:
        return judges[0]
    if judge is None:
        raise BadInputError(f"{results}: several judges rated; choose one by --judge: {', '.join(judges)}")
    if judge not in judges:
        raise BadInputError(f"--judge {judge}: did not rate anything in {results}; there are: {', '.join(judges)}")
    return judge


def read_judge(
    results: Path, checks: BenchmarkItems, judge: str, *, configurations: Sequence[str] = (), repeats: bool = False
) -> JudgeResults:
    """Read what a judge rated, and only the first time without `repeats`.

    With `configurations` it is those alone.

    A clip without ratings has a reason: that of its failure, `not_run`, `judgment_missing` (a key without its file) or
    `checks_changed`. Videos that the benchmark does not have are left out. Raises BadInputError where a file is
    damaged, nothing is left, or a named configuration was not judged.
    """
    units: defaultdict[int, defaultdict[RunKey, list[JudgedUnit]]] = defaultdict(lambda: defaultdict(list))
    first: JudgedUnit | None = None
    for unit in read_units(results, judge=judge):
        wanted = unit.video in checks.videos and (not configurations or unit.configuration in configurations)
        if wanted and (repeats or unit.repeat == 0):
            units[unit.repeat][RunKey(unit.configuration, unit.setting)].append(unit)
            first = first or unit
    if first is None:
        raise BadInputError(f"{results}: {judge} rated nothing of {', '.join(configurations) or 'this benchmark'}")
    for name in configurations:
        if not any(key.configuration == name for runs in units.values() for key in runs):
            raise BadInputError(f"{results}: {judge} rated nothing of the configuration {name!r}")
    runs = {
        repeat: {
            key: _values(results, checks.items[key.setting], found) for key, found in sorted(of.items(), key=_name)
        }
        for repeat, of in sorted(units.items())
    }
    return JudgeResults(judge, first.provider, first.model, runs)


def _name(item: tuple[RunKey, list[JudgedUnit]]) -> tuple[str, int]:
    return item[0].configuration, SETTINGS.index(item[0].setting)


def _values(results: Path, items: Items, units: Sequence[JudgedUnit]) -> RunValues:
    rated: dict[ClipKey, Values] = {}
    reasons: dict[ClipKey, str] = dict.fromkeys(items.clips, NOT_RUN)
    for unit in units:
        for clip in unit.clips:
            key = (unit.video, clip.clip)
            if key not in reasons:
                continue  # a clip that the benchmark no longer has
            if clip.key is None or clip.reason:
                reasons[key] = clip.reason or MISSING
                continue
            found = _read(judgment_path(results, clip.key), clip.key, unit, clip.clip, items.numbers[key])
            if isinstance(found, str):
                reasons[key] = found
            else:
                rated[key] = found
    missing = Counter(reason for key, reason in reasons.items() if key not in rated)
    return RunValues(items.values(rated.items()), len(rated), missing)


def _read(path: Path, key: str, unit: JudgedUnit, clip: str, asked: Mapping[str, int]) -> Values | str:
    """The values of a judgment's checks, or why they cannot be used."""
    try:
        judgment = _Judgment.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return MISSING
    except (ValidationError, OSError) as error:
        first = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error.strerror
        raise BadInputError(f"{path}: is damaged ({first}); delete it and run matchcut judge run again") from error
    if (judgment.key, judgment.video, judgment.clip, judgment.setting) != (key, unit.video, clip, unit.setting):
        raise BadInputError(f"{path}: is not the judgment of {unit.video}, {clip}, {unit.setting}; delete it")
    values = {rating.check: RATING_VALUES[rating.rating] for rating in judgment.ratings}
    return values if values.keys() == asked.keys() else CHANGED
