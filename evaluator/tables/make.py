# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of a benchmark: scores (paper, table 8), categories (figures 2 and 13), gaps (table 9), ablations."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ..checklist.records import DIMENSIONS, SETTINGS, Category, Setting
from ..protocol.errors import BadInputError
from ..scoring.bootstrap import LEVEL, SAMPLES, SEED
from ..scoring.items import CATEGORIES
from .board import OVERALL, Board, Measure, RunKey
from .records import Block, Bootstrap, Cell, Kind, Row, Table
from .results import BenchmarkItems, JudgeResults

SCORES: Final[tuple[Measure, ...]] = (OVERALL, *DIMENSIONS)
CATEGORY_GAPS: Final[tuple[tuple[Category, Category], ...]] = (
    ("object_presence", "spatial_relations"),
    ("subject_motion", "action_events"),
    ("target", "rotation"),
)
MEAN: Final = "mean"
ALL_SETTINGS: Final = "all settings"
Parts = Sequence[tuple[float, Measure]]


TITLES: Final[dict[Kind, str]] = {
    "scores": "Scores by setting",
    "categories": "Scores by category",
    "gaps": "Gaps between categories, and between settings",
    "ablation": "Ablation",
    "kinds": "Scores by kind of video",
}


def make_table(
    kind: Kind,
    checks: BenchmarkItems,
    ratings: JudgeResults,
    *,
    base: str | None = None,
    variants: Sequence[str] = (),
    contestants: Collection[str] = (),
    samples: int = SAMPLES,
    seed: int = SEED,
    disqualified: Mapping[str, str] | None = None,
) -> Table:
    """One table of what a judge rated the first time. Raises BadInputError where a named configuration is not there.

    `disqualified` says of configurations what the audit found: they are marked, and no mean counts them.
    """
    barred = disqualified or {}
    board = checks.board(ratings.runs.get(0, {}), samples=samples, seed=seed, disqualified=barred)
    judges = find_own_configurations(ratings, contestants)
    if kind == "ablation":
        blocks = ablation_blocks(board, base or "", variants, judges)
    else:
        blocks = {"scores": score_blocks, "categories": category_blocks, "gaps": gap_blocks}[kind](board, judges)
    return finish_table(kind, checks, ratings, board, blocks, barred, seed=seed)


def finish_table(
    kind: Kind, checks: BenchmarkItems, ratings: JudgeResults, board: Board, blocks: Sequence[Block],
    disqualified: Mapping[str, str], *, seed: int,
) -> Table:  # fmt: skip
    """The blocks with everything that a reader needs beside them."""
    samples = len(board.draws)
    shown = {row.name for block in blocks for row in block.rows}
    return Table(
        kind=kind,
        title=TITLES[kind],
        benchmark=checks.name,
        judge=ratings.judge,
        bootstrap=Bootstrap(samples=samples, seed=seed, level=LEVEL, videos=len(checks.videos)),
        blocks=[mark_disqualified(block, disqualified) for block in blocks],
        notes=[
            *(f"‡ {name}: {found}" for name, found in sorted(disqualified.items()) if name in shown),
            *_gaps_in_coverage(board),
        ],
    )


def mark_disqualified(block: Block, disqualified: Collection[str]) -> Block:
    """The block with those rows marked."""
    rows = [row.model_copy(update={"is_disqualified": row.name in disqualified}) for row in block.rows]
    return block.model_copy(update={"rows": rows})


def find_own_configurations(ratings: JudgeResults, named: Collection[str] = ()) -> list[str]:
    """Contestants that are the judge's own model, by their name or because they are `named` as such.

    Raises BadInputError where a named one was not judged.
    """
    there = sorted({key.configuration for key in ratings.runs.get(0, {})})
    for name in named:
        if name not in there:
            raise BadInputError(f"{name!r} was not judged; there are: {', '.join(there)}")
    return sorted({*named, *own_configurations(ratings.model, there)})


def own_configurations(model: str, configurations: Sequence[str]) -> list[str]:
    """Configurations whose names begin with the judge's model, or hold it whole: `gpt-5.6-sol`, `gpt-5.6-sol-high`."""
    parts = _parts(model.rpartition("/")[2])

    def holds(name: str) -> bool:
        own = _parts(name)
        return any(own[start : start + len(parts)] == parts for start in range(len(own) - len(parts) + 1))

    return [name for name in configurations if parts and holds(name)]


def _parts(name: str) -> list[str]:
    return re.findall(r"[a-z]+|[0-9]+", name.lower())


def _gaps_in_coverage(board: Board) -> list[str]:
    """One line for each run of which not everything was judged."""
    lines = []
    for key, run in board.runs.items():
        whole = len(board.items[key.setting].clips)
        if run.judged < whole:
            reasons = ", ".join(f"{reason} ({count})" for reason, count in sorted(run.reasons.items()))
            lines.append(f"{key.configuration}, {key.setting}: {run.judged} of {whole} clips judged; {reasons}")
    return lines


def score_blocks(board: Board, judges: Collection[str] = ()) -> list[Block]:
    """Overall and dimension scores, a block for each setting; `judges` are configurations to be marked."""
    parts: list[Parts] = [[(1.0, name)] for name in SCORES]
    return [_per_setting(board, setting, parts, SCORES, judges) for setting in board.settings()]


