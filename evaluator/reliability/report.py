# SPDX-License-Identifier: GPL-3.0-or-later
"""All that the results of a judge tell about the judge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from ..checklist.controls import CEILING, CONTROLS, FLOOR
from ..checklist.records import Setting
from ..judge.records import RATING_VALUES, Rating
from ..protocol.errors import BadInputError
from ..protocol.files import read_json
from ..records import Record
from ..tables.board import RunKey
from ..tables.results import BenchmarkItems, JudgeResults
from .measure import accords, controls, known_runs, repeats, side_by_side
from .records import Known, Reliability, Second
from .statistics import Floats

RATINGS_FORMAT: Final = "matchcut-ratings/1"


class KnownRatings(Record):
    """The right ratings of one variant of a sample: setting → clip → check → rating."""

    format: Literal["matchcut-ratings/1"] = RATINGS_FORMAT
    sample: str
    variant: str
    ratings: dict[Setting, dict[str, dict[str, Rating]]]


def reliability(
    checks: BenchmarkItems,
    ratings: JudgeResults,
    draws: Floats,
    *,
    own_configurations: Sequence[str] = (),
    second: JudgeResults | None = None,
    known: Path | None = None,
    of: str = "",
) -> Reliability:
    """Everything that `ratings` (with repeats) allows; `missing` says what there is nothing for.

    `known` is a file of right ratings of the configuration `of`. Raises BadInputError where it does not fit.
    """
    first = ratings.runs.get(0, {})
    missing = []
    again = repeats(checks, ratings, draws)
    if again is None:
        missing.append("repeats: nothing was rated more than once; run judge run with --repeats")
    other = None
    if second is None:
        missing.append("second: no second judge; name one by --second")
    else:
        runs = second.runs.get(0, {})
        labels = side_by_side(checks, [first, runs], [key for key in first if key in runs])
        other = Second(judge=second.judge, accords=accords(labels, draws))
    ends = {name: controls(checks, ratings, name) for name in CONTROLS}
    missing += [f"{name}: not judged; make it by judge controls, and judge it" for name in CONTROLS if not ends[name]]
    right = None
    if known is None:
        missing.append("known: no right ratings; name them by --known and --of")
    else:
        right = _known(checks, ratings, draws, known, of)
    return Reliability(
        benchmark=checks.name,
        judge=ratings.judge,
        own_configurations=list(own_configurations),
        repeats=again,
        second=other,
        ceiling=ends[CEILING],
        floor=ends[FLOOR],
        known=right,
        missing=missing,
    )


def _known(checks: BenchmarkItems, ratings: JudgeResults, draws: Floats, path: Path, of: str) -> Known:
    record = KnownRatings.from_data(read_json(path, RATINGS_FORMAT), str(path))
    values = {
        setting: {clip: {check: RATING_VALUES[one] for check, one in rated.items()} for clip, rated in clips.items()}
        for setting, clips in record.ratings.items()
    }
    try:
        right = known_runs(checks, values)
    except ValueError as error:
        raise BadInputError(f"{path}: does not fit the benchmark: {error}") from error
    given = {RunKey("", key.setting): run for key, run in ratings.runs.get(0, {}).items() if key.configuration == of}
    if not given:
        raise BadInputError(f"--of {of}: {ratings.judge} rated no such configuration")
    labels = side_by_side(checks, [right, given], [key for key in right if key in given])
    return Known(configuration=of, accords=accords(labels, draws))
