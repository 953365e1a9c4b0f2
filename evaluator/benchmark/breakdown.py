# SPDX-License-Identifier: GPL-3.0-or-later
"""Where scores come from and what they cost: by kind of video, against money and time, and what failed and why.

All of it from the raw records (raw.py) alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import fsum

import numpy as np

from ..checklist.records import Setting
from ..protocol.errors import BadInputError
from ..scoring.bootstrap import SAMPLES, SEED
from ..scoring.items import CATEGORIES
from ..tables.board import OVERALL, Board, RunKey
from ..tables.make import SCORES, finish_table, over_settings
from ..tables.records import Block, Cell, Row, Table
from ..tables.results import BenchmarkItems, JudgeResults, number_items, read_judge
from .raw import Raw, audit_faults, check_faults
from .records import AgentRun
from .sheet import Sheet, SheetBlock, Value

NO_KIND = "no kind named"
ALL_SETTINGS = "all settings"


# --- scores by kind of video


def kind_table(
    raw: Raw, ratings: JudgeResults, *, configurations: Sequence[str] = (), judges: Collection[str] = (),
    disqualified: dict[str, str], samples: int = SAMPLES, seed: int = SEED,
) -> Table:  # fmt: skip
    """Overall and dimension scores over the settings weighing the same, a block for each kind of video."""
    whole = number_items(raw.benchmark)
    board = whole.board(ratings.runs.get(0, {}), samples=samples, seed=seed, disqualified=disqualified)
    kinds = list(dict.fromkeys(video.record.kind or NO_KIND for video in raw.benchmark.videos))
    blocks = []
    for kind in kinds:
        videos = tuple(video for video in raw.benchmark.videos if (video.record.kind or NO_KIND) == kind)
        checks = number_items(replace(raw.benchmark, videos=videos))
        clips = sum(len(video.clips) for video in videos)
        note = f"{len(videos)} {'video' if len(videos) == 1 else 'videos'}, {clips} clips"
        try:
            rated = read_judge(raw.results, checks, ratings.judge, configurations=configurations)
        except BadInputError:  # damage was told when all was read: here it means that nothing of the kind was rated
            blocks.append(Block(title=kind, columns=list(SCORES), rows=[], note=f"{note}; nothing was judged"))
            continue
        names = {key.configuration for key in board.runs}
        runs = {key: run for key, run in rated.runs.get(0, {}).items() if key.configuration in names}
        part = checks.board(runs, samples=samples, seed=seed, disqualified=disqualified)
        rows = [
            Row(name=name, is_judge=name in judges, cells=[over_settings(part, name, [(1.0, one)]) for one in SCORES])
            for name in part.configurations
        ]
        blocks.append(Block(title=kind, columns=list(SCORES), rows=rows, note=note))
    return finish_table("kinds", whole, ratings, board, blocks, disqualified, seed=seed)


# --- cost and time against score


@dataclass(frozen=True)
class Spent:
    """What the runs of one configuration under one setting, or under all, used up; None where nobody told."""

    tasks: int
    handed_in: int
    usd: float | None
    """Mean of a task, over those whose cost is known."""
    usd_known: int
    minutes: float | None
    minutes_known: int
    turns: float | None
    tokens: float | None
    """In and out."""
    limits: int
    """Tasks that a limit ended."""
    lost_usd: float
    """In all, of tries that came to nothing."""


def spent(raw: Raw, configuration: str, setting: Setting | None = None) -> Spent:
    """What a configuration used up; a person's time and money are unknown."""
    runs = [one for one in raw.runs if one.configuration == configuration and setting in (None, one.setting)]
    lost = [
        one.usage.usd or 0.0
        for one in raw.failures
        if one.configuration == configuration and setting in (None, one.setting) and one.usage is not None
    ]
    usd = [run.usage.usd for run in runs if run.usage.usd is not None]
    minutes = [run.wall_seconds / 60 for run in runs if run.agent != "artist"]
    return Spent(
        tasks=len(runs),
        handed_in=sum(run.submitted for run in runs),
        usd=_mean(usd),
        usd_known=len(usd),
        minutes=_mean(minutes),
        minutes_known=len(minutes),
        turns=_mean([float(run.usage.turns) for run in runs if run.usage.turns is not None]),
        tokens=_mean([float(total) for run in runs if (total := _tokens(run)) is not None]),
        limits=sum(run.ended != "finished" for run in runs),
        lost_usd=fsum(lost),
    )


