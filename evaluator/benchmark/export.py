# SPDX-License-Identifier: GPL-3.0-or-later
"""One file with the raw records of a run, and the way back: anybody makes the tables again from it.

It holds no picture, no statement of a check, and of the plan no place on a machine: what a table needs are a check's
id, category, clip and settings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from ..checklist.benchmark import VIDEO_FILE, LoadedBenchmark
from ..judge.units import JudgedUnit, judgment_path, read_units, write_unit
from ..protocol.errors import BadInputError
from ..protocol.files import read_json, write_json
from .agents.load import ARTIST, PYTHON
from .ledger import Ledger
from .plan import Keys, stages_of, tasks_of
from .records import AgentRun, Export, Plan, StageRecord

EXPORT_FORMAT: Final = "matchcut-bench-export/1"
WITHHELD: Final = "withheld"


def make_export(plan: Plan, benchmark: LoadedBenchmark, ledger: Ledger) -> Export:
    """All records of the plan's tasks. Raises BadInputError at the first damaged one."""
    runs, stages = find_records(plan, benchmark, ledger)
    names = {(task.configuration.name, task.setting, task.video.id) for task in tasks_of(plan, benchmark)}
    units = [one for one in read_units(ledger.results) if (one.configuration, one.setting, one.video) in names]
    judged = {clip.key for unit in units for clip in unit.clips if clip.key is not None}
    return Export(
        plan=_plan(plan),
        benchmark=_benchmark(benchmark),
        runs=runs,
        stages=stages,
        failures=list(ledger.all_failures()),
        units=[unit.model_dump(mode="json") for unit in units],
        judgments=[_judgment(ledger.results, key) for key in sorted(judged)],
    )


def find_records(plan: Plan, benchmark: LoadedBenchmark, ledger: Ledger) -> tuple[list[AgentRun], list[StageRecord]]:
    """The runs of the plan's tasks, and what later stages found about them."""
    keys = Keys(plan)
    runs: list[AgentRun] = []
    stages: list[StageRecord] = []
    for task in tasks_of(plan, benchmark):
        run = ledger.find_run(keys.run(task))
        if run is None:
            continue
        runs.append(run)
        for stage in stages_of(plan)[1:]:
            record = ledger.find_stage(keys.stage(task, stage, run))
            if record is not None:
                stages.append(record)
    return runs, stages


def _plan(plan: Plan) -> Plan:
    """The plan without places on a machine."""
    configurations = [
        one.model_copy(update={"environment": {}, "agent": _without_folder(one.agent)}) for one in plan.configurations
    ]
    return plan.model_copy(update={"benchmark": "", "runs": "", "configurations": configurations})


def _without_folder(agent: str) -> str:
    prefix, separator, place = agent.rpartition(":") if agent.startswith((ARTIST, PYTHON)) else ("", "", agent)
    return f"{prefix}{separator}{Path(place).name}"


def _benchmark(benchmark: LoadedBenchmark) -> dict[str, Any]:
    """The benchmark's files, with the words that tell what is asked withheld."""
    videos = {}
    for video in benchmark.videos:
        clips = [clip.model_dump(mode="json") for clip in video.clips]
        for clip in clips:
            for check in clip["checks"]:
                check["statement"] = WITHHELD
            for entity in clip["entities"]:
                entity["name"] = entity["description"] = WITHHELD
        videos[video.id] = {"video": video.record.model_dump(mode="json"), "clips": clips}
    return {"benchmark": benchmark.record.model_dump(mode="json"), "videos": videos}


def _judgment(results: Path, key: str) -> dict[str, Any]:
    data = read_json(judgment_path(results, key), "matchcut-judgment/1")
    return {**data, "evidence": [], "attempts": []}


def unpack(path: Path, folder: Path) -> tuple[Path, Path]:
    """Lay an export out as a benchmark and its results again, for every command that makes tables.

    Returns (benchmark, results) below `folder`. Raises BadInputError where the file is no export.
    """
    export = Export.from_data(read_json(path, EXPORT_FORMAT), str(path))
    bench, results = folder / "benchmark", folder / "results"
    try:
        write_json(bench / "benchmark.json", export.benchmark["benchmark"])
        for name, video in export.benchmark["videos"].items():
            place = bench / "videos" / _safe(name)
            write_json(place / VIDEO_FILE, video["video"])
            for clip in video["clips"]:
                write_json(place / "clips" / f"{_safe(clip['id'])}.json", clip)
    except (KeyError, TypeError, AttributeError) as error:
        raise BadInputError(f"{path}: benchmark: {error!r} is missing or wrong; export it again") from error
    for data in export.units:
        write_unit(results, JudgedUnit.from_data(data, str(path)))
    for data in export.judgments:
        write_json(judgment_path(results, _safe(str(data["key"]))), data)
    return bench, results


def _safe(name: str) -> str:
    """A name that is one: an export may be a stranger's."""
    if not name or Path(name).name != name or name.startswith("."):
        raise BadInputError(f"{name[:100]!r}: an export names no such file; export it again")
    return name