def category_blocks(board: Board, judges: Collection[str] = ()) -> list[Block]:
    """The eleven categories, a block for each setting, and one of their means over the settings that check them."""
    parts: list[Parts] = [[(1.0, name)] for name in CATEGORIES]
    blocks = [_per_setting(board, setting, parts, CATEGORIES, judges) for setting in board.settings()]
    if len(blocks) > 1:
        rows = [
            Row(name=name, is_judge=name in judges, cells=[over_settings(board, name, part) for part in parts])
            for name in board.configurations
        ]
        blocks.append(Block(title=ALL_SETTINGS, columns=list(CATEGORIES), rows=rows))
    return blocks


def gap_blocks(board: Board, judges: Collection[str] = ()) -> list[Block]:
    """How much easier one category is than another, and proxy than detailed."""
    parts: list[Parts] = [[(1.0, easy), (-1.0, hard)] for easy, hard in CATEGORY_GAPS]
    names = [f"{_words(easy)} − {_words(hard)}" for easy, hard in CATEGORY_GAPS]
    blocks = [_per_setting(board, setting, parts, names, judges) for setting in board.settings()]
    first, last = SETTINGS[0], SETTINGS[-1]
    both = [name for name in board.configurations if {RunKey(name, first), RunKey(name, last)} <= set(board.runs)]
    if both:
        measures: tuple[Measure, ...] = ("camera", "dynamic")  # of which both settings ask the same

        def gap(names: Sequence[str], measure: Measure) -> Cell:
            share = 1 / len(names)
            terms = [(share, RunKey(name, first), measure) for name in names]
            return board.cell(terms + [(-share, RunKey(name, last), measure) for name in names])

        rows = [Row(name=name, is_judge=name in judges, cells=[gap([name], m) for m in measures]) for name in both]
        higher = [sum((row.cells[index].value or 0) > 0 for row in rows) for index in range(len(measures))]
        counted = [name for name in both if name not in board.disqualified]
        if counted:
            rows.append(Row(name=MEAN, cells=[gap(counted, measure) for measure in measures]))
        note = "; ".join(f"{m}: above 0 for {n} of {len(both)}" for m, n in zip(measures, higher, strict=True))
        blocks.append(Block(title=f"{first} − {last}", columns=list(measures), rows=rows, note=note))
    return blocks


def ablation_blocks(board: Board, base: str, variants: Sequence[str], judges: Collection[str] = ()) -> list[Block]:
    """Scores over the settings weighing the same, and what each variant loses or gains against `base`, paired.

    A difference is of the items that are rated for both. Raises BadInputError where a configuration was not run.
    """
    for name in (base, *variants):
        if name not in board.configurations:
            raise BadInputError(f"{name!r} was not judged; there are: {', '.join(board.configurations)}")
    rows = [
        Row(
            name=name,
            is_judge=name in judges,
            cells=[over_settings(board, name, [(1.0, measure)]) for measure in SCORES],
        )
        for name in (base, *variants)
    ]
    differences = [
        Row(name=f"{variant} − {base}", cells=[_difference(pair, variant, base, measure) for measure in SCORES])
        for variant, pair in ((variant, board.paired(variant, base)) for variant in variants)
    ]
    return [
        Block(title=f"mean of {', '.join(board.settings())}", columns=list(SCORES), rows=rows),
        Block(title="difference", columns=list(SCORES), rows=differences, note="of the checks rated for both"),
    ]


def _difference(board: Board, variant: str, base: str, measure: Measure) -> Cell:
    settings = [setting for setting in board.settings() if RunKey(variant, setting) in board.runs]
    share = 1 / len(settings) if settings else 1.0
    terms = [(share, RunKey(variant, setting), measure) for setting in settings]
    return board.cell(terms + [(-share, RunKey(base, setting), measure) for setting in settings])


def _per_setting(
    board: Board, setting: Setting, parts: Sequence[Parts], columns: Sequence[str], judges: Collection[str]
) -> Block:
    """One setting's line for each configuration, and their mean, in which each weighs the same."""
    keys = [RunKey(name, setting) for name in board.configurations]
    rows = [
        Row(
            name=key.configuration,
            is_judge=key.configuration in judges,
            cells=[board.cell([(weight, key, measure) for weight, measure in part]) for part in parts],
        )
        for key in keys
        if key in board.runs
    ]
    counted = [key for key in keys if key.configuration not in board.disqualified]
    if len(keys) > 1 and counted:
        rows.append(Row(name=MEAN, cells=[board.mean(counted, part) for part in parts]))
    partial = [f"{name}: {cell.reason.partition(';')[0]}" for name, cell in zip(columns, rows[-1].cells, strict=True)
               if rows[-1].name == MEAN and cell.reason.startswith("the mean of")]  # fmt: skip
    return Block(title=setting, columns=list(columns), rows=rows, note="; ".join(partial))


def over_settings(board: Board, name: str, part: Parts) -> Cell:
    """The mean over those settings in which anything of the kind is checked."""
    keys = [
        RunKey(name, setting)
        for setting in board.settings()
        if all(board.expects(setting, measure) for _, measure in part)
    ]
    return board.mean(keys, part)


def _words(name: str) -> str:
    return name.replace("_", " ")
