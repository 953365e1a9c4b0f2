# SPDX-License-Identifier: GPL-3.0-or-later
"""The first stage of a task: an agent rebuilds the reference, or a person's result takes its place."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ..environment.blender import Blender, run_child
from ..environment.create import PACKAGE_ROOT
from ..environment.mcp_clients import server_command
from ..environment.screen import VARIABLE, window_prefix
from ..judge.prices import Price, find_price
from ..protocol.errors import BadInputError, OperationalError
from ..protocol.transcript import read_transcript
from ..protocol.version import VERSION
from .agents.launch import Launch, Server, launch, unenforced, version_command
from .agents.load import ARTIST, load_definition
from .agents.records import AgentDefinition, Configuration
from .harness import Halt, run_agent
from .isolation import ANSWERS, Sandbox, blender_script, check_places, outermost
from .plan import Task, prompt
from .records import AgentRun, Isolation, Limits, RenderTold, Resources, Usage
from .resources import NO_LIMITS, Allowance, find_groups, limited
from .usage import UsageReader
from .workspace import Workspace, collect, fill, take_submission, task_file, workspace

VERSION_SECONDS: Final = 60
LOG_BYTES: Final = 64 * 2**10
"""Kept of what an agent said that failed."""
TRANSCRIPT_LIMIT: Final = 2**30


@dataclass(frozen=True)
class Settings:
    """How tasks are run on this machine; nothing of it decides what is asked."""

    blender: Blender
    sandbox: Sandbox
    hide: tuple[Path, ...] = ()
    work: Path | None = None
    prices: Path | None = None
    keep_everything: bool = True
    allowance: Allowance = NO_LIMITS
    """What a task may take of the machine."""


class AgentFailedError(Exception):
    """The agent came to no result, for a reason that is no part of the task."""

    def __init__(
        self, reason: str, detail: str, *, seconds: float = 0.0, usage: Usage | None = None, lasting: bool = False,
        log: str = "",
    ) -> None:  # fmt: skip
        super().__init__(detail)
        self.reason, self.detail, self.log = reason, detail, log
        self.seconds, self.usage, self.lasting = seconds, usage, lasting


def make_run(
    task: Task, key: str, limits: Limits, settings: Settings, staged: Path, stop: Halt, *, attempt: int = 0
) -> AgentRun:  # fmt: skip
    """Let the task be done, with everything that is to be kept of it in `staged`.

    Raises AgentFailedError where it comes to no result, StoppedError where it is called off, BadInputError where it
    cannot be started as it is described.
    """
    if task.configuration.agent.startswith(ARTIST):
        return _artist(task, key, limits, staged, attempt)
    definition = load_definition(task.configuration.agent)
    with workspace(settings.work) as space:
        return _run(task, key, limits, settings, staged, stop, attempt, definition, space)


def _run(
    task: Task, key: str, limits: Limits, settings: Settings, staged: Path, stop: Halt, attempt: int,
    definition: AgentDefinition, space: Workspace,
) -> AgentRun:  # fmt: skip
    configuration = task.configuration
    text = prompt(task.setting, space.reference, space.output, no_refine=configuration.no_refine)
    fill(space, task.video.reference, task.video.record.sha256, text)
    server = _server(task, settings, space)
    start = _launch(definition, task, limits, server, space, text)
    hide = outermost([*settings.hide, ANSWERS])
    check_places(space.root, hide, [PACKAGE_ROOT, Path(sys.prefix)])
    network = configuration.network == "open"
    output, errors = space.record / "agent.out", space.record / "agent.err"
    price = _price(definition, configuration, settings)
    reader = UsageReader(definition.usage, output, space.home, price)
    started = datetime.now(UTC)
    try:
        with limited(settings.allowance, find_groups(), own_processes=settings.sandbox.works) as cage:
            inner = settings.sandbox.command(
                space.record / "spec.json", start.command, hide=[*hide, *cage.hide], limits=cage.rlimits,
                network=network,
            )  # fmt: skip
            finished = run_agent(
                [*cage.prefix, *inner], environment=start.environment, folder=space.task, output=output, errors=errors,
                limits=limits, read_usage=reader.read, stop=stop,
            )  # fmt: skip
            resources = cage.record()
    except OperationalError as error:
        raise AgentFailedError("agent_failed", str(error)) from error
    files = collect(space, staged, everything=settings.keep_everything)
    calls, renders = _told(space.transcript)
    run = AgentRun(
        key=key,
        configuration=configuration.name,
        setting=task.setting,
        video=task.video.id,
        reference_sha256=task.video.record.sha256,
        agent=definition.label,
        agent_version=_version(definition, start),
        model=configuration.model,
        effort=configuration.effort,
        no_refine=configuration.no_refine,
        limits=limits,
        unenforced=_unenforced(definition, configuration, limits, finished.usage, priced=price is not None),
        ended=finished.ended,
        exit_status=finished.exit_status,
        submission=files,
        usage=finished.usage,
        started_at=started.isoformat(timespec="seconds"),
        wall_seconds=round(finished.seconds, 2),
        calls=calls,
        renders=renders,
        isolation=settings.sandbox.record(hide, network=network),
        resources=resources,
        blender=settings.blender.version,
        window=configuration.blender == "window",
        matchcut=VERSION,
        attempt=attempt,
    )
    if not run.submitted and finished.ended == "finished" and (finished.exit_status != 0 or not calls):
        said = f"ended with status {finished.exit_status}" if calls or finished.exit_status else "called no tool"
        log = "\n\n".join(_tail(path) for path in (errors, output))
        raise AgentFailedError(
            "agent_failed" if finished.exit_status else "no_tools",
            f"{definition.label} {said}: {_last_line(errors, output)}{_short_of(resources)}",
            seconds=finished.seconds, usage=finished.usage, log=log,
        )  # fmt: skip
    return run


def _server(task: Task, settings: Settings, space: Workspace) -> Server:
    options = [
        "--headless", "--benchmark", f"--reference={space.reference}", f"--setting={task.setting}",
        f"--output={space.output}", f"--transcript={space.transcript}",
        *(["--no-refine"] if task.configuration.no_refine else []),
    ]  # fmt: skip
    blender = settings.blender
    environment = {"BLENDER": blender.path, "MATCHCUT_BRIDGE_FOLDER": str(space.root / "bridge")}
    if os.name == "posix":
        environment["BLENDER"] = blender_script(space.record, Path(blender.path).name, [blender.path])
    if task.configuration.blender == "window":
        options.append("--window")
        environment[VARIABLE] = shlex.join(window_prefix(blender))
        if os.name == "posix":
            environment[VARIABLE] = shlex.quote(blender_script(space.record, "blender-window", window_prefix(blender)))
    return Server(server_command(*options), environment)


def _launch(
    definition: AgentDefinition, task: Task, limits: Limits, server: Server, space: Workspace, text: str
) -> Launch:
    configuration = task.configuration
    file = task_file(
        space,
        {
            "prompt": text,
            "reference": str(space.reference),
            "setting": task.setting,
            "output": str(space.output),
            "model": configuration.model,
            "effort": configuration.effort,
            "server": {
                "command": server.command[0], "args": list(server.command[1:]), "env": dict(server.environment),
            },
        },
    )  # fmt: skip
    values = {
        "prompt": text,
        "prompt_file": str(space.task / "prompt.md"),
        "task_file": str(file),
        "task": str(space.task),
        "reference": str(space.reference),
        "output": str(space.output),
        "home": str(space.home),
        "setting": task.setting,
        "python": sys.executable,
        "model": configuration.model,
        "effort": configuration.effort,
        "turns": "" if limits.turns is None else str(limits.turns),
        "usd": "" if limits.usd is None else f"{limits.usd:g}",
        "output_tokens": "" if configuration.output_tokens is None else str(configuration.output_tokens),
    }
    return launch(definition, configuration, values, server)


def _price(definition: AgentDefinition, configuration: Configuration, settings: Settings) -> Price | None:
    if not definition.provider:
        return None
    return find_price(definition.provider, configuration.model, settings.prices)


def _unenforced(
    definition: AgentDefinition, configuration: Configuration, limits: Limits, usage: Usage, *, priced: bool
) -> list[str]:
    found = unenforced(
        definition, configuration, turns=limits.turns is not None, usd=limits.usd is not None, priced=priced
    )
    if definition.usage.at_end and limits.usd is not None and usage.usd is not None and usage.usd > limits.usd:
        found.append(f"money: it cost {usage.usd:.2f} dollars, and {limits.usd:g} were allowed")
    return found


def _version(definition: AgentDefinition, start: Launch) -> str | None:
    command = version_command(definition)
    if not command:
        return None
    found = shutil.which(command[0], path=start.environment.get("PATH"))
    try:
        said = run_child([found or command[0], *command[1:]], seconds=VERSION_SECONDS).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    return next((line.strip()[:200] for line in said.splitlines() if line.strip()), None)


def _told(transcript: Path) -> tuple[dict[str, int], list[RenderTold]]:
    """How often each tool was called, and every render's end, as the server wrote it down.

    Nothing where it was never started, or the agent has spoilt the file, which it could reach.
    """
    try:
        if not transcript.is_file() or transcript.stat().st_size > TRANSCRIPT_LIMIT:
            return {}, []
        lines = read_transcript(transcript)
        ends = {str(line.get("job")): line for line in lines if line["kind"] == "render"}
        renders = [
            RenderTold.from_data({name: line.get(name) for name in RenderTold.model_fields}, str(transcript))
            for line in ends.values()
        ]
    except BadInputError:
        return {}, []
    calls = Counter(str(line.get("name"))[:100] for line in lines if line.get("method") == "tools/call")
    return dict(sorted(calls.items())), renders


def _short_of(resources: Resources) -> str:
    """What its processes wanted of the machine and did not get, for the line that says why it failed."""
    found = ""
    if resources.killed_for_memory and resources.memory_bytes is not None:
        found += f"; {resources.killed_for_memory} of its processes killed at {resources.memory_bytes / 2**30:.1f} GiB"
    if resources.refused_processes:
        found += f"; no more than {resources.processes} processes were allowed"
    return found


def _last_line(*files: Path) -> str:
    lines = (line.strip() for path in files for line in reversed(_tail(path).splitlines()))
    return next((line[:300] for line in lines if line), "it said nothing")


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - LOG_BYTES))
        return file.read().decode("utf-8", "replace")


def _artist(task: Task, key: str, limits: Limits, staged: Path, attempt: int) -> AgentRun:
    """A person's result: FOLDER/SETTING/VIDEO holds what would be handed in."""
    source = Path(task.configuration.agent.removeprefix(ARTIST)) / task.setting / task.video.id
    files = take_submission(source, staged)
    if not files:
        raise AgentFailedError(
            "missing_result", f"{source}: holds no submission; put the folder of matchcut package there", lasting=True
        )
    return AgentRun(
        key=key, configuration=task.configuration.name, setting=task.setting, video=task.video.id,
        reference_sha256=task.video.record.sha256, agent="artist", agent_version=None, model=task.configuration.model,
        effort=task.configuration.effort, no_refine=False, limits=limits, ended="finished", exit_status=0,
        submission=files, usage=Usage(note="a person made it"),
        started_at=datetime.now(UTC).isoformat(timespec="seconds"), wall_seconds=0.0, calls={}, renders=[],
        isolation=Isolation(kind="none", note="a person made it"),
        resources=Resources(kind="none", note="a person made it"), blender="", matchcut=VERSION, attempt=attempt,
    )  # fmt: skip