def _tokens(run: AgentRun) -> int | None:
    parts = (run.usage.input_tokens, run.usage.output_tokens)
    return None if None in parts else sum(part or 0 for part in parts)


def _mean(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None


@dataclass(frozen=True)
class Point:
    """One configuration's score beside what a task of it cost."""

    configuration: str
    score: Cell
    spent: Spent
    is_disqualified: bool
    cheapest: bool = False
    """No other one that counts has at least its score for at most its money, and one of them better."""
    fastest: bool = False


def points(raw: Raw, board: Board, setting: Setting | None = None) -> list[Point]:
    """Every configuration under one setting, or over all of them weighing the same."""
    found = []
    for name in board.configurations:
        if setting is not None and RunKey(name, setting) not in board.runs:
            continue
        cell = (
            over_settings(board, name, [(1.0, OVERALL)])
            if setting is None
            else board.cell([(1.0, RunKey(name, setting), OVERALL)])
        )
        found.append(Point(name, cell, spent(raw, name, setting), name in board.disqualified))
    cheapest = _front([(one.configuration, one.score.value, one.spent.usd) for one in found if not one.is_disqualified])
    fastest = _front(
        [(one.configuration, one.score.value, one.spent.minutes) for one in found if not one.is_disqualified]
    )
    return [replace(one, cheapest=one.configuration in cheapest, fastest=one.configuration in fastest) for one in found]


def _front(known: Sequence[tuple[str, float | None, float | None]]) -> set[str]:
    whole = [(name, score, cost) for name, score, cost in known if score is not None and cost is not None]
    return {
        name
        for name, score, cost in whole
        if not any(s >= score and c <= cost and (s > score or c < cost) for _, s, c in whole)
    }


COST_COLUMNS = (
    "configuration", "overall", "low", "high", "clips", "usd per task", "known", "minutes per task", "turns", "tokens",
    "limits", "usd lost", "on the front of",
)  # fmt: skip


def cost_sheet(raw: Raw, board: Board) -> Sheet:
    """Cost and time of a task against the overall score, for each setting and over all."""
    settings: list[Setting | None] = [*board.settings()]
    settings += [None] if len(settings) > 1 else []
    blocks = [
        SheetBlock(
            title=setting or ALL_SETTINGS,
            columns=list(COST_COLUMNS),
            rows=[_cost_row(one) for one in points(raw, board, setting)],
        )
        for setting in settings
    ]
    return Sheet(
        kind="cost",
        title="Cost and time against score",
        benchmark=raw.plan.benchmark_name,
        blocks=blocks,
        notes=[
            "means over tasks; -: nobody told. known: tasks whose cost is known, of all",
            "limits: tasks that a limit ended",
            "usd lost: in all, of tries that came to nothing",
            "on the front of: no other configuration has at least its score for at most its money, or time",
            "‡ disqualified by the audit: on no front",
        ],
    )


def _cost_row(one: Point) -> list[Value]:
    used, score = one.spent, one.score
    fronts = ["money"] * one.cheapest + ["time"] * one.fastest
    return [
        f"{one.configuration} ‡" if one.is_disqualified else one.configuration, score.value, score.low, score.high,
        f"{score.clips_scored}/{score.clips_expected}", used.usd, f"{used.usd_known}/{used.tasks}", used.minutes,
        used.turns, used.tokens, used.limits, used.lost_usd, ", ".join(fronts),
    ]  # fmt: skip


# --- what failed


def failure_sheet(raw: Raw, checks: BenchmarkItems, ratings: JudgeResults | None) -> Sheet:
    """Failures by cause and stage, faults of what was handed in, and what is seen to be wrong, each apart."""
    blocks = [_operational(raw), _handed_in(raw, ratings)]
    if ratings is not None:
        blocks.append(_visual(checks, ratings))
    return Sheet(
        kind="failures",
        title="What failed",
        benchmark=raw.plan.benchmark_name,
        blocks=blocks,
        notes=["A failure of the first kind is no rating: it lowers the coverage, and the next run tries it again."],
    )


def _operational(raw: Raw) -> SheetBlock:
    done = {run.key for run in raw.runs} | {record.key for record in raw.stages}
    groups: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for index, failure in enumerate(raw.failures):
        groups[failure.stage, failure.reason].append(index)
    rows: list[list[Value]] = []
    for (stage, reason), indices in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        tries = [raw.failures[index] for index in indices]
        units = {one.key for one in tries}
        rows.append(
            [
                stage, reason, len(tries), len(units), len(units - done),
                fsum(one.usage.usd or 0.0 for one in tries if one.usage is not None),
                fsum(one.seconds for one in tries) / 60, ", ".join(sorted({one.configuration for one in tries})),
            ]
        )  # fmt: skip
    columns = ["stage", "cause", "tries", "units", "still open", "usd", "minutes", "configurations"]
    return SheetBlock(title="operational: no result", columns=columns, rows=rows)


def _handed_in(raw: Raw, ratings: JudgeResults | None) -> SheetBlock:
    found: Counter[tuple[str, str, str]] = Counter()
    for run in raw.runs:
        if run.ended != "finished":
            found["agent", run.ended.replace("_", " "), run.configuration] += 1
        if not run.submitted:
            found["agent", "no video handed in", run.configuration] += 1
    for record, result in raw.found("audit"):
        for fault in audit_faults(result):
            found["audit", fault, record.configuration] += 1
    for record, result in raw.found("validate"):
        if result.get("passed") is False:
            found["validate", "the package is not in order", record.configuration] += 1
    for record, result in raw.found("check"):
        for fault in check_faults(result):
            found["check", fault, record.configuration] += 1
    for key, rated in (ratings.runs.get(0, {}) if ratings is not None else {}).items():
        for reason, count in rated.reasons.items():
            found["judge", f"clip not rated: {reason.replace('_', ' ')}", key.configuration] += count
    groups: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for (stage, fault, name), count in found.items():
        groups[stage, fault][name] = count
    rows: list[list[Value]] = [
        [stage, fault, sum(by.values()), ", ".join(f"{name} ({count})" for name, count in sorted(by.items()))]
        for (stage, fault), by in sorted(groups.items())
    ]
    return SheetBlock(
        title="of what was handed in", columns=["stage", "fault", "times", "configurations"], rows=rows,
        note="a task counts once under each fault; clips are counted one by one",
    )  # fmt: skip


def _visual(checks: BenchmarkItems, ratings: JudgeResults) -> SheetBlock:
    names = sorted({key.configuration for key in ratings.runs.get(0, {})})
    counts: dict[tuple[str, str], tuple[int, int, int]] = {}
    for key, run in ratings.runs.get(0, {}).items():
        for index, category in enumerate(CATEGORIES):
            values = run.values[checks.items[key.setting].category == index]
            before = counts.get((category, key.configuration), (0, 0, 0))
            now = (int(np.sum(values == 0)), int(np.sum(values == 0.5)), int(np.sum(~np.isnan(values))))
            counts[category, key.configuration] = (before[0] + now[0], before[1] + now[1], before[2] + now[2])
    rows: list[list[Value]] = [
        [category.replace("_", " "), *("{} + {} / {}".format(*counts[category, name]) for name in names)]
        for category in CATEGORIES
    ]
    return SheetBlock(
        title="visual: checks that the judge found not satisfied", columns=["category", *names], rows=rows,
        note="unsatisfied + partly satisfied / rated, over the settings",
    )  # fmt: skip
