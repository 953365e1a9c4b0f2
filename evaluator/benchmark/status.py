# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a run is: of every configuration and stage what is done, runs, has failed and is missing; its cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from ..checklist.benchmark import LoadedBenchmark
from .leases import LeaseFolder
from .ledger import Ledger
from .plan import ALL, Keys, Selection, stages_of, tasks_of
from .records import AgentRun, Failure, Plan, Stage

UnitState = Literal["done", "running", "failed", "missing"]


@dataclass
class Row:
    """One configuration. `stages` counts its units; `ended` counts runs by how they ended."""

    configuration: str
    tasks: int = 0
    stages: dict[Stage, Counter[UnitState]] = field(default_factory=dict)
    ended: Counter[str] = field(default_factory=Counter)
    submitted: int = 0
    usd: float = 0.0
    usd_known: int = 0
    """Runs whose cost is known."""
    lost_usd: float = 0.0
    """Of tries that came to nothing."""
    hours: float = 0.0


@dataclass
class Status:
    """The whole of it. `failures` are those of units that have no record."""

    plan: Plan
    rows: list[Row]
    failures: list[Failure]

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return all(set(counts) <= {"done"} for row in self.rows for counts in row.stages.values())


def read_status(
    plan: Plan, benchmark: LoadedBenchmark, ledger: Ledger, leases: LeaseFolder, selection: Selection = ALL
) -> Status:
    """Read the records. Raises BadInputError at the first damaged one."""
    keys, held = Keys(plan), {key for key, one in leases.held().items() if not one.expired}
    failures = failures_by_key(ledger.all_failures())
    rows: dict[str, Row] = {}
    open_failures: list[Failure] = []

    def state(key: str, *, done: bool) -> UnitState:
        if done:
            return "done"
        if key in held:
            return "running"
        if key in failures:
            open_failures.append(failures[key][-1])
            return "failed"
        return "missing"

    for task in tasks_of(plan, benchmark, selection):
        row = rows.setdefault(task.configuration.name, Row(task.configuration.name))
        row.tasks += 1
        key = keys.run(task)
        row.lost_usd += sum(one.usage.usd or 0.0 for one in failures.get(key, ()) if one.usage is not None)
        run = ledger.find_run(key)
        _count(row, "agent", state(key, done=run is not None))
        if run is not None:
            _add(row, run)
        for stage in stages_of(plan)[1:]:
            if run is None:
                _count(row, stage, "missing")
                continue
            later = keys.stage(task, stage, run)
            _count(row, stage, state(later, done=ledger.has_stage(later)))
    return Status(plan, list(rows.values()), open_failures)


def failures_by_key(failures: Iterable[Failure]) -> dict[str, list[Failure]]:
    """The failures of each unit, in their order."""
    found: dict[str, list[Failure]] = {}
    for failure in failures:
        found.setdefault(failure.key, []).append(failure)
    for several in found.values():
        several.sort(key=lambda failure: failure.attempt)
    return found


def _count(row: Row, stage: Stage, state: UnitState) -> None:
    row.stages.setdefault(stage, Counter())[state] += 1


def _add(row: Row, run: AgentRun) -> None:
    row.ended[run.ended] += 1
    row.submitted += run.submitted
    row.hours += run.wall_seconds / 3600
    if run.usage.usd is not None:
        row.usd += run.usage.usd
        row.usd_known += 1


def status_data(status: Status) -> dict[str, Any]:
    """The same as plain JSON values."""
    return {
        "benchmark": status.plan.benchmark_name,
        "complete": status.complete,
        "rows": [
            {
                "configuration": row.configuration, "tasks": row.tasks, "submitted": row.submitted,
                "stages": {stage: dict(counts) for stage, counts in row.stages.items()}, "ended": dict(row.ended),
                "usd": round(row.usd, 4) if row.usd_known else None, "usd_known": row.usd_known,
                "lost_usd": round(row.lost_usd, 4), "hours": round(row.hours, 4),
            }
            for row in status.rows
        ],
        "failures": [failure.model_dump(mode="json") for failure in status.failures],
    }  # fmt: skip


def status_lines(status: Status) -> list[str]:
    """The table and the failures for a person."""
    stages = stages_of(status.plan)
    head = ["configuration", "tasks", *stages, "handed in", "limits", "cost", "hours"]
    table = [head, *(_cells(row, stages) for row in status.rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    if status.failures:
        lines += ["", f"failed ({len(status.failures)}):"]
        for one in status.failures:
            unit = f"{one.configuration}/{one.setting}/{one.video} {one.stage}"
            lines.append(f"  {unit}: {one.reason}, try {one.attempt + 1}: {one.detail}")
    return lines


def _cells(row: Row, stages: list[Stage]) -> list[str]:
    limits = sum(count for ended, count in row.ended.items() if ended != "finished")
    cost = f"${row.usd:.2f}" if row.usd_known else "-"
    if row.usd_known and row.usd_known < row.ended.total():
        cost += f" ({row.usd_known} of {row.ended.total()} known)"
    if row.lost_usd:
        cost += f" + ${row.lost_usd:.2f} lost"
    return [
        row.configuration, str(row.tasks), *(_stage_cell(row.stages.get(stage, Counter())) for stage in stages),
        str(row.submitted), str(limits), cost, f"{row.hours:.2f}",
    ]  # fmt: skip


def _stage_cell(counts: Counter[UnitState]) -> str:
    parts = [f"{counts['done']}/{counts.total()}"]
    parts += [f"{counts['running']} running"] if counts["running"] else []
    parts += [f"{counts['failed']} failed"] if counts["failed"] else []
    return " ".join(parts)
