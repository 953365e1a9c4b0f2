# SPDX-License-Identifier: GPL-3.0-or-later
"""The raw records of a run, whether they lie in its folder or in an exported file; and what an audit found in them."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..checklist.benchmark import LoadedBenchmark, load_benchmark
from ..media.records import TimelineCheck
from ..protocol.files import read_json
from ..shots.records import ShotCheck
from .export import EXPORT_FORMAT, find_records, unpack
from .ledger import Ledger
from .records import AgentRun, Export, Failure, Plan, Stage, StageRecord


@dataclass(frozen=True)
class Raw:
    """All records of a run. `results` holds the judge's; `ledger` is None where they are of an exported file."""

    benchmark: LoadedBenchmark
    results: Path
    plan: Plan
    runs: Sequence[AgentRun]
    stages: Sequence[StageRecord]
    failures: Sequence[Failure]
    ledger: Ledger | None

    def found(self, stage: Stage) -> Iterator[tuple[StageRecord, dict[str, Any]]]:
        """Every record of a stage with its result."""
        return ((one, one.result) for one in self.stages if one.stage == stage)


@contextmanager
def open_raw(path: Path, benchmark: Path | None = None) -> Iterator[Raw]:
    """The records of RESULTS, or of a file of `bench export`, laid out for as long as they are used.

    `benchmark` is where the benchmark is, if not as planned; an exported file brings its own. Raises BadInputError.
    """
    if not path.is_file():
        ledger = Ledger(path)
        plan = ledger.plan()
        loaded = load_benchmark(benchmark or Path(plan.benchmark))
        runs, stages = find_records(plan, loaded, ledger)
        yield Raw(loaded, path, plan, runs, stages, list(ledger.all_failures()), ledger)
        return
    export = Export.from_data(read_json(path, EXPORT_FORMAT), str(path))
    with tempfile.TemporaryDirectory(prefix="matchcut-table-") as folder:
        place, results = unpack(path, Path(folder))
        yield Raw(load_benchmark(place), results, export.plan, export.runs, export.stages, export.failures, None)


def audit_faults(audit: dict[str, Any]) -> list[str]:
    """What an audit's result forbids, in a word or two each; nothing where it passed or could not be made."""
    found = [
        str(one.get("kind", "forbidden")).replace("_", " ")
        for one in audit.get("findings", [])
        if one.get("severity") == "forbidden"
    ]
    again = audit.get("rerender") or {}
    return list(dict.fromkeys(found + (["frames rendered again differ"] if again.get("verdict") == "differ" else [])))


def check_faults(check: dict[str, Any]) -> list[str]:
    """Where a check's result finds the reconstruction off the reference's time; nothing where it was not made."""
    if check.get("passed", True) or "timeline" not in check:
        return []
    timeline = TimelineCheck.from_data(check["timeline"], "check: timeline")
    shots = ShotCheck.from_data(check["shots"], "check: shots")
    return ["the timeline differs"] * (not timeline.passed) + ["cuts or fades differ"] * (not shots.passed)


def disqualified(raw: Raw) -> dict[str, str]:
    """By configuration: in how many of its submissions the audit found what is forbidden, and what."""
    looked: defaultdict[str, int] = defaultdict(int)
    faults: defaultdict[str, list[list[str]]] = defaultdict(list)
    for record, result in raw.found("audit"):
        if "passed" in result:
            looked[record.configuration] += 1
            if not result["passed"]:
                faults[record.configuration].append(audit_faults(result))
    return {
        name: f"forbidden in {len(several)} of {looked[name]} submissions looked through: "
        + ", ".join(sorted({one for found in several for one in found}))
        for name, several in faults.items()
    }
