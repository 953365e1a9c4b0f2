# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tasks there are, and the content keys under which what becomes of them is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ...mcp_server.task_text import task_text
from ...mcp_server.workplace import Task as ServedTask
from ..checklist.benchmark import LoadedBenchmark, LoadedVideo
from ..checklist.records import Setting
from ..protocol.errors import BadInputError
from ..protocol.files import content_key
from .agents.load import ARTIST, load_definition
from .agents.records import Configuration
from .ledger import Ledger
from .records import STAGES, AgentRun, Limits, Plan, Stage

STAGES_VERSION: Final = 1
"""Raised where a stage's answer changes its meaning, so that it is asked for anew."""


@dataclass(frozen=True)
class Task:
    """One video that one configuration rebuilds under one setting."""

    configuration: Configuration
    setting: Setting
    video: LoadedVideo

    @property
    def name(self) -> str:
        """CONFIG/SETTING/VIDEO."""
        return f"{self.configuration.name}/{self.setting}/{self.video.id}"


@dataclass(frozen=True)
class Selection:
    """Which tasks of a plan are meant; empty for all."""

    configurations: Sequence[str] = ()
    settings: Sequence[Setting] = ()
    videos: Sequence[str] = ()


ALL: Final = Selection()


def tasks_of(plan: Plan, benchmark: LoadedBenchmark, selection: Selection = ALL) -> Iterator[Task]:
    """The tasks in the plan's order. Raises BadInputError where something is selected that is not in it."""
    names = [one.name for one in plan.configurations]
    for option, wanted, there in (
        ("--configuration", selection.configurations, names),
        ("--setting", selection.settings, plan.settings),
        ("--video", selection.videos, plan.videos),
    ):
        for one in wanted:
            if one not in there:
                raise BadInputError(f"{option} {one}: the plan has {', '.join(there)}")
    for configuration in plan.configurations:
        if selection.configurations and configuration.name not in selection.configurations:
            continue
        for setting in plan.settings:
            if selection.settings and setting not in selection.settings:
                continue
            for name in plan.videos:
                if not selection.videos or name in selection.videos:
                    yield Task(configuration, setting, benchmark.video(name))


class Keys:
    """The content keys of a plan's units."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._definitions: dict[str, str] = {}
        self._prompts: dict[tuple[Setting, bool], str] = {}
        self._clips: dict[str, str] = {}

    def run(self, task: Task) -> str:
        """Key of the agent's run: everything that decides what it is asked and how."""
        configuration = task.configuration
        # what is as it always was is left out, so that no task is paid for again
        usual = {"blender"} if configuration.blender == "background" else set()
        return content_key(
            {
                "stage": "agent",
                "reference": task.video.record.sha256,
                "video": task.video.id,
                "setting": task.setting,
                "prompt": self._prompt(task.setting, no_refine=configuration.no_refine),
                "configuration": configuration.model_dump(mode="json", exclude={"label", *usual}),
                "agent": self._definition(configuration.agent),
                "limits": self._plan.limits.model_dump(mode="json"),
            }
        )

    def stage(self, task: Task, stage: Stage, run: AgentRun) -> str:
        """Key of a later stage: the submission, the reference, and what the stage is asked.

        The task's name is a part of it, so that each has records of its own.
        """
        asked: dict[str, Any] = {"version": STAGES_VERSION}
        if stage == "audit":
            asked["rerender"] = self._plan.rerender
        elif stage == "sgc":
            asked["source"] = self._plan.sgc
        elif stage == "judge":
            assert self._plan.judge is not None
            asked["judge"] = self._plan.judge.model_dump(mode="json")
            asked["clips"] = self._clips_of(task.video)
        return content_key(
            {
                "stage": stage,
                "task": task.name,
                "reference": task.video.record.sha256,
                "submission": {file.name: file.sha256 for file in run.submission},
                "asked": asked,
            }
        )

    def _prompt(self, setting: Setting, *, no_refine: bool) -> str:
        key = (setting, no_refine)
        if key not in self._prompts:  # without the folders of one machine
            self._prompts[key] = content_key(prompt(setting, Path("reference.mp4"), Path("out"), no_refine=no_refine))
        return self._prompts[key]

    def _definition(self, agent: str) -> str:
        if agent not in self._definitions:
            data: Any = agent
            if not agent.startswith(ARTIST):
                data = load_definition(agent).model_dump(mode="json", exclude={"label", "note", "usage"})
            self._definitions[agent] = content_key(data)
        return self._definitions[agent]

    def _clips_of(self, video: LoadedVideo) -> str:
        if video.id not in self._clips:
            self._clips[video.id] = content_key([clip.model_dump(mode="json") for clip in video.clips])
        return self._clips[video.id]


def prompt(setting: Setting, reference: Path, output: Path, *, no_refine: bool) -> str:
    """The task's text, as the server's own prompt says it."""
    return task_text(ServedTask(reference, setting, output, benchmark=True, no_refine=no_refine))


def stages_of(plan: Plan) -> list[Stage]:
    """The stages that the plan asks for, in their order."""
    left_out = {"sgc"} if plan.sgc is None else set()
    left_out |= {"judge"} if plan.judge is None else set()
    return [stage for stage in STAGES if stage not in left_out]


def save_plan(ledger: Ledger, plan: Plan) -> Plan:
    """Keep the plan, with the configurations, settings and videos that the folder's plan has besides; returns it.

    Raises BadInputError where a configuration of the same name was another one: its records would be mixed up.
    """
    ledger.open()
    if ledger.plan_path.is_file():
        before = ledger.plan()
        known = {one.name: one for one in plan.configurations}
        for one in before.configurations:
            if one.name in known and _without_label(one) != _without_label(known[one.name]):
                raise BadInputError(
                    f"configuration {one.name}: {ledger.plan_path} has another one of this name; give the changed one "
                    "a name of its own, or start in another --out"
                )
        if before.benchmark_name != plan.benchmark_name:
            raise BadInputError(
                f"{ledger.results}: holds a run of the benchmark {before.benchmark_name!r}, not "
                f"{plan.benchmark_name!r}; choose another --out"
            )
        if before.limits != plan.limits:
            raise BadInputError(
                f"{ledger.plan_path} has other limits ({_limits(before.limits)}), under which tasks are done already; "
                "give the same ones, run matchcut bench resume, or start in another --out"
            )
        plan = plan.model_copy(
            update={
                "judge": plan.judge or before.judge,
                "configurations": [
                    *(known.get(one.name, one) for one in before.configurations),
                    *(one for one in plan.configurations if one.name not in {b.name for b in before.configurations}),
                ],
                "settings": _together(before.settings, plan.settings),
                "videos": _together(before.videos, plan.videos),
            }
        )
        if plan == before:
            return plan
    plan.write(ledger.plan_path)
    return plan


def _limits(limits: Limits) -> str:
    given = {name: value for name, value in limits.model_dump().items() if value is not None}
    return ", ".join(f"{name} {value:g}" for name, value in given.items()) or "none"


def _without_label(configuration: Configuration) -> Configuration:
    return configuration.model_copy(update={"label": ""})


def _together(before: Sequence[Any], now: Sequence[Any]) -> list[Any]:
    return [*before, *(one for one in now if one not in before)]
